from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from specviz.models.eagle_net import EagleHead, Entries, HeadConfig, draft, rollout, rotate
from tests.plain_eagle import Plain

CONFIG = HeadConfig(
    hidden_size=12, target_hidden_size=10, intermediate_size=20, heads=4, kv_heads=2, head_dim=6,
    vocab_size=30, draft_vocab_size=9, aux_layers=(2, 3, 5),
)  # fmt: skip
VARIANTS = {
    "plain": {},
    "residual": {"norm_before_residual": True},
    "before_fc": {"norm_before_fc": True, "norm_output": True},
    "each": {"fc_norm": True},
}


def made(**changes: bool) -> tuple[EagleHead, Plain]:
    torch.manual_seed(3)
    head = EagleHead(replace(CONFIG, **changes)).double().eval()
    for p in head.parameters():
        p.data.normal_(std=0.4)
    plain = Plain(dict(head.state_dict()), 6, CONFIG.norm_eps, CONFIG.rope_theta)
    plain.normed_residual = head.config.norm_before_residual
    plain.normed_output = head.config.norm_output
    return head, plain


def inputs(columns: int, more: int = 0) -> tuple[Tensor, Tensor]:
    features = torch.randn(1, columns, CONFIG.feature_width, dtype=torch.float64)
    return features, torch.randn(1, columns + more, 12, dtype=torch.float64)


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS)
@torch.inference_mode()
def test_training_equals_drafting_a_chain_behind_every_column(changes: dict[str, bool]) -> None:
    head, plain = made(**changes)
    features, embedded = inputs(5, 2)
    found = rollout(head, features, embedded, 3)
    states = [plain.condense(f) for f in features[0]]
    for p in range(5):
        entries = [(*plain.entry(states[c], embedded[0, c]), float(c)) for c in range(p + 1)]
        state, logits = plain.out(states[p], embedded[0, p], p, entries)
        assert torch.allclose(found[0][0, p], logits, atol=1e-12, rtol=1e-10)
        for i in (1, 2):
            entries.append((*plain.entry(state, embedded[0, p + i]), float(p + i)))
            state, logits = plain.out(state, embedded[0, p + i], p + i, entries)
            assert torch.allclose(found[i][0, p], logits, atol=1e-12, rtol=1e-10)


@torch.inference_mode()
def test_a_tree_behind_chosen_entries_at_chosen_positions() -> None:
    head, plain = made()
    features, embedded = inputs(6)
    states = head.condense(features)
    causal = torch.ones(6, 6).tril().bool()
    _, _, whole = draft(head, states, embedded, torch.arange(6), None, causal)
    kept = whole.take(torch.tensor([0, 3, 4, 5]))
    # Two siblings that see the kept entries and themselves, not each other.
    state, token = torch.randn(1, 2, 12).double(), torch.randn(1, 2, 12).double()
    seen = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 0, 1, 0, 1]]).bool()
    places = torch.tensor([0, 1, 2, 3, 4, 4])
    carried, logits, new = draft(head, state, token, places, kept, seen)
    rows = [plain.entry(states[0, c], embedded[0, c]) for c in (0, 3, 4, 5)]
    for node, shown in enumerate(([0, 1, 2, 3], [0, 1, 3])):
        entries = [(*rows[c], float(c)) for c in shown]
        entries.append((*plain.entry(state[0, node], token[0, node]), 4.0))
        expected, guesses = plain.out(state[0, node], token[0, node], 4, entries)
        assert torch.allclose(carried[0, node], expected, atol=1e-12, rtol=1e-10)
        assert torch.allclose(logits[0, node], guesses, atol=1e-12, rtol=1e-10)
    assert len(kept.plus(new)) == 6


@torch.inference_mode()
def test_an_entry_depends_on_its_own_pair_only() -> None:
    head, _ = made()
    features, embedded = inputs(6)
    states = head.condense(features)
    whole = draft(head, states, embedded, torch.arange(6), None, torch.ones(6, 6).bool().tril())[2]
    part = draft(
        head, states[:, 4:], embedded[:, 4:], torch.arange(2), None, torch.ones(2, 2).bool()
    )[2]
    rows = torch.tensor([4, 5])
    assert torch.allclose(whole.take(rows).keys, part.keys, atol=1e-14)
    assert torch.allclose(whole.take(rows).values, part.values, atol=1e-14)


@pytest.mark.parametrize("shift", [1, 4096, 2_000_000])
@torch.inference_mode()
def test_moving_all_positions_alike_changes_nothing(shift: int) -> None:
    head, _ = made()
    past = Entries(*(torch.randn(1, 2, 7, 6, dtype=torch.float64) for _ in range(2)))
    state, token = (torch.randn(1, 1, 12, dtype=torch.float64) for _ in range(2))
    places, seen = torch.arange(8), torch.ones(1, 8, dtype=torch.bool)
    here = draft(head, state, token, places, past, seen)[1]
    there = draft(head, state, token, places + shift, past, seen)[1]
    assert float((here - there).abs().max()) < 1e-9
    # Moving a part is another computation.
    bent = places + shift * (places > 3)
    assert float((here - draft(head, state, token, bent, past, seen)[1]).abs().max()) > 1e-6


def test_positions_need_not_be_whole() -> None:
    x = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64)
    turned = rotate(x, torch.tensor([0.5]), 10_000.0)
    expected = torch.tensor([0.8775825618903728, 0.479425538604203], dtype=torch.float64)
    assert torch.allclose(turned[0, 0, 0], expected, atol=1e-15)


def test_the_draft_vocabulary_maps_to_the_targets_tokens() -> None:
    head = EagleHead(CONFIG)
    tokens = torch.tensor([1, 2, 5, 8, 11, 17, 20, 28, 29])
    head.choose(tokens)
    assert head.d2t.tolist() == [1, 1, 3, 5, 7, 12, 14, 21, 21]
    assert head.target_ids().tolist() == tokens.tolist()
    assert head.t2d.nonzero().flatten().tolist() == tokens.tolist()


def test_gradients_reach_every_weight() -> None:
    head, _ = made()
    features, embedded = inputs(4, 1)
    sum(x.square().sum() for x in rollout(head, features, embedded, 2)).backward()
    assert all(p.grad is not None and float(p.grad.abs().max()) > 0 for p in head.parameters())
