"""Boards whose character cells are the cells of the picture: departures, scores, words, codes."""

from __future__ import annotations

import random
from dataclasses import dataclass

from specviz.training.vlm_scenes import (
    GRID,
    NUMBERS,
    Cells,
    Exchange,
    Scene,
    Split,
    allowed,
    listed,
    reserved,
)
from specviz.training.vlm_symbols import (
    DIGITS,
    PLACES,
    STATES,
    TEAMS,
    spelled,
)


@dataclass(frozen=True)
class Departure:
    """One line of a departure board."""

    time: str
    place: str
    platform: str
    state: str

    def said(self) -> str:
        """The line as a sentence without its full stop."""
        where = f" from platform {self.platform}" if self.platform else ""
        state = f", {self.state}" if self.state else ""
        return f"{self.time} to {self.place}{where}{state}"


def departures(rng: random.Random, split: Split) -> Scene | None:
    """A departure board with times in order; None when its combinations are of the other split."""
    count = rng.randint(2, 6)
    minutes = sorted(rng.sample(range(0, 24 * 60, rng.choice((1, 5))), count))
    platforms, states = rng.random() < 0.8, rng.random() < 0.4
    longest = 8 if platforms else 10
    names = rng.sample([p for p in PLACES if len(spelled(p)) <= longest], count)
    found = []
    for minute, name in zip(minutes, names, strict=True):
        wide = platforms and len(spelled(name)) <= 7 and rng.random() < 0.3
        platform = str(rng.randint(10, 29) if wide else rng.randint(1, 9)) if platforms else ""
        if platforms and rng.random() < 0.1:
            platform = rng.choice("ABCDEF")
        state = rng.choice(STATES).strip() if states and rng.random() < 0.5 else ""
        time = f"{minute // 60:02}:{minute % 60:02}"
        found.append(Departure(time, name.strip(), platform, state))
    if not allowed(split, [reserved(d.place, d.time[:2]) for d in found]):
        return None
    return _departure_scene(rng, found, platforms, states)


def _departure_scene(
    rng: random.Random, found: list[Departure], platforms: bool, states: bool
) -> Scene:
    cells = Cells()
    step = 2 if states or (len(found) < 6 and rng.random() < 0.6) else 1
    row = rng.randint(0, 14 - step * (len(found) - 1) - (1 if states else 0))
    for each in found:
        cells.digits(row, 0, each.time)
        cells.write(row, 6, f" {each.place}")
        if each.platform.isdigit():
            cells.digits(row, GRID - len(each.platform), each.platform)
        elif each.platform:
            cells.write(row, GRID - 1, f" {each.platform}")
        if each.state:
            cells.write(row + 1, 6, f" {each.state}")
        row += step
    cells.facts(" board", DIGITS[len(found)], " lines")
    asked = _departure_questions(rng, found, platforms)
    return Scene("departures", cells.grid(), asked, tuple(cells.lines))


