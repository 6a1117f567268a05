"""The text of a PDF, read page by page in a process of its own, within limits that are said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread, Timer
from typing import IO

from specviz.models.base import InputError, check_size, text_size

# Readers have always allowed something before it. A text that mentions it is no PDF.
MAGIC = re.compile(rb"(?:\A|[\r\n\0])%PDF-\d")
HEAD = 1024
BYTES = 32 * 2**20
PAGES = 500
SECONDS = 30.0
WORKER = Path(__file__).with_name("pdf_worker.py")

# Among them the marks (2, or a soft hyphen) for a hyphen that only the layout has put at the end of
# a line: without it the word is whole.
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\ufffe]")
# What fonts that do not say their letters come out as: private, unassigned, replaced.
UNKNOWN = re.compile("[\ue000-\uf8ff\ufffd\uffff]")

Pages = Callable[[int, int], None]


def is_pdf(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is a PDF."""
    return MAGIC.search(head[:HEAD]) is not None


def read_pdf(
    raw: bytes, name: str, progress: Pages | None = None, seconds: float = SECONDS
) -> tuple[str, tuple[str, ...]]:
    """The text of a PDF and notes on how it was read; pages are parted by an empty line.

    ``progress(done, pages)`` is called before every page. Raises InputError for what is too large,
    too long, encrypted, damaged, without text, or not read after ``seconds``.
    """
    if len(raw) > BYTES:
        raise InputError(
            f"{name} is larger than the limit of {BYTES >> 20} MB for PDF files: save the pages "
            "that matter as a file of their own."
        )
    texts: list[str | None] = []
    total, size = 0, 0
    with _worker(raw, seconds) as (lines, late):
        for line in lines:
            facts = json.loads(line)
            if "error" in facts:
                raise _refused(name, facts["error"])
            if "pages" in facts:
                total = _checked(name, facts["pages"])
            else:
                texts.append(facts["text"])
                size += text_size(facts["text"] or "")
                check_size(f"The text of {name}", size)
            if progress is not None:
                progress(len(texts), total)
    if late():
        raise InputError(
            f"{name} takes too long to read ({len(texts)} of {total} pages after {seconds:g} s): "
            "save the pages that matter as a file of their own, or save its text."
        )
    if not total or len(texts) < total:
        raise _refused(name, "damaged")
    return _joined(name, texts)


@contextmanager
def _worker(raw: bytes, seconds: float) -> Iterator[tuple[IO[bytes], Callable[[], bool]]]:
    """The lines of a worker that was given ``raw``, and whether it was ended for being late."""
    late: list[bool] = []
    # -P: the modules beside the worker must not take the place of the standard library's.
    command = [sys.executable, "-P", str(WORKER), str(PAGES)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None and process.stdout is not None

    def end() -> None:
        late.append(True)
        process.kill()

    def feed(into: IO[bytes]) -> None:
        # A worker that has died already leaves its own trace: too few lines.
        with suppress(OSError), into:
            into.write(raw)

    clock = Timer(seconds, end)
    clock.daemon = True
    clock.start()
    feeder = Thread(target=feed, args=(process.stdin,), daemon=True)
    feeder.start()
    try:
        yield process.stdout, lambda: bool(late)
    finally:
        clock.cancel()
        process.kill()
        process.wait()
        feeder.join()
        process.stdout.close()


def _checked(name: str, pages: int) -> int:
    if pages > PAGES:
        raise InputError(
            f"{name} has {pages} pages, more than the limit of {PAGES}: save the pages that "
            "matter as a file of their own."
        )
    return pages


def _refused(name: str, reason: str) -> InputError:
    sentences = {
        "encrypted": f"{name} is encrypted: save a copy without a password.",
        "damaged": f"{name} is a damaged PDF: open it elsewhere and save it anew.",
        "missing": "PDF files need the package pypdfium2: run `pip install -r requirements.txt`.",
    }
    return InputError(sentences[reason])


def _joined(name: str, texts: list[str | None]) -> tuple[str, tuple[str, ...]]:
    broken = texts.count(None)
    pages = [_cleaned(text or "") for text in texts]
    filled = [page for page in pages if page]
    if not filled:
        raise InputError(
            f"{name} has no text layer, its pages are pictures: run text recognition (OCR) over "
            "it first."
        )
    text = "\n\n".join(filled)
    letters = sum(not c.isspace() for c in text)
    unknown = len(UNKNOWN.findall(text))
    if unknown * 3 > letters:
        raise InputError(
            f"The fonts of {name} do not say which letters they show: run text recognition (OCR) "
            "over it first."
        )
    notes = [f"{_pages(len(pages))} read from the PDF."]
    if empty := len(pages) - len(filled) - broken:
        notes.append(f"{_pages(empty)} without text left out.")
    if broken:
        notes.append(f"{_pages(broken)} could not be read.")
    if unknown == 1:
        notes.append("1 character is unknown, because its font does not say it.")
    elif unknown:
        notes.append(f"{unknown} characters are unknown, because their fonts do not say them.")
    return text, tuple(notes)


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"


def _cleaned(page: str) -> str:
    lines = page.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return CONTROL.sub("", "\n".join(line.rstrip() for line in lines)).strip()
