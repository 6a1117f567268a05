"""What the page says about the machine that it runs on: its hardware, its operator, its disk."""

from __future__ import annotations

import os
import re
from pathlib import Path

import gradio as gr

from specviz.catalog import text
from specviz.models import registry
from specviz.models.base import cpu_name
from specviz.ui.device import zero_gpu

# Files that visitors handed in are looked for so often, and go when they are so old, in seconds.
DELETE_EVERY, DELETE_AFTER = 3600, 86400
GPUS = Path("/proc/driver/nvidia/gpus")
SPACE = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def hardware_line(lang: str = "en") -> str:
    """What the machine has, which is certain without torch; what a run used is in its trace."""
    if zero_gpu():
        return text("ui.host.zero", lang)
    gpu = gpu_name()
    if gpu:
        return text("ui.host.gpu", lang, name=gpu)
    return text("ui.host.cpu", lang, name=cpu_name(), models=", ".join(small()))


def gpu_name() -> str:
    """The first NVIDIA GPU as its driver names it, empty where none may be used."""
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        return ""
    for file in sorted(GPUS.glob("*/information")) if GPUS.is_dir() else ():
        for line in file.read_text("utf-8", errors="replace").splitlines():
            if line.startswith("Model:"):
                return line.partition(":")[2].strip()
    return ""


def small() -> list[str]:
    """Labels of the models that answer on a CPU within seconds and are here already."""
    here = [e for e in registry.entries() if e.kind != "toy" and e.state() == "here"]
    return [e.label for e in here if not e.large and e.parameters < 1]


def privacy_line(lang: str = "en") -> str:
    """What becomes of what a visitor gives."""
    return text("ui.host.privacy", lang, hours=(DELETE_EVERY + DELETE_AFTER) // 3600)


def duplicate_link(lang: str = "en") -> gr.HTML | None:
    """A link that copies this Space, put where the page is open now; elsewhere nothing."""
    space = os.environ.get("SPACE_ID", "")
    if not SPACE.fullmatch(space):
        return None
    address = f"https://huggingface.co/spaces/{space}?duplicate=true"
    return gr.HTML(
        "",
        html_template=(
            f'<a class="sv-duplicate" href="{address}" target="_blank" rel="noopener">'
            f"{text('ui.host.duplicate', lang)}</a>"
        ),
        elem_id="duplicate",
    )
