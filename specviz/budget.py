"""What a target pass costs, and how large a draft tree pays best.

Verifying more rows per pass is not free, and how dear it is depends on the machine, the model and
the context. So costs are measured, and the tree is as large as brings most expected tokens per
cost, what is learned from them included (a stopping rule on the margin gets stuck: measured curves
have steps).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Curve:
    """Costs of one pass in units of a single-row pass: c(n) = t(n) / t(1), and its envelope
    c*(n) = min over m >= n of c(m), never below 1.

    ``rows`` ascending from 1, at least two; ``seconds`` measured there. Where a wider pass was
    cheaper than a narrower one, the narrower counts as cheap as the wider, although nobody pads it:
    so no size is shunned for a dip. Between two measurements c* is a straight line; beyond the last
    it goes on as steeply as before it.
    """

    rows: tuple[int, ...]
    seconds: tuple[float, ...]

    @cached_property
    def costs(self) -> tuple[float, ...]:
        """c* at ``rows``."""
        best, found = float("inf"), []
        for seconds in reversed(self.seconds):
            best = min(best, seconds)
            found.append(max(1.0, best / self.seconds[0]))
        return tuple(reversed(found))

    def __call__(self, rows: int) -> float:
        """c*(``rows``)."""
        if rows <= 1:
            return 1.0
        i = min(bisect_left(self.rows, rows), len(self.rows) - 1)
        left, right = self.rows[i - 1], self.rows[i]
        low, high = self.costs[i - 1], self.costs[i]
        return low + (high - low) * (rows - left) / (right - left)


@dataclass
class Size:
    """Decides while a tree grows best-first how many nodes it should have.

    The scores of nodes come in descending order, so the first n nodes are the best tree of n, worth
    1 + the sum of their scores in expected tokens, for the price of a pass over n + 1 rows.
    ``lesson``: tokens that a verified node brings later, by what is learned from it.
    """

    curve: Curve
    most: int
    lesson: float = 0.0
    worth: float = 1.0
    nodes: int = 0
    best: int = 0
    rate: float = 1.0

    def add(self, score: float) -> bool:
        """Count a node; returns whether a still larger tree could pay better than the best one.

        No later node scores more than this one, so a tree of n is worth at most worth + score per
        further node; c* being straight between its knots, that bound per cost is greatest at one
        of them, or at the very next size.
        """
        score += self.lesson
        self.worth += score
        self.nodes += 1
        rate = self.worth / self.curve(self.nodes + 1)
        if rate > self.rate:
            self.rate, self.best = rate, self.nodes
        knots = (n - 1 for n in self.curve.rows)
        sizes = (n for n in (self.nodes + 1, *knots, self.most) if self.nodes < n <= self.most)
        return any(
            self.worth + score * (n - self.nodes) > self.rate * self.curve(n + 1) for n in sizes
        )


def best_size(scores: Sequence[float], curve: Curve) -> int:
    """argmax over n of (1 + the n first ``scores``) / c*(n + 1), the least n among equals."""
    worth, best, rate = 1.0, 0, 1.0
    for n, score in enumerate(scores, start=1):
        worth += score
        if worth / curve(n + 1) > rate:
            best, rate = n, worth / curve(n + 1)
    return best
