"""A matrix product for one row and for a dozen, which a processor wants laid out differently.

One row reads the whole weight once, and reads it best row after row of its transpose. Several rows
are up to three times faster on a weight that oneDNN has laid out in blocks; on one row that is
slower. A small model can afford to keep both.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from specviz.models.hf_pack import DTYPES, ROWS, TOLERANCE, TRIES

# Elements of the weight times rows from which on the blocked layout is the faster one: calling it
# costs more, so a small matrix needs more rows.
ENOUGH = 350_000
SMALL = 100_000_000  # weights that are kept twice


def _linear() -> Any:
    """The operators that ``torch.compile`` uses with frozen weights."""
    return torch.ops.mkldnn._linear_pointwise


class Product:
    """``x @ weight.T`` with ``weight`` [out, in], which is not copied before :meth:`pack`."""

    def __init__(self, weight: Tensor) -> None:
        self.weight = weight.detach()
        self._elements = weight.numel()
        self.narrow = self.weight.t()
        self.wide: Tensor | None = None
        self._linear: Any = None
        self._summing: Any = None

    def __call__(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """[rows, in] to [rows, out]; ``plus`` [out] or [rows, out] is added on the way."""
        rows = x.shape[0]
        if self.wide is None or rows == 1 or rows * self._elements < ENOUGH:
            return torch.mm(x, self.narrow) if plus is None else torch.addmm(plus, x, self.narrow)
        return self.blocked(x, plus)

    def blocked(self, x: Tensor, plus: Tensor | None = None) -> Tensor:
        """The same on the blocked layout, however few rows."""
        out: Tensor
        if plus is None or plus.ndim == 1:
            out = self._linear(x, self.wide, plus, "none", [], "")
        elif x.dtype == torch.float32:  # the operator that adds on its way is the slower one
            out = self._linear(x, self.wide, None, "none", [], "").add_(plus)
        else:  # but it rounds only once
            out = self._summing(x, plus, self.wide, None, "add")
        return out

    def pack(self) -> None:
        """Keep both layouts. Raises RuntimeError or AttributeError where they cannot be had."""
        self._linear, self._summing = _linear().default, _linear().binary
        self.narrow = self.weight.t().contiguous()
        self.wide = torch.ops.mkldnn._reorder_linear_weight(self.weight.contiguous(), ROWS)

    def unpack(self) -> None:
        """Back to the weight as it was given."""
        self.narrow, self.wide = self.weight.t(), None


def pack(products: list[Product]) -> bool:
    """Pack all of them or none; returns whether that was done.

    None on other devices than the CPU, in other types than float32 and bfloat16, where a weight is
    too large to be kept twice, or where the layout does not compute the same faster.
    """
    first = products[0].weight
    weights = sum(p.weight.numel() for p in products)
    if first.device.type != "cpu" or first.dtype not in DTYPES or weights > SMALL:
        return False
    try:
        with torch.inference_mode():
            for product in products:
                product.pack()
            if all(_error(p) <= TOLERANCE[first.dtype] for p in products) and _faster(products):
                return True
    except (RuntimeError, AttributeError, NotImplementedError):
        pass  # this torch has no such operators, or this processor cannot run them
    for product in products:
        product.unpack()
    return False


def _example(product: Product) -> Tensor:
    generator = torch.Generator().manual_seed(ROWS)
    x = torch.randn(ROWS, product.weight.shape[1], generator=generator)
    return x.to(product.weight.dtype)


def _error(product: Product) -> float:
    """The largest difference between the layouts over the largest output, sum included."""
    x = _example(product)
    plus = torch.ones(ROWS, product.weight.shape[0], dtype=x.dtype)
    plain = torch.addmm(plus, x, product.weight.t()).float()
    return float((product.blocked(x, plus).float() - plain).abs().max() / plain.abs().max())


def _faster(products: list[Product]) -> bool:
    """Whether the largest product gains from its layout."""
    product = max(products, key=lambda p: p.weight.numel())
    x, plain, packed = _example(product), [], []
    for _ in range(TRIES):
        started = perf_counter()
        torch.mm(x, product.weight.t())
        between = perf_counter()
        product.blocked(x)
        plain.append(between - started)
        packed.append(perf_counter() - between)
    return min(packed) < min(plain)
