"""The page's logic without a browser: following a job, Stop, who may see what."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.gallery import Example
from specviz.inputs import Document, open_document
from specviz.jobs import Job
from specviz.memories import Scopes
from specviz.models import registry
from specviz.models.base import InputError
from specviz.trace import Check, Event, Finish, Prefill, Progress, Trace
from specviz.tracefile import save
from specviz.ui import document as document_tab
from specviz.ui import launch_options, reading
from specviz.ui.actions import Actions
from specviz.ui.address import step_of
from specviz.ui.answers import Answers
from specviz.ui.api import generate
from specviz.ui.document import read
from specviz.ui.examples import Toy, examples
from specviz.ui.form import build_form, control, first_model, whole
from specviz.ui.inspect import Inspect
from specviz.ui.lines import ended_line
from specviz.ui.live import INTERVAL, Stage, Tick, follow, stage_of
from specviz.ui.memory import MOST_SCOPES, Memory, room
from specviz.ui.opening import KEEP
from specviz.ui.panes import emptied
from specviz.ui.trust import check_model, check_trusted
from specviz.ui.visit import KEPT_RUNS, Desk, Live, Visit
from specviz.ui.whatif import Again, WhatIf
from tests.made_pdf import pdf

JOB = Job(model="toy", prompt="This is the house that Jack built.\nThis is", max_new_tokens=60)


class Clock:
    """A clock that moves by a fixed amount whenever it is read."""

    def __init__(self, tick: float) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def test_ticks_are_rare_and_together_they_tell_every_event() -> None:
    live = Live(JOB)
    clock = Clock(0.02)
    times, ticks, lengths = [], [], []
    for tick in follow(live, jobs.run, Scopes(), clock):
        times.append(clock.now)
        ticks.append(tick)
        lengths.append(len(live.recording.events))
    gaps = [b - a for a, b in pairwise(times[:-1])]
    assert min(gaps) >= INTERVAL - 1e-9
    assert [t.live for t in ticks] == [True] * (len(ticks) - 1) + [False]
    sent: set[int] = set()
    for tick, length in zip(ticks, lengths, strict=True):
        assert tick.first <= len(sent), "a tick left a gap"
        sent.update(range(tick.first, length))
    assert sent == set(range(len(live.recording.events)))
    check = live.recording.trace.check
    assert check is not None and check.equal is True
    assert ticks[-1].stage == Stage("done") and live.ended


@pytest.mark.parametrize(("role", "after"), [("decoder", 3), ("baseline", 20)])
def test_stop_ends_after_the_event_and_keeps_what_was_learned(role: str, after: int) -> None:
    live, scopes, closed = Live(JOB), Scopes(), []

    def decode(job: Job) -> Iterator[Event]:
        try:
            for count, event in enumerate(jobs.run(job)):
                if event.role == role and count >= after:
                    live.stopped = True
                yield event
        finally:
            closed.append(role)

    ticks = list(follow(live, decode, scopes))
    assert closed == [role]
    assert ticks[-1] == Tick(ticks[-1].first, Stage("stopped"), live=False)
    run = live.recording.trace.run("baseline" if role == "baseline" else "decoder")
    assert run is not None and run.finish is not None
    assert (run.finish.reason, run.finish.tokens) == ("stopped", len(run.tokens))
    assert scopes.get(JOB) is not None
    assert live.ended


def test_stop_while_a_long_document_is_read_ends_after_that_chunk() -> None:
    job = replace(JOB, document="a" * 7000, prompt="This is", max_new_tokens=20)
    live, seen = Live(job), []

    def decode(job: Job) -> Iterator[Event]:
        for event in jobs.run(job):
            seen.append(event)
            live.stopped = isinstance(event, Progress) and event.done == 1024
            yield event

    ticks = list(follow(live, decode, Scopes(), Clock(1.0)))
    reading = [t.stage for t in ticks if t.stage.name == "prefill"]
    assert reading == [Stage("prefill", 512, 7004)]
    assert seen[-1] == Progress(stage="prefill", done=1024, total=7004)
    assert [e.type for e in live.recording.events] == ["header", "finish"]
    finish = live.recording.events[-1]
    assert isinstance(finish, Finish) and (finish.reason, finish.tokens) == ("stopped", 0)
    assert told(ended_line(live, "en")) == (
        "done", "Stopped after 0 tokens; what was recorded can be replayed.",
    )  # fmt: skip


def test_a_document_is_read_when_it_comes_and_how_is_said(tmp_path: Path) -> None:
    visit, path = Visit(), tmp_path / "house.pdf"
    path.write_bytes(pdf(["This is the house", "that Jack built."]))
    lines = [told(line) for line in read(visit, str(path), "en")]
    assert lines[0] == ("busy", "reading house.pdf")
    assert lines[-1] == ("done", "house.pdf: 35 characters. 2 pages read from the PDF.")
    document = Document(
        "house.pdf", "This is the house\n\nthat Jack built.", ("2 pages read from the PDF.",)
    )
    path.unlink()  # not read again
    assert document_tab.opened(visit, str(path)) == document
    assert [told(line) for line in read(visit, None, "en")] == [("", "")]
    with pytest.raises(InputError, match=r"^There is no document: choose a text or PDF file\.$"):
        document_tab.opened(visit, None)


def test_a_document_that_cannot_be_read_is_said_beside_its_field(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit, path = Visit(), tmp_path / "scan.pdf"
    path.write_bytes(pdf([None]))
    sentence = (
        "scan.pdf has no text layer, its pages are pictures: run text recognition (OCR) over it "
        "first."
    )
    assert told(list(read(visit, str(path), "en"))[-1]) == ("error", sentence)
    with pytest.raises(InputError) as caught:
        document_tab.opened(visit, str(path))
    assert str(caught.value) == sentence

    def broken(*given: Any, **named: Any) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(reading, "open_document", broken)
    assert told(list(read(visit, str(path), "en"))[-1]) == ("error", sentence), "read once"
    list(read(visit, None, "en"))
    assert told(list(read(visit, str(path), "en"))[-1]) == (
        "error", "Something went wrong inside specviz; the log has the details.",
    )  # fmt: skip
    assert "a secret detail" in caplog.text


def test_a_newer_document_ends_the_reading_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit, first, second = Visit(), tmp_path / "a.txt", tmp_path / "b.txt"
    for path in (first, second):
        path.write_text("This is")
    let_go = threading.Event()

    def slow(path: Path, progress: Any) -> Document:
        assert path == second or let_go.wait(20)
        return open_document(path, progress=progress)

    monkeypatch.setattr(reading, "open_document", slow)
    older = read(visit, str(first), "en")
    assert [told(next(older)) for _ in range(2)] == [("busy", "reading a.txt")] * 2
    newest = told(list(read(visit, str(second), "en"))[-1])
    assert newest == ("done", "b.txt: 7 characters. Read as UTF-8.")
    assert list(islice(older, 2)) == []
    let_go.set()
    assert visit.reading is not None and visit.reading.path == str(second)


class SlowFile:
    """Reading of files that takes until it is let go; says page 2 of 3 before that."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.let_go, self.begun = threading.Event(), 0
        monkeypatch.setattr(reading, "open_document", self)

    def __call__(self, path: Path, progress: Any) -> Document:
        self.begun += 1
        progress(2, 3)
        assert self.let_go.wait(20)
        return open_document(path, progress=progress)


