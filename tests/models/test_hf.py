"""Tree passes on real transformers architectures against passes that know nothing of trees."""

from __future__ import annotations

import random
from threading import Thread

import pytest
import torch

from specviz.decoding import decode
from specviz.drafters import create
from specviz.models import hf_cache
from specviz.models import session as session_module
from specviz.models.base import Capture, InputError, Inputs, Message, finish
from specviz.models.hf import HFModel
from specviz.models.session import TreeSession, chain
from specviz.trace import Progress
from specviz.tree import DraftTree
from tests.models import tiny
from tests.models.sessions import difference, random_tree, reading, worst_after_commits

PROMPT = tuple(random.Random(5).choices(range(4, 260), k=40))
# The stock eager attention takes its softmax in float32, also in a float64 model.
EXACT = {"sdpa": 1e-9, "eager": 1e-5}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(
    scope="module", params=[(a, t) for a in tiny.ARCHITECTURES for t in ("eager", "sdpa")], ids=str
)
def model(request) -> HFModel:
    return tiny.model(*request.param)


@pytest.fixture(scope="module")
def llama() -> HFModel:
    return tiny.model("llama", "sdpa")


def plain_logits(model: HFModel, tokens) -> torch.Tensor:
    """Logits [n, V] of transformers' own forward: no cache, no mask of ours."""
    with torch.inference_mode():
        return model.net(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]


def exact(model: HFModel) -> float:
    return EXACT["eager" if model.net.config._attn_implementation == "eager" else "sdpa"]


def test_every_node_equals_a_plain_pass_over_its_branch(model: HFModel):
    session, _ = reading(model, PROMPT)
    tree = random_tree(1, 17)
    logits = session.logits(tree)
    for node in range(len(tree)):
        branch = [tree.tokens[n] for n in tree.path(node)]
        assert difference(logits[node], plain_logits(model, (*PROMPT, *branch))[-1]) < exact(model)


def test_after_commit_a_session_equals_a_fresh_one(model: HFModel):
    assert worst_after_commits(model, PROMPT) < exact(model)


def test_siblings_do_not_see_each_other(model: HFModel):
    session, _ = reading(model, PROMPT)
    tree = DraftTree((5, 6, 7, 8, 9), (-1, 0, 0, 1, 2))
    other = DraftTree((5, 6, 70, 8, 90), (-1, 0, 0, 1, 2))
    first, second = session.logits(tree), session.logits(other)
    assert torch.equal(first[[0, 1, 3]], second[[0, 1, 3]])
    assert difference(first[[2, 4]], second[[2, 4]]) > 0.01


def test_order_of_siblings_does_not_matter(model: HFModel):
    session, _ = reading(model, PROMPT)
    one = session.logits(DraftTree((5, 6, 7, 8), (-1, 0, 0, 1)))
    two = session.logits(DraftTree((5, 7, 6, 8), (-1, 0, 0, 2)))
    assert difference(one, two[[0, 2, 1, 3]]) < exact(model)


def test_a_second_verify_replaces_the_first(model: HFModel):
    session, _ = reading(model, PROMPT)
    tree = random_tree(3, 9)
    expected = session.logits(tree)
    session.logits(random_tree(4, 30))
    assert session.length == len(PROMPT)
    assert torch.equal(session.logits(tree), expected)


def test_chunks_equal_one_pass(model: HFModel, monkeypatch):
    capture = Capture(prompt_rows="all", full_entropy=True)
    whole, expected = reading(model, PROMPT, capture)
    monkeypatch.setattr(session_module, "CHUNK", 7)
    parts, scores = reading(model, PROMPT, capture)
    assert scores.picks == expected.picks
    assert scores.positions == tuple(range(len(PROMPT)))
    assert scores.top_ids == expected.top_ids
    assert scores.peaks == pytest.approx(expected.peaks, abs=1.1e-4)
    assert scores.entropies == pytest.approx(expected.entropies, abs=1.1e-4)
    tree = random_tree(6, 8)
    assert difference(whole.logits(tree), parts.logits(tree)) < exact(model)


