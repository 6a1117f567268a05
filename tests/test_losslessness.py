"""Output is a function of model, prompt and budget, never of the drafter or its memory."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specviz.budget import Curve
from specviz.decoding import decode
from specviz.drafters import DRAFTERS
from specviz.drafters.base import Drafter
from specviz.models.base import Inputs, Model
from specviz.models.toy import ToyModel, random_logits
from specviz.trace import Finish, Prefill, Step
from tests.adversaries import (
    DEPTH_KNOBS,
    KNOBS,
    RECAP,
    Chain,
    drafters,
    every_drafter,
    oracle,
    poisoned_snapshot,
)
from tests.fake_depth import DepthToy


def toy(seed: int, vocab: int, order: int, sharpness: float) -> ToyModel:
    """One that has depths too, so that every drafter can guess on it."""
    pieces = [bytes([97 + i]) for i in range(vocab)]
    return DepthToy(random_logits(seed, vocab, order, sharpness), pieces)


def decoded(
    model: Model,
    prompt: tuple[int, ...],
    drafter: Drafter,
    budget: int,
    costs: Curve | None = None,
) -> tuple[int, ...]:
    """The emitted tokens, with the bookkeeping of every step checked on the way."""
    return decoded_inputs(model, Inputs(prompt), drafter, budget, costs)


def decoded_inputs(
    model: Model, inputs: Inputs, drafter: Drafter, budget: int, costs: Curve | None = None
) -> tuple[int, ...]:
    """The same of a request that may hold pictures."""
    output: list[int] = []
    finish = None
    for event in decode(model, inputs, drafter, budget, costs):
        if isinstance(event, Prefill):
            output.append(event.token)
        elif isinstance(event, Step):
            output.extend(event.emitted)
            assert event.cache_length == len(inputs.tokens) + len(output) - 1
        elif isinstance(event, Finish):
            finish = event
    assert finish is not None and finish.tokens == len(output)
    assert finish.reason == ("eos" if output[-1] in model.eos_ids else "length")
    return tuple(output)


CASES = {
    "which": st.integers(0, len(every_drafter(depth=True)) - 1),
    "seed": st.integers(0, 10_000),
    "vocab": st.integers(2, 12),
    "order": st.integers(1, 4),
    "sharpness": st.sampled_from([0.5, 3.0]),
    "prompt_seed": st.lists(st.integers(0, 11), min_size=1, max_size=20),
    "budget": st.integers(1, 40),
    "ends": st.booleans(),
}


def one_case(which, seed, vocab, order, sharpness, prompt_seed, budget, ends) -> None:
    model = toy(seed, vocab, order, sharpness)
    if not ends:
        model.eos_ids = frozenset()
    prompt = tuple(t % vocab for t in prompt_seed)
    answer = oracle(model, prompt, budget)
    drafter = drafters(which, model, prompt, answer, seed)
    if which == RECAP and seed % 2:
        drafter.restore(poisoned_snapshot(model, seed), model)
    assert decoded(model, prompt, drafter, budget) == answer


@settings(max_examples=300, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
@given(**CASES)
def test_every_drafter_gives_the_oracles_tokens(**case) -> None:
    one_case(**case)


@pytest.mark.proof
@settings(max_examples=5000, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
@given(**CASES)
def test_every_drafter_gives_the_oracles_tokens_in_5000_cases(**case) -> None:
    one_case(**case)


@pytest.mark.parametrize("which", range(len(every_drafter(depth=True))))
def test_each_drafter_on_a_long_repetitive_text(which: int) -> None:
    model = toy(7, 5, 2, 3.0)
    model.eos_ids = frozenset()
    prompt = (1, 2, 3, 4, 1, 2)
    answer = oracle(model, prompt, 120)
    assert decoded(model, prompt, drafters(which, model, prompt, answer, 3), 120) == answer


def test_every_drafter_of_the_registry_is_put_to_the_proof() -> None:
    # A head reads the states of a network: its proof is in test_losslessness_window.
    assert {"window", *(name for name, _ in KNOBS + DEPTH_KNOBS)} == set(DRAFTERS)


@pytest.mark.parametrize("budget", [1, 2, 3, 7])
def test_the_budget_cuts_inside_an_accepted_branch(budget: int) -> None:
    model = toy(1, 6, 2, 3.0)
    model.eos_ids = frozenset()
    answer = oracle(model, (1, 2), 30)
    drafter = Chain(answer, 2, 20)
    steps = [e for e in decode(model, Inputs((1, 2)), drafter, budget) if isinstance(e, Step)]
    assert [t for s in steps for t in s.emitted] == list(answer[1:budget])
    if budget > 1:
        assert len(steps) == 1 and steps[0].clipped
        assert len(steps[0].walk) == 20
        assert len(steps[0].accepted) == budget - 1


def test_an_end_token_inside_an_accepted_branch_cuts_there() -> None:
    model = toy(1, 6, 2, 3.0)
    model.eos_ids = frozenset()
    free = oracle(model, (1, 2), 8)
    end = free[3]
    model.eos_ids = frozenset({end})
    first = free.index(end)
    drafter = Chain(free, 2, 7)
    events = list(decode(model, Inputs((1, 2)), drafter, 30))
    steps = [e for e in events if isinstance(e, Step)]
    output = [events[1].token, *(t for s in steps for t in s.emitted)]
    assert output == list(free[: first + 1])
    assert events[-1].reason == "eos"
    if first:
        assert steps[-1].clipped and len(steps[-1].walk) > len(steps[-1].accepted)