BUSY = ("busy", "reading house.txt: page 2 of 3")
REQUEST: Any = SimpleNamespace(session_hash="s")


@pytest.fixture
def pressed(tmp_path: Path) -> tuple[Actions, Visit, list[Any], Path]:
    """Actions, a visit with the document tab open, what the form holds, and its file."""
    with gr.Blocks():
        form, _ = build_form("en")
    path = tmp_path / "house.txt"
    path.write_text("This is the house that Jack built.")
    values = dict(zip(form.inputs, (c.value for c in form.inputs), strict=True))
    values |= {form.document.file: str(path), form.document.question: "This", form.model: "toy"}
    values |= {form.tokens: 6}
    actions = Actions(Desk(), (), jobs.run, form, "en")
    return actions, Visit(mode="document"), list(values.values()), path


@pytest.mark.parametrize("dropped", [True, False], ids=["dropped", "unseen"])
def test_a_run_waits_for_the_reading_that_goes_on_and_begins_none_in_its_press(
    pressed: Any, monkeypatch: pytest.MonkeyPatch, dropped: bool
) -> None:
    actions, visit, values, path = pressed
    slow = SlowFile(monkeypatch)
    line = read(visit, str(path), "en")
    if dropped:
        assert [told(next(line)) for _ in range(2)][-1] == BUSY
    said = actions.begin(visit, REQUEST, *values)
    assert told(said[0]) == ("busy", "waiting for the device")
    assert visit.live is not None and visit.live.job.document is None
    assert slow.begun == dropped, "nothing is read while a button is pressed"
    waiting = actions.wait(visit)
    assert next(waiting) == (KEEP,) * 5
    assert [told(next(waiting)[0]) for _ in range(3)][1:] == [BUSY] * 2
    assert next(actions.run(visit))[3] is KEEP and not visit.live.started
    slow.let_go.set()
    assert all(rest == [KEEP] * 4 for _, *rest in waiting)
    assert told(list(line)[-1])[0] == "done" and slow.begun == 1
    job = visit.live.job
    assert (job.document, job.prompt) == ("This is the house that Jack built.", "This")
    assert job.notes == ("Read as UTF-8.",)
    ended = list(actions.run(visit))[-1]
    assert told(ended[3]) == ("done", "6 tokens in 1 pass") and ended[4]["interactive"] is True
    # The next run takes the text as it is.
    actions.begin(visit, REQUEST, *values)
    assert visit.live.job.document == job.document and visit.live.reading is None
    assert list(actions.wait(visit)) == [(KEEP,) * 5]
    assert slow.begun == 1


