"""The folder ``assets/models/smol-boards``: what of the trained parts is shipped, and how."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import load_file
from torch import Tensor
from transformers import LlavaConfig
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

from specviz.models.base import InputError
from specviz.models.smol_boards import CONFIG, PROJECTOR, SYMBOLS, TOWERS, UPDATE
from specviz.training.vlm_grids import Alphabet
from specviz.training.vlm_lora import RECORD
from specviz.training.vlm_symbols import NUMBER

SHARD = "9MB"
TOWER = "model.vision_tower."
FIRST = f"{PROJECTOR}linear_1."  # of the projector: a unit for every symbol


def shipped(reader: Mapping[str, Tensor], symbols: int) -> dict[str, Tensor]:
    """The weights of a trained tower under LLaVA's names, in float16; of the projector only the
    units of so many symbols. What only training needed is left out."""
    found: dict[str, Tensor] = {}
    for name, weight in reader.items():
        half = weight.to(torch.float16)
        if name.startswith("tower."):
            found[TOWER + name.removeprefix("tower.")] = half
        elif name.startswith("says."):
            found[FIRST + name.removeprefix("says.")] = half[:symbols].clone()
    return found


def unshipped(folder: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The weights of the tower in a shipped ``folder`` under a training's names, and the rows that
    it has of the projector's first layer, each at the number that its symbol has now; float16.

    Rows of symbols that are new since are not a number (``nan``). Raises InputError where the
    folder holds no tower, or knows symbols that are gone.
    """
    files = sorted(folder.glob(TOWERS))
    if not files or not (folder / SYMBOLS).is_file():
        raise InputError(f"{folder.name} holds no shipped tower: name the folder of the model.")
    tower: dict[str, Tensor] = {}
    says: dict[str, Tensor] = {}
    symbols = json.loads((folder / SYMBOLS).read_text(encoding="utf-8"))["symbols"]
    gone = [symbol for symbol in symbols if symbol not in NUMBER]
    if gone:
        raise InputError(f"{folder.name} says {gone[0]!r}, which is no symbol any more.")
    rows = torch.tensor([NUMBER[symbol] for symbol in symbols])
    for file in files:
        for name, weight in load_file(file).items():
            if name.startswith(TOWER):
                tower["tower." + name.removeprefix(TOWER)] = weight
            elif name.startswith(FIRST):
                whole = weight.new_full((len(NUMBER), *weight.shape[1:]), torch.nan)
                whole[rows] = weight
                says["says." + name.removeprefix(FIRST)] = whole
    return tower, says


def configuration(vision: Any, text: Any, mark: int) -> LlavaConfig:
    """A LLaVA in which the token ``mark`` stands for one cell of a picture."""
    return LlavaConfig(
        vision_config=deepcopy(vision),  # a config that is given becomes part of the new one
        text_config=deepcopy(text),
        image_token_index=mark,
        image_seq_length=(vision.image_size // vision.patch_size) ** 2,
        projector_hidden_act="sigmoid",
        vision_feature_select_strategy="full",
        vision_feature_layer=-1,
        tie_word_embeddings=text.tie_word_embeddings,
    )


def write_folder(
    out: Path,
    config: LlavaConfig,
    tower: Mapping[str, Tensor],
    language: Path,
    symbols: Sequence[str],
    alphabet: Alphabet,
) -> None:
    """Write everything but the card. ``tower``: what a training saved; ``language``: the folder of
    an update."""
    out.mkdir(parents=True, exist_ok=True)
    parts = shipped(tower, len(symbols))
    save_torch_state_dict(parts, out, filename_pattern="tower{suffix}.safetensors",
                          max_shard_size=SHARD)  # fmt: skip
    for name in (UPDATE, RECORD):
        shutil.copyfile(language / name, out / name)
    _write(out / CONFIG, {"architectures": ["LlavaForConditionalGeneration"], **_plain(config)})
    tokens = [alphabet.ids[s] for s in symbols]
    _write(out / SYMBOLS, {"filler": alphabet.filler, "tokens": tokens, "symbols": list(symbols)})
    side = config.vision_config.image_size
    SiglipImageProcessorPil(size={"height": side, "width": side}).save_pretrained(out)


def _plain(config: LlavaConfig) -> dict[str, Any]:
    facts: dict[str, Any] = config.to_diff_dict()
    for name in ("_name_or_path", "architectures", "dtype"):
        facts["text_config"].pop(name, None)
    return facts


def _write(file: Path, facts: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
