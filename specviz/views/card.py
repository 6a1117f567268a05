"""The run card: under which conditions a trace was made."""

from __future__ import annotations

from specviz import metrics
from specviz.catalog import number, sentence, text
from specviz.trace import Run, Trace
from specviz.views import sight


def card(trace: Trace, lang: str = "en") -> list[tuple[str, str]]:
    """(label, value) rows in reading order; every value as recorded."""
    run = trace.run("decoder")
    if run is None:
        return []
    head = run.header
    rows = [
        ("model", head.model),
        ("digest", head.digest),
        ("device", f"{head.device}, {head.dtype}"),
        ("machine", sentence(head.machine, lang)),
        ("packed", text("view.card.packed.yes" if head.packed else "view.card.packed.no", lang)),
        ("decoder", head.decoder),
        ("knobs", _pairs(head.knobs)),
        ("prompt", text("view.tokens", lang, count=len(head.tokens))),
        ("limit", text("view.tokens", lang, count=head.max_new_tokens)),
    ]
    rows.append(("costs", _costs(run, lang)))
    rows += sight.facts(run, lang)
    if head.scope is not None:
        memory = text("view.card.memory.value", lang, scope=head.scope, count=head.memory_rows)
        rows.append(("memory", memory))
    if run.finish is not None:
        end = text(f"view.end.{run.finish.reason}", lang)
        rows.append(("end", f"{end} {sentence(run.finish.message, lang)}".strip()))
    rows += [("baseline", _baseline(trace, lang)), ("versions", _pairs(head.versions))]
    rows += [("note", sentence(note, lang)) for note in head.notes]
    return [(text(f"view.card.{name}", lang), value) for name, value in rows]


def _pairs(values: dict[str, str] | dict[str, int | float | bool | str]) -> str:
    return ", ".join(f"{k} {_plain(v)}" for k, v in values.items()) or "–"


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _costs(run: Run, lang: str) -> str:
    """What the measured curve says at its first, free and last rows."""
    costs, curve = run.header.costs, metrics.curve(run)
    if costs is None or curve is None:
        return text("view.card.costs.none", lang)
    return text(
        "view.card.costs.value",
        lang,
        context=costs.context,
        ms=number(1000 * min(costs.seconds), 1, lang),
        free=text("view.rows", lang, count=metrics.free_rows(run)),
        most=text("view.rows", lang, count=costs.rows[-1]),
        times=number(curve(costs.rows[-1]), 2, lang),
    )


def _baseline(trace: Trace, lang: str) -> str:
    base = trace.run("baseline")
    if base is None:
        return text("view.card.baseline.none", lang)
    ms = metrics.decode_seconds_per_token(base)
    key = "view.card.baseline.reused" if base.header.reused else "view.card.baseline.measured"
    tokens = text("view.tokens", lang, count=len(base.tokens))
    return text(key, lang, tokens=tokens, ms="–" if ms is None else number(1000 * ms, 1, lang))
