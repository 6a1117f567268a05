"""What tests of sessions share, whatever the model is."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from specviz.models.base import Capture, Inputs, Scores, finish
from specviz.tree import DraftTree


def reading(model: Any, tokens: Sequence[int], capture: Capture = Capture()) -> tuple[Any, Scores]:
    """A session that has read ``tokens``, and what its prefill returned."""
    session = model.open(capture)
    return session, finish(session.prefill(Inputs(tuple(tokens))))


def opened(model: Any, tokens: Sequence[int], capture: Capture = Capture()) -> Any:
    """The session alone."""
    return reading(model, tokens, capture)[0]


def random_tree(seed: int, nodes: int) -> DraftTree:
    """Any tree of ``nodes`` nodes."""
    rng = random.Random(seed)
    parents = (-1, *(rng.randrange(n) for n in range(1, nodes)))
    return DraftTree(tuple(rng.randrange(4, 260) for _ in range(nodes)), parents)


def difference(a: Tensor, b: Tensor) -> float:
    """The largest one."""
    return float((a - b).abs().max())


def worst_after_commits(model: Any, prompt: Sequence[int]) -> float:
    """How far a session that commits paths of random trees gets from fresh ones that read the
    same tokens."""
    session = opened(model, prompt)
    committed, worst = list(prompt), 0.0
    for step in range(5):
        tree = random_tree(step, 12)
        session.logits(tree)
        path = tree.path(random.Random(step).randrange(12))
        session.commit(path)
        committed += [tree.tokens[n] for n in path]
        assert session.length == len(committed)
        probe = random_tree(100 + step, 7)
        fresh = opened(model, committed)
        worst = max(worst, difference(session.logits(probe), fresh.logits(probe)))
    return worst
