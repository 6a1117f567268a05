"""A report in words and bars: the lines of the command line, the table and picture of the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from specviz.catalog import number, text
from specviz.views import image_effect
from specviz.views.outcomes import FACTS
from specviz.views.report import Bucket, Group, buckets
from specviz.views.terminal import literal

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Known but cut in blues and greens, unknown in warm colours, without a memory in grey; of a wave,
# what it had known in blue.
LOOK = {
    "cost": ("#0072B2", ""), "budget": ("#56B4E9", "/"), "width": ("#009E73", "x"),
    "depth": ("#0072B2", "\\"), "end": ("#56B4E9", "."), "score": ("#009E73", "-"),
    "blocked": ("#0072B2", "+"), "repeat": ("#56B4E9", "|"), "leaf": ("#009E73", ""),
    "unknown": ("#E69F00", ""), "silent": ("#D55E00", "/"), "refused": ("#8A8F98", ""),
    "lost": ("#0072B2", "x"), "never": ("#CC79A7", "/"),
    "unoffered": ("#E69F00", "/"), "nothing": ("#8A8F98", "/"),
}  # fmt: skip
LONGEST_LABEL = 40


def heading(group: Group, lang: str = "en") -> str:
    """Decoder, models and size of a group in one sentence."""
    return text(
        "view.report.heading",
        lang,
        decoder=group.decoder,
        models=", ".join(literal(m) for m in group.models),
        count=group.runs,
        tokens=text("view.tokens", lang, count=group.tokens),
        steps=text("view.steps", lang, count=len(group.outcomes)),
    )


def figures(group: Group, lang: str = "en") -> list[str]:
    """The pooled figures, one sentence each, and what to beware of."""
    said = []
    if group.tau is not None:
        acceptance = "–" if group.acceptance is None else number(100 * group.acceptance, lang=lang)
        said.append(
            text("view.report.figures", lang, tau=number(group.tau, 2, lang), percent=acceptance)
        )
    if group.recycled_hits is not None:
        said.append(text("view.recycled", lang, count=group.recycled_hits))
    if len(group.models) > 1:
        said.append(text("view.report.models", lang, count=len(group.models)))
    if len(group.settings) > 1:
        said.append(text("view.report.settings", lang, count=len(group.settings)))
    return said


def ending(group: Group, lang: str = "en") -> str:
    """How many walks ended at no right guess, and at how many of those there was no guess."""
    nothing = sum(not o.drafted for o in group.ends)
    return text("view.report.ending", lang, count=len(group.ends), nothing=nothing)


def unknown(group: Group, lang: str = "en") -> str:
    """The tokens that were most often wanted and unknown; empty when there were none."""
    if not group.unknown:
        return ""
    tokens = " · ".join(f"{token} ×{count}" for token, count in group.unknown)
    return text("view.report.unknown", lang, tokens=tokens)


def pictures(group: Group, lang: str = "en") -> Iterator[str]:
    """What probes of pictures found: nothing where there were none."""
    yield from image_effect.pooled_lines(group.pictures, lang)


def table(
    group: Group, by: str, lang: str = "en"
) -> tuple[list[str], list[list[str | int | float]]]:
    """Titles and cells: facts with counts and shares, or a row per bucket with its facts."""
    counted = buckets(group, by)
    if by == "fact":
        titles = [text(f"view.report.{name}", lang) for name in ("fact", "count", "share")]
        facts = counted[0].facts if counted else {}
        return titles, [
            [fact_name(name, lang), count, share(count, counted[0].ends, lang)]
            for name, count in sorted(facts.items(), key=lambda item: -item[1])
        ]
    whole = by not in ("level", "rank", "depth")
    used = [name for name in FACTS if any(name in b.facts for b in counted)]
    head = [by, *(("steps", "tau") if whole else ()), "ends"]
    titles = [text(f"view.report.{name}", lang) for name in head]
    titles += [fact_name(name, lang) for name in used]
    return titles, [_cells(b, used, whole, lang) for b in counted]


def _cells(b: Bucket, used: Sequence[str], whole: bool, lang: str) -> list[str | int | float]:
    cells: list[str | int | float] = [bucket_name(b.label, lang)]
    if whole:
        cells += [b.steps or 0, "–" if b.tau is None else round(b.tau, 2)]
    return [*cells, b.ends, *(b.facts.get(name, 0) for name in used)]


def share(count: int, whole: int, lang: str = "en") -> str:
    """``count`` of ``whole`` in per cent."""
    return f"{number(100 * count / whole, 1, lang)} %" if whole else "–"


def fact_name(name: str, lang: str = "en") -> str:
    """A fact in words."""
    if name in ("unknown", "silent", "unoffered", "lost", "never", "refused", "nothing"):
        return text(f"view.fact.{name}", lang)
    return text("view.fact.cut", lang, why=text(f"view.cut.{name}", lang))


def bucket_name(label: str, lang: str = "en") -> str:
    """A bucket's label; what has none is a dash."""
    if label == "copied":
        return text("view.reject.copied", lang)
    return literal(label) or "–"


