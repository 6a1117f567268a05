"""DAS-Wave: a block of guesses settles together, round by round, against the deep prefix."""

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
    allowed,
    chain,
    check_iterations,
    guess,
    useful,
)
from specviz.drafters.wave_size import Plan, Shape, WaveSize
from specviz.evidence import Cell, WaveEvidence
from specviz.models.base import InputError, Model, Scores, Session
from specviz.models.engines import DepthEngine

WIDEST, LONGEST = 64, 32  # positions of a block, rounds of a draft


class Wave:
    """One block on its way: what it has guessed, for how long, and what that has cost.

    ``cells`` [b]: the guesses after the last round; ``stable`` [b]: for how many rounds each has
    not changed; ``parked``: the first positions, which are not computed any more.
    """

    def __init__(self, engine: DepthEngine, root: int, prefix: tuple[int, int], width: int) -> None:
        self.engine, self.width = engine, width
        self.cells: list[Cell] = []
        self.stable: list[int] = []
        self.parked = 0
        self.work = Work()
        engine.begin(root, *prefix)
        if width > 1:  # nothing better is known for them yet
            engine.grow([root] * (width - 1))

    @property
    def tokens(self) -> list[int]:
        """The guesses after the last round."""
        return [cell.token for cell in self.cells]

    def refine(self, iterations: int) -> None:
        """One round: iterate what is not parked, and read it."""
        self.engine.refine(iterations, first=self.parked)
        read = self.engine.read(first=self.parked)
        ages = self.engine.ages
        cells = [cell._replace(state="frozen") for cell in self.cells[: self.parked]]
        for token, probability in zip(read.picks, read.probabilities, strict=True):
            at = len(cells)
            if at == len(self.stable):
                self.stable.append(0)
                cells.append(guess(token, probability, ages[at], "new"))
                continue
            same = token == self.cells[at].token
            self.stable[at] = self.stable[at] + 1 if same else 0
            cells.append(guess(token, probability, ages[at], "same" if same else "changed"))
        self.cells = cells
        self.work.add(iterations, self.parked, cells)

    def settled(self, rounds: int) -> int:
        """How many of the first guesses have not changed for ``rounds`` rounds (0: none counts)."""
        if rounds == 0:
            return 0
        return next((j for j, s in enumerate(self.stable) if s < rounds), len(self.stable))

    def shift(self, more: int) -> None:
        """Every guess becomes the next position's input; ``more`` positions join, all of them with
        the last guess."""
        tokens = self.tokens
        if self.width > 1:
            self.engine.replace(tokens[:-1])
        if more > 0:
            self.engine.grow([tokens[-1]] * more)
            self.width += more


@dataclass
class DasWave(DepthDrafter):
    """A block of guesses refined in parallel: each round iterates all positions a little, and every
    guess becomes the next position's input.

    The block widens round by round, states are carried from one to the next, the prefix is seen
    through its deep keys and values, and guesses that no longer change are not computed again.
    """

    name: ClassVar[str] = "das_wave"

    block: int = knob(20, "Positions that are guessed at once at most.", 1, WIDEST, advanced=False)
    rounds: int = knob(24, "Refinements of one draft at most.", 1, LONGEST, advanced=False)
    inner: int = knob(1, "Iterations per round.", 1, DEEPEST, advanced=False)
    first: int = knob(4, "Positions in the first round.", 1, WIDEST)
    widen: int = knob(1, "Positions that join in each further round.", 1, WIDEST)
    freeze: int = knob(
        1, "Rounds without change after which the first guesses are final; 0 never.", 0, LONGEST
    )
    carry: bool = knob(True, "States go on from round to round, instead of starting anew.")
    keys: int = knob(-1, KEYS, -1, DEEPEST)
    values: int = knob(-1, VALUES, -1, DEEPEST)
    auto: bool = knob(
        False, "Choose block and rounds of each step by what past waves brought and passes cost."
    )

    def check(self, model: Model) -> None:
        check_iterations(model, "inner", self.inner, least=1)
        check_iterations(model, "keys", self.keys)
        check_iterations(model, "values", self.values)
        if self.first > self.block:
            raise InputError(
                f"first cannot be {self.first} with a block of {self.block}: give first "
                f"{allowed(1, self.block)}, or a block of {self.first} or more."
            )

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        self.attach(session)
        # Reading a round is a coda and the head: about as much as one more core call. Where seconds
        # are not known, only the calls of the core count.
        self._size = WaveSize(
            shape=Shape(
                self.first, self.widen, self.inner, self._engine.depth, 1.0 if costs else 0.0
            ),
            prices=[costs(n) if costs else 1.0 for n in range(WIDEST + 2)],
            start=Plan(self.block, self.rounds),
            most=Plan(WIDEST, LONGEST),
        )
        self._wave: Wave | None = None
        self._plan = Plan(self.block, self.rounds)
        self._end: End = "rounds"

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        self._wave = None
        if budget < 2:
            return Draft.nothing(context[-1])
        self._plan = Plan(self.block, self.rounds)
        if self.auto:
            self._plan = self._size.plan(budget - 1)
        block = min(self._plan.block, budget - 1)
        wave = Wave(self._engine, context[-1], self._prefix, min(self.first, block))
        self._end = self._run(wave, block)
        self._engine.drop()
        self._wave = wave
        kept = wave.cells[: useful(wave.tokens, self._ends, self._blocked)]
        return chain(context[-1], [c.token for c in kept], [c.probability for c in kept], "wave")

    def _run(self, wave: Wave, block: int) -> End:
        """Refine ``wave`` up to ``block`` positions until it has settled or its rounds are used."""
        for number in range(1, self._plan.rounds + 1):
            wave.refine(self.inner)
            frozen = wave.settled(self.freeze)
            # An answer that ends within the block needs nothing behind its end.
            if self._ended(wave.tokens[:frozen]):
                return "settled"
            if frozen == block:
                return "settled" if block == self._plan.block else "budget"
            if number == self._plan.rounds:
                break
            ended = self._ended(wave.tokens[: wave.settled(1)])
            wave.shift(0 if ended else min(self.widen, block - wave.width))
            if self.carry:
                wave.parked = frozen
            else:
                # Every state begins anew, and with it what later positions see of it.
                self._engine.restart()
        return "rounds"

    def _ended(self, tokens: Sequence[int]) -> bool:
        return any(token in self._ends for token in tokens)

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> WaveEvidence | None:
        wave = self._wave
        if wave is None:
            return None
        if self.auto:
            end = walk[-1] if walk else 0
            truth = (*(draft.tree.tokens[n] for n in walk), scores.picks[end])
            guesses = [[c.token for c in cells] for _, _, cells in wave.work.rounds]
            made = self._plan.rounds if self._end != "rounds" else len(guesses)
            self._size.learn(guesses, truth, made)
        keys, values = self._prefix
        return wave.work.evidence(self._engine.depth, keys, values, self.carry, self._end)
