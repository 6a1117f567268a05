"""What a picture decided in an answer, and whether drafts failed there: in words, tables and CSV.

The definitions are those of ``probes``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from specviz.catalog import number, text
from specviz.compare import Place, places
from specviz.probes import Association, Cross, associations, readings, shifts
from specviz.trace import Header, Probe, Run, Trace
from specviz.views.difference import outcome
from specviz.views.numbers import small
from specviz.views.sheet import sheet
from specviz.views.tokens import show

COLUMNS = (
    "probe", "kind", "replaced", "name", "position", "token", "recorded_pick", "other_pick",
    "changed", "recorded_logp", "other_logp", "shift", "step", "outcome", "fully_rejected",
)  # fmt: skip
Cells = list[list[str | int]]


def lead(run: Run, probe: Probe, lang: str = "en") -> str:
    """What was put in the place of which picture, as the beginning of a sentence."""
    name = run.header.pictures[probe.replaced].name
    return text(f"effect.lead.{probe.kind}", lang, name=name, other=probe.name)


def sentences(trace: Trace, probe: Probe, lang: str = "en") -> Iterator[str]:
    """One probe of a run: what depends on the picture, and the table of its steps in words."""
    run = trace.run("decoder")
    if run is None:
        return
    said = lead(run, probe, lang)
    found = associations(readings(alone(trace, probe)))
    if not found:
        return
    (mine,) = found
    if mine.changed:
        yield text("effect.changed", lang, lead=said, changed=mine.changed, count=mine.tokens,
                   share=rate(mine.all_tokens))  # fmt: skip
    else:
        yield text("effect.same", lang, lead=said, count=mine.tokens)
    yield from _doubts(run, probe, lang)
    yield from association_lines(mine, lang)


def _doubts(run: Run, probe: Probe, lang: str) -> Iterator[str]:
    """Where it was read back, if elsewhere, and at how many tokens that alone differs."""
    now, before = (_place(each) for each in (probe, run.header))
    if probe.device and now != before:
        yield text("effect.where", lang, now=now, before=before)
    strays = sum(kept != token for kept, token in zip(probe.kept, run.tokens, strict=False))
    if strays:
        yield text("effect.strays", lang, strays=strays, tokens=len(probe.kept))


def _place(event: Header | Probe) -> str:
    return " ".join((event.device, event.dtype, *(["packed"] if event.packed else [])))


def alone(trace: Trace, probe: Probe) -> Trace:
    """``trace`` with no other probe."""
    return Trace((*(e for e in trace.events if not isinstance(e, Probe)), probe))


def association_lines(found: Association, lang: str = "en") -> Iterator[str]:
    """The 2x2 table and what can be said of it, one sentence each."""
    table = found.cross
    yield text(
        "effect.cross", lang, rejected=table.rejected, rejected_rate=rate(table.rejected_rate),
        rejected_dependent=table.rejected_dependent, held=table.held,
        held_rate=rate(table.held_rate), held_dependent=table.held_dependent,
        base=rate(table.base),
    )  # fmt: skip
    if found.undrafted:
        yield text("effect.undrafted", lang, count=found.undrafted,
                   dependent=found.undrafted_dependent)  # fmt: skip
    if found.rejected_shift is not None and found.held_shift is not None:
        yield text("effect.shift", lang, rejected=number(found.rejected_shift, 2, lang),
                   held=number(found.held_shift, 2, lang))  # fmt: skip
    yield _caution(found, lang)


def _caution(found: Association, lang: str) -> str:
    """How far the table can be believed."""
    if found.runs == 1:
        return text("effect.one", lang)
    odds = [number(v, 2, lang) for v in (found.cross.odds_ratio, found.within)]
    said = text("effect.odds", lang, odds=odds[0], within=odds[1])
    if found.interval is None or found.cross.difference is None:
        return f"{said} {text('effect.few', lang, runs=found.runs)}"
    low, high = (f"{100 * bound:+.0f}" for bound in found.interval)
    interval = text("effect.interval", lang, difference=f"{100 * found.cross.difference:+.0f}",
                    low=low, high=high, runs=found.runs)  # fmt: skip
    return f"{interval} {said}"


def rate(share: float | None) -> str:
    """A share in whole percent; it stands beside its counts."""
    return "–" if share is None else f"{100 * share:.0f} %"


def cross_table(table: Cross, lang: str = "en") -> tuple[list[str], Cells]:
    """Titles and cells of the 2x2 table, with its sums and the share of every row."""
    titles = [text(f"effect.column.{n}", lang) for n in ("steps", "dependent", "free", "sum",
                                                         "share")]  # fmt: skip
    dependent = table.rejected_dependent + table.held_dependent
    rows = (
        ("rejected", table.rejected_dependent, table.rejected_free, table.rejected_rate),
        ("held", table.held_dependent, table.held_free, table.held_rate),
        ("all", dependent, table.steps - dependent, table.base),
    )
    return titles, [
        [text(f"effect.row.{name}", lang), yes, no, yes + no, rate(share)]
        for name, yes, no, share in rows
    ]


def token_table(trace: Trace, probe: Probe, lang: str = "en") -> tuple[list[str], Cells]:
    """Titles and cells of the tokens that depend on the picture; tokens and steps from 1."""
    titles = [text("compare.column.position", lang), text("compare.column.token", lang)]
    titles += [text(f"effect.column.{n}", lang) for n in ("instead", "probability", "step")]
    run = trace.run("decoder")
    if run is None:
        return titles, []
    pieces = trace.pieces
    found = places(run)
    return titles, [
        [
            i + 1,
            show(pieces.get(run.tokens[i])),
            show(pieces.get(probe.picks[i])),
            f"{_probability(probe.kept_logps[i])} → {_probability(probe.logps[i])}",
            step_words(found[i], i, lang),
        ]
        for i in probe.changed
        if i < len(found)
    ]


def _probability(logp: float) -> str:
    return str(small(math.exp(min(0.0, logp))))


def step_words(place: Place, position: int, lang: str = "en") -> str:
    """Which step emitted a token of the answer, and what had become of its guesses."""
    if place.step < 0:
        return text("effect.cell.prefill", lang)
    if rejected(place, position):
        return text("effect.cell.rejected", lang, step=place.step + 1)
    return text("compare.cell", lang, step=place.step + 1, outcome=outcome(place, lang))


def rejected(place: Place, position: int) -> bool:
    """Whether the step that emitted the token drafted and had no guess right."""
    return place.outcome == "refused" and place.start == position


def lines(trace: Trace, probe: Probe) -> Iterator[str]:
    """One probe for a terminal."""
    yield from sentences(trace, probe)
    (found,) = associations(readings(alone(trace, probe)))
    yield ""
    yield from _columns(*cross_table(found.cross))
    titles, cells = token_table(trace, probe)
    if cells:
        yield ""
        yield from _columns(titles, cells)


def pooled_lines(found: Iterable[Association], lang: str = "en") -> Iterator[str]:
    """Probes of many runs, one part for each kind of picture, for a terminal and the page."""
    for each in found:
        yield text(f"effect.pool.{each.kind}", lang, count=each.runs, changed=each.changed,
                   tokens=each.tokens, share=rate(each.all_tokens))  # fmt: skip
        yield from association_lines(each, lang)


def _columns(titles: Sequence[str], cells: Cells) -> Iterator[str]:
    rows = [list(titles), *([str(c) for c in row] for row in cells)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()


def plain(found: Association) -> dict[str, Any]:
    """An association as plain data."""
    table = found.cross
    return {
        "kind": found.kind,
        "runs": found.runs,
        "tokens": found.tokens,
        "changed": found.changed,
        "rejected_dependent": table.rejected_dependent,
        "rejected_free": table.rejected_free,
        "held_dependent": table.held_dependent,
        "held_free": table.held_free,
        "undrafted": found.undrafted,
        "undrafted_dependent": found.undrafted_dependent,
        "base": table.base,
        "rejected_rate": table.rejected_rate,
        "held_rate": table.held_rate,
        "difference": table.difference,
        "interval": list(found.interval) if found.interval else None,
        "odds_ratio": table.odds_ratio,
        "within": found.within,
        "rejected_shift": found.rejected_shift,
        "held_shift": found.held_shift,
    }


def to_csv(trace: Trace) -> str:
    """Every token of every probe as CSV; positions count from 0, steps from 1 (0: the prefill)."""
    return sheet(COLUMNS, _rows(trace))


def _rows(trace: Trace) -> Iterator[tuple[object, ...]]:
    run = trace.run("decoder")
    if run is None:
        return
    pieces, found = trace.pieces, places(run)
    for which, probe in enumerate(trace.probes, start=1):
        moved = shifts(probe)
        for i, (place, token) in enumerate(zip(found, run.tokens, strict=True)):
            if i >= len(moved):
                break
            yield (
                which, probe.kind, probe.replaced + 1, probe.name, i, show(pieces.get(token)),
                show(pieces.get(probe.kept[i])), show(pieces.get(probe.picks[i])),
                probe.picks[i] != probe.kept[i], probe.kept_logps[i], probe.logps[i],
                round(moved[i], 4), place.step + 1, place.outcome, rejected(place, i),
            )  # fmt: skip
