"""The static site: which files it has, and what they hand over."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from specviz import catalog, gallery, lessons, site
from specviz.cli import main
from specviz.gallery import Example
from specviz.trace import Trace
from specviz.tracefile import load
from specviz.views.thumbnail import thumbnail

EXAMPLES = Path(__file__).parents[1] / "examples"


def handed(script: bytes) -> tuple[str, Any]:
    """The key and the data of a script that hands something over."""
    found = re.fullmatch(r'specvizTake\("([^"]*)","([\w+/=]+)"\);\n', script.decode())
    assert found is not None
    return found[1], json.loads(gzip.decompress(base64.b64decode(found[2])))


@pytest.fixture(scope="module")
def recorded() -> tuple[Example, ...]:
    """Two of the recorded examples, one with a picture."""
    return tuple(p for p in gallery.listed() if p.name in ("lookup", "sign"))


def test_a_site_holds_a_trace_a_picture_and_words_of_every_example(
    recorded: tuple[Example, ...],
) -> None:
    files = site.pages(recorded)
    assert sorted(files) == [
        "index.html", "lang/en.js", "lang/ru.js", "pictures/lookup.svg", "pictures/sign.svg",
        "player.js", "site.css", "site.js", "traces/lookup.js", "traces/sign.js",
    ]  # fmt: skip
    key, payload = handed(files["traces/lookup.js"])
    assert key == "trace lookup"
    assert (payload["preset"], payload["run_id"]) == ("lookup", "example-lookup")
    trace = load(EXAMPLES / "lookup.jsonl.gz")
    assert len(payload["events"]) == len(trace.events)
    key, words = handed(files["lang/ru.js"])
    assert key == "lang ru"
    assert words["site"]["site.gallery"] == catalog.text("site.gallery", "ru")
    assert words["cards"][0]["title"] == catalog.sentence(recorded[0].title, "ru")
    assert words["cards"][0]["figures"].endswith("✓ тот же текст")
    assert words["lessons"] == []


def test_the_page_names_no_other_host_and_allows_only_its_own_scripts(
    recorded: tuple[Example, ...],
) -> None:
    page = site.pages(recorded)["index.html"].decode()
    assert "default-src &#x27;none&#x27;; script-src &#x27;self&#x27;;" in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == [
        "data:,", "site.css", "?", "player.js", "site.js"
    ]  # fmt: skip
    known = re.search(r'id="known">(.*?)</script>', page)
    assert known is not None
    assert json.loads(known[1])["presets"] == ["lookup", "sign"]


def test_the_same_examples_give_the_same_bytes(recorded: tuple[Example, ...]) -> None:
    assert site.pages(recorded) == site.pages(recorded)


def test_lessons_stand_beside_the_traces_by_language(recorded: tuple[Example, ...]) -> None:
    lesson = {"name": "one", "title": "One", "about": "First.", "at": [1], "examples": ["lookup"]}
    files = site.pages(recorded, {"en": [lesson], "ru": [{**lesson, "title": "Один"}]})
    assert handed(files["lessons/one.en.js"]) == ("lesson one.en", lesson)
    assert handed(files["lang/ru.js"])[1]["lessons"] == [
        {"name": "one", "title": "Один", "about": "First."}
    ]


def test_the_command_writes_the_site_and_says_what_it_wrote(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    recorded: tuple[Example, ...],
) -> None:  # fmt: skip
    monkeypatch.setattr("specviz.cli.site.listed", lambda: recorded)
    out = tmp_path / "a" / "site"
    assert main(["site", "--out", str(out)]) == 0
    files = site.pages(recorded, {lang: lessons.plain(lang) for lang in catalog.LANGUAGES})
    assert {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*.*")} == files
    assert capsys.readouterr().out.startswith(f"{len(files)} files, ")
    taken = tmp_path / "file"
    taken.write_text("")
    assert main(["site", "--out", str(taken)]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"The site cannot be written to {taken} (File exists): choose another folder.\n"
    ) or said.startswith(f"The site cannot be written to {taken} (Not a directory)")


def test_a_thumbnail_shows_what_was_accepted_refused_and_added() -> None:
    trace = load(EXAMPLES / "tea.jsonl.gz")
    run = trace.run("decoder")
    assert run is not None
    step = run.steps[51]
    picture = thumbnail(trace, 51)
    assert picture.count('class="n a"') == len(step.walk) == 4
    assert picture.count('class="n x"') == 1 and picture.count('class="n s"') == 1
    assert picture.count('class="n r"') == 1
    assert picture.count('class="b') == len(run.steps)
    assert thumbnail(Trace(()), None).count("<rect") == 0
