"""What probes of pictures found out, and whether drafts fail where the picture matters.

Only here are these defined. A step is *fully rejected* when it drafted and none of its guesses was
right. Its *place* is the first token that it emitted, which its first guesses stood against. A
token *depends on the picture* when the target, reading the answer up to there, says another one
next with the other picture than with the recorded one. Steps that drafted nothing, and the token
that reading the prompt gave, were no test of any guess and are counted apart.

What is counted is a correlation: nothing here says that the picture made a draft fail.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from specviz.trace import Probe, Run, Trace

Kind = Literal["other", "blank", "shuffled"]
KINDS: tuple[Kind, ...] = ("other", "blank", "shuffled")
MOST_SHIFT = 20.0  # nats: one token that became impossible must not decide a mean
LEAST_RUNS = 8  # below that, drawing runs again says little about other runs
DRAWS = 2000
Counts = tuple[int, int, int, int]


@dataclass(frozen=True)
class Place:
    """The place of one step that drafted. ``position``: index of the token in the answer, the
    prefill's is 0; ``shift``: how far another picture moved its log-probability, in nats."""

    step: int
    position: int
    rejected: bool
    depends: bool
    shift: float


@dataclass(frozen=True)
class Reading:
    """One run, its answer read with pictures of one ``kind``; of several such probes a token
    depends on the picture when any shows it, and the largest shift counts.

    ``tokens`` of the answer that were read, ``changed`` of them depend on the picture; ``shift``
    is their mean shift; ``undrafted`` steps guessed nothing, ``undrafted_dependent`` of them where
    the token depends on the picture.
    """

    kind: Kind
    tokens: int
    changed: int
    shift: float
    places: tuple[Place, ...]
    undrafted: int = 0
    undrafted_dependent: int = 0


@dataclass(frozen=True)
class Cross:
    """Steps that drafted, counted: fully ``rejected`` or not (``held``) x ``dependent`` on the
    picture or not (``free``)."""

    rejected_dependent: int
    rejected_free: int
    held_dependent: int
    held_free: int

    @property
    def counts(self) -> Counts:
        """Row by row."""
        return (
            self.rejected_dependent, self.rejected_free, self.held_dependent, self.held_free,
        )  # fmt: skip

    @property
    def rejected(self) -> int:
        """Fully rejected steps."""
        return self.rejected_dependent + self.rejected_free

    @property
    def held(self) -> int:
        """Steps with a right guess."""
        return self.held_dependent + self.held_free

    @property
    def steps(self) -> int:
        """All of them."""
        return self.rejected + self.held

    @property
    def base(self) -> float | None:
        """The base rate: the share of all places that depend on the picture."""
        return _share(self.rejected_dependent + self.held_dependent, self.steps)

    @property
    def rejected_rate(self) -> float | None:
        """The same among fully rejected steps."""
        return _share(self.rejected_dependent, self.rejected)

    @property
    def held_rate(self) -> float | None:
        """The same among steps with a right guess."""
        return _share(self.held_dependent, self.held)

    @property
    def difference(self) -> float | None:
        """``rejected_rate`` less ``held_rate``; None where a row is empty."""
        return _difference(self.counts)

    @property
    def odds_ratio(self) -> float | None:
        """Odds that a place depends on the picture, rejected against held; None where undefined."""
        below = self.rejected_free * self.held_dependent
        return self.rejected_dependent * self.held_free / below if below else None


@dataclass(frozen=True)
class Association:
    """Fully rejected steps against dependence on the picture, over ``runs`` runs.

    ``interval``: 95 % of the differences found when the runs, whose steps are no independent
    draws, are drawn again with replacement; None below eight runs. ``within``: the odds ratio of
    Mantel and Haenszel, which compares steps of the same run only, so that an answer that is both
    hard to guess and all about the picture does not make it up; None where undefined.
    ``rejected_shift``, ``held_shift``: mean shift of the places in nats.
    """

    kind: Kind
    runs: int
    tokens: int
    changed: int
    undrafted: int
    undrafted_dependent: int
    cross: Cross
    interval: tuple[float, float] | None
    within: float | None
    rejected_shift: float | None
    held_shift: float | None

    @property
    def all_tokens(self) -> float | None:
        """The share of all tokens read that depend on the picture."""
        return _share(self.changed, self.tokens)


