"""Still charts of one trace: one function, one picture, the same bytes for the same trace."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from typing import Any

import plotly.graph_objects as go

from specviz import metrics
from specviz.catalog import number, text
from specviz.evidence import MemoryEvidence, Tally
from specviz.trace import Run, Step, Trace
from specviz.views.curve import pass_cost
from specviz.views.style import COLOURS, HATCH, PATTERNS, empty, figure, marker
from specviz.views.tokens import for_plotly, shown

SOURCES = (
    "level3", "level2", "level1", "copy", "lookup", "static", "wave", "das", "head", "target",
)  # fmt: skip


def accepted_per_step(trace: Trace, lang: str = "en") -> go.Figure:
    """Bars: accepted guesses and the target's own token in every step; a line at tau."""
    run = trace.run("decoder")
    if run is None or not run.steps:
        return empty("view.nothing", lang)
    pieces = trace.pieces
    steps = [s.index + 1 for s in run.steps]
    own = [len(s.emitted) - len(s.accepted) for s in run.steps]
    hover = [
        text("view.accepted.hover", lang, step=s.index + 1, accepted=len(s.accepted),
             count=len(s.nodes) - 1, tokens=for_plotly(shown(s.emitted, pieces)))
        for s in run.steps
    ]  # fmt: skip
    bars: list[Any] = [
        go.Bar(x=steps, y=values, name=text(f"view.accepted.{name}", lang), marker=marker(colour),
               hovertext=hover, hoverinfo="text")
        for name, values, colour in (
            ("guessed", [len(s.accepted) for s in run.steps], "decoder"),
            ("own", own, "target"),
        )
    ]  # fmt: skip
    tau = metrics.tau(run)
    bars.append(
        go.Scatter(x=[0.5, len(steps) + 0.5], y=[tau, tau], mode="lines", hoverinfo="skip",
                   name=text("view.accepted.tau", lang, tau=number(tau, 2, lang)),
                   line={"dash": "dot", "width": 3, "color": COLOURS["static"]})
    )  # fmt: skip
    chart = figure(bars, text("view.axis.step", lang), text("view.axis.tokens", lang))
    chart.update_layout(barmode="stack")
    chart.update_yaxes(dtick=1 if max(map(len, (s.emitted for s in run.steps))) < 12 else None)
    return chart


def speed(trace: Trace, lang: str = "en") -> go.Figure:
    """Lines: tokens against measured seconds for both runs, reading the prompt included."""
    lines = []
    for role in ("decoder", "baseline"):
        run = trace.run(role)
        if run is None or run.prefill is None:
            continue
        start = run.prefill.seconds
        lines.append(
            go.Scatter(
                x=[round(start + t, 6)
                   for t in accumulate((s.seconds.total for s in run.steps), initial=0.0)],
                y=list(accumulate((len(s.emitted) for s in run.steps), initial=1)),
                name=_lane(run, role, lang),
                mode="lines",
                line={"shape": "hv", "width": 3, "color": COLOURS[role],
                      "dash": "solid" if role == "decoder" else "dash"},
                hoverinfo="x+y+name",
            )
        )  # fmt: skip
    if not lines:
        return empty("view.nothing", lang)
    chart = figure(lines, text("view.axis.seconds", lang), text("view.axis.tokens", lang))
    chart.update_xaxes(rangemode="tozero")
    chart.update_yaxes(rangemode="tozero")
    return chart


def origins(trace: Trace, lang: str = "en") -> go.Figure:
    """Bars: where the emitted tokens came from, and how many guesses each source spent."""
    run = trace.run("decoder")
    if run is None or not run.tokens:
        return empty("view.nothing", lang)
    kept: Counter[str] = Counter()
    drafted: Counter[str] = Counter()
    for step in run.steps:
        drafted.update(n.source for n in step.nodes[1:])
        kept.update(step.nodes[n].source for n in step.accepted)
        kept["target"] += len(step.emitted) - len(step.accepted)
    kept["target"] += 1  # the prefill's own
    known = [s for s in SOURCES if kept[s] or drafted[s]]
    names = [*known, *sorted({*kept, *drafted} - {*SOURCES})][::-1]
    counts = [
        text("view.origins.own", lang, kept=kept[n]) if n == "target"
        else text("view.origins.of", lang, kept=kept[n], drafted=drafted[n])
        for n in names
    ]  # fmt: skip
    titles = [text(f"view.source.{n}", lang) if n in SOURCES else for_plotly(n) for n in names]
    bars = go.Bar(
        x=[kept[n] for n in names],
        # Under the name, not at the bar's end: there a narrow screen would cut them off.
        y=[f"{title}<br>{count}" for title, count in zip(titles, counts, strict=True)],
        orientation="h",
        marker={
            "color": [COLOURS.get(n, COLOURS["target"]) for n in names],
            "pattern": {"shape": [PATTERNS.get(n, "|") for n in names], **HATCH},
        },
        hoverinfo="skip",
    )
    chart = figure([bars], text("view.axis.emitted", lang))
    chart.update_yaxes(showgrid=False)
    return chart


