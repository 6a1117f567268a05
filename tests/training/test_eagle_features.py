"""Shards hold what the target computes, and grow without being written twice."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.models.base import InputError
from specviz.training.eagle_exchanges import Exchange
from specviz.training.eagle_features import Shards, features, write
from tests.models import tiny

RNG = random.Random(9)


def exchange(number: int) -> Exchange:
    prompt = tuple(RNG.choices(range(4, 260), k=RNG.randint(2, 9)))
    answer = tuple(RNG.choices(range(4, 260), k=RNG.randint(1, 9)))
    return Exchange("list", prompt, answer, number % 3 == 0)


EXCHANGES = [exchange(i) for i in range(10)]


@pytest.fixture(scope="module")
def net() -> Any:
    torch.manual_seed(3)
    return LlamaForCausalLM(LlamaConfig(**tiny.SHAPE, num_hidden_layers=8)).double().eval()


def plain(net: Any, tokens: tuple[int, ...]) -> torch.Tensor:
    """The same states as transformers itself gives them, for one sequence."""
    with torch.inference_mode():
        out = net(input_ids=torch.tensor([tokens]), output_hidden_states=True)
    states = [out.hidden_states[i][0] for i in (2, 4, 5, 8)]
    return torch.cat(states, dim=-1)


def test_padded_passes_equal_single_ones_and_give_the_logits(net: Any) -> None:
    sequences = [e.tokens for e in EXCHANGES]
    found = features(net, sequences, (2, 4, 5))
    for rows, tokens in zip(found, sequences, strict=True):
        assert (rows - plain(net, tokens)).abs().max() < 1e-9
        with torch.inference_mode():
            logits = net(input_ids=torch.tensor([tokens])).logits[0]
        assert (net.lm_head(rows[:, -48:]) - logits).abs().max() < 1e-9


def test_shards_are_read_back_row_for_row(net: Any, tmp_path: Path) -> None:
    totals = list(write(net, EXCHANGES, tmp_path, rows=40, most=10**6, side=3))
    shards = Shards(tmp_path)
    assert len(shards) == len(EXCHANGES)
    assert totals[-1] == shards.rows == sum(len(e.tokens) for e in EXCHANGES)
    assert shards.count == len(totals) > 1
    for number, expected in enumerate(EXCHANGES):
        example = shards[number]
        assert tuple(example.tokens.tolist()) == expected.tokens
        assert (example.prompt, example.held) == (len(expected.prompt), expected.held)
        both = np.concatenate([example.features, example.final], axis=1)
        assert both.dtype == np.float16
        assert np.array_equal(both, plain(net, expected.tokens).half().numpy())


def test_a_run_goes_on_behind_complete_shards_and_stops_at_the_limit(
    net: Any, tmp_path: Path
) -> None:
    list(write(net, EXCHANGES[:4], tmp_path, rows=20, most=10**6))
    before = {f.name: f.stat().st_mtime_ns for f in tmp_path.iterdir()}
    known = Shards(tmp_path).count
    (tmp_path / f"features-{known:04}.npy").write_bytes(b"cut off")
    list(write(net, EXCHANGES, tmp_path, rows=20, most=10**6))
    assert before.items() <= {f.name: f.stat().st_mtime_ns for f in tmp_path.iterdir()}.items()
    shards = Shards(tmp_path)
    assert [tuple(shards[i].tokens.tolist()) for i in range(10)] == [e.tokens for e in EXCHANGES]
    small = tmp_path / "small"
    assert all(total <= 50 for total in write(net, EXCHANGES, small, rows=20, most=50))
    assert 0 < Shards(small).rows <= 50


def test_features_of_other_answers_are_refused(net: Any, tmp_path: Path) -> None:
    list(write(net, EXCHANGES[:3], tmp_path, rows=20, most=10**6))
    with pytest.raises(InputError, match="holds features of other answers"):
        list(write(net, EXCHANGES[3:], tmp_path, rows=20, most=10**6))
    with pytest.raises(InputError, match="holds features of other answers"):
        list(write(net, EXCHANGES[:2], tmp_path, rows=20, most=10**6))
