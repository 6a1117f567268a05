"""Traces: every prefix is valid, what is written is read back, what is broken is refused."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import pytest
from pydantic import TypeAdapter

import specviz
from specviz import trace as tr
from specviz import tracefile as tf
from specviz.jobs import Job, run
from specviz.trace import Finish, Header, Recording, Step, Trace, TraceError


@pytest.fixture(scope="module")
def events() -> list[tr.StoredEvent]:
    job = Job(model="toy", prompt="This is the cow", max_new_tokens=30)
    return [e for e in run(job) if not isinstance(e, tr.Progress)]


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz"])
def test_a_saved_trace_is_read_back_equal(events, tmp_path, name) -> None:
    tf.save(tmp_path / name, events)
    assert tf.load(tmp_path / name).events == tuple(events)


def test_the_same_trace_has_the_same_bytes(events, tmp_path) -> None:
    tf.save(tmp_path / "a.gz", events)
    tf.save(tmp_path / "b.gz", tf.load(tmp_path / "a.gz").events)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_every_prefix_is_a_valid_trace(events) -> None:
    lines = [tf.dumps(e).encode() + b"\n" for e in events]
    for count in range(1, len(lines) + 1):
        assert tf.parse(b"".join(lines[:count])).events == tuple(events[:count])


def test_a_file_cut_anywhere_keeps_what_came_before(events, tmp_path) -> None:
    tf.save(tmp_path / "t.jsonl.gz", events)
    raw = (tmp_path / "t.jsonl.gz").read_bytes()
    seen = 0
    for size in range(len(raw) // 2, len(raw), 97):
        kept = tf.parse(raw[:size]).events
        assert kept == tuple(events[: len(kept)])
        assert len(kept) >= seen
        seen = len(kept)
    assert 0 < seen <= len(events)


def test_pieces_name_every_token_before_it_is_needed(events) -> None:
    known: set[int] = set()
    for event in events:
        known |= set(event.pieces)
        assert set(tr.token_ids(event)) <= known
    text = b"".join(Trace(tuple(events)).pieces[t] for t in Trace(tuple(events)).run().tokens)
    assert text.startswith(b" with the crumpled horn that tossed the dog")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "begin with a decoder's header"),
        (b"hello\nworld\n", "not JSON"),
        (b"\x1f\x8b garbage", "cannot be decompressed"),
        (b'{"type":"step"}\n', "not a valid trace"),
        (b"[1]\n", "not a valid trace"),
        (
            b'{"type":"finish","reason":"eos","tokens":1,"seconds":1}\n',
            "begin with a decoder's header",
        ),
    ],
)
def test_what_is_not_a_trace_is_refused_in_one_sentence(raw: bytes, sentence: str) -> None:
    with pytest.raises(TraceError, match=sentence) as caught:
        tf.parse(raw)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_newer_schema_is_refused_with_both_numbers(events) -> None:
    data = json.loads(tf.dumps(events[0])) | {"trace_schema": 99}
    with pytest.raises(TraceError, match="schema 99, this version reads schemas 1 and 2"):
        tf.parse(json.dumps(data).encode() + b"\n")


def test_a_step_that_holds_no_tree_is_refused(events) -> None:
    step = next(e for e in events if isinstance(e, Step) and len(e.nodes) > 2)
    data = json.loads(tf.dumps(step))
    data["nodes"][1]["parent"] = 5
    lines = tf.dumps(events[0]) + "\n" + json.dumps(data) + "\n"
    with pytest.raises(TraceError, match="does not hold a tree"):
        tf.parse(lines.encode())


def test_an_archive_bomb_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(tf, "MAX_TRACE_BYTES", 1000)
    with pytest.raises(TraceError, match="larger than"):
        tf.parse(gzip.compress(b" " * 100_000))


def test_what_could_not_be_read_again_is_not_written(events, monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(tf, "MAX_TRACE_BYTES", 2000)
    for name in ("t.jsonl", "t.jsonl.gz"):  # what counts is the text, however small its file
        with pytest.raises(TraceError, match="a trace file holds 0 MB at most"):
            tf.save(tmp_path / name, events)
        assert not (tmp_path / name).exists()


def test_a_stop_closes_the_run_that_is_open(events) -> None:
    recording = Recording()
    cut = next(i for i, e in enumerate(events) if e.role == "baseline" and isinstance(e, Step))
    for event in events[: cut + 1]:
        recording.add(event)
    recording.stop()
    decoder, baseline = recording.trace.run("decoder"), recording.trace.run("baseline")
    assert decoder.finish.reason == "length"
    assert baseline.finish == Finish(
        role="baseline",
        reason="stopped",
        tokens=2,
        seconds=baseline.prefill.seconds + baseline.steps[0].seconds.total,
    )
    assert tf.parse("".join(tf.dumps(e) + "\n" for e in recording.events).encode())
    before = list(recording.events)
    recording.stop()
    assert recording.events == before


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [
        ((1,), (0.1,)),
        ((1, 2), (0.1,)),
        ((1, 2), (0.1, 0.0)),
        ((1, 2), (0.1, math.nan)),
        ((4, 1), (0.1, 0.2)),
        ((2, 4), (0.1, 0.2)),
        ((1, 2, 2), (0.1, 0.2, 0.3)),
    ],
)
def test_what_is_no_cost_curve_is_refused(rows: tuple, seconds: tuple) -> None:
    with pytest.raises(ValueError):
        tr.Costs(context=9, rows=rows, seconds=seconds)


def test_the_committed_schema_is_current() -> None:
    path = Path(tr.__file__).with_name("trace.schema.json")
    assert json.loads(path.read_text()) == tr.schema()


@pytest.mark.parametrize("place", [(3, 3), (4, 2), (0, 10**6), (-1, 2)])
def test_a_document_outside_its_prompt_is_refused(events, place: tuple[int, int]) -> None:
    header = next(e for e in events if isinstance(e, Header))
    kept = Header.model_validate({**header.model_dump(), "document": (0, len(header.tokens))})
    assert kept.document == (0, len(header.tokens))
    line = json.dumps({**json.loads(tf.dumps(header)), "document": place})
    with pytest.raises(tr.TraceError, match="document"):
        tf.parse(line.encode() + b"\n")


def test_headers_say_which_run_they_are(events) -> None:
    header, base = (e for e in events if isinstance(e, Header))
    assert (header.decoder, base.decoder) == ("recap", "autoregressive")
    assert header.tokens == base.tokens and header.run != base.run
    assert TypeAdapter(dict).validate_python(header.knobs)["levels"] == "123"


def test_the_package_itself_loads_traces(events, tmp_path) -> None:
    tf.save(tmp_path / "t.jsonl.gz", events)
    assert specviz.load(tmp_path / "t.jsonl.gz").events == tuple(events)
    assert sorted(specviz.__all__) == ["__version__", "load"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d: d["rows"].update(ids=[]), "unequal lengths"),
        (lambda d: d["rows"]["logps"][0].pop(), "unequal lengths"),
    ],
)
def test_predictions_of_the_prompt_have_to_be_complete(change, sentence: str) -> None:
    rows = {"positions": [0, 1], "ids": [[1, 2], [3, 4]], "logps": [[-1, -2], [-1, -2]]}
    whole = {
        "type": "prefill", "seconds": 1, "token": 1, "margin": 1, "top": [[1, -0.1]], "rows": rows,
    }  # fmt: skip
    lines = [tf.dumps(header_event()), json.dumps(whole)]
    assert tf.parse("\n".join(lines).encode() + b"\n").events[1].rows.positions == (0, 1)
    change(whole)
    with pytest.raises(TraceError, match=sentence):
        tf.parse("\n".join([lines[0], json.dumps(whole)]).encode() + b"\n")


def header_event() -> tr.Header:
    return tr.Header(
        run="r", decoder="recap", knobs={}, model="m", digest="d", device="cpu", dtype="float32",
        machine="", versions={}, messages=(), tokens=(1, 2), eos_ids=(), max_new_tokens=4,
        vocab_size=9,
    )  # fmt: skip


@pytest.mark.parametrize("schema", [True, 2.0, "2", None, [2]])
def test_a_schema_is_a_whole_number(schema: object) -> None:
    line = json.dumps(json.loads(tf.dumps(header_event())) | {"trace_schema": schema})
    with pytest.raises(TraceError, match="reads schemas 1 and 2"):
        tf.parse(line.encode() + b"\n")
