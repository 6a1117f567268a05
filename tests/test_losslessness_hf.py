"""Every drafter on tiny random transformers models in float64, against a forward without cache."""

from __future__ import annotations

import random
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from specviz.budget import Curve
from specviz.jobs import Job, run
from specviz.models import hf_pack, registry
from specviz.models.hf import HFModel
from specviz.models.registry import Entry
from specviz.trace import Progress, Trace
from tests.adversaries import drafters, every_drafter
from tests.models import tiny
from tests.test_losslessness import decoded

BUDGET = 20
CURVES = (
    Curve((1, 64), (1.0, 1.0)),
    Curve((1, 2, 4, 8, 64), (0.04, 0.065, 0.06, 0.05, 0.2)),
    Curve((1, 64), (0.01, 0.64)),
)


@cache
def model(architecture: str) -> HFModel:
    torch.set_num_threads(1)
    made = tiny.model(architecture, "sdpa")
    made.eos_ids = frozenset({17, 130})
    return made


@cache
def oracle(architecture: str, prompt: tuple[int, ...]) -> tuple[int, ...]:
    """Greedy by transformers' own forward over the whole text, anew for every token."""
    context, output = list(prompt), []
    with torch.inference_mode():
        while len(output) < BUDGET:
            logits = model(architecture).net(input_ids=torch.tensor([context]), use_cache=False)
            output.append(int(logits.logits[0, -1].argmax()))
            context.append(output[-1])
    return tuple(output)


def expected(architecture: str, prompt: tuple[int, ...], budget: int) -> tuple[int, ...]:
    kept: list[int] = []
    for token in oracle(architecture, prompt)[:budget]:
        kept.append(token)
        if token in model(architecture).eos_ids:
            break
    return tuple(kept)


def one_case(architecture: str, which: int, seed: int, words: int, budget: int) -> None:
    """A prompt of few different tokens, longer than the sliding window, so that drafts fit."""
    rng = random.Random(seed % 12)
    prompt = tuple(rng.choice((40, 41, 42, 43, 44)) for _ in range(words))
    answer = expected(architecture, prompt, budget)
    drafter = drafters(which, model(architecture), prompt, answer, seed)
    # The tree's size must not matter either: small, large, or as some cost curve has it.
    costs = rng.choice((None, *CURVES))
    assert decoded(model(architecture), prompt, drafter, budget, costs) == answer


CASES = {
    "which": st.integers(0, len(every_drafter()) - 1),
    "seed": st.integers(0, 10_000),
    "words": st.sampled_from([1, 5, 12, 30]),
    "budget": st.integers(1, BUDGET),
}
KIND = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3"])
@settings(max_examples=100, **KIND)
@given(**CASES)
def test_every_drafter_gives_the_oracles_tokens(architecture: str, **case: int) -> None:
    one_case(architecture, **case)


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3"])
@pytest.mark.parametrize("which", range(len(every_drafter())))
def test_each_drafter_on_a_prompt_longer_than_the_window(architecture: str, which: int) -> None:
    one_case(architecture, which, seed=3, words=30, budget=BUDGET)


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3", "mistral"])
def test_packed_weights_give_the_tokens_of_stock_ones(
    monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    """Float32, every drafter; the oracle is stock weights without a cache."""
    monkeypatch.setattr(hf_pack, "_seconds", lambda layer, x: float(isinstance(layer, nn.Linear)))
    torch.set_num_threads(1)
    stock = tiny.net(architecture, dtype=torch.float32)
    fast = tiny.model(architecture, "sdpa", dtype=torch.float32)
    fast.pack()
    assert fast.packed
    for seed in range(3):
        prompt = tuple(random.Random(seed).choice((40, 41, 42, 43)) for _ in range(14))
        context = list(prompt)
        with torch.inference_mode():
            for _ in range(BUDGET):
                logits = stock(input_ids=torch.tensor([context]), use_cache=False).logits
                context.append(int(logits[0, -1].argmax()))
        answer = tuple(context[len(prompt) :])
        fast.eos_ids = frozenset()
        for which in range(len(every_drafter())):
            drafter = drafters(which, fast, prompt, answer, seed)
            assert decoded(fast, prompt, drafter, BUDGET, CURVES[which % 3]) == answer, which


@pytest.mark.proof
@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3", "mistral"])
@settings(max_examples=500, **KIND)
@given(**CASES)
def test_every_drafter_gives_the_oracles_tokens_in_2000_cases(
    architecture: str, **case: int
) -> None:
    one_case(architecture, **case)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_differs_by_numeric_ties_only(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    """A pass over a tree rounds otherwise than a single-row pass; more than that is a mismatch."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    torch.set_num_threads(1)
    low = tiny.model("llama", "sdpa", dtype=dtype)
    label = f"tiny-{low.dtype}"
    registry.register(Entry(label=label, title=label, load=lambda device, dtype: low))
    outcomes, ties, tokens = [], 0, 0
    for seed in range(6):
        job = Job(model=label, prompt=chr(97 + seed) * 20, dtype=low.dtype, max_new_tokens=40)
        trace = Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))
        assert trace.check is not None and trace.check.complete
        outcomes.append(trace.check.equal)
        ties += trace.check.ties
        tokens += len(trace.run().tokens)
    assert False not in outcomes
    if dtype == torch.float32:
        assert outcomes == [True] * 6
    assert ties <= tokens // 10
