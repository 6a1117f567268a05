"""Many runs at once: where the walks ended, and what the memories knew there, counted in steps.

Every step counts once, however many guesses were refused; see ``outcomes``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from specviz import metrics
from specviz.probes import Association, Reading, associations, readings
from specviz.trace import Run, Trace
from specviz.views import image_effect
from specviz.views.outcomes import FACTS, MISSING, Outcome, outcomes
from specviz.views.sheet import sheet

BY = ("fact", "level", "rank", "position", "depth", "step", "category", "run")
EDGES = (1, 2, 5, 9, 17, 33, 65, 129, 257)  # where the ranges of positions and steps begin
DEEPEST = 8
MOST_UNKNOWN = 10
COLUMNS = ("decoder", "by", "bucket", "steps", "tau", "ends", "fact", "count", "share")

Settings = tuple[tuple[str, int | float | bool | str], ...]


@dataclass(frozen=True)
class Group:
    """The runs of one decoder, pooled. ``settings``: the different sets of knobs they had."""

    decoder: str
    models: tuple[str, ...]
    settings: frozenset[Settings]
    runs: int
    tokens: int
    recycled_hits: int | None
    outcomes: tuple[Outcome, ...]
    readings: tuple[Reading, ...] = ()

    @property
    def pictures(self) -> tuple[Association, ...]:
        """What probes of pictures found, over all runs that were probed."""
        return associations(self.readings)

    @property
    def ends(self) -> tuple[Outcome, ...]:
        """The steps whose walk ended at no right guess."""
        return tuple(o for o in self.outcomes if o.fact)

    @property
    def tau(self) -> float | None:
        """Tokens emitted by steps per step, over all runs."""
        return tau(self.outcomes)

    @property
    def acceptance(self) -> float | None:
        """Accepted drafts per tested position, over all runs."""
        tested = sum(o.tested for o in self.outcomes)
        return sum(o.accepted for o in self.outcomes) / tested if tested else None

    @property
    def unknown(self) -> list[tuple[str, int]]:
        """The tokens that were most often wanted and unknown to the memory."""
        wanted = Counter(o.wanted for o in self.ends if o.fact in MISSING)
        return sorted(wanted.items(), key=lambda item: (-item[1], item[0]))[:MOST_UNKNOWN]


@dataclass(frozen=True)
class Bucket:
    """Steps that have something in common. ``steps`` and ``tau`` are None where only places can
    have it (a rank, a depth)."""

    label: str
    steps: int | None
    tau: float | None
    ends: int
    facts: dict[str, int]


def tau(outcomes: Sequence[Outcome]) -> float | None:
    """Tokens emitted by steps per step."""
    return sum(o.emitted for o in outcomes) / len(outcomes) if outcomes else None


def report(
    traces: Iterable[tuple[str, Trace]], categories: Mapping[str, str] | None = None
) -> list[Group]:
    """The runs of ``traces`` (name, trace), grouped by decoder in order of appearance.

    ``categories`` says to which category a prompt belongs.
    """
    return pool(
        [
            _group(name, trace, run, categories or {})
            for name, trace in traces
            if (run := trace.run("decoder")) is not None
        ]
    )


def pool(groups: Iterable[Group]) -> list[Group]:
    """Groups of the same decoder made one, in order of appearance."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(group.decoder, []).append(group)
    return [_pooled(same) for same in found.values()]


def _pooled(groups: list[Group]) -> Group:
    hits = [g.recycled_hits for g in groups if g.recycled_hits is not None]
    return Group(
        decoder=groups[0].decoder,
        models=tuple(sorted({m for g in groups for m in g.models})),
        settings=frozenset().union(*(g.settings for g in groups)),
        runs=sum(g.runs for g in groups),
        tokens=sum(g.tokens for g in groups),
        recycled_hits=sum(hits) if hits else None,
        outcomes=tuple(o for g in groups for o in g.outcomes),
        readings=tuple(r for g in groups for r in g.readings),
    )


def _group(name: str, trace: Trace, run: Run, categories: Mapping[str, str]) -> Group:
    return Group(
        decoder=run.header.decoder,
        models=(run.header.model,),
        settings=frozenset({tuple(sorted(run.header.knobs.items()))}),
        runs=1,
        tokens=len(run.tokens),
        recycled_hits=metrics.recycled_hits(run),
        outcomes=tuple(outcomes(name, trace, run, categories)),
        readings=readings(trace),
    )


# Counting


