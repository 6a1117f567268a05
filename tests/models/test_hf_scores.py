"""Picks among equal logits, and numbers that come out of one transfer."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from specviz.models.base import Capture
from specviz.models.hf_scores import join, rank, to_scores


def scores(logits: torch.Tensor, **capture):
    wanted = Capture(**capture)
    return to_scores(rank(logits, wanted), wanted, [None] * len(logits), range(len(logits)))


def test_equal_logits_give_the_lowest_ids_first():
    logits = torch.zeros(3, 50)
    logits[0, [40, 7, 22]] = 5.0
    logits[1, 49] = 9.0
    logits[1, [30, 10, 20, 5]] = 4.0
    read = scores(logits, top_k=4)
    assert read.picks == (7, 49, 0)
    assert read.top_ids == ((7, 22, 40, 0), (49, 5, 10, 20), (0, 1, 2, 3))
    assert read.margins == (0.0, 5.0, 0.0)
    assert read.peaks == (5.0, 9.0, 0.0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("seed", range(4))
def test_ranking_equals_a_stable_sort(seed: int, dtype: torch.dtype):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(40, 700, generator=generator).mul(4).round().div(2).to(dtype)
    read = scores(logits, top_k=8)
    order = np.argsort(-logits.float().numpy(), axis=1, kind="stable")[:, :8]
    assert read.top_ids == tuple(map(tuple, order.tolist()))
    logps = logits.double().log_softmax(-1).numpy()
    expected = np.take_along_axis(logps, order, axis=1)
    assert np.abs(np.array(read.top_logps) - expected).max() < 1e-4


def test_more_candidates_than_tokens_are_all_tokens():
    read = scores(torch.tensor([[0.5, 2.0, 1.0]]), top_k=8)
    assert read.top_ids == ((1, 2, 0),)
    assert read.tails == (0.0,)
    assert read.margins == (1.0,)


def test_one_candidate_still_has_a_margin():
    read = scores(torch.tensor([[0.5, 2.0, 1.25]]), top_k=1)
    assert read.top_ids == ((1,),)
    assert read.margins == (0.75,)
    assert read.tails == (pytest.approx(1 - np.exp(2) / np.exp([0.5, 2, 1.25]).sum(), abs=1e-4),)


def test_hidden_vocabulary_counts_for_nothing():
    logits = torch.tensor([[1.0, 1.0, -torch.inf, -torch.inf]])
    read = scores(logits, top_k=2, full_entropy=True)
    assert read.top_logps == ((-0.6931, -0.6931),)
    assert read.entropies == (0.6931,)


def test_chunks_join_in_order():
    capture = Capture(top_k=1, full_entropy=True)
    logits = torch.eye(4) * 3
    parts = [rank(logits[:1], capture, ([0], [0])), rank(logits[1:], capture, ([2, 0], [3, 0]))]
    whole = join(parts)
    assert to_scores(whole, capture, [None] * 4, range(4)).picks == (0, 1, 2, 3)
    right = 3 - np.log(np.exp(3) + 3)
    assert whole.asked.tolist() == pytest.approx([right, right, right - 3], abs=1e-6)
    assert len(whole.entropies) == 4
