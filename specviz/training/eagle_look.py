"""How far a head guesses right on exchanges that it never learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.models.base import InputError
from specviz.models.eagle_net import EagleHead, rollout
from specviz.training.eagle_batches import Batch, chosen, cut
from specviz.training.eagle_features import Shards

AHEAD = 5  # guesses that are looked at
TOGETHER = 8  # exchanges in one pass


@dataclass(frozen=True)
class Reach:
    """Over ``places`` words: ``after`` [AHEAD], the share of guesses that are right where all
    before them are; ``tau``: words per pass of the target with chains of AHEAD guesses;
    ``known``: the share of words that the head can guess at all."""

    after: tuple[float, ...]
    tau: float
    known: float
    places: int


@torch.no_grad()
def reach(head: EagleHead, embedding: Tensor, shards: Shards, count: int, longest: int) -> Reach:
    """Of the first ``count`` held-out exchanges, cut to ``longest`` tokens."""
    numbers = chosen(shards, True, longest)[:count]
    if not numbers:
        raise InputError(f"No held-out exchange has an answer within {longest} tokens.")
    runs: list[Tensor] = []
    known: list[Tensor] = []
    head.eval()
    for first in range(0, len(numbers), TOGETHER):
        part = [cut(shards[i], longest) for i in numbers[first : first + TOGETHER]]
        batch = Batch.of(part, AHEAD)
        runs.append(_runs(head, embedding, batch))
        known.append(head.t2d[batch.tokens[:, 1:]][batch.counts[:, :-1]])
    return summed(torch.cat(runs).tolist(), torch.cat(known).float().mean().item())


def _runs(head: EagleHead, embedding: Tensor, batch: Batch) -> Tensor:
    """[places]: how many guesses in a row are right, everywhere that AHEAD words follow."""
    columns = batch.tokens.shape[1] - AHEAD
    embedded = F.embedding(batch.tokens[:, 1:], embedding)
    found = rollout(head, batch.features[:, :columns], embedded, AHEAD)
    ids = head.target_ids()
    words = F.pad(batch.tokens[:, 1:], (0, 1))
    right, asked = [], torch.ones(len(batch.tokens), columns, dtype=torch.bool)
    for step, logits in enumerate(found):
        ahead = slice(1 + step, 1 + step + columns)
        right.append(ids[logits.argmax(-1)] == words[:, ahead])
        asked &= batch.counts[:, ahead]
    run = torch.stack(right).int().cumprod(0).sum(0)
    return run[asked]


def summed(runs: Sequence[int], known: float) -> Reach:
    """What so many right guesses in a row come to."""
    least = [sum(run >= step for run in runs) for step in range(AHEAD + 1)]
    after = tuple(b / max(1, a) for a, b in pairwise(least))
    return Reach(after, 1 + sum(runs) / max(1, len(runs)), known, len(runs))
