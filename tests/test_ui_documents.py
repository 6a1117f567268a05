"""A document on the page: read when it comes, and runs that wait for it."""

from __future__ import annotations

import threading
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.inputs import Document, open_document
from specviz.models.base import InputError
from specviz.ui import document as document_tab
from specviz.ui import reading
from specviz.ui.actions import Actions
from specviz.ui.document import read
from specviz.ui.form import build_form
from specviz.ui.opening import KEEP
from specviz.ui.visit import Desk, Visit
from tests.made_pdf import pdf
from tests.page_parts import told


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
