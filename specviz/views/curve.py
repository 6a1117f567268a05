"""The chart of what a pass costs here, beside what a run made of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import plotly.graph_objects as go

from specviz import metrics
from specviz.catalog import number, text
from specviz.trace import Run, Trace
from specviz.views.style import COLOURS, HATCH, empty, figure


def pass_cost(trace: Trace, lang: str = "en") -> go.Figure:
    """Points and a line: the cost of a pass by its rows, measured before the run; bars: how many
    passes of the run had so many rows; a level line at tau, which a pass must stay under."""
    run = trace.run("decoder")
    if run is None:
        return empty("view.nothing", lang)
    curve = metrics.curve(run)
    if curve is None:
        return empty("view.curve.none", lang)
    used = Counter(len(s.nodes) for s in run.steps)
    most = max([*used, min(curve.rows[-1], 16)])
    right = next((n for n in curve.rows if n >= most), most)
    parts: list[Any] = [_sizes(used, lang)] if used else []
    rows = list(range(1, right + 1))
    parts.append(
        go.Scatter(
            x=rows, y=[round(curve(n), 4) for n in rows], mode="lines",
            name=text("view.curve.envelope", lang), line={"width": 3, "color": COLOURS["decoder"]},
            hovertext=[text("view.curve.hover", lang, count=n, cost=number(curve(n), 2, lang))
                       for n in rows],
            hoverinfo="text",
        )
    )  # fmt: skip
    seen = [(n, t) for n, t in zip(curve.rows, curve.seconds, strict=True) if n <= right]
    single = curve.seconds[0]
    parts.append(
        go.Scatter(
            x=[n for n, _ in seen], y=[round(t / single, 4) for _, t in seen], mode="markers",
            name=text("view.curve.measured", lang),
            marker={"size": 9, "symbol": "circle-open", "color": COLOURS["decoder"],
                    "line": {"width": 2}},
            hovertext=[text("view.curve.point", lang, count=n, ms=number(1000 * t, 1, lang))
                       for n, t in seen],
            hoverinfo="text",
        )
    )  # fmt: skip
    parts += _outcome(trace, run, right, lang)
    chart = figure(parts, text("view.axis.rows", lang), text("view.axis.plain_passes", lang))
    chart.update_xaxes(range=[0, right + 0.6])
    top = 1.08 * max(float(y) for part in parts if part.yaxis is None for y in part.y)
    chart.update_yaxes(range=[0, top])
    if used:
        # The longest bar ends below the cost of one row, so that bars never hide the curve.
        tall = max(used.values()) * top / 0.7
        chart.update_layout(
            yaxis2={"overlaying": "y", "side": "right", "range": [0, tall], "showgrid": False,
                    "zeroline": False, "showticklabels": False},
        )  # fmt: skip
    return chart


def _sizes(used: Counter[int], lang: str) -> go.Bar:
    """How often the run's passes had so many rows, on an axis of its own."""
    rows = sorted(used)
    return go.Bar(
        x=rows, y=[used[n] for n in rows], yaxis="y2", name=text("view.curve.sizes", lang),
        marker={"color": COLOURS["target"], "opacity": 0.55, "pattern": {"shape": "/", **HATCH}},
        text=[str(used[n]) for n in rows], textposition="outside", cliponaxis=False,
        textfont={"size": 11}, textangle=0, constraintext="none",
        hovertext=[text("view.curve.used", lang, count=used[n], rows=n) for n in rows],
        hoverinfo="text",
    )  # fmt: skip


def _outcome(trace: Trace, run: Run, right: int, lang: str) -> list[Any]:
    """The line at tau, and where the run's mean pass lies: under the line it won."""
    tau, why = metrics.tau(run), metrics.breakdown(trace)
    if tau is None:
        return []
    label = text("view.curve.tau", lang, tau=number(tau, 2, lang))
    parts = [
        go.Scatter(
            x=[0, right + 0.6], y=[tau, tau], mode="lines", hoverinfo="skip", name=label,
            line={"dash": "dot", "width": 3, "color": COLOURS["static"]},
        )
    ]  # fmt: skip
    rows = metrics.rows_per_pass(run)
    if why is not None and rows is not None:
        said = text("view.curve.mean", lang, rows=number(rows, 1, lang),
                    cost=number(why["cost"], 2, lang))  # fmt: skip
        parts.append(
            go.Scatter(
                x=[round(rows, 4)], y=[round(why["cost"], 4)], mode="markers",
                name=text("view.curve.mean.name", lang),
                marker={"size": 14, "symbol": "diamond", "color": COLOURS["level1"],
                        "line": {"width": 1.5, "color": "#14181d"}},
                hovertext=[said], hoverinfo="text",
            )
        )  # fmt: skip
    return parts
