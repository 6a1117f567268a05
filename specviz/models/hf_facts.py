"""What has to be known about a transformers model before a tree may be sent through it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from specviz.models.base import Unsupported

NO_LIMIT_KNOWN = 2048
UNSTABLE_ROPE = {"dynamic", "longrope"}
PLACEHOLDERS = ("bos", "pad", "image", "video", "audio", "vision_start", "vision_end", "boi", "eoi")


@dataclass(frozen=True)
class Facts:
    """``windows``: kind of attention layer -> positions visible there, None for all of them.

    ``groups``: query heads that share one key/value head.
    """

    eos_ids: frozenset[int]
    blocked_ids: frozenset[int]
    max_context: int
    vocab_size: int
    windows: dict[str, int | None]
    groups: int

    @classmethod
    def of(cls, net: Any, tokenizer: Any, label: str) -> Facts:
        """Read configuration, generation configuration and tokenizer; raises Unsupported."""
        check_architecture(type(net), net.config, label)
        config = net.config.get_text_config()
        eos = eos_ids(net, config, tokenizer)
        names = (f"{name}_token_{end}" for name in PLACEHOLDERS for end in ("id", "index"))
        blocked = set(_ints(getattr(net.config, name, None) for name in names))
        blocked |= set(_ints([tokenizer.pad_token_id, tokenizer.bos_token_id]))
        return cls(
            eos_ids=eos,
            blocked_ids=frozenset(blocked - eos),
            max_context=max_context(config),
            vocab_size=config.vocab_size,
            windows=windows(config),
            groups=_groups(config),
        )


def check_architecture(net_class: type, config: Any, label: str) -> None:
    """Refuse, before any weights are read, what cannot take back a rejected draft."""
    if getattr(config, "is_encoder_decoder", False):
        raise Unsupported(f"{label} is an encoder-decoder model: choose a decoder-only model.")
    kinds = set(_layer_types(config.get_text_config()))
    foreign = sorted(kinds - {"full_attention", "sliding_attention"})
    if getattr(net_class, "_is_stateful", False) or foreign:
        what = f"{' and '.join(foreign)} layers" if foreign else "a recurrent state"
        raise Unsupported(
            f"{label} ({config.model_type}) has {what}, which cannot take back a rejected draft: "
            "choose a model with full or sliding attention in every layer."
        )


def windows(config: Any) -> dict[str, int | None]:
    """Visible positions for each kind of attention layer that the model has."""
    size = getattr(config, "sliding_window", None)
    return {
        kind: None if kind == "full_attention" else size
        for kind in sorted(set(_layer_types(config)))
    }


def _layer_types(config: Any) -> list[str]:
    given = getattr(config, "layer_types", None)
    if given:
        return list(given)
    if getattr(config, "attention_chunk_size", None) is not None:
        return ["chunked_attention"]
    sliding = getattr(config, "sliding_window", None)
    if sliding is None or getattr(config, "use_sliding_window", True) is False:
        return ["full_attention"]
    return ["sliding_attention"]


def _groups(config: Any) -> int:
    heads = getattr(config, "num_attention_heads", 1)
    return heads // (getattr(config, "num_key_value_heads", None) or heads)


def eos_ids(net: Any, config: Any, tokenizer: Any) -> frozenset[int]:
    """Every id that any of the three places calls an end; each may hold one or a list."""
    generation = getattr(net, "generation_config", None)
    places = (
        getattr(generation, "eos_token_id", None),
        getattr(net.config, "eos_token_id", None),
        getattr(config, "eos_token_id", None),
        tokenizer.eos_token_id,
    )
    return frozenset(_ints(places))


def _ints(values: Iterable[Any]) -> Iterable[int]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _ints(value)
        elif isinstance(value, int) and value >= 0:
            yield value


def max_context(config: Any) -> int:
    """Positions the model was made for.

    Rotary variants that change their frequencies with the length are used up to where they
    change: beyond it, rows that are cached already would differ from freshly computed ones.
    """
    limit = getattr(config, "max_position_embeddings", None) or NO_LIMIT_KNOWN
    rope = getattr(config, "rope_parameters", None) or {}
    kinds = {rope.get("rope_type")} | {
        part.get("rope_type") for part in rope.values() if isinstance(part, dict)
    }
    if kinds & UNSTABLE_ROPE:
        original = getattr(config, "original_max_position_embeddings", None)
        limit = min(limit, original or rope.get("original_max_position_embeddings") or limit)
    return int(limit)
