"""What the browser player is given: a payload, live updates, and one self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from specviz import catalog, metrics, sights, tracefile
from specviz.compare import compare
from specviz.evidence import WaveEvidence
from specviz.trace import Finish, Header, Step, StoredEvent, Trace
from specviz.views import rejects

VERSION = 1
GIVEN_CHARS = 2**20  # of base64, in all pictures as they were given; what models saw is small
ASSETS = Path(__file__).resolve().parent.parent / "assets" / "player"
_STYLE = (
    "body{margin:0;background:#fff}"
    # For who hears the page and looks for its headings; the player shows who runs by itself.
    "h1{position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%)}"
    "@media(prefers-color-scheme:dark){body{background:#101419}}"
)
_START = """
const player = SpecvizPlayer.mount(document.getElementById('player'), data.options);
player.load(data.payload);
const stop = Number(new URLSearchParams(location.search).get('stop')) || 1;
if (data.lesson) player.startLesson(data.lesson, stop);
""".strip()


@dataclass(frozen=True)
class Pair:
    """A second run of the same prompt, to be shown beside a first one.

    ``names``: what the first and the second are called. ``said``: sentences about how they differ.
    """

    other: Trace
    names: tuple[str, str]
    said: tuple[str, ...] = ()


@cache
def bundle_js() -> str:
    """The player's script; running it defines ``globalThis.SpecvizPlayer``. Holds its CSS too."""
    return (ASSETS / "bundle.js").read_text("utf-8")


@cache
def player_css() -> str:
    """The player's style sheet; the player brings it along, a host need not add it."""
    return (ASSETS / "player.css").read_text("utf-8")


@cache
def player_strings(lang: str = "en") -> dict[str, str]:
    """The strings that ``mount`` wants, for one language."""
    return {k: v for k, v in catalog.strings(lang).items() if k.startswith(("player.", "lesson."))}


