"""A recurrent-depth model with its caches, against lines of torch that know of none."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor

from specviz.decoding import check_fit, decode
from specviz.drafters import create
from specviz.models import probe, raven_cache, raven_probe, raven_product
from specviz.models import session as session_module
from specviz.models.base import Capture, InputError, Inputs, Message, Model, finish
from specviz.models.engines import DepthSession, Guesses
from specviz.models.raven import RavenModel
from specviz.models.raven_label import Recurrence
from specviz.models.session import chain
from specviz.trace import Finish, Progress
from specviz.tree import DraftTree
from tests.models import tiny
from tests.models.sessions import difference, opened, random_tree, worst_after_commits
from tests.plain_raven import Plain
from tests.tiny_raven import net, tiny_raven

PROMPT = tuple(random.Random(5).choices(range(4, 260), k=23))
DEPTH = 5
EXACT = 1e-9


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module", params=["zero", "seeded"])
def model(request) -> RavenModel:
    return tiny_raven(DEPTH, initial=request.param)


def plain_logits(model: RavenModel, tokens) -> Tensor:
    return Plain(model).logits(tokens, model.iterations)


@pytest.mark.parametrize("depth", range(1, DEPTH + 1))
@pytest.mark.parametrize("initial", ["zero", "seeded"])
def test_token_by_token_every_depth_equals_a_pass_without_cache(depth: int, initial):
    model = tiny_raven(depth, initial=initial, mean=DEPTH)
    tail = (9, 8, 7, 6, 5)
    session = opened(model, PROMPT)
    expected = plain_logits(model, (*PROMPT, *tail))[-len(tail) :]
    for token, row in zip(tail, expected, strict=True):
        assert difference(session.logits(DraftTree.root_only(token))[0], row) < EXACT
        session.commit([0])
    deeper = Plain(model).logits((*PROMPT, *tail), depth + 1)[-1]
    assert difference(expected[-1], deeper) > 1e-3


def test_every_node_of_a_tree_equals_a_plain_pass_over_its_branch(model: RavenModel):
    session = opened(model, PROMPT)
    tree = random_tree(1, 17)
    logits = session.logits(tree)
    for node in range(len(tree)):
        branch = [tree.tokens[n] for n in tree.path(node)]
        assert difference(logits[node], plain_logits(model, (*PROMPT, *branch))[-1]) < EXACT


def test_a_verified_block_equals_token_by_token(model: RavenModel):
    tail = tuple(random.Random(2).choices(range(4, 260), k=12))
    block = opened(model, PROMPT).logits(chain(tail))
    session = opened(model, PROMPT)
    for row, token in zip(block, tail, strict=True):
        assert difference(session.logits(DraftTree.root_only(token))[0], row) < EXACT
        session.commit([0])


def test_after_commit_a_session_equals_a_fresh_one(model: RavenModel):
    assert worst_after_commits(model, PROMPT) < EXACT


def test_chunks_equal_one_pass_and_can_stop_in_between(model: RavenModel, monkeypatch):
    whole = opened(model, PROMPT)
    monkeypatch.setattr(session_module, "CHUNK", 7)
    parts = opened(model, PROMPT)
    tree = random_tree(6, 8)
    assert difference(whole.logits(tree), parts.logits(tree)) < EXACT
    session = model.open()
    steps = session.prefill(Inputs(PROMPT))
    assert next(steps) == Progress(stage="prefill", done=7, total=len(PROMPT))
    steps.close()
    assert session.length == 7


def test_a_random_initial_state_would_be_found_out(model: RavenModel):
    """The published way draws another state in every pass: then nothing here could hold."""
    plain = Plain(model)
    plain.initial = lambda positions: torch.randn(len(positions), 32, dtype=torch.float64)
    session = opened(model, PROMPT)
    logits = session.logits(DraftTree.root_only(9))[0]
    assert difference(logits, plain.logits((*PROMPT, 9), DEPTH)[-1]) > 1e-3
    noisy = tiny_raven(DEPTH)
    noisy.start = plain.initial
    tail = (9, 8, 7)
    block = opened(noisy, PROMPT).logits(chain(tail))
    again = opened(noisy, PROMPT).logits(chain(tail))
    assert difference(block, again) > 1e-3


def test_seeded_states_are_a_function_of_the_position_alone():
    start = tiny_raven(DEPTH, initial="seeded").start
    other = tiny_raven(DEPTH, seed=3, initial="seeded").start
    assert torch.equal(start([700, 3]), torch.cat([other([700]), other([3])]))
    sample = start(list(range(600)))
    deviation = start.config.state_std
    assert float(sample.abs().max()) <= 3 * deviation
    # A normal sample that is cut at three deviations has 0.9866 of the deviation.
    assert float(sample.std()) == pytest.approx(0.9866 * deviation, rel=0.01)


def test_score_equals_verify_and_leaves_the_cache_alone(model: RavenModel, monkeypatch):
    monkeypatch.setattr(session_module, "CHUNK", 16)
    session = opened(model, PROMPT)
    tail = (9, 8, 7, 6, 5, 4)
    before = session.logits(random_tree(2, 5))
    scores = finish(session.score((*PROMPT, *tail)))
    verified = session.verify(chain(tail))
    assert scores.picks[-6:] == verified.picks
    assert scores.own_logps[-5:] == pytest.approx(verified.own_logps[1:], abs=1.1e-4)
    logps = plain_logits(model, (*PROMPT, *tail)).log_softmax(-1)
    expected = [float(logps[i, t]) for i, t in enumerate((*PROMPT, *tail)[1:])]
    assert scores.own_logps[1:] == pytest.approx(expected, abs=1e-4)
    assert torch.equal(session.logits(random_tree(2, 5)), before)


def test_buffers_grow_without_a_trace(model: RavenModel, monkeypatch):
    monkeypatch.setattr(session_module, "SLACK", 0)
    monkeypatch.setattr(raven_cache, "FIRST", 1)
    session = opened(model, PROMPT[:6])
    tree = random_tree(8, 14)
    session.logits(tree)
    session.commit(tree.path(13))
    committed = (*PROMPT[:6], *(tree.tokens[n] for n in tree.path(13)))
    following = random_tree(9, 20)
    logits = session.logits(following)
    for node in (0, 7, 19):
        branch = [following.tokens[n] for n in following.path(node)]
        assert difference(logits[node], plain_logits(model, (*committed, *branch))[-1]) < EXACT


def test_commit_moves_the_rows_of_a_branch_only():
    session = opened(tiny_raven(3), PROMPT)
    session.logits(DraftTree((5, 6, 7, 8, 9), (-1, 0, 0, 2, 2)))
    stores = session._cache.stores
    before = [store.clone() for store in stores]
    session.commit((0, 2, 4))
    n = len(PROMPT)
    assert [store.shape[0] for store in stores] == [1, 1, 3, 3, 1, 1]
    for store, old, kept in zip(stores, before, session._cache.stores, strict=True):
        assert kept is store
        assert torch.equal(store[..., : n + 1, :], old[..., : n + 1, :])
        assert torch.equal(store[..., n + 1 : n + 3, :], old[..., [n + 2, n + 4], :])
        assert torch.equal(store[..., n + 3 : n + 5, :], old[..., n + 3 : n + 5, :])
    session.logits(chain((5, 6, 7)))
    before = [store[..., : n + 6, :].clone() for store in stores]
    session.commit((0, 1))
    for store, old in zip(stores, before, strict=True):
        assert torch.equal(store[..., : n + 6, :], old)
    assert session.length == n + 5


def test_of_equal_logits_the_lowest_id_is_picked():
    silent = net(depth=3)
    torch.nn.init.zeros_(silent.transformer.ln_f.weight)
    model = RavenModel(silent, tiny.tokenizer(), label="silent", digest="0")
    session = opened(model, PROMPT, Capture(top_k=3))
    scores = session.verify(chain((9, 8)))
    assert (scores.picks, scores.top_ids) == ((0, 0), ((0, 1, 2), (0, 1, 2)))
    engine = session.depth_engine()
    engine.begin(9, 3, 3)
    engine.refine(1)
    assert engine.read() == Guesses((0,), (pytest.approx(1 / tiny.VOCABULARY),))


def test_what_a_model_says_of_itself():
    model = tiny_raven(4, mean=8)
    assert isinstance(model, Model) and isinstance(model.open(), DepthSession)
    assert (model.depth, model.max_context, model.dtype) == (4, 256, "float64")
    assert model.supports == {"tree", "rollback", "depth"}
    assert (model.eos_ids, model.blocked_ids) == ({2}, {1})
    text = model.encode([Message("user", "the <|im_end|>")]).tokens
    assert text.count(2) == 1  # the template's own
    digests = {
        tiny_raven(4, mean=8).digest,
        tiny_raven(8, mean=8).digest,
        tiny_raven(8, mean=8, initial="seeded").digest,
    }
    assert len(digests) == 3
    assert tiny_raven(8, mean=8).digest == "seed 0"
    assert model.at(Recurrence(8), "other").digest == "seed 0"


@pytest.mark.parametrize("depth", [0, 33])
def test_a_depth_out_of_range_is_refused_with_the_range(depth: int):
    with pytest.raises(InputError, match="a whole number from 1 to 32"):
        tiny_raven(depth, mean=8)


def test_too_long_a_prompt_is_refused_before_the_run():
    model = tiny_raven(2, block_size=40)
    for length, message in (
        (40, "The prompt has 40 tokens, the context of tiny-random-raven ends at 40"),
        (31, "ask for at most 9 new tokens or shorten the prompt"),
    ):
        with pytest.raises(InputError, match=message):
            check_fit(model, create("recap"), Inputs((5,) * length), 10)


def test_at_the_end_of_the_context_a_run_finishes_with_length():
    model = tiny_raven(2, block_size=40)
    model.eos_ids = frozenset()
    *_, last = decode(model, Inputs((5, 6, 7) * 10), create("recap"), 10)
    assert isinstance(last, Finish)
    assert (last.reason, last.tokens) == ("length", 10)


def test_probes_know_the_model():
    model = tiny_raven(4)
    facts = probe.architecture(model)
    # Two layers before, four times two in the core, two behind; keys and values of 32 float64.
    assert (facts["layers"], facts["depth"], facts["kv_bytes_per_token"]) == (12, 4, 6144)
    assert probe.cache_bytes(model) == 6144
    gap, allowed = probe.tree_gap(model)
    assert gap < EXACT < allowed
    with probe.forward_clock(model) as clock:
        opened(model, PROMPT).verify(DraftTree.root_only(9))
    assert clock.calls == 2 and clock.seconds > 0
    token, products = raven_probe.loop_overhead(model)
    assert 0 < products < token


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_second_layout_of_the_weights_changes_no_more_than_rounding(dtype, monkeypatch):
    monkeypatch.setattr(raven_product, "ENOUGH", 0)  # these matrices are small
    plain, packed = (tiny_raven(DEPTH, dtype=dtype) for _ in range(2))
    packed.pack()
    if not packed.packed:  # whether it is faster at this size is up to the processor
        for product in packed.lean.products:
            product.pack()
    tree = random_tree(1, 9)
    expected = opened(plain, PROMPT).logits(tree)
    error = difference(opened(packed, PROMPT).logits(tree), expected) / float(expected.std())
    assert all(product.wide is not None for product in packed.lean.products)
    product = packed.lean.products[0]
    x = torch.ones(2, product.weight.shape[1], dtype=dtype)
    with torch.inference_mode():
        torch.testing.assert_close(product(x), product.blocked(x), rtol=0, atol=0)
    assert error < (1e-4 if dtype == torch.float32 else 0.5)


def test_costs_are_measured_on_passes_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    costs = finish(tiny_raven(2).measure(40))
    assert (costs.context, costs.rows[0], costs.rows[-1]) == (128, 1, 96)
