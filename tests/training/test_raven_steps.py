"""Training runs the network that specviz runs, at drawn depths, and goes on from weights alone."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from specviz.training import steps
from specviz.training.raven_steps import Plan, draw_depth, forward, loss_of, train
from specviz.training.raven_text import Batch
from specviz.training.raven_weights import CONFIG, load, save
from specviz.training.steps import History
from tests.plain_raven import Plain
from tests.tiny_raven import tiny_raven

SMALL = replace(CONFIG, n_embd=32, n_heads=4, intermediate_size=48, vocab_size=40)
PLAN = Plan(
    minutes=30, rate=0.02, mean=3, longest=9, from_mean=1.5, from_longest=3, noise=0.5, seed=3
)


def clock(seconds: float) -> Callable[[], float]:
    """Every reading is ``seconds`` later than the one before."""
    return itertools.count(0, seconds).__next__


def counting(rows: int = 4, width: int = 12) -> Iterator[Batch]:
    """Rows that count upwards from anywhere: what follows is known from the token alone."""
    rng = random.Random(1)
    mask = torch.ones(width, width, dtype=torch.bool).tril()[None, None]
    while True:
        start = torch.tensor([[rng.randrange(20)] for _ in range(rows)])
        tokens = start + torch.arange(width + 1)
        yield Batch(tokens[:, :-1], tokens[:, 1:], torch.ones(rows, width), mask)


def test_the_network_in_training_is_the_plain_one_at_every_depth() -> None:
    model = tiny_raven(depth=4)
    tokens = [7, 3, 9, 9, 250, 11]
    with torch.no_grad():
        found = forward(model.net, torch.tensor([tokens]), None, [1, 2, 4], 0.0, 8)
    for depth, logits in zip((1, 2, 4), found, strict=True):
        wanted = Plain(model).logits(tokens, depth)
        assert torch.allclose(logits[0], wanted, atol=1e-4), depth


def test_documents_in_one_row_are_read_as_if_alone() -> None:
    model = tiny_raven(depth=3)
    tokens = [7, 3, 9, 9, 250, 11]
    owner = torch.tensor([0, 0, 0, 0, 1, 1])
    mask = (owner[:, None] == owner) & torch.ones(6, 6, dtype=torch.bool).tril()
    with torch.no_grad():
        packed = forward(model.net, torch.tensor([tokens]), mask[None, None], [3], 0.0, 8)[0][0]
    # Rotary positions are relative, so it does not matter where a document begins.
    assert torch.allclose(packed[4:], Plain(model).logits(tokens[4:], 3), atol=1e-4)


def test_gradients_flow_through_the_last_iterations_only() -> None:
    net, _ = load(Path("nowhere"), SMALL)
    open_: list[bool] = []
    net.transformer.adapter.register_forward_hook(lambda *_: open_.append(torch.is_grad_enabled()))
    logits = forward(net, torch.tensor([[7, 3, 9]]), None, [4], 0.0, 2)[0]
    assert open_ == [False, False, True, True]
    logits.sum().backward()
    grads = {name: p.grad for name, p in net.named_parameters()}
    assert [name for name, grad in grads.items() if grad is None] == []


def test_depths_have_the_mean_and_the_bounds_that_were_asked_for() -> None:
    rng = random.Random(1)
    depths = [draw_depth(rng, 16.0) for _ in range(20_000)]
    # 1 more than the Poisson number, less what is cut at three times the mean.
    assert sum(depths) / len(depths) == pytest.approx(16.9, abs=0.2)
    assert (min(depths), max(depths)) == (1, 48)
    assert sum(d <= 8 for d in depths) / len(depths) == pytest.approx(0.12, abs=0.04)


def test_a_loss_counts_tokens_by_their_weights() -> None:
    net, _ = load(Path("nowhere"), SMALL)
    batch = next(counting(rows=1, width=4))
    each = []
    for i in range(4):
        weights = torch.zeros(1, 4)
        weights[0, i] = 0.3
        each.append(loss_of(net, replace(batch, weights=weights), 2, 0.0).item())
    mixed = replace(batch, weights=torch.tensor([[0.0, 3.0, 0.0, 1.0]]))
    wanted = (3 * each[1] + each[3]) / 4
    assert loss_of(net, mixed, 2, 0.0).item() == pytest.approx(wanted, rel=1e-5)


def test_tasks_grow_for_two_thirds_of_a_run_and_the_rate_falls_over_the_last_third() -> None:
    assert [PLAN.longest_at(m) for m in (0, 10, 20, 30)] == [3, 6, 9, 9]
    assert [PLAN.mean_at(m) for m in (0, 10, 20, 30)] == [1.5, 2.25, 3.0, 3.0]
    assert [PLAN.rate_at(0, 0), PLAN.rate_at(49, 1)] == pytest.approx([0.0002, 0.01])
    rates = [PLAN.rate_at(500, m) for m in (5, 20, 25, 30)]
    assert rates == pytest.approx([0.02, 0.02, 0.01, 0.0])


def test_a_run_learns_keeps_and_tells_how_much_it_saw(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "WARM_UP", 10)
    torch.manual_seed(2)
    net, history = load(Path("nowhere"), SMALL)
    before = loss_of(net, next(counting()), 3, 0.0).item()
    grown: list[int] = []
    kept: list[History] = []
    said: list[str] = []
    seen = train(
        net, counting(), PLAN, replace(history, tokens=100, minutes=1.0), grown.append,
        kept.append, said.append, clock(18.0),
    )  # fmt: skip
    assert loss_of(net, next(counting()), 3, 0.0).item() < before / 2
    assert seen == History(100 + 48 * len(grown), 31.0)
    assert grown[0] == 3 and grown[-1] == 9 and grown == sorted(grown)
    assert [h.minutes for h in kept] == pytest.approx([11.2, 21.4])
    assert [h.tokens for h in kept] == sorted(h.tokens for h in kept)
    assert [line.split("loss")[0].split() for line in said] == [["15.0", "min", "step", "50"]]


def test_a_restart_from_weights_alone_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "WARM_UP", 10)
    torch.manual_seed(2)
    net, history = load(tmp_path, SMALL)
    fresh = loss_of(net, next(counting()), 3, 0.0).item()

    def run(history: History) -> float:
        seen = train(
            net, counting(), PLAN, history, lambda n: None, lambda h: None, lambda s: None,
            clock(15.0),
        )  # fmt: skip
        save(net, tmp_path, seen)
        return loss_of(net, next(counting()), 3, 0.0).item()

    once = run(history)
    net, history = load(tmp_path, SMALL)
    assert history.minutes == 30
    assert loss_of(net, next(counting()), 3, 0.0).item() == pytest.approx(once, abs=0.05)
    twice = run(history)
    assert twice < once < fresh
    assert load(tmp_path, SMALL)[1].minutes == 60
