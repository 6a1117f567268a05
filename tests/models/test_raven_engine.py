"""A drafter's block inside a recurrent-depth model, against the same written position by position;
and that nothing it does reaches the session."""

from __future__ import annotations

import math
import random

import pytest
import torch

from specviz.models.engines import DepthEngine
from specviz.models.raven import RavenModel
from specviz.models.raven_engine import _guesses
from specviz.models.raven_pass import Causal
from specviz.models.session import chain
from specviz.tree import DraftTree
from tests.models.sessions import opened
from tests.plain_raven import Plain, PlainBlock
from tests.tiny_raven import tiny_raven

PROMPT = tuple(random.Random(5).choices(range(4, 260), k=19))
DEPTH = 4
ROOT = 9
EXACT = 1e-9


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module", params=["zero", "seeded"])
def model(request) -> RavenModel:
    return tiny_raven(DEPTH, initial=request.param)


def same(engine: DepthEngine, block: PlainBlock, first: int = 0) -> None:
    """What the engine reads is what the plain block says."""
    guesses, expected = engine.read(first), block.read(first)
    assert guesses.picks == tuple(expected.argmax(-1).tolist())
    assert guesses.probabilities == pytest.approx(expected.max(-1).values.tolist(), abs=EXACT)
    assert engine.ages == tuple(position.age for position in block.block)


@pytest.mark.parametrize("stepwise", [False, True])
@pytest.mark.parametrize("values", [0, 2, DEPTH])
@pytest.mark.parametrize("keys", [0, 1, DEPTH])
def test_any_sequence_of_calls_equals_the_plain_block(model, keys, values, stepwise):
    plain = Plain(model)
    session = opened(model, PROMPT)
    engine = session.depth_engine()
    for seed in range(4):
        rng = random.Random(seed)
        engine.begin(ROOT, keys, values, stepwise)
        block = PlainBlock(plain, PROMPT, DEPTH, ROOT, keys, values, stepwise)
        for each in (engine, block):
            each.refine(1 + seed)
        for _ in range(7):
            count, move = len(engine.ages), rng.randrange(5)
            tokens = rng.choices(range(4, 260), k=rng.randint(1, 3))
            iterations = rng.randint(1, 3)
            parked = next((j for j, age in enumerate(engine.ages) if age == 0), count - 1)
            first = rng.randint(0, min(parked, count - 1))
            for each in (engine, block):
                if move == 0:
                    each.grow(tokens)
                elif move == 1:
                    each.replace(tokens[: count - 1])
                elif move == 2 and seed == 3:
                    each.restart()
                else:
                    each.refine(iterations, first)
            if move == 4:
                same(engine, block, rng.randrange(len(engine.ages)))
        engine.refine(1)
        block.refine(1)
        same(engine, block)


def test_a_coupled_draft_of_full_depth_is_the_model_itself(model: RavenModel):
    """Sequentially, stepwise, coupled: at depth d the model run with d iterations."""
    for depth in (2, DEPTH):
        shallow = model.at(type(model.recurrence)(depth, model.recurrence.initial), "shallow")
        session = opened(model, PROMPT)
        engine = session.depth_engine()
        engine.begin(ROOT, 0, 0, stepwise=True)
        tokens = [ROOT]
        plain = Plain(shallow)
        for position in range(5):
            engine.refine(depth, position)
            guess = engine.read(position)
            logits = plain.logits((*PROMPT, *tokens), depth)
            # The prefix's coda rows come from the full pass: only at full depth the same.
            if depth == DEPTH:
                assert guess.picks == (int(logits[-1].argmax()),)
                best = float(logits[-1].softmax(-1).max())
                assert guess.probabilities == pytest.approx((best,), abs=EXACT)
            tokens.append(guess.picks[0])
            engine.grow([guess.picks[0]])
        if depth == DEPTH:
            picks = session.verify(chain(tokens[:-1])).picks
            assert picks == tuple(tokens[1:])


def test_ages_beyond_the_depth_look_at_the_last_iteration(model: RavenModel):
    engine = opened(model, PROMPT).depth_engine()
    engine.begin(ROOT, 0, 0)
    engine.refine(DEPTH)
    engine.refine(2)
    block = PlainBlock(Plain(model), PROMPT, DEPTH, ROOT, 0, 0)
    block.refine(DEPTH + 2)
    same(engine, block)


def test_begin_follows_what_was_committed(model: RavenModel):
    session = opened(model, PROMPT)
    engine = session.depth_engine()
    committed = list(PROMPT)
    for step, (keys, values) in enumerate([(DEPTH, DEPTH), (DEPTH, DEPTH), (0, DEPTH), (0, 0)]):
        root = 40 + step
        engine.begin(root, keys, values)
        block = PlainBlock(Plain(model), committed, DEPTH, root, keys, values)
        for each in (engine, block):
            each.grow([5, 6, 7])
            each.refine(2)
            each.replace([8, 6, 9])
            each.refine(1)
        same(engine, block)
        tree = DraftTree((root, 5, 6, 7), (-1, 0, 0, 2))
        session.verify(tree)
        session.commit((0, 2, 3))
        committed += [root, 6, 7]


