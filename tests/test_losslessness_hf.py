"""Every drafter on tiny random transformers models in float64, against a forward without cache."""

from __future__ import annotations

import random
from functools import cache

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specviz.jobs import Job, run
from specviz.models import registry
from specviz.models.hf import HFModel
from specviz.models.registry import Entry
from specviz.trace import Progress, Trace
from tests.adversaries import drafters, every_drafter
from tests.models import tiny
from tests.test_losslessness import decoded

BUDGET = 20


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
    assert decoded(model(architecture), prompt, drafter, budget) == answer


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


@pytest.mark.proof
@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3", "mistral"])
@settings(max_examples=500, **KIND)
@given(**CASES)
def test_every_drafter_gives_the_oracles_tokens_in_2000_cases(
    architecture: str, **case: int
) -> None:
    one_case(architecture, **case)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_differs_by_numeric_ties_only(dtype: torch.dtype) -> None:
    """A packed pass rounds otherwise than a single-row pass; more than rounding is a mismatch."""
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
