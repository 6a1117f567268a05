"""Still charts of a drafter head along the text: what it cost, what it brought, how much it saw."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from specviz import sights
from specviz.catalog import number, text
from specviz.sights import Bin
from specviz.trace import Run, Trace
from specviz.views.style import COLOURS, INK, empty, figure, marker

ROOM = 1.2  # of an axis, so that a word fits above what is drawn


def has_windows(trace: Trace) -> bool:
    """Whether the decoder's run holds what these charts draw."""
    run = trace.run("decoder")
    return run is not None and any(True for _ in sights.looks(run))


def ms_per_token(trace: Trace, lang: str = "en") -> go.Figure:
    """Stacked bars along the text: measured milliseconds per emitted token by kind of work; lines:
    plain decoding at the same places, and its mean, which is where drafting breaks even."""
    bins = sights.bins(trace)
    if not bins:
        return empty("view.window.none", lang)
    at, width = _places(bins)
    parts: dict[str, list[float]] = {"draft": [], "verify": [], "rest": []}
    for b in bins:
        parts["draft"].append(_ms(b.draft, b.tokens))
        parts["verify"].append(_ms(b.verify, b.tokens))
        parts["rest"].append(_ms(b.total - b.draft - b.verify, b.tokens))
    sums = [_ms(b.total, b.tokens) for b in bins]
    drawn: list[Any] = [
        go.Bar(
            x=at, y=parts[part], width=width, name=text(f"view.window.part.{part}", lang),
            marker=marker(part), hoverinfo="text",
            hovertext=[
                text("view.window.hover.ms", lang, first=b.first, end=b.end - 1,
                     ms=number(whole, 1, lang), draft=number(d, 1, lang), verify=number(v, 1, lang),
                     plain="–" if b.plain is None else number(1000 * b.plain, 1, lang))
                for b, whole, d, v in zip(bins, sums, parts["draft"], parts["verify"], strict=True)
            ],
        )
        for part in ("verify", "draft", "rest")
    ]  # fmt: skip
    drawn += _plain(bins, at, lang)
    chart = figure(drawn, text("view.axis.context", lang), text("view.axis.ms_token", lang))
    chart.update_layout(barmode="stack", bargap=0)
    most = max(*sums, *(1000 * (b.plain or 0) for b in bins))
    chart.update_yaxes(range=[0, round(ROOM * most, 3)])
    _mark_range(chart, trace, lang)
    return chart


def _plain(bins: tuple[Bin, ...], at: list[float], lang: str) -> list[Any]:
    known = [(x, b) for x, b in zip(at, bins, strict=True) if b.plain is not None]
    if not known:
        return []
    tokens = sum(b.tokens for _, b in known)
    even = round(1000 * sum((b.plain or 0) * b.tokens for _, b in known) / tokens, 3)
    ends = [bins[0].first, bins[-1].end]
    return [
        go.Scatter(
            x=[x for x, _ in known], y=[round(1000 * (b.plain or 0), 3) for _, b in known],
            mode="lines+markers", name=text("view.window.plain", lang), hoverinfo="y+name",
            line={"width": 2, "color": COLOURS["baseline"]},
            marker={"size": 6, "symbol": "diamond-open", "color": COLOURS["baseline"]},
        ),
        go.Scatter(
            x=ends, y=[even, even], mode="lines", hoverinfo="skip",
            name=text("view.window.even", lang, ms=number(even, 1, lang)),
            line={"width": 3, "dash": "dot", "color": COLOURS["static"]},
        ),
    ]  # fmt: skip


def draft_cost(trace: Trace, lang: str = "en") -> go.Figure:
    """Two lines along the text, one above the other: milliseconds of drafting per step, accepted
    guesses per step."""
    bins = sights.bins(trace)
    if not bins:
        return empty("view.window.none", lang)
    at, _ = _places(bins)
    lines = []
    for axis, name, colour, symbol, values in (
        ("y2", "draft_ms", "draft", "circle", [_ms(b.draft, b.steps) for b in bins]),
        ("y", "accepted", "decoder", "diamond", [round(b.accepted / b.steps, 3) for b in bins]),
    ):
        lines.append(
            go.Scatter(
                x=at, y=values, yaxis=axis, mode="lines+markers",
                name=text(f"view.window.{name}", lang),
                line={"width": 3, "color": COLOURS[colour],
                      "dash": "solid" if axis == "y" else "dash"},
                marker={"size": 7, "symbol": symbol, "color": COLOURS[colour]},
                hovertext=[
                    text(f"view.window.hover.{name}", lang, first=b.first, end=b.end - 1,
                         value=number(v, 2, lang), count=b.steps)
                    for b, v in zip(bins, values, strict=True)
                ],
                hoverinfo="text",
            )
        )  # fmt: skip
    chart = figure(lines, text("view.axis.context", lang))
    upper = {**chart.layout.yaxis.to_plotly_json(), "domain": [0.56, 1], "rangemode": "tozero"}
    chart.update_layout(yaxis2={**upper, "title": {"text": text("view.axis.ms_step", lang)}})
    chart.update_layout(
        yaxis={"domain": [0, 0.44], "rangemode": "tozero",
               "title": {"text": text("view.axis.accepted_step", lang)}}
    )  # fmt: skip
    _mark_range(chart, trace, lang, 0.5)
    return chart


