"""Units of probing a recurrent-depth model: what each holds, and whether a kept one is that."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import model_validator

from specviz.bench.probed import Count, Counts, Level, Seconds, Unit
from specviz.trace import Costs


class Accuracy(Unit):
    """Which word problems were answered right, in their order, at one depth."""

    right: tuple[bool, ...]


class Agreement(Unit):
    """On one kind of text: at how many of ``positions`` the pick after ``depths`` iterations was
    the final one, by prefix."""

    depths: Counts
    positions: Count
    same: dict[str, Counts]

    @model_validator(mode="after")
    def _adds_up(self) -> Agreement:
        for counts in self.same.values():
            if len(counts) != len(self.depths) or max(counts, default=0) > self.positions:
                raise ValueError("every depth has its share")
        return self


class Composed(Unit):
    """Of one kind of task, by the steps that an answer takes: ``asked`` [steps] of them, ``right``
    [steps][depths]. ``skipped`` tasks have answers that share a token with something else."""

    depths: Counts
    steps: Counts
    asked: Counts
    right: tuple[Counts, ...]
    skipped: Count

    @model_validator(mode="after")
    def _adds_up(self) -> Composed:
        if not len(self.steps) == len(self.asked) == len(self.right):
            raise ValueError("every number of steps has its counts")
        for asked, row in zip(self.asked, self.right, strict=True):
            if len(row) != len(self.depths) or max(row, default=0) > asked:
                raise ValueError("every depth has its count")
        return self


class Convergence(Unit):
    """Nearness to the last iteration, by iteration: of queries, keys and values."""

    positions: Count
    cosine: dict[str, tuple[Level, ...]]
    distance: dict[str, tuple[Level, ...]]


class Core(Unit):
    """What a call of the core costs; None where there is no room to time one."""

    costs: Costs | None


class Loop(Unit):
    """Seconds per plain token, and of its bare matrix ``products``."""

    seconds: Seconds
    products: Seconds


UNITS: Mapping[str, type[Unit]] = {
    "accuracy": Accuracy,
    "agreement": Agreement,
    "composed": Composed,
    "convergence": Convergence,
    "core": Core,
    "loop": Loop,
}
