"""Scenes for the embedded image-text model: what a picture shows, says and may be asked about.

A scene is a grid of 16 x 16 cells. ``symbols`` is what each cell is to say to the language model
(see ``vlm_symbols``), ``lines``, ``bars`` and ``figures`` are what is drawn (see ``vlm_draw``).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

from specviz.training.vlm_symbols import NUMBER, spelled

GRID = 16
FACTS_ROW = GRID - 1  # nothing is drawn there; its cells sum the picture up
Split = Literal["train", "held-out"]
HELD_OUT = 8  # one combination of so many is never trained on


@dataclass(frozen=True)
class Exchange:
    """A question about a picture and its answer. ``facts``: what has to be in the answer."""

    question: str
    answer: str
    kind: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Line:
    """Glyphs from one cell to the right, one in each; a space leaves its cell empty."""

    row: int
    column: int
    glyphs: str


@dataclass(frozen=True)
class Bar:
    """A bar of a chart, in cells: its left edge, width and height above ``base``."""

    left: float
    width: float
    height: float
    base: float


@dataclass(frozen=True)
class Figure:
    """A coloured figure; centre and radius in cells."""

    kind: str
    colour: str
    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Scene:
    """See the module. ``kind``: departures, scores, letters, codes, chart, shapes or blank."""

    kind: str
    symbols: tuple[tuple[str, ...], ...]
    questions: tuple[Exchange, ...]
    lines: tuple[Line, ...] = ()
    bars: tuple[Bar, ...] = ()
    figures: tuple[Figure, ...] = ()


class Cells:
    """The grid while a scene is laid out."""

    def __init__(self) -> None:
        self.symbols = [[""] * GRID for _ in range(GRID)]
        self.lines: list[Line] = []

    def say(self, row: int, column: int, symbols: Iterable[str]) -> None:
        """Let the cells from here to the right say ``symbols``."""
        for symbol in symbols:
            assert symbol in NUMBER, symbol
            self.symbols[row][column] = symbol
            column += 1

    def write(self, row: int, column: int, symbol: str) -> int:
        """Draw a symbol's glyphs and say it where they begin; returns the cell behind them."""
        glyphs = spelled(symbol)
        assert column + len(glyphs) <= GRID, (symbol, column)
        self.lines.append(Line(row, column, glyphs))
        self.say(row, column, [symbol])
        return column + len(glyphs)

    def digits(self, row: int, column: int, text: str) -> int:
        """Draw and say ``text`` character by character; returns the cell behind it."""
        for glyph in text:
            column = self.write(row, column, glyph)
        return column

    def facts(self, *symbols: str) -> None:
        """What the last row says."""
        self.say(FACTS_ROW, 0, symbols)

    def grid(self) -> tuple[tuple[str, ...], ...]:
        """The symbols, row by row."""
        return tuple(tuple(row) for row in self.symbols)


def reserved(*parts: object) -> bool:
    """Whether a combination is kept for held-out pictures."""
    return crc32("|".join(map(str, parts)).encode()) % HELD_OUT == 0


def allowed(split: Split, found: Sequence[bool]) -> bool:
    """Whether a scene with these reserved combinations belongs to ``split``: one that is trained
    on has none, a held-out one at least one."""
    return any(found) if split == "held-out" else not any(found)


def scene(rng: random.Random, split: Split, kind: str | None = None) -> Scene:
    """A random scene, of ``kind`` if given; the same state of ``rng`` gives the same scene."""
    from specviz.training.vlm_boards import departures, scores
    from specviz.training.vlm_charts import chart
    from specviz.training.vlm_shapes import shapes
    from specviz.training.vlm_signs import blank, codes, letters

    makers: dict[str, Callable[[random.Random, Split], Scene | None]] = {
        "departures": departures, "scores": scores, "letters": letters,
        "codes": codes, "chart": chart, "shapes": shapes, "blank": blank,
    }  # fmt: skip
    kind = kind or rng.choices(list(makers), weights=(10, 4, 6, 2, 8, 8, 1))[0]
    while True:
        made = makers[kind](rng, split)
        if made is not None:
            return made


def listed(parts: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
