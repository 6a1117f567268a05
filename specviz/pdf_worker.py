"""Prints the text of a PDF page by page, in a process of its own.

A file from anywhere can make its reader crash, eat memory or never come to an end; here that ends
this process only. Run as a script: the PDF comes through standard input, the argument is the most
pages to read, and JSON lines go out: ``{"pages": n}``, then ``{"text": …}`` for each page, or
``{"error": why}`` instead.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import Any

MEMORY = 4 * 2**30  # bytes that this process may take
REASONS = {3: "damaged", 4: "encrypted", 5: "encrypted"}  # PDFium's numbers


def main() -> None:
    """Read and print."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no limits, some systems others
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    try:
        import pypdfium2
    except ImportError:
        _print(error="missing")
        return
    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
        pages = len(document)
    except pypdfium2.PdfiumError as error:
        _print(error=REASONS.get(error.err_code or 0, "damaged"))
        return
    _print(pages=pages)
    for number in range(pages if pages <= int(sys.argv[1]) else 0):
        try:
            found = document[number].get_textpage().get_text_bounded()
        except pypdfium2.PdfiumError:  # one broken page is no reason to give up the others
            _print(text=None)
        else:
            _print(text=found.encode("utf-8", "replace").decode())


def _print(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)  # noqa: T201 (this is what the process is for)


if __name__ == "__main__":
    main()
