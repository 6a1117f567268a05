"""The tokens of an answer by what another picture does to them, as a chart."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from specviz.catalog import text
from specviz.compare import places
from specviz.probes import shifts
from specviz.trace import Probe, Trace
from specviz.views.image_effect import rejected, step_words
from specviz.views.style import HATCH, INK, empty, figure
from specviz.views.tokens import for_plotly, show

CHANGED, KEPT = "#D55E00", "#8A8F98"
NAMED = 60  # tokens that fit under a chart by name


def strip(trace: Trace, probe: Probe, lang: str = "en") -> go.Figure:
    """Bars: what the other picture adds to the log-probability of every token of the answer. Above
    them a diamond where the token depends on the picture, a cross at fully rejected steps."""
    run = trace.run("decoder")
    if run is None or not run.tokens or not probe.picks:
        return empty("view.nothing", lang)
    rows = min(len(run.tokens), len(probe.picks))
    pieces, found, moved = trace.pieces, places(run), shifts(probe)
    names = [for_plotly(show(pieces.get(t))) for t in run.tokens[:rows]]
    changed = [i for i in probe.changed if i < rows]
    crosses = [i for i in range(rows) if rejected(found[i], i)]
    told = [
        text("effect.hover.changed" if i in set(changed) else "effect.hover.kept", lang,
             position=i + 1, token=names[i], other=for_plotly(show(pieces.get(probe.picks[i]))),
             shift=f"{moved[i]:+.2f}", step=for_plotly(step_words(found[i], i, lang)))
        for i in range(rows)
    ]  # fmt: skip
    data: list[Any] = [
        _bars("kept", [i for i in range(rows) if i not in set(changed)], moved, told, lang),
        _bars("changed", changed, moved, told, lang),
        _marks("diamond", changed, _above(moved, 1), CHANGED, told, lang),
        _marks("rejected", crosses, _above(moved, 2), INK, told, lang),
    ]
    chart = figure([d for d in data if len(d.x)], text("compare.axis", lang),
                   text("effect.axis", lang), height=320)  # fmt: skip
    if rows <= NAMED:
        chart.update_xaxes(tickvals=list(range(1, rows + 1)), ticktext=names, tickangle=-90)
    chart.update_xaxes(range=[0.3, rows + 0.7], zeroline=False)
    return chart.update_layout(barmode="overlay", hovermode="closest", hoverdistance=24)


def _bars(
    name: str, rows: list[int], moved: tuple[float, ...], told: list[str], lang: str
) -> go.Bar:
    changed = name == "changed"
    return go.Bar(
        x=[i + 1 for i in rows], y=[round(moved[i], 4) for i in rows], hoverinfo="text",
        hovertext=[told[i] for i in rows], name=text(f"effect.legend.{name}", lang),
        width=0.8,  # else the gaps between the tokens of one kind would set it
        showlegend=not changed,
        marker={"color": CHANGED if changed else KEPT,
                "pattern": {"shape": "/" if changed else "", **HATCH}},
    )  # fmt: skip


def _above(moved: tuple[float, ...], row: int) -> float:
    """The height of a row of marks that no bar reaches."""
    top, bottom = max(0.0, *moved), min(0.0, *moved)
    return top + 0.1 * row * ((top - bottom) or 1.0)


def _marks(
    name: str, rows: list[int], height: float, colour: str, told: list[str], lang: str
) -> go.Scatter:
    changed = name == "diamond"
    return go.Scatter(
        x=[i + 1 for i in rows], y=[round(height, 4)] * len(rows), mode="markers",
        hoverinfo="text", hovertext=[told[i] for i in rows],
        name=text(f"effect.legend.{'changed' if changed else name}", lang),
        marker={"symbol": name if changed else "x-thin", "size": 9, "color": colour,
                "line": {"color": colour, "width": 0 if changed else 2}},
    )  # fmt: skip
