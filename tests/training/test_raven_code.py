"""Generated functions run, and do what the request says."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from specviz.training import raven_code

# Arguments and result for each function that is listed by name.
EXAMPLES: dict[str, tuple[tuple[Any, ...], Any]] = {
    "rectangle_area": ((3, 4), 12),
    "rectangle_perimeter": ((3, 4), 14),
    "square_area": ((5,), 25),
    "triangle_area": ((6, 4), 12),
    "box_volume": ((2, 3, 4), 24),
    "average": ((3, 8), 5.5),
    "add": ((3, 8), 11),
    "subtract": ((3, 8), -5),
    "multiply": ((3, 8), 24),
    "larger": ((3, 8), 8),
    "smaller": ((3, 8), 3),
    "distance": ((60, 2), 120),
    "minutes_to_seconds": ((3,), 180),
    "hours_to_minutes": ((3,), 180),
    "days_to_hours": ((3,), 72),
    "discounted": ((80, 25), 60),
    "to_fahrenheit": ((100,), 212),
    "count_words": (("the light  house",), 3),
    "reverse_text": (("light",), "thgil"),
    "upper": (("Sea",), "SEA"),
    "lower": (("Sea",), "sea"),
    "first_letter": (("sea",), "s"),
    "last_letter": (("sea",), "a"),
    "text_length": (("the sea",), 7),
    "no_spaces": (("a b c",), "abc"),
    "last_item": (([4, 9, 2],), 2),
    "sorted_list": (([4, 9, 2],), [2, 4, 9]),
    "count_unique": (([4, 9, 4],), 2),
    "factorial": ((5,), 120),
    "digit_sum": ((2048,), 14),
    "count_vowels": (("lighthouse",), 4),
    "fibonacci": ((10,), 55),
    "gcd": ((12, 18), 6),
    "longest_word": (("the old lighthouse stands",), "lighthouse"),
    "count_letters": (("aba",), {"a": 2, "b": 1}),
    "find_index": (([4, 9, 2], 9), 1),
    "words_starting_with": ((["sea", "light", "sand"], "s"), ["sea", "sand"]),
    "is_even": ((7,), False),
    "is_odd": ((7,), True),
    "is_palindrome": (("level",), True),
    "is_empty": (([],), True),
    "contains": (("the light house", "light"), True),
    "same_length": (("sea", "ice"), True),
}
KEEP: dict[str, Callable[[int, int], bool]] = {
    "even numbers": lambda n, k: not n & 1,
    "odd numbers": lambda n, k: bool(n & 1),
    "positive numbers": lambda n, k: n >= 1,
    "negative numbers": lambda n, k: n <= -1,
    "numbers greater than": lambda n, k: n - k >= 1,
    "numbers less than": lambda n, k: k - n >= 1,
    "numbers divisible by": lambda n, k: n in range(-k * 99, k * 99, k),
    "numbers equal to": lambda n, k: not n - k,
    "numbers": lambda n, k: True,
}
CHANGE: dict[str, Callable[[int], float]] = {
    "squares": lambda n: n**2,
    "cubes": lambda n: n**3,
    "doubles": lambda n: n + n,
    "halves": lambda n: n * 0.5,
    "absolute values": lambda n: max(n, -n),
    "": lambda n: n,
}
REDUCE: dict[str, Callable[[list[float]], Any]] = {
    "sum": sum,
    "number": len,
    "list": list,
    "largest": lambda rows: sorted(rows)[-1],
}
SENTENCE = re.compile(
    r"the (sum|number|list|largest) of the (?:(squares|cubes|doubles|halves|absolute values) of "
    r"the )?((?:\w+ )?numbers(?: greater than| less than| divisible by| equal to)?)(?: (\d+))? "
    r"in a list"
)


def run(code: str) -> tuple[str, Callable[..., Any]]:
    space: dict[str, Any] = {}
    exec(code, space)
    (name,) = (n for n in space if n != "__builtins__")
    return name, space[name]


def requests(count: int = 3000) -> list[tuple[str, str]]:
    rng = random.Random(4)
    return [raven_code.function(rng) for _ in range(count)]


def test_every_listed_function_gives_the_known_result() -> None:
    seen = set()
    for _, code in requests():
        name, made = run(code)
        if name in EXAMPLES:
            arguments, result = EXAMPLES[name]
            assert made(*arguments) == result, code
            seen.add(name)
    listed = {row[1] for row in (*raven_code.SCALARS, *raven_code.LOOPS, *raven_code.CHECKS)}
    assert listed - seen == {"is_divisible", "is_large"}, "these take a number from the request"


def test_functions_over_lists_do_what_their_docstring_says() -> None:
    kinds = set()
    for _, code in requests():
        _, made = run(code)
        match = SENTENCE.search(str(made.__doc__))
        if match is None:
            continue
        lead, of, some, k = match[1], match[2] or "", match[3], int(match[4] or 0)
        data = [*range(-9, 60), k]
        wanted = REDUCE[lead]([CHANGE[of](n) for n in data if KEEP[some](n, k)])
        assert made(data) == wanted, code
        kinds.add((lead, of, some))
    assert len(kinds) > 100


def test_numbers_in_a_request_stand_in_the_code() -> None:
    seen = set()
    for _, code in requests():
        name, made = run(code)
        said = str(made.__doc__)
        numbers = [int(n) for n in re.findall(r"\d+", said)]
        if name.startswith("times_"):
            wanted = 7 * numbers[0] + numbers[1] * (1 if " plus " in said else -1)
            assert made(7) == wanted, code
        elif name == "is_divisible":
            assert [made(numbers[0] * 3), made(numbers[0] * 3 + 1)] == [True, False], code
        elif name == "is_large":
            assert [made(numbers[0] + 1), made(numbers[0])] == [True, False], code
        else:
            continue
        seen.add(name.split("_")[1])
    assert {"divisible", "large", "2", "30"} <= seen


def test_the_request_and_the_docstring_say_the_same() -> None:
    named = 0
    for ask, code in requests(500):
        name, made = run(code)
        what = str(made.__doc__).removeprefix("Return ").removesuffix(".")
        assert what in ask
        if ask.startswith("Write a function "):
            assert ask == f"Write a function {name} that returns {what}."
            named += 1
    assert named > 50
