"""How ``tiny-raven`` learns: batches of random depth, gradients through the last iterations."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.models.raven_net import Attend, Raven, causal, rotary_table
from specviz.training import steps
from specviz.training.raven_text import Batch
from specviz.training.steps import ALONE, History, Run
from specviz.training.workers import Workers

BACKPROP = 8  # iterations that gradients flow through, the last ones
GROWTH = 1.5  # tasks and depths have grown after one such part of a run


@dataclass(frozen=True, kw_only=True)
class Plan(Run):
    """One run: how long, how fast, and from which tasks and depths to which.

    ``mean`` and ``longest`` are the mean iterations and the longest composed task at the end,
    ``from_mean`` and ``from_longest`` those at the beginning; ``noise`` is the share of batches
    that start from random states.
    """

    mean: float
    longest: int
    from_mean: float
    from_longest: int
    noise: float

    def grown(self, spent: float) -> float:
        """How far tasks and depths have grown after ``spent`` minutes, 0 to 1."""
        return min(1.0, GROWTH * spent / self.minutes)

    def longest_at(self, spent: float) -> int:
        """The longest composed task after ``spent`` minutes."""
        return round(self.from_longest + (self.longest - self.from_longest) * self.grown(spent))

    def mean_at(self, spent: float) -> float:
        """Mean iterations after ``spent`` minutes."""
        return self.from_mean + (self.mean - self.from_mean) * self.grown(spent)


def draw_depth(rng: random.Random, mean: float, spread: float = 0.5) -> int:
    """Iterations of one batch: log-normal Poisson (arXiv 2502.05171, 3.3), at least 1."""
    rate = math.exp(rng.gauss(math.log(mean) - spread**2 / 2, spread))
    limit, product, count = math.exp(-rate), rng.random(), 0
    while product > limit:
        product, count = product * rng.random(), count + 1
    return min(count + 1, 3 * round(mean))


def forward(
    net: Raven,
    tokens: Tensor,
    mask: Tensor | None,
    depths: Sequence[int],
    noise: float,
    backprop: int,
) -> list[Tensor]:
    """Logits [b, t, V] after each of ``depths`` iterations (ascending).

    Gradients flow through the last ``backprop`` of them; ``noise`` scales the initial state.
    """
    config = net.config
    rotary = rotary_table(config, tokens.shape[1], torch.float32)

    def masked(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    attend: Attend = causal if mask is None else masked
    embedded = net.embed(tokens)
    for block in net.transformer.prelude:
        embedded = block(embedded, rotary, attend)
    state = torch.randn_like(embedded) * config.state_std * noise
    found = []
    for age in range(1, depths[-1] + 1):
        with torch.set_grad_enabled(torch.is_grad_enabled() and age > depths[-1] - backprop):
            state = net.inject(state, embedded)
            for block in net.transformer.core_block:
                state = block(state, rotary, attend)
        if age in depths:
            out = net.transformer.ln_f(state)
            for block in net.transformer.coda:
                out = block(out, rotary, attend)
            found.append(net.read(out))
    return found


def loss_of(net: Raven, batch: Batch, depth: int, noise: float) -> Tensor:
    """Weighted mean cross-entropy of one batch, nats."""
    logits = forward(net, batch.tokens, batch.mask, [depth], noise, BACKPROP)[0]
    losses = F.cross_entropy(
        logits.float().flatten(0, 1), batch.targets.flatten(), reduction="none"
    )
    weights = batch.weights.flatten()
    return (losses * weights).sum() / weights.sum()


def optimizers(net: Raven, rate: float) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside, AdamW for embedding, norms and biases."""
    return steps.optimizers(net, rate, lambda name: "wte" not in name)


def train(
    net: Raven,
    stream: Iterator[Batch],
    plan: Plan,
    history: History,
    grow: Callable[[int], None],
    keep: Callable[[History], None],
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    workers: Workers = ALONE,
) -> History:
    """As :func:`specviz.training.steps.train`; ``grow`` is told the longest composed task before
    every batch."""
    rng = random.Random(plan.seed)
    torch.manual_seed(plan.seed)

    def loss(spent: float) -> tuple[Tensor, int]:
        grow(plan.longest_at(spent))
        batch = next(stream)
        depth = draw_depth(rng, plan.mean_at(spent))
        noise = float(rng.random() < plan.noise)
        return loss_of(net, batch, depth, noise), batch.weights.numel()

    steppers = optimizers(net, plan.rate)
    return steps.train(net, steppers, loss, plan, history, keep, say, clock, workers)