def buckets(group: Group, by: str) -> list[Bucket]:
    """The steps of a group by what ``by`` names, in natural order; empty ones are left out."""
    whole = by not in ("level", "rank", "depth")
    chosen = group.outcomes if whole else group.ends
    found: dict[tuple[int, str], list[Outcome]] = {}
    for outcome in chosen:
        found.setdefault(LABELS[by](outcome), []).append(outcome)
    if by in ("run", "category"):
        order = sorted(found, key=lambda key: (key[1] == "", key[1]) if by == "category" else ())
    else:
        order = sorted(found)
    return [_bucket(key[1], found[key], whole) for key in order]


def _bucket(label: str, outcomes: list[Outcome], whole: bool) -> Bucket:
    counts = Counter(o.fact for o in outcomes if o.fact)
    return Bucket(
        label,
        len(outcomes) if whole else None,
        tau(outcomes) if whole else None,
        counts.total(),
        {name: counts[name] for name in FACTS if counts[name]},
    )


def _span(number: int) -> tuple[int, str]:
    i = max(i for i, edge in enumerate(EDGES) if edge <= max(1, number))
    if i + 1 == len(EDGES):
        return i, f"{EDGES[i]}+"
    low, high = EDGES[i], EDGES[i + 1] - 1
    return i, str(low) if low == high else f"{low}–{high}"


def _level(outcome: Outcome) -> tuple[int, str]:
    if outcome.level is None:
        return 4, ""
    return (3, "copied") if outcome.level == 0 else (3 - outcome.level, f"L{outcome.level}")


def _upto(number: int | None) -> tuple[int, str]:
    if number is None:
        return DEEPEST + 2, ""
    return (number, str(number)) if number <= DEEPEST else (DEEPEST + 1, f"{DEEPEST + 1}+")


# An order and a label for every outcome; the empty label stands for "unknown" or "none".
LABELS: dict[str, Callable[[Outcome], tuple[int, str]]] = {
    "fact": lambda o: (0, "all"),
    "level": _level,
    "rank": lambda o: _upto(o.rank),
    "position": lambda o: _span(o.position),
    "depth": lambda o: _upto(o.depth),
    "step": lambda o: _span(o.step),
    "category": lambda o: (0, o.category),
    "run": lambda o: (0, o.run),
}


def plain(group: Group) -> dict[str, Any]:
    """A group as plain data, with every way of counting."""
    return {
        "decoder": group.decoder,
        "models": list(group.models),
        "settings": len(group.settings),
        "runs": group.runs,
        "tokens": group.tokens,
        "steps": len(group.outcomes),
        "tau": group.tau,
        "acceptance": group.acceptance,
        "recycled_hits": group.recycled_hits,
        "ends": len(group.ends),
        "nothing_drafted": sum(not o.drafted for o in group.ends),
        "by": {
            by: [
                {"bucket": b.label, "steps": b.steps, "tau": b.tau, "ends": b.ends,
                 "facts": b.facts}
                for b in buckets(group, by)
            ]
            for by in BY
        },
        "unknown": [{"token": token, "count": count} for token, count in group.unknown],
        "pictures": [image_effect.plain(found) for found in group.pictures],
    }  # fmt: skip


def to_csv(groups: Sequence[Group], by: Sequence[str] = BY) -> str:
    """Every count as CSV: one row per decoder, bucket and fact; ``share`` is of the bucket. Then
    what probes of pictures found, by kind: rejected steps and others x whether the picture decides.
    """
    found = [line for group in groups for way in by for line in _lines(group, way)]
    return sheet(COLUMNS, [*found, *(line for group in groups for line in _pictures(group))])


def _pictures(group: Group) -> Iterator[tuple[object, ...]]:
    for found in group.pictures:
        a, b, c, d = found.cross.counts
        for bucket, yes, no in (("rejected", a, b), ("held", c, d)):
            for name, count in (("dependent", yes), ("free", no)):
                share = round(count / (yes + no), 4) if yes + no else None
                yield (
                    group.decoder, f"picture-{found.kind}", bucket, yes + no, None, yes + no, name,
                    count, share,
                )  # fmt: skip


def _lines(group: Group, way: str) -> Iterator[tuple[object, ...]]:
    for b in buckets(group, way):
        mean = None if b.tau is None else round(b.tau, 4)
        for name, count in b.facts.items():
            share = round(count / b.ends, 4)
            yield group.decoder, way, b.label, b.steps, mean, b.ends, name, count, share
