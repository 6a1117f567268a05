"""Writes docs/results.md from what the bench measured.

``python docs/results.py docs/results.json [docs/results-spec-bench.json] --write``; without
``--write`` the page is printed. Figures of the suite recurrent make docs/results-recurrent.md,
those of window docs/results-window.md, of vlm docs/results-vlm.md, of page docs/results-page.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "results.md"
METHOD = ROOT / "docs" / "results-method.md"
COMMITTED = (ROOT / "docs" / "results.json", ROOT / "docs" / "results-spec-bench.json")

Row = Mapping[str, Any]
NAMES = {
    "ours": "our plain loop",
    "generate": "transformers `generate`",
    "hf_prompt_lookup": "transformers prompt lookup",
    "prompt_lookup": "prompt lookup",
    "tr_static": "Token Recycling, published tree",
    "tr_best_first": "Token Recycling, best-first",
    "recap_cold": "RECAP, empty memory",
    "recap_warm": "RECAP, memory of other prompts",
    "shallow": "our plain loop, fewer iterations",
    "coupled": "DAS, coupled (self-speculation)",
    "mature_v": "DAS, deep values (Mature-V)",
    "deep": "DAS, deep keys and values",
    "wave": "DAS-Wave",
    "wave_auto": "DAS-Wave, size tuned on the way",
    "recap": "RECAP",
    "token_recycling": "Token Recycling",
}
SHOWN_COSTS = (1, 4, 8, 16, 32, 64)
# What was aimed at, in decode tokens/s: (what, row, over which rows' best, least ratio, dtype).
AIMS = (
    ("plain loop / `generate`", "ours", ("generate",), 1.3, "float32"),
    ("plain loop / `generate`", "ours", ("generate",), 1.0, "bfloat16"),
    ("RECAP, empty memory / plain loop", "recap_cold", ("ours",), 1.6, "float32"),
    ("RECAP, warm memory / plain loop", "recap_warm", ("ours",), 1.8, "float32"),
    ("RECAP, empty memory / the better Token Recycling", "recap_cold",
     ("tr_static", "tr_best_first"), 1.2, "float32"),
    ("RECAP, empty memory / transformers prompt lookup", "recap_cold", ("hf_prompt_lookup",), 1.8,
     "float32"),
)  # fmt: skip


def number(value: float | None, digits: int = 2, unit: str = "") -> str:
    """``value`` for a table, a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}f}{unit}"


def percent(value: float | None, digits: int = 0) -> str:
    """A share as a percentage."""
    return number(None if value is None else 100 * value, digits, " %")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def named(row: Row) -> str:
    """The row's name for readers."""
    return NAMES.get(row["name"], row["name"])


def rows_of(found: Mapping[str, Any], part: str, dtype: str | None = None) -> list[Row]:
    """The rows of a part, in order."""
    return [r for r in found["rows"] if r["part"] == part and dtype in (None, r["dtype"])]


def dtypes_of(found: Mapping[str, Any], part: str = "headline") -> list[str]:
    """The number formats of a part, in order."""
    return list(dict.fromkeys(r["dtype"] for r in rows_of(found, part)))


def headline(rows: Sequence[Row]) -> str:
    """Rates, speed-ups, tau, and whether the tokens are those of the plain loop."""
    head = ("", "tokens/s", "decode speed-up", "over prompts", "total speed-up", "tau",
            "acceptance", "same tokens")  # fmt: skip
    return table(head, ([
        named(r),
        number(r["tokens_per_s"], 1),
        number(r["speedup_decode"], 2, "x"),
        "–" if not r["spread"] or r["name"] == "ours"
        else f"{r['spread'][0]:.2f}–{r['spread'][1]:.2f}–{r['spread'][2]:.2f}",
        number(r["speedup_total"], 2, "x"),
        number(r["tau"]),
        percent(r["acceptance"]),
        same(r),
    ] for r in rows))  # fmt: skip


def same(row: Row) -> str:
    """How many answers were those of the plain loop, and what the others were."""
    if row["name"] == "ours":
        return "–"
    told = f"{row['identical']} of {row['identical'] + row['ties'] + row['mismatches']}"
    if row["ties"]:
        told += f", {row['ties']} tied"
    if row["mismatches"]:
        told += f", **{row['mismatches']} differ**"
    return told


def aims(found: Mapping[str, Any]) -> str:
    """What was aimed at and what was reached."""
    lines = []
    for what, name, others, least, dtype in AIMS:
        rates = {r["name"]: r["tokens_per_s"] for r in rows_of(found, "headline", dtype)}
        below = [rates[o] for o in others if rates.get(o)]
        if not below or not rates.get(name):
            continue
        ratio = rates[name] / max(below)
        verdict = "reached" if ratio >= least else "**missed**"
        lines.append([f"{what}, {dtype}", f"{least:.1f}x", f"{ratio:.2f}x", verdict])
    return table(("ratio of decode tokens/s", "aim", "measured", ""), lines) if lines else ""


