"""From samples on long texts to figures by context and kind of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specviz.bench.plan import Part
from specviz.bench.pool import Pool, figures
from specviz.bench.sample import Sample
from specviz.bench.window_rows import CONTEXT, FULL, SLOT
from specviz.bench.window_texts import LongText

ALL = "all"
KEPT = (
    "prompts", "tokens", "tau", "acceptance", "accepted", "drafted", "top_right", "any_right",
    "rows_per_pass", "draft_ms", "verify_ms", "ms_per_token", "prefill_seconds", "speedup_decode",
    "speedup_total", "identical", "ties", "mismatches",
)  # fmt: skip
Cell = Mapping[str, Any]


def cells(
    parts: Sequence[Part],
    texts: Sequence[LongText],
    units: Mapping[str, Mapping[str, Any]],
) -> list[dict[str, Any]]:
    """Of every part on long texts, row and context: the figures of each kind of text, and of all
    kinds together. Ratios are to plain decoding of the same prompts in the same part."""
    samples = [Sample.of(s) for unit in units.values() for s in unit.get("samples", ())]
    known = {text.prompt.id: text for text in texts}
    found = []
    for part in parts:
        mine = [known[p.id] for p in part.prompts if p.id in known]
        for context in dict.fromkeys(text.context for text in mine):
            here = [text for text in mine if text.context == context]
            for kind in (*(text.kind for text in here), ALL):
                chosen = [text.prompt for text in here if kind in (text.kind, ALL)]
                ids = {prompt.id for prompt in chosen}
                pool = Pool([s for s in samples if s.part == part.name and s.prompt in ids])
                for row in part.rows:
                    if row.name not in pool:
                        continue
                    told = figures(pool, row, chosen)
                    place = {"part": part.name, "row": row.name, "context": context, "kind": kind}
                    found.append(place | {key: told[key] for key in KEPT})
    return found


def cell(found: Sequence[Cell], part: str, row: str, context: int, kind: str = ALL) -> Cell | None:
    """The one cell of that place."""
    place = (part, row, context, kind)
    return next((c for c in found if (c["part"], c["row"], c["context"], c["kind"]) == place), None)


def paying(found: Sequence[Cell], alone: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How far a head that sees everything could pay: modelled, not measured.

    A step pays while drafting takes less than ``budget_ms`` = tau * (plain ms per token) - verify
    ms, with the figures of ``slot`` at the longest measured ``context``: as if the head guessed as
    well far beyond its range. ``positions``: where the seconds of ``full`` alone reach that,
    straight between the contexts timed; None where they do not up to ``reached``, or where there
    is no budget. None without these figures.
    """
    longest = max((c["context"] for c in found if c["part"] == CONTEXT), default=0)
    slot = cell(found, CONTEXT, SLOT, longest)
    plain = cell(found, CONTEXT, "ours", longest)
    timed = [
        (a["positions"], 1000 * a["seconds"])
        for a in alone
        if a["mode"] == FULL and a["seconds"] is not None
    ]
    if slot is None or plain is None or not timed or not (slot["tau"] and plain["ms_per_token"]):
        return None
    budget = slot["tau"] * plain["ms_per_token"] - slot["verify_ms"]
    return {
        "context": longest,
        "budget_ms": round(budget, 4),
        "positions": _reaches(timed, budget) if budget > 0 else None,
        "reached": timed[-1][0],
    }


def _reaches(timed: Sequence[tuple[int, float]], level: float) -> int | None:
    """Where a line through ``timed`` first reaches ``level``; the first place if it does there."""
    before = timed[0]
    if before[1] >= level:
        return before[0]
    for place, value in timed[1:]:
        if value >= level:
            rise = (level - before[1]) / (value - before[1])
            return round(before[0] + rise * (place - before[0]))
        before = (place, value)
    return None
