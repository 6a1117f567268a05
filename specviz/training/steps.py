"""What the training runs here share: their length and rate, one change of the weights, the loop."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from specviz.training.workers import Workers

WARM_UP = 100  # steps until the rate is reached
DECAY = 3.0  # the rate falls to nothing over the last such part of a run
REPORT = 50  # steps between two lines of progress
ALONE = Workers()
HISTORY = "history.json"

# How far into the run, in minutes -> the loss of the next batch, and its tokens.
Loss = Callable[[float], tuple[Tensor, int]]


@dataclass(frozen=True)
class Run:
    """How long, how fast; ``pause`` minutes lie between two savings."""

    minutes: float
    rate: float
    seed: int
    pause: float = 10.0

    def rate_at(self, step: int, spent: float) -> float:
        """The rate of a step (0 is the first) that begins after ``spent`` minutes."""
        left = max(0.0, DECAY * (1 - spent / self.minutes))
        return self.rate * min(1.0, (step + 1) / WARM_UP, left)


@dataclass
class History:
    """What some weights have learned from: tokens read, and minutes of all their runs."""

    tokens: int = 0
    minutes: float = 0.0

    def write(self, folder: Path) -> None:
        """Keep it beside the weights."""
        text = json.dumps(asdict(self), indent=1) + "\n"
        (folder / HISTORY).write_text(text, encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> History:
        """What is kept there; nothing, where weights are alone: they are enough to go on from."""
        file = folder / HISTORY
        if not file.exists():
            return cls()
        facts = json.loads(file.read_text(encoding="utf-8"))
        return cls(facts["tokens"], facts["minutes"])


def optimizers(
    net: nn.Module, rate: float, hidden: Callable[[str], bool]
) -> list[torch.optim.Optimizer]:
    """Muon for the matrices whose name is ``hidden``, AdamW for everything else.

    Every group has a ``share`` of the rate.
    """
    inside = {n for n, p in net.named_parameters() if p.ndim == 2 and hidden(n)}
    matrices = [p for n, p in net.named_parameters() if n in inside]
    rest = [p for n, p in net.named_parameters() if n not in inside]
    muon = torch.optim.Muon(matrices, lr=rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw")
    adam = torch.optim.AdamW(rest, lr=rate, betas=(0.9, 0.98), weight_decay=0.0)
    for optimizer, share in ((muon, 1.0), (adam, 0.3)):
        for group in optimizer.param_groups:
            group["share"] = share
    return [muon, adam]


def train(
    net: nn.Module,
    steppers: Sequence[torch.optim.Optimizer],
    loss: Loss,
    run: Run,
    history: History,
    keep: Callable[[History], None],
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    workers: Workers = ALONE,
) -> History:
    """Train ``net`` in place for the minutes of ``run``; what it has seen then, by all workers.

    ``keep`` is called every ``run.pause`` minutes, ``say`` gets lines of progress.
    """
    began, last = clock(), 0.0
    seen, step, mean = 0, 0, 0.0
    net.train()
    while (spent := workers.agree((clock() - began) / 60)) < run.minutes:
        for optimizer in steppers:
            for group in optimizer.param_groups:
                group["lr"] = run.rate_at(step, spent) * group["share"]
        with torch.autocast("cpu", torch.bfloat16):
            found, tokens = loss(spent)
        found.backward()  # type: ignore[no-untyped-call]
        workers.average(net)
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for optimizer in steppers:
            optimizer.step()
            optimizer.zero_grad()
        mean = 0.98 * mean + 0.02 * found.item() if step else found.item()
        step += 1
        seen += tokens * workers.count
        if step % REPORT == 0:
            speed = seen / (clock() - began)
            say(f"{spent:6.1f} min  step {step}  loss {mean:.3f}  {speed:.0f} tok/s")
        if spent - last > run.pause:
            last = spent
            keep(History(history.tokens + seen, history.minutes + spent))
            net.train()
    return History(history.tokens + seen, history.minutes + run.minutes)
