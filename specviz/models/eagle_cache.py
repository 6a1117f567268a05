"""What a drafter head remembers of the text: keys before rotation, and values, of what stays.

Rows are [heads, n, width]. The rows of the text come first in what the head looks at, those of the
draft behind them; a draft is forgotten by writing over it.
"""

from __future__ import annotations

import torch
from torch import Tensor

from specviz.models.eagle_rope import Rope, rotate
from specviz.windows import Bounds, Sight

SLACK = 256  # entries that may pile up before dropped ones are moved out
FIRST = 512


class Rows:
    """A growing buffer [heads, capacity, width] of which ``count`` rows are in use."""

    def __init__(self, heads: int, width: int, like: Tensor) -> None:
        self._store = like.new_empty(heads, 0, width)
        self.count = 0

    def __getitem__(self, where: slice) -> Tensor:
        return self._store[:, where]

    def put(self, rows: Tensor, at: int) -> None:
        """Write ``rows`` from ``at`` on; what was behind them does not count any more."""
        end = at + rows.shape[1]
        capacity = self._store.shape[1]
        if end > capacity:
            heads, _, width = self._store.shape
            new = self._store.new_empty(heads, max(end, 2 * capacity, FIRST), width)
            new[:, :at] = self._store[:, :at]
            self._store = new
        self._store[:, at:end] = rows
        self.count = end

    def cut(self, count: int) -> None:
        """Forget what is behind the first ``count`` rows."""
        self.count = min(self.count, count)

    def close_gap(self, start: int, end: int) -> None:
        """Drop the rows from ``start`` to ``end``: what follows moves up."""
        moved = self._store[:, end : self.count].clone()
        self._store[:, start : start + moved.shape[1]] = moved
        self.count -= end - start


class DraftCache:
    """Entries of the text by ``bounds``, and what the head looks at in one round.

    ``seen`` counts all entries that ever came, kept or not; an entry's number is its place among
    them.
    """

    def __init__(self, bounds: Bounds, heads: int, width: int, rope: Rope, like: Tensor) -> None:
        self.bounds, self.rope = bounds, rope
        self._raw, self._values = (Rows(heads, width, like) for _ in range(2))
        self.keys, self.values = (Rows(heads, width, like) for _ in range(2))
        self.seen = 0
        self._looked = range(0), range(0)  # sinks and window of the last look
        self.sight = Sight((), -1.0, 1.0)

    @property
    def entries(self) -> int:
        """Entries of the text that are looked at."""
        return self.sight.entries

    @property
    def bytes(self) -> int:
        """Of the keys and values of these entries."""
        row = self._raw[0:1]
        return 2 * self.entries * row.shape[0] * row.shape[2] * row.element_size()

    def wanted(self, more: int) -> list[int]:
        """Which of ``more`` new entries stay, ascending: the others need not be computed."""
        old, every = self.seen, self.seen + more
        sinks, window = self.bounds.kept(every)
        stay = [*range(old, sinks.stop), *range(max(window.start, old), every)]
        return [entry - old for entry in stay]

    def append(self, keys: Tensor, values: Tensor, more: int) -> None:
        """Take what stays of ``more`` new entries, [heads, n, width], keys before rotation."""
        end = self._raw.count
        self._raw.put(keys, end)
        self._values.put(values, end)
        self.seen += more

    def arrange(self) -> Sight:
        """Drop what the bounds drop, and turn every key that stays to its position."""
        self.sight = self.bounds.sight(self.seen)
        sinks, window = self.bounds.kept(self.seen)
        turned = self._kept_turned(sinks, window)
        spare = self._raw.count - len(sinks) - len(window)
        if spare > SLACK:
            self._raw.close_gap(len(sinks), len(sinks) + spare)
            self._values.close_gap(len(sinks), len(sinks) + spare)
            spare = 0
        self._turn(0, len(sinks), 0)
        behind = len(sinks) + turned
        self._turn(behind + spare, len(sinks) + len(window) + spare, behind)
        self._looked = sinks, window
        return self.sight

    def _kept_turned(self, sinks: range, window: range) -> int:
        """How many entries of ``window`` are turned already, moved to where they will be looked at.

        Entries that stand still are turned only once, or the cost of such modes were overstated.
        """
        old_sinks, old = self._looked
        kept = max(0, old.stop - window.start) if self.bounds.standing else 0
        total = len(old_sinks) + len(old)
        gap = total - kept - len(sinks)
        for rows in (self.keys, self.values):
            rows.cut(total)
            if kept and gap:
                rows.close_gap(len(sinks), len(sinks) + gap)
        return kept

    def _turn(self, start: int, end: int, at: int) -> None:
        """Copy stored rows from ``start`` to ``end`` to where the head looks, from ``at`` on."""
        places = self._places(at, at + end - start)
        self.keys.put(rotate(self._raw[start:end], places, self.rope), at)
        self.values.put(self._values[start:end], at)

    def _places(self, start: int, end: int) -> Tensor:
        """Positions of the rows from ``start`` to ``end`` of what the head looks at, float64."""
        parts, row = [], 0
        for stretch in self.sight.stretches:
            first, last = max(start - row, 0), min(end - row, stretch.length)
            if first < last:
                steps = torch.arange(first, last, dtype=torch.float64)
                parts.append(stretch.at + stretch.step * steps)
            row += stretch.length
        return torch.cat(parts) if parts else torch.empty(0, dtype=torch.float64)
