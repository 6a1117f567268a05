"""A file on its way to being a document: read once, for all who wait for its text."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import Future
from pathlib import Path
from threading import Lock

from specviz.aside import begun, waited
from specviz.catalog import text
from specviz.inputs import Document, open_document
from specviz.ui.blocks import status


class Reading:
    """The reading of the file at ``path``; begins when somebody first asks for ``lines``."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._pages = (0, 0)
        self._found: Future[Document] | None = None
        self._first = Lock()

    def document(self) -> Document | None:
        """What was read, None before that. Raises what reading it raised."""
        return self._found.result() if self._found is not None and self._found.done() else None

    def lines(self, lang: str) -> Generator[str, None, Document]:
        """Values of a status line until the document is there; returns it, or raises what reading
        it raised. Closing leaves the reading to itself, for others to wait for."""
        yield self._line(lang)
        with self._first:
            if self._found is None:
                self._found = begun(self._read)
        return (yield from waited(self._found, lambda: self._line(lang)))

    def _read(self) -> Document:
        return open_document(Path(self.path), progress=self._advance)

    def _advance(self, done: int, pages: int) -> None:
        self._pages = done, pages

    def _line(self, lang: str) -> str:
        done, pages = self._pages
        key = "ui.document.pages" if pages else "ui.document.reading"
        words = text(key, lang, name=Path(self.path).name, done=done, total=pages)
        return status(words, "busy", done, pages)