def limits(rows: Sequence[Row]) -> str:
    """tau against what a pass costs, and where the seconds go."""
    head = ("", "tau", "rows per pass", "cost of a pass, c*", "ceiling tau / c*", "reached",
            "draft", "verify", "commit", "rest")  # fmt: skip
    return table(head, ([
        named(r),
        number(r["tau"]),
        number(r["rows_per_pass"], 1),
        number(r["cost_per_pass"]),
        number(r["ceiling"], 2, "x"),
        number(r["speedup_decode"], 2, "x"),
        *(percent(r["share"][n], 1) for n in ("draft", "verify", "commit", "rest")),
    ] for r in rows if r["share"]))  # fmt: skip


def split(rows: Sequence[Row], key: str) -> str:
    """The decode speed-up of every row in every group of prompts."""
    groups = list(dict.fromkeys(g for r in rows for g in r[key]))
    order = ["up to 32", "33 to 64", "65 to 128", "over 128"]
    groups.sort(key=lambda g: order.index(g) if g in order else 0)
    plain = next((r for r in rows if r["name"] == "ours"), None)
    counts = {g: plain[key].get(g, {}).get("prompts") if plain else None for g in groups}
    head = ["", *(f"{g} ({counts[g] or 0})" for g in groups)]
    return table(head, (
        [named(r), *(number(r[key].get(g, {}).get("speedup_decode"), 2, "x") for g in groups)]
        for r in rows if r["name"] != "ours"
    ))  # fmt: skip


def ablations(rows: Sequence[Row]) -> str:
    """Each change as a ratio to RECAP as it is."""
    lines = []
    for r in rows:
        if r["name"] == r["against"] == "ours":
            continue
        other = "RECAP as it is" if r["against"] == "recap_cold" else "our plain loop"
        name = "RECAP as it is" if r["name"] == "recap_cold" else r["name"]
        lines.append([name, other, number(r["speedup_decode"], 3, "x"),
                      number(r["tau"]), number(r["rows_per_pass"], 1), same(r)])  # fmt: skip
    head = ("changed", "against", "decode tokens/s", "tau", "rows per pass", "same tokens")
    return table(head, lines)


def costs(found: Mapping[str, Any]) -> str:
    """c(n) at every context length where it was measured."""
    lines = []
    for dtype, curves in found["costs"].items():
        for curve in curves:
            seconds = dict(zip(curve["rows"], curve["seconds"], strict=True))
            one = curve["seconds"][0]
            lines.append([dtype, str(curve["context"]), f"{1000 * one:.1f} ms",
                          *(number(seconds[n] / one if n in seconds else None)
                            for n in SHOWN_COSTS[1:])])  # fmt: skip
    head = ("", "context", "one row", *(f"c({n})" for n in SHOWN_COSTS[1:]))
    return table(head, lines)


def long_context(found: Mapping[str, Any]) -> str:
    """Prefill and decoding behind a long prompt."""
    rows = rows_of(found, "long")
    head = ("", "prefill", "tokens/s", "decode speed-up", "tau", "rows per pass", "ceiling",
            "same tokens")  # fmt: skip
    return table(head, ([
        named(r),
        number(r["prefill_seconds"], 1, " s"),
        number(r["tokens_per_s"], 1),
        number(r["speedup_decode"], 2, "x"),
        number(r["tau"]),
        number(r["rows_per_pass"], 1),
        number(r["ceiling"], 2, "x"),
        same(r),
    ] for r in rows))  # fmt: skip


def overhead(found: Mapping[str, Any]) -> str:
    """What the loop and its recording add."""
    head = ("", "(step - forward) / step", "the same while recording", "recording adds", "pairs")
    return table(head, (
        [NAMES[name], percent(f["step"], 1), percent(f["recorded"], 1),
         percent(f["recording"], 1), str(f["pairs"])]
        for name, f in found["overhead"].items()
    ))  # fmt: skip


