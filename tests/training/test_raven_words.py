"""Every line of a worked solution is right, from numbers that were given or found before."""

from __future__ import annotations

import random
import re
from fractions import Fraction

import pytest

from specviz.training import raven_words

LINE = re.compile(r"(\d+) ([-+*/]) (\d+) = \$?(\d+)")
WORDS = {"twice": 2, "double": 2, "half": 2, "three times": 3, "four times": 4}
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: Fraction(a, b),
}


@pytest.mark.parametrize("story", sorted({s.__name__ for s in raven_words.STORIES}))
def test_each_line_follows_from_what_is_known(story: str) -> None:
    rng = random.Random(story)
    for _ in range(200):
        question, solution = getattr(raven_words, story)(raven_words.Story(rng))
        *worked, last = solution.split("\n")
        known = {int(n) for n in re.findall(r"\d+", question)}
        known |= {n for word, n in WORDS.items() if word in question}
        result = None
        for line in worked:
            ((a, sign, b, result),) = LINE.findall(line)
            assert {int(a), int(b)} <= known, f"{line!r} uses what nobody told"
            assert OPERATIONS[sign](int(a), int(b)) == int(result) > 0
            known.add(int(result))
        assert last == f"#### {result}"


def test_everybody_in_a_comparison_is_somebody_else() -> None:
    for seed in range(300):
        made = raven_words.Story(random.Random(seed))
        second = made.other()
        assert len({made.name, second, made.other(second)}) == 3


def test_goods_have_their_plurals() -> None:
    assert list(map(raven_words.plural, ("pen", "sandwich"))) == ["pens", "sandwiches"]


def test_a_problem_reads_like_one() -> None:
    question, solution = raven_words.problem(random.Random(5))
    assert question == (
        "Ivan walks 9 hours at 3 km an hour. Then he rides 2 hours at 6 km an hour. "
        "How far does Ivan go?"
    )
    assert solution == (
        "Ivan walks 3 * 9 = 27 km.\nIvan rides 6 * 2 = 12 km.\n"
        "Altogether that is 27 + 12 = 39 km.\n#### 39"
    )
