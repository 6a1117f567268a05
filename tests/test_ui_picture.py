"""What if, about pictures: the questions, the other picture, what a probe leaves on the page."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.gallery import Example
from specviz.jobs import Job
from specviz.models.toy_signs import sign
from specviz.trace import Progress, Trace
from specviz.tracefile import save
from specviz.ui.actions import Actions
from specviz.ui.given import given
from specviz.ui.inspect import Inspect
from specviz.ui.visit import Desk, Visit
from specviz.ui.whatif import Again, WhatIf
from specviz.ui.whatif_picture import OtherPicture, choices, end_step, other_picture, press

JOB = Job(
    model="toy-signs", prompt="What does the sign say?", pictures=(sign("red"),),
    max_new_tokens=60, baseline=False, knobs={"calibration": "none"},
)  # fmt: skip
REQUEST: Any = SimpleNamespace(session_hash="s")


@pytest.fixture(scope="module")
def trace() -> Trace:
    return Trace(tuple(e for e in jobs.run(JOB) if not isinstance(e, Progress)))


def page(*examples: Example) -> WhatIf:
    return WhatIf(Actions(Desk(), examples, jobs.run, None, "en"))  # type: ignore[arg-type]


def chosen(file: str) -> Any:
    """A click on an example picture."""
    return SimpleNamespace(_data={"file": file})


def words(line: Any) -> tuple[str, str]:
    found = json.loads(line)
    return found["kind"], found["text"]


def asked(own: WhatIf, visit: Visit, choice: str) -> tuple[Any, ...]:
    """The last thing that the page is told after Run again."""
    begun = own.begin(visit, choice, "toy-signs", "", REQUEST)
    assert words(begun[0]) == ("busy", "waiting for the device")
    return list(own.run(visit))[-1]


def test_every_picture_has_its_questions_and_the_first_is_chosen(trace: Trace) -> None:
    own = page()
    own.actions.desk.publish("a", trace)
    offered = own.offer(Visit(shown="a"))[0]
    assert offered["choices"][:3] == [
        ("What if the picture were blank?", "picture:blank:0"),
        ("What if the parts of the picture were shuffled?", "picture:shuffled:0"),
        ("What if it were another picture?", "picture:other:0"),
    ]
    assert offered["value"] == "picture:blank:0"
    two = Job(model="toy-signs", prompt="?", pictures=(sign("red"), sign("blue")), max_new_tokens=2)
    events = tuple(e for e in jobs.run(two) if not isinstance(e, Progress))
    assert choices(Trace(events), "en")[5] == (
        "What if picture 2 were another one?", "picture:other:1",
    )  # fmt: skip
    assert choices(Trace(events[:1]), "en") == [] == choices(Trace(()), "en")


def test_a_probe_marks_the_shown_run_and_leaves_an_example_to_the_others(trace: Trace) -> None:
    own, visit = page(), Visit(shown="example-a", reusable="example-a")
    own.actions.desk.publish("example-a", trace)
    line, *_, said, plot, table, cross, player, downloads = asked(own, visit, "picture:blank:0")
    assert words(line) == ("done", "7 of 56 tokens depend on the picture")
    assert said.splitlines()[:2] == [
        "With a blank picture in place of red.png, the model would have said something else at 7 "
        "of 56 tokens (12 %); the answer itself was only read back.",
        "Of 3 fully rejected steps, 0 stood where the picture decides the token (0 %); of 13 steps "
        "with a right guess, 3 (23 %); of all of them, 19 %: the base rate.",
    ]
    assert plot["visible"] and cross["value"]["data"] == [
        ["fully rejected", 0, 3, 3, "0 %"], ["a guess was right", 3, 10, 13, "23 %"],
        ["all (base rate)", 3, 13, 16, "19 %"],
    ]  # fmt: skip
    assert table["value"]["data"][0] == [
        4, "␣red", "␣white", "0.911 → 0.009", "step 2, not guessed",
    ]  # fmt: skip
    assert own.actions.desk.trace("example-a") is trace
    assert downloads == visit.shown == visit.probed == visit.reusable
    now = own.actions.desk.trace(visit.shown)
    assert now is not None and now.events[:-1] == trace.events
    assert [p.changed for p in now.probes] == [(3, 6, 11, 17, 23, 50, 53)]
    payload = json.loads(gzip.decompress(base64.b64decode(json.loads(player)["load"])))
    assert payload["run_id"] == visit.shown and payload["events"][-1]["type"] == "probe"
    # Its results stay although the page says that another run is shown.
    assert own.offer(visit) == (gr.skip(),) * 5
    assert not visit.busy


def test_a_probe_of_ones_own_run_leaves_it_the_run_it_was(trace: Trace) -> None:
    own, visit = page(), Visit(shown="mine", reusable="mine")
    own.actions.desk.keep(visit, "mine", trace)
    asked(own, visit, "picture:blank:0")
    assert (visit.shown, visit.reusable, visit.own, visit.copied) == ("mine", "mine", ["mine"], {})
    assert json.loads(own.actions.cards(visit))["cards"] == []
    now = own.actions.desk.trace("mine")
    assert now is not None and [p.kind for p in now.probes] == ["blank"]


def test_an_example_that_is_probed_again_from_the_gallery_is_one_run_of_ones_own(
    trace: Trace, tmp_path: Path
) -> None:
    save(tmp_path / "a.jsonl", trace.events)
    own, visit = page(Example("a", "A sign", "", "recap", tmp_path / "a.jsonl")), Visit()
    click = SimpleNamespace(_data={"name": "a"})
    visit.other = sign("blue")
    own.actions.pick(visit, click)
    asked(own, visit, "picture:blank:0")
    first = visit.shown
    own.actions.pick(visit, click)
    offered = own.offer(visit)[0]
    assert offered["value"] == "picture:blank:0", "another run is shown than the one just probed"
    asked(own, visit, "picture:other:0")
    assert (visit.shown, visit.own, visit.copied) == (first, [first], {first: "example-a"})
    now = own.actions.desk.trace(first)
    assert now is not None and [p.kind for p in now.probes] == ["blank", "other"]
    # Opened again it is another run than the example, and none that was just probed.
    own.actions.pick(visit, click)
    own.actions.pick(visit, SimpleNamespace(_data={"name": f"own-{first}"}))
    assert own.offer(visit)[0]["value"] == "picture:blank:0"


def test_the_button_says_what_a_press_does() -> None:
    said = [press(c, "en") for c in ("picture:blank:0", "picture:other:1", "wider", None)]
    assert said == ["Read it back", "Read it back", "Run again", "Run again"]
    with gr.Blocks():
        field = other_picture("en")
    box, button = field.chosen("picture:other:0")
    assert (box["visible"], button["value"]) == (True, "Read it back")


def test_the_player_stays_at_the_end_where_every_mark_is_seen(trace: Trace) -> None:
    own, visit = page(), Visit(shown="a")
    own.actions.desk.publish("a", trace)
    player = asked(own, visit, "picture:blank:0")[-2]
    run = trace.run("decoder")
    assert run is not None
    payload = json.loads(gzip.decompress(base64.b64decode(json.loads(player)["load"])))
    assert payload["start_step"] == run.steps[-1].index == end_step(trace)
    assert not payload["instructive"], "nobody is told that it was opened elsewhere"
    assert end_step(Trace(())) is None


def test_the_same_probe_twice_is_kept_once_and_another_is_added(
    trace: Trace, tmp_path: Path
) -> None:
    own, visit = page(), Visit(shown="a")
    own.actions.desk.publish("a", trace)
    for choice in ("picture:blank:0", "picture:blank:0"):
        asked(own, visit, choice)
    *_, line = own.begin(visit, "picture:other:0", "toy-signs", "", REQUEST)[:1]
    assert words(line) == ("error", "Choose the other picture first.")
    field = OtherPicture(None, None, None, None, "en")  # type: ignore[arg-type]
    (tmp_path / "no.png").write_text("no picture")
    told = json.loads(field.take(visit, str(tmp_path / "no.png")))
    assert told["line"].startswith("no.png is") and told["url"] == "" and visit.other is None
    (tmp_path / "blue.png").write_bytes(sign("blue").png)
    told = json.loads(field.take(visit, str(tmp_path / "blue.png")))
    assert told == {"line": "blue.png, 96 x 96 pixels.", "url": given(sign("blue")).url}
    assert json.loads(field.take(visit, str(tmp_path / "no.png")))["url"] == told["url"]
    assert field.sample(visit, chosen("nothing.png")) == gr.skip()
    assert visit.other is not None and visit.other.name == "blue.png"
    field.sample(visit, chosen("departure-board.png"))
    assert visit.other.name == "departure-board.png"
    field.take(visit, str(tmp_path / "blue.png"))
    asked(own, visit, "picture:other:0")
    now = own.actions.desk.trace(visit.shown)
    assert now is not None
    assert [(p.kind, p.name) for p in now.probes] == [("blank", "red.png"), ("other", "blue.png")]


def test_what_cannot_be_probed_is_said_and_nothing_is_lost(trace: Trace) -> None:
    own, visit = page(), Visit(shown="a")
    own.actions.desk.publish("a", trace)
    line, *rest = own.begin(visit, "picture:shuffled:0", "toy-signs", "", REQUEST)
    assert words(line) == (
        "error",
        "Nothing would change, because 'red.png' looks the same when its tiles are shuffled: "
        "choose another picture.",
    )
    assert rest[7] == words(line)[1] and not visit.busy and visit.shown == "a"
    line = own.begin(visit, "picture:blank:7", "toy-signs", "", REQUEST)[0]
    assert words(line) == ("error", "This run has no picture 8: choose one from 1 to 1.")


def test_stop_ends_a_probe_and_marks_nothing(trace: Trace) -> None:
    own, visit = page(), Visit(shown="a")
    own.actions.desk.publish("a", trace)
    own.begin(visit, "picture:blank:0", "toy-signs", "", REQUEST)
    going = own.run(visit)
    assert next(going)[0]
    own.actions.stop(visit)
    line, *_, player, downloads = list(going)[-1]
    assert words(line) == ("done", "Stopped: nothing was compared.")
    assert (player, downloads) == (gr.skip(), gr.skip())
    assert visit.shown == "a" and isinstance(visit.live, Again) and visit.live.ended


def test_an_example_of_which_more_is_known_counts_once_in_the_report(
    trace: Trace, tmp_path: Path
) -> None:
    save(tmp_path / "a.jsonl", trace.events)
    example = Example("a", "A sign", "", "recap", tmp_path / "a.jsonl")
    own, visit = page(example), Visit(shown="example-a")
    own.actions.desk.publish("example-a", trace)
    inspect = Inspect(own.actions.desk, (example,), "en")
    first = "recap on toy-signs: 1 run, 56 tokens in 25 steps"
    assert inspect.report(visit, "fact", {})[0].splitlines()[0] == first
    asked(own, visit, "picture:blank:0")
    said = inspect.report(visit, "fact", {})[0].splitlines()
    assert said[0] == first
    assert said[5:7] == [
        "Blank pictures, 1 run: 7 of 56 tokens depend on the picture (12 %).",
        "Of 3 fully rejected steps, 0 stood where the picture decides the token (0 %); of 13 steps "
        "with a right guess, 3 (23 %); of all of them, 19 %: the base rate.",
    ]
    titles = inspect.rejects(visit, "independent", "all", 0, "", False)[1]["headers"]
    assert titles[-2:] == ["picture decides", "other picture: wanted"]


def test_the_field_for_another_picture_is_hidden_and_empty_at_first() -> None:
    with gr.Blocks():
        field = other_picture("en")
    assert not field.box.visible and json.loads(field.thumb.value) == {"line": "", "url": ""}


def test_a_comparison_hides_the_table_of_a_probe(trace: Trace, tmp_path: Path) -> None:
    own, visit = page(), Visit(shown="a")
    own.actions.desk.publish("a", trace)
    save(tmp_path / "b.jsonl", trace.events)
    line, told, plot, table, cross = own.beside(visit, str(tmp_path / "b.jsonl"))
    assert words(line)[0] == "done" and told.startswith("b.jsonl: the same 25 passes")
    assert (plot["visible"], table["visible"], cross["visible"]) == (True, False, False)
