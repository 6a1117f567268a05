"""Composed tasks: one token answers a question that takes several dependent steps.

Nothing between question and answer is written out, so the steps have to happen in depth. (With
:func:`worked` they are: single steps are learned there.) Three kinds: ``chain`` (sums modulo 10,
each naming an earlier one), ``places`` (where a thing is, through containers told in any order) and
``nested`` (brackets modulo 10, under names).
"""

from __future__ import annotations

import random
from dataclasses import dataclass

LETTERS = "abcdefghijklmnopqrstuvwxyz"
THINGS = (
    "key", "coin", "ring", "card", "note", "stamp", "button", "pearl", "seed", "bean", "shell",
    "stone", "pin", "bell", "ticket", "map", "candle", "cup", "box", "bag", "jar", "basket",
    "drawer", "chest", "cabinet", "trunk", "closet", "van", "tent", "crate", "sack", "pot", "bowl",
    "case", "tin", "barrel", "bucket", "wallet", "purse", "pocket", "shed", "cart", "boat", "truck",
    "wagon",
)  # fmt: skip
ROOMS = ("kitchen", "garden", "garage", "attic", "cellar", "hall", "office", "barn")
OPERATORS = {"+": lambda a, b: (a + b) % 10, "-": lambda a, b: (a - b) % 10}


@dataclass(frozen=True)
class Task:
    """A question whose answers are ``answers``; answer i takes ``depths[i]`` dependent steps.

    ``marks`` is what stands before each answer, so that ``reply`` is marks and answers in turn.
    """

    kind: str
    question: str
    marks: tuple[str, ...]
    answers: tuple[str, ...]
    depths: tuple[int, ...]

    @property
    def reply(self) -> str:
        """The whole answer text."""
        return "".join(m + a for m, a in zip(self.marks, self.answers, strict=True))


@dataclass(frozen=True)
class Sums:
    """Names defined one by one, ``lines`` as asked and ``worked`` out, with value and steps."""

    lines: tuple[str, ...]
    worked: tuple[str, ...]
    values: dict[str, int]
    depths: dict[str, int]


def sums(rng: random.Random, longest: int) -> Sums:
    """A few digits, then names that each take an earlier one, up to ``longest`` of them."""
    roots, copied = rng.randint(2, 4), rng.random()  # some tasks only pass values on
    names = rng.sample(LETTERS, roots + rng.randint(max(1, longest // 2), longest))
    values = dict(zip(names, rng.sample(range(10), roots), strict=False))
    depths = dict.fromkeys(names[:roots], 0)
    lines = [f"{name}={values[name]}" for name in names[:roots]]
    worked = list(lines)
    for i, name in enumerate(names[roots:], roots):
        # Mostly the line before: long chains are rare when the earlier name is drawn evenly.
        earlier = names[i - 1] if rng.random() < 0.6 else rng.choice(names[:i])
        depths[name] = depths[earlier] + 1
        if rng.random() < copied:
            values[name] = values[earlier]
            lines.append(f"{name}={earlier}")
            worked.append(f"{name}={values[name]}")
            continue
        digit, sign = rng.randint(1, 9), rng.choice("+-")
        values[name] = OPERATORS[sign](values[earlier], digit)
        lines.append(f"{name}={earlier}{sign}{digit}")
        worked.append(f"{name}={values[earlier]}{sign}{digit}={values[name]}")
    return Sums(tuple(lines), tuple(worked), values, depths)


def chain(rng: random.Random, longest: int, queries: int) -> Task:
    """Sums modulo 10: ``a=3;b=a+4;c=b;d=c-2``; asked for several of the names.

    ``longest``: names that are not given outright.
    """
    given = sums(rng, longest)
    asked = _deepest_first(rng, list(given.values), given.depths, queries)
    return Task(
        "chain",
        f"Modulo 10:\n{';'.join(given.lines)}\nGive:\n{','.join(asked)}",
        tuple(f"{';' if i else ''}{name}=" for i, name in enumerate(asked)),
        tuple(str(given.values[name]) for name in asked),
        tuple(given.depths[name] for name in asked),
    )


def worked(rng: random.Random, longest: int) -> tuple[str, str]:
    """The same sums with every step written out: request and answer."""
    given = sums(rng, longest)
    lines = ";".join(given.lines)
    return f"Modulo 10, step by step:\n{lines}", ";".join(given.worked)


def places(rng: random.Random, longest: int, queries: int) -> Task:
    """Containers in any order: the key is in the box, the box is in the van, the van … Where?"""
    rooms = rng.sample(ROOMS, 4)
    things = rng.sample(THINGS, len(rooms) + rng.randint(max(1, longest // 2), longest))
    holder, room = dict(zip(things, rooms, strict=False)), dict(zip(things, rooms, strict=False))
    depths = dict.fromkeys(things[: len(rooms)], 1)
    for i, thing in enumerate(things[len(rooms) :], len(rooms)):
        outer = things[i - 1] if rng.random() < 0.6 else rng.choice(things[:i])
        holder[thing], room[thing], depths[thing] = outer, room[outer], depths[outer] + 1
    told = list(things)
    rng.shuffle(told)
    asked = _deepest_first(rng, things, depths, queries)
    text = " ".join(f"The {t} is in the {holder[t]}." for t in told)
    return Task(
        "places",
        f"{text} In which rooms are the {', '.join(asked)}?",
        tuple(f"{'; the' if i else 'The'} {name}:" for i, name in enumerate(asked)),
        tuple(f" {room[name]}" for name in asked),
        tuple(depths[name] for name in asked),
    )


def nested(rng: random.Random, longest: int, queries: int) -> Task:
    """Brackets modulo 10, each under a name: ``k=((3+4)-(2+9))``."""

    def build(size: int) -> tuple[str, int, int]:
        if size == 0:
            digit = rng.randint(0, 9)
            return str(digit), digit, 0
        left = size - 1 if rng.random() < 0.6 else rng.randint(0, size - 1)
        a, b = build(left), build(size - 1 - left)
        if rng.random() < 0.3:
            a, b = b, a
        sign = rng.choice("+-")
        return f"({a[0]}{sign}{b[0]})", OPERATORS[sign](a[1], b[1]), 1 + max(a[2], b[2])

    names = rng.sample(LETTERS, min(queries, 5))
    rows = {name: build(rng.randint(1, max(1, longest // 2))) for name in names}
    asked = _deepest_first(rng, names, {n: r[2] for n, r in rows.items()}, queries)
    return Task(
        "nested",
        f"Modulo 10:\n{';'.join(f'{n}={r[0]}' for n, r in rows.items())}\nGive:\n{','.join(asked)}",
        tuple(f"{';' if i else ''}{name}=" for i, name in enumerate(asked)),
        tuple(str(rows[name][1]) for name in asked),
        tuple(rows[name][2] for name in asked),
    )


def _deepest_first(
    rng: random.Random, names: list[str], depths: dict[str, int], count: int
) -> list[str]:
    """The deepest name, then others: asked later, it could be read off earlier answers."""
    deepest = max(names, key=lambda n: depths[n])
    others = [n for n in names if n != deepest]
    rng.shuffle(others)
    return [deepest, *sorted(others[: count - 1], key=lambda n: -depths[n])]


MAKERS = {"chain": chain, "places": places, "nested": nested}
