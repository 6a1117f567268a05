"""Plotly's charts on the page: places for them, and letting go of those that are taken down."""

from __future__ import annotations

import gradio as gr

from specviz.catalog import text

# Gradio draws every value of a chart into a new element, and drops the old one without telling
# Plotly, whose listener for the window's size keeps it for good. Plotly's own purge may break a
# drawing that is under way, so only the listener goes.
LET_GO = """() => {
  const release = (chart) => {
    if (!chart.isConnected) removeEventListener('resize', chart._responsiveChartHandler);
  };
  new MutationObserver((changes) => {
    for (const node of changes.flatMap((change) => [...change.removedNodes])) {
      if (!(node instanceof Element)) continue;
      if (node.matches('.js-plotly-plot')) release(node);
      node.querySelectorAll('.js-plotly-plot').forEach(release);
    }
  }).observe(document.body, { childList: true, subtree: true });
}"""


def plots(names: list[str], lang: str) -> list[gr.Plot]:
    """Two charts a row, under their titles."""
    made = []
    for row in (names[i : i + 2] for i in range(0, len(names), 2)):
        with gr.Row():
            for name in row:
                with gr.Column(min_width=300):
                    gr.Markdown(text(f"ui.chart.{name}", lang), elem_classes="sv-section")
                    made.append(gr.Plot(show_label=False, elem_id=f"chart-{name}"))
                    gr.Markdown(text(f"ui.chart.{name}.about", lang), elem_classes="sv-chart-note")
    return made
