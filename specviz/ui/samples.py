"""Example pictures, each with a question that it can answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from specviz.catalog import text
from specviz.models.base import InputError
from specviz.pictures import open_picture
from specviz.ui.given import Given, given

FOLDER = Path(__file__).parents[2] / "examples" / "images"
ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".gif"}
MOST = 12
# What a picture shows, by a word in its name, where index.json does not say what to ask.
ABOUT = ("board", "chart", "shapes", "sign")


@dataclass(frozen=True)
class Sample:
    """One picture: ``file`` is its name in the folder."""

    file: str
    title: str
    question: str
    given: Given


@cache
def samples(folder: Path = FOLDER, lang: str = "en") -> tuple[Sample, ...]:
    """The pictures of ``folder`` in the order of its index.json, a list of {file, title, question},
    or of their names; what cannot be opened is left out."""
    found = []
    for file, title, question in _listed(folder, lang):
        try:
            found.append(Sample(file, title, question, given(open_picture(folder / file))))
        except InputError:
            continue
    return tuple(found[:MOST])


def _listed(folder: Path, lang: str) -> list[tuple[str, str, str]]:
    index = folder / "index.json"
    if index.is_file():
        return [
            (each["file"], each.get("title") or _title(each["file"]), each["question"])
            for each in json.loads(index.read_text("utf-8"))
        ]
    names = sorted(p.name for p in folder.glob("*") if p.suffix.lower() in ENDINGS)
    return [(name, _title(name), _question(name, lang)) for name in names]


def _title(name: str) -> str:
    return Path(name).stem.replace("-", " ").replace("_", " ")


def _question(name: str, lang: str) -> str:
    about = next((word for word in ABOUT if word in name.lower()), "any")
    return text(f"ui.samples.ask.{about}", lang)
