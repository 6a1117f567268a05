"""Bar charts with labels in cells, with or without printed values."""

from __future__ import annotations

import random

from specviz.training.vlm_scenes import (
    NUMBERS,
    Bar,
    Cells,
    Exchange,
    Scene,
    Split,
    allowed,
    listed,
    reserved,
)
from specviz.training.vlm_symbols import DAYS, DIGITS, LETTERS, MONTHS, spelled

LABELS = 14  # the row of the labels; bars stand on it
HIGHEST = 11.5  # cells


def chart(rng: random.Random, split: Split) -> Scene | None:
    """A bar chart; None when its combinations are of the other split."""
    printed = rng.random() < 0.7
    short = rng.random() < 0.5
    spacing = 4 if not short else 3 if printed else rng.choice((2, 3))
    count = rng.randint(3, (16 - 1) // spacing + (0 if spacing == 2 else spacing == 4))
    labels = _labels(rng, short, count)
    values = _values(rng, count)
    if values is None:
        return None
    top, low = labels[values.index(max(values))], labels[values.index(min(values))]
    if not allowed(split, [reserved(top, low), reserved(top, count)]):
        return None
    cells, bars = Cells(), []
    left = rng.randint(0, 16 - spacing * (count - 1) - (1 if short and not printed else 3))
    unit = HIGHEST / max(max(values), rng.randint(max(values), 2 * max(values)))
    wide = rng.uniform(0.7, 1.5 if spacing == 2 else 1.9)
    for i, (label, value) in enumerate(zip(labels, values, strict=True)):
        column, height = left + spacing * i, max(0.2, value * unit)
        cells.write(LABELS, column, label)
        centre = column + (0.5 if short and not printed else 1.0 if short else 1.5)
        bars.append(Bar(centre - wide / 2, wide, height, LABELS))
        if printed:
            digits = str(value)
            # The number stands over its bar, and is said beside the label.
            start = int(centre - (len(digits) - 1) / 2) if len(digits) == 1 else round(centre - 1)
            row = int(LABELS - height - 0.1) - 1
            _draw_only(cells, row, start, digits)
            cells.say(LABELS, column + 1, digits)
    cells.facts(" chart", DIGITS[count], " bars", " tallest", top, " smallest", low)
    asked = _questions(rng, labels, values, printed)
    return Scene("chart", cells.grid(), asked, tuple(cells.lines), bars=tuple(bars))


def _draw_only(cells: Cells, row: int, column: int, digits: str) -> None:
    spoken = cells.symbols[row][:]
    cells.digits(row, column, digits)
    cells.symbols[row] = spoken


def _labels(rng: random.Random, short: bool, count: int) -> list[str]:
    if short:
        if rng.random() < 0.5:
            return list(LETTERS[:count])
        return sorted(rng.sample(LETTERS, count)) if rng.random() < 0.5 else rng.sample(
            LETTERS, count
        )
    names = rng.choice((DAYS, MONTHS))
    if rng.random() < 0.3:
        return rng.sample(names, count)
    start = rng.randint(0, len(names) - count)
    return list(names[start : start + count])


def _values(rng: random.Random, count: int) -> list[int] | None:
    """Values whose largest and smallest stand apart as far as the eye needs; None without luck."""
    high = rng.choice((9, 20, 50, 99))
    values = [rng.randint(1, high) for _ in range(count)]
    ordered, apart = sorted(values), max(1.0, 0.06 * max(values))
    if ordered[-1] - ordered[-2] < apart or ordered[1] - ordered[0] < apart:
        return None
    return values


def _questions(
    rng: random.Random, labels: list[str], values: list[int], printed: bool
) -> tuple[Exchange, ...]:
    assert all(spelled(label) for label in labels)
    names = [label.strip() for label in labels]
    at_top, at_low = values.index(max(values)), values.index(min(values))
    top, low = names[at_top], names[at_low]
    with_top = f", with a value of {values[at_top]}" if printed else ""
    with_low = f", with a value of {values[at_low]}" if printed else ""
    count = NUMBERS[len(names)]
    bars = f"The chart has {count} bars: {listed(names)}."
    each = " ".join(f"{n} is {v}." for n, v in zip(names, values, strict=True))
    tall = f"The tallest bar is {top}{with_top}."
    small = f"The smallest bar is {low}{with_low}."
    asked = [
        Exchange(
            rng.choice((
                "Which bar is the tallest?", "What is the highest bar?",
                "Which label has the largest value?", "Where is the maximum of the chart?",
            )),
            f"{tall} {small} {bars}", "tallest",
            (f"tallest bar is {top}", f"smallest bar is {low}"),
        ),
        Exchange(
            rng.choice((
                "Which bar is the smallest?", "What is the lowest bar?",
                "Which label has the smallest value?", "Where is the minimum of the chart?",
            )),
            f"{small} {tall} {bars}", "smallest", (small,),
        ),
        Exchange(
            rng.choice((
                "Describe the chart.", "What does the chart show?", "Summarise this bar chart.",
                "Read the chart.",
            )),
            f"{bars} {each + ' ' if printed else ''}{tall} {small}", "chart",
            (bars, *([each] if printed else []), tall, small),
        ),
        Exchange(
            rng.choice(("How many bars are there?", "How many bars does the chart have?")),
            f"{bars} {tall} {small}", "count", (bars,),
        ),
    ]  # fmt: skip
    if printed:
        i = rng.randrange(len(names))
        asked.append(Exchange(
            rng.choice((f"What is the value of {names[i]}?", f"How high is the bar {names[i]}?")),
            f"The value of {names[i]} is {values[i]}. {tall} {small}",
            "value", (f"The value of {names[i]} is {values[i]}.",),
        ))  # fmt: skip
    return tuple(asked)
