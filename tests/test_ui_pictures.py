"""Pictures on the page without a browser: what is taken, what is said, how a talk goes on."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.jobs import Job
from specviz.models.base import MOST_PICTURES, InputError, Message
from specviz.models.toy_signs import sign
from specviz.trace import Event, Header, Progress, Trace
from specviz.ui import samples as gallery
from specviz.ui.actions import Actions
from specviz.ui.api import generate
from specviz.ui.examples import Toy
from specviz.ui.form import Form, build_form
from specviz.ui.given import given
from specviz.ui.opening import KEEP
from specviz.ui.pictures import MOST, PictureField, seeing, sees
from specviz.ui.samples import samples
from specviz.ui.talk import GoOn, can_go_on, talk_of
from specviz.ui.visit import Desk, Live, Visit
from specviz.ui.whatif_picture import choices


@pytest.fixture
def form() -> Form:
    with gr.Blocks():
        found, _ = build_form("en")
    return found


def values(form: Form, **change: Any) -> list[Any]:
    new = {"model": "toy-signs", "prompt": "What does it say?", **change}
    found = [part.value for part in form.inputs]
    for name, value in new.items():
        found[form.inputs.index(getattr(form, name))] = value
    return found


def pressed(**data: Any) -> Any:
    return SimpleNamespace(_data=data)


def file(folder: Path, colour: str) -> str:
    path = folder / f"{colour}.png"
    path.write_bytes(sign(colour).png)
    return str(path)


def take(field: PictureField, visit: Visit, paths: list[str], model: str) -> list[dict[str, Any]]:
    return [json.loads(tray) for tray, _ in field.take(visit, paths, model)]


def names(tray: dict[str, Any]) -> list[str]:
    return [picture["name"] for picture in tray["pictures"]]


def run_of(*pictures: Any, **change: Any) -> Trace:
    job = Job(model="toy-signs", prompt="What does it say?", pictures=pictures, baseline=False,
              max_new_tokens=8, **change)  # fmt: skip
    return Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))  # type: ignore[misc]


def test_labels_tell_whether_a_model_sees_and_other_names_do_not() -> None:
    assert [sees(name) for name in ("toy-signs", " toy ", "owner/name", None)] == [
        True, False, None, None,
    ]  # fmt: skip
    assert "toy-signs" in seeing() and "toy" not in seeing()


def test_pictures_are_opened_at_once_and_go_into_the_job(form: Form, tmp_path: Path) -> None:
    field, visit = form.pictures, Visit()
    paths = [file(tmp_path, "red"), file(tmp_path, "green")]
    first, last = take(field, visit, paths, "toy-signs")
    assert (first["kind"], first["said"]) == ("busy", "Opening 2 pictures …")
    assert (names(last), last["kind"], last["said"]) == (["red.png", "green.png"], "", "")
    assert last["pictures"][0]["size"] == "given 96 × 96 pixels; toy-signs sees 64 × 64"
    tray, _ = field.chosen(visit, "toy")
    assert json.loads(tray)["pictures"][0]["size"] == "96 × 96 pixels"
    assert last["pictures"][0]["url"].startswith("data:image/png;base64,")
    job = form.job(visit, values(form))
    assert [p.png for p in job.pictures] == [sign("red").png, sign("green").png]
    assert form.job(Visit(), values(form)).pictures == ()


def test_a_run_does_not_leave_without_a_picture_that_is_still_being_opened(
    form: Form, tmp_path: Path
) -> None:
    visit, field, path = Visit(), form.pictures, file(tmp_path, "red")
    awaited = "^A picture is still being opened: wait a moment, then press Run again.$"
    field.coming(visit, [path])  # it waits for others that are being opened
    with pytest.raises(InputError, match=awaited):
        form.job(visit, values(form))
    going = field.take(visit, [path], "toy-signs")
    next(going)
    with pytest.raises(InputError, match=awaited):
        form.job(visit, values(form))
    next(going)  # the tray shows it
    assert [p.digest for p in form.job(visit, values(form)).pictures] == [sign("red").digest]

    field.coming(visit, path)
    field.lost(visit)  # the queue was full
    assert form.job(visit, values(form)).pictures == (visit.pictures[0].picture,)
    ended = field.take(visit, [path], "toy-signs")
    next(ended)
    ended.close()  # type: ignore[attr-defined]
    assert visit.opening == []


def test_what_is_no_picture_is_said_and_the_others_are_kept(form: Form, tmp_path: Path) -> None:
    bad = tmp_path / "notes.png"
    bad.write_text("no picture", "utf-8")
    visit = Visit()
    *_, last = take(form.pictures, visit, [file(tmp_path, "red"), str(bad)], "toy-signs")
    assert (names(last), last["kind"]) == (["red.png"], "error")
    assert last["said"].startswith("notes.png ")
    paths = [file(tmp_path, "blue")] * MOST
    *_, last = take(form.pictures, visit, paths, "toy-signs")
    assert names(last) == ["red.png", *["blue.png"] * (MOST - 1)]
    assert last["said"] == f"1 picture was left out: a question may have {MOST}."
    *_, last = take(form.pictures, visit, paths, "toy-signs")
    assert last["said"] == f"{MOST} pictures were left out: a question may have {MOST}."
    form.pictures.act(visit, "toy-signs", pressed(act="replace", which=0))
    *_, last = take(form.pictures, visit, [file(tmp_path, "green")], "toy-signs")
    assert (names(last), last["said"]) == (["green.png", *["blue.png"] * (MOST - 1)], ""), "no more"


def test_files_that_are_too_large_are_said_beside_what_else_came(
    form: Form, tmp_path: Path
) -> None:
    field, visit = form.pictures, Visit()
    large = pressed(act="large", name="photo.tif", which=0)
    tray, _ = field.act(visit, "toy-signs", large)
    said = "photo.tif is larger than the limit of 32 MB: save it smaller first."
    assert (json.loads(tray)["said"], json.loads(tray)["kind"]) == (said, "error")
    *_, last = take(field, visit, [file(tmp_path, "red")], "toy-signs")
    assert last["said"] == "", "it was about files that came before"
    field.act(visit, "toy-signs", pressed(act="large", name="photo.tif", which=1))
    *_, last = take(field, visit, [file(tmp_path, "red")], "toy-signs")
    assert (last["said"], last["kind"]) == (said, "error")


def test_an_example_beside_the_runs_brings_a_model_that_sees(form: Form) -> None:
    field, visit = form.pictures, Visit()
    chosen = samples()[0]
    tray, question, box, model = field.tried(visit, "toy", "", pressed(file=chosen.file))
    assert (model, question, box["open"]) == (seeing()[0], chosen.question, True)
    assert names(json.loads(tray)) == [chosen.given.picture.name]
    assert json.loads(tray)["kind"] == ""
    assert field.tried(visit, "toy-signs", "", pressed(file=chosen.file))[-1] == KEEP


def test_one_is_replaced_or_removed_and_a_choice_that_was_given_up_changes_nothing(
    form: Form, tmp_path: Path
) -> None:
    field, visit = form.pictures, Visit()
    take(field, visit, [file(tmp_path, "red"), file(tmp_path, "green")], "toy-signs")
    assert field.act(visit, "toy-signs", pressed(act="replace", which=0)) == (KEEP, KEEP)
    *_, last = take(field, visit, [file(tmp_path, "blue")], "toy-signs")
    assert names(last) == ["blue.png", "green.png"]
    field.act(visit, "toy-signs", pressed(act="replace", which=1))
    field.act(visit, "toy-signs", pressed(act="keep", which=1))
    *_, last = take(field, visit, [file(tmp_path, "red")], "toy-signs")
    assert names(last) == ["blue.png", "green.png", "red.png"]
    tray, _ = field.act(visit, "toy-signs", pressed(act="remove", which=1))
    assert names(json.loads(tray)) == ["blue.png", "red.png"]
    for wrong in (
        {"act": "remove", "which": 9}, {"act": "remove", "which": True}, {"act": None},
        {"act": "remove", "which": "0"}, {"act": "use", "which": "toy"},
    ):  # fmt: skip
        assert field.act(visit, "toy-signs", pressed(**wrong)) == (KEEP, KEEP)
    assert [g.picture.name for g in visit.pictures] == ["blue.png", "red.png"]


def test_a_model_that_cannot_see_is_said_with_the_way_out_and_nothing_is_lost(
    form: Form, tmp_path: Path
) -> None:
    field, visit = form.pictures, Visit()
    tray, _ = field.chosen(visit, "toy")
    assert json.loads(tray)["said"] == "toy reads text only."
    *_, last = take(field, visit, [file(tmp_path, "red")], "toy")
    assert last["kind"] == "error"
    assert last["said"].startswith("toy cannot see pictures: choose a model that can, such as ")
    assert {"label": "toy-signs", "words": "Use toy-signs"} in last["offers"]
    with pytest.raises(InputError, match=r"^toy cannot see pictures"):
        form.job(visit, values(form, model="toy"))
    tray, model = field.act(visit, "toy", pressed(act="use", which="toy-signs"))
    assert (model, names(json.loads(tray)), json.loads(tray)["kind"]) == (
        "toy-signs", ["red.png"], "",
    )  # fmt: skip


def test_what_photos_need_is_said_beside_the_model_that_reads_none(
    form: Form, tmp_path: Path
) -> None:
    field, visit = form.pictures, Visit()
    said = (
        "smol-boards reads boards, charts and shapes that a program drew, and photos are beyond "
        "it: for those choose a model from the hub, such as smolvlm-256m, smolvlm-500m, "
        "smolvlm-2.2b, qwen2.5-vl-3b."
    )
    empty = json.loads(field.chosen(visit, "smol-boards")[0])["said"]
    assert empty == f"Add a picture, paste one, or drop one on the prompt. {said}"
    *_, last = take(field, visit, [file(tmp_path, "red")], "smol-boards")
    assert (last["kind"], last["said"]) == ("", said)
    assert json.loads(field.chosen(visit, "smolvlm-256m")[0])["said"] == ""


def test_a_sample_brings_its_question_unless_somebody_wrote_one(
    form: Form, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file(tmp_path, "red")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nno")
    asked = [{"file": name, "question": "Which colour?"} for name in ("red.png", "broken.png")]
    (tmp_path / "index.json").write_text(json.dumps(asked), "utf-8")
    found = samples(tmp_path)
    assert [(s.file, s.title, s.question) for s in found] == [("red.png", "red", "Which colour?")]
    monkeypatch.setattr("specviz.ui.pictures.samples", lambda lang="en": found)
    field, visit = form.pictures, Visit(pictures=(given(sign("blue")),))
    for typed, shown in (
        ("", "Which colour?"),
        ("Write a short story about a lighthouse keeper.", "Which colour?"),
        ("My own words", KEEP),
    ):
        tray, prompt, _ = field.sample(visit, "toy-signs", typed, pressed(file="red.png"))
        assert prompt is shown or prompt == shown
        assert names(json.loads(tray)) == ["red.png"], "it takes the place of others"
    assert field.sample(visit, "toy-signs", "", pressed(file="../README.md")) == (KEEP,) * 3


def test_pictures_without_a_list_are_asked_about_by_their_names(tmp_path: Path) -> None:
    for name in ("a-board", "b-other"):
        (tmp_path / f"{name}.png").write_bytes(sign("red").png)
    assert [(s.title, s.question) for s in samples(tmp_path)] == [
        ("a board", "What does the board say?"),
        ("b other", "What is in the picture?"),
    ]
    assert samples(tmp_path / "none") == ()
    assert all(s.question and s.given.url for s in samples(gallery.FOLDER))


def test_a_talk_goes_on_with_the_pictures_and_the_answer_of_the_run_that_is_shown(
    form: Form,
) -> None:
    trace = run_of(sign("red"), system="Be short.")
    run = trace.run("decoder")
    assert run is not None and can_go_on(trace)
    answer = "\nThe sign is red.\nA red sign"
    talk = talk_of(trace, None)
    assert talk.system == "Be short."
    assert [(m.role, m.text) for m in talk.history] == [
        ("user", "What does it say?"), ("assistant", answer),
    ]  # fmt: skip
    assert [p.png for p in talk.history[0].pictures] == [sign("red").png]
    desk = Desk()
    visit = Visit(shown="one")
    desk.keep(visit, "one", trace)
    actions = Actions(desk, (Toy("rhyme", "", "", "recap"),), jobs.run, form, "en")
    field = form.pictures
    on = GoOn(actions, field)
    assert [each["visible"] for each in on.offer(visit)] == [True, True]
    assert len(choices(trace, "en")) == 3
    # Nothing is offered that would be refused; the press of Run itself still has its pictures.
    bare = lacking(trace)
    desk.keep(visit, "bare", bare)
    visit.shown = "bare"
    assert [each["visible"] for each in on.offer(visit)] == [False, False]
    assert choices(bare, "en") == []
    visit.live = Live(Job(pictures=(sign("red"),)), run_id="bare", ended=True)
    assert [each["visible"] for each in on.offer(visit)] == [True, False]
    visit.shown, visit.live = "one", None
    tray, prompt, model, _, _ = on.begin(visit, "What does it say?", "toy")
    shown = json.loads(tray)
    assert (prompt, model, names(shown)) == ("", "toy-signs", ["red.png"])
    assert shown["talk"] == "Goes on after one question and its answer."
    assert shown["pictures"][0]["fixed"] is True
    assert on.begin(visit, "And typed since?", "toy")[1] == KEEP, "what was typed since stays"
    job = form.job(visit, values(form, prompt="And what shall I do?"))
    assert (job.system, job.pictures, len(job.history)) == ("Be short.", (), 2)
    assert job.messages()[-1] == Message("user", "And what shall I do?")
    # One more turn: what was shown before comes along, from the press of Run itself.
    second = Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))  # type: ignore[misc]
    header = second.run("decoder").header  # type: ignore[union-attr]
    assert [turn.pictures for turn in header.messages] == [0, 1, 0, 0]
    live = Live(job, run_id="two")
    further = talk_of(second, live)
    assert further.turns == 2 and further.history[:2] == talk.history
    tray, _ = field.act(visit, "toy-signs", pressed(act="anew", which=0))
    assert visit.talk is None and names(json.loads(tray)) == []


def lacking(trace: Trace) -> Trace:
    """``trace`` without its pictures as they were given."""
    header = trace.events[0]
    assert isinstance(header, Header)
    bare = tuple(used.model_copy(update={"given": None}) for used in header.pictures)
    return Trace((header.model_copy(update={"pictures": bare}), *trace.events[1:]))


def test_nothing_goes_on_after_a_run_without_pictures_or_end(form: Form) -> None:
    assert not can_go_on(Trace(()))
    assert not can_go_on(run_of())
    seen = run_of(sign("red"))
    assert not can_go_on(Trace(seen.events[:-1]))
    actions = Actions(Desk(), (Toy("rhyme", "", "", "recap"),), jobs.run, form, "en")
    on = GoOn(actions, form.pictures)
    assert [each["visible"] for each in on.offer(Visit())] == [False, False]
    *same, line = on.begin(Visit(), "typed", "toy")
    assert same == [KEEP] * 4
    assert json.loads(line)["text"].startswith("There is no finished run with a picture")


def test_the_endpoint_takes_pictures_as_base64_or_data_urls() -> None:
    data = base64.b64encode(sign("red").png).decode()
    call = {"model": "toy-signs", "max_new_tokens": 8, "baseline": False}
    found = generate(jobs.run)("What?", pictures=[data, f"data:image/png;base64,{data}"], **call)
    assert found["text"] == "\nThe sign is red.\nA red sign"
    assert [(p["name"], p["width"], p["tokens"]) for p in found["pictures"]] == [
        ("picture 1", 64, 16), ("picture 2", 64, 16),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("pictures", "said"),
    [
        ("data", "pictures has to be a list of image files"),
        ([7], "pictures has to be a list of image files"),
        (["no base64!"], "pictures has to be a list of image files"),
        (["bm8="], "picture 1 "),
        (["bm8="] * (MOST_PICTURES + 1), f"A question may have {MOST_PICTURES} pictures"),
    ],
)
def test_the_endpoint_refuses_other_pictures_in_one_sentence(pictures: Any, said: str) -> None:
    def decode(job: Job) -> Iterator[Event]:
        raise AssertionError("nothing is decoded")

    with pytest.raises(gr.Error) as refused:
        generate(decode)("What?", model="toy-signs", pictures=pictures)
    assert str(refused.value.message).startswith(said)


def test_the_notes_of_a_picture_are_told_with_it() -> None:
    header = next(e for e in run_of(sign("red")).events if isinstance(e, Header))
    assert header.pictures[0].seen_notes == ("Shown to the model at 64 x 64 pixels.",)
