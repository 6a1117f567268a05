"""Two runs of one prompt side by side: two lanes over the emitted tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import plotly.graph_objects as go

from specviz.catalog import text
from specviz.compare import Comparison, Place
from specviz.trace import Run, Trace
from specviz.views.difference import Names, outcome, source
from specviz.views.style import COLOURS, GRID, INK, empty, figure
from specviz.views.tokens import for_plotly, show, shown

# A shape goes with every colour. What the model wrote itself is told by whether it was guessed at.
SYMBOLS = {
    "level3": "circle", "level2": "square", "level1": "triangle-up", "copy": "diamond",
    "lookup": "cross", "static": "hexagon", "refused": "x-thin", "unguessed": "circle-open",
}  # fmt: skip
LANES = (1.0, 0.0)  # the first run above
HALF = 0.2  # half the height of a step's block
GAINED, LOST = "#009E73", "#D55E00"


def lanes(
    a: Trace, b: Trace, found: Comparison, names: Names = ("A", "B"), lang: str = "en"
) -> go.Figure:
    """Two lanes over the emitted tokens: steps as blocks, each token by its origin, and lines where
    only one of the runs had guessed right."""
    if not found.positions:
        return empty("view.nothing", lang)
    runs = [trace.run("decoder") for trace in (a, b)]
    pieces = {**b.pieces, **a.pieces}
    data: list[Any] = []
    for run, at, name in zip(runs, LANES, names, strict=True):
        assert run is not None
        data.append(_blocks(run, at, name, len(found.positions), pieces, lang))
    data += _links(found, names, lang)
    data += _tokens(found, names, pieces, lang)
    chart = figure(data, text("compare.axis", lang), height=300)
    chart.update_yaxes(
        tickvals=list(LANES), ticktext=[for_plotly(_short(n)) for n in names], showgrid=False,
        zeroline=False, range=[-0.4, 1.4],
    )  # fmt: skip
    chart.update_xaxes(range=[0.3, len(found.positions) + 0.7], zeroline=False)
    return chart.update_layout(barmode="overlay", hovermode="closest", hoverdistance=24)


def _short(name: str) -> str:  # a long file name would squeeze the picture
    return name if len(name) <= 18 else name[:17] + "…"


def _blocks(
    run: Run, at: float, name: str, most: int, pieces: Mapping[int, bytes], lang: str
) -> go.Bar:
    """One block for each step; the prefill's own token stands before the first."""
    bases, widths, told, start = [], [], [], 1
    for step in run.steps:
        if start >= most:
            break
        width = min(len(step.emitted), most - start)
        bases.append(round(start + 0.56, 2))
        widths.append(width - 0.12)
        told.append(
            text("compare.block", lang, name=for_plotly(name), step=step.index + 1,
                 tokens=for_plotly(shown(step.emitted, pieces)), count=len(step.nodes) - 1)
        )  # fmt: skip
        start += len(step.emitted)
    return go.Bar(
        x=widths, base=bases, y=[at] * len(widths), width=2 * HALF, orientation="h",
        marker={"color": GRID, "line": {"color": INK, "width": 1}}, hovertext=told,
        hoverinfo="text", showlegend=False,
    )  # fmt: skip


def _links(found: Comparison, names: Names, lang: str) -> Iterator[go.Scatter]:
    for positions, colour, dash, name in (
        (found.lost, LOST, "dot", names[0]), (found.gained, GAINED, "solid", names[1]),
    ):  # fmt: skip
        if positions:
            yield go.Scatter(
                x=[x for p in positions for x in (p.index + 1, p.index + 1, None)],
                y=[y for _ in positions for y in (LANES[0] - HALF, LANES[1] + HALF, None)],
                mode="lines", line={"color": colour, "dash": dash, "width": 2}, hoverinfo="skip",
                name=text("compare.legend.only", lang, name=for_plotly(name)),
            )  # fmt: skip


def _tokens(
    found: Comparison, names: Names, pieces: Mapping[int, bytes], lang: str
) -> Iterator[go.Scatter]:
    """The tokens of both lanes, one trace for each origin, so that the legend can name it."""
    marks: dict[str, tuple[list[int], list[float], list[str]]] = {}
    for p in found.positions:
        for place, at, name in zip((p.a, p.b), LANES, names, strict=True):
            xs, ys, told = marks.setdefault(_origin(place), ([], [], []))
            xs.append(p.index + 1)
            ys.append(at)
            step = place.step + 1 if place.step >= 0 else text("compare.prefill", lang)
            told.append(
                text("compare.hover", lang, name=for_plotly(name), position=p.index + 1,
                     token=for_plotly(show(pieces.get(p.token))), step=step,
                     outcome=for_plotly(outcome(place, lang)))
            )  # fmt: skip
    order = [*(s for s in SYMBOLS if s in marks), *sorted(set(marks) - set(SYMBOLS))]
    for origin in order:
        xs, ys, told = marks[origin]
        own = origin in ("refused", "unguessed")
        title = text(f"compare.legend.{origin}", lang) if own else for_plotly(source(origin, lang))
        colour = COLOURS.get(origin, INK)
        yield go.Scatter(
            x=xs, y=ys, mode="markers", name=title, hovertext=told, hoverinfo="text",
            marker={"symbol": SYMBOLS.get(origin, "star"), "size": 9, "color": colour,
                    "line": {"color": colour, "width": 2 if own else 0}},
        )  # fmt: skip


def _origin(place: Place) -> str:
    return place.source if place.outcome == "right" else place.outcome
