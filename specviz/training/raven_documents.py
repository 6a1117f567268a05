"""What ``tiny-raven`` is asked and answers: generated documents, one in twenty kept from training.

Free of torch: the bench asks the same kinds of questions.
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass
from typing import Literal

from specviz.training import raven_code, raven_tasks, raven_words

Kind = Literal["school", "words", "code", "arithmetic", "cups", "sums"]
COMPOSED: tuple[Kind, ...] = ("cups", "sums")


@dataclass(frozen=True)
class Document:
    """One exchange: what a person asks, what the model is to answer.

    ``notes``: what it may be taught to think at places in the question, see ``raven_tasks.Task``.
    """

    kind: Kind
    user: str
    reply: str
    notes: tuple[tuple[int, str], ...] = ()


def held_out(user: str) -> bool:
    """Whether a question is kept from training: one in twenty, by its hash."""
    return hashlib.blake2s(user.encode()).digest()[0] % 20 == 0


LONGEST, QUERIES = 24, 4  # steps and answers of a composed task, where nothing else is said


def make(
    kind: Kind, rng: random.Random, longest: int = LONGEST, queries: int = QUERIES
) -> Document:
    """A generated document of any kind but school.

    ``longest`` and ``queries`` bound steps and answers of composed tasks.
    """
    if kind == "school":
        raise ValueError("school problems are read from a file, not generated")
    if kind in COMPOSED:
        task = raven_tasks.MAKERS[kind](rng, longest, queries)
        return Document(kind, task.question, task.reply, task.notes)
    if kind == "arithmetic":
        return Document(kind, *raven_tasks.arithmetic(rng, queries))
    user, reply = raven_code.function(rng) if kind == "code" else raven_words.problem(rng)
    return Document(kind, user, reply)
