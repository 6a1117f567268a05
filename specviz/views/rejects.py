"""Why guesses were refused: the recorded facts of every refused guess, as rows and as CSV."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, astuple, dataclass, fields
from typing import Any

from specviz import metrics
from specviz.catalog import text
from specviz.evidence import Candidate, Lookup, MemoryEvidence, WindowEvidence
from specviz.trace import Probe, Step, Trace
from specviz.views import sight
from specviz.views.numbers import small
from specviz.views.settled import settled
from specviz.views.sheet import sheet
from specviz.views.tokens import show, shown


@dataclass(frozen=True)
class Reject:
    """One refused guess at the place where a step's walk ended.

    About the place: ``probability`` is the model's of ``guess`` there; ``wanted`` what it picked,
    with its probability and logit lead ``margin``. ``known``: whether memory had the wanted token
    among its answers at that place (None: the decoder keeps no memory, or was not asked there),
    then at which ``rank`` (from 1), from which ``level`` (0: the copied continuation), with which
    ``wanted_share`` of the mixed probability, and ``cut`` why it was not drafted, where for its
    rank with how many candidates were ``tried`` there. ``position``: the number of the wanted token
    in the answer (1: what reading the prompt gave); ``depth`` of the guess in its tree. Steps count
    from 1, as on the page.

    About the guess: ``share`` is the probability that memory gave it there; ``given`` the level
    that gave most of it, asked for ``key``, with its ``base`` weight, ``entropy`` and final
    ``weight``; ``weights`` those of all levels that answered. That row was written by ``row_from``
    (step, prompt, or earlier: another request), there by ``row_step`` and ``row_at`` (node, or
    position in the prompt), on a branch that was accepted or not.

    About a guess that settled in rounds: the draft's own ``confidence`` in it and the ``age`` of
    the state it was read from, ``since`` which round it stood, and the earlier rounds that ``had``
    the wanted token there. Rounds count from 1.

    Where a head drafted, ``known``, ``rank``, ``wanted_share`` and ``cut`` tell of what it offered
    there ("budget": the draft held likelier ones), ``share`` is its probability of the guess;
    ``distance`` is the greatest one that its guesses looked over, ``trained`` what it had learned.

    Where the answer was read back with another picture, ``depends`` tells whether that would have
    changed the wanted token in any such probe, ``instead`` into what in the first that did.
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
    wanted_share: float | None = None
    position: int = 0
    depth: int = 0
    share: float | None = None
    given: int | None = None
    key: str = ""
    base: float | None = None
    entropy: float | None = None
    weight: float | None = None
    weights: str = ""
    row_from: str = ""
    row_step: int | None = None
    row_at: int | None = None
    row_accepted: bool | None = None
    confidence: float | None = None
    age: int | None = None
    since: int | None = None
    had: str = ""
    distance: float | None = None
    trained: int | None = None
    depends: bool | None = None
    instead: str = ""
    tried: int | None = None


COLUMNS = tuple(f.name for f in fields(Reject))
SHOWN = (
    "step", "guess", "source", "probability", "wanted", "wanted_probability", "margin",
    "known", "rank", "level", "cut",
)  # fmt: skip
WAVE = (*SHOWN[:7], "confidence", "age", "since", "had")  # where guesses settle in rounds
WINDOW = (*SHOWN[:7], "share", "known", "rank", "wanted_share", "cut", "distance")
OFFERED = {"share": "head", "known": "offered", "wanted_share": "offered_p"}  # their titles there
PICTURE = ("depends", "instead")  # where a probe was made
MORE = ("position", "depth", "share", "score", "key", "weights", "entropy", "row", "row_accepted")
# Never 0, only rounded to it.
PROBABLE = ("probability", "wanted_probability", "share", "score", "confidence", "wanted_share")
CUTS = ("cost", "budget", "width", "depth", "end", "score", "blocked", "repeat", "leaf")
# Of the header: what says which run it was.
FACTS = (
    "run", "model", "digest", "decoder", "knobs", "device", "dtype", "max_new_tokens", "versions",
)  # fmt: skip
SOURCES = ("level3", "level2", "level1", "copy", "static", "lookup", "wave", "das", "head")


def rejects(trace: Trace) -> list[Reject]:
    """The refused guesses where each step of the decoder's run ended, in order."""
    run = trace.run("decoder")
    pieces = trace.pieces
    found: list[Reject] = []
    position = 1
    for step in run.steps if run else ():
        position += len(step.emitted)
        found += _of_step(step, position, pieces, trace.probes)
    return found


