"""Following a job on the page: ticks, stages, Stop, and the last line."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from specviz import jobs
from specviz.jobs import Job
from specviz.memories import Scopes
from specviz.models.base import InputError
from specviz.trace import Check, Event, Finish, Prefill, Progress, Trace
from specviz.ui.actions import Actions
from specviz.ui.lines import ended_line
from specviz.ui.live import INTERVAL, Stage, Tick, follow, stage_of
from specviz.ui.opening import KEEP
from specviz.ui.visit import Desk, Live, Visit
from specviz.ui.whatif import Again, WhatIf
from tests.page_parts import JOB, Clock, an_actions, told, toy_trace


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