def cost(trace: Trace, lang: str = "en") -> go.Figure:
    """Stacked bars: the measured seconds of each run by kind of work."""
    runs = [(r, run) for r in ("baseline", "decoder") if (run := trace.run(r)) and run.prefill]
    if not runs:
        return empty("view.nothing", lang)
    spent = {role: metrics.seconds(run) for role, run in runs}
    for seconds in spent.values():
        parts = seconds["draft"] + seconds["verify"] + seconds["commit"]
        seconds["rest"] = max(0.0, seconds["decode"] - parts)
    per_token = {role: metrics.decode_seconds_per_token(run) for role, run in runs}
    bars = []
    for part in ("prefill", "verify", "draft", "commit", "rest"):
        label = text(f"view.cost.{part}", lang)
        bars.append(
            go.Bar(
                x=[round(spent[role][part], 6) for role, _ in runs],
                y=[_lane(run, role, lang) for role, run in runs],
                name=label,
                orientation="h",
                marker=marker(part),
                hovertext=[
                    text("view.cost.hover", lang, part=label,
                         seconds=number(spent[role][part], 3, lang),
                         share=number(100 * _share(spent[role], part), 1, lang),
                         ms=number(1000 * (per_token[role] or 0), 1, lang))
                    for role, _ in runs
                ],
                hoverinfo="text",
            )
        )  # fmt: skip
    chart = figure(bars, text("view.axis.seconds", lang))
    chart.update_layout(barmode="stack")
    chart.update_yaxes(showgrid=False)
    return chart


def levels(trace: Trace, lang: str = "en") -> go.Figure:
    """Bars: how often each memory level had an answer, and how often its answer was right."""
    tallies = tally(trace)
    if not tallies:
        return empty("view.levels.none", lang)
    names = sorted(tallies)
    bars: list[Any] = []
    for kind, over, under, colour, shift in (
        ("coverage", "answered", "asked", "level2", 0.2),
        ("precision", "right", "answered", "level3", -0.2),
    ):
        at = [i + shift for i in range(len(names))]
        counts = [(getattr(tallies[n], over), getattr(tallies[n], under)) for n in names]
        said = [
            text("view.levels.of", lang, part=a, whole=b) if b
            else text("view.levels.never", lang)
            for a, b in counts
        ]  # fmt: skip
        bars.append(
            go.Bar(
                x=[round(100 * a / b, 2) if b else None for a, b in counts], y=at, width=0.36,
                name=text(f"view.levels.{kind}", lang), marker=marker(colour), orientation="h",
                hoverinfo="skip",
            )
        )  # fmt: skip
        # A column of its own, in the margin: no bar shrinks it and no grid line crosses it.
        bars.append(
            go.Scatter(
                x=[100] * len(at), y=at, mode="text", text=said, textposition="middle right",
                textfont={"size": 13}, cliponaxis=False, hoverinfo="skip", showlegend=False,
            )
        )  # fmt: skip
    chart = figure(bars, text("view.axis.percent", lang))
    chart.update_layout(margin={"r": 96})
    chart.update_xaxes(range=[0, 100])
    chart.update_yaxes(
        tickvals=list(range(len(names))), showgrid=False, zeroline=False,
        range=[-0.6, len(names) - 0.4],
        ticktext=[text(f"view.source.level{n}", lang).replace(", ", ",<br>") for n in names],
    )  # fmt: skip
    return chart


def tally(trace: Trace) -> dict[int, Tally]:
    """Per memory level over the whole run: positions asked, answered, answered right."""
    run = trace.run("decoder")
    total: dict[int, Tally] = {}
    for step in run.steps if run else ():
        for level, t in _tallies(step).items():
            old = total.get(level, Tally(0, 0, 0))
            total[level] = Tally(
                old.asked + t.asked, old.answered + t.answered, old.right + t.right
            )
    return total


def _tallies(step: Step) -> dict[int, Tally]:
    return step.evidence.tallies if isinstance(step.evidence, MemoryEvidence) else {}


def _lane(run: Run, role: str, lang: str) -> str:
    return run.header.decoder if role == "decoder" else text("view.lane.baseline", lang)


def _share(seconds: dict[str, float], part: str) -> float:
    return seconds[part] / seconds["total"] if seconds["total"] else 0.0


CHARTS = {
    "accepted": accepted_per_step,
    "speed": speed,
    "origins": origins,
    "levels": levels,
    "cost": cost,
    "curve": pass_cost,
}