def _of_step(
    step: Step, position: int, pieces: dict[int, bytes], probes: Sequence[Probe]
) -> list[Reject]:
    end = place_of_refusal(step)
    if end is None:
        return []
    place = step.nodes[end]
    wanted = wanted_there(step, end)
    answers = metrics.given(step)
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
            position=position,
            depth=len(step.walk) + 1,
            **wanted,
            **(_given(*answers[i], pieces) if i in answers else {}),
            **_settled(step, end),
            **sight.given(step, end, node.token),
            **_pictured(position - 1, pieces, probes),
        )
        for i, node in enumerate(step.nodes)
        if node.parent == end
    ]


def place_of_refusal(step: Step) -> int | None:
    """The node where a walk ended because no guess there was right; None where the answer ended."""
    if step.clipped:
        return None
    return step.walk[-1] if step.walk else 0


def wanted_there(step: Step, place: int) -> dict[str, Any]:
    """What memory knew at ``place`` of the token that the model picked: the fields ``known``,
    ``rank``, ``level``, ``cut``, ``wanted_share``, and ``tried`` where it was cut for its rank."""
    nothing = {"known": None, "rank": None, "level": None, "cut": "", "wanted_share": None}
    if isinstance(step.evidence, WindowEvidence):
        return {**nothing, **sight.wanted(step, place)}
    lookup = lookup_at(step, place)
    if lookup is None:
        return nothing
    for rank, c in enumerate(lookup.candidates, start=1):
        if c.token == step.nodes[place].pick:
            # Asked afterwards only: the tree did not go on from there, so nothing was cut.
            cut = c.cut or ("leaf" if c.node < 0 else "")
            tried = {"tried": tried_at(lookup)} if cut == "width" else {}
            return {"known": True, "rank": rank, "level": c.level, "cut": cut,
                    "wanted_share": c.probability, **tried}  # fmt: skip
    return {**nothing, "known": False}


def tried_at(lookup: Lookup) -> int | None:
    """How many candidates were tried before one was cut for its rank; None where none was."""
    return next((k for k, c in enumerate(lookup.candidates) if c.cut == "width"), None)


def cut_name(cut: str, tried: int | None, lang: str) -> str:
    """Why a candidate was no guess, in few words."""
    if tried is not None:
        return text("view.cut.width.of", lang, n=tried)
    return text(f"view.cut.{cut}", lang)


def lookup_at(step: Step, node: int) -> Lookup | None:
    """What memory answered at ``node``; None where it was not asked."""
    if not isinstance(step.evidence, MemoryEvidence):
        return None
    return next((lk for lk in step.evidence.lookups if lk.node == node), None)


def _given(lookup: Lookup, candidate: Candidate, pieces: dict[int, bytes]) -> dict[str, Any]:
    """What the memories said for one guess."""
    known: dict[str, Any] = {
        "share": candidate.probability,
        "given": candidate.level,
        "weights": " ".join(f"L{h.level} {h.weight:.2f}" for h in lookup.hits),
    }
    hit = metrics.foremost(lookup, candidate)
    if hit is None:
        return known
    step, at, accepted = hit.written
    return {
        **known,
        "key": shown(hit.key, pieces),
        "base": hit.base,
        "entropy": hit.entropy,
        "weight": hit.weight,
        "row_from": {-1: "prompt", -2: "earlier"}.get(step, "step"),
        "row_step": step + 1 if step >= 0 else None,
        "row_at": at + 1 if step == -1 else at if step >= 0 else None,
        "row_accepted": None if step == -1 else accepted,
    }


def _settled(step: Step, place: int) -> dict[str, Any]:
    """What the rounds of a draft say about the guess refused below ``place``."""
    told = settled(step, place)
    if told is None:
        return {}
    return {
        "confidence": told.confidence,
        "age": told.age,
        "since": told.since,
        "had": " ".join(map(str, told.had)),
    }


def _pictured(
    row: int, pieces: dict[int, bytes], probes: Sequence[Probe]
) -> dict[str, Any]:
    """What probes of the picture say about the token of the answer at ``row``."""
    mine = [p for p in probes if row < len(p.picks)]
    if not mine:
        return {}
    changed = [p.picks[row] for p in mine if p.picks[row] != p.kept[row]]
    return {
        "depends": bool(changed),
        "instead": show(pieces.get(changed[0])) if changed else "",
    }


