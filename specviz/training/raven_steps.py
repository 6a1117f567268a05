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
from specviz.training.raven_text import Batch
from specviz.training.raven_weights import History
from specviz.training.workers import Workers

BACKPROP = 8  # iterations that gradients flow through, the last ones
WARM_UP = 100  # steps until the rate is reached
GROWTH = 1.5  # tasks and depths have grown after one such part of a run
DECAY = 3.0  # the rate falls to nothing over the last such part of it
REPORT = 50  # steps between two lines of progress
ALONE = Workers()


@dataclass(frozen=True)
class Plan:
    """One run: how long, how fast, and from which tasks and depths to which.

    ``mean`` and ``longest`` are the mean iterations and the longest composed task at the end,
    ``from_mean`` and ``from_longest`` those at the beginning; ``noise`` is the share of batches
    that start from random states; ``pause`` minutes lie between two savings.
    """

    minutes: float
    rate: float
    mean: float
    longest: int
    from_mean: float
    from_longest: int
    noise: float
    seed: int
    pause: float = 10.0

    def grown(self, spent: float) -> float:
        """How far tasks and depths have grown after ``spent`` minutes, 0 to 1."""
        return min(1.0, GROWTH * spent / self.minutes)

    def longest_at(self, spent: float) -> int:
        """The longest composed task after ``spent`` minutes."""
        return round(self.from_longest + (self.longest - self.from_longest) * self.grown(spent))

    def mean_at(self, spent: float) -> float:
        """Mean iterations after ``spent`` minutes."""
        return self.from_mean + (self.mean - self.from_mean) * self.grown(spent)

    def rate_at(self, step: int, spent: float) -> float:
        """The rate of a step (0 is the first) that begins after ``spent`` minutes."""
        left = max(0.0, DECAY * (1 - spent / self.minutes))
        return self.rate * min(1.0, (step + 1) / WARM_UP, left)


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
    """Muon for the matrices inside, AdamW for embedding, norms and biases.

    Every group has a ``share`` of the rate.
    """
    matrices = [p for n, p in net.named_parameters() if p.ndim == 2 and "wte" not in n]
    rest = [p for n, p in net.named_parameters() if p.ndim != 2 or "wte" in n]
    muon = torch.optim.Muon(matrices, lr=rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    adam = torch.optim.AdamW(rest, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    for optimizer, share in ((muon, 1.0), (adam, 0.3)):
        for group in optimizer.param_groups:
            group["share"] = share
    return [muon, adam]


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
    """Train ``net`` in place for the minutes of ``plan``; what it has seen then, by all workers.

    ``grow`` is told the longest composed task before every batch, ``keep`` is called every
    ``plan.pause`` minutes, ``say`` gets lines of progress.
    """
    rng = random.Random(plan.seed)
    torch.manual_seed(plan.seed)
    steppers = optimizers(net, plan.rate)
    began, last = clock(), 0.0
    seen, step, loss = 0, 0, 0.0
    net.train()
    while (spent := workers.agree((clock() - began) / 60)) < plan.minutes:
        grow(plan.longest_at(spent))
        batch = next(stream)
        depth = draw_depth(rng, plan.mean_at(spent))
        noise = float(rng.random() < plan.noise)
        rate = plan.rate_at(step, spent)
        found = _step(net, batch, depth, noise, steppers, rate, workers)
        loss = 0.98 * loss + 0.02 * found if step else found
        step += 1
        seen += batch.weights.numel() * workers.count
        if step % REPORT == 0:
            speed = seen / (clock() - began)
            say(f"{spent:6.1f} min  step {step}  loss {loss:.3f}  {speed:.0f} tok/s")
        if spent - last > plan.pause:
            last = spent
            keep(History(history.tokens + seen, history.minutes + spent))
            net.train()
    return History(history.tokens + seen, history.minutes + plan.minutes)


def _step(
    net: Raven,
    batch: Batch,
    depth: int,
    noise: float,
    steppers: Sequence[torch.optim.Optimizer],
    rate: float,
    workers: Workers,
) -> float:
    """One change of the weights; this worker's loss before it."""
    for optimizer in steppers:
        for group in optimizer.param_groups:
            group["lr"] = rate * group["share"]
    with torch.autocast("cpu", torch.bfloat16):
        loss = loss_of(net, batch, depth, noise)
    loss.backward()  # type: ignore[no-untyped-call]
    workers.average(net)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    for optimizer in steppers:
        optimizer.step()
        optimizer.zero_grad()
    return loss.item()
