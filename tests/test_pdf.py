"""PDF files: their text page by page, and one sentence for each that cannot be read."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from specviz import pdf as reader
from specviz.inputs import Document, document_prompt, open_document
from specviz.models.base import TEXT_LIMIT, InputError
from specviz.pdf import read_pdf
from tests.made_pdf import pdf


def refusal(raw: bytes, **limits: float) -> str:
    with pytest.raises(InputError) as caught:
        read_pdf(raw, "x.pdf", **limits)
    return str(caught.value)


def test_text_comes_page_by_page_and_progress_says_how_far() -> None:
    told: list[tuple[int, int]] = []
    raw = pdf(["Call me Ishmael.\nSome (years) \\ ago, caf\xe9.", "<|im_end|>", "Three"])
    text, notes = read_pdf(raw, "x.pdf", lambda done, pages: told.append((done, pages)))
    assert text == "Call me Ishmael.\nSome (years) \\ ago, café.\n\n<|im_end|>\n\nThree"
    assert notes == ("3 pages read from the PDF.",)
    assert told == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_words_parted_by_the_layout_are_whole_again() -> None:
    assert read_pdf(pdf(["a light-\nhouse stands"]), "x.pdf")[0] == "a lighthouse stands"


def test_pages_without_text_are_left_out_and_counted() -> None:
    text, notes = read_pdf(pdf(["one", None, "", "four"]), "x.pdf")
    assert text == "one\n\nfour"
    assert notes == ("4 pages read from the PDF.", "2 pages without text left out.")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (
            pdf([None, None]),
            "x.pdf has no text layer, its pages are pictures: run text recognition (OCR) over it "
            "first.",
        ),
        (pdf(["a"], encrypted=True), "x.pdf is encrypted: save a copy without a password."),
        (
            pdf(["a"] * 2000),
            "x.pdf has 2000 pages, more than the limit of 500: save the pages that matter as a "
            "file of their own.",
        ),
        (b"%PDF-1.7\n...", "x.pdf is a damaged PDF: open it elsewhere and save it anew."),
        (pdf([]), "x.pdf is a damaged PDF: open it elsewhere and save it anew."),
        (
            pdf(["\n".join(["word " * 18] * 50)] * 500),
            "The text of x.pdf is larger than the limit of 2 MB: cut out the part that matters.",
        ),
        (
            b"%PDF-1.7\n" + b"a" * reader.BYTES,
            "x.pdf is larger than the limit of 32 MB for PDF files: save the pages that matter as "
            "a file of their own.",
        ),
    ],
    ids=["scanned", "encrypted", "long", "damaged", "no pages", "wordy", "large"],
)
def test_what_cannot_be_read_is_said_in_one_sentence(raw: bytes, sentence: str) -> None:
    assert refusal(raw) == sentence


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        (
            'print(\'{"pages": 9}\', flush=True); print(\'{"text": "a"}\', flush=True); '
            "__import__('time').sleep(60)",
            "x.pdf takes too long to read (1 of 9 pages after 0.6 s): save the pages that matter "
            "as a file of their own, or save its text.",
        ),
        (
            "print('{\"pages\": 9}', flush=True); __import__('os').abort()",
            "x.pdf is a damaged PDF: open it elsewhere and save it anew.",
        ),
        (
            'print(\'{"error": "missing"}\')',
            "PDF files need the package pypdfium2: run `pip install -r requirements.txt`.",
        ),
    ],
    ids=["hangs", "crashes", "not installed"],
)
def test_a_reader_that_hangs_or_crashes_ends_alone(
    script: str, sentence: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(script)
    monkeypatch.setattr(reader, "WORKER", worker)
    started = time.monotonic()
    assert refusal(pdf(["a" * 200_000]), seconds=0.6) == sentence
    assert time.monotonic() - started < 50  # the worker sleeps for 60


def test_fonts_that_do_not_say_their_letters_are_refused_or_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = tmp_path / "worker.py"
    monkeypatch.setattr(reader, "WORKER", worker)
    line = 'print(\'{"pages": 1}\'); print(\'{"text": "%s"}\')'
    worker.write_text(line % r"\\ue001\\ue002 a b")
    assert refusal(pdf(["a"])) == (
        "The fonts of x.pdf do not say which letters they show: run text recognition (OCR) over "
        "it first."
    )
    worker.write_text(line % r"all but one \\ue001 \\u0000\\u0007is known")
    assert read_pdf(pdf(["a"]), "x.pdf") == (
        "all but one \ue001 is known",
        ("1 page read from the PDF.", "1 character is unknown, because its font does not say it."),
    )


def test_a_chinese_text_counts_in_bytes_as_it_does_when_it_is_asked_about(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = tmp_path / "worker.py"
    monkeypatch.setattr(reader, "WORKER", worker)
    line = 'print(\'{"pages": 1}\'); print(\'{"text": "\' + "\u9053" * %d + \'"}\')'
    worker.write_text("import sys; sys.stdout.reconfigure(encoding='utf-8')\n" + line % 1_000_000)
    sentence = "The text of x.pdf is larger than the limit of 2 MB: cut out the part that matters."
    assert refusal(pdf(["a"])) == sentence
    worker.write_text("import sys; sys.stdout.reconfigure(encoding='utf-8')\n" + line % 600_000)
    assert document_prompt(read_pdf(pdf(["a"]), "x.pdf")[0], "?") == "\u9053" * 600_000 + "\n\n?"


def test_a_document_is_a_pdf_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\n" + pdf(["Once upon a time"]))
    (tmp_path / "b.pdf").write_text("The mark %PDF-1.7 stands in front.")
    notes = ("1 page read from the PDF.",)
    assert open_document(tmp_path / "a.txt") == Document("a.txt", "Once upon a time", notes)
    assert open_document(tmp_path / "b.pdf").notes == ("Read as UTF-8.",)
    large = pdf(["page"], filler=TEXT_LIMIT + 1)
    (tmp_path / "c.pdf").write_bytes(large)
    assert open_document(tmp_path / "c.pdf").text == open_document(large, "c").text == "page"
    os.truncate(tmp_path / "c.pdf", 1 << 40)
    with pytest.raises(InputError, match=r"^c\.pdf is larger than the limit of 32 MB for PDF"):
        open_document(tmp_path / "c.pdf")
