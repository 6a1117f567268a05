"""What stands under the player: recorded runs, pictures to ask about, charts, tabs of evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.catalog import text
from specviz.ui.answers import Answers
from specviz.ui.blocks import facts_list, gallery, takeaway
from specviz.ui.depths import depths_tab
from specviz.ui.inspect import Inspect
from specviz.ui.lengths import lengths_tab
from specviz.ui.lessons import lesson_cards
from specviz.ui.panes import Pane, inspect_tabs
from specviz.ui.pictures import sample_row
from specviz.ui.plots import plots
from specviz.ui.whatif_tab import Tab, build_tab
from specviz.views.charts import CHARTS
from specviz.views.kinds import KINDS

DOWNLOADS = ("trace", "html", "csv", "candidates", "memory")
TOGGLE_COLUMN = "document.querySelector('#controls .toggle-button')?.click()"
COLUMN_OPEN = "document.querySelector('#controls').classList.contains('open')"
# Shows the form. The prompt comes to the top of the column, so that the pictures below it are seen
# while the column lies over the player's own.
_ASK = f"""{{
  if (!{COLUMN_OPEN}) {TOGGLE_COLUMN};
  const tab = document.querySelector('#prompt-tab-button');
  tab?.click();
  setTimeout(() => {{
    tab?.scrollIntoView({{ block: 'start' }});
    document.querySelector('#prompt textarea')?.focus({{ preventScroll: true }});
  }}, 350);
}}"""
ASK_ON = f"() => {_ASK}"


@dataclass(frozen=True)
class Below:
    """What stands under the player."""

    gallery: gr.HTML
    tries: gr.HTML
    plots: list[gr.Plot]
    kinds: list[gr.Column]
    panes: list[Pane]
    facts: gr.HTML
    takeaway: gr.HTML
    whatif: Tab

    @property
    def summaries(self) -> list[Any]:
        """Outputs of ``Actions.summaries`` but the last two."""
        return [*self.plots, *self.kinds, self.facts]


def build_below(answers: Answers, inspect: Inspect, lang: str) -> Below:
    """Put all of it into the column that is open now."""
    lesson_cards({each.name for each in inspect.examples}, lang, elem_id="lessons")
    gr.Markdown(text("ui.tries", lang), elem_classes="sv-section")
    gr.Markdown(text("ui.tries.about", lang), elem_classes="sv-chart-note")
    tries = sample_row(lang, "tries", _ASK)
    gr.Markdown(text("ui.gallery", lang), elem_classes="sv-section")
    cards = gallery(
        '{"cards": [], "current": ""}', text("player.opening", lang, title="{title}"), "gallery"
    )
    files = takeaway(
        {kind: text(f"ui.download.{kind}", lang) for kind in DOWNLOADS},
        answers.make_file,
        elem_id="takeaway",
    )
    gr.Markdown(text("ui.download.about", lang), elem_classes="sv-chart-note")
    with gr.Tabs():
        with gr.Tab(text("ui.tab.charts", lang)):
            charts = plots(list(CHARTS), lang)
            kinds = []
            for kind, (_, names) in KINDS.items():
                with gr.Column(visible=False, elem_id=f"charts-{kind}") as column:
                    charts += plots(list(names), lang)
                kinds.append(column)
        panes = inspect_tabs(inspect)
        with gr.Tab(text("ui.tab.whatif", lang), elem_id="whatif-tab"):
            whatif = build_tab(lang)
        depths_tab(lang)
        lengths_tab(lang)
        with gr.Tab(text("ui.tab.card", lang)):
            card = facts_list(elem_id="card")
    return Below(cards, tries, charts, kinds, panes, card, files, whatif)
