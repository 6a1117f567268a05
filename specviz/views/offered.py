"""A model in a list: what it can do beyond text, and whether a run could begin right away."""

from __future__ import annotations

from collections.abc import Collection

from specviz.catalog import text


def marks(supports: Collection[str], state: str, download: str, lang: str = "en") -> str:
    """What stands behind a label. ``supports``, ``state``, ``download``: as its entry says."""
    found = []
    if "image" in supports:
        found.append(text("model.sees", lang))
    if "depth" in supports:
        found.append(text("model.recurrent", lang))
    found.append(text(f"model.state.{state}", lang, size=download))
    return " · ".join(found)
