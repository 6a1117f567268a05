"""The gallery's list is current, and what lies beside it is sound."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from specviz import metrics
from specviz.audit import audit
from specviz.drafters import create
from specviz.evidence import WaveEvidence, WindowEvidence
from specviz.inputs import open_document
from specviz.metrics import speedup_decode
from specviz.trace import Trace
from specviz.tracefile import load
from specviz.training.raven_documents import held_out

EXAMPLES = Path(__file__).parent.parent / "examples"


def script() -> ModuleType:
    """examples/record.py, which lies outside every package."""
    spec = importlib.util.spec_from_file_location("record", EXAMPLES / "record.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["record"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


RECORD = script()


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    return RECORD


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


@pytest.fixture(scope="module")
def recorded() -> dict[str, Trace]:
    """Every example's trace by name."""
    return {e.name: load(EXAMPLES / e.file) for e in RECORD.EXAMPLES}


@pytest.mark.parametrize("example", RECORD.EXAMPLES, ids=lambda example: example.name)
def test_a_recorded_run_is_sound_and_equal_to_its_baseline(example: Any) -> None:
    path = EXAMPLES / example.file
    assert path.is_file(), "record it first: make record"
    trace = load(path)
    assert audit(trace) == ()
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    assert decoder is not None and baseline is not None
    assert decoder.tokens == baseline.tokens and len(decoder.tokens) > 20
    check = trace.check
    assert check is not None and check.equal is True and check.complete
    assert not baseline.header.reused
    header = decoder.header
    assert (header.decoder, header.model) == (example.decoder, example.model)
    assert (header.device, header.dtype) == ("cpu", "float32")
    assert header.max_new_tokens == example.max_new_tokens
    asked = example.job().messages()[-1].text
    # Of a document that is cut the end stays, with the question behind it.
    assert asked.endswith(header.messages[-1].text)
    assert example.context or header.messages[-1].text == asked
    for knob, value in example.knobs.items():
        assert str(header.knobs[knob]) == value


def test_four_are_recap_and_one_reads_a_long_chapter(recorded: dict[str, Trace]) -> None:
    runs = {name: trace.run() for name, trace in recorded.items()}
    recap = [run for run in runs.values() if run is not None and run.header.decoder == "recap"]
    assert len(recap) >= 4
    assert 5000 <= max(len(run.header.tokens) for run in recap) <= 7500


def test_a_head_is_recorded_at_three_lengths_and_with_each_mechanism_off(
    recorded: dict[str, Trace],
) -> None:
    heads = [e for e in RECORD.EXAMPLES if e.decoder == "window"]
    runs = {e.name: recorded[e.name].run() for e in heads}
    lengths = {name: len(run.header.tokens) for name, run in runs.items() if run is not None}
    far = [f"head-{name}" for name in ("7000", "pressed", "true", "no-sinks", "full", "truncated")]
    assert lengths == {"head-400": 304, "head-2000": 1904, **dict.fromkeys(far, 6904)}
    for example in heads:
        run = runs[example.name]
        assert run is not None and run.header.head is not None
        assert run.header.head.label == "smollm2-eagle"
        # What the card says is what the trace holds.
        said = re.search(r"(\d+) of (\d+) tested", example.description)
        right = sum(len(s.accepted) for s in run.steps), sum(map(metrics.tested, run.steps))
        assert (said is None) == (example.name == "head-2000")
        assert said is None or (int(said[1]), int(said[2])) == right
        looks = [s.evidence for s in run.steps if isinstance(s.evidence, WindowEvidence)]
        entries = {sum(part.length for part in seen.entries) for seen in looks}
        everything = example.knobs.get("mode") in ("full", "reindex_only")
        assert (max(entries) == 6997) == everything
        assert everything or entries == {251}
    assert len(heads) == 8


def test_one_is_slower_than_its_baseline(recorded: dict[str, Trace]) -> None:
    found = speedup_decode(recorded["slower"])
    assert found is not None and 0 < found < 1


def test_four_are_waves_that_settle_and_one_of_them_loses(recorded: dict[str, Trace]) -> None:
    waves = [e.name for e in RECORD.EXAMPLES if e.decoder == "das_wave"]
    assert waves == ["stones", "cubes", "cups", "overdone"]
    for name in waves:
        run = recorded[name].run()
        assert run is not None and run.header.depth == 32
        rounds = [s.evidence.rounds for s in run.steps if isinstance(s.evidence, WaveEvidence)]
        states = {cell.state for step in rounds for part in step for cell in part.cells}
        assert {"new", "changed", "same"} <= states
    found = speedup_decode(recorded["overdone"])
    assert found is not None and 0 < found < 1


def test_questions_to_the_trained_model_were_kept_from_training() -> None:
    asked = [e.prompt for e in RECORD.EXAMPLES if e.model == "tiny-raven"]
    assert [held_out(prompt) for prompt in asked] == [True] * 4


def test_nothing_lies_there_that_the_list_does_not_name() -> None:
    named = {example.file for example in RECORD.EXAMPLES}
    assert {path.name for path in EXAMPLES.glob("*.jsonl.gz")} == named


@pytest.mark.proof
def test_every_recorded_run_still_gives_its_tokens(recorder: ModuleType) -> None:
    assert recorder.check(recorder.EXAMPLES)
