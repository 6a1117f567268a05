"""The tab about the recurrent-depth model: what its iterations do, as the bench found out here."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.catalog import sentence, text
from specviz.ui.plots import plots
from specviz.views import depths
from specviz.views.style import localized

MEASURED = Path(__file__).parent.parent.parent / "docs" / "results-recurrent.json"
CHARTS: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
    "agreement": lambda found, lang: depths.agreement(found, lang=lang),
    "accuracy": lambda found, lang: depths.accuracy(found, lang),
    "convergence": lambda found, lang: depths.convergence(found, lang),
    "wave_map": lambda found, lang: depths.wave_map(found, lang=lang),
}


def measured() -> Mapping[str, Any] | None:
    """The committed figures; None where nothing was measured yet."""
    if not MEASURED.is_file():
        return None
    found: dict[str, Any] = json.loads(MEASURED.read_text("utf-8"))
    return found


def depths_tab(lang: str) -> None:
    """Charts that are drawn when the tab is opened; no tab where there is nothing to draw."""
    found = measured()
    if found is None:
        return
    with gr.Tab(text("ui.tab.depths", lang)) as tab:
        what = found["conditions"]
        gr.Markdown(
            text("ui.depths.about", lang, model=what["model"], depth=found["depth"],
                 machine=sentence(what["machine"], lang)),
            elem_classes="sv-chart-note",
        )  # fmt: skip
        places = plots([f"depths.{name}" for name in CHARTS], lang)

    def draw() -> list[Any]:
        return [localized(chart(found, lang), lang) for chart in CHARTS.values()]

    tab.select(
        draw, None, places, queue=False, show_progress="hidden", api_visibility="private"
    )  # fmt: skip
