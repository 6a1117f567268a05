"""The page docs/results-vlm.md, out of what the suite ``vlm`` measured.

Written by ``python docs/results.py docs/results-vlm.json --write``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from results import ROOT, costs, headline, limits, number, percent, rows_of, split, table

PAGE = ROOT / "docs" / "results-vlm.md"
COMMITTED = ROOT / "docs" / "results-vlm.json"
COMMAND = "python -m specviz bench --suite vlm"
SETS = {"template": "held-out pictures of the generator", "off": "pictures off the template"}
RECYCLING = ("tr_static", "tr_best_first")
FLAT = "no entropy (gamma 0)"
LEAST = {"template": 2.0, "off": 1.5}  # RECAP over plain decoding, as aimed at
LEAST_AHEAD = 1.2  # RECAP over Token Recycling
KINDS = {"other": "another picture", "blank": "a blank one", "shuffled": "its tiles shuffled"}


def sets(found: Mapping[str, Any]) -> str:
    """What was asked about, and how much the answers repeat."""
    head = ("", "pictures", "questions", "tokens of an answer (least, mean, most)",
            "4-grams that came before")  # fmt: skip
    return table(head, ([
        SETS[name],
        str(told["pictures"]),
        str(told["prompts"]),
        ", ".join(f"{n:g}" for n in told["lengths"]),
        percent(told["repetition"]["all"], 1),
    ] for name, told in found["sets"].items()))  # fmt: skip


def aims(found: Mapping[str, Any]) -> str:
    """What was aimed at and what was reached, on both sets, memory empty and filled by others."""
    lines = []
    for name in found["sets"]:
        rows = {r["name"]: r for r in rows_of(found, name)}
        rival = max((rows[n]["tokens_per_s"] or 0 for n in RECYCLING if n in rows), default=0)
        for row, memory in (("recap_cold", "empty memory"), ("recap_warm", "memory of others")):
            told = rows.get(row)
            if told is None or not told["tokens_per_s"]:
                continue
            pairs = [("plain decoding", told["speedup_decode"], LEAST[name])]
            if rival:
                ahead = told["tokens_per_s"] / rival
                pairs.append(("the better Token Recycling", ahead, LEAST_AHEAD))
            lines += [
                [f"{SETS[name]}: RECAP, {memory}, over {other}", f"{least:.1f}x",
                 number(got, 2, "x"), "reached" if (got or 0) >= least else "**missed**"]
                for other, got, least in pairs
            ]  # fmt: skip
    return table(("decode tokens/s", "aim", "measured", ""), lines)


def same_tokens(found: Mapping[str, Any]) -> str:
    """Whether every decoder said what plain decoding says, in a sentence."""
    compared = [r for r in found["rows"] if r["name"] != "ours"]
    counts = {key: sum(r[key] for r in compared) for key in ("identical", "ties", "mismatches")}
    every = sum(counts.values())
    told = f"{counts['identical']} of {every} answers have the very tokens of our plain loop"
    if counts["ties"]:
        told += f", {counts['ties']} part from them at a numeric tie"
    if counts["mismatches"]:
        told += f", **{counts['mismatches']} differ by more than rounding**"
    return told + ".\n"


def over_generate(found: Mapping[str, Any]) -> str:
    """How RECAP compares with ``generate`` where that is faster than our plain loop."""
    told = []
    for name in found["sets"]:
        rows = {r["name"]: r["tokens_per_s"] for r in rows_of(found, name)}
        ours, theirs, warm = (rows.get(n) for n in ("ours", "generate", "recap_warm"))
        if ours and theirs and warm and theirs > 1.02 * ours:
            told.append(f"{SETS[name]} {number(theirs / ours, 2, 'x')}, over it RECAP with the "
                        f"memory of others {number(warm / theirs, 2, 'x')}")  # fmt: skip
    if not told:
        return ""
    return (
        "Here transformers' `generate` is faster than our plain loop, so it is the harder thing to "
        "beat: "
        f"{'; '.join(told)}.\n"
    )


def changes(found: Mapping[str, Any]) -> str:
    """Each change of RECAP beside RECAP as it is, on the same prompts."""
    head = ("RECAP", "tau as it is", "tau changed", "decode tokens/s, changed / as it is",
            "passes as it is", "changed", "prompts with fewer, as many, more passes")  # fmt: skip
    return table(head, ([
        p["name"], number(p["tau"][0]), number(p["tau"][1]), number(p["speed"], 3, "x"),
        str(p["passes"][0]), str(p["passes"][1]), f"{p['fewer']}, {p['same']}, {p['more']}",
    ] for p in found["paired"]))  # fmt: skip


def entropy(found: Mapping[str, Any]) -> str:
    """What the entropy weight adds, in words."""
    told = next((p for p in found["paired"] if p["name"] == FLAT), None)
    if told is None:
        return ""
    with_it, without = told["passes"]
    if without == with_it:
        verdict = "it adds nothing"
    elif without > with_it:
        verdict = f"it saves {percent((without - with_it) / without, 1)} of the passes"
    else:
        verdict = f"it costs {percent((with_it - without) / without, 1)} more passes"
    return (
        f"What the entropy weight adds here: {verdict} ({with_it} with it, {without} without, on "
        f"{told['prompts']} prompts). Without it {told['more']} prompts need more passes, "
        f"{told['same']} as many, {told['fewer']} fewer.\n"
    )


def cross(found: Mapping[str, Any]) -> str:
    """Fully rejected steps against places that depend on the picture, pooled over many runs."""
    head = ("pictures", "read with", "answers", "rejected: depends, does not",
            "some guess right: depends, does not", "base rate", "rate where rejected",
            "rate where right", "difference (95 %)", "odds ratio", "within runs")  # fmt: skip
    lines = []
    for name, tables in found["pictures"].items():
        for t in tables:
            c, edges = t["cross"], t["interval"]
            spread = f" ({100 * edges[0]:+.1f} to {100 * edges[1]:+.1f})" if edges else ""
            gap = "–" if t["difference"] is None else f"{100 * t['difference']:+.1f}{spread}"
            lines.append([
                SETS.get(name, "both"), KINDS[t["kind"]], str(t["runs"]),
                f"{c['rejected_dependent']}, {c['rejected_free']}",
                f"{c['held_dependent']}, {c['held_free']}",
                percent(t["base"], 1), percent(t["rejected_rate"], 1), percent(t["held_rate"], 1),
                gap, number(t["odds_ratio"]), number(t["within"]),
            ])  # fmt: skip
    return table(head, lines)


def shift(found: Mapping[str, Any]) -> str:
    """The same, graded: how far another picture moves the token at the place."""
    head = ("pictures", "read with", "tokens that depend", "shift where rejected, nats",
            "shift where right, nats")  # fmt: skip
    return table(head, ([
        SETS.get(name, "both"), KINDS[t["kind"]], percent(t["all_tokens"], 1),
        number(t["rejected_shift"]), number(t["held_shift"]),
    ] for name, tables in found["pictures"].items() for t in tables))  # fmt: skip


def setting(found: Mapping[str, Any]) -> str:
    """Where, on what, and how often, in sentences."""
    what, prompts = found["conditions"], found["prompts"]
    versions = ", ".join(f"{k} {v}" for k, v in what["versions"].items())
    packed = [dtype for dtype, on in what["packed"].items() if on]
    weights = f"weights packed in {' and '.join(packed)}" if packed else "weights as they are"
    times = max(found["repetitions"].values())
    often = "everything once" if times == 1 else (
        f"{times} repetitions, of which medians are told; transformers' own rows once"
    )  # fmt: skip
    extent = "A quick look, not the full measurement: " if found["quick"] else ""
    left = "".join(f" Left out ({k}): {v}" for k, v in found["left_out"].items())
    skipped = f" {prompts['skipped']} did not fit and were skipped." if prompts["skipped"] else ""
    return (
        f"{extent}`{what['model']}` (digest {what['digest']}) on {what['machine']}, "
        f"{what['device']}, {weights}; {versions}. {prompts['count']} questions "
        f"({prompts['file']}; digest {prompts['sha256'][:16]}), at most {prompts['tokens'][1]} "
        f"new tokens each, {often}.{skipped}{left}\n"
    )


def right(found: Mapping[str, Any]) -> str:
    """How many of the probed answers are the generator's own, in a sentence."""
    told = found["right"]
    if not told["answers"]:
        return ""
    return (
        f"Of {told['answers']} answers about held-out pictures {told['exact']} are the "
        "generator's own to the letter; `python -m specviz.training.vlm_look` looks at many "
        "more, fact by fact.\n"
    )


