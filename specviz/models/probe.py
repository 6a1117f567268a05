"""Facts about a loaded model and the device that it stands on, as plain data."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch

from specviz.models import hf_load, raven_probe
from specviz.models.base import Model
from specviz.models.hf import HFModel
from specviz.models.hf_costs import ROWS, rough
from specviz.models.hf_load import TOLERANCE
from specviz.models.hf_pack import PackedLinear
from specviz.models.raven import RavenModel

WIDEST = max(ROWS)  # rows of the widest pass that is timed


def architecture(model: Model) -> dict[str, int | str | bool | None]:
    """Names and values; ``kv_bytes_per_token`` is what one token of context takes in the cache."""
    facts: dict[str, int | str | bool | None] = {
        "vocabulary": model.vocab_size,
        "max_context": model.max_context,
    }
    if isinstance(model, RavenModel):
        return {**raven_probe.architecture(model), **facts}
    if not isinstance(model, HFModel):
        return facts
    config = model.net.config.get_text_config()
    kv_heads, width = _cached(config)
    return {
        "architecture": config.model_type,
        "layers": config.num_hidden_layers,
        "hidden": config.hidden_size,
        "heads": config.num_attention_heads,
        "kv_heads": kv_heads,
        "head_width": width,
        "windows": ", ".join(f"{k} {v or 'all'}" for k, v in model.windows.items()),
        "attention": model.attention,
        "parameters": parameters(model.net),
        "kv_bytes_per_token": cache_bytes(model),
        **facts,
    }


def cache_bytes(model: Model) -> int | None:
    """Bytes of keys and values per token of context: 2 * layers * key/value heads * head width *
    bytes of the dtype; None for a model without weights. A recurrent-depth model has a layer's
    share of it in every iteration."""
    if isinstance(model, RavenModel):
        return raven_probe.cache_bytes(model)
    if not isinstance(model, HFModel):
        return None
    config = model.net.config.get_text_config()
    kv_heads, width = _cached(config)
    return 2 * int(config.num_hidden_layers) * kv_heads * width * int(model.net.dtype.itemsize)


def _cached(config: Any) -> tuple[int, int]:
    """(key/value heads, width of a head)."""
    heads = config.num_attention_heads
    shared = getattr(config, "num_key_value_heads", None) or heads
    return int(shared), int(getattr(config, "head_dim", None) or config.hidden_size // heads)


def rough_context(context: int) -> int:
    """The context length, of few, at which costs that hold for ``context`` are measured."""
    return rough(context)


def parameters(net: Any) -> int:
    """How many numbers the weights are, shared ones counted once, packed ones included."""
    total: int = sum(p.numel() for p in net.parameters())
    packed = [m for m in net.modules() if isinstance(m, PackedLinear)]
    total += sum(m.in_features * m.out_features for m in packed)
    if net.config.tie_word_embeddings and isinstance(net.get_output_embeddings(), PackedLinear):
        total -= net.get_input_embeddings().weight.numel()
    return total


def tree_gap(model: Model) -> tuple[float, float] | None:
    """(largest difference between a tree pass and plain ones, what is allowed); see tree_error.

    None for a model without logits of its own to compare.
    """
    if isinstance(model, RavenModel):
        return raven_probe.tree_gap(model), TOLERANCE[model.dtype]
    if not isinstance(model, HFModel):
        return None
    return hf_load.tree_gap(model), TOLERANCE[model.dtype]


def driver(device: str) -> dict[str, str]:
    """What torch says about the GPU and its driver; empty for a CPU."""
    if not device.startswith("cuda"):
        return {}
    about = torch.cuda.get_device_properties(torch.device(device))
    return {
        "name": str(about.name),
        "capability": f"{about.major}.{about.minor}",
        "memory_bytes": str(about.total_memory),
        "processors": str(about.multi_processor_count),
        "cuda": str(torch.version.cuda),
        "cudnn": str(torch.backends.cudnn.version()),  # type: ignore[no-untyped-call]
    }


def peak_bytes(device: str) -> int | None:
    """The most memory held so far: by torch on a GPU, by the process elsewhere; None: unknown."""
    if device.startswith("cuda"):
        return int(torch.cuda.max_memory_allocated(torch.device(device)))
    with suppress(ImportError):
        import resource

        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else 1024 * most
    return None


@dataclass
class Forward:
    """Seconds spent and calls made in forward calls of a network."""

    seconds: float = 0.0
    calls: int = 0
    _started: float = field(default=0.0, repr=False)


@contextmanager
def forward_clock(model: Model) -> Generator[Forward | None, None, None]:
    """Time the network's own forward calls inside the block; gives None where there is none."""
    if isinstance(model, RavenModel):
        with _passes_clock(model) as found:
            yield found
        return
    if not isinstance(model, HFModel):
        yield None
        return
    found, net = Forward(), model.net

    def now() -> float:
        if net.device.type == "cuda":
            torch.cuda.synchronize(net.device)
        return perf_counter()

    def before(*arguments: Any) -> None:
        found._started = now()

    def after(*arguments: Any) -> None:
        found.seconds += now() - found._started
        found.calls += 1

    hooks = (net.register_forward_pre_hook(before), net.register_forward_hook(after))
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


@contextmanager
def _passes_clock(model: RavenModel) -> Generator[Forward, None, None]:
    """As above, for a network whose passes are no call of a module."""
    found, passes, cuda = Forward(), model.lean, model.device.startswith("cuda")
    forward = passes.forward

    def timed(*arguments: Any) -> torch.Tensor:
        if cuda:
            torch.cuda.synchronize(model.device)
        started = perf_counter()
        logits = forward(*arguments)
        if cuda:
            torch.cuda.synchronize(model.device)
        found.seconds += perf_counter() - started
        found.calls += 1
        return logits

    vars(passes)["forward"] = timed
    try:
        yield found
    finally:
        del vars(passes)["forward"]