def lines(groups: Sequence[Group], by: str) -> Iterator[str]:
    """A report for a terminal."""
    for i, group in enumerate(groups):
        if i:
            yield ""
        yield heading(group)
        yield from figures(group)
        yield ending(group)
        titles, cells = table(group, by)
        if by == "fact":
            for name, count, part in cells:
                yield f"{count:6}  {part:>7}  {name}"
        else:
            yield from _columns(titles, cells)
        if said := unknown(group):
            yield said
        yield from pictures(group)


def _columns(titles: list[str], cells: list[list[str | int | float]]) -> Iterator[str]:
    rows = [titles, *([str(c) for c in row] for row in cells)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(titles))]
    for row in rows:
        first = row[0].ljust(widths[0])
        rest = (c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))
        yield "  ".join([first, *rest]).rstrip()


def picture(group: Group | None, by: str, lang: str = "en") -> go.Figure:
    """Bars: how often each fact ended a walk; by anything else stacked, a bar per bucket."""
    # Not at the top: the command line draws nothing and does not wait for it.
    import plotly.graph_objects as go

    from specviz.views.style import HATCH, empty, figure
    from specviz.views.tokens import for_plotly

    if group is None or not group.ends:
        return empty("view.report.none", lang)
    counted = buckets(group, by)[::-1]
    used = [name for name in FACTS if any(name in b.facts for b in counted)]
    names = {name: for_plotly(fact_name(name, lang)) for name in used}

    def bar(facts: list[str], values: list[int], labels: list[str], said: list[str]) -> Any:
        return go.Bar(
            x=values, y=labels, orientation="h", name=names[facts[0]], hovertext=said,
            hoverinfo="text",
            marker={"color": [LOOK[f][0] for f in facts],
                    "pattern": {"shape": [LOOK[f][1] for f in facts], **HATCH}},
        )  # fmt: skip

    if by == "fact":
        facts = sorted(used, key=lambda name: counted[0].facts[name])
        values = [counted[0].facts[name] for name in facts]
        said = [f"{n} ({share(n, counted[0].ends, lang)})" for n in values]
        labels = [f"{names[f]}<br>{t}" for f, t in zip(facts, said, strict=True)]
        bars, height = [bar(facts, values, labels, said)], 90 + 44 * len(facts)
    else:
        labels = [for_plotly(_short(bucket_name(b.label, lang))) for b in counted]
        bars = []
        for name in used:
            values = [b.facts.get(name, 0) for b in counted]
            said = [f"{names[name]}<br>{n} ({share(n, b.ends, lang)})"
                    for n, b in zip(values, counted, strict=True)]  # fmt: skip
            bars.append(bar([name] * len(counted), values, labels, said))
        # On a phone the legend has a line for every fact.
        height = 130 + 20 * len(used) + 32 * len(counted)
    chart = figure(bars, text("view.report.axis", lang), height=height)
    chart.update_layout(
        barmode="stack", legend={"traceorder": "normal"}, showlegend=by != "fact",
        # Long names on a phone must leave the bars some room.
        minreducedwidth=120, minreducedheight=80,
    )  # fmt: skip
    chart.update_yaxes(showgrid=False, type="category")
    return chart


def _short(label: str) -> str:
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"
