"""Copying: where has the text so far ended like this before, and what came next?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Match:
    """The last ``length`` tokens also end just before position ``start``; ``tokens`` followed."""

    length: int
    start: int
    tokens: tuple[int, ...]


class SpanIndex:
    """An index of a growing text by its ``shortest``-grams.

    Windows that hold a ``blocked`` id (an image placeholder, say) never match, and continuations
    end before one. Only committed tokens may be added.
    """

    def __init__(self, shortest: int, longest: int, blocked: frozenset[int]) -> None:
        self.shortest = shortest
        self.longest = longest
        self.blocked = blocked
        self._ends: dict[tuple[int, ...], list[int]] = defaultdict(list)
        self._known = 0

    def extend(self, context: Sequence[int]) -> None:
        """Index the part of ``context`` that is new since the last call."""
        n = self.shortest
        for end in range(max(self._known, n), len(context)):
            gram = tuple(context[end - n : end])
            if self.blocked.isdisjoint(gram):
                self._ends[gram].append(end)
        self._known = max(self._known, len(context))

    def find(self, context: Sequence[int], width: int, latest: bool = True) -> Match | None:
        """The longest match of the end of ``context``; of equals the latest (or the earliest).

        ``width``: tokens to copy at most. None when nothing matches or nothing may be copied.
        """
        if len(context) < self.shortest:
            return None
        gram = tuple(context[-self.shortest :])
        best: tuple[int, int] | None = None
        ends = self._ends.get(gram, [])
        for end in reversed(ends) if latest else ends:
            length = self._length(context, end)
            if best is None or length > best[0]:
                best = (length, end)
            if length == self.longest:
                break
        if best is None:
            return None
        length, start = best
        tokens: list[int] = []
        for token in context[start : start + width]:
            if token in self.blocked:
                break
            tokens.append(token)
        return Match(length, start, tuple(tokens)) if tokens else None

    def _length(self, context: Sequence[int], end: int) -> int:
        """How many tokens before ``end`` equal the end of ``context``, at most ``longest``."""
        length = self.shortest
        last = len(context) - 1
        while (
            length < self.longest
            and length < end
            and context[end - 1 - length] == context[last - length]
            and context[end - 1 - length] not in self.blocked
        ):
            length += 1
        return length
