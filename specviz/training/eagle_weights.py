"""The folder of a head: weights in the speculators format, its sizes, and what it has seen."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import save_torch_state_dict
from torch import Tensor

from specviz.models.eagle_config import default_aux_layers
from specviz.models.eagle_load import LAYER, MAPS, THEIRS, load_head
from specviz.models.eagle_net import EagleHead, HeadConfig
from specviz.training.steps import History

SHARD = "9MB"


def most_frequent(answers: Iterable[Sequence[int]], size: int, always: Iterable[int]) -> Tensor:
    """The ``size`` most frequent tokens of ``answers``, ascending, ``always`` among them."""
    counts = Counter(token for answer in answers for token in answer)
    first = dict.fromkeys(always)
    # Of tokens that never came, the lowest: in a byte-level vocabulary those are short pieces.
    ranked = [*first, *(t for t, _ in counts.most_common()), *range(size)]
    return torch.tensor(sorted(list(dict.fromkeys(ranked))[:size]))


def fresh(target: Any, guessed: Tensor, longest: int) -> EagleHead:
    """A head for a transformers network, which guesses among ``guessed`` [draft vocabulary].

    Its output layer begins as the target's rows; norms stand before and behind every sum, because
    a few states of the first token are hundreds of times larger than all others.
    """
    config = target.config.get_text_config()
    head = EagleHead(
        HeadConfig(
            hidden_size=config.hidden_size,
            target_hidden_size=config.hidden_size,
            intermediate_size=config.intermediate_size,
            heads=config.num_attention_heads,
            kv_heads=config.num_key_value_heads,
            head_dim=config.hidden_size // config.num_attention_heads,
            vocab_size=config.vocab_size,
            draft_vocab_size=len(guessed),
            aux_layers=default_aux_layers(config.num_hidden_layers),
            norm_eps=config.rms_norm_eps,
            max_positions=longest,
            fc_norm=True,
            norm_output=True,
        )
    )
    head.choose(guessed)
    with torch.no_grad():
        head.lm_head.weight.copy_(target.get_output_embeddings().weight[guessed])
    return head


def save(head: EagleHead, out: Path, history: History) -> None:
    """Write weights in bfloat16 in files below 10 MB, their sizes, and ``history``."""
    out.mkdir(parents=True, exist_ok=True)
    kept = {
        (THEIRS + name.removeprefix(LAYER) if name.startswith(LAYER) else name): (
            tensor if name in MAPS else tensor.detach().to(torch.bfloat16)
        )
        for name, tensor in head.state_dict().items()
    }
    save_torch_state_dict(kept, out, max_shard_size=SHARD)
    (out / "config.json").write_text(json.dumps(_facts(head.config), indent=1) + "\n", "utf-8")
    history.write(out)


def load(target: Any, out: Path) -> tuple[EagleHead, History]:
    """The head in ``out`` for a transformers network, ready to learn; raises InputError."""
    config = target.config.get_text_config()
    layers = config.num_hidden_layers
    head = load_head(out, config.hidden_size, config.vocab_size, layers, torch.float32, str(out))
    return head.requires_grad_(True), History.read(out)


def _facts(config: HeadConfig) -> dict[str, Any]:
    return {
        "architectures": ["Eagle3Speculator"],
        "speculators_model_type": "eagle3",
        "draft_vocab_size": config.draft_vocab_size,
        "target_hidden_size": config.target_hidden_size,
        "norm_before_residual": config.norm_before_residual,
        "norm_before_fc": config.norm_before_fc,
        "fc_norm": config.fc_norm,
        "norm_output": config.norm_output,
        "eagle_aux_hidden_state_layer_ids": list(config.aux_layers),
        "transformer_layer_config": {
            "model_type": "llama",
            "hidden_act": "silu",
            "hidden_size": config.hidden_size,
            "intermediate_size": config.intermediate_size,
            "num_hidden_layers": 1,
            "num_attention_heads": config.heads,
            "num_key_value_heads": config.kv_heads,
            "head_dim": config.head_dim,
            "vocab_size": config.vocab_size,
            "max_position_embeddings": config.max_positions,
            "rms_norm_eps": config.norm_eps,
            "rope_theta": config.rope.theta,
            "attention_bias": config.attention_bias,
        },
    }
