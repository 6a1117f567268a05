"""Coloured figures in a simple arrangement: three rows of four places."""

from __future__ import annotations

import random
from dataclasses import dataclass

from specviz.training.vlm_scenes import (
    NUMBERS,
    Cells,
    Exchange,
    Figure,
    Scene,
    Split,
    allowed,
    listed,
    reserved,
)
from specviz.training.vlm_symbols import COLOURS, DIGITS, FIGURES

ROWS, COLUMNS = 3, 4
HIGH, WIDE = 5, 4  # cells of one place
NAMES = ("top", "middle", "bottom")


@dataclass(frozen=True)
class Placed:
    """One figure of a scene, by its place."""

    row: int
    column: int
    size: str
    colour: str
    kind: str

    def said(self) -> str:
        """The figure with its article."""
        return f"a {self.size} {self.colour} {self.kind}"


def shapes(rng: random.Random, split: Split) -> Scene | None:
    """A few figures; None when one of their pairs of colour and kind is of the other split."""
    return _arranged(rng, split, rng.randint(1, 6))


def crowd(rng: random.Random) -> Scene | None:
    """A figure in nearly every place, nothing to ask: to learn to tell them apart faster; None
    when one is held out."""
    return _arranged(rng, "train", rng.randint(7, 9))


def _arranged(rng: random.Random, split: Split, count: int) -> Scene | None:
    places = sorted(rng.sample(range(ROWS * COLUMNS), count))
    colours = [c.strip() for c in COLOURS]
    if rng.random() < 0.4:  # so that some share a colour
        colours = rng.sample(colours, 2)
    placed = [
        Placed(
            place // COLUMNS,
            place % COLUMNS,
            rng.choice(("large", "small")),
            rng.choice(colours),
            rng.choice(FIGURES).strip(),
        )
        for place in places
    ]
    if not allowed(split, [reserved(p.colour, p.kind) for p in placed]):
        return None
    cells, figures = Cells(), []
    for p in placed:
        row, column = p.row * HIGH, p.column * WIDE
        cells.say(row + 2, column, (f" {p.size}", f" {p.colour}", f" {p.kind}"))
        radius = rng.uniform(1.65, 1.95) if p.size == "large" else rng.uniform(0.8, 1.05)
        give = 2.0 - radius
        figures.append(
            Figure(
                p.kind,
                p.colour,
                column + WIDE / 2 + rng.uniform(-give, give) * 0.6,
                row + HIGH / 2 + rng.uniform(-give, give) * 0.6,
                radius,
            )
        )
    cells.facts(" shapes", DIGITS[count])
    return Scene("shapes", cells.grid(), _questions(rng, placed), figures=tuple(figures))


def _questions(rng: random.Random, placed: list[Placed]) -> tuple[Exchange, ...]:
    count = len(placed)
    there = "There is" if count == 1 else "There are"
    noun = "shape" if count == 1 else "shapes"
    total = f"{there} {NUMBERS[count]} {noun}."
    rows = []
    for i, name in enumerate(NAMES):
        mine = [p.said() for p in placed if p.row == i]
        if mine:
            rows.append(f"The {name} row has {listed(mine)}.")
    asked = [
        Exchange(
            rng.choice((
                "What is in the picture?", "Describe the picture.", "What do you see?",
                "List every shape.", "Which shapes are there, row by row?",
            )),
            f"{total} {' '.join(rows)}", "shapes", tuple(f"{p.colour} {p.kind}" for p in placed),
        ),
        Exchange(
            rng.choice(("How many shapes are there?", "Count the shapes.")),
            f"{total} They are {listed([p.said() for p in placed])}."
            if count > 1 else f"{total} It is {placed[0].said()}.",
            "count", (total,),
        ),
        _by_colour(rng, placed),
        _by_kind(rng, placed),
    ]  # fmt: skip
    return tuple(asked)


def _by_colour(rng: random.Random, placed: list[Placed]) -> Exchange:
    colour = rng.choice([p.colour for p in placed])
    mine = [p.said() for p in placed if p.colour == colour]
    rest = [p.said() for p in placed if p.colour != colour]
    verb = "shape is" if len(mine) == 1 else "shapes are"
    answer = f"The {colour} {verb} {listed(mine)}."
    more = f" The others are {listed(rest)}." if rest else " There are no others."
    question = rng.choice((
        f"Which shapes are {colour}?", f"What is {colour} in the picture?",
        f"Name everything that is {colour}.",
    ))  # fmt: skip
    return Exchange(question, answer + more, "colour", (answer,))


def _by_kind(rng: random.Random, placed: list[Placed]) -> Exchange:
    kind = rng.choice([p.kind for p in placed])
    mine = [p for p in placed if p.kind == kind]
    where = " ".join(
        f"The {p.kind} in the {NAMES[p.row]} row is {p.size} and {p.colour}." for p in mine
    )
    question = rng.choice((
        f"What colour is the {kind}?", f"Tell me about the {kind}.", f"Is there a {kind}?",
    ))  # fmt: skip
    plural = f"one {kind}" if len(mine) == 1 else f"{NUMBERS[len(mine)]} of the kind {kind}"
    verb = "is" if len(mine) == 1 else "are"
    return Exchange(question, f"There {verb} {plural}. {where}", "kind", (where,))
