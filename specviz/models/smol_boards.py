"""The image-text model that comes with specviz: a small tower in front of SmolLM2-135M-Instruct.

What is shipped: the tower with the first layer of its projector, and a low-rank update of the
language model; trained by specviz.training.vlm. SmolLM2 itself is what ``smollm2`` unpacked, and
all of it becomes one stock LLaVA in memory. The projector speaks SmolLM2's own words: hidden unit k
means "this cell says symbol k", so its second layer follows from the embeddings of the symbols.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specviz.files import folder_digest
from specviz.models import smollm2
from specviz.models.base import Model, Unsupported

if TYPE_CHECKING:
    from torch import Tensor

LABEL = "smol-boards"
SIZE = "140 M parameters, 20 MB beside SmolLM2"
FOLDER = Path(__file__).parent.parent.parent / "assets" / "models" / LABEL
CONFIG, UPDATE, SYMBOLS = "config.json", "language.safetensors", "symbols.json"
PROCESSOR = "preprocessor_config.json"
NEEDED = (CONFIG, UPDATE, SYMBOLS, PROCESSOR)
TOWERS = "tower*.safetensors"
DECODER, PROJECTOR = "model.language_model.", "model.multi_modal_projector."

log = logging.getLogger(__name__)


def problem() -> str | None:
    """Why the model cannot be loaded here, in one sentence, or None."""
    absent = [name for name in NEEDED if not (FOLDER / name).is_file()]
    if not any(FOLDER.glob(TOWERS)):
        absent.append("tower.safetensors")
    if absent:
        return (
            f"The weights of {LABEL} are not here ({', '.join(absent)} missing in {FOLDER.name}): "
            "run specviz from a complete copy of its repository."
        )
    if smollm2.gguf_path() is None:
        return f"The language model of {LABEL} is not installed: run `{smollm2.FIX}`."
    return None


def digest() -> str:
    """Of everything that the model is made of; empty where something is missing."""
    if problem() is not None:
        return ""
    return hashlib.sha256(f"{smollm2.SHA256} {folder_digest(FOLDER)}".encode()).hexdigest()[:16]


def load(device: str, dtype: str) -> Model:
    """The model; raises Unsupported when its files or SmolLM2 are missing or damaged."""
    missing = problem()
    if missing is not None:
        raise Unsupported(missing)
    import torch
    from transformers import AutoTokenizer

    from specviz.models.hf_load import quiet
    from specviz.models.vision import VisionModel

    language = smollm2.unpacked()
    try:
        with quiet():
            net = assemble(FOLDER, language, getattr(torch, dtype))
            tokenizer = AutoTokenizer.from_pretrained(language)
            processor = picture_processor(FOLDER)
        net = net.to(device)
    except torch.cuda.OutOfMemoryError as error:
        raise Unsupported(
            f"{LABEL} in {dtype} does not fit into the memory of {device}: choose the cpu."
        ) from error
    except Unsupported:
        raise
    except Exception as error:  # readers of damaged files raise whatever they like
        log.warning("loading %s failed", LABEL, exc_info=True)
        raise Unsupported(_damaged("the log says which")) from error
    return VisionModel(net, tokenizer, processor, label=LABEL, digest=digest())


def picture_processor(folder: Path) -> Any:
    """The stock image processor of SigLIP, by Pillow, as ``folder`` sets it."""
    from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

    return SiglipImageProcessorPil.from_pretrained(folder)


def assemble(folder: Path, language: Path, dtype: Any) -> Any:
    """A LlavaForConditionalGeneration of tower and update in ``folder`` and the decoder in the
    folder ``language``, in eval mode on the CPU.

    Raises Unsupported when the parts do not belong together.
    """
    from safetensors.torch import load_file
    from transformers import AutoConfig, GenerationConfig, LlavaForConditionalGeneration

    from specviz.models.low_rank import merge, mismatch, read

    config = AutoConfig.from_pretrained(folder)
    weights = load_file(language / "model.safetensors")
    linear = {
        name.removeprefix("model.").removesuffix(".weight"): weight
        for name, weight in weights.items()
        if ".layers." in name and weight.ndim == 2
    }
    update = read(folder / UPDATE)
    wrong = mismatch(linear, update)
    if wrong:
        raise Unsupported(_damaged(f"{UPDATE}: {wrong}"))
    merge(linear, update)
    state = {DECODER + name.removeprefix("model."): weight for name, weight in weights.items()}
    for file in sorted(folder.glob(TOWERS)):
        state |= {name: part.float() for name, part in load_file(file).items()}
    symbols = json.loads((folder / SYMBOLS).read_text(encoding="utf-8"))
    speak(state, symbols["tokens"], symbols["filler"])
    net, found = LlavaForConditionalGeneration.from_pretrained(
        None, config=config, state_dict=state, dtype=dtype, output_loading_info=True
    )
    lacking = sorted(found["missing_keys"] | found["unexpected_keys"])
    if lacking:
        raise Unsupported(_damaged(f"{lacking[0]} is missing or unknown"))
    net.generation_config = GenerationConfig.from_pretrained(language)
    return net.eval()


def speak(state: dict[str, Tensor], tokens: Sequence[int], filler: int) -> None:
    """Give ``state`` the projector's second layer, and its first one as many units as it needs.

    Unit k says the token ``tokens[k]``, spare units nothing; the ``filler`` is said where all are
    silent.
    """
    from torch.nn.functional import pad

    table = state[f"{DECODER}embed_tokens.weight"]
    width, spare = table.shape[1], table.shape[1] - len(tokens)
    first = PROJECTOR + "linear_1."
    state[first + "weight"] = pad(state[first + "weight"], (0, 0, 0, spare))
    state[first + "bias"] = pad(state[first + "bias"], (0, spare))
    second = table.new_zeros(width, width)
    second[:, : len(tokens)] = (table[list(tokens)] - table[filler]).T
    state[PROJECTOR + "linear_2.weight"] = second
    state[PROJECTOR + "linear_2.bias"] = table[filler].clone()


def _damaged(what: str) -> str:
    return (
        f"The weights of {LABEL} are damaged ({what}): take {FOLDER.name} again from a copy of its "
        "repository."
    )