def _departure_questions(
    rng: random.Random, found: list[Departure], platforms: bool
) -> tuple[Exchange, ...]:
    one = rng.choice(found)
    where = f" It leaves from platform {one.platform}." if platforms else ""
    state = f" It is {one.state}." if one.state else ""
    rest = [d for d in found if d is not one]
    others = f" The others go to {listed([d.place for d in rest])}." if rest else ""
    every = " ".join(f"The {d.said()}." for d in found)
    first, last = found[0], found[-1]
    late = [d for d in found if d.state]
    asked = [
        Exchange(
            rng.choice((
                f"When does the train to {one.place} leave?",
                f"What time is the departure to {one.place}?",
                f"I want to go to {one.place}. When do I leave?",
                f"At what time can I leave for {one.place}?",
            )),
            f"The departure to {one.place} is at {one.time}.{where}{state}{others}",
            "time",
            (one.time, *([f"platform {one.platform}"] if platforms else [])),
        ),
        Exchange(
            rng.choice((
                "What is the next departure?",
                "Which train leaves first?",
                "Where does the first departure go?",
                "What leaves next, and what leaves last?",
            )),
            f"The next departure is the {first.said()}. The last one is the {last.said()}. There "
            f"are {NUMBERS[len(found)]} departures on the board.",
            "next",
            (first.said(), last.said()),
        ),
        Exchange(
            rng.choice((
                "What does the board say?",
                "Read the departure board.",
                "List every departure.",
                "Describe the board line by line.",
                "Which departures are on the board?",
            )),
            f"The board shows {NUMBERS[len(found)]} departures. {every}",
            "lines",
            tuple(d.said() for d in found),
        ),
        Exchange(
            rng.choice((
                "Which departures are late or cancelled?",
                "Is anything delayed?",
                "Is there a problem with any departure?",
            )),
            (" ".join(f"The {d.time} to {d.place} is {d.state}." for d in late)
             if late else "No departure has a remark.")
            + f" The board lists {listed([d.place for d in found])}.",
            "states",
            tuple(f"The {d.time} to {d.place} is {d.state}" for d in late),
        ),
    ]  # fmt: skip
    if platforms:
        other = rng.choice(found)
        asked.append(Exchange(
            rng.choice((
                f"Which platform does the {other.time} leave from?",
                f"Where does the {other.time} go, and from which platform?",
                f"What do you know about the {other.time}?",
            )),
            f"The {other.time} goes to {other.place} from platform {other.platform}."
            + (f" It is {other.state}." if other.state else "")
            + f" The board lists {listed([d.place for d in found])}.",
            "platform",
            (f"{other.place} from platform {other.platform}",),
        ))  # fmt: skip
    return tuple(asked)


def scores(rng: random.Random, split: Split) -> Scene | None:
    """A scoreboard of two sides; None when its combinations are of the other split."""
    pool = [s for s in (*PLACES, *TEAMS) if len(spelled(s)) <= 12]
    left, right = rng.sample(pool, 2)
    high = rng.choice((6, 30, 99))
    a, b = rng.randint(0, high), rng.randint(0, high)
    if not allowed(split, [reserved(left, a % 10), reserved(right, b % 10)]):
        return None
    cells, row, gap = Cells(), rng.randint(0, 10), rng.randint(1, 4)
    indent = rng.randint(0, 1)
    edge = rng.randint(14, 15)
    for name, points in ((left, a), (right, b)):
        cells.write(row, indent if len(spelled(name)) <= 12 else 0, name)
        cells.digits(row, edge - len(str(points)) + 1, str(points))
        row += gap
    x, y = left.strip(), right.strip()
    if a == b:
        cells.facts(" score", " draw")
        verdict = f"It is a draw: both have {a}."
    else:
        best, most, worst, least = (x, a, y, b) if a > b else (y, b, x, a)
        cells.facts(" score", " winner", f" {best}")
        verdict = f"{best} is the winner with {most} against {least} for {worst}."
    total = f"The scoreboard shows {x} with {a} and {y} with {b}."
    asked = (
        Exchange(
            rng.choice((
                "What is the score?", "What does the scoreboard say?", "Read the scoreboard.",
                "How does the game stand?",
            )),
            f"{total} {verdict}", "score", (f"{x} with {a}", f"{y} with {b}"),
        ),
        Exchange(
            rng.choice((
                "Who is winning?", "Which side leads?", "Who is ahead, and by what score?",
                "Is there a winner?",
            )),
            f"{verdict} {total}", "winner", (verdict,),
        ),
        Exchange(
            rng.choice((f"How many points has {x}?", f"What is the score of {x}?")),
            f"{x} has {a}. The other side, {y}, has {b}. {verdict}",
            "points", (f"{x} has {a}", f"{y}, has {b}"),
        ),
    )  # fmt: skip
    return Scene("scores", cells.grid(), asked, tuple(cells.lines))
