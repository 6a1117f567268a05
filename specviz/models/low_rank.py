"""A low-rank update of a decoder's linear layers: names, files, and how it is merged.

An update of a weight [out, in] is ``up @ down`` with ``down`` [rank, in] and ``up`` [out, rank].
Source: arXiv 2106.09685; its scale is folded into ``up``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

DOWN, UP = ".lora_A.weight", ".lora_B.weight"


def linear_layers(decoder: nn.Module) -> Iterator[tuple[str, nn.Linear]]:
    """The layers that are updated, all linear ones of a decoder without its output layer.

    By name relative to it, such as ``layers.0.self_attn.q_proj``.
    """
    for name, layer in decoder.named_modules():
        if isinstance(layer, nn.Linear):
            yield name, layer


def read(file: Path) -> dict[str, Tensor]:
    """The factors in ``file`` in float32, by name; raises OSError or SafetensorError."""
    from safetensors.torch import load_file

    return {name: factor.float() for name, factor in load_file(file).items()}


def mismatch(weights: Mapping[str, Tensor], factors: Mapping[str, Tensor]) -> str | None:
    """Why ``factors`` are no update of all ``weights`` (by layer name), in a few words, or None."""
    wanted = {name + part for name in weights for part in (DOWN, UP)}
    if set(factors) != wanted:
        odd = min(set(factors) ^ wanted)
        return f"{odd} is {'missing' if odd in wanted else 'unknown'}"
    for name, weight in weights.items():
        down, up = factors[name + DOWN], factors[name + UP]
        if (down.ndim, up.ndim) != (2, 2) or (len(up), down.shape[1]) != tuple(weight.shape):
            return f"the sizes of {name} do not fit"
        if len(down) != up.shape[1]:
            return f"the ranks of {name} differ"
    return None


def merge(weights: Mapping[str, Tensor], factors: Mapping[str, Tensor]) -> None:
    """Add the update to ``weights`` (by layer name) in place; there is no ``mismatch``."""
    with torch.no_grad():
        for name, weight in weights.items():
            down, up = factors[name + DOWN].to(weight), factors[name + UP].to(weight)
            weight.add_(up @ down)
