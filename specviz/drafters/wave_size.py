"""How large a wave pays best: block and rounds for the most tokens per cost.

A wave is causal: a wider block changes none of its first guesses, and more rounds change no earlier
round. So the rounds of one draft tell, once the target has spoken, what every smaller wave would
have brought, and nothing has to be tried out for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import NamedTuple

PRIOR = 0.75  # how likely a guess is thought to be right before any was seen
MEMORY = 0.15  # weight of the newest step

Chances = Sequence[Sequence[float]]


class Plan(NamedTuple):
    """How wide a wave may get, and how many rounds it makes."""

    block: int
    rounds: int


@dataclass(frozen=True)
class Shape:
    """What all waves of a run have in common.

    ``start``, ``widen``: positions in the first round, and how many join per round. ``inner``: core
    calls per round. ``depth``: core calls of a full pass. ``readout``: what reading a round's
    guesses costs, in core calls over the same positions.
    """

    start: int
    widen: int
    inner: int
    depth: int
    readout: float

    def width(self, block: int, number: int) -> int:
        """Positions in round ``number``, counting from 1."""
        return min(block, self.start + (number - 1) * self.widen)

    def reached(self, block: int) -> int:
        """The first round that has ``block`` positions."""
        return 1 + max(0, -((self.start - block) // self.widen))

    def blocks(self, widest: int) -> list[int]:
        """Every width up to ``start``, those that widening leads to, and ``widest`` itself."""
        grown = range(self.start, widest, self.widen)
        return [*range(1, min(self.start, widest)), *grown, widest]


def expected(chances: Sequence[float]) -> list[float]:
    """Guesses accepted of the first 0, 1, … len(chances), where ``chances[j]`` is the probability
    that guess j is right when all before it are."""
    return list(accumulate(accumulate(chances, mul), initial=0.0))


def rates(
    chances: Chances, shape: Shape, prices: Sequence[float], widest: int
) -> Iterator[tuple[Plan, float]]:
    """Tokens per cost of every plan that differs, up to ``widest`` and len(chances) rounds.

    ``chances[k][j]``: of guess j in round k + 1. ``prices[n]``: a full pass over n rows, in those
    of one row. A core call over b positions costs prices[b] / depth, verifying n guesses
    prices[n + 1]. The token that the target adds is counted. A plan whose block is not reached is
    left out: with a narrower one it is the same wave.
    """
    gains = [expected(row) for row in chances]
    call = (shape.inner + shape.readout) / shape.depth
    for block in shape.blocks(widest):
        spent = 0.0
        for number, gain in enumerate(gains, start=1):
            width = shape.width(block, number)
            spent += call * prices[width]
            if width == block:
                yield Plan(block, number), (1.0 + gain[width]) / (spent + prices[width + 1])


def best(chances: Chances, shape: Shape, prices: Sequence[float], widest: int) -> Plan | None:
    """The plan with the greatest rate, the narrowest and then shortest among equals."""
    found, highest = None, 0.0
    for plan, rate in rates(chances, shape, prices, widest):
        if rate > highest:
            found, highest = plan, rate
    return found


def confirmed(guesses: Sequence[int], truth: Sequence[int]) -> int:
    """How many of the first ``guesses`` equal the ``truth``, as far as that is known."""
    for i, (guess, token) in enumerate(zip(guesses, truth, strict=False)):
        if guess != token:
            return i
    return min(len(guesses), len(truth))


@dataclass
class WaveSize:
    """Chooses the next wave from what the last ones brought. Deterministic: it reads no clock.

    A guess counts only where all before it were right, so that a full block says nothing of the
    positions beyond it: those are hoped to be as good as the last one that was seen, and a wave
    whose whole block was accepted grows once to see. One round more than was ever made is expected
    to gain as much as the one before did. ``full``: the width of the last wave if all of it was
    right, else 0.
    """

    shape: Shape
    prices: Sequence[float]
    start: Plan
    most: Plan
    chances: list[list[float]] = field(default_factory=list)
    counts: list[list[int]] = field(default_factory=list)
    full: int = 0

    def plan(self, limit: int) -> Plan:
        """The next wave, no wider than ``limit`` positions."""
        if not self.chances:
            return Plan(min(self.start.block, limit), self.start.rounds)
        seen = max(map(len, self.chances))
        widest = min(limit, self.most.block, seen + self.shape.widen)
        found = best(self.hoped(widest), self.shape, self.prices, widest)
        if found is None:
            return Plan(widest, self.start.rounds)
        if self.full:
            block = min(widest, max(found.block, self.full + self.shape.widen))
            rounds = min(self.most.rounds, max(found.rounds, self.shape.reached(block)))
            return Plan(block, rounds)
        return found

    def hoped(self, width: int) -> list[list[float]]:
        """Chances of ``width`` positions, for every round that was made and one more."""
        known = [self._filled(row, width) for row in self.chances]
        if len(known) < self.most.rounds:
            before = known[-2] if len(known) > 1 else known[-1]
            known.append(
                [min(1.0, max(0.0, 2 * b - a)) for a, b in zip(before, known[-1], strict=True)]
            )
        return known

    def learn(self, rounds: Sequence[Sequence[int]], truth: Sequence[int], made: int) -> None:
        """Take in the guesses of every round [r][b] and what the target said in their place.

        ``made``: rounds that were planned; where the wave settled before, more would have given
        what its last one gave.
        """
        last = rounds[-1]
        self.full = len(last) if confirmed(last, truth) == len(last) else 0
        for k in range(max(made, len(rounds))):
            guesses = rounds[k] if k < len(rounds) else last
            right = confirmed(guesses, truth)
            known = min(len(guesses), len(truth))
            for j in range(min(right + 1, known)):
                self._note(k, j, j < right)

    def _note(self, number: int, position: int, right: bool) -> None:
        while len(self.chances) <= number:
            self.chances.append([])
            self.counts.append([])
        row, counts = self.chances[number], self.counts[number]
        if len(row) <= position:
            row.append(row[-1] if row else PRIOR)
            counts.append(0)
        counts[position] += 1
        weight = max(MEMORY, 1 / (counts[position] + 1))
        row[position] += weight * (right - row[position])

    @staticmethod
    def _filled(row: Sequence[float], width: int) -> list[float]:
        filled = [*row[:width]]
        return filled + [filled[-1] if filled else PRIOR] * (width - len(filled))
