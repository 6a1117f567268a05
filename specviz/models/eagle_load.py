"""EAGLE-3 heads from a folder: ``config.json`` and safetensors, in either public format."""

from __future__ import annotations

from pathlib import Path
from pickle import UnpicklingError

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from specviz.models.base import InputError
from specviz.models.eagle_config import read_head_config
from specviz.models.eagle_net import EagleHead, HeadConfig
from specviz.models.raven_config import json_object, some

FILES = ["*.safetensors", "pytorch_model*.bin", "config.json"]
LAYER, THEIRS = "midlayer.", "layers.0."  # SafeAILab's name of the layer, that of speculators
# The target's own, or kept by other programs: not needed here.
EMBEDDINGS = "embed_tokens.weight"  # but where a head was trained with its own
IGNORED = {"verifier_lm_head.weight", "verifier_norm.weight"}
MAPS = {"d2t", "t2d"}  # left out where both vocabularies are the same
FIX = "choose the head that was trained for this target, in the SafeAILab or speculators format."


def load_head(
    folder: Path, hidden: int, vocabulary: int, layers: int, dtype: torch.dtype, label: str
) -> EagleHead:
    """The head in ``folder`` for a target of that hidden size, vocabulary and number of layers.

    Raises InputError when it does not fit the target, or when its files do not fit one another.
    """
    config = read_head_config(json_object(folder / "config.json", label), layers, label)
    _fit(config, hidden, vocabulary, label)
    state = _tensors(folder, label)
    if not config.own_embeddings:
        state.pop(EMBEDDINGS, None)
    with torch.device("meta"):
        head = EagleHead(config)
    _compare(head, state, label)
    _complete(head, state, label)
    for name, tensor in state.items():
        state[name] = tensor if name in MAPS else tensor.to(dtype)
        if not state[name].isfinite().all():
            raise InputError(f"{name} of {label} holds numbers that are not finite: {FIX}")
    head.load_state_dict(state, assign=True)
    return head.requires_grad_(False).eval()


def _fit(config: HeadConfig, hidden: int, vocabulary: int, label: str) -> None:
    for what, own, target in (
        ("hidden states of size", config.target_hidden_size, hidden),
        # Embeddings are the target's, so the head's own width is not free.
        ("embeddings of size", config.hidden_size, hidden),
        ("a vocabulary of", config.vocab_size, vocabulary),
    ):
        if own != target:
            raise InputError(f"{label} was made for {what} {own}, the target has {target}: {FIX}")


def _tensors(folder: Path, label: str) -> dict[str, Tensor]:
    """All tensors under SafeAILab's names; raises InputError."""
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not files:
        raise InputError(f"{label} has no weights file (safetensors or pytorch_model.bin): {FIX}")
    state: dict[str, Tensor] = {}
    for file in files:
        try:
            part = _weights(file)
        except (SafetensorError, OSError, RuntimeError, ValueError, UnpicklingError) as error:
            raise InputError(
                f"{file.name} of {label} cannot be read: it is incomplete, damaged or holds more "
                "than tensors."
            ) from error
        state |= {_own(name): tensor for name, tensor in part.items() if name not in IGNORED}
    for name, tensor in state.items():
        if name not in MAPS and not tensor.is_floating_point():
            raise InputError(f"{name} of {label} holds no floating-point numbers: {FIX}")
    return state


def _weights(file: Path) -> dict[str, Tensor]:
    """The tensors of one file. A pickle is read as tensors only, so it can run nothing."""
    if file.suffix == ".bin":
        found = torch.load(file, map_location="cpu", weights_only=True, mmap=True)
        named = isinstance(found, dict) and all(isinstance(name, str) for name in found)
        if not named or not all(isinstance(t, Tensor) for t in found.values()):
            raise ValueError("something else than named tensors")
        return dict(found)
    with safe_open(file, framework="pt") as part:
        return {name: part.get_tensor(name) for name in part.keys()}  # noqa: SIM118


def _own(name: str) -> str:
    return LAYER + name.removeprefix(THEIRS) if name.startswith(THEIRS) else name


def _compare(head: EagleHead, state: dict[str, Tensor], label: str) -> None:
    """Raise InputError unless exactly the tensors of ``head`` are there, in its sizes."""
    expected = {name: tuple(p.shape) for name, p in head.state_dict().items()}
    same = head.config.draft_vocab_size == head.config.vocab_size
    missing = sorted(expected.keys() - state.keys() - (MAPS if same else {"t2d"}))
    unexpected = sorted(state.keys() - expected.keys())
    wrong = [
        f"{name} ({_size(state[name].shape)} instead of {_size(shape)})"
        for name, shape in expected.items()
        if name in state and tuple(state[name].shape) != shape
    ]
    parts = [
        f"{what} {some(names)}"
        for what, names in (
            ("lacks the tensors", missing),
            ("has the unknown tensors", unexpected),
            ("has tensors of another size,", wrong),
        )
        if names
    ]
    if parts:
        raise InputError(f"{label} {' and '.join(parts)}: {FIX}")


def _size(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _complete(head: EagleHead, state: dict[str, Tensor], label: str) -> None:
    """Put both maps of the vocabulary into ``state``; raises InputError where they are no maps."""
    config = head.config
    offsets = state.get("d2t", torch.zeros(config.draft_vocab_size, dtype=torch.long)).long()
    tokens = offsets + torch.arange(config.draft_vocab_size)
    inside = bool(((tokens >= 0) & (tokens < config.vocab_size)).all())
    if not inside or len(set(tokens.tolist())) < len(tokens):
        raise InputError(
            f"The map d2t of {label} names tokens twice or beyond the vocabulary: {FIX}"
        )
    chosen = torch.zeros(config.vocab_size, dtype=torch.bool)
    chosen[tokens] = True
    if "t2d" in state and not torch.equal(state["t2d"].bool(), chosen):
        raise InputError(f"The maps d2t and t2d of {label} contradict one another: {FIX}")
    state["d2t"], state["t2d"] = offsets, chosen
