"""Facts about a recurrent-depth model: what it is, what its loop costs, whether trees are sound."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter

import torch
from torch import Tensor

from specviz.models.base import Capture, Model, Unsupported
from specviz.models.raven import RavenModel
from specviz.models.raven_cache import Views
from specviz.models.raven_label import MODEL_TYPE
from specviz.models.raven_pass import Layer
from specviz.models.session import chain, tree_error

CONTEXT = 200  # tokens behind which a plain token is timed
TRIES = 30


def architecture(model: RavenModel) -> dict[str, int | str | bool | None]:
    """Names and values; ``layers`` counts every application of a layer to a token."""
    config, lean = model.net.config, model.lean
    return {
        "architecture": MODEL_TYPE,
        "layers": slots(model),
        "prelude": len(lean.prelude),
        "core": len(lean.core),
        "coda": len(lean.coda),
        "depth": model.iterations,
        "initial_state": model.recurrence.initial,
        "hidden": config.n_embd,
        "heads": config.n_heads,
        "kv_heads": config.n_heads,
        "head_width": config.head_width,
        "windows": "full_attention all",
        "attention": "specviz",
        "parameters": sum(p.numel() for p in model.net.parameters()),
        "kv_bytes_per_token": cache_bytes(model),
    }


def slots(model: RavenModel) -> int:
    """Pairs of keys and values that one token leaves: prelude + depth * core + coda."""
    lean = model.lean
    return len(lean.prelude) + model.iterations * len(lean.core) + len(lean.coda)


def cache_bytes(model: RavenModel) -> int:
    """Bytes of keys and values per token: 2 * slots * heads * width * bytes of the dtype."""
    return 2 * slots(model) * model.net.config.n_embd * model.torch_dtype.itemsize


def tree_gap(model: RavenModel) -> float:
    """How far a tree pass is from passes on an empty cache; see ``tree_error``."""
    return tree_error(model.open(), lambda tokens: model.run(model.cache(), chain(tokens)))


def loop_overhead(model: Model) -> tuple[float, float]:
    """(seconds of a plain token, seconds of its matrix products alone), the least of many tries.

    The products are those of one row in the same order on the same weights and cached keys and
    values, attention's two included; nothing between them. Raises Unsupported for other models.
    """
    if not isinstance(model, RavenModel):
        raise Unsupported(f"{model.label} has no shared block: choose a recurrent-depth model.")
    session = model.open(Capture())
    session.pretend(min(CONTEXT, model.max_context // 2))
    token = chain([5])
    tokens, bare = [], []
    with torch.inference_mode():
        products = list(_products(model, session.views(1)))
        for _ in range(TRIES):
            tokens.append(_seconds(model, lambda: session.verify(token)))
            bare.append(_seconds(model, lambda: [product() for product in products]))
    session.close()
    return min(tokens), min(bare)


def _products(model: RavenModel, views: list[Views]) -> Iterator[Callable[[], Tensor]]:
    """The matrix products of one row, in order."""
    lean, config = model.lean, model.net.config
    head, tail = len(lean.prelude), len(lean.layers) - len(lean.coda)
    make = lean.embedding.new_ones
    x, wide = make(1, config.n_embd), make(1, config.intermediate_size)
    query = make(config.n_heads, 1, config.head_width)

    def layer(of: Layer, view: Views, slot: int) -> Iterator[Callable[[], Tensor]]:
        at, w, q = x.to(of.device), wide.to(of.device), query.to(of.device)
        seen = make(config.n_heads, 1, view.keys[slot].shape[-1]).to(of.device)
        yield lambda: of.qkv(at, of.bias)
        yield lambda: torch.bmm(q, view.keys[slot])
        yield lambda: torch.bmm(seen, view.values[slot])
        yield lambda: of.mix(at, at)
        yield lambda: of.fc(at)
        yield lambda: of.down(w, at)

    for of, view in zip(lean.prelude, views[:head], strict=True):
        yield from layer(of, view, 0)
    yield lambda: lean.from_input(x)
    for slot in range(model.iterations):
        yield lambda: lean.from_state(x, x)
        for of, view in zip(lean.core, views[head:tail], strict=True):
            yield from layer(of, view, slot)
    for of, view in zip(lean.coda, views[tail:], strict=True):
        yield from layer(of, view, 0)
    yield lambda: lean.head(x)


def _seconds(model: RavenModel, run: Callable[[], object]) -> float:
    def now() -> float:
        if model.device.startswith("cuda"):
            torch.cuda.synchronize()
        return perf_counter()

    started = now()
    run()
    return now() - started
