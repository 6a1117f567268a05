"""Questions for recurrent-depth models, with their answers, that training has not seen."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from hashlib import sha256

from specviz.bench.prompts import Prompt
from specviz.models.base import Message, Model
from specviz.training.raven_documents import LONGEST, QUERIES, Document, Kind, held_out, make
from specviz.training.raven_tasks import MAKERS, Task

SEED = 2026
NAME = f"held-out questions of the generators, seed {SEED}"
COUNT = 40  # prompts of each kind
TOKENS = 128
ANSWER = re.compile(r"####\s*(-?\d+)")


def documents(kind: Kind, count: int) -> tuple[Document, ...]:
    """The first ``count`` different documents of ``kind`` that were kept from training."""
    rng = random.Random(f"{SEED} {kind}")
    found: dict[str, Document] = {}
    while len(found) < count:
        document = make(kind, rng)
        if held_out(document.user):
            found.setdefault(document.user, document)
    return tuple(found.values())


def tasks(kind: Kind, count: int) -> tuple[Task, ...]:
    """The first ``count`` composed tasks of ``kind`` that were kept from training."""
    rng = random.Random(f"{SEED} {kind}")
    found: dict[str, Task] = {}
    while len(found) < count:
        task = MAKERS[kind](rng, LONGEST, QUERIES)
        if held_out(task.question):
            found.setdefault(task.question, task)
    return tuple(found.values())


def prompts(count: int = COUNT) -> tuple[Prompt, ...]:
    """``count`` word problems, then as many requests for code."""
    kinds: tuple[Kind, ...] = ("words", "code")
    return tuple(
        Prompt(document.user, kind, f"{kind}-{i}", TOKENS)
        for kind in kinds
        for i, document in enumerate(documents(kind, count), start=1)
    )


def digest(questions: Sequence[Prompt]) -> str:
    """SHA-256 of the texts."""
    return sha256("\0".join(p.text for p in questions).encode()).hexdigest()


def final_answer(text: str) -> str | None:
    """The number behind ``####``, None where there is none."""
    match = ANSWER.search(text)
    return match[1] if match else None


def taught(model: Model, question: str, reply: str) -> tuple[tuple[int, ...], int]:
    """The tokens of a question with its true reply, and where the reply begins."""
    asked = Message("user", question)
    begin = len(model.encode([asked]).tokens)
    return model.encode([asked, Message("assistant", reply)]).tokens, begin


def answer_spans(
    task: Task, tokens: Sequence[int], begin: int, token_bytes: Callable[[int], bytes]
) -> list[range] | None:
    """Which ``tokens`` say each answer; the reply starts at ``begin``.

    None where a token holds an answer and something else: then nothing can be told apart.
    """
    edges, at = {0: begin}, 0
    for i, token in enumerate(tokens[begin:], start=begin):
        at += len(token_bytes(token))
        edges[at] = i + 1
    spans, at = [], 0
    for mark, answer in zip(task.marks, task.answers, strict=True):
        start = at + len(mark.encode())
        at = start + len(answer.encode())
        if start not in edges or at not in edges:
            return None
        spans.append(range(edges[start], edges[at]))
    return spans