def interesting_step(trace: Trace) -> int | None:
    """The index of a step worth pausing on: some guesses right, then one refused with a reason.

    Among equals the one nearest to the middle, and none of the last tenth. A trace that marks what
    its picture decided is met with its whole answer. None when the trace has no steps yet.
    """
    run = trace.run("decoder")
    if run is None or not run.steps:
        return None
    if trace.probes:
        return run.steps[-1].index
    # A run is better met in its middle, and its last step ends for its own reasons.
    steps = run.steps[: max(1, 9 * len(run.steps) // 10)]
    middle = (len(run.steps) - 1) / 2
    return max(steps, key=lambda step: (_interest(step), -abs(step.index - middle))).index


def _interest(step: Step) -> float:
    accepted = len(step.accepted)
    refused = metrics.tested(step) > accepted
    end = step.walk[-1] if step.walk else 0
    lookups = getattr(step.evidence, "lookups", ())
    here = next((look for look in lookups if look.node == end), None)
    levels = len(here.hits) if here else 0
    want = step.nodes[end].pick
    known = here is not None and any(c.token == want and c.cut for c in here.candidates)
    score: float = min(accepted, 4) + 3 * (refused and accepted >= 1) + levels + 2 * known
    if isinstance(step.evidence, WaveEvidence):
        score += _lively(step.evidence)
    # Offered and not drafted: there is something to see that the tree does not hold.
    score += 2 * (refused and sights.rank(step, end, want) is not None)
    # A tree that fits the stage without zooming tells its story at a glance.
    return score - max(0, len(step.nodes) - 25) / 10 - 4 * step.clipped


def _lively(wave: WaveEvidence) -> float:
    """How much there is to see in a wave: changes up to a handful, and guesses that froze."""
    states = [cell.state for made in wave.rounds for cell in made.cells]
    return min(6, states.count("changed")) / 2 + min(4, states.count("frozen")) / 2


def payload(
    trace: Trace,
    *,
    lang: str = "en",
    start_step: int | None = None,
    run_id: str | None = None,
    live: bool = False,
    audited: bool = True,
    pair: Pair | None = None,
    preset: str | None = None,
) -> dict[str, Any]:
    """Everything ``player.load`` needs: the stored events, their summary, where to pause.

    ``start_step``: a step's index; None picks an interesting one. ``run_id`` defaults to the name
    in the header. ``audited`` False: the recorded comparison is not to be believed, so the player
    shows no verdict. ``pair``: a run to stand beside this one; TraceError where the two are no runs
    of one prompt and model. ``preset``: the name of the recorded example that this is; only such a
    run has an address, and holds nobody's own text.
    """
    header = next((e for e in trace.events if e.type == "header"), None)
    other, first = (None, None) if pair is None else _beside(trace, pair)
    if start_step is None and first is not None:
        start_step = first
    return {
        "version": VERSION,
        "run_id": run_id if run_id is not None else (header.run if header else ""),
        "lang": lang,
        "events": [plain(event) for event in trace.events],
        "total": len(trace.events),
        "live": live,
        "stage": None,
        "audited": audited,
        "summary": _summary(trace),
        "map": text_map(trace),
        "rejects": None if live else rejects.plain(trace),
        "preset": preset,
        "start_step": interesting_step(trace) if start_step is None else start_step,
        "instructive": start_step is None,
        **({} if other is None else {"other": other}),
    }


def _beside(trace: Trace, pair: Pair) -> tuple[dict[str, Any], int | None]:
    """The other run as the player gets it, and the first step of ``trace`` that differs."""
    found = compare(trace, pair.other, pair.names)
    differs = [p for p in found.positions if p.gained or p.lost]
    events = [e for e in pair.other.events if getattr(e, "role", "decoder") == "decoder"]
    data = {
        "mine": pair.names[0],
        "name": pair.names[1],
        "said": list(pair.said),
        "parted": found.parted,
        "differs": [[p.index, "gained" if p.gained else "lost"] for p in differs],
        "events": [plain(event) for event in events if event.type != "check"],
    }
    return data, next((p.a.step for p in differs if p.a.step >= 0), None)


def update(
    trace: Trace | Sequence[StoredEvent],
    run_id: str,
    first: int,
    *,
    live: bool = True,
    stage: dict[str, Any] | None = None,
    summary: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """What ``player.push`` takes: the events numbered from ``first`` on, of ``total`` so far.

    The first of them bring along the map of the text, where there is one, the last ones (not
    ``live``) the refused guesses of the whole run.
    ``stage`` = {name, done, total} names what is going on before there are steps. Without
    ``summary`` it is computed from all events.
    """
    events = trace.events if isinstance(trace, Trace) else tuple(trace)
    picture = text_map(Trace(tuple(events[:2]))) if first == 0 else None
    return {
        **({} if picture is None else {"map": picture}),
        **({} if live else {"rejects": rejects.plain(Trace(tuple(events)))}),
        "version": VERSION,
        "run_id": run_id,
        "first": first,
        "events": [plain(event) for event in events[first:]],
        "total": len(events),
        "live": live,
        "stage": stage,
        "summary": _summary(Trace(tuple(events))) if summary is None else summary,
    }


def text_map(trace: Trace) -> dict[str, Any] | None:
    """The picture of the prompt that a head's run has, as plain data."""
    found = sights.text_map(trace)
    return None if found is None else asdict(found)


def export_html(
    trace: Trace,
    lang: str = "en",
    *,
    start_step: int | None = None,
    audited: bool = True,
    pair: Pair | None = None,
    preset: str | None = None,
    lesson: dict[str, Any] | None = None,
) -> str:
    """One HTML file that holds the run and the player and asks the network for nothing.

    ``lesson``: one of ``lessons.plain()`` whose stops are all on this run, to begin with; the
    file may be asked for a stop, ``?stop=3``. ValueError for a lesson that needs other runs, too.
    """
    if lesson is not None and len(lesson["examples"]) != 1:
        raise ValueError("a file with one run holds lessons on that run only")
    run_id = f"example-{lesson['examples'][0]}" if lesson is not None else None
    data = {
        "options": {"strings": player_strings(lang), "lang": lang},
        "payload": payload(
            trace,
            lang=lang,
            start_step=start_step,
            audited=audited,
            pair=pair,
            preset=preset,
            run_id=run_id,
        ),
        "lesson": lesson,
    }
    header = trace.events[0] if trace.events else None
    title = " · ".join(("specviz", getattr(header, "decoder", ""), getattr(header, "model", "")))
    start = f"const data = JSON.parse(document.getElementById('run').textContent);\n{_START}"
    policy = (
        f"default-src 'none'; script-src {_hash(bundle_js())} {_hash(start)}; "
        f"style-src {_hash(_STYLE)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    return (
        f'<!doctype html>\n<html lang="{html.escape(lang)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header><h1>{html.escape(title)}</h1></header>\n"
        '<main id="player"></main>\n'
        f'<script type="application/json" id="run">{script_json(data)}</script>\n'
        f"<script>{bundle_js()}</script>\n<script>{start}</script>\n</body>\n</html>\n"
    )


def script_json(data: Any) -> str:
    """JSON that may stand inside a script element: no text in it can end the element.

    Raises ValueError on a number that JSON does not have.
    """
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _hash(code: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def plain(event: StoredEvent) -> dict[str, Any]:
    """A stored event as the player gets it: without the pictures that it has no use for, and with
    ``told``: by language, the translations of what the event says in English."""
    said: tuple[str, ...] = ()
    if isinstance(event, Header) and event.pictures:
        event = _lighter(event)
        said = tuple(note for used in event.pictures for note in used.notes)
    elif isinstance(event, Finish) and event.message:
        said = (event.message,)
    data = tracefile.plain(event)
    # With the event, because it may come by itself, and a reader may change the language later.
    return data | {"told": told} if (told := _told(said)) else data


def _told(said: Sequence[str]) -> dict[str, dict[str, str]]:
    """Those of the sentences that are translated, by language and English sentence."""
    found = {
        lang: {s: other for s in said if (other := catalog.sentence(s, lang)) != s}
        for lang in catalog.LANGUAGES
    }
    return {lang: sentences for lang, sentences in found.items() if sentences}


def _lighter(header: Header) -> Header:
    """``header`` with pictures as given only up to ``GIVEN_CHARS`` in all (of others only how large
    they were), and all notes in one, but for what their sizes tell;
    the baseline's are those of the decoder, which come first, so that it needs none."""
    if header.role == "baseline":
        turns = tuple(turn.model_copy(update={"pictures": 0}) for turn in header.messages)
        return header.model_copy(update={"pictures": (), "messages": turns})
    left, kept = GIVEN_CHARS, []
    for used in header.pictures:
        size = len(used.given.data) if used.given is not None else 0
        fits = size <= left
        left -= size if fits else 0
        lighter: dict[str, Any] = {"notes": used.remarks, "seen_notes": (), "saw": used.size}
        if used.given is not None and not fits:
            lighter["given"] = used.given.model_copy(update={"data": ""})
        kept.append(used.model_copy(update=lighter))
    return header.model_copy(update={"pictures": tuple(kept)})


def _summary(trace: Trace) -> dict[str, Any] | None:
    return metrics.summary(trace) if trace.events else None
