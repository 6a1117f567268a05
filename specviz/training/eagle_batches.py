"""Batches of exchanges with the target's states, of similar length side by side."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from specviz.models.base import InputError
from specviz.training.eagle_features import Example, Shards

POOL = 32  # batches that are sorted by length together


@dataclass(frozen=True)
class Batch:
    """b exchanges side by side in t columns, padded on the right.

    ``tokens`` [b, t]; ``features`` [b, t, 3H] and ``final`` [b, t, H], float32: those of column p
    were computed from the tokens up to p. ``counts`` [b, t]: whether the token behind column p is
    the target's own word.
    """

    tokens: Tensor
    features: Tensor
    final: Tensor
    counts: Tensor

    @classmethod
    def of(cls, examples: Sequence[Example], spare: int) -> Batch:
        """``spare`` columns more than the longest has."""
        width = max(len(e.tokens) for e in examples) + spare
        tokens = torch.zeros(len(examples), width, dtype=torch.long)
        features = torch.zeros(len(examples), width, examples[0].features.shape[1])
        final = torch.zeros(len(examples), width, examples[0].final.shape[1])
        counts = torch.zeros(len(examples), width, dtype=torch.bool)
        for row, e in enumerate(examples):
            n = len(e.tokens)
            tokens[row, :n] = torch.from_numpy(e.tokens)
            features[row, :n] = torch.from_numpy(e.features.astype("float32"))
            final[row, :n] = torch.from_numpy(e.final.astype("float32"))
            counts[row, e.prompt - 1 : n - 1] = True
        return cls(tokens, features, final, counts)


def cut(example: Example, longest: int) -> Example:
    """Its first ``longest`` tokens."""
    return Example(
        example.tokens[:longest],
        example.prompt,
        example.held,
        example.features[:longest],
        example.final[:longest],
    )


def chosen(shards: Shards, held: bool, longest: int) -> list[int]:
    """The exchanges that are ``held`` from training or not, and answer within ``longest``."""
    return [
        i for i in range(len(shards)) if shards[i].held == held and shards[i].prompt < longest - 1
    ]


def batches(
    shards: Shards, tokens: int, longest: int, spare: int, rng: random.Random
) -> Iterator[Batch]:
    """Batches of about ``tokens`` columns for ever, every exchange once per round.

    Exchanges are cut to ``longest`` tokens.
    """
    numbers = chosen(shards, False, longest)
    if not numbers:
        raise InputError(f"No exchange has an answer within {longest} tokens: give more.")
    length = {i: min(longest, len(shards[i].tokens)) for i in numbers}
    while True:
        rng.shuffle(numbers)
        groups: list[list[int]] = []
        size = POOL * tokens // max(1, sum(length.values()) // len(numbers))
        for first in range(0, len(numbers), size):
            group: list[int] = []
            for i in sorted(numbers[first : first + size], key=length.__getitem__):
                if group and (len(group) + 1) * length[i] > tokens:
                    groups.append(group)
                    group = []
                group.append(i)
            groups.append(group)
        rng.shuffle(groups)
        for group in groups:
            yield Batch.of([cut(shards[i], longest) for i in group], spare)
