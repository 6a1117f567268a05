"""Still charts of drafts that settle in rounds: when guesses are right, what they cost, how they
end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import plotly.graph_objects as go

from specviz import waves
from specviz.catalog import number, text
from specviz.evidence import WaveEvidence
from specviz.trace import Run, Step, Trace
from specviz.views.style import COLOURS, HATCH, empty, figure, marker
from specviz.waves import Share

ENDS = {"settled": ("#009E73", ""), "rounds": ("#E69F00", "/"), "budget": ("#8A8F98", "x")}


def has_waves(trace: Trace) -> bool:
    """Whether the decoder's run holds what these charts draw."""
    run = trace.run("decoder")
    return run is not None and any(_waves(run))


def _waves(run: Run) -> Iterator[tuple[Step, WaveEvidence]]:
    for step in run.steps:
        if isinstance(step.evidence, WaveEvidence):
            yield step, step.evidence


def agreement_by_age(trace: Trace, lang: str = "en") -> go.Figure:
    """Line: of the guesses read at each age, how many are the token finally written there."""
    run = trace.run("decoder")
    shares = () if run is None else waves.agreement(run, "age")
    if not shares:
        return empty("view.wave.none", lang)
    line = _line(shares, "age", "decoder", "solid", "circle", lang)
    chart = figure([line], text("view.axis.age", lang), text("view.axis.percent", lang))
    chart.update_layout(showlegend=False)
    chart.update_yaxes(range=[0, 104])
    chart.update_xaxes(rangemode="tozero")
    return chart


def agreement_by_round(trace: Trace, lang: str = "en") -> go.Figure:
    """Lines: the same by round, and by distance from the last emitted token."""
    run = trace.run("decoder")
    if run is None or not waves.agreement(run, "round"):
        return empty("view.wave.none", lang)
    lines = [
        _line(waves.agreement(run, "round"), "round", "decoder", "solid", "circle", lang),
        _line(waves.agreement(run, "position"), "position", "level1", "dash", "diamond", lang),
    ]
    chart = figure(lines, text("view.axis.round", lang), text("view.axis.percent", lang))
    chart.update_yaxes(range=[0, 104])
    chart.update_xaxes(tickangle=0, rangemode="tozero")
    return chart


def _line(
    shares: tuple[Share, ...], by: str, colour: str, dash: str, symbol: str, lang: str
) -> go.Scatter:
    percents = [round(100 * s.right / s.cells, 2) for s in shares]
    return go.Scatter(
        x=[s.key for s in shares], y=percents, mode="lines+markers",
        name=text(f"view.wave.by.{by}", lang),
        line={"width": 3, "dash": dash, "color": COLOURS[colour]},
        marker={"size": 9, "symbol": symbol, "color": COLOURS[colour]},
        hovertext=[
            text(f"view.wave.hover.{by}", lang, at=s.key, right=s.right, cells=s.cells,
                 percent=number(p, lang=lang))
            for s, p in zip(shares, percents, strict=True)
        ],
        hoverinfo="text",
    )  # fmt: skip


def work_per_token(trace: Trace, lang: str = "en") -> go.Figure:
    """Bars: core calls one after the other, and core x token applications, per emitted token; the
    decoder's split into drafting and verifying beside what plain decoding needs."""
    run = trace.run("decoder")
    calls = None if run is None else waves.core_calls(run)
    spent = None if run is None else waves.applications(run)
    if run is None or calls is None or spent is None or not calls.tokens:
        return empty("view.wave.none", lang)
    plain = text("view.lane.baseline", lang)
    kinds = [(text("view.wave.calls", lang), calls), (text("view.wave.applications", lang), spent)]
    names = [f"{name}<br>{who}" for name, _ in kinds for who in (run.header.decoder, plain)][::-1]
    parts: dict[str, list[float]] = {"draft": [], "verify": [], "baseline": []}
    for _, work in kinds:
        for part, value in (("draft", work.draft), ("verify", work.verify)):
            parts[part] += [round(value / work.tokens, 4), 0.0]
        parts["baseline"] += [0.0, float(run.header.depth or 0)]
    bars = [
        go.Bar(
            x=values[::-1], y=names, orientation="h", name=text(f"view.wave.work.{part}", lang),
            marker=marker(part), hoverinfo="x+name",
        )
        for part, values in parts.items()
    ]  # fmt: skip
    sums = [sum(v) for v in zip(*parts.values(), strict=True)][::-1]
    labels: Any = go.Scatter(
        x=sums, y=names, mode="text", text=[f" {number(s, 1, lang)}" for s in sums],
        hoverinfo="skip",
        textposition="middle right", showlegend=False, cliponaxis=False,
    )  # fmt: skip
    chart = figure([*bars, labels], text("view.axis.work", lang))
    chart.update_layout(barmode="stack")
    chart.update_xaxes(range=[0, 1.16 * max(sums)])
    chart.update_yaxes(showgrid=False)
    return chart


def endings(trace: Trace, lang: str = "en") -> go.Figure:
    """Stacked bars: how many steps accepted so many guesses, by why their last round was the
    last."""
    run = trace.run("decoder")
    counts: dict[str, Counter[int]] = {end: Counter() for end in ENDS}
    for step, wave in _waves(run) if run is not None else ():
        counts[wave.end][len(step.accepted)] += 1
    if not any(counts.values()):
        return empty("view.wave.none", lang)
    longest = max(max(c, default=0) for c in counts.values())
    lengths = list(range(longest + 1))
    bars = []
    for end, (colour, shape) in ENDS.items():
        total = counts[end].total()
        if not total:
            continue
        hover = [text("view.wave.ends.hover", lang, count=counts[end][n], accepted=n,
                      end=text(f"view.wave.end.{end}", lang)) for n in lengths]  # fmt: skip
        bars.append(
            go.Bar(
                x=lengths, y=[counts[end][n] for n in lengths], hovertext=hover, hoverinfo="text",
                name=text(f"view.wave.ends.{end}", lang, count=total),
                marker={"color": colour, "pattern": {"shape": shape, **HATCH}},
            )
        )  # fmt: skip
    chart = figure(bars, text("view.axis.accepted", lang), text("view.axis.steps", lang))
    chart.update_layout(barmode="stack")
    chart.update_xaxes(tickangle=0)
    return chart


WAVE_CHARTS = {
    "wave-work": work_per_token,
    "wave-age": agreement_by_age,
    "wave-round": agreement_by_round,
    "wave-ends": endings,
}
