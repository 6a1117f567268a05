"""What a person hands in: prompts and text documents, opened, checked, and what was done said."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from pathlib import Path

import charset_normalizer

from specviz import pdf
from specviz.models.base import TEXT_LIMIT, InputError, check_size, text_size

SAMPLE_BYTES = 64 * 1024
NAME_LENGTH = 60

# The longer marks first: UTF-32's little-endian mark begins with UTF-16's.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What text files in the wild are written in; asking about fewer gives better guesses. Earlier ones
# win where the guesser sees no difference, as it often does in a short text.
LATIN = ("cp1252", "cp1250", "cp1254")
OTHER = (
    "cp1251", "koi8_r", "cp866", "cp1253", "cp1255", "cp1256",
    "shift_jis", "gb18030", "big5", "euc_jp", "euc_kr",
)  # fmt: skip
FORMATS = (
    (b"PK\x03\x04", "a packed file (docx, epub, odt or zip)"),
    (b"\xd0\xcf\x11\xe0", "an old Office file"),
    (b"{\\rtf", "an RTF file"),
    (b"\x1f\x8b", "a compressed file"),
)
HALF = re.compile("[\ud800-\udfff]")  # of a character that takes two of them in UTF-16
# Every control character but tab, line feed, form feed and carriage return.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Document:
    """A text document. ``notes`` say how it was read, one sentence each, for the person."""

    name: str
    text: str
    notes: tuple[str, ...]


def open_document(
    source: str | Path | bytes, name: str = "", progress: pdf.Pages | None = None
) -> Document:
    """The text of a file (a path, or its bytes with a ``name`` to show).

    A PDF is read page by page (``progress(done, pages)`` is told). Anything else is decoded by
    byte order mark, else as strict UTF-8, else by a guess that is said; line ends become LF.
    Raises InputError for what is too large, binary, empty or undecodable.
    """
    if isinstance(source, bytes):
        name = shown_name(name, "the document")
        raw = source
        if not pdf.is_pdf(raw):
            check_size(name, len(raw))
    else:
        name = shown_name(name or Path(source).name, "the document")
        raw = _read(Path(source), name)
    if pdf.is_pdf(raw):
        return Document(name, *pdf.read_pdf(raw, name, progress))
    return Document(name, *_read_text(raw, name))


def _read_text(raw: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """Text and notes of a file that is no PDF; see ``open_document``."""
    if not raw:
        raise InputError(f"{name} is empty: choose a document with text.")
    _check_format(name, raw)
    text, notes = _decode(name, raw)
    controls = len(CONTROL.findall(text))
    if "\0" in text or controls > max(4, len(text) // 100):
        raise InputError(f"{name} is a binary file, not text: save it as plain text first.")
    text, newline_note = _normalise_newlines(text)
    if not text.strip("\ufeff\u200b \t\n\f\v\xa0"):
        raise InputError(f"{name} holds only white space: choose a document with text.")
    # Other encodings are shorter, and what is read here must not be refused when it is asked about.
    check_size(f"The text of {name}", text_size(text))
    return text, (*notes, *newline_note)


def check_prompt(text: str) -> str:
    """``text`` when a model can be asked it; raises InputError when blank, broken or too large."""
    return check_text("prompt", text, "write something to continue")


def document_prompt(document: str, question: str) -> str:
    """One prompt from the text of a document and a question about it; raises InputError."""
    check_text("document", document, "choose one with text")
    check_text("question", question, "ask something about the document")
    return joined(document, question)


def joined(document: str, question: str) -> str:
    """The document, an empty line, the question."""
    return f"{document.strip()}\n\n{question.strip()}"


def check_text(what: str, text: str, way_out: str) -> str:
    """``text`` unless it is blank, broken or too large; ``what`` and ``way_out`` go into the
    InputError's sentence."""
    if not text.strip():
        raise InputError(f"The {what} is empty: {way_out}.")
    half = HALF.search(text)
    if half is not None:
        raise InputError(
            f"The {what} holds half a character at position {half.start() + 1}: type it again."
        )
    check_size(f"The {what}", text_size(text))
    return text


