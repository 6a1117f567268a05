"""The page docs/results-window.md, out of what the suite ``window`` measured.

Written by ``python docs/results.py docs/results-window.json --write``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import results_window_alone as faked
from results import ROOT, costs, number, percent, rows_of, same, table
from results_window_aims import KINDS, Cell, aims, named, noise, pick

PAGE = ROOT / "docs" / "results-window.md"
COMMITTED = (
    ROOT / "docs" / "results-window.json",
    ROOT / "docs" / "results-window-spec-bench.json",
)
COMMAND = "python -m specviz bench --suite window"
TENTHS = ("draft_ms", "verify_ms", "ms_per_token", "rows_per_pass")
TOLD = ("tau", "accepted", "top_right", "draft_ms", "verify_ms", "ms_per_token", "speedup_decode",
        "speedup_total")  # fmt: skip
# Which mechanism of the mode slot each row is without.
OFF = (
    ("slot", "nothing: sinks, window, new positions"),
    ("reindex_only", "no window bound"),
    ("window_abs", "no new positions"),
    ("no_sinks", "no sinks"),
    ("no_sinks_abs", "no sinks, no new positions"),
    ("full", "neither window nor new positions"),
    ("truncated", "features of a target that reads the window alone"),
)


def shown(cell: Cell, key: str) -> str:
    """One figure of a cell in its unit."""
    if key in ("acceptance", "top_right", "any_right", "drafted"):
        return percent(cell[key])
    if key.startswith("speedup"):
        return number(cell[key], 2, "x")
    return number(cell[key], 1 if key in TENTHS else 2)


def by_context(found: Mapping[str, Any], key: str, kind: str = "all", part: str = "context") -> str:
    """One figure: rows down, contexts across."""
    rows = list(dict.fromkeys(c["row"] for c in found["cells"] if c["part"] == part))
    contexts = sorted({c["context"] for c in found["cells"] if c["part"] == part})
    lines = []
    for row in rows:
        cells = {c["context"]: c for c in pick(found, part, row, kind)}
        told = [shown(cells[c], key) if c in cells else "–" for c in contexts]
        if set(told) != {"–"} and (row != "ours" or key in ("ms_per_token", "verify_ms")):
            lines.append([named(row), *told])
    return table(("tokens of context", *map(str, contexts)), lines)


def short(found: Mapping[str, Any]) -> str:
    """All decoders on short prompts."""
    head = ("", "ms per token", "decode speed-up", "over prompts", "total speed-up", "tau",
            "accepted per step", "first guess right", "any first guess", "rows per pass",
            "draft ms", "verify ms", "same tokens")  # fmt: skip
    return table(head, ([
        named(r["name"]),
        number(r["ms_per_token"], 1),
        number(r["speedup_decode"], 2, "x"),
        "–" if not r["spread"] or r["name"] == "ours"
        else f"{r['spread'][0]:.2f}–{r['spread'][1]:.2f}–{r['spread'][2]:.2f}",
        number(r["speedup_total"], 2, "x"),
        number(r["tau"]), number(r["accepted"]),
        percent(r["top_right"]), percent(r["any_right"]),
        number(r["rows_per_pass"], 1), number(r["draft_ms"], 2), number(r["verify_ms"], 1),
        same(r),
    ] for r in rows_of(found, "short")))  # fmt: skip


def split(found: Mapping[str, Any], row: str) -> str:
    """A step of ``row`` at every context: what it brings, what it takes, and what is left."""
    plain = {c["context"]: c for c in pick(found, "context", "ours")}
    keys = ("tau", "rows_per_pass", "draft_ms", "verify_ms", "ms_per_token")
    head = ("tokens of context", "tau", "rows per pass", "draft ms", "verify ms", "ms per token",
            "plain ms per token", "decode speed-up")  # fmt: skip
    return table(head, ([
        str(c["context"]), *(shown(c, key) for key in keys),
        shown(plain[c["context"]], "ms_per_token"), shown(c, "speedup_decode"),
    ] for c in pick(found, "context", row)))  # fmt: skip


def changed(found: Mapping[str, Any]) -> str:
    """Each mechanism off alone, at every context where that was looked at."""
    lines = []
    for context in sorted({c["context"] for c in found["cells"] if c["part"] == "mechanisms"}):
        for row, what in OFF:
            part = "mechanisms" if row in ("no_sinks", "no_sinks_abs", "truncated") else "context"
            cell = next((c for c in pick(found, part, row) if c["context"] == context), None)
            if cell is not None:
                told = (shown(cell, key) for key in TOLD)
                lines.append([str(context), what, f"`{row}`", *told, same({"name": row, **cell})])
    head = ("context", "without", "row", "tau", "accepted per step", "first guess right",
            "draft ms", "verify ms", "ms per token", "decode speed-up", "total speed-up",
            "same tokens")  # fmt: skip
    return table(head, lines)


def sizes(found: Mapping[str, Any]) -> str:
    """Windows of all sizes, and a head that sees everything, at every context."""
    lines = []
    rows = [("windows", f"window {s['window']}", str(s["window"]), s["mode"])
            for s in found["sizes"]]  # fmt: skip
    for context in (cell["context"] for cell in pick(found, "windows", "ours")):
        for part, row, window, mode in (*rows, ("context", "full", "everything", "full")):
            for cell in pick(found, part, row):
                if cell["context"] == context:
                    told = (shown(cell, key) for key in TOLD)
                    lines.append([str(context), window, mode, *told,
                                  same({"name": "window", **cell})])  # fmt: skip
    head = ("context", "window", "mode", "tau", "accepted per step", "first guess right",
            "draft ms", "verify ms", "ms per token", "decode speed-up", "total speed-up",
            "same tokens")  # fmt: skip
    return table(head, lines)


def setting(found: Mapping[str, Any]) -> str:
    """Where, on what, and how often, in sentences."""
    what, prompts, head = found["conditions"], found["prompts"], found["head"]
    versions = ", ".join(f"{k} {v}" for k, v in what["versions"].items())
    packed = [dtype for dtype, on in what["packed"].items() if on]
    weights = f"weights packed in {' and '.join(packed)}" if packed else "weights as they are"
    dtype = next(iter(what["packed"]))
    extent = "A quick look, not the full measurement: " if found["quick"] else ""
    left = "".join(f" Left out ({k}): {v}" for k, v in found["left_out"].items())
    least, most = prompts["tokens"]
    tokens = f"{least}" if least == most else f"{least} to {most}"
    defaults, times = found["defaults"], found["repetitions"]["short"]
    often = "everything once" if times == 1 else f"{times} repetitions"
    return (
        f"{extent}`{what['model']}` (digest {what['digest']}) with the head `{head['label']}` "
        f"(digest {head['digest']}, {head['size']:,} weights, trained for {head['trained']} "
        f"positions, {head['vocabulary']} tokens to guess) in {dtype} on {what['machine']}, "
        f"{what['device']}, {weights}; {versions}. Unless a row says otherwise: "
        f"{defaults['sinks']} sinks, a window of {defaults['window']}, {defaults['depth']} levels. "
        f"{prompts['count']} short prompts of `{prompts['file']}`, at most {tokens} new tokens "
        f"each; {len(found['texts'])} long texts; {often}.{left}\n"
    )


def texts(found: Mapping[str, Any]) -> str:
    """How long the long prompts are."""
    contexts = sorted({t["context"] for t in found["texts"]})
    lines = []
    for kind in dict.fromkeys(t["kind"] for t in found["texts"]):
        known = {t["context"]: t["tokens"] for t in found["texts"] if t["kind"] == kind}
        lines.append([kind, *(str(known.get(c, "–")) for c in contexts)])
    return table(("tokens of prompt, for a context of", *map(str, contexts)), lines)


def body(found: Mapping[str, Any]) -> list[str]:
    """All sections."""
    parts = [
        setting(found),
        "All rows of a prompt run one after another in one process; speed-ups are ratios to plain "
        "decoding of the same prompt in the same unit, the total one with the reading of the "
        "prompt. First guess right: of the steps that guessed at all, those whose most probable "
        "guess for the next token was right. Draft and verify ms are per step.\n",
        "## Short prompts\n", short(found),
        "## Aims\n", aims(found), noise(found),
    ]  # fmt: skip
    if pick(found, "context", "slot"):
        parts += contexts(found)
    if pick(found, "windows", "ours"):
        parts += [
            "## Windows of all sizes\n",
            "All three kinds of text together. A window that would leave the trained range is "
            "looked at in the mode that allows it; a head that sees everything stands beside.\n",
            sizes(found),
        ]
    if pick(found, "mechanisms", "ours"):
        parts += [
            "## Each mechanism off\n",
            "Without sinks new positions change nothing, mathematically (the shift lemma): those "
            "two rows may differ only by rounding and by the clock. The last row of a context "
            "drafts from a target that read nothing but the window, which costs another pass a "
            "step: how far its tau lies from that of slot is what the states tell of the rest.\n",
            changed(found),
        ]
    if found["alone"]:
        parts += faked.sections(found)
    if found["costs"]:
        parts += ["## What a pass costs\n", costs(found)]
    return parts


def contexts(found: Mapping[str, Any]) -> list[str]:
    """Every figure by context, then the speed by kind of text."""
    split_of = [
        part
        for row in ("slot", "full")
        if pick(found, "context", row)
        for part in (f"Where the time of `{row}` goes:\n", split(found, row))
    ]
    parts = [
        "## Every mode at every context\n",
        "Three kinds of text together: the end of two chapters of *Moby-Dick*, the end of this "
        "program's own source, and made-up records with the one that is asked for in their "
        "middle. The context counts prompt and answer.\n",
        texts(found),
        *split_of,
    ]
    for key, title in (
        ("speedup_decode", "Decode speed-up"), ("speedup_total", "Total speed-up"),
        ("ms_per_token", "Milliseconds per token"), ("tau", "tau"),
        ("accepted", "Accepted guesses per step"), ("top_right", "First guess right"),
        ("drafted", "Steps that guessed at all"), ("draft_ms", "Draft, ms per step"),
        ("verify_ms", "Verify, ms per step"),
    ):  # fmt: skip
        parts += [f"### {title}\n", by_context(found, key)]
    parts += [
        "### By kind of text\n",
        *(
            f"{title}, {kind}:\n\n{by_context(found, key, kind)}"
            for key, title in (("speedup_decode", "Decode speed-up"), ("tau", "tau"))
            for kind in KINDS[:3]
        ),
        "### Same tokens as plain decoding\n",
        table(("", "answers"), (
            [named(r["name"]), same(r)] for r in rows_of(found, "context") if r["name"] != "ours"
        )),
    ]  # fmt: skip
    return parts


def page(measured: Sequence[Mapping[str, Any]]) -> str:
    """docs/results-window.md."""
    parts = ["# Results: a drafter head on long texts\n"]
    if not measured:
        parts.append(f"Nothing was measured yet: run `{COMMAND}` on an idle machine.\n")
    else:
        parts.append(f"Written by `docs/results.py` from what `{COMMAND}` measured.\n")
        parts += [part for part in body(measured[0]) if part]
    for found in measured[1:]:
        parts += [
            f"## Other prompts: {found['prompts']['file']}\n",
            setting(found), short(found), aims(found),
        ]  # fmt: skip
    return "\n".join(parts)


def committed() -> list[Mapping[str, Any]]:
    """The committed figures, if any."""
    return [json.loads(file.read_text("utf-8")) for file in COMMITTED if file.exists()]


if __name__ == "__main__":
    sys.stdout.write(page(committed()))
