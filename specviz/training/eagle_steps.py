"""What a drafter head learns from: the target's own distribution, several guesses ahead."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.models.eagle_net import EagleHead, rollout
from specviz.training.eagle_batches import Batch

FADE = 0.8  # weight of a step relative to the one before (arXiv 2503.01840)


def loss_of(
    head: EagleHead, batch: Batch, embedding: Tensor, output: Tensor, steps: int
) -> Tensor:
    """Cross-entropy with the target's distribution over the draft vocabulary, nats per word.

    ``embedding`` [vocabulary, H] and ``output`` [draft vocabulary, H] are the target's, the latter
    its rows for what the head can guess; ``steps``: guesses ahead. Words outside the draft
    vocabulary do not count. Source: arXiv 2503.01840, section 3.
    """
    columns = batch.tokens.shape[1] - steps
    with torch.no_grad():
        embedded = F.embedding(batch.tokens[:, 1:], embedding)
        wanted = (batch.final @ output.T).float().softmax(-1)
        words = F.pad(batch.tokens[:, 1:], (0, 1))
        counts = (batch.counts & head.t2d[words]).float()
    found = rollout(head, batch.features[:, :columns], embedded, steps)
    total = torch.zeros(())
    for step, logits in enumerate(found):
        ahead = slice(1 + step, 1 + step + columns)
        losses = -(wanted[:, ahead] * logits.float().log_softmax(-1)).sum(-1)
        here = counts[:, ahead]
        total = total + FADE**step * (losses * here).sum() / here.sum().clamp(min=1)
    return total / sum(FADE**step for step in range(steps))