def body(found: Mapping[str, Any]) -> list[str]:
    """All sections."""
    parts = [
        setting(found),
        "All rows of a question run one after another in one process; speed-ups are ratios to "
        "plain decoding of the same question in the same unit. The memory of the warm row comes "
        "from questions about other pictures only. What the pictures off the template show and "
        "ask was made up by hand: nobody knows their right answers, and the model may well give "
        "wrong ones.\n",
        sets(found),
    ]
    for name in found["sets"]:
        parts += [f"## {SETS[name].capitalize()}\n", headline(rows_of(found, name))]
    parts += [same_tokens(found), over_generate(found), "## Aims\n", aims(found)]
    if found["reported"]:
        parts += [
            "Reported by the paper, on its machine and models, not measured here:\n",
            "".join(f"- {r['model']}, `{r['decoder']}`: {r['speedup']:.2f}x ({r['conditions']})\n"
                    for r in found["reported"]),
        ]  # fmt: skip
    if found["paired"]:
        parts += ["## One thing changed\n", changes(found), entropy(found)]
    if found["pictures"]:
        parts += counterfactual(found)
    for name in found["sets"]:
        rows = rows_of(found, name)
        if name == "template":
            parts += ["## By kind of picture (number of questions)\n", split(rows, "by_category")]
        parts += [f"## What limits it: {SETS[name]}\n", limits(rows)]
    if found["costs"]:
        parts += ["## What a pass costs\n", costs(found)]
    return parts


