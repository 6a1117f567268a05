"""What the bench found out about a drafter head on texts of all lengths, as charts.

``found`` is what ``bench --suite window`` writes. One function, one picture, the same bytes for the
same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log10
from typing import Any

import plotly.graph_objects as go

from specviz.catalog import number, text
from specviz.views.style import INK, empty, figure

Found = Mapping[str, Any]
# Colour, dash, mark and width of a line: no two alike in greyscale. slot and shift come to the same
# positions, so the one lies on the other, wider one.
STROKES: dict[str, tuple[str, str, str, int]] = {
    "shift": ("#56B4E9", "dot", "diamond-open", 7),
    "slot": ("#0072B2", "solid", "circle", 3),
    "full": ("#D55E00", "dash", "square", 3),
    "window_abs": ("#E69F00", "dashdot", "triangle-up", 3),
    "reindex_only": ("#009E73", "longdash", "x", 3),
    "recap": ("#CC79A7", "solid", "star", 2),
    "ours": ("#8A8F98", "solid", "cross", 2),
}
MODES = ("shift", "slot", "full", "window_abs", "reindex_only")
MECHANISMS = ("slot", "no_sinks", "window_abs", "reindex_only", "full", "truncated")
OWN = ("no_sinks", "no_sinks_abs", "truncated")  # rows that the modes do not show
SIZES = {"slot": "circle", "window_abs": "triangle-up"}  # marks of windows
MILLISECONDS = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
SHADES = ("#56B4E9", "#0072B2")  # of contexts


def speed(found: Found, lang: str = "en") -> go.Figure:
    """Lines: decode speed-up by context, one a mode, RECAP beside; 1 is plain decoding."""
    # The name of the mark stands at the top: at the bottom is that of the line of plain decoding.
    chart = _by_context(found, "speedup_decode", (*MODES, "recap"), "view.lengths.speed", lang, 1)
    return _even(chart, text("view.lengths.even", lang)) if chart.data else chart


def tau(found: Found, lang: str = "en") -> go.Figure:
    """Lines: tokens per step by context, one a mode; where the trained range ends is marked."""
    return _by_context(found, "tau", (*MODES, "recap"), "view.lengths.tau", lang)


def draft(found: Found, lang: str = "en") -> go.Figure:
    """Lines: milliseconds of drafting per step by context, one a mode."""
    chart = _by_context(found, "draft_ms", MODES, "view.lengths.draft", lang)
    chart.update_yaxes(rangemode="tozero")
    return chart


def token(found: Found, lang: str = "en") -> go.Figure:
    """Lines: milliseconds per emitted token by context: plain decoding, slot, full."""
    chart = _by_context(found, "ms_per_token", ("ours", "slot", "full"), "view.lengths.token", lang)
    chart.update_yaxes(rangemode="tozero")
    return chart


def windows(found: Found, lang: str = "en") -> go.Figure:
    """Lines: decode speed-up by size of the window, one a context; marks say the mode."""
    cells = [c for c in _cells(found, "windows") if c["speedup_decode"] is not None]
    known = {(c["row"], c["context"]): c for c in cells if c["row"] != "ours"}
    modes = {s["window"]: s["mode"] for s in found["sizes"]}
    lines = []
    for k, context in enumerate(sorted({context for _, context in known})):
        sizes = [w for w in modes if (f"window {w}", context) in known]
        mine = [known[f"window {w}", context] for w in sizes]
        name = text("view.lengths.at", lang, context=grouped(context))
        lines.append(go.Scatter(
            x=sizes, y=[round(c["speedup_decode"], 4) for c in mine], mode="lines+markers",
            name=name,
            line={"color": SHADES[k % 2], "width": 3, "dash": ("solid", "dash")[k % 2]},
            marker={"size": 11, "color": SHADES[k % 2],
                    "symbol": [SIZES[modes[w]] for w in sizes]},
            hovertext=[text("view.lengths.window", lang, window=w, mode=modes[w],
                            context=grouped(context), tau=number(c["tau"], 2, lang),
                            speed=number(c["speedup_decode"], 2, lang))
                       for w, c in zip(sizes, mine, strict=True)],
            hoverinfo="text",
        ))  # fmt: skip
    if not lines:
        return empty("view.lengths.nothing", lang)
    chart = figure(lines, text("view.lengths.size", lang), text("view.lengths.speed", lang))
    chart.update_xaxes(type="log", tickvals=list(modes), ticktext=[str(w) for w in modes])
    return _even(chart, text("view.lengths.even", lang))


def mechanisms(found: Found, lang: str = "en") -> go.Figure:
    """Bars: tau with each mechanism off, at the longest context where that was measured."""
    longest = max((c["context"] for c in _cells(found, "mechanisms")), default=0)
    rows = {
        **{c["row"]: c for c in _cells(found, "context") if c["context"] == longest},
        **{c["row"]: c for c in _cells(found, "mechanisms")
           if c["context"] == longest and c["row"] in OWN},
    }  # fmt: skip
    shown = [(row, rows[row]) for row in MECHANISMS if row in rows and rows[row]["tau"] is not None]
    if not shown:
        return empty("view.lengths.nothing", lang)
    names = [text(f"view.lengths.off.{row}", lang) for row, _ in shown]
    bars = go.Bar(
        y=names, x=[c["tau"] for _, c in shown], orientation="h",
        text=[number(c["tau"], 2, lang) for _, c in shown], textposition="outside",
        cliponaxis=False, hoverinfo="text",
        marker={
            "color": ["#0072B2", *["#8A8F98"] * (len(shown) - 1)],
            "pattern": {"shape": ["", *["/"] * (len(shown) - 1)], "size": 7, "solidity": 0.2},
        },
        hovertext=[text("view.lengths.bar", lang, name=name, tau=number(c["tau"], 2, lang),
                        speed=number(c["speedup_decode"], 2, lang), context=grouped(longest))
                   for name, (_, c) in zip(names, shown, strict=True)],
    )  # fmt: skip
    chart = figure([bars], text("view.lengths.tau", lang), height=320)
    chart.update_yaxes(autorange="reversed")
    # Room for the number behind the longest bar.
    chart.update_xaxes(range=[0, round(1.15 * max(c["tau"] for _, c in shown), 4)])
    return chart


def alone(found: Found, lang: str = "en") -> go.Figure:
    """Lines: milliseconds per draft behind faked positions, both axes logarithmic; a line ends
    where a cache would take too much memory. The context where ``full`` would stop paying is
    marked, if there is one."""
    lines = []
    for mode in MODES:
        timed = [a for a in found["alone"] if a["mode"] == mode and a["seconds"] is not None]
        if timed:
            lines.append(_line(
                mode, [a["positions"] for a in timed], [1000 * a["seconds"] for a in timed],
                [text("view.lengths.faked", lang, name=text(f"view.lengths.mode.{mode}", lang),
                      positions=grouped(a["positions"]), ms=number(1000 * a["seconds"], 2, lang),
                      size=number(a["bytes"] / 2**20, 2, lang)) for a in timed], lang,
            ))  # fmt: skip
    if not lines:
        return empty("view.lengths.no_alone", lang)
    positions = sorted({a["positions"] for a in found["alone"]})
    chart = figure(lines, text("view.lengths.positions", lang), text("view.lengths.draft", lang))
    chart.update_yaxes(type="log", tickvals=list(MILLISECONDS))
    _contexts(chart, positions)
    stop = (found["paying"] or {}).get("positions")
    if stop:
        _mark(chart, stop, text("view.lengths.stops", lang, positions=grouped(stop)), y=1)
    return chart


def verdict(found: Found, lang: str = "en") -> str:
    """Where the window won and lost, in a sentence or two, out of the figures alone."""
    cells = _cells(found, "context")
    speeds = {(c["row"], c["context"]): c["speedup_decode"] for c in cells}
    contexts = sorted({c["context"] for c in cells})
    known = [c for c in contexts if speeds.get(("slot", c)) is not None]
    if not known:
        return text("view.lengths.nothing", lang)
    shown = {key: round(speed or 0, 2) for key, speed in speeds.items()}  # as the charts say it
    slow = [c for c in known if shown["slot", c] < 1]
    behind = [c for c in known if shown["slot", c] < shown.get(("full", c), 0)]
    return text(
        "view.lengths.verdict", lang, count=len(known),
        slow=_places(slow, lang), behind=_places(behind, lang),
    )  # fmt: skip


def grouped(count: int) -> str:
    """With a narrow space between thousands, on the axes of all languages."""
    return f"{count:,}".replace(",", "\u202f")


def _places(contexts: Sequence[int], lang: str) -> str:
    return ", ".join(map(grouped, contexts)) or text("view.lengths.nowhere", lang)


def _cells(found: Found, part: str, kind: str = "all") -> list[Mapping[str, Any]]:
    return [c for c in found["cells"] if (c["part"], c["kind"]) == (part, kind)]


def _by_context(
    found: Found, key: str, rows: Sequence[str], title: str, lang: str, at: int = 0
) -> go.Figure:
    cells = _cells(found, "context")
    lines = []
    for row in rows:
        mine = [c for c in cells if c["row"] == row and c[key] is not None]
        if mine:
            name = text(f"view.lengths.mode.{row}", lang)
            told = [
                text("view.lengths.hover", lang, name=name, context=grouped(c["context"]),
                     value=number(c[key], 2, lang), count=c["prompts"])
                for c in mine
            ]  # fmt: skip
            xs, ys = [c["context"] for c in mine], [c[key] for c in mine]
            lines.append(_line(row, xs, ys, told, lang))
    if not lines:
        return empty("view.lengths.nothing", lang)
    chart = figure(lines, text("view.lengths.context", lang), text(title, lang), height=340)
    contexts = sorted({c["context"] for c in cells})
    _contexts(chart, contexts)
    trained = found["head"]["trained"]
    if contexts[0] <= trained <= contexts[-1]:
        _mark(chart, trained, text("view.lengths.trained", lang, trained=grouped(trained)), at)
    return chart


def _line(
    row: str, xs: Sequence[int], ys: Sequence[float], told: Sequence[str], lang: str
) -> go.Scatter:
    colour, dash, mark, width = STROKES[row]
    return go.Scatter(
        x=list(xs), y=[round(y, 4) for y in ys], mode="lines+markers",
        name=text(f"view.lengths.mode.{row}", lang),
        line={"color": colour, "width": width, "dash": dash},
        marker={"symbol": mark, "size": 8, "color": colour},
        hovertext=list(told), hoverinfo="text",
    )  # fmt: skip


def _contexts(chart: go.Figure, marks: Sequence[int]) -> None:
    """A logarithmic axis: each doubling of the context takes the same room."""
    chart.update_xaxes(type="log", tickvals=list(marks), ticktext=[grouped(m) for m in marks])


def _even(chart: go.Figure, name: str) -> go.Figure:
    chart.add_hline(
        y=1, line={"color": INK, "width": 2, "dash": "dash"}, annotation_text=name,
        annotation_position="bottom left",
    )  # fmt: skip
    return chart


def _mark(chart: go.Figure, at: int, name: str, y: int = 0) -> None:
    """A vertical line; its name stands at the bottom (``y`` 0) or at the top."""
    chart.add_shape(
        type="line", x0=at, x1=at, y0=0, y1=1, yref="paper",
        line={"color": INK, "width": 1, "dash": "dot"},
    )  # fmt: skip
    # On a logarithmic axis a shape stands at a value, an annotation at its logarithm.
    chart.add_annotation(
        text=name, x=round(log10(at), 6), y=y, yref="paper", xanchor="left",
        align="left", yanchor="top" if y else "bottom", showarrow=False,
    )  # fmt: skip
