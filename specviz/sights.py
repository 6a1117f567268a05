"""Pure functions of runs whose drafter is a head with a cache: what it saw, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from specviz.evidence import Offer, Unkept, WindowEvidence
from specviz.metrics import tested
from specviz.trace import Run, Step, Trace

MOST_CELLS = 480  # of the text's picture: more would be narrower than a pixel
MOST_BINS = 48  # of a chart along the text
DARKEST = 9


class Seen(NamedTuple):
    """One step that looked: ``entries`` that there were, of which its evidence says what it saw."""

    step: Step
    evidence: WindowEvidence
    entries: int


def looks(run: Run) -> Iterator[Seen]:
    """The steps of a run in which a head drafted, in order."""
    entries = len(run.header.tokens)
    for step in run.steps:
        if isinstance(step.evidence, WindowEvidence):
            yield Seen(step, step.evidence, entries)
        entries += len(step.emitted)


def kept(evidence: WindowEvidence) -> int:
    """How many entries it saw."""
    return sum(part.length for part in evidence.entries)


def beyond(evidence: WindowEvidence) -> bool:
    """Whether a guess looked farther than the head had learned: 0 to ``trained - 1``."""
    return evidence.distance >= evidence.trained


def offers(step: Step, node: int) -> tuple[Offer, ...] | None:
    """What the head offered behind ``node``; None where it did not look from there."""
    if not isinstance(step.evidence, WindowEvidence):
        return None
    found = (e.offers for e in step.evidence.expansions if e.node == node)
    return next(found, None)


class Rank(NamedTuple):
    """A token among what the head offered: its place from 1, of so many, its probability, and why
    it was not drafted (empty: it was)."""

    rank: int
    of: int
    probability: float
    cut: Unkept


def rank(step: Step, node: int, token: int) -> Rank | None:
    """Where ``token`` stands among the offers behind ``node``; None where it is not there."""
    found = offers(step, node) or ()
    for place, offer in enumerate(found, start=1):
        if offer.token == token:
            return Rank(place, len(found), offer.probability, offer.cut)
    return None


def overview(run: Run) -> dict[str, Any] | None:
    """What the last look of a run saw, and the farthest of all; None where nothing looked."""
    seen = list(looks(run))
    if not seen:
        return None
    last = seen[-1]
    return {
        "seen": kept(last.evidence),
        "entries": last.entries,
        "bytes": last.evidence.bytes,
        "trained": last.evidence.trained,
        "distance": max(s.evidence.distance for s in seen),
    }


class Bin(NamedTuple):
    """Neighbouring steps together: the entries before the first and behind the last of them, how
    many steps, emitted tokens and accepted guesses, and seconds; ``plain`` seconds a token of the
    baseline at the same places, None where it has not been there."""

    first: int
    end: int
    steps: int
    tokens: int
    accepted: int
    draft: float
    verify: float
    total: float
    plain: float | None


def bins(trace: Trace, most: int = MOST_BINS) -> tuple[Bin, ...]:
    """The run of a head along the text, in at most ``most`` bins of as many steps each."""
    run, base = trace.run("decoder"), trace.run("baseline")
    seen = [] if run is None else list(looks(run))
    if run is None or not seen:
        return ()
    size = -(-len(seen) // most)
    start = len(run.header.tokens)
    plain = [] if base is None else [s.seconds.total for s in base.steps]
    found = []
    for at in range(0, len(seen), size):
        part = seen[at : at + size]
        first, end = part[0].entries, part[-1].entries + len(part[-1].step.emitted)
        beside = plain[first - start : end - start]
        steps = [s.step for s in part]
        found.append(
            Bin(
                first=first,
                end=end,
                steps=len(steps),
                tokens=sum(len(s.emitted) for s in steps),
                accepted=sum(len(s.accepted) for s in steps),
                draft=sum(s.seconds.draft for s in steps),
                verify=sum(s.seconds.verify for s in steps),
                total=sum(s.seconds.total for s in steps),
                plain=sum(beside) / len(beside) if beside else None,
            )
        )
    return tuple(found)


class Level(NamedTuple):
    """One level of the drafts: how often a guess there was put to the test, how often one was
    right."""

    level: int
    tested: int
    accepted: int


def by_level(run: Run) -> tuple[Level, ...]:
    """Tested and accepted per level of the draft, from 1 on."""
    steps = [s.step for s in looks(run)]
    deepest = max((tested(s) for s in steps), default=0)
    return tuple(
        Level(n, sum(tested(s) >= n for s in steps), sum(len(s.accepted) >= n for s in steps))
        for n in range(1, deepest + 1)
    )


@dataclass(frozen=True)
class TextMap:
    """The prompt as a picture of few cells. ``cells``: per ``per`` tokens a figure from 0 (white
    space only) over 1 (the fewest letters) to 9 (the most). ``document``: from and to which token
    the document stands that was asked about, None for a prompt without."""

    per: int
    cells: str
    document: tuple[int, int] | None


def text_map(trace: Trace, most: int = MOST_CELLS) -> TextMap | None:
    """The map of the prompt that a head's run read; None where no head drafted."""
    run = trace.run("decoder")
    if run is None or run.header.head is None:
        return None
    pieces = trace.pieces
    tokens = run.header.tokens
    ink = [len(pieces.get(t, b"").strip()) for t in tokens]
    per = -(-max(1, len(tokens)) // most)
    sums = [sum(ink[i : i + per]) for i in range(0, len(tokens), per)]
    low, top = min(filter(None, sums), default=0), max(sums, default=0)
    # Averages of many tokens are much alike: the range that there is becomes the whole scale.
    scale = (DARKEST - 1) / (top - low) if top > low else 0.0
    cells = "".join(str(1 + round(scale * (s - low))) if s else "0" for s in sums)
    return TextMap(per, cells, run.header.document)
