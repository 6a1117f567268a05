"""The page docs/results-recurrent.md, out of what the suite ``recurrent`` measured.

Written by ``python docs/results.py docs/results-recurrent.json --write``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from results import ROOT, Row, named, number, percent, rows_of, same, split, table

PAGE = ROOT / "docs" / "results-recurrent.md"
COMMITTED = ROOT / "docs" / "results-recurrent.json"
COMMAND = "python -m specviz bench --suite recurrent --model tiny-raven"
PREFIXES = {
    "coupled": "coupled",
    "keys": "deep keys",
    "values": "deep values (Mature-V)",
    "both": "deep keys and values",
}
KINDS = {
    "words": "word problems",
    "code": "code",
    "cups": "shell game",
    "sums": "chained sums",
    "overall": "all together",
}
SHOWN = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
LEAST_CALLS, LEAST_SPEED = 4.0, 3.0  # what was aimed at


def arithmetic(row: Row, plain: Row) -> float | None:
    """How much more of the core is computed per token than by plain decoding."""
    ours, theirs = plain["applications_per_token"], row["applications_per_token"]
    return theirs / ours if ours and theirs else None


def headline(found: Mapping[str, Any]) -> str:
    """All decoders, with both ledgers."""
    rows = rows_of(found, "headline")
    plain = next(r for r in rows if r["name"] == "ours")
    head = ("", "ms per token", "decode speed-up", "over prompts", "total speed-up", "tau",
            "core calls per token", "positions per token", "arithmetic", "same tokens")  # fmt: skip
    return table(head, ([
        f"{named(r)} ({found['shallow']})" if r["name"] == "shallow" else named(r),
        number(r["ms_per_token"]),
        number(r["speedup_decode"], 2, "x"),
        "–" if not r["spread"] or r is plain
        else f"{r['spread'][0]:.2f}–{r['spread'][1]:.2f}–{r['spread'][2]:.2f}",
        number(r["speedup_total"], 2, "x"),
        number(r["tau"]),
        number(r["calls_per_token"], 1),
        number(r["applications_per_token"], 1),
        number(arithmetic(r, plain), 2, "x"),
        "other model" if r["name"] == "shallow" else same(r),
    ] for r in rows))  # fmt: skip


def aims(found: Mapping[str, Any]) -> str:
    """What was aimed at and what was reached by the better of both waves."""
    rows = {r["name"]: r for r in rows_of(found, "headline")}
    plain = rows["ours"]
    wave = max((rows["wave"], rows["wave_auto"]), key=lambda r: r["speedup_total"] or 0)
    others = [r for n, r in rows.items() if n not in ("ours", "shallow", "wave", "wave_auto")]
    rival = max(others, key=lambda r: r["speedup_total"] or 0)
    fewer = plain["calls_per_token"] / wave["calls_per_token"]
    ahead = wave["speedup_total"] / rival["speedup_total"]
    lines = [
        ("core calls per token, plain / DAS-Wave", LEAST_CALLS, fewer),
        ("speed, DAS-Wave / plain, prompts included", LEAST_SPEED, wave["speedup_total"]),
        (f"speed, DAS-Wave / the best other drafter ({named(rival)})", 1.0, ahead),
    ]
    return table(("", "aim", "measured", ""), (
        [what, f"{least:.1f}x", f"{got:.2f}x", "reached" if got >= least else "**missed**"]
        for what, least, got in lines
    ))  # fmt: skip


def ablation(found: Mapping[str, Any]) -> str:
    """Carry by prefix: four waves, each beside plain decoding on the same prompts."""
    rows = {r["name"]: r for r in rows_of(found, "ablation")}
    names = (("neither", "start anew", "coupled"), ("carry", "carried on", "coupled"),
             ("deep prefix", "start anew", "deep"), ("both", "carried on", "deep"))  # fmt: skip
    head = ("states", "prefix", "decode speed-up", "total speed-up", "tau",
            "core calls per token", "positions per token", "same tokens")  # fmt: skip
    return table(head, ([
        states, prefix,
        number(rows[n]["speedup_decode"], 2, "x"), number(rows[n]["speedup_total"], 2, "x"),
        number(rows[n]["tau"]), number(rows[n]["calls_per_token"], 1),
        number(rows[n]["applications_per_token"], 1), same(rows[n]),
    ] for n, states, prefix in names))  # fmt: skip


def sizes(shown: Mapping[str, Any], key: str, digits: int) -> str:
    """One map of waves: blocks down, rounds across."""
    head = ("block \\ rounds", *map(str, shown["rounds"]))
    return table(head, (
        [str(block), *(number(v, digits) for v in row)]
        for block, row in zip(shown["blocks"], shown[key], strict=True)
    ))  # fmt: skip


def accuracy(probes: Mapping[str, Any]) -> str:
    """Right final answers of word problems by depth."""
    found = probes["accuracy"]
    return table(("iterations", *map(str, found["depths"])), [
        ["right answers", *(percent(n / found["problems"]) for n in found["right"])]
    ])  # fmt: skip


def agreement(probes: Mapping[str, Any]) -> str:
    """Picks that are final already, by depth and prefix, for every kind of text."""
    lines: list[list[str]] = []
    depths: Sequence[int] = ()
    for kind, part in probes["agreement"].items():
        depths = part["depths"]
        for prefix, counts in part["same"].items():
            shares = (percent(n / part["positions"], 1) if part["positions"] else "–"
                      for n in counts)  # fmt: skip
            lines.append([KINDS.get(kind, kind), PREFIXES[prefix], *shares])
    return table(("text", "prefix", *map(str, depths)), lines)


def convergence(probes: Mapping[str, Any]) -> str:
    """How near queries, keys and values are to those of the last iteration."""
    found = probes["convergence"]
    last = max(map(len, found["cosine"].values()), default=0)
    shown = [d for d in SHOWN if d <= last]
    lines = [
        [name, what, *(number(found[key][name][d - 1], 3) for d in shown)]
        for key, what in (("cosine", "cosine"), ("distance", "relative distance"))
        for name in found[key]
    ]
    return table(("", "to the last iteration", *map(str, shown)), lines)


def composed(probes: Mapping[str, Any]) -> str:
    """Right answers of composed tasks by depth, for few and for many steps."""
    lines: list[list[str]] = []
    shown: list[int] = []
    for kind, part in probes["composed"].items():
        shown = [d for d in SHOWN if d in part["depths"]]
        for steps in _groups(part["steps"]):
            chosen = [i for i, taken in enumerate(part["steps"]) if taken in steps]
            asked = sum(part["asked"][i] for i in chosen)
            places = [part["depths"].index(d) for d in shown]
            counts = [sum(part["right"][i][at] for i in chosen) for at in places]
            if asked:
                told = f"{steps[0]} to {steps[-1]}" if len(steps) > 1 else f"{steps[0]}"
                lines.append([KINDS[kind], told, str(asked), *(percent(c / asked) for c in counts)])
    return table(("task", "steps", "answers", *map(str, shown)), lines)


def wanted(probes: Mapping[str, Any]) -> str:
    """What was wanted of the weights, and what they do."""
    lines: list[tuple[str, str, str, bool]] = []
    words = probes["accuracy"]
    right = words["right"][-1] / words["problems"]
    lines.append(("right final answers of word problems", ">= 60 %", percent(right), right >= 0.6))
    pooled = probes["agreement"]["overall"]
    shares = {
        prefix: {d: n / pooled["positions"] for d, n in zip(pooled["depths"], counts, strict=True)}
        for prefix, counts in pooled["same"].items()
    }
    coupled, mature = shares["coupled"], shares["values"]
    if {2, 8, 12} <= set(coupled):
        lines += [
            ("coupled agreement after 2 iterations", "< 85 %", percent(coupled[2], 1),
             coupled[2] < 0.85),
            ("coupled agreement, after 8 and 12", "rises",
             f"{percent(coupled[8], 1)}, {percent(coupled[12], 1)}", coupled[12] > coupled[8]),
            ("agreement after 2, coupled and Mature-V", "rises",
             f"{percent(coupled[2], 1)}, {percent(mature[2], 1)}", mature[2] > coupled[2]),
        ]  # fmt: skip
    parts = [p for p in probes["composed"].values() if p["asked"]]
    if parts and 4 in parts[0]["depths"]:
        asked = sum(sum(p["asked"]) for p in parts)
        early, late = (
            sum(row[at] for p in parts for row in p["right"]) / asked
            for at in (parts[0]["depths"].index(4), -1)
        )
        lines.append((f"composed tasks, after 4 and {parts[0]['depths'][-1]}", "+30 points",
                      f"{percent(early)}, {percent(late)}", late - early >= 0.3))  # fmt: skip
    return table(("of the weights", "wanted", "measured", ""), (
        [what, aim, got, "reached" if held else "**missed**"] for what, aim, got, held in lines
    ))  # fmt: skip


def _groups(steps: Sequence[int]) -> list[list[int]]:
    """All steps, then few, some and many of them."""
    parts = [[s for s in steps if low <= s <= high] for low, high in ((0, 2), (3, 5), (6, 99))]
    return [list(steps), *(p for p in parts if p and p != list(steps))]


def costs(found: Mapping[str, Any]) -> str:
    """c(n) of a whole pass and of one call of the core."""
    lines = []
    core = found["probes"].get("core", {}).get("costs")
    curves = [("whole pass", c) for curves in found["costs"].values() for c in curves]
    for name, curve in [*curves, *([("core call", core)] if core else [])]:
        by_rows = dict(zip(curve["rows"], curve["seconds"], strict=True))
        one = by_rows[1]
        lines.append([name, str(curve["context"]), f"{1000 * one:.2f} ms",
                      *(number(by_rows[n] / one if n in by_rows else None)
                        for n in (2, 4, 8, 16, 32, 64))])  # fmt: skip
    return table(("", "context", "one row", *(f"c({n})" for n in (2, 4, 8, 16, 32, 64))), lines)


def setting(found: Mapping[str, Any]) -> str:
    """Where, on what, and how often, in sentences."""
    what, prompts = found["conditions"], found["prompts"]
    versions = ", ".join(f"{k} {v}" for k, v in what["versions"].items())
    times = found["repetitions"]["headline"]
    counted = ", ".join(
        f"{round(share * prompts['count'])} {KINDS.get(kind, kind)}"
        for kind, share in prompts["shares"].items()
    )
    extent = "A quick look, not the full measurement: " if found["quick"] else ""
    return (
        f"{extent}`{what['model']}` (digest {what['digest']}), {found['depth']} iterations, on "
        f"{what['machine']}, {what['device']}; {versions}. {prompts['count']} prompts ({counted}; "
        f"{prompts['file']}), at most {prompts['tokens'][1]} new tokens each, {times} "
        f"{'repetition' if times == 1 else 'repetitions'}.\n"
    )


def loop(found: Mapping[str, Any]) -> str:
    """What memory a token takes, and the plain loop beside its arithmetic, in a sentence."""
    told = ", ".join(f"{b} in {d}" for d, b in found["cache_bytes"].items() if b)
    parts = [f"Bytes of keys and values per token of context: {told}."] if told else []
    spent = found["probes"].get("loop")
    if spent:
        ratio = spent["seconds"] / spent["products"]
        parts.append(
            f"A plain token takes {1000 * spent['seconds']:.2f} ms, its matrix products alone "
            f"{1000 * spent['products']:.2f} ms: {ratio:.2f} times as long."
        )
    return " ".join(parts) + "\n"


def body(found: Mapping[str, Any]) -> list[str]:
    """All sections."""
    probes = found["probes"]
    reported = "".join(
        f"- {figure['speedup']:.2f}x: {figure['conditions']}\n" for figure in found["reported"]
    )
    parts = [
        setting(found),
        "## Decoders beside one another\n",
        "Speed-ups are ratios to plain decoding inside the same run; the total one includes the "
        "reading of the prompt. A core call iterates all positions of a block once; positions per "
        "token are summed over these calls, and arithmetic is their ratio to plain decoding. "
        f"{found['shallow']} is the smallest number of iterations at which no more than one point "
        f"fewer of the word problems are answered right than at {found['depth']}: the honest "
        "rival, though it says other things.\n",
        headline(found),
        "Reported by the paper, on its machine and models, not measured here:\n",
        reported,
        "## Aims\n", aims(found),
        *([wanted(probes)] if "agreement" in probes else []),
        "## By kind of prompt (number of prompts)\n",
        split(rows_of(found, "headline"), "by_category"),
    ]  # fmt: skip
    if rows_of(found, "ablation"):
        count = rows_of(found, "ablation")[0]["prompts"]
        parts += [
            "## Carried states and deep prefix\n",
            f"{count} prompts, once; two iterations a round, as once is too little for states "
            "that begin anew.\n",
            ablation(found),
        ]
    if found["map"]:
        parts += [
            "## How large a wave pays\n",
            f"{rows_of(found, 'map')[0]['prompts']} prompts, once; a wave is as wide as its block "
            "after half of its rounds. Accepted guesses per step:\n",
            sizes(found["map"], "accepted", 2),
            "Tokens per second:\n",
            sizes(found["map"], "tokens_per_s", 1),
        ]
    return [*parts, *iterations(probes), "## What a pass costs\n", loop(found), costs(found)]


def iterations(probes: Mapping[str, Any]) -> list[str]:
    """What the probes found out, in the order of the page."""
    parts = [
        "## What the iterations do\n",
        f"Final answers of {probes['accuracy']['problems']} held-out word problems, decoded with "
        "so many iterations:\n",
        accuracy(probes),
    ]
    if "agreement" in probes:
        parts += [
            "Picks after so many iterations that are those of the full pass, reading true answers "
            "token by token, by how the earlier positions are seen:\n",
            agreement(probes),
            "How near queries, keys and values are to their last version:\n",
            convergence(probes),
            "Right answers of composed tasks (nothing is written out between question and answer), "
            "by the steps that an answer takes, run with so many iterations:\n",
            composed(probes),
        ]
    return parts


def page(measured: Sequence[Mapping[str, Any]]) -> str:
    """docs/results-recurrent.md."""
    parts = ["# Results: recurrent depth\n"]
    if not measured:
        parts.append(f"Nothing was measured yet: run `{COMMAND}` on an idle machine.\n")
    else:
        parts.append(f"Written by `docs/results.py` from what `{COMMAND}` measured.\n")
        parts += body(measured[0])
    return "\n".join(parts)


def committed() -> list[Mapping[str, Any]]:
    """The committed figures, if any."""
    return [json.loads(COMMITTED.read_text("utf-8"))] if COMMITTED.exists() else []


if __name__ == "__main__":
    sys.stdout.write(page(committed()))
