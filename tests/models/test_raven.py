"""A recurrent-depth model with its caches, against a few lines of torch that know of none."""

from __future__ import annotations

import random

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.models import session as session_module
from specviz.models.base import Capture, Inputs, finish
from specviz.models.raven import RavenModel, RavenSession
from specviz.models.session import chain
from specviz.tree import DraftTree
from tests.tiny_raven import tiny_raven

PROMPT = tuple(random.Random(5).choices(range(4, 260), k=23))
DEPTH = 5


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module", params=["zero", "seeded"])
def model(request) -> RavenModel:
    return tiny_raven(DEPTH, initial=request.param)


def norm(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * weight


def turned(x: Tensor, base: float) -> Tensor:
    """Neighbouring channels of [heads, tokens, width] rotated by position * base^(-2i/width)."""
    width = x.shape[-1]
    powers = torch.arange(0, width, 2, dtype=torch.float64) / width
    angles = torch.arange(x.shape[1])[:, None] * base**-powers
    a, b = x[..., ::2], x[..., 1::2]
    pairs = (a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin())
    return torch.stack(pairs, -1).flatten(-2)


def layer(w: dict[str, Tensor], name: str, x: Tensor, heads: int, base: float) -> Tensor:
    """One sandwich block over a whole sequence [tokens, d]."""
    w = {k.removeprefix(name + "."): v for k, v in w.items() if k.startswith(name + ".")}
    q, k, v = (norm(x, w["norm_1.weight"]) @ w["attn.Wqkv.weight"].T).chunk(3, -1)
    q, k = q + w["attn.qk_bias"][0].flatten(), k + w["attn.qk_bias"][1].flatten()
    q, k, v = (part.unflatten(-1, (heads, -1)).transpose(0, 1) for part in (q, k, v))
    q, k = turned(q, base), turned(k, base)
    scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(torch.ones(len(x), len(x)).triu(1).bool(), -torch.inf)
    seen = (scores.softmax(-1) @ v).transpose(0, 1).flatten(1)
    x = norm(x + seen @ w["attn.proj.weight"].T, w["norm_2.weight"])
    a, b = (norm(x, w["norm_3.weight"]) @ w["mlp.fc.weight"].T).chunk(2, -1)
    return norm(x + (F.silu(a) * b) @ w["mlp.proj.weight"].T, w["norm_4.weight"])


def oracle(model: RavenModel, tokens, depth: int, state: Tensor | None = None) -> Tensor:
    """Logits [tokens, V] after ``depth`` iterations over everything: no cache, no class of ours."""
    config = model.net.config
    w = {k.removeprefix("transformer."): v for k, v in model.net.state_dict().items()}

    def part(name: str, count: int, x: Tensor) -> Tensor:
        for i in range(count):
            x = layer(w, f"{name}.{i}", x, config.n_heads, config.rope_base)
        return x

    embedded = w["wte.weight"][list(tokens)] * config.n_embd**0.5
    embedded = part("prelude", config.n_layers_in_prelude, embedded)
    x = torch.zeros_like(embedded) if state is None else state
    for _ in range(depth):
        x = torch.cat([x, embedded], -1) @ w["adapter.weight"].T
        x = part("core_block", config.n_layers_in_recurrent_block, x)
    x = part("coda", config.n_layers_in_coda, norm(x, w["ln_f.weight"]))
    return norm(x, w["ln_f.weight"]) @ w["wte.weight"].T


def plain_logits(model: RavenModel, tokens, depth: int | None = None) -> Tensor:
    state = model.start(list(range(len(tokens))))
    return oracle(model, tokens, depth or model.iterations, state)


def reading(model: RavenModel, tokens, capture: Capture = Capture()) -> RavenSession:
    session = model.open(capture)
    finish(session.prefill(Inputs(tuple(tokens))))
    return session


def random_tree(seed: int, nodes: int) -> DraftTree:
    rng = random.Random(seed)
    parents = (-1, *(rng.randrange(n) for n in range(1, nodes)))
    return DraftTree(tuple(rng.randrange(4, 260) for _ in range(nodes)), parents)


def difference(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max())


@pytest.mark.parametrize("depth", range(1, DEPTH + 1))
@pytest.mark.parametrize("initial", ["zero", "seeded"])
def test_every_depth_equals_a_pass_without_cache(depth: int, initial):
    model = tiny_raven(depth, initial=initial, mean=DEPTH)
    tail = (9, 8, 7, 6, 5)
    session = reading(model, PROMPT)
    expected = plain_logits(model, (*PROMPT, *tail))[-len(tail) :]
    for token, row in zip(tail, expected, strict=True):
        assert difference(session.logits(DraftTree.root_only(token))[0], row) < 1e-9
        session.commit([0])
    deeper = plain_logits(model, (*PROMPT, *tail), depth + 1)[-1]
    assert difference(expected[-1], deeper) > 1e-3


def test_every_node_equals_a_plain_pass_over_its_branch(model: RavenModel):
    session = reading(model, PROMPT)
    tree = random_tree(1, 17)
    logits = session.logits(tree)
    for node in range(len(tree)):
        branch = [tree.tokens[n] for n in tree.path(node)]
        assert difference(logits[node], plain_logits(model, (*PROMPT, *branch))[-1]) < 1e-9
