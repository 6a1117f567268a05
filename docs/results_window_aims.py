"""What a drafter head was wanted to do, and what it did, out of the figures of the suite
``window``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from results import percent, rows_of, same, table

Cell = Mapping[str, Any]
NAMES = {
    "ours": "our plain loop",
    "full": "full",
    "window_abs": "window_abs",
    "slot": "slot",
    "shift": "shift",
    "reindex_only": "reindex_only",
    "slot_12": "slot, at most 12 rows",
    "recap": "RECAP, empty memory",
    "token_recycling": "Token Recycling, best-first",
    "no_sinks": "no sinks, new positions (slot)",
    "no_sinks_abs": "no sinks, old positions (window_abs)",
    "truncated": "slot, features of the window alone",
}
KINDS = ("book", "code", "records", "all")
NEAR, FAR = 512, 2_000  # contexts up to which texts count as short, from which on as long
MOST_COST = 0.16  # of the window on short prompts, in plain decoding speeds
LEAST_SPEED, LEAST_FIRST, LEAST_TAU, MOST_ROWS = 1.3, 0.55, 2.0, 12.0
NOISE = 2.0  # standard errors that a difference may have by chance


def named(name: str) -> str:
    """A row's name for readers."""
    return NAMES.get(name, name)


def pick(found: Mapping[str, Any], part: str, row: str, kind: str = "all") -> list[Cell]:
    """The cells of a row on one kind of text, the shortest context first."""
    cells = [c for c in found["cells"] if (c["part"], c["row"], c["kind"]) == (part, row, kind)]
    return sorted(cells, key=lambda c: int(c["context"]))


def difference(found: Mapping[str, Any], key: str) -> tuple[float, float, float, float] | None:
    """Of ``slot``: means of a figure over short and over long texts (one value a text), long less
    short, and the standard error of that; None with fewer than two texts of either."""
    cells = [c for kind in KINDS[:3] for c in pick(found, "context", "slot", kind)]
    near = [c[key] for c in cells if c["context"] <= NEAR and c[key] is not None]
    far = [c[key] for c in cells if c["context"] >= FAR and c[key] is not None]
    if min(len(near), len(far)) < 2:
        return None
    error = sqrt(stdev(near) ** 2 / len(near) + stdev(far) ** 2 / len(far))
    return fmean(near), fmean(far), fmean(far) - fmean(near), error


def aims(found: Mapping[str, Any]) -> str:
    """What was aimed at and what was reached; only what was measured has a line."""
    rows = {r["name"]: r for r in rows_of(found, "short")}
    slot, full, few = rows["slot"], rows["full"], rows["slot_12"]
    lines: list[tuple[str, str, str, bool]] = []
    if slot["speedup_decode"] and full["speedup_decode"]:
        cost = full["speedup_decode"] - slot["speedup_decode"]
        lines.append(("short prompts: decode speed-up of full less that of slot",
                      f"<= {MOST_COST:.2f}", f"{cost:.2f}", cost <= MOST_COST))  # fmt: skip
        speed = slot["speedup_decode"]
        lines.append(("short prompts: decode speed-up of slot over our plain loop",
                      f">= {LEAST_SPEED:.1f}x", f"{speed:.2f}x", speed >= LEAST_SPEED))  # fmt: skip
    for key, what, digits in (("tau", "tau", 2), ("draft_ms", "draft ms per step", 2)):
        told = difference(found, key)
        if told is not None:
            near, far, gap, error = told
            held = gap >= -NOISE * error if key == "tau" else gap <= NOISE * error
            lines.append((f"slot: {what} on texts from {FAR} tokens against those up to {NEAR}",
                          "within noise",
                          f"{far:.{digits}f} against {near:.{digits}f}: {gap:+.{digits}f} ± "
                          f"{NOISE * error:.{digits}f}", held))  # fmt: skip
    if few["top_right"] is not None:
        lines.append(("short prompts, at most 12 rows: first guess right",
                      f">= {percent(LEAST_FIRST)}", percent(few["top_right"]),
                      few["top_right"] >= LEAST_FIRST))  # fmt: skip
        held = few["tau"] >= LEAST_TAU and few["rows_per_pass"] <= MOST_ROWS
        lines.append((f"short prompts, {found['defaults']['depth']} levels, at most 12 rows: tau",
                      f">= {LEAST_TAU:.1f}",
                      f"{few['tau']:.2f} with {few['rows_per_pass']:.1f} rows", held))  # fmt: skip
    answers = {k: sum(r[k] for r in found["rows"]) for k in ("identical", "ties", "mismatches")}
    held = answers["ties"] == answers["mismatches"] == 0
    counted = same({"name": "all", **answers})
    lines.append(("answers with the tokens of plain decoding", "all", counted, held))
    return table(("", "aim", "measured", ""), (
        [what, aim, got, "reached" if held else "**missed**"] for what, aim, got, held in lines
    ))  # fmt: skip


def noise(found: Mapping[str, Any]) -> str:
    """What 'within noise' means here."""
    if difference(found, "tau") is None:
        return ""
    return (
        f"Within noise: no worse by more than {NOISE:.0f} standard errors of the difference, taken "
        "over texts (one value for each kind and context). With so few texts that is a wide "
        "margin; the numbers stand beside it.\n"
    )