def test_score_equals_verify_and_leaves_the_cache_alone(model: HFModel, monkeypatch):
    monkeypatch.setattr(session_module, "CHUNK", 16)
    session, _ = reading(model, PROMPT)
    tail = (9, 8, 7, 6, 5, 4)
    before = session.logits(random_tree(2, 5))
    scores = finish(session.score((*PROMPT, *tail)))
    verified = session.verify(chain(tail))
    assert scores.picks[-6:] == verified.picks
    assert scores.own_logps[-5:] == pytest.approx(verified.own_logps[1:], abs=1.1e-4)
    assert scores.own_logps[0] is None
    logps = plain_logits(model, (*PROMPT, *tail)).log_softmax(-1)
    expected = [float(logps[i, t]) for i, t in enumerate((*PROMPT, *tail)[1:])]
    assert scores.own_logps[1:] == pytest.approx(expected, abs=1e-4)
    assert torch.equal(session.logits(random_tree(2, 5)), before)


@pytest.mark.parametrize("drafter", ["autoregressive", "recap"])
def test_greedy_equals_generate(model: HFModel, drafter: str):
    tokens = tiny.emitted(decode(model, Inputs(PROMPT), create(drafter), 60))
    asked = torch.tensor([PROMPT])
    made = model.net.generate(asked, do_sample=False, max_new_tokens=60, use_cache=True)
    assert tokens == tuple(made[0, len(PROMPT) :].tolist())


def test_generation_settings_are_not_applied():
    model = tiny.model()
    _, scores = reading(model, PROMPT)
    model.net.generation_config.repetition_penalty = 50.0
    model.net.generation_config.suppress_tokens = [scores.picks[-1]]
    _, again = reading(model, PROMPT)
    assert again.picks == scores.picks == (int(plain_logits(model, PROMPT)[-1].argmax()),)


def test_verify_reports_the_numbers_of_the_model(llama: HFModel):
    session, _ = reading(llama, PROMPT, Capture(top_k=3, full_entropy=True))
    tree = DraftTree((5, 6, 7, 8), (-1, 0, 0, 2))
    scores = session.verify(tree)
    for node in range(4):
        branch = [tree.tokens[n] for n in tree.path(node)]
        logits = plain_logits(llama, (*PROMPT, *branch))
        logps = logits.log_softmax(-1)
        top = logits[-1].topk(3)
        assert scores.picks[node] == scores.top_ids[node][0] == int(logits[-1].argmax())
        assert scores.top_ids[node] == tuple(top.indices.tolist())
        assert scores.top_logps[node] == pytest.approx(logps[-1, top.indices].tolist(), abs=1e-4)
        assert scores.margins[node] == pytest.approx(float(top.values[0] - top.values[1]), abs=1e-4)
        assert scores.peaks[node] == pytest.approx(float(top.values[0]), abs=1e-4)
        tail = 1 - float(logps[-1, top.indices].exp().sum())
        assert scores.tails[node] == pytest.approx(tail, abs=1e-4)
        entropy = -float((logps[-1].exp() * logps[-1]).sum())
        assert scores.entropies[node] == pytest.approx(entropy, abs=1e-4)
        if node:
            own = float(logps[-2, tree.tokens[node]])
            assert scores.own_logps[node] == pytest.approx(own, abs=1e-4)
    assert scores.own_logps[0] is None
    assert scores.positions == (0, 1, 2, 3)


def test_prefill_scores_the_rows_that_were_asked_for(llama: HFModel, monkeypatch):
    monkeypatch.setattr(session_module, "CHUNK", 4)
    tokens = (5, 6, 5, 7, 6, 8, 8, 5, 6)
    _, distinct = reading(llama, tokens, Capture(prompt_rows="distinct"))
    _, last = reading(llama, tokens)
    best = plain_logits(llama, tokens).argmax(-1).tolist()
    assert distinct.positions == (0, 1, 3, 5, 8)
    assert distinct.picks == tuple(best[p] for p in (0, 1, 3, 5, 8))
    assert (last.positions, last.picks) == ((8,), (best[8],))


def test_progress_of_prefill_can_stop_between_chunks(llama: HFModel, monkeypatch):
    monkeypatch.setattr(session_module, "CHUNK", 16)
    session = llama.open()
    steps = session.prefill(Inputs(PROMPT))
    assert next(steps) == Progress(stage="prefill", done=16, total=40)
    assert session.length == 16
    steps.close()
    session.close()
    assert session.length == 0