def test_stop_ends_a_run_that_waits_for_its_document(
    pressed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions, visit, values, _ = pressed
    slow = SlowFile(monkeypatch)
    actions.begin(visit, REQUEST, *values)
    waiting = actions.wait(visit)
    assert [told(line) for line, *_ in islice(waiting, 3) if line is not KEEP][-1] == BUSY
    line, _, run, stop, _ = actions.stop(visit)
    assert told(line) == ("", "Stopped before it began.")
    assert run["interactive"] is True and stop["visible"] is False
    assert [told(line) for line, *_ in waiting] == [("", "Stopped before it began.")]
    assert visit.live.ended and not visit.busy
    assert list(actions.run(visit)) == [(KEEP,) * 7] and actions.settle(visit) == (KEEP,) * 5
    slow.let_go.set()


def test_a_document_that_cannot_be_read_ends_the_run_that_waits_for_it(
    pressed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions, visit, values, path = pressed
    slow = SlowFile(monkeypatch)
    path.write_bytes(b"\0\1")
    actions.begin(visit, REQUEST, *values)
    slow.let_go.set()
    line, _, run, stop, _ = list(actions.wait(visit))[-1]
    sentence = (
        "house.txt holds NUL bytes, so it is binary or UTF-16 without its mark: save it as UTF-8 "
        "text."
    )
    assert told(line) == ("error", sentence)
    assert run["interactive"] is True and stop["visible"] is False and not visit.busy
    assert list(actions.run(visit)) == [(KEEP,) * 7]
    assert told(actions.begin(visit, REQUEST, *values)[0]) == ("error", sentence), "said at once"
    assert slow.begun == 1


def test_a_run_whose_wait_was_refused_is_not_decoded_without_its_document(
    pressed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions, visit, values, _ = pressed
    SlowFile(monkeypatch)
    actions.begin(visit, REQUEST, *values)
    assert list(actions.run(visit)) == [(KEEP,) * 7]
    assert told(actions.settle(visit)[0])[1] == (
        "Too many runs are waiting: try again in a minute."
    )
    assert not visit.busy


def test_the_form_takes_the_document_and_what_to_keep_of_it(tmp_path: Path) -> None:
    with gr.Blocks():
        form, _ = build_form("en")
    path = tmp_path / "a.txt"
    path.write_text("This is the house")
    values = dict(zip(form.inputs, (c.value for c in form.inputs), strict=True))
    values |= {form.document.file: str(path), form.document.question: "Why?", form.model: "toy"}
    visit = Visit(mode="document")
    assert form.job(visit, list(values.values())).document is None, "still to be read"
    list(read(visit, str(path), "en"))
    job = form.job(visit, list(values.values()))
    assert (job.document, job.prompt, job.cut, job.context) == (
        "This is the house", "Why?", "middle", None,
    )  # fmt: skip
    values |= {form.document.cut: "tail", form.document.context: 300.0}
    job = form.job(visit, list(values.values()))
    assert (job.cut, job.context) == ("tail", 300)
    values[form.document.context] = None
    assert form.job(Visit(mode="document"), list(values.values())).context is None
    values[form.document.context] = 0.5
    with pytest.raises(InputError, match=r"^Most tokens has to be a whole number from 1 on\.$"):
        form.job(Visit(mode="document"), list(values.values()))


def test_what_was_cut_is_said_when_the_run_has_ended() -> None:
    job = replace(
        JOB, document="a" * 200, prompt="This is", max_new_tokens=4, context=60, cut="head",
        notes=("Read as UTF-8.",),
    )  # fmt: skip
    live = Live(job)
    list(follow(live, jobs.run, Scopes()))
    assert told(ended_line(live, "en"))[1] == (
        "4 tokens in 3 passes. Kept the first 52 of the 200 tokens of the document: prompt and "
        "answer have room for 60 together."
    )


def test_an_error_ends_the_run_and_is_raised() -> None:
    live = Live(Job(model="toy", prompt="é", decoder="recap"))
    with pytest.raises(InputError, match="choose one of"):
        list(follow(Live(Job(model="toy", prompt="x", decoder="none")), jobs.run, Scopes()))

    def decode(job: Job) -> Iterator[Event]:
        yield from list(jobs.run(JOB))[:4]
        raise RuntimeError("bug")

    with pytest.raises(RuntimeError, match="bug"):
        list(follow(live, decode, Scopes()))
    finish = live.recording.events[-1]
    assert isinstance(finish, Finish) and finish.reason == "stopped"
    assert live.ended


def test_stages_count_tokens_of_each_run() -> None:
    stage, seen = Stage("load"), []
    for event in jobs.run(JOB):
        stage = stage_of(event, stage, JOB.max_new_tokens)
        seen.append((stage.name, stage.done))
    names = list(dict.fromkeys(name for name, _ in seen))
    assert names == [
        "load", "encode", "prefill", "decode", "baseline", "baseline_prefill", "check",
    ]  # fmt: skip
    assert [done for name, done in seen if name == "decode"][-1] == 60
    reading = Progress(stage="prefill", role="baseline", done=3, total=9)
    assert stage_of(reading, Stage("baseline", 0, 60), 60) == Stage("baseline_prefill", 3, 9)
    assert [done for name, done in seen if name == "baseline"][-1] == 60


def test_the_player_is_emptied_while_a_run_loads_and_filled_again_if_nothing_came() -> None:
    desk = Desk()
    actions = Actions(desk, (), jobs.run, None, "en")  # type: ignore[arg-type]
    visit, live = Visit(shown="old"), Live(JOB)
    pushed = partial(actions._pushed, visit, live, line="")
    assert pushed(tick=Tick(0, Stage("queue")))[0] is KEEP
    blank = json.loads(pushed(tick=Tick(0, Stage("load", 0, 1)))[0])
    assert (blank["run_id"], blank["events"], blank["live"]) == (live.run_id, [], True)
    assert blank["stage"] == {"name": "load", "done": 0, "total": 1} and visit.shown == "old"
    failed = Tick(0, Stage("error"), live=False)
    assert pushed(tick=failed)[0] is KEEP, "nothing to go back to"
    desk.publish("old", Trace(tuple(e for e in jobs.run(JOB) if not isinstance(e, Progress))))
    back = json.loads(gzip.decompress(base64.b64decode(json.loads(pushed(tick=failed)[0])["load"])))
    assert back["run_id"] == "old" and len(back["events"]) > 3


def test_stop_of_a_waiting_run_ends_it_and_of_a_running_one_asks_it_to_end() -> None:
    visit = Visit()
    assert visit.stop() is False
    visit.live = Live(JOB)
    assert (visit.busy, visit.stop(), visit.busy) == (True, False, False)
    visit.live = Live(JOB, started=True)
    assert (visit.stop(), visit.stop(), visit.busy) == (True, True, True)
    visit.live.ended = True
    assert visit.stop() is False


def test_a_run_that_the_queue_refused_can_be_started_again() -> None:
    actions = Actions(Desk(), (), jobs.run, None, "en")  # type: ignore[arg-type]
    visit = Visit(live=Live(JOB))
    line, cards, run, stop, upload = actions.settle(visit)
    assert json.loads(cards)["locked"] == "" and upload["interactive"] is True
    assert json.loads(line)["text"] == "Too many runs are waiting: try again in a minute."
    assert (run["interactive"], stop["visible"], visit.busy) == (True, False, False)
    assert actions.settle(visit) == (KEEP,) * 5


def test_a_press_of_run_that_came_too_late_leaves_a_waiting_what_if_alone_and_the_reverse() -> None:
    actions = an_actions()
    trace = toy_trace()
    waiting = Again(JOB, trace=trace, change="no-level1")
    visit = Visit(live=waiting)
    assert list(actions.run(visit)) == [(KEEP,) * 7]
    assert actions.settle(visit) == (KEEP,) * 5
    assert (waiting.started, waiting.ended, visit.busy) == (False, False, True)
    own = WhatIf(actions)
    visit.live = Live(JOB)
    assert list(own.run(visit)) == [(KEEP,) * 14]
    assert own.settle(visit) == (KEEP,) * 8
    assert (visit.live.started, visit.live.ended) == (False, False)
    visit.live = waiting  # refused by the queue
    assert told(own.settle(visit)[0]) == (
        "error", "Too many runs are waiting: try again in a minute.",
    )  # fmt: skip
    assert waiting.ended


def test_a_what_if_that_only_waited_gives_its_buttons_back_at_stop() -> None:
    own = WhatIf(an_actions())
    waiting = Again(JOB, trace=toy_trace(), change="no-level1")
    visit = Visit(live=waiting)
    assert own.stopped(visit) == (KEEP,) * 4  # it still waits
    own.actions.stop(visit)
    run, stop, beside, line = own.stopped(visit)
    assert (run["interactive"], stop["visible"], beside["interactive"]) == (True, False, True)
    assert line == "Stopped: nothing was compared."
    visit.live = Again(JOB, trace=toy_trace(), started=True, stopped=True)
    assert own.stopped(visit) == (KEEP,) * 4  # its own end says it


def test_a_new_what_if_and_one_that_failed_show_no_older_picture(tmp_path: Path) -> None:
    own, visit = WhatIf(an_actions()), Visit(shown="a")
    own.actions.desk.publish("a", toy_trace())
    request: Any = SimpleNamespace(session_hash="s")
    for name in ("no-level1", None):
        *_, words, plot, table, cross = own.begin(visit, name, "toy", "", request)
        assert words and not any(part["visible"] for part in (plot, table, cross))
        visit.live = None
    (tmp_path / "x.jsonl").write_text("{")
    _, words, plot, table, cross = own.beside(visit, str(tmp_path / "x.jsonl"))
    assert words and not any(part["visible"] for part in (plot, table, cross))


def test_the_model_that_a_trace_names_is_not_loaded_unless_somebody_chose_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def named(model: str) -> Trace:
        first, *rest = toy_trace().events
        return Trace((first.model_copy(update={"model": model}), *rest))

    folder = str(tmp_path)
    for model in ("evil/model", folder):
        with pytest.raises(InputError, match=f"^This trace names the model {model}: choose it"):
            check_trusted(named(model), "toy", "")
        check_trusted(named(model), model, "")
        monkeypatch.setitem(registry._loaded, (model, "cpu", "float32", False), object())
        check_trusted(named(model), "toy", "")
        monkeypatch.setenv("SPACE_ID", "a/b")  # where only labels run, whatever is chosen
        with pytest.raises(InputError, match=r"^This public page runs "):
            check_trusted(named(model), model, "")
        monkeypatch.delenv("SPACE_ID")
    check_trusted(toy_trace(), "", "")


def test_the_head_that_a_trace_names_is_not_loaded_unless_somebody_chose_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def named(head: str) -> Trace:
        first, *rest = toy_trace().events
        return Trace((first.model_copy(update={"knobs": {**first.knobs, "head": head}}), *rest))

    for head in ("evil/head", str(tmp_path)):
        with pytest.raises(InputError, match=f"^This trace names the drafter head {head}: give"):
            check_trusted(named(head), "toy", "")
        check_trusted(named(head), "toy", head)
        with monkeypatch.context() as public:
            public.setenv("SPACE_ID", "a/b")
            with pytest.raises(InputError, match=r"^This public page has the heads smollm2-eagle,"):
                check_trusted(named(head), "toy", head)
    check_trusted(named("smollm2-eagle"), "toy", "")
    check_trusted(named(""), "toy", "evil/head")


def test_a_public_page_takes_labels_of_heads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with gr.Blocks():
        form, _ = build_form("en")
    values = [c.value for c in form.inputs]
    values[form.inputs.index(form.decoder)] = "window"
    values[form.inputs.index(form.model)] = "toy"
    values[form.inputs.index(form.head)] = "owner/head"
    assert form.job(Visit(), values).knobs["head"] == "owner/head"
    monkeypatch.setenv("SPACE_ID", "someone/specviz")
    with pytest.raises(InputError, match=r"^This public page has the heads smollm2-eagle, "):
        form.job(Visit(), values)
    values[form.inputs.index(form.head)] = "smollm2-eagle"
    assert form.job(Visit(), values).knobs["head"] == "smollm2-eagle"


def test_a_pane_that_cannot_be_made_is_empty_and_says_so() -> None:
    with gr.Blocks():
        outputs = [gr.HTML(), gr.Plot(), gr.Dataframe()]
    assert emptied(outputs, "bug") == ("bug", None, {"headers": [""], "data": []})


def test_a_negative_margin_is_none_and_a_file_added_twice_counts_once(tmp_path: Path) -> None:
    desk = Desk()
    desk.publish("a", toy_trace())
    inspect, visit = Inspect(desk, (), "en"), Visit(shown="a")
    assert inspect.rejects(visit, "all", "all", -5, "", False) == inspect.rejects(
        visit, "all", "all", 0, "", False
    )
    path = tmp_path / "a.jsonl"
    save(path, toy_trace().events)
    added, wrong, _ = inspect.add([str(path)], {})
    assert wrong == ""
    again, wrong, _ = inspect.add([str(path)], added)
    assert again == added and wrong == "a.jsonl was added already: it is counted once."


def test_the_first_change_that_fits_is_chosen_once_a_run_is_shown() -> None:
    own = WhatIf(an_actions())
    assert own.offer(Visit())[0]["value"] is None
    own.actions.desk.publish("a", toy_trace())
    found = own.offer(Visit(shown="a"))[0]
    assert found["value"] == found["choices"][0][1] == "no-level3"


def test_the_desk_keeps_few_runs_and_forgets_a_visit_that_left() -> None:
    desk, visit, other = Desk(), Visit(), Visit()
    trace = Trace(tuple(e for e in jobs.run(JOB) if not isinstance(e, Progress)))
    desk.enter("one", visit)
    desk.enter("two", other)
    desk.publish("example-a", trace)
    for name in ("r0", "r00", "r1", "r2", "r3"):
        desk.keep(visit, name, trace)
    desk.keep(other, "s1", trace)
    assert KEPT_RUNS == 4
    assert [desk.trace(n) is trace for n in ("r0", "r00", "r2", "r3")] == [False, True, True, True]
    assert desk.events("r3", 5) == list(trace.events[5:])
    assert desk.events("r3", -7) == list(trace.events)
    visit.live = Live(JOB, started=True)
    desk.leave("one")
    assert visit.live.stopped
    assert [desk.trace(n) for n in ("r2", "r3")] == [None, None]
    assert desk.trace("s1") is trace and desk.trace("example-a") is trace
    desk.leave("one")
    desk.leave(None)


def test_earlier_runs_of_a_tab_can_be_opened_again_by_this_tab_alone() -> None:
    own, visit, other = an_actions(), Visit(shown="r2"), Visit()
    trace = toy_trace()
    for name in ("r1", "r2"):
        own.desk.keep(visit, name, trace)
    cards = json.loads(own.cards(visit))["cards"]
    assert [(c["name"], c["decoder"], c["title"], c["description"]) for c in cards] == [
        ("own-r1", "Your earlier runs", "This is the house that Jack built. This is", "recap · toy")
    ]
    tokens = len(trace.run("decoder").tokens)  # type: ignore[union-attr]
    assert cards[0]["figures"].startswith(f"{tokens} tokens · ")
    assert json.loads(own.cards(other))["cards"] == []

    def press(name: str) -> Any:
        return SimpleNamespace(_data={"name": name})

    message, gallery, run_id, line = own.pick(visit, press("own-r1"))
    assert (loaded(message)["run_id"], run_id, visit.shown, told(line)) == (
        "r1", "r1", "r1", ("", ""),
    )  # fmt: skip
    assert [c["name"] for c in json.loads(gallery)["cards"]] == ["own-r2"]
    gone = "This run is not kept any more: run it again."
    assert told(own.pick(other, press("own-r1"))[-1]) == ("error", gone)
    assert told(own.pick(visit, press("own-r9"))[-1]) == ("error", gone)
    assert visit.shown == "r1"


def test_a_run_that_is_read_back_from_its_file_is_the_run_it_was(tmp_path: Path) -> None:
    own, visit = an_actions(), Visit()
    trace, other = toy_trace(), toy_trace()
    path = tmp_path / "run.jsonl.gz"
    save(path, trace.events)
    own.desk.keep(visit, "first", trace)
    own.desk.keep(visit, "second", other)  # the same tokens, at other moments: another run
    message, gallery, run_id, _ = own.upload(visit, str(path))
    assert (loaded(message)["run_id"], run_id, visit.own) == ("first", "first", ["second", "first"])
    assert [c["name"] for c in json.loads(gallery)["cards"]] == ["own-second"]
    stranger = Visit()
    run_id = own.upload(stranger, str(path))[2]
    assert stranger.own == [run_id] != ["first"], "nobody learns the name of another's run"
    assert own.upload(stranger, str(path))[2] == run_id and stranger.own == [run_id]


@pytest.mark.parametrize("decoder", [None, "", "../recap", ["recap"]])
def test_a_decoder_that_there_is_not_is_named_with_those_there_are(decoder: Any) -> None:
    with gr.Blocks():
        form, _ = build_form("en")
    values = [getattr(part, "value", None) for part in form.inputs]
    values[0] = decoder
    with pytest.raises(InputError, match=r"^There is no decoder .*: choose one of .*recap"):
        form.job(Visit(), values)


def test_run_ids_cannot_be_guessed() -> None:
    ids = {Live(JOB).run_id for _ in range(50)}
    assert len(ids) == 50 and all(len(i) == 22 for i in ids)


@pytest.mark.parametrize("value", [0, -3, 1.5, None, "7", True, float("nan"), float("inf"), 1e300])
def test_a_token_budget_is_a_whole_number(value: Any) -> None:
    with pytest.raises(InputError, match=r"^Budget has to be a whole number from 1 on\.$"):
        whole(value, "Budget")
    assert whole(12.0, "Budget") == 12


def test_a_slider_leaves_its_limits_to_the_knob() -> None:
    from specviz.drafters import DRAFTERS, knobs_of

    nodes = knobs_of(DRAFTERS["recap"])[0]
    slider = control(nodes, "k")
    assert isinstance(slider, gr.Slider)
    assert (slider.minimum, slider.maximum, slider.step) == (0, 96, 1)
    assert slider.preprocess(500) == 500
    with pytest.raises(InputError, match="give a whole number from 0 to 96"):
        nodes.check(slider.preprocess(500))


def test_the_endpoint_gives_text_and_figures_or_one_sentence() -> None:
    run = generate(jobs.run)
    answer = run("This is the house that", model="toy", max_new_tokens=6)
    assert answer["text"] == " Jack built.\nThis is the"
    assert answer["equal"] is True and answer["decoder"]["tokens"] == 6
    assert answer["origins"] == ["target"] * 4 + ["level1", "target"]
    with pytest.raises(gr.Error, match="The prompt is empty"):
        run("  ", model="toy")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prompt": None}, "prompt has to be a text."),
        ({"prompt": ["a"]}, "prompt has to be a text."),
        ({"model": None}, "model has to be a text."),
        ({"model": {"a": 1}}, "model has to be a text."),
        ({"decoder": ["recap"]}, "decoder has to be a text."),
        ({"dtype": None}, "dtype has to be a text."),
        ({"scope": None}, "scope has to be a text."),
        ({"baseline": "no"}, "baseline has to be true or false."),
        ({"max_new_tokens": "abc"}, "max_new_tokens has to be a whole number from 1 on."),
        ({"max_new_tokens": None}, "max_new_tokens has to be a whole number from 1 on."),
        ({"max_new_tokens": 2.5}, "max_new_tokens has to be a whole number from 1 on."),
    ],
)
def test_the_endpoint_refuses_other_types_in_one_sentence(
    change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(gr.Error) as caught:
        generate(jobs.run)(**{"prompt": "This is", "model": "toy", **change})
    assert (caught.value.message, caught.value.print_exception) == (sentence, False)


def test_a_bug_in_the_endpoint_goes_to_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    def decode(job: Job) -> Iterator[Event]:
        raise RuntimeError("a secret detail")

    with pytest.raises(gr.Error) as caught:
        generate(decode)("This is", model="toy")
    assert caught.value.message == "Something went wrong inside specviz; the log has the details."
    assert "a secret detail" in caplog.text


@pytest.mark.parametrize("name", ["owner/model", "/", "..", "no-such"])
def test_a_public_page_runs_labels_only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("SPECVIZ_MODELS", raising=False)
    monkeypatch.setenv("SPACE_ID", "someone/specviz")
    with pytest.raises(InputError) as caught:
        check_model(name)
    labels = ", ".join(entry.label for entry in registry.entries())
    assert str(caught.value) == (
        f"This public page runs {labels}: choose one of them, or run specviz yourself for other "
        "models."
    )
    with pytest.raises(gr.Error, match="This public page runs"):
        generate(jobs.run)("This is", model=name)
    check_model("toy")
    monkeypatch.setenv("SPECVIZ_MODELS", "any")
    check_model("owner/model")
    monkeypatch.delenv("SPACE_ID")
    monkeypatch.delenv("SPECVIZ_MODELS")
    check_model("owner/model")


def test_the_form_asks_whether_the_model_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "someone/specviz")
    with gr.Blocks():
        form, _ = build_form("en")
    values = [c.value for c in form.inputs]
    at = form.inputs.index(form.model)
    values[at] = "toy"
    assert form.job(Visit(), values).model == "toy"
    values[at] = "owner/model"
    with pytest.raises(InputError, match="This public page runs"):
        form.job(Visit(), values)
    assert form.model.allow_custom_value is False


# Memory scopes


def test_what_was_cleared_during_a_run_stays_cleared() -> None:
    scopes = Scopes()
    list(follow(Live(JOB), jobs.run, scopes))
    kept = scopes.get(JOB)
    assert kept is not None
    live = Live(JOB)

    def decode(job: Job) -> Iterator[Event]:
        assert job.memory is kept
        for count, event in enumerate(jobs.run(job)):
            if count == 9:
                scopes.clear(JOB.scope)
            yield event

    list(follow(live, decode, scopes))
    assert scopes.get(JOB) is None and scopes.size("default") == (0, 0)
    seen = []
    list(follow(Live(JOB), lambda job: (seen.append(job.memory), jobs.run(job))[1], scopes))
    assert seen == [None] and scopes.get(JOB) is not None
    scopes.clear()
    assert scopes.generation("default") == 2 and scopes.names() == set()


def test_clearing_one_scope_leaves_what_another_one_learns() -> None:
    scopes, begun = Scopes(), 0
    snapshot = snapshot_of(JOB)
    scopes.clear("other")
    scopes.put(JOB, snapshot, begun)
    assert scopes.get(JOB) is snapshot


def snapshot_of(job: Job) -> Any:
    scopes = Scopes()
    list(follow(Live(job), jobs.run, scopes))
    return scopes.get(job)


def test_a_tab_keeps_a_bounded_number_of_scopes() -> None:
    visit, snapshot = Visit(), snapshot_of(JOB)
    for number in range(MOST_SCOPES):
        visit.scopes.put(replace(JOB, scope=f"s{number}"), snapshot)
    memory = Memory("en")
    memory.cross(visit, "  s3 ")
    assert room(visit) == "s3"
    memory.cross(visit, "new")
    with pytest.raises(InputError) as caught:
        room(visit)
    assert str(caught.value) == (
        "This tab keeps the memory of 32 scopes at most: clear one of them, or choose a scope "
        "that has runs."
    )
    visit.scopes.clear("s3")
    assert room(visit) == "new"
    memory.cross(visit, "x" * 100)
    assert visit.scope == "x" * 80


def test_beside_run_stands_what_the_next_run_may_see() -> None:
    visit, memory = Visit(), Memory("en")
    line, clear = memory.next(visit, "recap", "toy", "auto")
    assert (line, clear["interactive"]) == ("Memory: 0 rows of scope “default”", False)
    snapshot = snapshot_of(JOB)
    assert snapshot is not None
    visit.scopes.put(JOB, snapshot)
    line, clear = memory.next(visit, JOB.decoder, " toy ", JOB.dtype)
    assert line == f"Memory: {len(snapshot)} rows of scope “default”" and clear["interactive"]
    # The scope holds rows, none of which a run in another number format may see.
    line, clear = memory.next(visit, JOB.decoder, "toy", "float32")
    assert line == "Memory: 0 rows of scope “default”" and clear["interactive"]
    line, clear = memory.next(visit, "prompt_lookup", "toy", "auto")
    assert line == "Memory: this decoder keeps none between runs." and clear["visible"] is False


# What the address and a file ask for


def an_actions(*recorded: Example) -> Actions:
    return Actions(Desk(), recorded, jobs.run, None, "en")  # type: ignore[arg-type]


def toy_trace() -> Trace:
    return Trace(tuple(e for e in jobs.run(JOB) if not isinstance(e, Progress)))


def told(line: str) -> tuple[str, str]:
    found = json.loads(line)
    return found["kind"], found["text"]


def loaded(message: str) -> dict[str, Any]:
    packed = base64.b64decode(json.loads(message)["load"])
    found: dict[str, Any] = json.loads(gzip.decompress(packed))
    return found


@pytest.mark.parametrize(
    ("asked", "index", "sentence"),
    [
        ("", None, ""),
        ("1", 0, ""),
        ("{steps}", -1, ""),
        ("999999999", -1,
         "The address asks for step 999999999, the run has {steps}: here is the last one."),
        *(
            (bad, None,
             "The step in the address cannot be shown: give a whole number from 1 to {steps}.")
            for bad in ("0", "-1", "x", "1.5", "٣", "9" * 5000)
        ),
    ],
)  # fmt: skip
def test_the_step_in_the_address_is_bounded(asked: str, index: int | None, sentence: str) -> None:
    trace = toy_trace()
    run = trace.run("decoder")
    assert run is not None
    steps = len(run.steps)
    wanted = steps - 1 if index == -1 else index
    assert step_of(asked.format(steps=steps), trace, "en") == (
        wanted, sentence.format(steps=steps)
    )  # fmt: skip


def opened(actions: Actions, **query: str) -> tuple[Any, ...]:
    request: Any = SimpleNamespace(session_hash="s", query_params=query)
    return actions.open_page(Visit(), request)[1:]


def test_an_address_that_leads_nowhere_opens_the_first_run(tmp_path: Path) -> None:
    (tmp_path / "bad.gz").write_bytes(b"nonsense")
    first = Toy("rhyme", "A", "", "recap")
    actions = an_actions(first, Example("gone", "B", "", "recap", tmp_path / "bad.gz"))
    message, _, run, line = opened(actions, trace="", step="7")
    assert (run, told(line)) == ("example-rhyme", ("", ""))
    assert loaded(message)["start_step"] == 6
    message, _, run, line = opened(actions, trace="n" * 5000, step="3")
    assert run == "example-rhyme" and loaded(message)["start_step"] is not None
    assert told(line) == (
        "error", f"There is no recorded run called {'n' * 79}…: here is the first one."
    )  # fmt: skip
    message, _, run, line = opened(actions, trace="gone")
    assert run == "example-rhyme" and told(line)[0] == "error"
    assert loaded(message)["run_id"] == "example-rhyme"


def test_a_bug_while_something_is_opened_is_said_and_keeps_the_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("a secret detail")

    actions, visit = an_actions(Toy("rhyme", "A", "", "recap")), Visit(shown="before")
    path = tmp_path / "run.jsonl"
    save(path, toy_trace().events)
    bug = ("error", "Something went wrong inside specviz; the log has the details.")
    monkeypatch.setattr("specviz.ui.actions.player.payload", broken)
    click: Any = SimpleNamespace(_data={"name": "rhyme"})
    for shown in (
        actions.upload(visit, str(path)), actions.pick(visit, click), opened(actions),
    ):  # fmt: skip
        assert shown[:3] == (KEEP,) * 3 and told(shown[3]) == bug
    assert (visit.shown, visit.own) == ("before", [])
    monkeypatch.setattr("specviz.ui.actions.card", broken)
    *kept, line = actions.summaries(visit)
    hidden = gr.update(visible=False)
    # Nothing of the run before.
    assert kept == [None] * 14 + [hidden, hidden, "[]", KEEP] and told(line) == bug
    assert caplog.text.count("RuntimeError: a secret detail") == 4


def test_a_number_that_json_lacks_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    actions, visit = an_actions(Toy("rhyme", "A", "", "recap")), Visit(shown="before")
    path = tmp_path / "run.jsonl"
    save(path, toy_trace().events)
    monkeypatch.setattr(
        "specviz.ui.actions.player.payload", lambda *_, **__: {"speed": float("inf")}
    )
    shown = actions.upload(visit, str(path))
    assert shown[0] is KEEP and told(shown[3])[0] == "error" and visit.shown == "before"


def test_an_upload_that_contradicts_itself_gets_no_verdict(tmp_path: Path) -> None:
    actions, visit = an_actions(), Visit()
    trace = toy_trace()
    sound, forged = tmp_path / "sound.jsonl", tmp_path / "forged.jsonl"
    save(sound, trace.events)
    save(forged, [
        e.model_copy(update={"tokens": 7}) if isinstance(e, Finish) else e for e in trace.events
    ])  # fmt: skip
    message, _, run, line = actions.upload(visit, str(sound))
    assert loaded(message)["audited"] is True and visit.shown == run
    assert told(line) == ("done", "sound.jsonl replays without a model.")
    message, _, run, line = actions.upload(visit, str(forged))
    assert loaded(message)["audited"] is False and visit.shown == run
    assert told(line) == (
        "error",
        "forged.jsonl replays, but 2 things in it cannot have happened: The decoder's end counts "
        "7 tokens, its steps emit 60.",
    )
    file = Answers(actions.desk, "en").make_file([run, "html"])
    assert file is not None and b'"audited":false' in base64.b64decode(file["data"])


# Endings


def stopped_when(halt: Any) -> Live:
    live = Live(JOB)

    def decode(job: Job) -> Iterator[Event]:
        for event in jobs.run(job):
            if isinstance(event, Check):  # what a difference between the texts brings
                part = Progress(stage="check", done=1, total=2)
                live.stopped |= halt(part, live)
                yield part
            live.stopped |= halt(event, live)
            yield event

    list(follow(live, decode, Scopes()))
    return live


@pytest.mark.parametrize(
    ("halt", "line"),
    [
        (lambda e, live: getattr(e, "stage", "") == "encode", "Stopped before it began."),
        (lambda e, live: isinstance(e, Prefill),
         "Stopped after 1 token; what was recorded can be replayed."),
        (lambda e, live: e.role == "baseline",
         "60 tokens in 6 passes; plain decoding was stopped, so nothing was compared."),
        (lambda e, live: getattr(e, "stage", "") == "check",
         "60 tokens in 6 passes; stopped before the texts were compared."),
        (lambda e, live: False, "60 tokens in 6 passes"),
    ],
)  # fmt: skip
def test_the_last_line_says_what_a_stop_left_undone(halt: Any, line: str) -> None:
    assert told(ended_line(stopped_when(halt), "en"))[1] == line


def test_one_token_is_not_tokens() -> None:
    live = Live(replace(JOB, max_new_tokens=1))
    list(follow(live, jobs.run, Scopes()))
    assert told(ended_line(live, "en"))[1] == "1 token in 0 passes"


def test_while_a_run_goes_on_the_cards_are_locked() -> None:
    actions, visit = an_actions(Toy("rhyme", "A", "", "recap")), Visit(live=Live(JOB))
    assert json.loads(actions.cards(visit))["locked"] == "A run is going on: stop it first."
    assert visit.live is not None
    *_, last = actions.run(visit)
    assert json.loads(last[1])["locked"] == ""
    assert [b["interactive"] for b in last[4:]] == [True, True, True]
    assert last[5]["visible"] is False


def test_cards_tell_speed_and_equality_as_recorded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, bad = tmp_path / "run.jsonl", tmp_path / "bad.gz"
    trace = toy_trace()
    save(path, trace.events)
    bad.write_bytes(b"nonsense")
    monkeypatch.setattr("specviz.metrics.speedup_decode", lambda trace: 0.876)
    sound = Example("a", "A", "", "recap", path)
    assert trace.check is not None and sound.figures() == "0.88× · ✓ same text"
    cards = json.loads(an_actions(sound, Example("b", "B", "", "recap", bad)).cards(Visit()))
    assert [c["figures"] for c in cards["cards"]] == ["0.88× · ✓ same text", ""]
    # A recording that contradicts itself gets no verdict.
    untrue = trace.check.model_copy(update={"complete": not trace.check.complete})
    save(path, [*trace.events[:-1], untrue])
    assert Example("c", "C", "", "recap", path).figures() == "0.88×"


def test_without_recorded_runs_the_page_opens_on_a_toy(tmp_path: Path) -> None:
    (only,) = examples(tmp_path)
    run = only.trace.run("decoder")
    assert run is not None and run.header.model == "toy" and len(run.tokens) == 96
    index = '[{"name": "a", "title": "A", "description": "", "decoder": "recap", "file": "a.gz"}]'
    (tmp_path / "index.json").write_text(index)
    assert [e.name for e in examples(tmp_path)] == ["rhyme"]
    (tmp_path / "a.gz").write_bytes(b"")
    assert [e.name for e in examples(tmp_path)] == ["a"]


def test_building_the_page_loads_no_torch_and_publishes_two_endpoints() -> None:
    code = (
        "import sys; from specviz import ui; page = ui.build(); "
        "shown = [f.api_name for f in page.fns.values() if f.api_visibility == 'public']; "
        "assert 'torch' not in sys.modules; sys.stdout.write(','.join(map(str, shown)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    assert done.stdout == "generate,clear_memory"
    assert launch_options()["max_file_size"] == "32mb"
    assert "allowed_paths" not in launch_options()


def test_a_space_without_the_packaged_weights_begins_with_a_model_that_can_run(monkeypatch) -> None:
    assert first_model() == "smollm2-135m"
    absent = replace(registry.find("smollm2-135m"), problem=lambda: "not installed")
    monkeypatch.setitem(registry._entries, "smollm2-135m", absent)
    assert first_model() == "smollm2-135m"
    monkeypatch.setenv("SPACE_ID", "somebody/specviz")
    assert first_model() == "smollm2-135m-hub"
