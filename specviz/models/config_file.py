"""What the ``config.json`` of a checkpoint says, before anything of it is loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def facts(path: Path) -> dict[str, Any]:
    """The contents of the file; nothing where it is missing or no JSON object."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def model_type(path: Path) -> str:
    """What the file calls this kind of model, "" where it says nothing."""
    return str(facts(path).get("model_type", ""))
