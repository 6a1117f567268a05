"""The tab about drafter heads on long texts: what the bench found out here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.catalog import sentence, text
from specviz.ui.plots import plots
from specviz.views import lengths
from specviz.views.style import localized

MEASURED = Path(__file__).parent.parent.parent / "docs" / "results-window.json"
CHARTS: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
    "speed": lengths.speed,
    "tau": lengths.tau,
    "token": lengths.token,
    "draft": lengths.draft,
    "windows": lengths.windows,
    "mechanisms": lengths.mechanisms,
    "alone": lengths.alone,
}


def measured() -> Mapping[str, Any] | None:
    """The committed figures; None where nothing was measured yet."""
    if not MEASURED.is_file():
        return None
    found: dict[str, Any] = json.loads(MEASURED.read_text("utf-8"))
    return found


def lengths_tab(lang: str) -> None:
    """Charts that are drawn when the tab is opened; no tab where there is nothing to draw."""
    found = measured()
    if found is None:
        return
    with gr.Tab(text("ui.tab.lengths", lang)) as tab:
        about = text(
            "ui.lengths.about", lang, model=found["conditions"]["model"],
            head=found["head"]["label"], trained=lengths.grouped(found["head"]["trained"]),
            machine=sentence(found["conditions"]["machine"], lang),
        )  # fmt: skip
        gr.Markdown(f"{about}\n\n{lengths.verdict(found, lang)}", elem_classes="sv-chart-note")
        places = plots([f"lengths.{name}" for name in CHARTS], lang)

    def draw() -> list[Any]:
        return [localized(chart(found, lang), lang) for chart in CHARTS.values()]

    tab.select(
        draw, None, places, queue=False, show_progress="hidden", api_visibility="private"
    )  # fmt: skip
