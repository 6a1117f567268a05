"""What a recurrent-depth checkpoint says of itself: sizes, end tokens, and only what is believable.

Raises Unsupported, with one sentence that names the file and the value.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from specviz.models.base import Unsupported
from specviz.models.raven_label import FURTHEST_MEAN
from specviz.models.raven_net import RavenConfig

# With the most that is believed: a damaged file must not make this build a million layers.
SIZES = {
    "n_embd": 2**16,
    "n_heads": 2**10,
    "n_layers_in_prelude": 2**9,
    "n_layers_in_recurrent_block": 2**9,
    "n_layers_in_coda": 2**9,
    "intermediate_size": 2**18,
    "vocab_size": 2**22,
    "block_size": 2**18,
    "mean_recurrence": FURTHEST_MEAN,
}


def read_config(facts: dict[str, Any], label: str) -> RavenConfig:
    """Sizes out of a ``config.json``; raises Unsupported for a network that is not this one."""
    missing = [name for name in SIZES if type(facts.get(name)) is not int]
    if missing:
        raise Unsupported(
            f"The config.json of {label} does not give {some(missing)} as a whole number: "
            "give the configuration that was saved with the weights."
        )
    for name, most in SIZES.items():
        if not 1 <= facts[name] <= most:
            raise Unsupported(
                f"The sizes in the config.json of {label} fit no network: {name} is {facts[name]}, "
                f"it has to be from 1 to {most}."
            )
    config = RavenConfig(
        **{name: facts[name] for name in SIZES},
        rope_base=_positive(facts, "rope_base", RavenConfig.rope_base, label),
        norm_eps=_positive(facts, "norm_eps", RavenConfig.norm_eps, label),
    )
    wanted: dict[str, Any] = {
        "injection_type": "linear",
        "num_key_value_heads": config.n_heads,
        "head_dim": config.n_embd // config.n_heads,
        "nonlin_name": "SiLU",
        "norm_class_name": "RMSNorm_llama",
        "block_class_name": "SandwichBlock",
        "mlp_class_name": "GatedMLP",
    }
    for name, value in wanted.items():
        if facts.get(name, value) != value:
            raise Unsupported(
                f"{label} has {name} {str(facts[name])[:40]!r}, this network computes {value!r} "
                "only: choose another checkpoint."
            )
    if config.n_embd % (2 * config.n_heads):
        raise Unsupported(
            f"The sizes in the config.json of {label} fit no network: n_embd has to be a multiple "
            "of twice n_heads."
        )
    return config


def _positive(facts: dict[str, Any], name: str, default: float, label: str) -> float:
    value = facts.get(name, default)
    if type(value) not in (int, float) or not 0 < value <= 1e12:
        raise Unsupported(
            f"The config.json of {label} has {name} {str(value)[:40]!r}: give a number above 0."
        )
    return float(value)


def eos_ids(folder: Path, facts: dict[str, Any], config: RavenConfig, label: str) -> Iterator[int]:
    """Every id that configuration or generation configuration call an end."""
    file = folder / "generation_config.json"
    generation = json_object(file, label) if file.is_file() else {}
    for source, given in (("config.json", facts), (file.name, generation)):
        ends = given.get("eos_token_id")
        for end in ends if isinstance(ends, list) else [] if ends is None else [ends]:
            if type(end) is not int or not 0 <= end < config.vocab_size:
                raise Unsupported(
                    f"The {source} of {label} has eos_token_id {str(end)[:40]!r}: give a token's "
                    f"number below {config.vocab_size}."
                )
            yield end


def json_object(file: Path, label: str) -> dict[str, Any]:
    """What a JSON file holds; raises Unsupported."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise Unsupported(f"{label} has no {file.name}: give a folder that has one.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise damaged(file, label) from error
    if not isinstance(found, dict):
        raise damaged(file, label)
    return found


def damaged(file: Path, label: str) -> Unsupported:
    return Unsupported(
        f"The {file.name} of {label} is damaged: give the file that was saved with the weights."
    )


def some(names: list[str]) -> str:
    """The first three names, and how many more there are; a file may have given any names."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(" ".join(name[:80].split()) for name in names[:3]) + more
