"""Which weights of the hub lie on this disk already. Importing this loads no torch."""

from __future__ import annotations

import json
from pathlib import Path

from huggingface_hub import constants, try_to_load_from_cache

WEIGHTS = ("*.safetensors", "*.bin")


def offline() -> bool:
    """Whether downloads are switched off (``HF_HUB_OFFLINE``)."""
    return bool(constants.HF_HUB_OFFLINE)


def on_disk(repo: str) -> bool:
    """Whether the hub's cache holds all weight files of ``repo``'s main revision."""
    config = try_to_load_from_cache(repo, "config.json")
    if not isinstance(config, str):
        return False
    folder = Path(config).parent
    indexes = sorted(folder.glob("*.index.json"))
    if not indexes:
        return any(next(folder.glob(pattern), None) is not None for pattern in WEIGHTS)
    try:
        names = set(json.loads(indexes[0].read_text("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError):
        return False
    return all((folder / name).is_file() for name in names)
