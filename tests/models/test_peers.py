"""transformers' own generate on stock weights says what our loop says."""

from __future__ import annotations

import pytest

from specviz.bench.prompts import Prompt
from specviz.bench.rows import HEADLINE, Row
from specviz.bench.runner import Place, Runner
from specviz.models import peers, probe, registry, smollm2
from specviz.models.base import Message, Unsupported

needs_weights = pytest.mark.skipif(smollm2.problem() is not None, reason=str(smollm2.problem()))


@needs_weights
def test_stock_generate_and_every_row_of_ours_emit_the_same_tokens() -> None:
    import torch

    torch.set_num_threads(1)
    runner = Runner(Place(smollm2.LABEL, "cpu", "float32"))
    runner.load_peer()
    prompt = Prompt("List three fruits, then repeat the list.", "", "fruits", 20)
    rows = tuple(r for r in HEADLINE if not r.warm)
    assert runner.runnable(rows) == rows
    samples, plain = runner.unit("headline", rows, prompt, check=True)
    text = b"".join(runner.model.token_bytes(t) for t in plain.tokens).decode()
    assert text == "Here are three fruits:\n\n* Banana\n* Apple\n* Grapefruit<|im_end|>"
    assert [(s.row, s.equal) for s in samples] == [
        (r.name, None if r.name == "ours" else True) for r in rows
    ]
    assert {s.timing.tokens for s in samples} == {len(plain.tokens)}
    stock = {s.row: s.timing for s in samples}["generate"]
    assert stock.first == 1 and stock.prefill > 0 and stock.decode > 0


@needs_weights
def test_a_peer_has_stock_weights_of_its_own_and_ours_stay_as_they_are() -> None:
    ours = registry.load(smollm2.LABEL, "cpu", "float32")
    peer = peers.load(smollm2.LABEL, "cpu", "float32")
    assert peer._net is not ours.net  # type: ignore[attr-defined]
    attention = [n.config._attn_implementation for n in (peer._net, ours.net)]  # type: ignore
    assert attention == ["sdpa", "specviz_grouped"]
    assert type(peer._net.lm_head).__name__ == "Linear"
    assert probe.cache_bytes(ours) == 2 * 30 * 3 * 64 * 4


@needs_weights
def test_an_end_token_ends_a_peer_and_a_budget_does() -> None:
    peer = peers.load(smollm2.LABEL, "cpu", "float32")
    tokens = peer.model.encode([Message("user", "List three fruits, then repeat the list.")]).tokens
    whole = peer.generate(tokens, 30)
    assert whole.tokens[-1] in peer.model.eos_ids and len(whole.tokens) < 30
    cut = peer.generate(tokens, 3)
    assert cut.tokens == whole.tokens[:3]


@needs_weights
def test_the_clock_sees_forward_calls_only_while_it_is_asked() -> None:
    model = registry.load(smollm2.LABEL, "cpu", "float32")
    runner = Runner(Place(smollm2.LABEL, "cpu", "float32"))
    row = Row("ours", "autoregressive")
    with probe.forward_clock(model) as clock:
        assert clock is not None
        run, spent = runner.run(row, Prompt("Hello.", "", "hello", 4))
    assert clock.calls == 1 + spent.passes  # the prompt is one chunk
    assert 0.5 * (spent.prefill + spent.decode) < clock.seconds < spent.prefill + spent.decode
    runner.run(row, Prompt("Hello.", "", "hello", 4))
    assert clock.calls == 1 + spent.passes and len(run.tokens) == spent.tokens


def test_a_toy_has_no_peer() -> None:
    with pytest.raises(Unsupported, match=r"^transformers has no model toy: choose a model with "):
        peers.load("toy")
    with probe.forward_clock(registry.load("toy")) as clock:
        assert clock is None
    assert probe.cache_bytes(registry.load("toy")) is None
