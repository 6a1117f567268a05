"""What an address and an uploaded file ask of the page."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz.gallery import Example
from specviz.trace import Finish
from specviz.tracefile import save
from specviz.ui.actions import Actions
from specviz.ui.address import step_of
from specviz.ui.answers import Answers
from specviz.ui.examples import Toy
from specviz.ui.opening import KEEP
from specviz.ui.visit import Visit
from tests.page_parts import an_actions, loaded, told, toy_trace


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