def accepted_by_level(trace: Trace, lang: str = "en") -> go.Figure:
    """Bars: of the steps whose walk came to a level of the draft, how many found a right guess."""
    run = trace.run("decoder")
    levels = () if run is None else sights.by_level(run)
    if not levels:
        return empty("view.window.none", lang)
    shares = [round(100 * level.accepted / level.tested, 2) for level in levels]
    names = [
        text("view.window.level", lang, level=n.level, right=n.accepted, tested=n.tested)
        for n in levels
    ]
    bars = go.Bar(
        x=names, y=shares, marker=marker("decoder"), textposition="outside",
        text=[f"{number(s, lang=lang)} %" for s in shares],
        cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip
    chart = figure([bars], text("view.axis.draft_level", lang), text("view.axis.percent", lang))
    chart.update_yaxes(range=[0, 110])
    chart.update_xaxes(tickangle=0)
    return chart


def cache_size(trace: Trace, lang: str = "en") -> go.Figure:
    """Lines along the text: kilobytes of the keys and values that the head saw, and what those of
    every entry would take, reckoned from them."""
    run = trace.run("decoder")
    seen = [] if run is None else list(sights.looks(run))
    if not seen:
        return empty("view.window.none", lang)
    seen = seen[:: -(-len(seen) // sights.MOST_BINS)]
    at = [s.entries for s in seen]
    mine = [round(s.evidence.bytes / 1000, 3) for s in seen]
    each = [s.evidence.bytes / max(1, sights.kept(s.evidence)) for s in seen]
    every = [round(b * n / 1000, 3) for b, n in zip(each, at, strict=True)]
    lines = [
        go.Scatter(
            x=at, y=every, mode="lines", name=text("view.window.cache.all", lang),
            line={"width": 3, "dash": "dash", "color": COLOURS["baseline"]}, hoverinfo="y+name",
        ),
        go.Scatter(
            x=at, y=mine, mode="lines+markers", name=text("view.window.cache.seen", lang),
            line={"width": 3, "color": COLOURS["decoder"]}, marker={"size": 6}, hoverinfo="text",
            hovertext=[
                text("view.window.hover.cache", lang, seen=sights.kept(s.evidence), all=s.entries,
                     kb=number(kb, lang=lang))
                for s, kb in zip(seen, mine, strict=True)
            ],
        ),
    ]  # fmt: skip
    chart = figure(lines, text("view.axis.context", lang), text("view.axis.kilobytes", lang))
    chart.update_yaxes(range=[0, round(ROOM * max(*every, *mine), 3)])
    _mark_range(chart, trace, lang)
    return chart


def _ms(seconds: float, over: int) -> float:
    return round(1000 * seconds / over, 3)


def _places(bins: tuple[Bin, ...]) -> tuple[list[float], list[int]]:
    """Middles and widths of the bins, in entries."""
    return [(b.first + b.end) / 2 for b in bins], [b.end - b.first for b in bins]


def _mark_range(chart: go.Figure, trace: Trace, lang: str, height: float = 0.96) -> None:
    """Where the trained range ends: a line across, or a word at the side on which it lies.

    ``height``: of the word, as a share of the picture, where nothing else is drawn.
    """
    run = trace.run("decoder")
    assert run is not None
    trained = next(s.evidence.trained for s in sights.looks(run))
    first, end = len(run.header.tokens), _end(run)
    span = max(1, end - first)
    chart.update_xaxes(range=[first - 0.02 * span, end + 0.02 * span])
    look = {"dash": "dashdot", "width": 2, "color": INK}
    note: dict[str, Any] = {"showarrow": False, "yref": "paper", "y": height}
    if first <= trained <= end:
        chart.add_shape(
            type="line", x0=trained, x1=trained, y0=0, y1=1, yref="paper", line=look
        )  # fmt: skip
        right = trained < (first + end) / 2
        note |= {"x": trained, "xanchor": "left" if right else "right"}
        said = text("view.window.range.here", lang, trained=trained)
    else:
        side = "left" if trained < first else "right"
        note |= {"x": 0 if side == "left" else 1, "xref": "paper", "xanchor": side}
        said = text(f"view.window.range.{side}", lang, trained=trained)
    chart.add_annotation(text=said, font={"size": 12}, bgcolor="rgba(128,128,128,0.16)", **note)


def _end(run: Run) -> int:
    return len(run.header.tokens) + sum(len(s.emitted) for s in run.steps)


WINDOW_CHARTS = {
    "window-ms": ms_per_token,
    "window-cost": draft_cost,
    "window-levels": accepted_by_level,
    "window-cache": cache_size,
}
