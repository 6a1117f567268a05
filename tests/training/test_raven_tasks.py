"""Composed tasks have the answers that an independent reading of their questions finds."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from specviz.training.raven_tasks import MAKERS, Task, worked


def made(kind: str) -> Iterator[Task]:
    rng = random.Random(kind)
    for _ in range(300):
        yield MAKERS[kind](rng, rng.randint(2, 10), rng.randint(3, 8))


def asked(question: str) -> list[str]:
    return question.rsplit("Give:\n", 1)[1].split(",")


def assignments(question: str) -> dict[str, str]:
    lines = question.removeprefix("Modulo 10:\n").split("\nGive:")[0].split(";")
    return dict(line.split("=") for line in lines)


def steps(name: str, rows: dict[str, str]) -> int:
    """References that have to be followed one after the other."""
    return max((1 + steps(n, rows) for n in re.findall("[a-z]", rows[name])), default=0)


def test_sums_are_what_python_computes() -> None:
    for task in made("chain"):
        rows = assignments(task.question)
        known: dict[str, int] = {}
        for name, text in rows.items():  # told in an order in which every name is known
            known[name] = eval(text, {}, dict(known)) % 10
        names = asked(task.question)
        assert task.reply == ";".join(f"{n}={known[n]}" for n in names)
        assert task.depths == tuple(steps(n, rows) for n in names)
        assert task.depths[0] == max(steps(n, rows) for n in rows), "the deepest comes first"


def test_worked_sums_put_the_earlier_value_in_and_end_in_the_next() -> None:
    rng = random.Random("worked")
    for _ in range(300):
        question, reply = worked(rng, rng.randint(2, 10))
        rows = assignments(question.replace(", step by step", ""))
        known: dict[str, int] = {}
        expected = []
        for name, text in rows.items():
            known[name] = eval(text, {}, dict(known)) % 10
            named = re.search("[a-z]", text)
            put = text if named is None else text.replace(named[0], str(known[named[0]]))
            expected.append(f"{name}={put}" + (f"={known[name]}" if len(put) > 1 else ""))
        assert reply == ";".join(expected)


def test_brackets_are_what_python_computes() -> None:
    for task in made("nested"):
        rows, names = assignments(task.question), asked(task.question)
        assert task.reply == ";".join(f"{n}={eval(rows[n]) % 10}" for n in names)
        for name, depth in zip(names, task.depths, strict=True):
            open_, deepest = 0, 0
            for mark in rows[name]:
                open_ += {"(": 1, ")": -1}.get(mark, 0)
                deepest = max(deepest, open_)
            assert depth == deepest
        assert list(task.depths) == sorted(task.depths, reverse=True)


def test_things_are_where_their_containers_lead() -> None:
    for task in made("places"):
        told, question = task.question.split(" In which rooms are the ")
        inside = dict(re.findall(r"The (\w+) is in the (\w+)\.", told))
        said, depths = [], []
        for name in question.removesuffix("?").split(", "):
            place, depth = name, 0
            while place in inside:
                place, depth = inside[place], depth + 1
            said.append(f"the {name}: {place}")
            depths.append(depth)
        assert task.reply == "T" + "; ".join(said)[1:]
        assert task.depths == tuple(depths)
        assert depths[0] == max(depths), "the deepest comes first"
