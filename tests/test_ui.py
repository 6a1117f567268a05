"""The page's logic without a browser: following a job, Stop, who may see what."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.jobs import Job, Scopes
from specviz.models.base import InputError
from specviz.trace import Event, Finish, Progress, Trace
from specviz.ui import device, launch_options
from specviz.ui.actions import KEEP, Actions
from specviz.ui.api import generate
from specviz.ui.examples import examples
from specviz.ui.form import control, whole
from specviz.ui.live import INTERVAL, Stage, Tick, follow, stage_of
from specviz.ui.visit import KEPT_RUNS, Desk, Live, Visit

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
    assert names == ["load", "encode", "prefill", "decode", "baseline", "check"]
    assert [done for name, done in seen if name == "decode"][-1] == 60
    assert [done for name, done in seen if name == "baseline"][-1] == 60


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
    line, run, stop = actions.settle(visit)
    assert json.loads(line)["text"] == "Too many runs are waiting: try again in a minute."
    assert (run["interactive"], stop["visible"], visit.busy) == (True, False, False)
    assert actions.settle(visit) == (KEEP, KEEP, KEEP)


def test_the_desk_keeps_few_runs_and_forgets_a_visit_that_left() -> None:
    desk, visit, other = Desk(), Visit(), Visit()
    trace = Trace(tuple(e for e in jobs.run(JOB) if not isinstance(e, Progress)))
    desk.enter("one", visit)
    desk.enter("two", other)
    desk.publish("example-a", trace)
    for name in ("r1", "r2", "r3"):
        desk.keep(visit, name, trace)
    desk.keep(other, "s1", trace)
    assert KEPT_RUNS == 2
    assert [desk.trace(n) is trace for n in ("r1", "r2", "r3")] == [False, True, True]
    assert desk.events("r3", 5) == list(trace.events[5:])
    assert desk.events("r3", -7) == list(trace.events)
    visit.live = Live(JOB, started=True)
    desk.leave("one")
    assert visit.live.stopped
    assert [desk.trace(n) for n in ("r2", "r3")] == [None, None]
    assert desk.trace("s1") is trace and desk.trace("example-a") is trace
    desk.leave("one")
    desk.leave(None)


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


def test_the_gpu_is_asked_for_in_proportion_to_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device.decode() is jobs.run
    small = device.duration(Job(max_new_tokens=50, baseline=False))
    assert small == pytest.approx(18.0)
    assert device.duration(Job(max_new_tokens=50)) == pytest.approx(21.0)
    assert device.duration(Job(max_new_tokens=10_000)) == device.MOST_SECONDS
    monkeypatch.setenv("SPACES_ZERO_GPU", "1")
    asked = []

    class Spaces:
        @staticmethod
        def GPU(duration: Any) -> Any:
            asked.append(duration)
            return lambda function: function

    monkeypatch.setitem(sys.modules, "spaces", Spaces)  # type: ignore[arg-type]
    monkeypatch.setattr(device, "find_spec", lambda name: name)
    assert device.decode() is jobs.run
    assert asked == [device.duration]


def test_the_endpoint_gives_text_and_figures_or_one_sentence() -> None:
    run = generate(jobs.run)
    answer = run("This is the house that", model="toy", max_new_tokens=6)
    assert answer["text"] == " Jack built.\nThis is the"
    assert answer["equal"] is True and answer["decoder"]["tokens"] == 6
    assert answer["origins"] == ["target"] * 4 + ["level1", "target"]
    with pytest.raises(gr.Error, match="The prompt is empty"):
        run("  ", model="toy")


def test_without_recorded_runs_the_page_opens_on_a_toy(tmp_path: Path) -> None:
    (only,) = examples(tmp_path)
    run = only.trace.run("decoder")
    assert run is not None and run.header.model == "toy" and len(run.tokens) == 96
    index = '[{"name": "a", "title": "A", "description": "", "decoder": "recap", "file": "a.gz"}]'
    (tmp_path / "index.json").write_text(index)
    assert [e.name for e in examples(tmp_path)] == ["rhyme"]
    (tmp_path / "a.gz").write_bytes(b"")
    assert [e.name for e in examples(tmp_path)] == ["a"]


def test_building_the_page_loads_no_torch_and_publishes_one_endpoint() -> None:
    code = (
        "import sys; from specviz import ui; page = ui.build(); "
        "shown = [f.api_name for f in page.fns.values() if f.api_visibility == 'public']; "
        "assert 'torch' not in sys.modules; sys.stdout.write(','.join(map(str, shown)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parent.parent,
    )  # fmt: skip
    assert done.stdout == "generate"
    assert launch_options()["max_file_size"] == "32mb"
    assert "allowed_paths" not in launch_options()