def shifts(probe: Probe) -> tuple[float, ...]:
    """What the other picture added to the log-probability of every token of the answer [n]."""
    pairs = zip(probe.logps, probe.kept_logps, strict=True)
    return tuple(max(-MOST_SHIFT, min(MOST_SHIFT, now - before)) for now, before in pairs)


def readings(trace: Trace) -> tuple[Reading, ...]:
    """What the probes of the decoder's run found, one reading a kind; none where nothing was
    probed or nothing had been emitted."""
    run = trace.run("decoder")
    if run is None or not run.tokens:
        return ()
    found = []
    for kind in KINDS:
        mine = [p for p in trace.probes if p.kind == kind and p.picks]
        if mine:
            found.append(_reading(kind, run, mine))
    return tuple(found)


def _reading(kind: Kind, run: Run, probes: Sequence[Probe]) -> Reading:
    rows = min(len(run.tokens), max(len(p.picks) for p in probes))
    changed = {i for p in probes for i in p.changed if i < rows}
    moved = [0.0] * rows
    for probe in probes:
        for i, shift in enumerate(shifts(probe)[:rows]):
            moved[i] = max(moved[i], abs(shift))
    places, undrafted, position = list[Place](), list[int](), 1
    for step in run.steps:
        if position < rows:
            if len(step.nodes) > 1:
                places.append(
                    Place(step.index, position, not step.walk, position in changed, moved[position])
                )
            else:
                undrafted.append(position)
        position += len(step.emitted)
    return Reading(
        kind, rows, len(changed), sum(moved) / rows, tuple(places),
        len(undrafted), len(changed.intersection(undrafted)),
    )  # fmt: skip


def cross(places: Iterable[Place]) -> Cross:
    """The 2x2 table of ``places``."""
    found = [0, 0, 0, 0]
    for place in places:
        found[2 * (not place.rejected) + (not place.depends)] += 1
    return Cross(*found)


def associations(found: Iterable[Reading]) -> tuple[Association, ...]:
    """The readings of many runs pooled, one association for each kind that occurs."""
    every = tuple(found)
    return tuple(
        _association(kind, mine)
        for kind in KINDS
        if (mine := [reading for reading in every if reading.kind == kind])
    )


def _association(kind: Kind, mine: Sequence[Reading]) -> Association:
    places = [place for reading in mine for place in reading.places]
    tables = [cross(reading.places).counts for reading in mine]
    return Association(
        kind=kind,
        runs=len(mine),
        tokens=sum(reading.tokens for reading in mine),
        changed=sum(reading.changed for reading in mine),
        undrafted=sum(reading.undrafted for reading in mine),
        undrafted_dependent=sum(reading.undrafted_dependent for reading in mine),
        cross=cross(places),
        interval=interval(tables),
        within=within(tables),
        rejected_shift=_mean([p.shift for p in places if p.rejected]),
        held_shift=_mean([p.shift for p in places if not p.rejected]),
    )


def interval(tables: Sequence[Counts]) -> tuple[float, float] | None:
    """95 % of the differences between the rows over whole runs drawn again; see Association."""
    if len(tables) < LEAST_RUNS:
        return None
    draw = Random(0)  # the same tables, the same interval
    found = []
    for _ in range(DRAWS):
        sums = [sum(column) for column in zip(*draw.choices(tables, k=len(tables)), strict=True)]
        difference = _difference((sums[0], sums[1], sums[2], sums[3]))
        if difference is not None:
            found.append(difference)
    if len(found) < 0.95 * DRAWS:  # runs with a rejected step are so few that most draws lack any
        return None
    found.sort()
    return found[round(0.025 * (len(found) - 1))], found[round(0.975 * (len(found) - 1))]


def within(tables: Sequence[Counts]) -> float | None:
    """The odds ratio over runs as strata (Mantel and Haenszel 1959); None where undefined."""
    above = sum(a * d / (a + b + c + d) for a, b, c, d in tables if a + b + c + d)
    below = sum(b * c / (a + b + c + d) for a, b, c, d in tables if a + b + c + d)
    return above / below if below else None


def _difference(counts: Counts) -> float | None:
    a, b, c, d = counts
    return a / (a + b) - c / (c + d) if a + b and c + d else None


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