def select(
    rows: list[Reject],
    which: str = "all",
    find: str = "",
    source: str = "all",
    hesitant: float | None = None,
) -> list[Reject]:
    """The rows whose wanted token was ``known`` or ``unknown`` to memory or head, was ``lost``
    again by a later round or ``never`` guessed by any, ``depends`` on the picture or not
    (``independent``), or was cut for the reason ``which``; with
    ``find`` only those whose guess or wanted token holds that text, with ``source``
    (level3, copy, …) only guesses from there, with ``hesitant`` only where the model's lead was
    smaller than so many logits."""
    if which in ("known", "unknown"):
        rows = [r for r in rows if r.known is (which == "known")]
    elif which in ("lost", "never"):
        rows = [r for r in rows if r.age is not None and bool(r.had) is (which == "lost")]
    elif which in ("depends", "independent"):
        rows = [r for r in rows if r.depends is (which == "depends")]
    elif which != "all":
        rows = [r for r in rows if r.cut == which]
    if source != "all":
        rows = [r for r in rows if r.source == source]
    if hesitant is not None:
        rows = [r for r in rows if r.margin < hesitant]
    needle = show(find.encode("utf-8", "replace"))
    return [r for r in rows if needle in r.guess or needle in r.wanted]


def table(
    rows: list[Reject], lang: str = "en", more: bool = False
) -> tuple[list[str], list[list[str | int | float]]]:
    """Column titles and cells for people; what does not apply is a dash."""
    waves = any(row.age is not None for row in rows)
    heads = any(row.distance is not None for row in rows)
    names = WAVE if waves else WINDOW if heads else SHOWN
    rest = MORE[:2] if waves else ("position", "depth", "score") if heads else MORE
    names = (*names, *rest) if more else names
    if any(row.depends is not None for row in rows):
        names = (*names, *PICTURE)
    titles = [
        text(f"view.reject.{OFFERED.get(name, name) if heads else name}", lang) for name in names
    ]
    return titles, [[_cell(name, row, lang) for name in names] for row in rows]


def _cell(name: str, row: Reject, lang: str) -> str | int | float:
    if name == "row":
        return _writer(row, lang)
    value = getattr(row, name)
    if value is None or value == "":
        return "–"
    if name in ("known", "row_accepted", "depends"):
        return text("view.yes" if value else "view.no", lang)
    if name == "level":
        return text("view.reject.copied", lang) if value == 0 else f"L{value}"
    if name == "source":
        return source_name(str(value), lang)
    if name == "cut":
        return cut_name(str(value), row.tried, lang)
    if name == "distance" and row.trained is not None:
        return text("view.reject.distance.of", lang, distance=f"{value:g}", trained=row.trained)
    if name in PROBABLE:
        return small(value)
    if isinstance(value, float):
        return round(value, 3)
    assert isinstance(value, (str, int))
    return value


def source_name(source: str, lang: str) -> str:
    """Where a guess came from, in few letters."""
    if source in ("copy", "lookup", "static", "wave", "das", "head"):
        return text(f"view.source.{source}", lang)
    return source.replace("level", "L")


def _writer(row: Reject, lang: str) -> str:
    if not row.row_from:
        return "–"
    return text(f"view.reject.row.{row.row_from}", lang, step=row.row_step, at=row.row_at)


def plain(trace: Trace) -> dict[str, Any]:
    """The refused guesses as plain data, which the browser writes the same files from: ``columns``,
    those of them that are ``floats``, and ``rows`` of cells in their order."""
    return {
        "columns": list(COLUMNS),
        "floats": [f.name for f in fields(Reject) if "float" in str(f.type)],
        "rows": [list(astuple(row)) for row in rejects(trace)],
    }


def to_json(trace: Trace) -> str:
    """What ran, with which settings and versions, and all refused guesses as objects."""
    run = trace.run("decoder")
    told: dict[str, Any] = {}
    if run is not None:
        told = {name: getattr(run.header, name) for name in FACTS}
    told["rejects"] = [asdict(row) for row in rejects(trace)]
    return json.dumps(told, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def to_csv(trace: Trace) -> str:
    """All refused guesses as CSV with a header line; texts are literal, numbers have a dot."""
    return sheet(COLUMNS, map(astuple, rejects(trace)))
