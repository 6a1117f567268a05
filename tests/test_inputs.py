"""Documents and prompts: what is read, what is refused, and what is said about it."""

from __future__ import annotations

import os
import random
from pathlib import Path
from time import process_time

import pytest

from specviz.inputs import check_prompt, document_prompt, open_document
from specviz.models.base import TEXT_LIMIT, InputError, Message
from specviz.models.toy import rhyme_model

RUSSIAN = "Мой дядя самых честных правил, когда не в шутку занемог, он уважать себя заставил."


def guess(encoding: str, sure: int) -> str:
    return (
        f"Not UTF-8; read as {encoding}, a guess (confidence {sure} %): save the file as UTF-8 "
        "if letters look wrong."
    )


@pytest.mark.parametrize(
    ("raw", "text", "notes"),
    [
        (b"plain text\n", "plain text\n", ("Read as UTF-8.",)),
        ("ďábelské 👍🏽".encode(), "ďábelské 👍🏽", ("Read as UTF-8.",)),
        (
            b"\xef\xbb\xbf" + "été".encode(),
            "été",
            ("Read as UTF-8, as its byte order mark says.",),
        ),
        (
            b"\xff\xfe" + "häuser".encode("utf-16-le"),
            "häuser",
            ("Read as UTF-16-LE, as its byte order mark says.",),
        ),
        (
            b"\xfe\xff" + "häuser".encode("utf-16-be"),
            "häuser",
            ("Read as UTF-16-BE, as its byte order mark says.",),
        ),
        (
            b"\xff\xfe\0\0" + "häuser".encode("utf-32-le"),
            "häuser",
            ("Read as UTF-32-LE, as its byte order mark says.",),
        ),
        (RUSSIAN.encode("cp1251"), RUSSIAN, (guess("cp1251", 100),)),
        (RUSSIAN.encode("koi8_r"), RUSSIAN, (guess("koi8_r", 100),)),
        ("Это тест".encode("cp1251"), "Это тест", (guess("cp1251", 12),)),
        (
            "El niño comió piña en España mañana".encode("latin-1"),
            "El niño comió piña en España mañana",
            (guess("cp1252", 50),),
        ),
        ("Zażółć gęślą jaźń".encode("cp1250"), "Zażółć gęślą jaźń", (guess("cp1250", 100),)),
        (
            "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。".encode("shift_jis"),
            "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
            (guess("shift_jis", 100),),
        ),
        # A file cut inside a character is still UTF-8.
        (
            RUSSIAN.encode()[:-2],
            RUSSIAN[:-2] + "\ufffd",
            ("Read as UTF-8; 1 damaged place is shown as \ufffd.",),
        ),
        (
            b"a\r\nb\r\nc\rd\n",
            "a\nb\nc\nd\n",
            ("Read as UTF-8.", "2 CRLF and 1 CR line ends turned into LF."),
        ),
        (b"a\rb", "a\nb", ("Read as UTF-8.", "1 CR line end turned into LF.")),
    ],
)
def test_text_is_read_and_said_how(raw: bytes, text: str, notes: tuple[str, ...]) -> None:
    document = open_document(raw, "notes.txt")
    assert document.text == text
    assert document.notes == notes


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "x.txt is empty: choose a document with text."),
        (b" \n\t\r\n ", "x.txt holds only white space: choose a document with text."),
        (b"\xef\xbb\xbf", "x.txt holds only white space: choose a document with text."),
        (
            b"abc\0def",
            "x.txt holds NUL bytes, so it is binary or UTF-16 without its mark: "
            "save it as UTF-8 text.",
        ),
        (
            "no mark".encode("utf-16-le"),
            "x.txt holds NUL bytes, so it is binary or UTF-16 without its mark: "
            "save it as UTF-8 text.",
        ),
        (
            b"\xff\xfea\0b",
            "x.txt begins like UTF-16-LE but is damaged: save it as UTF-8.",
        ),
        (
            b"\xff\xfea\0\0\0b\0",
            "x.txt is a binary file, not text: save it as plain text first.",
        ),
        (
            bytes(range(1, 32)) * 9,
            "x.txt is a binary file, not text: save it as plain text first.",
        ),
        (
            random.Random(1).randbytes(3000).replace(b"\0", b""),
            "x.txt is not text in a known encoding: save it as UTF-8 text.",
        ),
        (
            b"PK\x03\x04...",
            "x.txt is a packed file (docx, epub, odt or zip): "
            "save its text as a plain text file first.",
        ),
        (
            b"a" * (TEXT_LIMIT + 1),
            "x.txt is larger than the limit of 2 MB: cut out the part that matters.",
        ),
    ],
)
def test_what_is_not_text_is_refused_in_one_sentence(raw: bytes, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        open_document(raw, "x.txt")
    assert str(refusal.value) == sentence


def test_paths_are_read_and_refused_alike(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("été\r\n".encode())
    document = open_document(tmp_path / "a.txt")
    assert (document.name, document.text) == ("a.txt", "été\n")
    with pytest.raises(InputError, match=r"^b\.txt cannot be read: No such file or directory\.$"):
        open_document(tmp_path / "b.txt")
    with pytest.raises(InputError, match=r"is a folder: choose a text file\.$"):
        open_document(str(tmp_path))
    with pytest.raises(InputError, match=r"cannot be read: its path holds a NUL character\.$"):
        open_document("a\0b")


def test_a_path_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    huge = tmp_path / "huge.txt"
    huge.touch()
    os.truncate(huge, 1 << 40)
    with pytest.raises(InputError, match=r"^huge\.txt is larger than the limit of 2 MB"):
        open_document(huge)


def test_an_endless_device_is_cut_off() -> None:
    with pytest.raises(InputError, match=r"^zero is larger than"):
        open_document("/dev/zero")


def test_a_hostile_name_stays_one_short_line() -> None:
    with pytest.raises(InputError) as refusal:
        open_document(b"", "..\\..\\etc/a\nb" + "c" * 500)
    assert str(refusal.value) == f"a b{'c' * 56}… is empty: choose a document with text."


def test_one_megabyte_of_one_letter_is_a_document() -> None:
    assert open_document(b"a" * 1_000_000, "a.txt").text == "a" * 1_000_000


def test_a_large_file_is_guessed_from_its_beginning() -> None:
    text = (RUSSIAN + "\n") * 10_000
    document = open_document(text.encode("cp1251"), "x.txt")
    assert document.text == text
    assert document.notes[0].startswith("Not UTF-8; read as cp1251, a guess (confidence ")


@pytest.mark.parametrize(
    ("line", "encoding"), [(RUSSIAN, "cp1251"), ("道可道非常道名可名非常名" * 7, "utf-16")]
)
def test_a_text_counts_as_it_does_when_it_is_asked_about(line: str, encoding: str) -> None:
    text = (line + "\n") * (TEXT_LIMIT // len(f"{line}\n".encode()) + 1)
    with pytest.raises(InputError, match=r"^The document is larger than the limit of 2 MB"):
        document_prompt(text, "Why?")
    raw = text.encode(encoding)
    assert len(raw) < TEXT_LIMIT * 0.7
    with pytest.raises(InputError) as refusal:
        open_document(raw, "x.txt")
    assert str(refusal.value) == (
        "The text of x.txt is larger than the limit of 2 MB: cut out the part that matters."
    )


@pytest.mark.parametrize(
    ("prompt", "sentence"),
    [
        ("", "The prompt is empty: write something to continue."),
        (" \n\t\u3000", "The prompt is empty: write something to continue."),
        ("ab\ud83d", "The prompt holds half a character at position 3: type it again."),
        (
            "a" * (TEXT_LIMIT + 1),
            "The prompt is larger than the limit of 2 MB: cut out the part that matters.",
        ),
    ],
)
def test_a_prompt_that_cannot_be_asked_is_refused(prompt: str, sentence: str) -> None:
    with pytest.raises(InputError) as refusal:
        check_prompt(prompt)
    assert str(refusal.value) == sentence


def test_a_prompt_is_left_as_it_is() -> None:
    assert check_prompt("  <|im_end|> ${x}\n") == "  <|im_end|> ${x}\n"


def test_document_and_question_make_one_prompt() -> None:
    assert document_prompt("\nOnce.\n\n", " Who? ") == "Once.\n\nWho?"
    with pytest.raises(InputError, match=r"^The question is empty: ask something about the doc"):
        document_prompt("Once.", " ")
    with pytest.raises(InputError, match=r"^The document is empty: choose one with text\.$"):
        document_prompt(" ", "Who?")


@pytest.mark.parametrize("text", ["a" * 1_000_000, "_" * 50_000], ids=["letters", "underscores"])
def test_a_long_run_of_one_letter_is_tokenized_in_time(text: str) -> None:
    started = process_time()  # other work on the machine does not count
    inputs = rhyme_model().encode([Message("user", text)])
    assert inputs.tokens == (1 + ord(text[0]),) * len(text)
    assert process_time() - started < 20
