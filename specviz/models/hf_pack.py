"""Linear weights laid out once for the processor that they run on.

The stock float32 linear of torch lays its weight out anew for oneDNN on every call of more than one
row, which for a small model costs more than the multiplication. The operators here are those that
``torch.compile`` uses with frozen weights; where a torch lacks them nothing is packed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import torch
from torch import nn

log = logging.getLogger(__name__)

DTYPES = (torch.float32, torch.bfloat16)
ROWS = 16  # the layout is chosen for passes about this wide; narrower ones do well with it
# Relative to the largest output; both ways sum the same products in another order.
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 2e-2}
TRIES = 5


class PackedLinear(nn.Module):
    """``x @ weight.T + bias`` with a packed weight; the plain one is not kept.

    Made from a linear layer with ``weight`` [out, in]. Raises RuntimeError or AttributeError where
    this torch or processor cannot.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        self.bias = linear.bias
        weight = linear.weight.detach()
        self._weight = torch.ops.mkldnn._reorder_linear_weight(weight, ROWS)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[..., in] to [..., out]."""
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self._weight, self.bias, "none", [], ""
        )
        return out


def pack(net: Any) -> bool:
    """Replace the linear layers of ``net`` by packed ones; returns whether that was done.

    All or nothing: not on other devices than the CPU, not in other types than float32 and bfloat16,
    not where a packed layer computes something else or is slower, and not where an operator is
    missing. Layers of a kind of their own (quantised, adapted) stay as they are.
    """
    if net.device.type != "cpu" or net.dtype not in DTYPES:
        return False
    layers = list(_layers(net))
    if not layers:
        return False
    try:
        largest = max((layer for _, _, layer in layers), key=lambda layer: layer.weight.numel())
        with torch.inference_mode():
            if not _sound(largest):
                return False
            for parent, name, layer in layers:
                packed = PackedLinear(layer)
                if not _error(layer, packed, ROWS) <= TOLERANCE[net.dtype]:
                    raise RuntimeError(f"{name} computes something else when packed")
                parent.register_module(name, packed)
    except (RuntimeError, AttributeError, NotImplementedError):
        log.info("linear weights stay as they are", exc_info=True)
        for parent, name, layer in layers:
            parent.register_module(name, layer)
        return False
    return True


def _layers(net: Any) -> Iterator[tuple[Any, str, nn.Linear]]:
    for parent in net.modules():
        for name, child in parent.named_children():
            if type(child) is nn.Linear and child.weight.dtype == net.dtype:
                yield parent, name, child


def _sound(layer: nn.Linear) -> bool:
    """Whether packing ``layer`` keeps what it computes, for one row and many, and saves time."""
    packed = PackedLinear(layer)
    limit = TOLERANCE[layer.weight.dtype]
    # Written so that a number that is none fails, too.
    if not all(_error(layer, packed, rows) <= limit for rows in (1, ROWS)):
        return False
    x = _example(layer, ROWS)
    return _seconds(packed, x) < _seconds(layer, x)


def _error(layer: nn.Linear, packed: PackedLinear, rows: int) -> float:
    """The largest difference over the largest output."""
    x = _example(layer, rows)
    plain, other = layer(x).float(), packed(x).float()
    return float((plain - other).abs().max() / plain.abs().max().clamp_min(1e-30))


def _example(layer: nn.Linear, rows: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(rows)
    x = torch.randn(1, rows, layer.in_features, generator=generator)
    return x.to(layer.weight.dtype)


def _seconds(layer: nn.Module, x: torch.Tensor) -> float:
    best = float("inf")
    for _ in range(TRIES):
        started = perf_counter()
        layer(x)
        best = min(best, perf_counter() - started)
    return best
