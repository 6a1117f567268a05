"""Composed tasks have the answers that an independent reading of their questions finds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

from specviz.training.raven_tasks import MAKERS, Task, arithmetic

PAIRS = {"x": {"1", "2"}, "y": {"2", "3"}, "z": {"1", "3"}}


def made(kind: str) -> Iterator[Task]:
    rng = random.Random(kind)
    for _ in range(300):
        yield MAKERS[kind](rng, rng.randint(2, 10), rng.randint(3, 8))


def rows(task: Task, title: str) -> list[str]:
    """The rows of a question; answers echo them and steps are counted from the deepest on."""
    head, body = task.question.split("\n")
    assert head == title
    asked = body.split(";")
    assert task.reply == ";".join(f"{r}={a}" for r, a in zip(asked, task.answers, strict=True))
    assert list(task.depths) == sorted(task.depths, reverse=True), "the deepest comes first"
    return asked


def test_balls_are_where_three_cups_that_are_swapped_leave_them() -> None:
    """A row of things under cups is shuffled as a whole; the ball is where it ends up."""
    for task in made("cups"):
        for row, answer, steps in zip(rows(task, "Cups:"), task.answers, task.depths, strict=True):
            start, *names = row.split()
            under = {place: place == start for place in "123"}
            for name in names:
                one, other = sorted(PAIRS[name])
                under[one], under[other] = under[other], under[one]
            assert [place for place, ball in under.items() if ball] == [answer]
            assert steps == len(names)


def test_sums_are_what_python_computes() -> None:
    for task in made("sums"):
        for row, answer, steps in zip(
            rows(task, "Sum modulo 5:"), task.answers, task.depths, strict=True
        ):
            digits = [int(digit) for digit in row.split()]
            assert sum(digits) % 5 == int(answer)
            assert steps == len(digits) - 1


def test_steps_are_one_to_the_longest_and_all_lengths_occur() -> None:
    for maker in MAKERS.values():
        rng = random.Random(5)
        seen = {steps for _ in range(60) for steps in maker(rng, 7, 5).depths}
        assert seen == set(range(1, 8))


def test_arithmetic_is_right_and_whole() -> None:
    rng = random.Random("arithmetic")
    signs = set()
    for _ in range(300):
        question, reply = arithmetic(rng, 4)
        asked, told = question.removeprefix("Work out:\n").split("; "), reply.split("; ")
        assert len(asked) == len(told) == 4
        for task, line in zip(asked, told, strict=True):
            a, sign, b = task.split()
            value = {
                "+": Fraction(a) + Fraction(b), "-": Fraction(a) - Fraction(b),
                "*": Fraction(a) * Fraction(b), "/": Fraction(a) / Fraction(b),
            }[sign]  # fmt: skip
            signs.add(sign)
            assert line == f"{task} = {value}" and value > 0
    assert signs == set("+-*/")
