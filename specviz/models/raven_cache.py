"""Keys and values of a recurrent-depth model, contiguous: a slot for each layer and iteration.

A layer of the core has as many slots as the model iterates, the other layers have one. A commit
moves only the rows of a branch, for all slots of a layer at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

FIRST = 256
COMPLEX = {torch.float32: torch.complex64, torch.float64: torch.complex128}


@dataclass(frozen=True)
class Views:
    """One layer of a pass, by iteration: where its new rows go [rows, 2, heads, width], and what it
    looks at, the new rows included: ``keys`` [heads, width, n], ``values`` [heads, n, width].

    Wide rows are written as complex numbers [rows, 2, heads, width / 2], as they are rotated.
    """

    writes: tuple[Tensor, ...]
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]

    @classmethod
    def of(cls, store: Tensor, base: int, end: int) -> Views:
        """Views of ``store`` [slots, 2, heads, capacity, width] for rows from ``base`` to ``end``.

        Made once per pass: a view costs about as much as a small matrix product.
        """
        seen = store[..., :end, :]
        pairs = store.view(COMPLEX[store.dtype]) if store.dtype in COMPLEX else store
        return cls(
            pairs[..., base:end, :].permute(0, 3, 1, 2, 4).unbind(),
            seen[:, 0].transpose(2, 3).unbind(),
            seen[:, 1].unbind(),
        )


class RavenCache:
    """``stores``: a tensor [slots, 2, heads, capacity, width] for every layer, in the order of the
    pass: a head's rows lie one after the other. ``length`` rows of each count. ``spare``: rows to
    make room for at the start."""

    def __init__(self, empty: Sequence[Tensor], spare: int = 0) -> None:
        """``empty``: for every layer a tensor [slots, 2, heads, 0, width], as it is to be kept."""
        self.stores = list(empty)
        self.length = 0
        self._spare = spare

    def views(self, rows: int) -> list[Views]:
        """The layers, with room for ``rows`` more rows behind those that count."""
        end = self.length + rows
        capacity = self.stores[0].shape[3]
        if end > capacity:
            room = max(end, 2 * capacity, self._spare, FIRST)
            self.stores = [grown(store, self.length, room) for store in self.stores]
        return [Views.of(store, self.length, end) for store in self.stores]

    def advance(self, rows: int) -> None:
        """Count ``rows`` rows that a pass has just written."""
        self.length += rows

    def pad(self, rows: int) -> None:
        """Become ``rows`` rows of zeros longer: only to time passes."""
        for view in self.views(rows):
            for write in view.writes:
                write.zero_()
        self.length += rows

    def rewind(self) -> None:
        """Nothing to take back: rows that do not count are written over."""

    def keep(self, path: Sequence[int]) -> None:
        """Count exactly the rows ``path`` (ascending offsets) of those behind ``length``.

        Leading rows that are in place already (0, 1, 2, …) stay where they are.
        """
        still = next((i for i, row in enumerate(path) if i != row), len(path))
        if still < len(path):
            start, end = self.length + still, self.length + len(path)
            for store in self.stores:
                rows = torch.tensor(path[still:], device=store.device) + self.length
                store[..., start:end, :] = store.index_select(3, rows)
        self.length += len(path)


def grown(store: Tensor, rows: int, capacity: int) -> Tensor:
    """A copy of ``store`` with room for ``capacity`` rows, of which the first ``rows`` are kept."""
    new = store.new_empty((*store.shape[:3], capacity, store.shape[4]))
    new[..., :rows, :] = store[..., :rows, :]
    return new
