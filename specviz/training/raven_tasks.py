"""Composed tasks: one token answers a question that takes several dependent steps.

Nothing between question and answer is written out, so the steps have to happen in depth. Two kinds:
``cups`` (a shell game with three cups) and ``sums`` (digits added up modulo 5). Both have few facts
a step, a token for each, side by side: sums modulo 10 and rows that name each other stayed at
chance in short runs. :func:`arithmetic` is a single step with larger numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

SWAPS = {"x": (1, 2), "y": (2, 3), "z": (1, 3)}
"""Which two cups a letter exchanges."""
MODULUS = 5


@dataclass(frozen=True)
class Task:
    """A question whose answers are ``answers``; answer i takes ``depths[i]`` dependent steps.

    ``marks`` is what stands before each answer, so that ``reply`` is marks and answers in turn.
    ``notes`` are places in ``question`` (where a step ends, in characters) and the value there.
    """

    kind: str
    question: str
    marks: tuple[str, ...]
    answers: tuple[str, ...]
    depths: tuple[int, ...]
    notes: tuple[tuple[int, str], ...] = ()

    @property
    def reply(self) -> str:
        """The whole answer text."""
        return "".join(m + a for m, a in zip(self.marks, self.answers, strict=True))


@dataclass(frozen=True)
class Row:
    """One row of a task as its parts, the given value and then steps, and the value after each."""

    parts: tuple[str, ...]
    values: tuple[int, ...]

    @property
    def text(self) -> str:
        """The row as it is asked."""
        return "".join(self.parts)

    @property
    def steps(self) -> int:
        """Steps to the last value."""
        return len(self.parts) - 1


def cups_row(rng: random.Random, steps: int) -> Row:
    """``2 x y z``: a ball under cup 2, three swaps; the value is the cup it ends under."""
    at = [rng.randint(1, 3)]
    names = rng.choices(list(SWAPS), k=steps)
    for name in names:
        one, other = SWAPS[name]
        at.append({one: other, other: one}.get(at[-1], at[-1]))
    return Row((str(at[0]), *(f" {name}" for name in names)), tuple(at))


def sums_row(rng: random.Random, steps: int) -> Row:
    """``3 4 2``: digits to add up; the value is their sum modulo 5."""
    values = [rng.randrange(MODULUS)]
    digits = rng.choices(range(1, MODULUS), k=steps)
    for digit in digits:
        values.append((values[-1] + digit) % MODULUS)
    return Row((str(values[0]), *(f" {digit}" for digit in digits)), tuple(values))


def _task(
    kind: str, title: str, row: Callable[[random.Random, int], Row]
) -> Callable[[random.Random, int, int], Task]:
    def maker(rng: random.Random, longest: int, queries: int) -> Task:
        lengths = [rng.randint(1, longest) for _ in range(queries)]
        rows = [row(rng, steps) for steps in sorted(lengths, reverse=True)]  # the deepest first
        notes, at = list[tuple[int, str]](), len(title)
        for r in rows:
            at += 1  # the line break or semicolon before the row
            for part, value in zip(r.parts, r.values, strict=True):
                at += len(part)
                notes.append((at, str(value)))
        return Task(
            kind,
            f"{title}\n{';'.join(r.text for r in rows)}",
            tuple(f"{';' if i else ''}{r.text}=" for i, r in enumerate(rows)),
            tuple(str(r.values[-1]) for r in rows),
            tuple(r.steps for r in rows),
            tuple(notes),
        )

    return maker


MAKERS = {
    "cups": _task("cups", "Cups:", cups_row),
    "sums": _task("sums", f"Sum modulo {MODULUS}:", sums_row),
}
"""Task of a kind from a generator, the longest row in steps, and the count of rows."""


def arithmetic(rng: random.Random, rows: int) -> tuple[str, str]:
    """Request and answer: single steps as word problems need them, ``12 * 8 = 96`` each."""
    asked, found = [], []
    for sign in rng.choices("+-*/", k=rows):
        if sign == "+":
            a, b = rng.randint(2, 150), rng.randint(2, 99)
            value = a + b
        elif sign == "-":
            a = rng.randint(3, 200)
            b = rng.randint(1, a - 1)
            value = a - b
        elif sign == "*":
            a, b = rng.randint(2, rng.choice((12, 20, 96))), rng.randint(2, 9)
            value = a * b
        else:
            value, b = rng.randint(2, 30), rng.randint(2, 9)
            a = value * b
        asked.append(f"{a} {sign} {b}")
        found.append(f"{a} {sign} {b} = {value}")
    return f"Work out:\n{'; '.join(asked)}", "; ".join(found)