def counterfactual(found: Mapping[str, Any]) -> list[str]:
    """The image counterfactual over many runs."""
    return [
        "## Do drafts fail where the picture matters?\n",
        "Answers of RECAP with an empty memory, one question a picture, read again token by token "
        "with another picture in its place. A step is rejected when it guessed and nothing of it "
        "was right; its place depends on the picture when the model, reading the same answer, "
        "says something else there with the other picture. Shares are percentages of steps, the "
        "difference is in points, its interval from drawing whole runs again; *within runs* "
        "compares steps of the same answer only (Mantel and Haenszel). This is a correlation: it "
        "does not say that the picture made a draft fail.\n",
        cross(found),
        shift(found),
        right(found),
    ]


def page(measured: Sequence[Mapping[str, Any]]) -> str:
    """docs/results-vlm.md."""
    parts = ["# Results: questions about pictures\n"]
    if not measured:
        parts.append(f"Nothing was measured yet: run `{COMMAND}` on an idle machine.\n")
    else:
        parts.append(f"Written by `docs/results.py` from what `{COMMAND}` measured.\n")
        parts += [part for part in body(measured[0]) if part]
    return "\n".join(parts)


def committed() -> list[Mapping[str, Any]]:
    """The committed figures, if any."""
    return [json.loads(COMMITTED.read_text("utf-8"))] if COMMITTED.exists() else []


if __name__ == "__main__":
    sys.stdout.write(page(committed()))
