from __future__ import annotations

import pytest
import torch
from torch import Tensor

from specviz.models.eagle_net import EagleHead, rollout
from tests.tiny_head import CONFIG, VARIANTS, made


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
