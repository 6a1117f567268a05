"""Two runs of one prompt, aligned on their emitted tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from specviz import metrics
from specviz.trace import Run, Step, Trace, TraceError

Outcome = Literal["right", "refused", "unguessed"]


def first_difference(left: Sequence[int], right: Sequence[int]) -> int | None:
    """Index of the first position where the sequences differ, None when they are equal.

    Where one ends first, that end is the difference.
    """
    for i, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return i
    return None if len(left) == len(right) else min(len(left), len(right))


@dataclass(frozen=True)
class Place:
    """How one run came to emit one token.

    ``step``: index of the step that emitted it, -1 for the token that reading the prompt gave.
    ``start``: the position of the first token that this step emitted. ``passes``: target passes
    made until then, that step's included, the reading of the prompt not. ``source``: whence the
    accepted guess came, or ``target``. ``outcome``: ``right``: a guess was accepted and kept;
    ``refused``: the walk ended here and every guess for this position was wrong, so the model's own
    token was emitted; ``unguessed``: the model's own token where nothing had been guessed.
    """

    step: int
    start: int
    source: str
    outcome: Outcome

    @property
    def passes(self) -> int:
        """Target passes up to and including the one that gave this token."""
        return self.step + 1


@dataclass(frozen=True)
class Position:
    """One token that both runs emitted, ``index`` counting from 0 (the prefill's own)."""

    index: int
    token: int
    a: Place
    b: Place

    @property
    def gained(self) -> bool:
        """B guessed it right, A did not (wrongly, or not at all)."""
        return self.b.outcome == "right" != self.a.outcome

    @property
    def lost(self) -> bool:
        """A guessed it right, B did not (wrongly, or not at all)."""
        return self.a.outcome == "right" != self.b.outcome

    @property
    def aligned(self) -> bool:
        """Both steps began at the same position: the same text lay before both drafts."""
        return self.a.start == self.b.start


@dataclass(frozen=True)
class Side:
    """The figures of one run over the steps that emitted the common tokens, the last step whole.

    ``passes``: those steps. ``tau``, ``acceptance``: as in ``metrics``. ``nodes``: guesses
    verified. ``refused``: common positions whose outcome is ``refused``. ``tokens``: all that the
    run emitted, common or not. ``finish``: why it ended, None for a cut trace.
    """

    decoder: str
    passes: int
    tau: float | None
    acceptance: float | None
    nodes: int
    refused: int
    tokens: int
    finish: str | None


@dataclass(frozen=True)
class Comparison:
    """Two runs of one prompt. ``positions``: the tokens with which both begin, in order.

    ``parted``: index of the first position where both have a token and the tokens differ, None
    when one text begins with the other. Over two whole runs of the same budget that end alike,
    passes of B less passes of A = lost less gained (+-1 where the end clipped a walk).
    """

    a: Side
    b: Side
    positions: tuple[Position, ...]
    parted: int | None

    @cached_property
    def gained(self) -> tuple[Position, ...]:
        """Positions that B guessed right and A did not."""
        return tuple(p for p in self.positions if p.gained)

    @cached_property
    def mended(self) -> tuple[Position, ...]:
        """Positions where A's guesses were refused and B's was right."""
        return tuple(p for p in self.gained if p.a.outcome == "refused")

    @cached_property
    def lost(self) -> tuple[Position, ...]:
        """Positions that A guessed right and B did not."""
        return tuple(p for p in self.positions if p.lost)

    def by_source(self) -> dict[str, dict[str, int]]:
        """``gained`` by the source of B's right guess, ``lost`` by that of A's."""
        return {
            "gained": _counted(p.b.source for p in self.gained),
            "lost": _counted(p.a.source for p in self.lost),
        }


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def compare(a: Trace, b: Trace, names: tuple[str, str] = ("A", "B")) -> Comparison:
    """Align the decoders' runs of two traces; raises TraceError when that would mean nothing.

    The prompt's tokens and the weights have to be the same; decoder, knobs, budget, dtype and
    machine may differ. ``names`` tell in a refusal which trace is meant.
    """
    one, other = _run(a, names[0]), _run(b, names[1])
    if one.header.digest != other.header.digest:
        models = [f"{r.header.model} ({r.header.digest[:8]})" for r in (one, other)]
        raise TraceError(
            f"These are runs of different weights or depths, {models[0]} and {models[1]}: "
            "compare two runs of one model."
        )
    if one.header.tokens != other.header.tokens:
        lengths = [len(r.header.tokens) for r in (one, other)]
        raise TraceError(
            f"These are runs of different prompts, of lengths {lengths[0]} and {lengths[1]}: "
            "compare two runs of one prompt."
        )
    at = first_difference(one.tokens, other.tokens)
    common = len(one.tokens) if at is None else at
    parted = at if at is not None and at < min(len(one.tokens), len(other.tokens)) else None
    left, right = places(one), places(other)
    positions = tuple(Position(i, one.tokens[i], left[i], right[i]) for i in range(common))
    return Comparison(
        _side(one, positions, lambda p: p.a), _side(other, positions, lambda p: p.b),
        positions, parted,
    )  # fmt: skip


def _run(trace: Trace, name: str) -> Run:
    run = trace.run("decoder")
    if run is None or run.prefill is None:
        raise TraceError(
            f"The trace {name!r} was cut before its first token: choose a longer one."
        )
    return run


def places(run: Run) -> tuple[Place, ...]:
    """How every emitted token of ``run`` came about."""
    found = [] if run.prefill is None else [Place(-1, 0, "target", "unguessed")]
    for i, step in enumerate(run.steps):
        start = len(found)
        found += (Place(i, start, step.nodes[n].source, "right") for n in step.accepted)
        own = len(step.emitted) - len(step.accepted)
        found += [Place(i, start, "target", _ending(step))] * own
    return tuple(found)


def _ending(step: Step) -> Outcome:
    """Whether there were guesses where the walk of an unclipped step ended: all were wrong."""
    end = step.walk[-1] if step.walk else 0
    return "refused" if any(node.parent == end for node in step.nodes) else "unguessed"


def _side(run: Run, positions: Sequence[Position], of: Callable[[Position], Place]) -> Side:
    passes = of(positions[-1]).passes if positions else 0
    part = replace(run, steps=run.steps[:passes])
    return Side(
        decoder=run.header.decoder,
        passes=passes,
        tau=metrics.tau(part),
        acceptance=metrics.acceptance(part),
        nodes=sum(len(s.nodes) - 1 for s in part.steps),
        refused=sum(of(p).outcome == "refused" for p in positions),
        tokens=len(run.tokens),
        finish=run.finish.reason if run.finish else None,
    )
