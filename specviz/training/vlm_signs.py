"""Signs of words and of single letters, pages full of them to learn to read from, and nothing."""

from __future__ import annotations

import random
from itertools import pairwise

from specviz.training.vlm_scenes import (
    GRID,
    NUMBERS,
    Cells,
    Exchange,
    Scene,
    Split,
    allowed,
    reserved,
)
from specviz.training.vlm_symbols import (
    DIGITS,
    LETTERS,
    PLACES,
    STATES,
    TEAMS,
    WORDS,
    spelled,
)

EMPTY = "The picture is empty: there is nothing to read in it."
ABOUT_NOTHING = (
    "What does the board say?", "Read the departure board.", "What is the next departure?",
    "What is the score?", "Who is winning?", "What does the sign say?", "Read line 2.",
    "What is written here?", "Which bar is the tallest?", "Describe the chart.",
    "What is in the picture?", "How many shapes are there?", "What do you see?",
)  # fmt: skip
SYMBOLS_DRAWN = (*PLACES, *WORDS, *TEAMS, *STATES, *LETTERS)


def letters(rng: random.Random, split: Split) -> Scene | None:
    """A letter board or LED sign with words; None when its pairs are of the other split."""
    rows = rng.randint(1, 5)
    lines: list[list[str]] = []
    for _ in range(rows):
        line: list[str] = []
        while len(line) < 3:
            word = rng.choice((*WORDS, *WORDS, *PLACES))
            if len(" ".join(map(spelled, [*line, word]))) > GRID:
                break
            line.append(word)
            if rng.random() < 0.45:
                break
        lines.append(line)
    pairs = [reserved(*pair) for line in lines for pair in pairwise(line)]
    if not allowed(split, pairs):
        return None
    cells = Cells()
    step = rng.randint(1, max(1, min(3, 14 // rows)))
    row, centred = rng.randint(0, 14 - step * (rows - 1)), rng.random() < 0.6
    for line in lines:
        width = len(" ".join(map(spelled, line)))
        column = (GRID - width) // 2 if centred else rng.randint(0, min(2, GRID - width))
        for word in line:
            column = cells.write(row, column, word) + 1
        row += step
    cells.facts(" words", DIGITS[rows], " lines")
    return Scene("letters", cells.grid(), _word_questions(rng, lines), tuple(cells.lines))


def codes(rng: random.Random, split: Split) -> Scene | None:
    """Rows of single letters, or letters with numbers, as on an eye chart or a gate sign."""
    rows = rng.randint(1, 5)
    lines: list[list[str]] = []
    for _ in range(rows):
        if rng.random() < 0.5:
            lines.append([rng.choice(LETTERS) for _ in range(rng.randint(2, 7))])
        else:
            number = str(rng.randint(1, 999))
            lines.append([rng.choice(LETTERS), *number])
    if not allowed(split, [reserved(*line[:3]) for line in lines]):
        return None
    cells = Cells()
    step = rng.randint(1, max(1, min(3, 14 // rows)))
    row = rng.randint(0, 14 - step * (rows - 1))
    for line in lines:
        apart = 2 if all(s in LETTERS for s in line) else 1
        width = apart * (len(line) - 1) + 1
        column = rng.randint(0, GRID - width)
        for symbol in line:
            cells.write(row, column, symbol)
            column += apart
        row += step
    cells.facts(" words", DIGITS[rows], " lines")
    return Scene("codes", cells.grid(), _word_questions(rng, lines), tuple(cells.lines))


def _word_questions(rng: random.Random, lines: list[list[str]]) -> tuple[Exchange, ...]:
    texts = ["".join(line).strip() for line in lines]
    count = len(lines)
    plural = "line" if count == 1 else "lines"
    every = " ".join(f"Line {i}: {text}." for i, text in enumerate(texts, 1))
    which = rng.randrange(count)
    asked = [
        Exchange(
            rng.choice((
                "What does the sign say?", "What is written here?", "Read the sign.",
                "Read the text line by line.", "What can you read?",
            )),
            f"The sign has {NUMBERS[count]} {plural}. {every}",
            "lines", tuple(f"Line {i}: {text}." for i, text in enumerate(texts, 1)),
        ),
        Exchange(
            rng.choice((
                f"What is on line {which + 1}?", f"Read line {which + 1}.",
                f"What does line {which + 1} of the sign say?",
            )),
            f"Line {which + 1} says: {texts[which]}. The sign has {NUMBERS[count]} {plural} in "
            "all.",
            "line", (f"Line {which + 1} says: {texts[which]}.",),
        ),
        Exchange(
            rng.choice((
                "What is the first line, and what is the last?", "How does the sign begin and end?",
            )),
            f"The first line says: {texts[0]}. The last line says: {texts[-1]}.",
            "ends", (f"first line says: {texts[0]}.", f"last line says: {texts[-1]}."),
        ),
    ]  # fmt: skip
    return tuple(asked)


def blank(rng: random.Random, split: Split) -> Scene:
    """A picture of nothing, asked about as if there were something."""
    asked = tuple(
        Exchange(question, EMPTY, "blank", (EMPTY,))
        for question in rng.sample(ABOUT_NOTHING, 3)
    )
    return Scene("blank", Cells().grid(), asked)


def page(rng: random.Random) -> Scene:
    """Every row full of words, numbers and letters, nothing to ask: to learn to read faster."""
    cells = Cells()
    for row in range(GRID - 1):
        column = rng.randint(0, 3)
        while column < GRID:
            kind = rng.random()
            if kind < 0.6:
                symbol = rng.choice(SYMBOLS_DRAWN)
                if column + len(spelled(symbol)) > GRID:
                    break
                column = cells.write(row, column, symbol)
            elif kind < 0.8:
                minute = rng.randrange(24 * 60)
                if column + 5 > GRID:
                    break
                column = cells.digits(row, column, f"{minute // 60:02}:{minute % 60:02}")
            else:
                column = cells.digits(row, column, str(rng.randint(0, 99))[: GRID - column])
            column += rng.choice((1, 1, 2, 3))
    return Scene("page", cells.grid(), (), tuple(cells.lines))
