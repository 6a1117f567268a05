"""The tab of a document and a question: the file is read as soon as it is there."""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from specviz.catalog import sentence, text
from specviz.cut import CUTS
from specviz.inputs import Document
from specviz.jobs import Job
from specviz.models.base import InputError
from specviz.ui.blocks import status, status_line
from specviz.ui.reading import Reading
from specviz.ui.visit import Live, Visit

LOG = logging.getLogger(__name__)
# Files that may be read at once, for all visitors; reading happens in the queue, to say how far.
READING: dict[str, Any] = {
    "concurrency_id": "documents",
    "concurrency_limit": 4,
    "show_progress": "hidden",
    "api_visibility": "private",
    "trigger_mode": "multiple",
}


@dataclass(frozen=True)
class DocumentTab:
    """The components; ``line`` says how the file was read, or why it was not."""

    tab: gr.Tab
    file: gr.File
    line: gr.HTML
    question: gr.Textbox
    cut: gr.Dropdown
    context: gr.Number

    @property
    def inputs(self) -> list[Any]:
        """The components that hold values."""
        return [self.file, self.question, self.cut, self.context]

    def wire(self, visit: gr.State, prompt: gr.Tab, lang: str, at_once: dict[str, Any]) -> None:
        """Read a file as soon as it is there; Run takes what stands in the tab that is open, this
        one or ``prompt``."""

        def take(visit: Visit, path: str | None) -> Iterator[str]:
            yield from read(visit, path, lang)

        def ask(visit: Visit, mode: str) -> None:
            visit.mode = mode

        self.file.change(take, [visit, self.file], self.line, **READING)
        prompt.select(partial(ask, mode="prompt"), visit, None, **at_once)
        self.tab.select(partial(ask, mode="document"), visit, None, **at_once)


def document_tab(lang: str) -> DocumentTab:
    """Put the tab into the tabs that are open now."""
    with gr.Tab(text("ui.form.document", lang)) as tab:
        file = gr.File(
            label=text("ui.form.document.drop", lang), type="filepath", height=140,
            elem_id="document",
        )  # fmt: skip
        line = status_line(elem_id="document-line")
        question = gr.Textbox(
            label=text("ui.form.question", lang),
            lines=2,
            placeholder=text("ui.form.question.hint", lang),
            elem_id="question",
        )
        with gr.Accordion(text("ui.form.long", lang), open=False):
            cut = gr.Dropdown(
                [(text(f"ui.form.cut.{name}", lang), name) for name in CUTS],
                value=Job.cut,
                label=text("ui.form.cut", lang),
                elem_id="cut",
            )
            context = gr.Number(
                0,
                label=text("ui.form.context", lang),
                info=text("ui.form.context.info", lang),
                elem_id="context",
            )
    return DocumentTab(tab, file, line, question, cut, context)


def opened(visit: Visit, path: str | None, lang: str = "en") -> Document | None:
    """The document in the field, None while it is being read; raises InputError."""
    if path is None:
        raise InputError(text("ui.error.document", lang))
    return reading(visit, path).document()


def about(job: Job, document: Document) -> Job:
    """``job`` with its document; raises InputError for a text that no run takes."""
    job = replace(job, document=document.text, notes=document.notes)
    job.messages()
    return job


def reading(visit: Visit, path: str) -> Reading:
    """That of the file at ``path``: one that goes on or is over, else one that begins when it is
    waited for."""
    if visit.reading is None or visit.reading.path != path:
        visit.reading = Reading(path)
    return visit.reading


def read(visit: Visit, path: str | None, lang: str) -> Iterator[str]:
    """Values of the line while the file at ``path`` is read, and after."""
    if path is None:
        visit.reading = None
        yield status()
        return
    mine = reading(visit, path)
    try:
        with closing(mine.lines(lang)) as lines:
            document = yield from _until(lines, visit, mine)
    except Exception as error:
        if visit.reading is mine:
            yield status(_why(error, lang), "error")
        return
    if document is not None and visit.reading is mine:
        size = text("ui.document.size", lang, count=len(document.text))
        notes = [sentence(note, lang) for note in document.notes]
        yield status(" ".join([f"{document.name}: {size}", *notes]), "done")


def _until(
    lines: Generator[str, None, Document], visit: Visit, mine: Reading
) -> Generator[str, None, Document | None]:
    """Yield from ``lines`` and return their result, or None once another file is wanted."""
    while visit.reading is mine:
        try:
            yield next(lines)
        except StopIteration as done:
            found: Document = done.value
            return found
    return None


def awaited(live: Live, lang: str) -> Iterator[str]:
    """Values of the status line until the run has the document that it waits for, or was stopped.

    Raises what reading it raises.
    """
    reading = live.reading
    if reading is None:
        return
    with closing(reading.lines(lang)) as lines:
        while not live.halted():
            try:
                line = next(lines)
            except StopIteration as done:
                live.job = about(live.job, done.value)
                live.reading = None
                return
            yield line


def _why(error: Exception, lang: str) -> str:
    if isinstance(error, InputError):
        return sentence(str(error), lang)
    LOG.error("a document could not be read", exc_info=error)
    return text("ui.error.bug", lang)