def test_what_was_said_before_changes_nothing_after(model: RavenModel):
    """A used engine and a fresh one guess the same."""
    session = opened(model, PROMPT)
    used = session.depth_engine()
    used.begin(7, 0, DEPTH, stepwise=True)
    used.grow([8, 9, 10])
    used.refine(3)
    used.read()
    fresh = session.depth_engine()
    for engine in (used, fresh):
        engine.begin(ROOT, DEPTH, DEPTH)
        engine.grow([3, 4])
        engine.refine(2)
    assert used.read() == fresh.read()


@torch.inference_mode()
def test_nothing_that_an_engine_does_reaches_the_session(model: RavenModel):
    session = opened(model, PROMPT)
    tree = DraftTree((ROOT, 5, 6, 7, 8), (-1, 0, 0, 1, 2))
    expected = session.logits(tree)
    before = [store.clone() for store in session._cache.stores]
    places = [store.data_ptr() for store in session._cache.stores]
    for keys, values, stepwise in ((0, 0, True), (0, DEPTH, False), (DEPTH, DEPTH, False)):
        engine = session.depth_engine()
        engine.begin(ROOT, keys, values, stepwise)
        engine.grow(range(10, 50))
        engine.refine(2)
        engine._states.fill_(float("nan"))
        engine._inputs.fill_(1e30)
        for page in engine._pages.values():
            page.store.fill_(float("nan"))
        engine.refine(3)
        engine.read()
        # Where its pages lie is no place of the session's.
        ends = [(p, p + s.numel() * 8) for p, s in zip(places, before, strict=True)]
        for page in engine._pages.values():
            at = page.store.data_ptr()
            assert not any(low <= at < high for low, high in ends)
    assert session.length == len(PROMPT)
    assert [store.data_ptr() for store in session._cache.stores] == places
    end = len(PROMPT) + len(tree)
    for store, old in zip(session._cache.stores, before, strict=True):
        assert torch.equal(store[..., :end, :], old[..., :end, :])
    assert torch.equal(session.logits(tree), expected)


def test_calls_in_a_wrong_order_are_bugs(model: RavenModel):
    engine = opened(model, PROMPT).depth_engine()
    with pytest.raises(AssertionError, match="begin a block first"):
        engine.grow([1, 2])
    with pytest.raises(AssertionError, match="no such iteration"):
        engine.begin(ROOT, DEPTH + 1, 0)
    engine.begin(ROOT, 0, 0)
    engine.grow([5])
    with pytest.raises(AssertionError, match="never refined"):
        engine.refine(1, first=1)
    with pytest.raises(AssertionError, match="more tokens than positions"):
        engine.replace([1, 2])
    engine.drop()
    with pytest.raises(AssertionError, match="nothing to refine"):
        engine.refine(1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_in_other_types_a_coupled_block_of_full_depth_is_a_verification(dtype: torch.dtype):
    """Half precision takes other kernels, so they are run here too."""
    session = opened(tiny_raven(DEPTH, dtype=dtype), PROMPT)
    tokens = (ROOT, 5, 6, 7)
    scores = session.verify(chain(tokens))
    engine = session.depth_engine()
    for stepwise in (False, True):
        engine.begin(ROOT, 0, 0, stepwise)
        engine.grow(tokens[1:])
        engine.refine(DEPTH)
        guesses = engine.read()
        assert guesses.picks == scores.picks
        expected = [math.exp(logps[0]) for logps in scores.top_logps]
        assert guesses.probabilities == pytest.approx(expected, abs=1e-3)


def test_masks_are_windows_of_one_table_however_it_has_grown():
    causal = Causal(torch.float64, torch.device("cpu"))
    for first, end in ((3, 5), (0, 9), (70, 83), (2, 4), (300, 340), (0, 2)):
        mask = causal(first, end)
        rows, columns = torch.arange(first, end)[:, None], torch.arange(end)[None]
        assert mask is not None
        assert torch.equal(mask == 0, columns <= rows)
        assert torch.equal(mask == float("-inf"), columns > rows)
    assert causal(7, 8) is None  # a single row sees everything


def test_the_first_among_equal_logits_is_the_guess():
    guesses = _guesses(torch.tensor([[0.0, 1.0, 2.0, 2.0], [3.0, 0.0, 3.0, 0.0]]))
    assert guesses.picks == (2, 0)
    e = math.e
    expected = (e**2 / (2 * e**2 + e + 1), e**3 / (2 * e**3 + 2))
    assert guesses.probabilities == pytest.approx(expected, abs=1e-6)
