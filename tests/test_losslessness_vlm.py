"""Answers about pictures are those of plain decoding and of transformers' own generate."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

import pytest
import torch

from specviz.bench.prompts import Prompt
from specviz.bench.vlm_prompts import first_questions, prompts, sets
from specviz.budget import Curve
from specviz.decoding import decode
from specviz.drafters import create
from specviz.drafters.base import Drafter
from specviz.jobs import Job, run
from specviz.models import peers, registry, smol_boards
from specviz.models.base import Inputs, Message, Model
from specviz.models.registry import Entry
from specviz.models.vision import VisionModel
from specviz.pixels import picture_of
from specviz.trace import Finish, Prefill, Progress, Step, Trace
from specviz.training.vlm_draw import draw
from specviz.training.vlm_scenes import scene
from tests.adversaries import RECAP, Chain, Poisoned, drafters, every_drafter, poisoned_snapshot
from tests.models import tiny_vision

TOKENS = 96
BUDGET = 20
CURVES = (None, Curve((1, 64), (1.0, 1.0)), Curve((1, 2, 4, 8, 64), (0.04, 0.065, 0.06, 0.05, 0.2)))
needs_weights = pytest.mark.skipif(
    smol_boards.problem() is not None, reason=str(smol_boards.problem())
)


def answer(
    model: Model, inputs: Inputs, drafter: Drafter, budget: int, costs: Curve | None = None
) -> tuple[tuple[int, ...], int]:
    """The emitted tokens, the bookkeeping of every step checked on the way, and the steps made."""
    output: list[int] = []
    steps, finish = 0, None
    for event in decode(model, inputs, drafter, budget, costs):
        if isinstance(event, Prefill):
            output.append(event.token)
        elif isinstance(event, Step):
            output.extend(event.emitted)
            steps += 1
            assert event.cache_length == len(inputs.tokens) + len(output) - 1
        elif isinstance(event, Finish):
            finish = event
    assert finish is not None and finish.tokens == len(output)
    return tuple(output), steps


def asked(model: Model, prompt: Prompt) -> Inputs:
    """The question with its picture as the model gets it."""
    return model.encode([Message("user", prompt.text, prompt.pictures)])


def hostile(model: Model, seed: int) -> Iterator[tuple[str, Drafter]]:
    """RECAP whose memories say something wrong about every token, handed in and from within."""
    handed = create("recap", {"nodes": 12})
    handed.restore(poisoned_snapshot(model, seed), model)  # type: ignore[arg-type]
    yield "recap, poisoned memory handed in", handed
    yield "recap, all levels poisoned", Poisoned(seed, model.vocab_size)


@cache
def tiny() -> VisionModel:
    torch.set_num_threads(1)
    made = tiny_vision.model("llava")
    made.eos_ids = frozenset({17, 130})
    return made


@cache
def case(seed: int) -> tuple[Inputs, tuple[int, ...]]:
    """A drawn scene with one of its questions, and what transformers' generate says about it."""
    rng = random.Random(seed)
    made = scene(rng, "held-out")
    drawn = picture_of(draw(made, rng), f"{seed}.png")
    inputs = asked(tiny(), Prompt(made.questions[0].question, pictures=(drawn,)))
    expected = peers.beside(tiny()).generate(inputs.tokens, BUDGET, pixels=inputs.pixels)
    return inputs, expected.tokens


@pytest.mark.parametrize("which", range(len(every_drafter())))
def test_each_drafter_on_a_tiny_model_that_sees(which: int) -> None:
    model = tiny()
    for seed in range(3):
        inputs, expected = case(seed)
        drafter = drafters(which, model, inputs.tokens, expected, seed)
        if which == RECAP and seed:
            drafter.restore(poisoned_snapshot(model, seed), model)  # type: ignore[arg-type]
        found, steps = answer(model, inputs, drafter, BUDGET, CURVES[(seed + which) % 3])
        assert found == expected
        assert steps >= 3 or isinstance(drafter, Chain)  # the oracle needs one


def test_the_tiny_model_looks_at_the_picture() -> None:
    assert len({case(seed)[1] for seed in range(3)}) == 3
    inputs, expected = case(0)
    blind = tiny().encode([Message("user", "What does the board say?")])
    assert answer(tiny(), blind, create("recap"), BUDGET)[0] != expected
    swapped = Inputs(inputs.tokens, pixels=case(1)[0].pixels)
    assert [p.rows for p in swapped.pixels] == [p.rows for p in inputs.pixels]
    assert answer(tiny(), swapped, create("recap"), BUDGET)[0] != expected


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_differs_by_numeric_ties_only(
    monkeypatch: pytest.MonkeyPatch, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    torch.set_num_threads(1)
    low = tiny_vision.model("llava", dtype)
    low.eos_ids = frozenset()
    label = f"tiny-seeing-{low.dtype}"
    registry.register(Entry(label=label, title=label, load=lambda device, dtype: low,
                            supports=frozenset({"tree", "rollback", "image"})))  # fmt: skip
    outcomes, ties, tokens = [], 0, 0
    for seed in range(4):
        seen = (tiny_vision.picture(seed),)
        job = Job(model=label, prompt=chr(97 + seed) * 20, dtype=low.dtype, max_new_tokens=32,
                  pictures=seen)  # fmt: skip
        trace = Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))
        assert trace.check is not None and trace.check.complete
        outcomes.append(trace.check.equal)
        ties += trace.check.ties
        tokens += len(trace.run().tokens)  # type: ignore[union-attr]
    assert False not in outcomes and tokens == 4 * 32
    if dtype == torch.float32:
        assert outcomes == [True] * 4
    assert ties <= tokens // 10


@needs_weights
def test_six_held_out_pictures_get_transformers_own_answers_in_float32() -> None:
    """One picture of each kind; the long proof takes all 24 and every drafter."""
    model = registry.load(smol_boards.LABEL, dtype="float32")
    peer = peers.load(smol_boards.LABEL, "cpu", "float32")
    chosen = {p.category: p for p in first_questions(sets(prompts())["template"])}
    assert len(chosen) == 6
    for number, prompt in enumerate(chosen.values()):
        inputs = asked(model, prompt)
        expected = peer.generate(inputs.tokens, TOKENS, pixels=inputs.pixels).tokens
        tried: list[tuple[str, Drafter]] = [
            ("autoregressive", create("autoregressive")),
            ("recap", create("recap")),
            ("token_recycling", create("token_recycling", {"tree": "best_first"})),
            next(iter(hostile(model, number))),
        ]
        for name, drafter in tried:
            assert answer(model, inputs, drafter, TOKENS)[0] == expected, (prompt.id, name)
