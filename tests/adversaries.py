"""Drafters that try to change the output, and the slow oracle that says what it must be."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from specviz.budget import Curve
from specviz.drafters import DRAFTERS, create, knobs_of
from specviz.drafters.autoregressive import Autoregressive
from specviz.drafters.base import Draft, Drafter
from specviz.drafters.memory import Level, Snapshot, make_row, model_key
from specviz.drafters.recap import Recap
from specviz.evidence import Written
from specviz.models.base import Model, Scores, Session
from specviz.models.toy import ToyModel
from specviz.tree import DraftTree


def oracle(model: ToyModel, prompt: Sequence[int], budget: int) -> tuple[int, ...]:
    """Greedy decoding without any cache: the whole context is scored anew for every token."""
    context, output = list(prompt), []
    while len(output) < budget and not (output and output[-1] in model.eos_ids):
        output.append(int(np.argmax(model.logits(tuple(context)))))
        context.append(output[-1])
    return tuple(output)


def draft_of(tokens: Sequence[int], parents: Sequence[int]) -> Draft:
    """A draft of any shape, with made-up scores."""
    size = len(tokens)
    return Draft(
        DraftTree(tuple(tokens), tuple(parents)),
        ("root", *("test" for _ in range(size - 1))),
        (None, *(1.0 / n for n in range(1, size))),
        tuple(range(size)),
    )


class _Tree(Autoregressive):
    needs: ClassVar[frozenset[str]] = frozenset({"tree"})


class Chain(_Tree):
    """Drafts ``length`` given tokens beyond what is out so far: the oracle, or a liar's."""

    name = "chain"

    def __init__(
        self, answer: Sequence[int], prompt: int, length: int, shift: int = 0, vocab: int = 1 << 30
    ) -> None:
        self.answer, self.prompt, self.length = answer, prompt, length
        self.shift, self.vocab = shift, vocab

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        done = len(context) - self.prompt
        tail = [(t + self.shift) % self.vocab for t in self.answer[done : done + self.length]]
        return draft_of([context[-1], *tail], range(-1, len(tail)))


class RandomTree(_Tree):
    """A random tree of random tokens, duplicate siblings and overlong branches included."""

    name = "random"

    def __init__(self, seed: int, vocab: int, nodes: int) -> None:
        self.random = random.Random(seed)
        self.vocab, self.nodes = vocab, nodes

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        tokens, parents = [context[-1]], [-1]
        for _ in range(self.random.randint(0, self.nodes)):
            # Half of the time go deeper, so that branches outrun the budget.
            last = len(tokens) - 1
            parents.append(last if self.random.random() < 0.5 else self.random.randint(0, last))
            tokens.append(self.random.randrange(self.vocab))
        return draft_of(tokens, parents)


class Duplicates(_Tree):
    """The right token several times among the siblings, each with another subtree."""

    name = "duplicates"

    def __init__(self, answer: Sequence[int], prompt: int, copies: int) -> None:
        self.answer, self.prompt, self.copies = answer, prompt, copies

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        done = len(context) - self.prompt
        right = self.answer[done : done + 3]
        tokens, parents = [context[-1]], [-1]
        for copy in range(self.copies):
            parent = 0
            for token in right[: copy + 1]:
                tokens.append(token)
                parents.append(parent)
                parent = len(tokens) - 1
        return draft_of(tokens, parents)


class Poisoned(Recap):
    """RECAP whose three memories are full of nonsense from the start."""

    def __init__(self, seed: int, vocab: int) -> None:
        super().__init__(nodes=12)
        self.seed_value, self.vocab = seed, vocab

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        super().start(session, prompt, scores, costs)
        rng = random.Random(self.seed_value)
        for level in self.memory._levels.values():
            level.write(poison(rng, level, self.vocab))


def poison(rng: random.Random, level: Level, vocab: int) -> list:
    """Random rows for every context that a small vocabulary allows, or many of them."""
    rows = []
    for _ in range(300):
        key = tuple(rng.randrange(vocab) for _ in range(level.order))
        ids = rng.sample(range(vocab), min(8, vocab))
        logps = sorted((-rng.random() * 4 - 0.1 for _ in ids), reverse=True)
        rows.append((key, make_row(ids, logps, Written(-2, 0, True))))
    return rows


