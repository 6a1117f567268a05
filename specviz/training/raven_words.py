"""Word problems with worked solutions, in the manner of grade-school arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise

NAMES = {
    "she": [
        "Mia", "Anna", "Emma", "Lily", "Sara", "Nina", "Julia", "Rosa", "Kate", "Lucy", "Olga",
        "Tina", "Maria", "Ella", "Grace", "Betty", "Carla", "Diana", "Eva", "Fiona",
    ],
    "he": [
        "Tom", "Ben", "Jack", "Leo", "Max", "Sam", "Paul", "Oscar", "Noah", "Adam", "Peter", "Ivan",
        "Carl", "David", "Felix", "Hugo", "Ian", "John", "Kevin", "Luke",
    ],
}  # fmt: skip
ITEMS = (
    "apples", "oranges", "pencils", "books", "marbles", "stickers", "cards", "cookies", "shells",
    "stamps", "coins", "balloons", "flowers", "candies", "eggs", "toys", "buttons", "stones",
    "pears", "plums",
)  # fmt: skip
BOXES = ("boxes", "bags", "packs", "baskets", "jars")
SHOP = (
    "notebook", "pen", "toy", "cake", "sandwich", "ticket", "shirt", "cup", "ball", "lamp", "plant",
    "hat",
)  # fmt: skip


def plural(noun: str) -> str:
    """Several of what is in ``SHOP``."""
    return noun + ("es" if noun.endswith("ch") else "s")


class Story:
    """Sentences of a problem and lines of its solution, grown together."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.told: list[str] = []
        self.worked: list[str] = []
        self.pronoun = rng.choice(("she", "he"))
        self.name = rng.choice(NAMES[self.pronoun])
        self.item = rng.choice(ITEMS)

    def number(self, low: int, high: int) -> int:
        """A number between both ends."""
        return self.rng.randint(low, high)

    def other(self, *taken: str) -> str:
        """Another person's name."""
        known = (self.name, *taken)
        return self.rng.choice([n for names in NAMES.values() for n in names if n not in known])

    def finish(self, question: str, answer: int) -> tuple[str, str]:
        """Question and solution text, ending in ``#### answer``."""
        told = " ".join([*self.told, question])
        return told, "\n".join([*self.worked, f"#### {answer}"])


def possession(s: Story) -> tuple[str, str]:
    """Somebody has things; they come and go."""
    have = s.number(5, 60)
    subject = s.pronoun.capitalize()
    s.told.append(f"{s.name} has {have} {s.item}.")
    for _ in range(s.number(1, 3)):
        event = s.rng.choice(("buy", "find", "give", "lose", "pack", "double", "half"))
        if event in ("buy", "find"):
            n = s.number(2, 40)
            verb = {"buy": "buys", "find": "finds"}[event]
            s.told.append(f"{subject} {verb} {n} more {s.item}.")
            s.worked.append(f"{s.name} now has {have} + {n} = {have + n} {s.item}.")
            have += n
        elif event in ("give", "lose") and have > 3:
            n = s.number(1, have - 1)
            to = f" to {s.other()}" if event == "give" else ""
            s.told.append(f"Then {s.pronoun} {event}s {n} {s.item}{to}.")
            s.worked.append(f"{s.name} has {have} - {n} = {have - n} {s.item} left.")
            have -= n
        elif event == "pack":
            k, m = s.number(2, 9), s.number(2, 9)
            box = s.rng.choice(BOXES)
            s.told.append(f"{subject} gets {k} {box} with {m} {s.item} each.")
            s.worked.append(f"The {box} hold {k} * {m} = {k * m} {s.item}.")
            s.worked.append(f"{s.name} now has {have} + {k * m} = {have + k * m} {s.item}.")
            have += k * m
        elif event == "double" and have < 60:
            s.told.append(f"Then {s.pronoun} doubles the number of {s.item}.")
            s.worked.append(f"Doubling gives {have} * 2 = {have * 2} {s.item}.")
            have *= 2
        elif have % 2 == 0 and have > 2:
            s.told.append(f"{subject} sells half of the {s.item}.")
            s.worked.append(f"Half of them is {have} / 2 = {have // 2} {s.item}.")
            have //= 2
    if not s.worked:
        s.told.append(f"{subject} finds 2 more {s.item}.")
        s.worked.append(f"{s.name} now has {have} + 2 = {have + 2} {s.item}.")
        have += 2
    return s.finish(f"How many {s.item} does {s.name} have now?", have)


