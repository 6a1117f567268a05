"""Prompts of many forms by the thousand, made from templates, lists of words and invented facts.

Free of torch. Of every kind there are far more prompts than are ever asked for.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from specviz.training import eagle_prompts_code, eagle_prompts_texts, raven_words
from specviz.training.eagle_prompts_forms import ENDINGS, FORMS
from specviz.training.eagle_prompts_lists import LISTS

SLOT = re.compile(r"\{(\w+)\}")
BEFORE_VOWEL = re.compile(r"\b([Aa]) (?=[aeiou](?!ni|se|ne))")


@dataclass(frozen=True)
class Prompt:
    """What a person asks, and which form it has."""

    kind: str
    text: str


def fill(rng: random.Random, template: str) -> str:
    """``template`` with every ``{name}`` replaced by an entry of that list, itself filled.

    No entry of a list is used twice in one text.
    """
    used: set[str] = set()

    def word(match: re.Match[str]) -> str:
        left = [entry for entry in LISTS[match[1]] if entry not in used]
        chosen = rng.choice(left)
        used.add(chosen)
        return SLOT.sub(word, chosen)

    return SLOT.sub(word, template)


def _form(kind: str) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        text = fill(rng, rng.choice(FORMS[kind]))
        if kind in ENDINGS and rng.random() < 0.4:
            text = f"{text} {fill(rng, rng.choice(ENDINGS[kind]))}"
        return text[0].upper() + text[1:]

    return make


def _problem(rng: random.Random) -> str:
    told, _ = raven_words.problem(rng)
    ending = rng.choice(("", "", " Think step by step.", " Show how you work it out."))
    return told + ending


MAKERS: dict[str, Callable[[random.Random], str]] = {
    **{kind: _form(kind) for kind in FORMS},
    "problem": _problem,
    "code": eagle_prompts_code.task,
    "text": eagle_prompts_texts.task,
}
# What people ask for most often comes most often; what has to repeat its input has its share.
SHARES: dict[str, float] = {
    "question": 3.0, "explain": 3.0, "advice": 2.0, "list": 2.0, "story": 2.0, "letter": 1.5,
    "compare": 1.0, "plan": 1.0, "opinion": 1.0, "dialogue": 0.7, "sentence": 0.7, "chat": 0.7,
    "problem": 1.2, "code": 2.5, "text": 4.0,
}  # fmt: skip


def stream(seed: int) -> Iterator[Prompt]:
    """Different prompts without end, always the same ones for a ``seed``."""
    rng = random.Random(seed)
    given: set[str] = set()
    kinds, shares = tuple(SHARES), tuple(SHARES.values())
    while True:
        kind = rng.choices(kinds, shares)[0]
        text = BEFORE_VOWEL.sub(r"\1n ", MAKERS[kind](rng))
        if text not in given:
            given.add(text)
            yield Prompt(kind, text)
