"""Short texts of invented facts, with requests about them: sum up, find, rewrite, copy.

Answers to these repeat much of the prompt, which is what a drafter should learn to see.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from specviz.training.eagle_prompts_lists import LISTS

FIRMS = (
    "Nordlight",
    "Blue Harbor",
    "Quanta",
    "Pine & Co",
    "Solaris",
    "Redwood",
    "Kestrel",
    "Lumen",
)
GOODS = (
    "lamps",
    "bicycles",
    "tea",
    "printers",
    "chairs",
    "sensors",
    "boots",
    "maps",
    "soap",
    "toys",
)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CITIES, ANIMALS, PEOPLE = LISTS["city"], LISTS["animal"], LISTS["person"]
NAMES, FOODS, PLACES = LISTS["name"], LISTS["food"], LISTS["place"]


@dataclass(frozen=True)
class Passage:
    """A text, and questions that it answers."""

    text: str
    questions: tuple[str, ...]


def _firm(rng: random.Random) -> Passage:
    firm, goods, other = rng.choice(FIRMS), *rng.sample(GOODS, 2)
    city, second = rng.sample(CITIES, 2)
    year, staff, share = rng.randint(1921, 2015), rng.randint(12, 900), rng.randint(4, 70)
    facts = [
        f"{firm} was founded in {year} in {city}.",
        f"The company makes {goods} and employs {staff} people.",
        f"Last year its sales grew by {share} percent.",
        f"In {rng.choice(MONTHS)} it opened a second factory in {second}.",
        f"Its director, {rng.choice(NAMES)}, wants to sell {other} as well.",
        f"Critics say that the {goods} are too expensive.",
    ]
    questions = (
        f"When was {firm} founded?", f"How many people work at {firm}?",
        "Where is the second factory?", f"What does {firm} make?",
    )  # fmt: skip
    return Passage(_pick(rng, facts), questions)


def _day(rng: random.Random) -> Passage:
    name, friend = rng.sample(NAMES, 2)
    city, food = rng.choice(CITIES), rng.choice(FOODS)
    facts = [
        f"On {rng.choice(DAYS)} {name} took the train to {city} at {rng.randint(5, 11)} o'clock.",
        f"The weather was {rng.choice(('cold', 'sunny', 'windy', 'rainy', 'hot'))} and the train "
        f"was {rng.randint(5, 90)} minutes late.",
        f"At the station {friend} was waiting with a {rng.choice(ANIMALS)}.",
        f"They had {food} for lunch and paid {rng.randint(8, 80)} dollars.",
        f"In the afternoon they visited {rng.choice(PLACES)}.",
        f"{name} lost a {rng.choice(LISTS['thing'])} on the way home.",
    ]
    questions = (
        f"Where did {name} go?", f"Who was waiting for {name}?", "What did they eat?",
        "How late was the train?",
    )  # fmt: skip
    return Passage(_pick(rng, facts), questions)


def _report(rng: random.Random) -> Passage:
    animal, city = rng.choice(ANIMALS), rng.choice(CITIES)
    count, hours = rng.randint(20, 400), rng.randint(3, 19)
    facts = [
        f"Scientists from {city} watched {count} animals of one kind, the {animal}, for "
        f"{rng.randint(2, 9)} years.",
        f"They found that a {animal} sleeps about {hours} hours a day.",
        f"Young animals stay with their mother for {rng.randint(2, 30)} months.",
        f"Most of them were seen in {rng.choice(MONTHS)}.",
        f"The study was paid for by {rng.choice(FIRMS)}.",
        f"The team, led by {rng.choice(NAMES)}, plans to go on until {rng.randint(2027, 2040)}.",
    ]
    questions = (
        f"How long does a {animal} sleep?", "Who led the team?", "How many animals were watched?",
        "Who paid for the study?",
    )  # fmt: skip
    return Passage(_pick(rng, facts), questions)


def _notice(rng: random.Random) -> Passage:
    what = rng.choice(("library", "swimming pool", "museum", "market", "cinema", "town hall"))
    day, other = rng.sample(DAYS, 2)
    opens = rng.randint(7, 11)
    facts = [
        f"The {what} in {rng.choice(CITIES)} is closed on {day} and {other}.",
        f"On all other days it opens at {opens} and closes at {opens + rng.randint(6, 11)}.",
        f"A ticket costs {rng.randint(2, 25)} dollars; children pay half.",
        f"In {rng.choice(MONTHS)} the building will be repaired.",
        f"For groups of more than {rng.randint(5, 30)} people please call {rng.choice(NAMES)}.",
        f"Dogs are {rng.choice(('welcome', 'not allowed'))}.",
    ]
    questions = (
        f"When is the {what} closed?", "How much is a ticket?", f"When does the {what} open?",
        "Whom should groups call?",
    )  # fmt: skip
    return Passage(_pick(rng, facts), questions)


def _pick(rng: random.Random, facts: list[str]) -> str:
    """Three to five of ``facts``, in their order; the first one always."""
    kept = sorted(rng.sample(range(1, len(facts)), rng.randint(2, 4)))
    return " ".join([facts[0], *(facts[i] for i in kept)])


PASSAGES: tuple[Callable[[random.Random], Passage], ...] = (_firm, _day, _report, _notice)
WISHES = (
    "Summarize the following text.", "Summarize this in one sentence:", "Give this text a title.",
    "Rewrite this text in simpler words:", "List the facts in this text as bullet points.",
    "Which numbers occur in this text? Say what each one means.", "Sum this up for a busy reader:",
    "Turn this into a short news report:", "Rewrite this text as a dialogue.",
    "Copy this text without changes:", "Write one question about each sentence of this text.",
    "Continue this text with three more sentences:", "Write the same text in the future tense.",
    "What are the main points here?", "List all names and places in this text.",
    "Correct the grammar of this text, if needed:", "Make this text sound more friendly:",
)  # fmt: skip
RECORDS = ("a JSON object", "a table", "a list of names", "a CSV file", "a Markdown list")


def _people(rng: random.Random) -> str:
    """A request to put a few people's data into another shape."""
    rows = [
        f"{name} is {rng.randint(8, 80)} years old, lives in {rng.choice(CITIES)} and works as a "
        f"{rng.choice(PEOPLE)}."
        for name in rng.sample(NAMES, rng.randint(2, 3))
    ]
    shape = rng.choice(RECORDS)
    ask = rng.choice((f"Turn this into {shape}:", f"Write these people as {shape}:"))
    return f"{ask}\n\n{' '.join(rows)}"


def _sort(rng: random.Random) -> str:
    """A request to order or sift a handful of words or numbers."""
    if rng.random() < 0.5:
        things = [str(rng.randint(1, 200)) for _ in range(rng.randint(4, 8))]
        asks: tuple[str, ...] = (
            "Sort these numbers:",
            "Which of these numbers is the largest?",
            "Add these up:",
        )
    else:
        things = rng.sample(ANIMALS + LISTS["thing"], rng.randint(4, 8))
        asks = (
            "Sort these words by alphabet:", "Which of these words does not belong to the others?",
            "Put these words into groups:", "Write a sentence with each of these words:",
        )  # fmt: skip
    return f"{rng.choice(asks)} {', '.join(things)}"


def task(rng: random.Random) -> str:
    """A request about a text of its own."""
    kind = rng.random()
    if kind < 0.1:
        return _people(rng)
    if kind < 0.2:
        return _sort(rng)
    passage = rng.choice(PASSAGES)(rng)
    ask = rng.choice((rng.choice(WISHES), rng.choice(passage.questions)))
    if rng.random() < 0.5:
        return f"{ask}\n\n{passage.text}"
    return f"{passage.text}\n\n{ask.rstrip(':')}" + ("." if ask.endswith(":") else "")