def _read(path: Path, name: str) -> bytes:
    if "\0" in str(path):
        raise InputError(f"{name} cannot be read: its path holds a NUL character.")
    try:
        if path.is_dir():
            raise InputError(f"{name} is a folder: choose a text file.")
        with path.open("rb") as file:
            raw = file.read(pdf.HEAD)
            if pdf.is_pdf(raw):
                return raw + file.read(pdf.BYTES + 1 - len(raw))
            check_size(name, path.stat().st_size)
            # The size on disk says nothing about a pipe or a device.
            raw += file.read(TEXT_LIMIT + 1 - len(raw))
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error
    check_size(name, len(raw))
    return raw


def shown_name(name: str, otherwise: str) -> str:
    """A name that comes from outside, as one short line without folders; ``otherwise`` for none."""
    line = " ".join(name.replace("\\", "/").rsplit("/", 1)[-1].split()) or otherwise
    return line if len(line) <= NAME_LENGTH else line[: NAME_LENGTH - 1] + "…"


def _check_format(name: str, raw: bytes) -> None:
    for magic, what in FORMATS:
        if raw.startswith(magic):
            raise InputError(f"{name} is {what}: save its text as a plain text file first.")


def _decode(name: str, raw: bytes) -> tuple[str, tuple[str, ...]]:
    for mark, encoding in MARKS:
        if raw.startswith(mark):
            try:
                text = raw[len(mark) :].decode(encoding)
            except UnicodeDecodeError:
                raise InputError(
                    f"{name} begins like {encoding.upper()} but is damaged: save it as UTF-8."
                ) from None
            return text, (f"Read as {encoding.upper()}, as its byte order mark says.",)
    if b"\0" in raw:
        raise InputError(
            f"{name} holds NUL bytes, so it is binary or UTF-16 without its mark: "
            "save it as UTF-8 text."
        )
    try:
        return raw.decode("utf-8"), ("Read as UTF-8.",)
    except UnicodeDecodeError:
        return _damaged_utf8(raw) or _guess(name, raw)


def _damaged_utf8(raw: bytes) -> tuple[str, tuple[str, ...]] | None:
    """UTF-8 with a few broken bytes (a cut file, say), which no other reading would improve."""
    text = raw.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    whole = sum(c > "\x7f" for c in text) - damaged
    if damaged * 10 > whole:
        return None
    places = "1 damaged place is" if damaged == 1 else f"{damaged} damaged places are"
    return text, (f"Read as UTF-8; {places} shown as \ufffd.",)


def _guess(name: str, raw: bytes) -> tuple[str, tuple[str, ...]]:
    sample = raw[:SAMPLE_BYTES]
    if len(raw) > SAMPLE_BYTES:
        # A cut inside a character of several bytes would speak against its encoding.
        sample = sample[: sample.rfind(b"\n") + 1] or sample
    high = sum(byte > 127 for byte in sample)
    letters = high + sum(chr(byte).isalpha() for byte in sample if byte < 128)
    order = (*OTHER, *LATIN) if high * 2 > letters else (*LATIN, *OTHER)
    found = charset_normalizer.from_bytes(sample, cp_isolation=list(order))
    readings = sorted(
        (match.chaos, -match.coherence, min(map(order.index, _names(match, order))))
        for match in found
    )
    for chaos, coherence, rank in readings:
        try:
            text = raw.decode(order[rank])
        except UnicodeDecodeError:
            continue
        # The guesser's own measure, 1 less the share of the text that looks like a mess, shared
        # evenly among the readings between which it sees no difference.
        alike = sum(reading[:2] == (chaos, coherence) for reading in readings)
        sure = 100 * (1 - chaos) / alike
        return text, (
            f"Not UTF-8; read as {order[rank]}, a guess (confidence {sure:.0f} %): save "
            "the file as UTF-8 if letters look wrong.",
        )
    raise InputError(f"{name} is not text in a known encoding: save it as UTF-8 text.")


def _names(match: charset_normalizer.CharsetMatch, order: tuple[str, ...]) -> list[str]:
    # Encodings that read the sample alike are reported as one match.
    return [name for name in order if name in {match.encoding, *match.could_be_from_charset}]


def _normalise_newlines(text: str) -> tuple[str, tuple[str, ...]]:
    pairs = text.count("\r\n")
    alone = text.count("\r") - pairs
    if not pairs and not alone:
        return text, ()
    found = [f"{n} {kind}" for n, kind in ((pairs, "CRLF"), (alone, "CR")) if n]
    ends = "line end" if pairs + alone == 1 else "line ends"
    note = f"{' and '.join(found)} {ends} turned into LF."
    return text.replace("\r\n", "\n").replace("\r", "\n"), (note,)
