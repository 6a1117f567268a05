"""The static site: the player with all recorded examples, in every language, for any file server.

Traces and strings are scripts that hand over packed JSON: a page that was opened from a folder may
run scripts beside it, but read no files. Same examples, same bytes.
"""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz import catalog, metrics, player
from specviz.audit import audit
from specviz.catalog import sentence, speedup, text
from specviz.trace import Trace
from specviz.tracefile import load
from specviz.views.thumbnail import thumbnail

SHELL = Path(__file__).resolve().parent.parent / "assets" / "site"
VERDICTS: dict[bool | str, str] = {
    True: "ui.card.equal", "tie": "ui.card.tie", False: "ui.card.differs"
}  # fmt: skip
# Pictures are files of the site; the player makes its own as data, and files as blobs to save.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'"
)
# A lesson as plain data, as the player begins it: with ``name``, ``title`` and ``about``.
Lessons = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class Preset:
    """One recorded example, as ``examples/index.json`` describes it."""

    name: str
    title: str
    description: str
    decoder: str
    trace: Trace


def presets(folder: Path) -> tuple[Preset, ...]:
    """The recorded examples of a folder, in the order of its index; raises TraceError, OSError."""
    return tuple(
        Preset(
            entry.get("name") or entry["file"].split(".")[0],
            entry["title"], entry["description"], entry["decoder"], load(folder / entry["file"]),
        )
        for entry in json.loads((folder / "index.json").read_text("utf-8"))
    )  # fmt: skip


def pages(recorded: Sequence[Preset], lessons: Lessons | None = None) -> dict[str, bytes]:
    """All files of the site by their path in it. ``lessons``: by language, those to offer."""
    files = {
        "index.html": _index(recorded).encode(),
        "player.js": player.bundle_js().encode(),
        "site.js": (SHELL / "site.js").read_bytes(),
        "site.css": (SHELL / "site.css").read_bytes(),
    }
    for preset in recorded:
        payload = player.payload(
            preset.trace, run_id=f"example-{preset.name}", audited=not audit(preset.trace),
            preset=preset.name,
        )  # fmt: skip
        files[f"traces/{preset.name}.js"] = handed(f"trace {preset.name}", payload)
        picture = thumbnail(preset.trace, player.interesting_step(preset.trace))
        files[f"pictures/{preset.name}.svg"] = picture.encode()
    for lang in catalog.LANGUAGES:
        known = {
            "strings": player.player_strings(lang),
            "site": {k: v for k, v in catalog.strings(lang).items() if k.startswith("site.")},
            "cards": [card(preset, lang) for preset in recorded],
            "decoders": decoders(recorded, lang),
            "lessons": [
                {k: lesson[k] for k in ("name", "title", "about")}
                for lesson in (lessons or {}).get(lang, ())
            ],
        }
        files[f"lang/{lang}.js"] = handed(f"lang {lang}", known)
        for lesson in (lessons or {}).get(lang, ()):
            name = f"{lesson['name']}.{lang}"
            files[f"lessons/{name}.js"] = handed(f"lesson {name}", lesson)
    return files


def build(
    out: Path, recorded: Sequence[Preset], lessons: Lessons | None = None
) -> tuple[int, int]:
    """Write the site into the folder ``out``; returns how many files and bytes. Raises OSError."""
    files = pages(recorded, lessons)
    for name, content in files.items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return len(files), sum(map(len, files.values()))


def handed(key: str, data: Any) -> bytes:
    """A script that hands ``data`` to the page under ``key``, as packed JSON."""
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    packed = base64.b64encode(gzip.compress(plain.encode(), compresslevel=9, mtime=0)).decode()
    return f"specvizTake({json.dumps(key)},{json.dumps(packed)});\n".encode()


def card(preset: Preset, lang: str) -> dict[str, str]:
    """What the gallery says of an example; figures are empty where nothing was measured."""
    facts = metrics.summary(preset.trace)
    figures = []
    if facts["speedup_decode"] is not None:
        figures.append(text("ui.card.times", lang, value=speedup(facts["speedup_decode"], lang)))
    if facts["equal"] is not None and not audit(preset.trace):
        figures.append(text(VERDICTS[facts["equal"]], lang))
    return {
        "name": preset.name,
        "decoder": preset.decoder,
        "title": sentence(preset.title, lang),
        "description": sentence(preset.description, lang),
        "figures": " · ".join(figures),
    }


def decoders(recorded: Sequence[Preset], lang: str) -> dict[str, str]:
    """Names of the decoders of the examples, for people."""
    known = catalog.strings(lang)
    names = dict.fromkeys(preset.decoder for preset in recorded)
    return {name: known.get(f"player.decoder.{name}", name) for name in names}


def _index(recorded: Sequence[Preset]) -> str:
    """The one page. What it knows before any script: which examples and languages there are."""
    known = player.script_json(
        {
            "presets": [preset.name for preset in recorded],
            "languages": catalog.LANGUAGES,
        }
    )
    title = html.escape(f"{text('ui.title')}: {text('ui.subtitle')}")
    return (SHELL / "index.html").read_text("utf-8").format(
        policy=html.escape(POLICY, quote=True), title=title, known=known,
        about=html.escape(text("site.about")), noscript=html.escape(text("site.noscript")),
    )  # fmt: skip
