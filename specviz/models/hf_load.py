"""Hub ids and local folders to models; whatever goes wrong there becomes one sentence."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForImageTextToText,
    AutoTokenizer,
    PretrainedConfig,
)
from transformers import __version__ as TRANSFORMERS
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
)
from transformers.utils import logging as transformers_logging

from specviz.files import folder_digest
from specviz.models.base import InputError, Model, Unsupported
from specviz.models.hf import HFModel
from specviz.models.hf_facts import check_architecture
from specviz.models.hf_hub import hub_config, snapshot
from specviz.models.raven_config import some
from specviz.models.raven_label import is_recurrent
from specviz.models.raven_load import load as load_raven
from specviz.models.session import tree_error
from specviz.models.vision import VisionModel
from specviz.models.vision_families import FAMILIES
from specviz.models.vision_load import readers

log = logging.getLogger(__name__)

# The test suite compares their tree passes with plain ones; anything else is checked when loaded.
# (A check needs the device, which a ZeroGPU process lacks while it preloads.)
VERIFIED = {"llama", "qwen2", "qwen3", "gemma3_text", "mistral", "qwen2_5_vl_text", "qwen3_vl_text"}
RAVEN_FILES = ["*.safetensors", "*.json", "*.jinja"]
TOLERANCE = {"float64": 1e-6, "float32": 1e-2, "bfloat16": 0.5, "float16": 0.25}


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings and no progress bars of transformers while something loads."""
    level = transformers_logging.get_verbosity()
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()


def load_hub(repo: str, device: str, dtype: str, label: str | None = None) -> Model:
    """A model of the hub by its id; downloads what the local hub cache lacks."""
    label = label or repo
    config_file, offline = hub_config(repo)
    revision = config_file.parent.name
    known: dict[str, Any] = {"revision": revision, "local_files_only": offline}
    if is_recurrent(config_file):
        with quiet():
            folder = snapshot(repo, RAVEN_FILES, revision, offline)
        return load_raven(folder, device, dtype, label, revision[:16])
    return _load(repo, device, dtype, label, revision[:16], known)


def load_folder(
    folder: Path, device: str, dtype: str, label: str | None = None, digest: str | None = None
) -> Model:
    """A model saved in ``folder``; its digest is that of its files unless given."""
    label = label or folder.name
    if not (folder / "config.json").is_file():
        raise InputError(f"The folder {folder} has no config.json: give a transformers model.")
    digest = digest or folder_digest(folder)
    if is_recurrent(folder / "config.json"):
        return load_raven(folder, device, dtype, label, digest)
    return _load(str(folder), device, dtype, label, digest)


def _load(
    source: str,
    device: str,
    dtype: str,
    label: str,
    digest: str,
    known: Mapping[str, Any] = MappingProxyType({}),
) -> HFModel:
    known = {**known, "trust_remote_code": False}
    with quiet():
        try:
            config = AutoConfig.from_pretrained(source, **known)
        except Exception as error:  # a foreign config.json may hold anything
            raise Unsupported(_unknown(source, label, known)) from error
        sees = config.model_type in FAMILIES
        check_architecture(_network(config, label), config, label)
        try:
            net, facts = _weights(source, config, device, getattr(torch, dtype), known)
            if sees:
                tokenizer, processor = readers(source, known)
            else:
                tokenizer, processor = AutoTokenizer.from_pretrained(source, **known), None
        except torch.cuda.OutOfMemoryError as error:
            raise Unsupported(
                f"{label} in {dtype} does not fit into the memory of {device}: choose a smaller "
                "model or a shorter dtype."
            ) from error
        except Exception as error:  # readers of foreign files raise whatever they like
            log.warning("loading %s failed", label, exc_info=True)
            raise Unsupported(
                f"{label} could not be loaded: its files are incomplete, damaged or need a "
                "package that is not installed (the log says which)."
            ) from error
        lacking = sorted(facts["missing_keys"])
        if lacking:  # transformers would fill them with noise
            raise Unsupported(
                f"The checkpoint {label} lacks the tensors {some(lacking)}: choose weights that "
                "belong to its config.json."
            )

        def make() -> HFModel:
            if sees:
                return VisionModel(net, tokenizer, processor, label=label, digest=digest)
            return HFModel(net, tokenizer, label=label, digest=digest)

        if config.get_text_config().model_type in VERIFIED:
            return make()
        return _checked(net, make, label)


def _network(config: Any, label: str) -> Any:
    """The class of transformers that a configuration is for; raises Unsupported."""
    if config.model_type in FAMILIES:
        return MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING[type(config)]
    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING:
        return MODEL_FOR_CAUSAL_LM_MAPPING[type(config)]
    if type(config) in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING:
        raise Unsupported(
            f"{label} ({config.model_type}) reads pictures in a way of its own: choose a text "
            f"model, or an image-text model of one of the kinds {', '.join(FAMILIES)}."
        )
    raise Unsupported(
        f"{label} ({config.model_type}) is not a causal language model of transformers: "
        "choose a decoder-only text model."
    )


def _unknown(source: str, label: str, known: Mapping[str, Any]) -> str:
    """Why an architecture cannot be loaded; names the version that its own code was written for."""
    written = ""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        facts, _ = PretrainedConfig.get_config_dict(source, **known)
        if "auto_map" in facts:
            written = f" (its own code needs transformers {facts['transformers_version']})"
    return (
        f"{label} has an architecture{written} that transformers {TRANSFORMERS} does not know, and "
        "specviz runs no code that comes with a model: choose another model."
    )


def _weights(
    source: str, config: Any, device: str, dtype: torch.dtype, known: Mapping[str, Any]
) -> tuple[Any, Any]:
    """The network on ``device``, spread over all devices only where it does not fit into one, and
    what transformers found out about its tensors."""
    auto = AutoModelForImageTextToText if config.model_type in FAMILIES else AutoModelForCausalLM
    given: dict[str, Any] = {"config": config, "dtype": dtype, "output_loading_info": True, **known}
    if device != "cpu":
        given["device_map"] = {"": device}
    try:
        net, facts = auto.from_pretrained(source, **given)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        given["device_map"] = "auto"
        net, facts = auto.from_pretrained(source, **given)
    return net.eval(), facts


def _checked(net: Any, make: Callable[[], HFModel], label: str) -> HFModel:
    """A model whose packed pass over a small tree was seen to equal passes over its branches.

    Where the fast attention fails the check, the plain one is tried.
    """
    for attention in (None, "eager"):
        if attention is not None:
            net.set_attn_implementation(attention)
        model = make()
        try:
            if tree_gap(model) <= TOLERANCE[model.dtype]:
                return model
        except Exception:  # whatever a foreign architecture raises here, it cannot do trees
            log.warning("%s cannot verify a tree (%s)", label, attention, exc_info=True)
    raise Unsupported(
        f"{label} ({net.config.model_type}) does not verify a draft tree as it would verify each "
        "branch, so its output could not be trusted here: choose another model."
    )


def tree_gap(model: HFModel) -> float:
    """How far a tree pass is from plain passes of transformers itself; see ``tree_error``."""

    def plain(tokens: list[int]) -> torch.Tensor:
        with torch.inference_mode():
            ids = torch.tensor([tokens], device=model.place)
            logits: torch.Tensor = model.net(input_ids=ids, use_cache=False).logits[0]
        return logits

    return tree_error(model.open(), plain)
