"""Why guesses were refused: the recorded facts of every refused guess, as rows and as CSV."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import astuple, dataclass, fields

from specviz.catalog import text
from specviz.trace import Lookup, MemoryEvidence, Step, Trace
from specviz.views.tokens import for_sheet, show


@dataclass(frozen=True)
class Reject:
    """One refused guess at the place where a step's walk ended.

    ``probability``: the model's probability of ``guess`` there; ``wanted`` what it picked, with
    its probability and logit lead ``margin``. ``known``: whether memory had the wanted token among
    its answers at that place (None: the decoder keeps no memory, or was not asked there), then at
    which ``rank`` (from 1), from which ``level`` (0: the copied continuation), and ``cut`` why it
    was not drafted. Steps count from 1, as on the page.
    """

    step: int
    node: int
    guess: str
    source: str
    score: float | None
    probability: float | None
    wanted: str
    wanted_probability: float
    margin: float
    known: bool | None
    rank: int | None
    level: int | None
    cut: str


COLUMNS = tuple(f.name for f in fields(Reject))
SHOWN = (
    "step", "guess", "source", "probability", "wanted", "wanted_probability", "margin",
    "known", "rank", "level", "cut",
)  # fmt: skip
CUTS = ("cost", "budget", "width", "depth", "end", "score", "blocked", "repeat")


def rejects(trace: Trace) -> list[Reject]:
    """The refused guesses where each step of the decoder's run ended, in order."""
    run = trace.run("decoder")
    pieces = trace.pieces
    return [row for step in (run.steps if run else ()) for row in _of_step(step, pieces)]


def _of_step(step: Step, pieces: dict[int, bytes]) -> list[Reject]:
    if step.clipped:
        return []  # the walk did not end at a refusal
    end = step.walk[-1] if step.walk else 0
    place = step.nodes[end]
    known, rank, level, cut = _memory(step, end, place.pick)
    return [
        Reject(
            step=step.index + 1,
            node=i,
            guess=show(pieces.get(node.token)),
            source=node.source,
            score=node.score,
            probability=None if node.logp is None else round(math.exp(node.logp), 4),
            wanted=show(pieces.get(place.pick)),
            wanted_probability=round(math.exp(place.top[0][1]), 4) if place.top else 0.0,
            margin=place.margin,
            known=known,
            rank=rank,
            level=level,
            cut=cut,
        )
        for i, node in enumerate(step.nodes)
        if node.parent == end
    ]


def _memory(
    step: Step, place: int, wanted: int
) -> tuple[bool | None, int | None, int | None, str]:
    lookup = _lookup(step, place)
    if lookup is None:
        return None, None, None, ""
    for rank, candidate in enumerate(lookup.candidates, start=1):
        if candidate.token == wanted:
            return True, rank, candidate.level, candidate.cut
    return False, None, None, ""


def _lookup(step: Step, node: int) -> Lookup | None:
    if not isinstance(step.evidence, MemoryEvidence):
        return None
    return next((lk for lk in step.evidence.lookups if lk.node == node), None)


def select(rows: list[Reject], which: str = "all", find: str = "") -> list[Reject]:
    """The rows whose wanted token was ``known`` or ``unknown`` to memory, or was cut for the reason
    ``which``; with ``find`` only those whose guess or wanted token holds that text."""
    if which in ("known", "unknown"):
        rows = [r for r in rows if r.known is (which == "known")]
    elif which != "all":
        rows = [r for r in rows if r.cut == which]
    needle = show(find.encode("utf-8", "replace"))
    return [r for r in rows if needle in r.guess or needle in r.wanted]


def table(rows: list[Reject], lang: str = "en") -> tuple[list[str], list[list[str | int | float]]]:
    """Column titles and cells for people; what does not apply is a dash."""
    titles = [text(f"view.reject.{name}", lang) for name in SHOWN]
    return titles, [[_cell(name, getattr(row, name), lang) for name in SHOWN] for row in rows]


def _cell(name: str, value: object, lang: str) -> str | int | float:
    if value is None or value == "":
        return "–"
    if name == "known":
        return text("view.yes" if value else "view.no", lang)
    if name == "level":
        return text("view.reject.copied", lang) if value == 0 else f"L{value}"
    if name == "source" and value in ("copy", "lookup", "static"):
        return text(f"view.source.{value}", lang)
    if name == "source":
        return str(value).replace("level", "L")
    if name == "cut":
        return text(f"view.cut.{value}", lang)
    if isinstance(value, float):
        return round(value, 3)
    assert isinstance(value, (str, int))
    return value


def to_csv(trace: Trace) -> str:
    """All refused guesses as CSV with a header line; texts are literal, numbers have a dot."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rejects(trace):
        cells = ("" if v is None else v for v in astuple(row))
        writer.writerow([for_sheet(v) if isinstance(v, str) else v for v in cells])
    return out.getvalue()
