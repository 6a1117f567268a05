"""The tab of a document and a question: the file is read as soon as it is there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.aside import aside
from specviz.catalog import text
from specviz.cut import CUTS
from specviz.inputs import Document, open_document
from specviz.jobs import Job
from specviz.models.base import InputError
from specviz.ui.blocks import status, status_line
from specviz.ui.visit import Visit

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

    def wire(self, visit: gr.State, lang: str) -> None:
        """Read a file as soon as it is there."""

        def take(visit: Visit, path: str | None) -> Iterator[str]:
            yield from read(visit, path, lang)

        self.file.change(take, [visit, self.file], self.line, **READING)


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


def opened(visit: Visit, path: str | None) -> Document:
    """The document in the field, as it was read when it came, or read now; raises InputError."""
    if path is None:
        raise InputError(text("ui.error.document"))
    if visit.opened is not None and visit.opened[0] == path:
        return visit.opened[1]
    return open_document(Path(path))


def read(visit: Visit, path: str | None, lang: str) -> Iterator[str]:
    """Values of the line while the file at ``path`` is read, and after."""
    visit.wanted, visit.opened = path, None
    if path is None:
        yield status()
        return
    name, far = Path(path).name, [0, 0]

    def advance(done: int, pages: int) -> None:
        far[:] = done, pages

    def sign() -> str:
        key = "ui.document.pages" if far[1] else "ui.document.reading"
        words = text(key, lang, name=name, done=far[0], total=far[1])
        return status(words, "busy", *far)

    try:
        with closing(aside(sign, lambda: open_document(Path(path), progress=advance))) as steps:
            document = yield from _until(steps, visit, path)
    except Exception as error:
        if visit.wanted == path:
            yield status(_why(error, lang), "error")
        return
    if document is not None and visit.wanted == path:
        visit.opened = (path, document)
        size = text("ui.document.size", lang, count=len(document.text))
        yield status(" ".join([f"{document.name}: {size}", *document.notes]), "done")


def _until(steps: Any, visit: Visit, path: str) -> Any:
    """Yield from ``steps`` and return its result, or None once another file is wanted."""
    while visit.wanted == path:
        try:
            yield next(steps)
        except StopIteration as done:
            return done.value
    return None


def _why(error: Exception, lang: str) -> str:
    if isinstance(error, InputError):
        return str(error)
    LOG.error("a document could not be read", exc_info=error)
    return text("ui.error.bug", lang)
