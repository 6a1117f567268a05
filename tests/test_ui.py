"""The page's logic without a browser: following a job, Stop, who may see what."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.gallery import Example
from specviz.models.base import InputError
from specviz.trace import Progress, Trace
from specviz.tracefile import save
from specviz.ui import build, launch_options
from specviz.ui.examples import Toy, examples
from specviz.ui.form import build_form, control, whole
from specviz.ui.inspect import Inspect
from specviz.ui.panes import emptied
from specviz.ui.visit import KEPT_RUNS, Desk, Live, Visit
from specviz.ui.whatif import WhatIf
from tests.page_parts import JOB, an_actions, loaded, told, toy_trace


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


def foreign(value: Any, at: str = "page") -> list[str]:
    """Where something stands in it that is neither plain data nor a function."""
    if isinstance(value, dict):
        return [w for key, each in value.items() for w in foreign(each, f"{at}.{key}")]
    if isinstance(value, (list, tuple)):
        return [w for i, each in enumerate(value) for w in foreign(each, f"{at}[{i}]")]
    plain = value is None or isinstance(value, (str, int, float, FunctionType))
    return [] if plain else [f"{at} is a {type(value).__name__}"]


def test_the_description_that_gradio_copies_for_every_visitor_leads_to_nothing_larger() -> None:
    assert foreign(build().config) == []
