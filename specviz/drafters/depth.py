"""What the drafters of recurrent-depth models share: their knobs' limits, chains, evidence."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from math import isfinite
from typing import ClassVar, Literal

from specviz.drafters.autoregressive import Autoregressive
from specviz.drafters.base import Draft
from specviz.evidence import Cell, Round, WaveEvidence
from specviz.models.base import InputError, Model, Session, Unsupported
from specviz.models.engines import DepthSession
from specviz.tree import DraftTree

DEEPEST = 256  # no network of this kind is run deeper
KEYS = "Iteration of the full pass whose keys of the prefix are read: 0 as deep as the draft, \
-1 the last."
VALUES = "Iteration of the full pass whose values of the prefix are read: 0 as deep as the \
draft, -1 the last."


End = Literal["settled", "rounds", "budget"]
State = Literal["new", "changed", "same"]


def depth_of(model: Model) -> int:
    """The core iterations of a pass of ``model``; raises Unsupported where there are none."""
    if model.depth is None:
        raise Unsupported(
            f"The model {model.label} has no shared block that could be applied fewer times: "
            "choose a recurrent-depth model."
        )
    return model.depth


def check_iterations(model: Model, name: str, value: int, least: int = -1) -> None:
    """Raise InputError when the knob ``name`` asks for an iteration that ``model`` never makes."""
    depth = depth_of(model)
    if value > depth:
        times = "1 iteration" if depth == 1 else f"{depth} iterations"
        raise InputError(
            f"{name} cannot be {value}: {model.label} makes {times}, so give "
            f"{allowed(least, depth)}."
        )


def allowed(least: int, most: int) -> str:
    """The whole numbers from ``least`` to ``most`` in words."""
    return str(most) if least == most else f"a whole number from {least} to {most}"


def resolved(knob: int, depth: int) -> int:
    """The iteration that a ``keys`` or ``values`` knob means: 1 to ``depth``, or 0 for coupled."""
    return depth if knob < 0 else knob


def guess(token: int, probability: float, age: int, state: State) -> Cell:
    """What was read at one position; states that overflowed say nothing sure of it."""
    return Cell(token, round(probability, 4) if isfinite(probability) else 0.0, age, state)


def chain(root: int, tokens: Sequence[int], probabilities: Sequence[float], source: str) -> Draft:
    """Guesses [n] one after another, each with the product of the probabilities up to it."""
    scores: list[float | None] = [None]
    product = 1.0
    for probability in probabilities:
        product *= probability
        scores.append(round(product, 6))
    size = len(tokens) + 1
    return Draft(
        DraftTree((root, *tokens), tuple(range(-1, size - 1))),
        ("root", *(source for _ in tokens)),
        tuple(scores),
        tuple(range(size)),
    )


def useful(tokens: Sequence[int], ends: Set[int], blocked: Set[int]) -> int:
    """How many of ``tokens`` can be drafted: up to the first end token, none that is blocked."""
    for i, token in enumerate(tokens):
        if token in blocked:
            return i
        if token in ends:
            return i + 1
    return len(tokens)


class DepthDrafter(Autoregressive):
    """What drafts inside a recurrent-depth model and remembers nothing between steps.

    ``keys``, ``values``: knobs, the iteration of the full pass that the prefix is read at.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"depth", "rollback"})
    keys: int
    values: int

    def attach(self, session: Session) -> None:
        """Get an engine beside ``session``, and what it says about tokens and depths."""
        assert isinstance(session, DepthSession)
        self._engine = session.depth_engine()
        self._ends, self._blocked = session.model.eos_ids, session.model.blocked_ids
        depth = self._engine.depth
        self._prefix = (resolved(self.keys, depth), resolved(self.values, depth))


@dataclass
class Work:
    """The rounds of one draft, and what they cost, counted where it is spent."""

    rounds: list[tuple[int, int, tuple[Cell, ...]]] = field(default_factory=list)
    calls: int = 0
    applications: int = 0
    readouts: int = 0

    def add(self, iterations: int, parked: int, cells: Sequence[Cell]) -> None:
        """Count a round that iterated and read the positions of ``cells`` from ``parked`` on."""
        positions = len(cells) - parked
        self.rounds.append((iterations, parked, tuple(cells)))
        self.calls += iterations
        self.applications += iterations * positions
        self.readouts += positions

    def evidence(self, depth: int, keys: int, values: int, carry: bool, end: End) -> WaveEvidence:
        """What is recorded of it; ``keys`` and ``values`` as :func:`resolved` gives them."""
        return WaveEvidence(
            kind="wave",
            depth=depth,
            keys=keys,
            values=values,
            carry=carry,
            rounds=tuple(Round(iterations=i, parked=p, cells=c) for i, p, c in self.rounds),
            end=end,
            calls=self.calls,
            applications=self.applications,
            readouts=self.readouts,
        )
