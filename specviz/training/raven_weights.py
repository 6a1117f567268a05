"""The folder of ``tiny-raven``: weights, sizes, tokenizer and how much they have seen."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

from specviz.models.raven_net import Raven, RavenConfig
from specviz.training.raven_chat import write_tokenizer_config
from specviz.training.raven_documents import Kind, held_out, make
from specviz.training.raven_text import BEGIN, END, PAD, build_tokenizer, school
from specviz.training.steps import History

CONFIG = RavenConfig(
    n_embd=256,
    n_heads=8,
    n_layers_in_prelude=1,
    n_layers_in_recurrent_block=1,
    n_layers_in_coda=1,
    intermediate_size=704,
    vocab_size=2048,
    block_size=512,
    mean_recurrence=32,
)
HEAD = "lm_head.weight"  # tied to the embedding, so never written
PER_KIND = 2500  # generated documents of each kind that the tokenizer is trained on


def initialise(net: Raven) -> None:
    """Normal weights of deviation sqrt(2 / 5d), as in arXiv 2502.05171, projections smaller."""
    std = math.sqrt(2 / (5 * net.config.n_embd))
    for name, p in net.named_parameters():
        if p.ndim == 2:
            torch.nn.init.normal_(p, std=std)
            if name.endswith("proj.weight"):
                p.data.mul_(0.2)


def save(net: Raven, out: Path, history: History) -> None:
    """Write weights in bfloat16, their sizes, the chat's settings and ``history``."""
    out.mkdir(parents=True, exist_ok=True)
    kept = {
        name: p.detach().to(torch.bfloat16).contiguous()
        for name, p in net.state_dict().items()
        if name != HEAD
    }
    save_file(kept, out / "model.safetensors", metadata={"format": "pt"})
    facts = {
        "model_type": "huginn_raven",
        "architectures": ["RavenForCausalLM"],
        "tie_embeddings": True,
        "qk_bias": True,
        "injection_type": "linear",
        "state_init": "zero",
        "bos_token_id": BEGIN,
        "eos_token_id": END,
        "pad_token_id": PAD,
        **asdict(net.config),
    }
    (out / "config.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    write_tokenizer_config(out)
    history.write(out)


def load(out: Path, config: RavenConfig = CONFIG) -> tuple[Raven, History]:
    """The network in ``out``, or a fresh one, and what it has seen.

    Raises SystemExit with a sentence when the weights there are of another network.
    """
    net = Raven(config)
    if not (out / "model.safetensors").exists():
        initialise(net)
        return net, History()
    weights = load_file(out / "model.safetensors")
    expected = {name: p.shape for name, p in net.state_dict().items() if name != HEAD}
    other = sorted(
        name
        for name in expected.keys() | weights.keys()
        if name not in expected or name not in weights or expected[name] != weights[name].shape
    )
    if other:
        raise SystemExit(
            f"The weights in {out} are of another network ({', '.join(other[:3])} differ): "
            "name an empty folder with --out."
        )
    net.load_state_dict(weights, strict=False)
    return net, History.read(out)


def tokenizer_in(out: Path, path: Path, kinds: Iterable[Kind], size: int) -> Tokenizer:
    """The tokenizer beside the weights; where there is none, one of ``size`` tokens is trained.

    ``path`` is the file of school problems, ``kinds`` are the generated documents it reads.
    """
    file = out / "tokenizer.json"
    if not file.exists():
        rng = random.Random(1)
        rows = [d for d in school(path) if not held_out(d.user)]
        for kind in kinds:
            rows += [make(kind, rng) for _ in range(PER_KIND)] if kind != "school" else []
        out.mkdir(parents=True, exist_ok=True)
        build_tokenizer(rows, size).save(str(file))
    return Tokenizer.from_file(str(file))
