from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from specviz.models.eagle_rope import Rope, Scaling, rotate

LLAMA = {
    "rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 8192,
}  # fmt: skip


@pytest.mark.parametrize(
    ("rope", "theirs"),
    [
        (Rope(5e5, Scaling(8.0, 1.0, 4.0, 8192)), LLAMA),
        (Rope(1e4, Scaling(4.0)), {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}),
    ],
)
def test_stretched_positions_turn_as_in_transformers(rope: Rope, theirs: dict[str, object]) -> None:
    config = LlamaConfig(hidden_size=512, num_attention_heads=4, head_dim=128)
    config.rope_parameters = theirs
    expected, factor = ROPE_INIT_FUNCTIONS[theirs["rope_type"]](config, "cpu")
    assert factor == 1.0
    steps = rope.steps(128, torch.device("cpu"))
    assert torch.allclose(steps, expected.double(), rtol=1e-6)


def test_the_slowest_channels_turn_eight_times_slower_and_the_fastest_as_before() -> None:
    plain, scaled = Rope(5e5), Rope(5e5, Scaling(8.0, 1.0, 4.0, 8192))
    a, b = (rope.steps(128, torch.device("cpu")) for rope in (plain, scaled))
    assert torch.equal(a[:20], b[:20])
    assert torch.equal(a[-20:], 8 * b[-20:])
    assert ((b < a) & (8 * b > a)).sum() == 6


def test_positions_need_not_be_whole() -> None:
    x = torch.tensor([[[[1.0, 0.0]]]], dtype=torch.float64)
    turned = rotate(x, torch.tensor([0.5]), Rope())
    expected = torch.tensor([0.8775825618903728, 0.479425538604203], dtype=torch.float64)
    assert torch.allclose(turned[0, 0, 0], expected, atol=1e-15)
