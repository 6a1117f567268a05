"""What an EAGLE-3 checkpoint says of itself, in either of the two public formats.

SafeAILab: the keys of one decoder layer at the top, names ``midlayer.*``. speculators (vLLM): the
layer under ``transformer_layer_config``, names ``layers.0.*``, and switches for where norms stand.
Raises InputError with one sentence that names the value.
"""

from __future__ import annotations

from typing import Any

from specviz.models.base import InputError
from specviz.models.eagle_net import HeadConfig
from specviz.models.eagle_rope import Rope, Scaling

# With the most that is believed: a damaged file must not make this build a giant.
SIZES = {
    "hidden_size": 2**16,
    "intermediate_size": 2**18,
    "num_attention_heads": 2**10,
    "num_key_value_heads": 2**10,
    "head_dim": 2**12,
    "vocab_size": 2**22,
    "draft_vocab_size": 2**22,
    "target_hidden_size": 2**16,
    "max_position_embeddings": 2**24,
}
SWITCHES = ("norm_before_residual", "norm_before_fc", "fc_norm", "norm_output")
SCALED = {  # kinds of stretched rotary positions, and what each of them is given by
    "linear": ("factor",),
    "llama3": (
        "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings",
    ),
}  # fmt: skip
MOST_LAYERS = 2**9
LEAST_TARGET = 6  # layers: with fewer, the usual feature layers are not three ascending ones


def default_aux_layers(layers: int) -> tuple[int, int, int]:
    """The feature layers of a target with ``layers`` layers (arXiv 2503.01840: low, middle, high).

    Raises InputError for a target that is too shallow to have them.
    """
    if layers < LEAST_TARGET:
        raise InputError(
            f"The target has {layers} layers, an EAGLE-3 head needs {LEAST_TARGET}: choose a "
            "deeper model."
        )
    return 2, layers // 2, layers - 3


def read_head_config(facts: dict[str, Any], layers: int, label: str) -> HeadConfig:
    """The head in ``config.json`` for a target of ``layers`` layers; raises InputError."""
    inner = facts.get("transformer_layer_config", facts)
    if not isinstance(inner, dict):
        raise _odd("transformer_layer_config", inner, "the settings of one layer", label)
    nested = facts.get("eagle_config") or {}
    if not isinstance(nested, dict):
        raise _odd("eagle_config", nested, "an object", label)
    given = {**inner, **nested, **{k: v for k, v in facts.items() if v is not None}}
    sizes = _sizes(given, label)
    wanted: dict[str, Any] = {
        "num_hidden_layers": 1, "hidden_act": "silu", "mlp_bias": False,
    }  # fmt: skip
    for name, value in wanted.items():
        if inner.get(name, value) != value:
            raise _odd(name, inner[name], f"{value!r}, the only one computed here,", label)
    return HeadConfig(
        hidden_size=sizes["hidden_size"],
        target_hidden_size=sizes["target_hidden_size"],
        intermediate_size=sizes["intermediate_size"],
        heads=sizes["num_attention_heads"],
        kv_heads=sizes["num_key_value_heads"],
        head_dim=sizes["head_dim"],
        vocab_size=sizes["vocab_size"],
        draft_vocab_size=sizes["draft_vocab_size"],
        aux_layers=_aux_layers(given, layers, label),
        rope=_rope(inner, label),
        norm_eps=_positive("rms_norm_eps", inner.get("rms_norm_eps", 1e-6), label),
        max_positions=sizes["max_position_embeddings"],
        attention_bias=_switch(inner, "attention_bias", label),
        window=_window(inner, label),
        own_embeddings=_switch(given, "embed_requires_grad", label),
        **{name: _switch(given, name, label) for name in SWITCHES},
    )


