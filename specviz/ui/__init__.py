"""The Gradio page: a recorded run first, then whatever somebody wants to decode."""

from __future__ import annotations

from typing import Any

from starlette.middleware import Middleware

from specviz.limits import from_environment
from specviz.models import registry
from specviz.models.base import InputError
from specviz.ui.languages import HEAD_TAGS
from specviz.ui.packing import Packing
from specviz.ui.page import build
from specviz.ui.theme import CSS_FILE, theme

__all__ = ["InputError", "build", "launch_options", "preload"]


def launch_options() -> dict[str, Any]:
    """What ``launch`` needs for this page; host and port come from Gradio's own variables."""
    return {
        "theme": theme(),
        "css": CSS_FILE.read_text("utf-8"),
        "head": HEAD_TAGS,
        "max_file_size": f"{from_environment().file_mb}mb",
        "footer_links": ["api", "settings"],
        "run_history": False,
        "enable_monitoring": False,
        "ssr_mode": False,
        "pwa": False,
        "app_kwargs": {"middleware": [Middleware(Packing)]},
    }


def preload(label: str) -> None:
    """Load the weights of ``label`` before the page opens, as ZeroGPU wants it."""
    registry.load(label)
