"""The look that all still charts share: colour-blind safe, readable on light and dark ground."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from specviz.catalog import SIGNS, text

# Okabe and Ito's palette. A pattern goes with every colour, so greyscale print keeps the meaning.
COLOURS = {
    "level3": "#0072B2",
    "level2": "#56B4E9",
    "level1": "#E69F00",
    "copy": "#009E73",
    "lookup": "#CC79A7",
    "static": "#D55E00",
    "wave": "#0072B2",
    "das": "#56B4E9",
    "head": "#009E73",
    "target": "#8A8F98",
    "decoder": "#0072B2",
    "baseline": "#8A8F98",
    "draft": "#E69F00",
    "verify": "#0072B2",
    "commit": "#009E73",
    "prefill": "#8A8F98",
    "rest": "#CC79A7",
}
PATTERNS = {
    "level3": "",
    "level2": "/",
    "level1": ".",
    "copy": "x",
    "lookup": "\\",
    "static": "+",
    "wave": "",
    "das": "/",
    "head": "x",
    "target": "-",
    "decoder": "",
    "baseline": "/",
    "draft": ".",
    "verify": "",
    "commit": "x",
    "prefill": "/",
    "rest": "\\",
}
# Mid-grey has about the same contrast on white and on near-black; the page's style sheet replaces
# it by the theme's own text colour.
INK = "#767B84"
HATCH = {"fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.8)", "size": 7, "solidity": 0.2}
GRID = "rgba(128,128,128,0.25)"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"


def marker(name: str) -> dict[str, Any]:
    """Fill and pattern of a bar."""
    colour = COLOURS.get(name, COLOURS["target"])
    return {
        "color": colour,
        "line": {"color": colour, "width": 1},
        "pattern": {"shape": PATTERNS.get(name, "|"), **HATCH},
    }


def figure(traces: list[Any], x: str = "", y: str = "", height: int = 300) -> go.Figure:
    """A figure with the shared look; ``x`` and ``y`` are axis titles."""
    axis = {
        "gridcolor": GRID,
        "zerolinecolor": GRID,
        "linecolor": GRID,
        "automargin": True,
        "title": {"standoff": 8},
    }
    return go.Figure(
        data=traces,
        layout={
            "template": go.layout.Template(),
            "height": height,
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "font": {"family": FONT, "size": 13, "color": INK},
            "margin": {"l": 56, "r": 16, "t": 16, "b": 48},
            "bargap": 0.15,
            "hoverlabel": {"bgcolor": "#1f2328", "font": {"color": "#ffffff", "size": 13},
                           "align": "left"},
            "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            "xaxis": {**axis, "title": {"text": x, "standoff": 8}},
            "yaxis": {**axis, "title": {"text": y, "standoff": 8}},
        },
    )  # fmt: skip


def localized(chart: go.Figure, lang: str) -> go.Figure:
    """The chart with a language's signs in the numbers that Plotly writes itself."""
    chart.update_layout(separators="".join(SIGNS[lang]))
    return chart


def empty(key: str, lang: str) -> go.Figure:
    """A figure that says in one sentence why there is nothing to draw."""
    chart = figure([], height=160)
    chart.update_xaxes(visible=False)
    chart.update_yaxes(visible=False)
    chart.add_annotation(
        text=text(key, lang), x=0.5, y=0.5, xref="paper", yref="paper", showarrow=False
    )
    return chart
