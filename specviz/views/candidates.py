"""What the memories, or a head, offered in every step, what was drafted, why the rest was cut."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields

from specviz import metrics, sights
from specviz.catalog import text
from specviz.evidence import Candidate, Expansion, Lookup, MemoryEvidence
from specviz.trace import Step, Trace
from specviz.views.numbers import small
from specviz.views.rejects import cut_name, tried_at
from specviz.views.sheet import sheet
from specviz.views.steps import depths
from specviz.views.tokens import show


@dataclass(frozen=True)
class Offer:
    """One mixed candidate at one node that was asked.

    Steps count from 1. ``depth``: how deep it would stand. ``after``: the token of ``node``.
    ``level``: which gave most of ``probability`` (0: the copied continuation, None: a head).
    ``score``: the
    branch score; for what was cut as it would have been, reckoned with the discount of a drafted
    guess of the same depth and kind, None where there was none.
    ``became``: its node, None when it was cut. ``on_path``: the walk came to ``node`` and the model
    was asked there; only then ``right`` says whether the model wanted exactly this token.
    ``tried``: of what was cut for its rank, how many candidates were tried before it.
    """

    step: int
    node: int
    depth: int
    after: str
    candidate: str
    level: int | None
    probability: float
    score: float | None
    became: int | None
    cut: str
    on_path: bool
    right: bool | None
    tried: int | None = None


COLUMNS = tuple(f.name for f in fields(Offer))
SHOWN = ("step", "depth", "after", "candidate", "level", "probability", "score", "cut", "right")
COPIED = 0
Discounts = dict[tuple[int, int], float]  # by depth and kind of answer


def candidates(trace: Trace) -> list[Offer]:
    """Everything that the decoder's memories or head offered, drafted or not, step by step."""
    run = trace.run("decoder")
    pieces = trace.pieces
    found: list[Offer] = []
    known: Discounts = {}
    for seen in sights.looks(run) if run else ():
        for part in seen.evidence.expansions:
            found += _of_head(seen.step, part, pieces)
    for step in run.steps if run else ():
        if not isinstance(step.evidence, MemoryEvidence):
            continue
        if run is not None and run.header.knobs.get("calibration") == "learned":
            known = {}  # it moves on from step to step
        deep = depths(step)
        known = {**known, **_discounts(step, deep)}
        for lookup in step.evidence.lookups:
            found += _of_lookup(step, lookup, deep[lookup.node] + 1, known, pieces)
    return found


def _of_lookup(
    step: Step, lookup: Lookup, depth: int, known: Discounts, pieces: dict[int, bytes]
) -> Iterator[Offer]:
    place = step.nodes[lookup.node]
    on_path = _on_path(step, lookup.node)
    after = show(pieces.get(place.token))
    for c in lookup.candidates:
        discount = known.get((depth, _kind(lookup, c)))
        score = None
        if c.node > 0:
            score = step.nodes[c.node].score
        elif discount is not None:
            score = round(_above(step, lookup) * discount * c.probability, 4)
        yield Offer(
            step=step.index + 1,
            node=lookup.node,
            depth=depth,
            after=after,
            candidate=show(pieces.get(c.token)),
            level=c.level,
            probability=c.probability,
            score=score,
            became=c.node if c.node > 0 else None,
            cut=_cut(lookup, c),
            on_path=on_path,
            right=c.token == place.pick if on_path else None,
            tried=tried_at(lookup) if c.cut == "width" else None,
        )


def _of_head(step: Step, part: Expansion, pieces: dict[int, bytes]) -> Iterator[Offer]:
    """What a head offered behind one node: it drafted the branches that it held likeliest."""
    place, on_path = step.nodes[part.node], _on_path(step, part.node)
    above = 1.0 if part.node == 0 else place.score or 0.0
    for token, probability, node, cut in part.offers:
        became = node if node > 0 else None
        yield Offer(
            step=step.index + 1,
            node=part.node,
            depth=depths(step)[part.node] + 1,
            after=show(pieces.get(place.token)),
            candidate=show(pieces.get(token)),
            level=None,
            probability=probability,
            score=round(above * probability, 4) if became is None else step.nodes[became].score,
            became=became,
            cut=cut,
            on_path=on_path,
            right=token == place.pick if on_path else None,
        )


def _on_path(step: Step, node: int) -> bool:
    """Whether the walk came to a node and the model was asked there."""
    end = step.accepted[-1] if step.accepted else 0
    return node in (0, *step.accepted) and not (step.clipped and node == end)


def _above(step: Step, lookup: Lookup) -> float:
    return 1.0 if lookup.node == 0 else step.nodes[lookup.node].score or 0.0


def _kind(lookup: Lookup, candidate: Candidate) -> int:
    """The longest key that answered, or a copy: with the depth, what a discount may hang on."""
    if candidate.level == COPIED:
        return COPIED
    return max((hit.level for hit in lookup.hits), default=COPIED)


def _discounts(step: Step, deep: tuple[int, ...]) -> Discounts:
    """By depth and kind: by how much a drafted guess was trusted less than its probability says,
    taken from the guess with the largest score, which rounding hurts least."""
    best: dict[tuple[int, int], tuple[float, float]] = {}
    for lookup, c in metrics.given(step).values():
        score, claimed = step.nodes[c.node].score, _above(step, lookup) * c.probability
        key = (deep[lookup.node] + 1, _kind(lookup, c))
        if score and claimed and score > best.get(key, (0.0, 0.0))[0]:
            best[key] = score, score / claimed
    return {key: discount for key, (_, discount) in best.items()}


def _cut(lookup: Lookup, candidate: Candidate) -> str:
    """Why it was not drafted: as recorded, or that the tree did not go on from there at all."""
    if candidate.node > 0 or candidate.cut:
        return candidate.cut
    return "leaf"


def select(rows: list[Offer], which: str = "right", find: str = "") -> list[Offer]:
    """``right``: cut, and the model wanted exactly it; ``cut``: everything that was not drafted;
    or all; with ``find`` only those that hold that text."""
    if which == "right":
        rows = [r for r in rows if r.right and r.became is None]
    elif which == "cut":
        rows = [r for r in rows if r.became is None]
    needle = show(find.encode("utf-8", "replace"))
    return [r for r in rows if needle in r.candidate or needle in r.after]


def table(rows: list[Offer], lang: str = "en") -> tuple[list[str], list[list[str | int | float]]]:
    """Column titles and cells for people."""
    heads = any(row.level is None for row in rows)
    titles = [
        text("view.reject.head" if heads and name == "probability" else f"view.candidate.{name}",
             lang)
        for name in SHOWN
    ]  # fmt: skip
    cells: list[list[str | int | float]] = [
        [
            row.step,
            row.depth,
            row.after,
            row.candidate,
            _level(row.level, lang),
            small(row.probability),
            "–" if row.score is None else small(row.score, 4),
            cut_name(row.cut, row.tried, lang) if row.cut else text("view.candidate.drafted", lang),
            "–" if row.right is None else text("view.yes" if row.right else "view.no", lang),
        ]
        for row in rows
    ]
    return titles, cells


def _level(level: int | None, lang: str) -> str:
    if level is None:
        return text("view.source.head", lang)
    return text("view.reject.copied", lang) if level == COPIED else f"L{level}"


def to_csv(trace: Trace) -> str:
    """Everything that was offered as CSV with a header line; what does not apply is empty."""
    return sheet(COLUMNS, map(astuple, candidates(trace)))