def shopping(s: Story) -> tuple[str, str]:
    """Two kinds of goods, a note, change."""
    a, b = s.rng.sample(SHOP, 2)
    many, others = plural(a), plural(b)
    k, p, m, q = s.number(2, 9), s.number(2, 9), s.number(1, 6), s.number(2, 12)
    total = k * p + m * q
    s.told.append(f"A {a} costs ${p} and a {b} costs ${q}.")
    s.told.append(f"{s.name} buys {k} {many} and {m} {others if m > 1 else b}.")
    s.worked.append(f"The {many} cost {k} * {p} = ${k * p}.")
    s.worked.append(f"The {f'{others} cost' if m > 1 else f'{b} costs'} {m} * {q} = ${m * q}.")
    s.worked.append(f"Together they cost {k * p} + {m * q} = ${total}.")
    if s.rng.random() < 0.5:
        return s.finish(f"How much does {s.name} pay?", total)
    note = next(n for n in (20, 50, 100, 150, 200) if n > total)
    s.told.append(f"{s.pronoun.capitalize()} pays with ${note}.")
    s.worked.append(f"The change is {note} - {total} = ${note - total}.")
    return s.finish(f"How much change does {s.name} get?", note - total)


def reading(s: Story) -> tuple[str, str]:
    """So much a day for some days, and what is left."""
    day, days = s.number(3, 15), s.number(2, 9)
    done = day * days
    whole = done + s.number(5, 80)
    verb, thing, work = s.rng.choice(
        (
            ("reads", "pages", "book"),
            ("solves", "problems", "workbook"),
            ("paints", "boards", "fence"),
        )
    )
    s.told.append(f"{s.name} {verb} {day} {thing} every day for {days} days.")
    s.told.append(f"The {work} has {whole} {thing}.")
    s.worked.append(f"In {days} days {s.name} {verb} {day} * {days} = {done} {thing}.")
    s.worked.append(f"There are {whole} - {done} = {whole - done} {thing} left.")
    return s.finish(f"How many {thing} are left?", whole - done)


def comparing(s: Story) -> tuple[str, str]:
    """One has so many, another more, fewer or a multiple; altogether."""
    b = s.other()
    c = s.other(b)
    have = {s.name: s.number(4, 40)}
    s.told.append(f"{s.name} has {have[s.name]} {s.item}.")
    people = [s.name, b, c][: s.number(2, 3)]
    for before, person in pairwise(people):
        n = have[before]
        way = s.rng.choice(("more", "fewer", "times"))
        if way == "more" or n < 4:
            d = s.number(2, 30)
            have[person] = n + d
            s.told.append(f"{person} has {d} more {s.item} than {before}.")
            s.worked.append(f"{person} has {n} + {d} = {n + d} {s.item}.")
        elif way == "fewer":
            d = s.number(1, n - 2)
            have[person] = n - d
            s.told.append(f"{person} has {d} fewer {s.item} than {before}.")
            s.worked.append(f"{person} has {n} - {d} = {n - d} {s.item}.")
        else:
            k, word = s.rng.choice(((2, "twice"), (3, "three times"), (4, "four times")))
            have[person] = n * k
            s.told.append(f"{person} has {word} as many {s.item} as {before}.")
            s.worked.append(f"{person} has {n} * {k} = {n * k} {s.item}.")
    total = have[people[0]]
    for person in people[1:]:
        s.worked.append(f"That makes {total} + {have[person]} = {total + have[person]} {s.item}.")
        total += have[person]
    return s.finish(f"How many {s.item} do they have altogether?", total)


