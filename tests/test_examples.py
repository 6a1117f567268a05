"""The gallery's list is current, and what lies beside it is sound."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from specviz.audit import audit
from specviz.drafters import create
from specviz.inputs import open_document
from specviz.tracefile import load

EXAMPLES = Path(__file__).parent.parent / "examples"
TRACES = sorted(EXAMPLES.glob("*.jsonl.gz"))


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record", EXAMPLES / "record.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["record"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_index_is_what_the_script_writes(recorder: ModuleType) -> None:
    assert (EXAMPLES / "index.json").read_text("utf-8") == recorder.index_text()


def test_every_example_could_be_recorded(recorder: ModuleType) -> None:
    names = [example.name for example in recorder.EXAMPLES]
    assert len(set(names)) == len(names)
    recap = [e for e in recorder.EXAMPLES if e.decoder == "recap"]
    assert len(recap) >= 4
    for example in recorder.EXAMPLES:
        create(example.decoder, example.knobs)
        assert example.job().messages()[-1].text.strip().endswith(example.prompt[-40:])


def test_the_chapter_is_plain_text_that_needs_no_note() -> None:
    document = open_document(EXAMPLES / "documents" / "moby-dick-133.txt")
    assert document.notes == ("Read as UTF-8.",)
    assert document.text.startswith("CHAPTER 133\n\nThe Chase--First Day.\n\nThat night,")
    assert "moby-dick-133.txt" in (EXAMPLES / "README.md").read_text("utf-8")


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_a_recorded_run_is_sound_and_equal_to_its_baseline(path: Path) -> None:
    trace = load(path)
    assert audit(trace) == ()
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    assert decoder is not None and baseline is not None
    assert decoder.tokens == baseline.tokens
    assert trace.check is not None and trace.check.equal is True
    assert decoder.header.decoder == next(
        entry["decoder"]
        for entry in json.loads((EXAMPLES / "index.json").read_text("utf-8"))
        if entry["file"] == path.name
    )


@pytest.mark.proof
def test_every_recorded_run_still_gives_its_tokens(recorder: ModuleType) -> None:
    assert TRACES, "record them first: make record"
    assert recorder.check(recorder.EXAMPLES)
