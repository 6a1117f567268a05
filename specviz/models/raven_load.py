"""Checkpoints of recurrent-depth models, read without any code that comes with them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast

from specviz.models.base import Unsupported
from specviz.models.raven import RavenModel
from specviz.models.raven_config import damaged, eos_ids, json_object, read_config, some
from specviz.models.raven_net import Raven, RavenConfig

log = logging.getLogger(__name__)

# Written by the published code although they say nothing that the configuration does not.
DERIVED = {"freqs_cis"}
HEAD = "lm_head.weight"
EMBEDDING = "transformer.wte.weight"


def load(folder: Path, device: str, dtype: str, label: str, digest: str) -> RavenModel:
    """The model saved in ``folder``; raises Unsupported with what is wrong."""
    facts = json_object(folder / "config.json", label)
    config = read_config(facts, label)
    try:
        net = _network(folder, config, facts, device, getattr(torch, dtype), label)
        return RavenModel(
            net,
            _tokenizer(folder, config, label),
            label=label,
            digest=digest,
            eos_ids=frozenset(eos_ids(folder, facts, config, label)),
        )
    except torch.cuda.OutOfMemoryError as error:
        raise Unsupported(
            f"{label} in {dtype} does not fit into the memory of {device}: choose a smaller "
            "model or a shorter dtype."
        ) from error
    except Unsupported:
        raise
    except Exception as error:  # readers of foreign files raise whatever they like
        log.warning("loading %s failed", label, exc_info=True)
        raise Unsupported(
            f"{label} could not be loaded: its files are incomplete or damaged "
            "(the log says which)."
        ) from error


def _tokenizer(folder: Path, config: RavenConfig, label: str) -> Any:
    """The tokenizer beside the weights; raises Unsupported, also when it has tokens without one."""
    if not (folder / "tokenizer.json").is_file():
        raise Unsupported(
            f"{label} lacks tokenizer.json: put the tokenizer's files into the folder."
        )
    try:
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    except Exception as error:  # as above
        log.debug("the tokenizer of %s", label, exc_info=True)
        raise Unsupported(
            f"The tokenizer of {label} cannot be read: give the tokenizer.json and the "
            "tokenizer_config.json that were saved with the weights."
        ) from error
    size = max(tokenizer.get_vocab().values(), default=0) + 1
    if size > config.vocab_size:
        raise Unsupported(
            f"The tokenizer of {label} has {size} tokens, its network {config.vocab_size}: give "
            "the tokenizer that was saved with the weights."
        )
    return tokenizer


def _network(
    folder: Path,
    config: RavenConfig,
    facts: dict[str, Any],
    device: str,
    dtype: torch.dtype,
    label: str,
) -> Raven:
    with torch.device("meta"):
        net = Raven(config).to(dtype)
    tied = bool(facts.get("tie_embeddings", facts.get("tie_word_embeddings", True)))
    expected = {name: p.shape for name, p in net.named_parameters(remove_duplicate=False)}
    if tied:
        del expected[HEAD]
    files = _files(folder, label)
    _compare(expected, _shapes(files), tied, bool(facts.get("qk_bias", True)), label)
    try:
        state = _read(files, expected, lambda name: device, dtype)
    except torch.cuda.OutOfMemoryError:
        torch.cuda.empty_cache()
        state = _read(files, expected, _spread(net, device), dtype)
    for name, shape in expected.items():
        if name not in state:  # a checkpoint without biases on queries and keys
            state[name] = torch.zeros(shape, dtype=dtype, device=device)
    if not tied:
        net.lm_head.weight = nn.Parameter(net.lm_head.weight)
    net.load_state_dict(state, strict=False, assign=True)
    if tied:
        net.lm_head.weight = net.transformer.wte.weight
    return net


def _files(folder: Path, label: str) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        named = json_object(index, label).get("weight_map")
        parts = list(named.values()) if isinstance(named, dict) else [None]
        names = [n for n in parts if isinstance(n, str) and n == Path(n).name]
        if len(names) < len(parts):
            raise damaged(index, label)
        files = [folder / name for name in sorted(set(names))]
    else:
        files = [folder / "model.safetensors"]
    absent = [file.name for file in files if not file.is_file()]
    if absent:
        raise Unsupported(
            f"{label} lacks {some(absent)}: put all of its safetensors files into the folder."
        )
    return files


def _shapes(files: list[Path]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {}
    for file in files:
        with _opened(file) as part:
            for name in part.keys():  # noqa: SIM118 (not a mapping)
                shapes[name] = tuple(part.get_slice(name).get_shape())
    return shapes


def _opened(file: Path) -> Any:
    try:
        return safe_open(file, framework="pt")
    except (SafetensorError, OSError) as error:
        raise Unsupported(
            f"{file.name} cannot be read as safetensors: it is incomplete or damaged."
        ) from error


def _compare(
    expected: dict[str, torch.Size],
    found: dict[str, tuple[int, ...]],
    tied: bool,
    biased: bool,
    label: str,
) -> None:
    """Raise Unsupported unless exactly the tensors that this network has are there."""
    accepted = DERIVED | ({HEAD} if tied else set())
    optional = set() if biased else {name for name in expected if name.endswith("qk_bias")}
    missing = sorted(expected.keys() - found.keys() - optional)
    unexpected = sorted(found.keys() - expected.keys() - accepted)
    wrong = [
        f"{name} ({'x'.join(map(str, found[name]))} instead of {'x'.join(map(str, shape))})"
        for name, shape in expected.items()
        if name in found and found[name] != tuple(shape)
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
        raise Unsupported(
            f"The checkpoint {label} {' and '.join(parts)}: choose weights in the published format "
            "of this architecture, with the configuration that belongs to them."
        )


def _read(
    files: list[Path],
    expected: dict[str, torch.Size],
    place: Callable[[str], str],
    dtype: torch.dtype,
) -> dict[str, Tensor]:
    return {
        name: tensor.to(place(name), dtype)
        for file in files
        for name, tensor in _tensors(file)
        if name in expected
    }


def _tensors(file: Path) -> Iterator[tuple[str, Tensor]]:
    with _opened(file) as part:
        for name in part.keys():  # noqa: SIM118 (not a mapping)
            yield name, part.get_tensor(name)


def _spread(net: Raven, device: str) -> Callable[[str], str]:
    """Which GPU every tensor goes to, where they do not fit into one; a layer stays whole."""
    from accelerate import infer_auto_device_map

    if torch.cuda.device_count() < 2:
        raise torch.cuda.OutOfMemoryError
    places = infer_auto_device_map(net, no_split_module_classes=["Block"])
    if {"cpu", "disk"} & {str(p) for p in places.values()}:
        raise torch.cuda.OutOfMemoryError

    def place(name: str) -> str:
        # What is in no layer has to be where states are mixed: with the embedding.
        key = max((k for k in places if name.startswith(f"{k}.")), key=len, default="")
        in_layer = name.split(".")[1] in ("prelude", "core_block", "coda")
        return str(torch.device(places[key])) if in_layer and key else device

    return place
