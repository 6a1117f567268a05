"""Depth-aware self-speculation: the model itself, stopped early, drafts token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.budget import Curve
from specviz.drafters.base import Draft, knob
from specviz.drafters.depth import (
    DEEPEST,
    KEYS,
    VALUES,
    DepthDrafter,
    End,
    Work,
    chain,
    check_iterations,
    guess,
    useful,
)
from specviz.evidence import Cell, WaveEvidence
from specviz.models.base import Model, Scores, Session


@dataclass
class Das(DepthDrafter):
    """A chain of guesses by the model itself, read after few of its iterations, while the prefix
    is seen through keys and values of chosen depth.

    The prefix's keys and values are those of the full pass: at the draft's own iteration (coupled),
    values of the last one (Mature-V), or both (deep).
    """

    name: ClassVar[str] = "das"

    tokens: int = knob(6, "Tokens guessed per step at most.", 1, 32, advanced=False)
    draft: int = knob(
        4, "Iterations after which a guess is read.", 1, DEEPEST, advanced=False
    )  # fmt: skip
    keys: int = knob(0, KEYS, -1, DEEPEST)
    values: int = knob(-1, VALUES, -1, DEEPEST, advanced=False)
    confidence: float = knob(
        0.0, "Stop guessing once the whole chain is less probable than this; 0 never does.", 0, 1
    )

    def check(self, model: Model) -> None:
        check_iterations(model, "draft", self.draft, least=1)
        check_iterations(model, "keys", self.keys)
        check_iterations(model, "values", self.values)

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        self.attach(session)
        self._work = Work()
        self._end: End = "rounds"

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        self._work = Work()
        limit = min(self.tokens, budget - 1)
        if limit < 1:
            return Draft.nothing(context[-1])
        engine, cells = self._engine, list[Cell]()
        self._end = "rounds" if limit == self.tokens else "budget"
        sureness = 1.0
        engine.begin(context[-1], *self._prefix, stepwise=True)
        while True:
            at = len(cells)
            engine.refine(self.draft, first=at)
            read = engine.read(first=at)
            pick, probability = read.picks[0], read.probabilities[0]
            cells = [c._replace(state="frozen") for c in cells]
            cells.append(guess(pick, probability, engine.ages[at], "new"))
            self._work.add(self.draft, at, cells)
            sureness *= cells[at].probability
            if len(cells) == limit:
                break
            if pick in self._ends | self._blocked or sureness < self.confidence:
                self._end = "settled"
                break
            engine.grow([pick])
        engine.drop()
        kept = cells[: useful([c.token for c in cells], self._ends, self._blocked)]
        return chain(context[-1], [c.token for c in kept], [c.probability for c in kept], self.name)

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> WaveEvidence | None:
        if not self._work.rounds:
            return None
        keys, values = self._prefix
        return self._work.evidence(self._engine.depth, keys, values, False, self._end)
