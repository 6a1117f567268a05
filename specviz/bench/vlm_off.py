"""Pictures that the generator of the training pictures does not draw, each with a question.

Their glyphs stand in cells as large as the patches of the embedded tower, for it reads no others;
layouts, contents and wordings are their own. Nobody answers them here: they are looked at for
speed and for the very tokens of plain decoding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

SIDE, CELL = 256, 16
INK, PAPER, RED, BLUE, GREEN = "#101418", "#f4efe2", "#c62828", "#1552b0", "#1d7a3a"
Pen = ImageDraw.ImageDraw
Colour = str


@dataclass(frozen=True)
class Odd:
    """One picture of that kind: ``image`` [256, 256, RGB] and what is asked about it."""

    name: str
    image: Image.Image
    question: str


def write(pen: Pen, row: int, column: int, words: str, colour: Colour = INK) -> None:
    """Put one glyph into each cell from (``row``, ``column``) on."""
    font = ImageFont.load_default(16)
    for i, glyph in enumerate(words):
        x, y = (column + i) * CELL + CELL // 2, row * CELL + CELL // 2
        for across in (x, x + 1):  # thin strokes are lost among sixteen pixels
            pen.text((across, y), glyph, fill=colour, font=font, anchor="mm")


def box(pen: Pen, top: int, left: int, bottom: int, right: int, colour: Colour) -> None:
    """Fill cells, the last ones included."""
    far = ((right + 1) * CELL - 1, (bottom + 1) * CELL - 1)
    pen.rectangle((left * CELL, top * CELL, *far), fill=colour)


def _menu(pen: Pen) -> None:
    box(pen, 0, 0, 2, 15, GREEN)
    write(pen, 1, 6, "MENU", PAPER)
    card = (("SOUP", "4"), ("FISH", "9"), ("RICE", "3"), ("CAKE", "5"))
    for row, (dish, price) in enumerate(card):
        write(pen, 5 + 2 * row, 1, dish)
        write(pen, 5 + 2 * row, 6, "." * 7, "#8a8378")
        write(pen, 5 + 2 * row, 14, price, RED)


def _shop(pen: Pen) -> None:
    pen.rectangle((24, 56, 231, 199), outline=BLUE, width=6)
    write(pen, 5, 6, "OPEN", BLUE)
    write(pen, 8, 4, "TILL 8", INK)
    write(pen, 10, 3, "KNOCK TWICE", INK)


def _match(pen: Pen) -> None:
    box(pen, 0, 0, 15, 7, "#7fb2ff")
    box(pen, 0, 8, 15, 15, "#ffd27f")
    for column, team, goals in ((2, "HOME", "3"), (10, "AWAY", "1")):
        write(pen, 3, column, team)
        write(pen, 8, column + 1, goals, RED)


def _thermometer(pen: Pen) -> None:
    for i, degrees in enumerate(("40", "30", "20", "10", " 0")):
        write(pen, 2 + 3 * i, 3, degrees)
        pen.line((88, 40 + 48 * i, 104, 40 + 48 * i), fill=INK, width=2)
    pen.rectangle((112, 16, 143, 247), outline=INK, width=3)
    pen.rectangle((116, 112, 139, 243), fill=RED)


def _shapes(pen: Pen) -> None:
    for i, colour in enumerate((RED, BLUE, GREEN, "#e3a008", "#6b3fa0")):
        left, top = 8 + 49 * i, 24 + 42 * i
        corners = (left, top, left + 40, top + 40)
        if i % 2:
            pen.rectangle(corners, fill=colour)
        else:
            pen.ellipse(corners, fill=colour)


def _arrows(pen: Pen) -> None:
    for row, place, right in ((2, "MUSEUM", True), (7, "HARBOUR", False), (12, "STATION", True)):
        box(pen, row - 1, 1, row + 1, 14, BLUE)
        write(pen, row, 4, place, PAPER)
        write(pen, row, 13 if right else 2, ">" if right else "<", "#ffd27f")


def _calendar(pen: Pen) -> None:
    box(pen, 0, 0, 3, 15, RED)
    write(pen, 2, 6, "MAY", PAPER)
    write(pen, 7, 7, "14", INK)
    write(pen, 11, 4, "THURSDAY", BLUE)


def _ticket(pen: Pen) -> None:
    pen.rectangle((8, 40, 247, 215), fill="#e8d9a8", outline=INK, width=3)
    for y in range(44, 212, 12):
        pen.line((152, y, 152, y + 5), fill=INK, width=2)
    write(pen, 4, 2, "HALL 4")
    write(pen, 7, 2, "ROW 7")
    write(pen, 9, 2, "SEAT 12")
    write(pen, 7, 10, "20:30", RED)


def _receipt(pen: Pen) -> None:
    box(pen, 0, 3, 15, 12, "#ffffff")
    for row, (what, price) in enumerate((("BREAD", "2"), ("MILK", "1"), ("TEA", "6"))):
        write(pen, 3 + 2 * row, 4, what)
        write(pen, 3 + 2 * row, 11, price)
    pen.line((64, 152, 207, 152), fill=INK, width=3)
    write(pen, 11, 4, "TOTAL")
    write(pen, 11, 11, "9")


def _crossword(pen: Pen) -> None:
    across, down = [(7, 3 + i) for i in range(5)], [(3 + i, 4) for i in range(5)]
    for row, column in {*across, *down}:
        corners = (column * CELL, row * CELL, (column + 1) * CELL, (row + 1) * CELL)
        pen.rectangle(corners, fill="#ffffff", outline=INK)
    for (row, column), glyph in zip(down, "FLOUR", strict=True):
        write(pen, row, column, glyph)
    for (row, column), glyph in zip(across, "BREAD", strict=True):
        write(pen, row, column, glyph)


def _lengths(pen: Pen) -> None:
    rows = (("OAK", 9, GREEN), ("ELM", 4, BLUE), ("ASH", 6, RED), ("FIR", 11, "#e3a008"))
    for i, (tree, length, colour) in enumerate(rows):
        write(pen, 2 + 4 * i, 0, tree)
        box(pen, 2 + 4 * i, 4, 2 + 4 * i, 3 + length, colour)


def _lights(pen: Pen) -> None:
    pen.rectangle((88, 8, 167, 199), fill=INK)
    for i, colour in enumerate((RED, "#4a4436", "#33453a")):
        pen.ellipse((104, 20 + 58 * i, 151, 67 + 58 * i), fill=colour)
    write(pen, 14, 6, "STOP", RED)


_DRAWN: tuple[tuple[str, Colour, Callable[[Pen], None], str], ...] = (
    ("menu", PAPER, _menu,
     "You are the waiter: read me this card aloud, dish after dish, and say what each one costs."),
    ("shop", "#dfe7f2", _shop,
     "I am on the phone and cannot see the door. What hangs there, and what should I do?"),
    ("match", PAPER, _match,
     "Write two sentences about this match for tomorrow's paper, with the final score."),
    ("thermometer", "#ffffff", _thermometer,
     "Up to which number has the red column climbed, and should I take a coat?"),
    ("shapes", "#ffffff", _shapes,
     "Going down the diagonal from the upper left corner, name each figure with its colour."),
    ("arrows", "#c9d3c4", _arrows,
     "We want to see the ships. Explain to us which way the signs send us, and why."),
    ("calendar", "#ffffff", _calendar,
     "Begin a diary entry with the full date on this leaf, then add one sentence about the day."),
    ("ticket", "#5b6470", _ticket,
     "My grandmother has lost her glasses: tell her slowly where to sit and when it begins."),
    ("receipt", "#b9b2a5", _receipt,
     "Do the single amounts add up to what stands at the bottom? Go through them one at a time."),
    ("crossword", PAPER, _crossword,
     "Two words cross each other in this puzzle. Which ones, and where do they meet?"),
    ("lengths", "#ffffff", _lengths,
     "Put the four trees in order, beginning with the shortest bar, and comment on the order."),
    ("lights", "#9fc3e0", _lights,
     "What does a driver have to do here? Explain it to a child in a few short sentences."),
)  # fmt: skip


def odd_pictures() -> tuple[Odd, ...]:
    """All of them; the typeface is the one that comes with Pillow."""
    found = []
    for name, ground, draw, question in _DRAWN:
        image = Image.new("RGB", (SIDE, SIDE), ground)
        draw(ImageDraw.Draw(image))
        found.append(Odd(name, image, question))
    return tuple(found)