def test_buffers_grow_without_a_trace(model: HFModel, monkeypatch):
    monkeypatch.setattr(session_module, "SLACK", 0)
    monkeypatch.setattr(hf_cache, "FIRST", 1)
    session, _ = reading(model, PROMPT[:6])
    tree = random_tree(8, 14)
    session.logits(tree)
    path = tree.path(13)
    session.commit(path)
    committed = (*PROMPT[:6], *(tree.tokens[n] for n in path))
    probe = random_tree(9, 20)
    expected = torch.stack(
        [
            plain_logits(model, (*committed, *(probe.tokens[n] for n in probe.path(node))))[-1]
            for node in range(20)
        ]
    )
    assert difference(session.logits(probe), expected) < exact(model)


def test_commit_moves_accepted_rows_only(llama: HFModel):
    session, _ = reading(llama, PROMPT)
    session.logits(DraftTree((5, 6, 7, 8, 9), (-1, 0, 0, 2, 2)))
    layer = session._cache.layers[0]
    buffer, before = layer._key_rows, layer._key_rows.clone()
    session.commit((0, 2, 4))
    n = len(PROMPT)
    assert layer._key_rows is buffer
    assert torch.equal(buffer[:, :, : n + 1], before[:, :, : n + 1])
    assert torch.equal(buffer[:, :, n + 1 : n + 3], before[:, :, [n + 2, n + 4]])
    assert torch.equal(buffer[:, :, n + 3 : n + 5], before[:, :, n + 3 : n + 5])
    assert session.length == layer.length == n + 3


@pytest.mark.parametrize("path", [(), (1,), (0, 3), (0, 2, 1)])
def test_commit_of_what_is_no_path_is_caught(llama: HFModel, path):
    session, _ = reading(llama, PROMPT)
    session.logits(DraftTree((5, 6, 7, 8), (-1, 0, 0, 1)))
    with pytest.raises(AssertionError):
        session.commit(path)
    assert session.length == len(PROMPT)


def test_a_pass_that_breaks_off_leaves_the_cache_as_it_was(llama: HFModel, monkeypatch):
    session, _ = reading(llama, PROMPT)
    tree = random_tree(11, 6)
    expected = session.logits(tree)

    def broken(*args, **kwargs):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patch:
        patch.setattr(llama.net.model.layers[1].mlp, "forward", broken)
        with pytest.raises(RuntimeError, match="out of memory"):
            session.logits(random_tree(12, 6))
    assert torch.equal(session.logits(tree), expected)


def test_two_sessions_at_once_do_not_disturb_each_other(llama: HFModel):
    prompts = [PROMPT, tuple(reversed(PROMPT))]

    def answer(prompt) -> tuple[int, ...]:
        return tiny.emitted(decode(llama, Inputs(prompt), create("prompt_lookup"), 40))

    alone = [answer(p) for p in prompts]
    together: list[tuple[int, ...]] = [(), ()]

    def work(i: int) -> None:
        together[i] = answer(prompts[i])

    threads = [Thread(target=work, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == alone
    assert alone[0] != alone[1]


def test_numbers_that_are_not_finite_are_said(llama: HFModel, monkeypatch):
    session: TreeSession = llama.open()
    with torch.no_grad():
        weight = llama.net.lm_head.weight
        kept = weight[3, 3].item()
        weight[3, 3] = float("nan")
        try:
            with pytest.raises(InputError, match="not finite: choose dtype float32"):
                session.verify(chain((5, 6)))
        finally:
            weight[3, 3] = kept


def test_a_model_says_what_it_is(llama: HFModel):
    assert (llama.device, llama.dtype) == ("cpu", "float64")
    assert llama.supports == {"tree", "rollback", "head"}
    assert llama.eos_ids == {2}
    assert llama.blocked_ids == {1}
    assert llama.special_ids == {0, 1, 2, 3}
    assert (llama.max_context, llama.vocab_size) == (512, 300)
    inputs = llama.encode([Message("user", "the")])
    assert b"".join(map(llama.token_bytes, inputs.tokens)) == (
        b"<|im_start|>user\nthe<|im_end|>\n<|im_start|>assistant\n"
    )
