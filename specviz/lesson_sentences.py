"""How lessons say things: sentences with tokens and numbers in them, questions and answers.

A sentence is ``{"key", "params"}`` with tokens as ids, so that the player can say it in its
language.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from specviz.lesson_rules import Spot
from specviz.trace import Trace

Said = dict[str, Any]
MOST = 4


@dataclass(frozen=True)
class Asked:
    """``right`` is the index of the right one of ``answers``; ``told`` says why it is right."""

    question: Said
    answers: tuple[Said, ...]
    right: int
    told: Said


Question = Callable[[Trace, Spot], Asked]


def say(key: str, **params: Any) -> Said:
    """A sentence of the catalogue; ``key`` without its ``lesson.``."""
    return {"key": f"lesson.{key}", "params": params}


def token(number: int) -> Said:
    """A token as the player shows it."""
    return {"token": number}


def decimals(value: float, digits: int = 2) -> Said:
    """A number in the reader's language."""
    return {"number": value, "digits": digits}


def part(key: str, **params: Any) -> Said:
    """A sentence within another one."""
    return {"say": f"lesson.{key}", "params": params}


def listed(parts: Iterable[Any], between: str = ", ") -> list[Any]:
    """Parts of a sentence with commas between them."""
    found = list(parts)
    return [x for i, each in enumerate(found) for x in ((between, each) if i else (each,))]


def numbers(right: int, others: Iterable[int]) -> tuple[tuple[Said, ...], int]:
    """Whole numbers as answers, sorted, at most four, the right one among them."""
    chosen = [right]
    for other in others:
        if other >= 0 and other not in chosen and len(chosen) < MOST:
            chosen.append(other)
    chosen.sort()
    return tuple(say("answer.number", x=x) for x in chosen), chosen.index(right)


def yes_or_no(right: bool) -> tuple[tuple[Said, ...], int]:
    """Yes and no as answers."""
    return (say("answer.yes"), say("answer.no")), 0 if right else 1


def choice(keys: Iterable[str], right: str) -> tuple[tuple[Said, ...], int]:
    """Answers with a sentence of their own each."""
    known = list(keys)
    return tuple(say(f"answer.{key}") for key in known), known.index(right)
