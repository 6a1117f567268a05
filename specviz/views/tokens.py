"""How a token is written in charts and tables: literal, white space visible, bytes as bytes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping

# The open box is in common fonts; the symbol for space (U+2420) is a tofu box in many.
MARKS = {" ": "␣", "\n": "↵", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}
UNKNOWN = "?"


def show(piece: bytes | None) -> str:
    """``piece`` in visible characters: ``␣`` for a space, ``‹E2 98›`` for part of a character,
    ``‹U+202E›`` for a control or format character."""
    if piece is None:
        return UNKNOWN
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError:
        return "‹" + piece.hex(" ").upper() + "›"
    return "".join(MARKS.get(c) or (c if _visible(c) else f"‹U+{ord(c):04X}›") for c in text)


def _visible(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co")


def shown(tokens: Iterable[int], pieces: Mapping[int, bytes], between: str = " ") -> str:
    """Several tokens in visible characters."""
    return between.join(show(pieces.get(t)) for t in tokens)


def for_plotly(text: str) -> str:
    """``text`` so that Plotly draws it literally: it reads tags, entities, TeX and templates."""
    return text.translate(_ESCAPES)


_ESCAPES = {ord(c): f"&#{ord(c)};" for c in "&<>$%{}"}
