"""What the bench found out about a recurrent-depth model, as charts.

``found`` is what ``bench --suite recurrent`` writes. One function, one picture, the same bytes for
the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from specviz.catalog import number, text
from specviz.views.style import empty, figure

# Colour, dash and mark of a line: none of them alone, so that greyscale print keeps the meaning.
STROKES = (
    ("#8A8F98", "solid", "circle"),
    ("#E69F00", "dash", "square"),
    ("#56B4E9", "dot", "diamond"),
    ("#0072B2", "solid", "triangle-up"),
)
PREFIXES = ("coupled", "keys", "values", "both")
VECTORS = ("queries", "keys", "values")


def agreement(found: Mapping[str, Any], kind: str = "overall", lang: str = "en") -> go.Figure:
    """Lines: the share of picks that are final already, by iterations, one line a prefix."""
    part = found["probes"].get("agreement", {}).get(kind)
    if not part or not part["positions"]:
        return empty("view.depths.nothing", lang)
    lines = [
        _line(
            i, part["depths"], [n / part["positions"] for n in part["same"][prefix]],
            text(f"view.depths.prefix.{prefix}", lang), lang,
        )
        for i, prefix in enumerate(PREFIXES)
    ]  # fmt: skip
    return _by_depth(lines, part["depths"], text("view.depths.agreement", lang), lang)


def convergence(found: Mapping[str, Any], lang: str = "en") -> go.Figure:
    """Lines: relative distance of queries, keys and values to those of the last iteration."""
    part = found["probes"].get("convergence")
    if not part or not part["positions"]:
        return empty("view.depths.nothing", lang)
    lines = []
    for i, name in enumerate(VECTORS):
        distances = part["distance"][name]
        depths = list(range(1, len(distances) + 1))
        lines.append(
            _line(i + 1, depths, distances, text(f"view.depths.vector.{name}", lang), lang, False)
        )
    return _by_depth(lines, depths, text("view.depths.distance", lang), lang)


def accuracy(found: Mapping[str, Any], lang: str = "en") -> go.Figure:
    """Lines: right answers by iterations, of word problems and of each kind of composed task."""
    probes = found["probes"]
    words = probes["accuracy"]
    shares = [n / words["problems"] for n in words["right"]]
    lines = [_line(0, words["depths"], shares, text("view.depths.kind.words", lang), lang)]
    for i, (kind, part) in enumerate(probes.get("composed", {}).items(), start=1):
        asked = sum(part["asked"])
        if asked:
            right = [sum(column) / asked for column in zip(*part["right"], strict=True)]
            name = text(f"view.depths.kind.{kind}", lang)
            lines.append(_line(i, part["depths"], right, name, lang))
    return _by_depth(lines, words["depths"], text("view.depths.right", lang), lang)


def wave_map(found: Mapping[str, Any], key: str = "tokens_per_s", lang: str = "en") -> go.Figure:
    """Cells: what waves of so many positions (down) and rounds (across) brought: ``tokens_per_s``,
    or ``accepted`` guesses a step. The best cell is framed; every cell says its number."""
    shown = found["map"]
    if not shown:
        return empty("view.depths.no_map", lang)
    across, down = [str(r) for r in shown["rounds"]], [str(b) for b in shown["blocks"]]
    cells = shown[key]
    digits = 0 if key == "tokens_per_s" else 1
    chart = figure(
        [
            go.Heatmap(
                x=across, y=down, z=cells, colorscale="Cividis", hoverinfo="skip", showscale=False,
                xgap=2, ygap=2,
            )
        ],
        text("view.depths.rounds", lang), text("view.depths.block", lang), height=320,
    )  # fmt: skip
    chart.update_xaxes(type="category")
    chart.update_yaxes(type="category", autorange="reversed")
    known = [(v, i, j) for i, row in enumerate(cells) for j, v in enumerate(row) if v is not None]
    if known:
        least, (most, i, j) = min(known)[0], max(known, key=lambda cell: cell[0])
        for value, row, column in known:
            # The scale ends in a bright yellow, whatever the page's own colours are.
            bright = value - least > 0.45 * (most - least)
            chart.add_annotation(
                x=column, y=row, text=f"{value:.{digits}f}", showarrow=False,
                font={"color": "#111111" if bright else "#ffffff"},
            )  # fmt: skip
        chart.add_shape(
            type="rect", x0=j - 0.5, x1=j + 0.5, y0=i - 0.5, y1=i + 0.5,
            line={"color": "#D55E00", "width": 3},
        )  # fmt: skip
    return chart


def _line(
    stroke: int,
    depths: Sequence[int],
    values: Sequence[float],
    name: str,
    lang: str,
    share: bool = True,
) -> go.Scatter:
    colour, dash, mark = STROKES[stroke]
    told = [f"{number(100 * v, 1, lang)} %" if share else number(v, 3, lang) for v in values]
    return go.Scatter(
        x=list(depths), y=[round(v, 6) for v in values], mode="lines+markers", name=name,
        line={"color": colour, "width": 3, "dash": dash},
        marker={"symbol": mark, "size": 8 if len(depths) < 16 else 5, "color": colour},
        hovertext=[text("view.depths.hover", lang, name=name, depth=d, value=v)
                   for d, v in zip(depths, told, strict=True)],
        hoverinfo="text",
    )  # fmt: skip


def _by_depth(lines: list[Any], depths: Sequence[int], y: str, lang: str) -> go.Figure:
    chart = figure(lines, text("view.depths.iterations", lang), y)
    # Early iterations matter most: each doubling takes the same room.
    marks = [d for d in (1, 2, 4, 8, 16, 32, 64, 128, 256) if d <= depths[-1]]
    chart.update_xaxes(type="log", tickvals=marks, ticktext=[str(d) for d in marks])
    return chart
