"""Random recurrent-depth models of a few thousand weights, in memory or as public checkpoints."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from specviz.models.raven import RavenModel
from specviz.models.raven_label import Initial, Recurrence
from specviz.models.raven_net import Raven, RavenConfig
from tests.models import tiny

# Two layers in every part, so that mixed-up layers show.
SHAPE: dict[str, Any] = {
    "n_embd": 32,
    "n_heads": 4,
    "n_layers_in_prelude": 2,
    "n_layers_in_recurrent_block": 2,
    "n_layers_in_coda": 2,
    "intermediate_size": 48,
    "block_size": 256,
}


def net(seed: int = 0, vocab: int = tiny.VOCABULARY, depth: int = 8, **sizes: Any) -> Raven:
    """A random network in float64, every weight far from its neutral value."""
    config = RavenConfig(**{**SHAPE, **sizes}, vocab_size=vocab, mean_recurrence=depth)
    made = Raven(config).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in made.parameters():
            noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
            weight.copy_(1 + noise / 5 if weight.ndim == 1 else noise * 0.3)
    return made.eval()


def tiny_raven(
    depth: int = 8,
    seed: int = 0,
    vocab: int = tiny.VOCABULARY,
    dtype: torch.dtype = torch.float64,
    initial: Initial = "zero",
    mean: int | None = None,
    **sizes: Any,
) -> RavenModel:
    """A complete model that iterates ``depth`` times, made for ``mean`` (the same if not given)."""
    made = net(seed, vocab, mean or depth, **sizes).to(dtype)
    return RavenModel(
        made,
        tiny.tokenizer(),
        label="tiny-random-raven",
        digest=f"seed {seed}",
        recurrence=Recurrence(depth, initial),
    )


def write(
    folder: Path,
    made: Raven,
    shards: int = 1,
    dtype: torch.dtype = torch.float64,
    leave_out: str = "",
    add: dict[str, torch.Tensor] | None = None,
    **facts: Any,
) -> Path:
    """``made`` as a public checkpoint in ``folder``; ``facts`` go into its config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "huginn_raven",
        "injection_type": "linear",
        "qk_bias": True,
        "tie_embeddings": True,
        "state_init": "like-init",
        **asdict(made.config),
        **facts,
    }
    (folder / "config.json").write_text(json.dumps(config))
    tensors = {
        name: tensor.detach().clone().to(dtype)
        for name, tensor in made.state_dict().items()
        if name != leave_out and (name != "lm_head.weight" or config.get("untied"))
    }
    tensors |= add or {}
    names = sorted(tensors)
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    else:
        files = [f"model-{i + 1:05}-of-{shards:05}.safetensors" for i in range(shards)]
        where = {name: files[i % shards] for i, name in enumerate(names)}
        for file in files:
            part = {n: tensors[n] for n in names if where[n] == file}
            save_file(part, folder / file, metadata={"format": "pt"})
        index = {"metadata": {}, "weight_map": where}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    tiny.tokenizer().save_pretrained(folder)
    return folder