def setting(found: Mapping[str, Any]) -> str:
    """Where, on what, and how often, in sentences."""
    what, prompts = found["conditions"], found["prompts"]
    versions = ", ".join(f"{k} {v}" for k, v in what["versions"].items())
    shares = ", ".join(f"{k or 'other'} {percent(v)}" for k, v in prompts["shares"].items())
    repeated = prompts["repetition"]
    per = ", ".join(f"{k or 'other'} {percent(v)}" for k, v in repeated["by_category"].items())
    times = found["repetitions"]["headline"]
    packed = [dtype for dtype, on in what["packed"].items() if on]
    weights = f"weights packed in {' and '.join(packed)}" if packed else "weights as they are"
    skipped = f" {prompts['skipped']} prompts did not fit and were skipped." \
        if prompts["skipped"] else ""  # fmt: skip
    least, most = prompts["tokens"]
    tokens = f"{least}" if least == most else f"{least} to {most}"
    extent = "A quick look, not the full measurement: " if found["quick"] else ""
    left = "".join(f" Left out ({k}): {v}" for k, v in found["left_out"].items())
    return (
        f"{extent}`{what['model']}` (digest {what['digest']}) on {what['machine']}, "
        f"{what['device']}, {weights}; {versions}. "
        f"{prompts['count']} prompts of `{prompts['file']}` ({shares}), at most {tokens} new "
        f"tokens each, {times} {'repetition' if times == 1 else 'repetitions'}.{skipped} "
        f"4-grams of the answers that occurred before in prompt or answer: "
        f"{percent(repeated['all'])} ({per}).{left}\n"
    )


def body(found: Mapping[str, Any]) -> list[str]:
    """The sections of one measurement."""
    parts = [setting(found)]
    for dtype in dtypes_of(found):
        parts += [f"### {dtype}\n", headline(rows_of(found, "headline", dtype))]
    reached = aims(found)
    if reached:
        parts += ["### Aims\n", reached]
    first = rows_of(found, "headline", dtypes_of(found)[0])
    parts += [
        f"### What limits it ({dtypes_of(found)[0]})\n",
        "A pass over more rows costs more; tau tokens per pass can at best bring tau / c*. Where "
        "the seconds of a step go stands behind.\n",
        limits(first),
        "### By kind of prompt, and by length of the answer (number of prompts)\n",
        split(first, "by_category"),
        split(first, "by_length"),
    ]
    if rows_of(found, "ablation"):
        parts += [
            "### One thing changed\n",
            f"{rows_of(found, 'ablation')[0]['prompts']} prompts, once, "
            f"{dtypes_of(found, 'ablation')[0]}; RECAP as it is runs again and again between.\n",
            ablations(rows_of(found, "ablation")),
        ]
    if rows_of(found, "long"):
        parts += [
            "### Behind about 7 000 tokens\n",
            "One prompt, once, 16 new tokens: enough to tell what the context costs, too few to "
            "tell decoders apart.\n",
            long_context(found),
        ]
    if found["costs"]:
        sizes = ", ".join(f"{b} in {d}" for d, b in found["cache_bytes"].items() if b)
        parts += [
            "### What a pass costs\n",
            f"c(n): seconds of a pass over n rows in passes over one. Bytes of keys and values per "
            f"token of context: {sizes}.\n",
            costs(found),
        ]
    if found.get("overhead"):
        parts += ["### What the loop adds to the network\n", overhead(found)]
    return parts


def page(measured: Sequence[Mapping[str, Any]]) -> str:
    """docs/results.md."""
    parts = ["# Results\n"]
    if not measured:
        parts.append("Nothing was measured yet: run `make bench-full` on an idle machine.\n")
        return "\n".join(parts)
    parts += ["Written by `docs/results.py` from what `python -m specviz bench --suite recap` "
              "measured.\n", METHOD.read_text("utf-8")]  # fmt: skip
    for i, found in enumerate(measured):
        name = "Own prompts" if i == 0 else f"Other prompts: {found['prompts']['file']}"
        parts += [f"## {name}\n", *body(found)]
    return "\n".join(parts)


def main(arguments: Sequence[str]) -> int:
    """Print or write the page."""
    files = [Path(a) for a in arguments if a != "--write"]
    measured = [json.loads(f.read_text("utf-8")) for f in files]
    target, text = PAGE, ""
    if any(found["suite"] == "recurrent" for found in measured):
        import results_recurrent as depth  # beside this file

        target, text = depth.PAGE, depth.page(measured)
    elif any(found["suite"] == "window" for found in measured):
        import results_window as head  # beside this file

        target, text = head.PAGE, head.page(measured)
    elif any(found["suite"] == "vlm" for found in measured):
        import results_vlm as pictures  # beside this file

        target, text = pictures.PAGE, pictures.page(measured)
    elif any(found["suite"] == "page" for found in measured):
        import results_page as visited  # beside this file

        target, text = visited.PAGE, visited.page(measured)
    else:
        text = page(measured)
    if "--write" in arguments:
        target.write_text(text, "utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