def poisoned_snapshot(model: ToyModel, seed: int) -> Snapshot:
    """A lasting memory that says something wrong about every token."""
    level = Level(1)
    level.write(poison(random.Random(seed), level, model.vocab_size))
    return level.snapshot(model_key(model, "top"))


KNOBS: list[tuple[str, dict[str, Any]]] = [
    ("autoregressive", {}),
    ("prompt_lookup", {}),
    ("prompt_lookup", {"ngram": 1, "occurrence": "latest", "tokens": 32}),
    ("token_recycling", {}),
    ("token_recycling", {"tree": "best_first", "nodes": 20, "rejected": False}),
    ("recap", {}),
    ("recap", {"levels": "3", "seed": "none"}),
    ("recap", {"levels": "12", "longest_wins": True}),
    ("recap", {"levels": "13", "gamma": 0, "base": "rank", "copy": "reserve"}),
    ("recap", {"seed": "all", "entropy": "full", "calibration": "learned", "nodes": 60}),
    ("recap", {"rejected": False, "copy": "off", "calibration": "none", "repeats": 0}),
]

# For models with depth, after all the others. Iterations are given in parts of eight, ``-1`` the
# last, so that they fit any depth.
DEPTH_KNOBS: list[tuple[str, dict[str, Any]]] = [
    ("das", {}),
    ("das", {"tokens": 32, "draft": 2, "keys": -1, "values": 8, "confidence": 0.01}),
    ("das", {"draft": 8, "keys": 3, "values": 0}),
    ("das_wave", {}),
    ("das_wave", {"block": 64, "rounds": 5, "inner": 1, "first": 8, "widen": 16, "freeze": 1}),
    ("das_wave", {"keys": 0, "values": 0, "inner": 4, "freeze": 0}),
    ("das_wave", {"keys": 0, "carry": False, "freeze": 1, "block": 6, "first": 1}),
    ("das_wave", {"auto": True, "keys": 5, "values": 2}),
    ("das_wave", {"block": 16, "rounds": 8, "inner": 2, "widen": 2, "freeze": 2}),
]
ITERATIONS = ("draft", "inner", "keys", "values")

RECAP = 5
HOSTILE = ("oracle", "past the end", "always wrong", "random", "duplicates", "poisoned")


def every_drafter(depth: bool = False) -> list[str]:
    """The names of all cases that ``drafters`` can make, with those for models with ``depth``."""
    deep = [f"{name} {knobs}" for name, knobs in DEPTH_KNOBS] if depth else []
    return [*(f"{name} {knobs}" for name, knobs in KNOBS), *HOSTILE, *deep]


def at_depth(name: str, knobs: dict[str, Any], depth: int) -> Drafter:
    """The drafter with its iterations, in parts of eight, made those of a model of ``depth``."""
    fitting = dict(knobs)
    for knob in ITERATIONS:
        default = {"draft": 4, "inner": 2}.get(knob)
        value = fitting.get(knob, default)
        if value is not None and value > 0 and knob in {k.name for k in knobs_of(DRAFTERS[name])}:
            fitting[knob] = max(1, value * depth // 8)
    return create(name, fitting)


def drafters(
    which: int, model: Model, prompt: Sequence[int], answer: Sequence[int], seed: int
) -> Drafter:
    """Drafter number ``which``: ours with several knobs, then the adversaries."""
    if which < len(KNOBS):
        return create(*KNOBS[which])
    vocab, start = model.vocab_size, len(prompt)
    beyond = (*answer, *(seed % vocab for _ in range(6)))
    makers: list[Callable[[], Drafter]] = [
        lambda: Chain(answer, start, 4),
        lambda: Chain(beyond, start, 40),
        lambda: Chain(answer, start, 4, 1, vocab),
        lambda: RandomTree(seed, vocab, 24),
        lambda: Duplicates(answer, start, 3),
        lambda: Poisoned(seed, vocab),
    ]
    hostile = which - len(KNOBS)
    if hostile < len(makers):
        return makers[hostile]()
    assert model.depth is not None
    return at_depth(*DEPTH_KNOBS[hostile - len(makers)], model.depth)
