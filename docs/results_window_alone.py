"""What a drafter head takes behind contexts that nobody read: the synthetic part of the page about
the suite ``window``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from results import number, table


def alone(found: Mapping[str, Any], key: str) -> str:
    """The drafter alone on faked contexts: ``seconds`` or ``bytes``, modes down."""
    positions = sorted({a["positions"] for a in found["alone"]})
    lines = []
    for mode in dict.fromkeys(a["mode"] for a in found["alone"]):
        units = {a["positions"]: a for a in found["alone"] if a["mode"] == mode}
        lines.append([mode, *(_alone(units[n], key) if n in units else "–" for n in positions)])
    return table(("positions", *(f"{n:,}".replace(",", " ") for n in positions)), lines)


def _alone(unit: Mapping[str, Any], key: str) -> str:
    if key == "seconds":
        if unit["seconds"] is None:
            return "not run"
        return f"{1000 * unit['seconds']:.1f}"
    return f"{unit['bytes'] / 2**20:.1f}"


def stops(found: Mapping[str, Any]) -> str:
    """Where a head that sees everything would stop paying, as a modelled number."""
    told = found["paying"]
    if told is None:
        return ""
    budget = (
        f"A step pays while drafting takes less than tau times a plain token less the pass that "
        f"verifies. With what slot and plain decoding took at {told['context']} tokens that is "
        f"{told['budget_ms']:.1f} ms"
    )
    if told["budget_ms"] <= 0:
        return f"Modelled, not measured: {budget[0].lower()}{budget[1:]}: nothing is left there.\n"
    if told["positions"] is None:
        end = f"`full` does not take as long up to {told['reached']} positions, the most timed."
    else:
        end = (
            f"`full` alone takes as long at about {told['positions']} positions: there it would "
            "stop paying even if it guessed as well as slot."
        )
    return f"Modelled, not measured: {budget[0].lower()}{budget[1:]}, and {end}\n"


def lemma(found: Mapping[str, Any]) -> str:
    """Largest differences of attention scores."""
    head = ("entries", "largest score", "moved, no sinks", "the same in float32",
            "sinks, gap closed", "slot against shift")  # fmt: skip
    return table(head, ([
        f"{s['positions']:,}".replace(",", " "), number(s["largest"], 2), f"{s['moved']:.1e}",
        f"{s['single']:.1e}", number(s["sinks"], 2), f"{s['ways']:.1e}",
    ] for s in found["shift"]))  # fmt: skip


def sections(found: Mapping[str, Any]) -> list[str]:
    """The synthetic part."""
    guesses = max(a["guesses"] for a in found["alone"])
    big = [a for a in found["alone"] if a["seconds"] is None]
    limit = "" if not big else (
        " Not run: what the memory had no room for (every entry is kept twice, before and after "
        "its rotation); its size is told all the same."
    )  # fmt: skip
    return [
        "## Synthetic: the head alone behind faked contexts\n",
        "No text was read here. The real drafter runs on a target that only says how much it has "
        f"read, with drafts of full size ({guesses} guesses, no branch dropped); two new tokens a "
        f"round.{limit} Milliseconds per draft:\n",
        alone(found, "seconds"),
        "Mebibytes of keys and values that the head sees:\n",
        alone(found, "bytes"),
        stops(found),
        "### Synthetic: the shift lemma\n",
        "Random keys and one query of the head's widths, in float64 unless said: the largest "
        "difference of an attention score between new and old positions. Without sinks all "
        "positions move alike and nothing changes; with sinks the gap behind them is closed and "
        "scores do change; the two ways to close it are the same.\n",
        lemma(found),
    ]
