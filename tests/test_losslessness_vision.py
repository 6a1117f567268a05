"""Every drafter on tiny image-text networks, against plain decoding and transformers' generate."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from specviz.decoding import decode
from specviz.drafters import create
from specviz.jobs import Job, run
from specviz.models import registry
from specviz.models.base import Inputs, Message
from specviz.models.registry import Entry
from specviz.models.vision import VisionModel
from specviz.trace import Progress, Step, Trace
from tests.adversaries import drafters, every_drafter
from tests.models import tiny_vision as tiny
from tests.test_losslessness import decoded_inputs

BUDGET = 24
SIZES = ((48, 40), (90, 30))


@cache
def model(architecture: str, dtype: torch.dtype) -> VisionModel:
    torch.set_num_threads(1)
    return tiny.model(architecture, dtype)


@cache
def generated(
    architecture: str, dtype: torch.dtype, seed: int
) -> tuple[Inputs, tuple[int, ...]]:
    """A prompt with two pictures and an earlier turn, and what transformers says to it."""
    m = model(architecture, dtype)
    first, second = (tiny.picture(seed + i, *size) for i, size in enumerate(SIZES))
    inputs = m.encode(
        [
            Message("user", tiny.words(seed), (first,)),
            Message("assistant", "abab"),
            Message("user", tiny.words(seed, 6), (second,)),
        ]
    )
    given = m.given(inputs)
    out = m.net.generate(
        **given, max_new_tokens=BUDGET, do_sample=False, repetition_penalty=1.0
    )
    return inputs, tuple(out[0, len(inputs.tokens) :].tolist())


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_every_drafter_gives_the_tokens_of_generate(architecture: str, dtype: torch.dtype) -> None:
    m = model(architecture, dtype)
    seed = 3 if dtype == torch.float64 else 8
    inputs, answer = generated(architecture, dtype, seed)
    assert len(answer) >= 12
    for which in range(len(every_drafter())):
        drafter = drafters(which, m, inputs.tokens, answer, seed)
        assert decoded_inputs(m, inputs, drafter, BUDGET) == answer, which


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_recap_verifies_several_rounds_behind_a_picture(architecture: str) -> None:
    """Transformers #35450: the first round was right and the second was not."""
    inputs, answer = generated(architecture, torch.float64, 3)
    m = model(architecture, torch.float64)
    steps = [e for e in decode(m, inputs, create("recap", {}), BUDGET) if isinstance(e, Step)]
    assert len(steps) >= 3
    assert sum(len(step.nodes) > 1 for step in steps) >= 3
    assert tuple(t for step in steps for t in step.emitted) == answer[1:]


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_a_penalty_in_the_checkpoints_settings_does_not_reach_our_loop(architecture: str) -> None:
    """It changes what ``generate`` says unless it is told otherwise."""
    m = model(architecture, torch.float64)
    inputs, answer = generated(architecture, torch.float64, 3)
    assert m.net.generation_config.repetition_penalty == 1.3
    out = m.net.generate(**m.given(inputs), max_new_tokens=BUDGET, do_sample=False)
    assert tuple(out[0, len(inputs.tokens) :].tolist()) != answer


@pytest.mark.parametrize("architecture", ["llava", "qwen2_5_vl", "qwen3_vl"])
def test_half_precision_differs_by_numeric_ties_only(
    monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    low = model(architecture, torch.bfloat16)
    registry.register(
        Entry(low.label, low.label, lambda device, dtype: low, "image", supports=low.supports)
    )
    ties, tokens = 0, 0
    for seed in range(3):
        job = Job(
            model=low.label,
            prompt=tiny.words(seed, 20),
            pictures=(tiny.picture(seed),),
            dtype="bfloat16",
            max_new_tokens=32,
        )
        trace = Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))
        assert trace.check is not None and trace.check.complete
        assert trace.check.equal in (True, "tie")
        ties += trace.check.ties
        tokens += len(trace.run().tokens)
    assert ties <= tokens // 10
