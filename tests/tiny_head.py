"""Random drafter heads of a few thousand weights, and folders with them, for tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from specviz.models.eagle_net import EagleHead, HeadConfig
from tests.models import tiny
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
    """A float64 head with such switches, and the same computed plainly."""
    torch.manual_seed(3)
    head = EagleHead(replace(CONFIG, **changes)).double().eval()
    for p in head.parameters():
        p.data.normal_(std=0.4)
    plain = Plain(dict(head.state_dict()), 6, CONFIG.norm_eps, CONFIG.rope.theta)
    plain.normed_residual = head.config.norm_before_residual
    plain.normed_output = head.config.norm_output
    return head, plain


def head_folder(folder: Path, trained: int = 64, seed: int = 5) -> Path:
    """A folder with a random head for the networks of ``tests.models.tiny``, which reads the inputs
    of their layers 0 and 1 and guesses the first 280 tokens."""
    torch.manual_seed(seed)
    hidden = tiny.SHAPE["hidden_size"]
    config = HeadConfig(
        hidden_size=hidden, target_hidden_size=hidden, intermediate_size=40, heads=6, kv_heads=2,
        head_dim=8, vocab_size=tiny.VOCABULARY, draft_vocab_size=280, aux_layers=(0, 1),
        max_positions=trained,
    )  # fmt: skip
    head = EagleHead(config).double()
    for p in head.parameters():
        p.data.normal_(std=0.4)
    folder.mkdir(parents=True, exist_ok=True)
    state = {k.replace("midlayer.", "layers.0."): v for k, v in head.state_dict().items()}
    save_file(state, folder / "model.safetensors")
    facts = {
        "architectures": ["Eagle3Speculator"],
        "draft_vocab_size": 280,
        "eagle_aux_hidden_state_layer_ids": [0, 1],
        "transformer_layer_config": {
            "hidden_size": hidden,
            "intermediate_size": 40,
            "num_attention_heads": 6,
            "num_key_value_heads": 2,
            "head_dim": 8,
            "vocab_size": tiny.VOCABULARY,
            "max_position_embeddings": trained,
        },
    }
    (folder / "config.json").write_text(json.dumps(facts), encoding="utf-8")
    return folder