def sharing(s: Story) -> tuple[str, str]:
    """An equal division, then something more."""
    friends, each = s.number(2, 9), s.number(2, 12)
    extra = s.number(1, 15)
    whole = friends * each
    s.told.append(f"{s.name} shares {whole} {s.item} equally among {friends} friends.")
    s.told.append(f"Each friend already had {extra} {s.item}.")
    s.worked.append(f"Each friend gets {whole} / {friends} = {each} {s.item}.")
    s.worked.append(f"Each friend then has {each} + {extra} = {each + extra} {s.item}.")
    return s.finish(f"How many {s.item} does each friend have now?", each + extra)


def earning(s: Story) -> tuple[str, str]:
    """Hours at a wage, minus a cost."""
    wage, hours, days = s.number(3, 12), s.number(2, 8), s.number(2, 5)
    day = wage * hours
    pay = day * days
    s.told.append(f"{s.name} earns ${wage} an hour and works {hours} hours a day.")
    s.worked.append(f"In a day {s.name} earns {wage} * {hours} = ${day}.")
    s.worked.append(f"In {days} days that is {day} * {days} = ${pay}.")
    if s.rng.random() < 0.5:
        return s.finish(f"How much does {s.name} earn in {days} days?", pay)
    cost = s.number(5, pay - 1)
    s.told.append(f"After {days} days {s.pronoun} buys a {s.rng.choice(SHOP)} for ${cost}.")
    s.worked.append(f"{s.name} has {pay} - {cost} = ${pay - cost} left.")
    return s.finish(f"How much money does {s.name} have left?", pay - cost)


def garden(s: Story) -> tuple[str, str]:
    """Rows and columns, some of them spoiled."""
    rows, per = s.number(3, 12), s.number(3, 12)
    gone = s.number(1, rows * per - 1)
    plant, place = s.rng.choice(
        (("trees", "garden"), ("seats", "hall"), ("tiles", "floor"), ("roses", "park"))
    )
    verb = {"trees": "fall", "seats": "break", "tiles": "crack", "roses": "die"}[plant]
    s.told.append(f"A {place} has {rows} rows of {plant} with {per} {plant} in each row.")
    s.told.append(f"In the winter {gone} {plant} {verb}.")
    whole, left = rows * per, rows * per - gone
    s.worked.append(f"There were {rows} * {per} = {whole} {plant}.")
    s.worked.append(f"After the winter {whole} - {gone} = {left} {plant} are left.")
    return s.finish(f"How many {plant} are left?", left)


def travelling(s: Story) -> tuple[str, str]:
    """Two legs at two speeds."""
    v, t, w, u = s.number(3, 12), s.number(2, 9), s.number(3, 12), s.number(2, 9)
    s.told.append(f"{s.name} walks {t} hours at {v} km an hour.")
    s.told.append(f"Then {s.pronoun} rides {u} hours at {w} km an hour.")
    s.worked.append(f"{s.name} walks {v} * {t} = {v * t} km.")
    s.worked.append(f"{s.name} rides {w} * {u} = {w * u} km.")
    s.worked.append(f"Altogether that is {v * t} + {w * u} = {v * t + w * u} km.")
    return s.finish(f"How far does {s.name} go?", v * t + w * u)


STORIES: tuple[Callable[[Story], tuple[str, str]], ...] = (
    possession,
    possession,
    shopping,
    reading,
    comparing,
    comparing,
    sharing,
    earning,
    garden,
    travelling,
)


def problem(rng: random.Random) -> tuple[str, str]:
    """One problem and its worked solution, ending in ``#### answer``."""
    return rng.choice(STORIES)(Story(rng))
