"""How two runs of one prompt differ, in sentences, as a table and as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from specviz.catalog import number, text
from specviz.compare import Comparison, Place, Position, Side
from specviz.trace import Trace
from specviz.views.tokens import show

Names = tuple[str, str]
KNOWN = ("level3", "level2", "level1", "copy", "lookup", "static", "target")


def changes(names: Sequence[str], knobs: Mapping[str, Any], trace: Trace, lang: str = "en") -> str:
    """What was changed, as a phrase after "with"; ``trace`` is the changed run."""
    run = trace.run("decoder")
    values = dict(run.header.knobs) if run else {}
    parts = [text(f"whatif.{name}.with", lang, **values) for name in names]
    parts += [text("whatif.knob.with", lang, name=n, value=v) for n, v in knobs.items()]
    phrase = parts[0]
    for part in parts[1:]:
        phrase = text("whatif.and", lang, first=phrase, second=part)
    return phrase


def sentences(found: Comparison, lead: str, lang: str = "en") -> Iterator[str]:
    """What the second run did differently: passes, refused positions mended, right ones lost."""
    a, b = found.a.passes, text("view.passes", lang, count=found.b.passes)
    if not found.gained and not found.lost and a == found.b.passes:
        yield text("compare.same", lang, lead=lead, passes=b)
    else:
        lost = len(found.lost)
        key = "compare.lost" if lost else "compare.lost.none"
        yield text(
            "compare.result" if found.a.refused else "compare.result.none", lang,
            lead=lead, a=a, b=b, mended=len(found.mended),
            refused=text("compare.refused", lang, count=found.a.refused),
            lost=text(key, lang, count=lost),
        )  # fmt: skip
        more = len(found.gained) - len(found.mended)
        if more:
            yield text("compare.more", lang, count=more)
        parts = {k: _counts(v, lang) for k, v in found.by_source().items()}
        yield text("compare.sources", lang, **parts)
    if found.parted is not None:
        yield text("compare.parted", lang, at=found.parted + 1)
    elif found.a.tokens != found.b.tokens:
        yield text("compare.prefix", lang, count=len(found.positions))


def _counts(counts: Mapping[str, int], lang: str) -> str:
    parts = [f"{count} × {source(name, lang)}" for name, count in counts.items()]
    return "; ".join(parts) or text("compare.sources.none", lang)


def source(name: str, lang: str) -> str:
    """The name of a source of guesses."""
    return text(f"view.source.{name}", lang) if name in KNOWN else name


def control_lines(reasons: Iterable[str], trace: Trace, lang: str = "en") -> Iterator[str]:
    """Why a recorded run was first repeated unchanged, one sentence for each reason."""
    run = trace.run("decoder")
    rows = run.header.memory_rows if run else 0
    place = {n: getattr(run.header, n) if run else "" for n in ("device", "dtype")}
    for reason in reasons:
        held = text("view.rows", lang, count=rows)
        yield text(f"whatif.control.{reason}", lang, rows=held, **place)


def side_line(side: Side, name: str, lang: str = "en") -> str:
    """The figures of one run in one line."""
    return text(
        "compare.side", lang, name=name, decoder=side.decoder,
        passes=text("view.passes", lang, count=side.passes),
        tau=number(side.tau, 2, lang),
        acceptance="–" if side.acceptance is None else number(100 * side.acceptance, lang=lang),
        nodes=side.nodes,
    )  # fmt: skip


def effect(position: Position, change: str = "", lang: str = "en") -> str:
    """What the second run did at a position where it differs: as a cause where one thing was
    changed; said to begin elsewhere where the steps did, so that the drafts saw other text."""
    kind = "gained" if position.gained else "lost"
    if change:
        line = text(f"compare.effect.cause.{kind}", lang, change=change)
    else:
        line = text(f"compare.effect.{kind}", lang)
    return line if position.aligned else text("compare.effect.elsewhere", lang, effect=line)


def table(
    found: Comparison, pieces: Mapping[int, bytes], names: Names, change: str = "", lang: str = "en"
) -> tuple[list[str], list[list[str | int]]]:
    """Titles and cells: the positions that one run guessed right and the other did not; tokens and
    steps count from 1."""
    titles = [
        text("compare.column.position", lang), text("compare.column.token", lang),
        *names, text("compare.column.effect", lang),
    ]  # fmt: skip
    rows: list[list[str | int]] = [
        [
            p.index + 1, show(pieces.get(p.token)), _in_step(p.a, lang), _in_step(p.b, lang),
            effect(p, change, lang),
        ]
        for p in found.positions if p.gained or p.lost
    ]  # fmt: skip
    return titles, rows


def _in_step(place: Place, lang: str) -> str:
    return text("compare.cell", lang, step=place.step + 1, outcome=outcome(place, lang))


def outcome(place: Place, lang: str = "en") -> str:
    """How a run came to a token, in words."""
    return text(f"compare.outcome.{place.outcome}", lang, source=source(place.source, lang))


def to_object(found: Comparison) -> dict[str, Any]:
    """The comparison as plain data; positions and steps count from 0, as in ``compare``."""
    return {
        "a": asdict(found.a),
        "b": asdict(found.b),
        "common_tokens": len(found.positions),
        "parted": found.parted,
        "gained": [_plain(p) for p in found.gained],
        "mended": len(found.mended),
        "lost": [_plain(p) for p in found.lost],
        "by_source": found.by_source(),
    }


def _plain(p: Position) -> dict[str, Any]:
    return {
        "position": p.index, "token": p.token, "a": asdict(p.a), "b": asdict(p.b),
        "aligned": p.aligned,
    }  # fmt: skip