def _sizes(given: dict[str, Any], label: str) -> dict[str, int]:
    sizes = dict(given)
    heads, hidden = sizes.get("num_attention_heads"), sizes.get("hidden_size")
    sizes.setdefault("num_key_value_heads", heads)
    sizes.setdefault("target_hidden_size", hidden)
    sizes.setdefault("draft_vocab_size", sizes.get("vocab_size"))
    sizes.setdefault("max_position_embeddings", 2048)
    if sizes.get("head_dim") is None and type(heads) is int and heads > 0 and type(hidden) is int:
        sizes["head_dim"] = hidden // heads
    for name, most in SIZES.items():
        if type(sizes.get(name)) is not int or not 1 <= sizes[name] <= most:
            raise _odd(name, sizes.get(name), f"a whole number from 1 to {most}", label)
    if sizes["num_attention_heads"] % sizes["num_key_value_heads"] or sizes["head_dim"] % 2:
        raise _odd(
            "num_key_value_heads", sizes["num_key_value_heads"],
            "a divisor of num_attention_heads, with an even head_dim", label,
        )  # fmt: skip
    if sizes["draft_vocab_size"] > sizes["vocab_size"]:
        raise _odd("draft_vocab_size", sizes["draft_vocab_size"], "at most vocab_size", label)
    return {name: sizes[name] for name in SIZES}


def _aux_layers(given: dict[str, Any], layers: int, label: str) -> tuple[int, ...]:
    ids = given.get("eagle_aux_hidden_state_layer_ids")
    if ids is None:
        return default_aux_layers(layers)
    if (
        not isinstance(ids, list)
        or not 1 <= len(ids) <= 8
        or any(type(i) is not int or not 0 <= i < min(layers, MOST_LAYERS) for i in ids)
    ):
        wish = f"one to eight layers below {layers}, the number that the target has"
        raise _odd("eagle_aux_hidden_state_layer_ids", ids, wish, label)
    return tuple(ids)


def _window(inner: dict[str, Any], label: str) -> int | None:
    """The entries that the only layer looks back at (speculators: of a Qwen3 or Llama layer)."""
    size, kinds = inner.get("sliding_window"), inner.get("layer_types")
    if kinds is not None and not (
        isinstance(kinds, list) and all(isinstance(kind, str) for kind in kinds)
    ):
        raise _odd("layer_types", kinds, "a list of names", label)
    on = inner.get("use_sliding_window", True) if kinds is None else "sliding_attention" in kinds
    if size is None or not on:
        return None
    if type(size) is not int or size < 1:
        raise _odd("sliding_window", size, "a whole number above 0", label)
    return size


def _rope(inner: dict[str, Any], label: str) -> Rope:
    """From ``rope_theta`` and ``rope_scaling``, or both in ``rope_parameters`` (transformers 5)."""
    given: dict[str, Any] = {}
    for name in ("rope_scaling", "rope_parameters"):
        part = inner.get(name) or {}
        if not isinstance(part, dict):
            raise _odd(name, part, "an object", label)
        given |= part
    theta = _positive("rope_theta", inner.get("rope_theta", given.get("rope_theta", 1e4)), label)
    kind = given.get("rope_type", given.get("type", "default"))
    if kind == "default":
        return Rope(theta)
    wanted = SCALED.get(kind) if isinstance(kind, str) else None
    if wanted is None:
        known = ", ".join(repr(name) for name in ("default", *SCALED))
        raise _odd("rope_type", kind, f"one of {known}, which are computed here", label)
    scaling = Scaling(*(_positive(name, given.get(name), label) for name in wanted))
    if scaling.original and scaling.high <= scaling.low:
        raise _odd("high_freq_factor", scaling.high, "above low_freq_factor", label)
    return Rope(theta, scaling)


def _positive(name: str, value: Any, label: str) -> float:
    if type(value) not in (int, float) or not 0 < value <= 1e12:
        raise _odd(name, value, "a number above 0", label)
    return float(value)


def _switch(given: dict[str, Any], name: str, label: str) -> bool:
    value = given.get(name, False)
    if not isinstance(value, bool):
        raise _odd(name, value, "true or false", label)
    return value


def _odd(name: str, value: Any, wish: str, label: str) -> InputError:
    shown = " ".join(str(value)[:40].split())
    return InputError(
        f"The config.json of {label} has {name} {shown!r}: it has to be {wish.rstrip(',')}."
    )
