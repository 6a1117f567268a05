"""What every step of a run came to: how much it emitted, and why its walk ended where it did.

A step whose walk ended at no right guess has one fact about the place where it ended: why the
wanted token was not drafted there, or that nobody knew it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from specviz import metrics, sights
from specviz.trace import Run, Step, Trace
from specviz.views.rejects import CUTS, lookup_at, place_of_refusal, wanted_there
from specviz.views.settled import settled
from specviz.views.tokens import show

# Known but cut, for one of the reasons; memory answered otherwise; memory had no answer; a head
# offered others; an earlier round of a wave had it, or none had; refused or nothing
# drafted by a decoder that keeps no memory.
FACTS = (*CUTS, "unknown", "silent", "unoffered", "lost", "never", "refused", "nothing")
MISSING = ("unknown", "silent", "unoffered")


@dataclass(frozen=True)
class Outcome:
    """One step. ``position``: number of its last token in the answer. ``fact`` of the place where
    its walk ended, empty where the answer ended; then ``depth`` of the guess that was missing,
    ``level`` and ``rank`` from which memory knew the wanted token, ``drafted`` whether there was
    any guess, ``wanted`` the token in visible characters."""

    run: str
    category: str
    step: int
    position: int
    emitted: int
    accepted: int
    tested: int
    fact: str
    depth: int
    level: int | None
    rank: int | None
    drafted: bool
    wanted: str


def outcomes(name: str, trace: Trace, run: Run, categories: Mapping[str, str]) -> list[Outcome]:
    """The outcome of every step of a run called ``name``; ``categories`` those of prompts."""
    pieces = trace.pieces
    asked = next((m.text for m in reversed(run.header.messages) if m.role == "user"), "")
    category = categories.get(asked.strip(), "")
    found = []
    position = 1
    for step in run.steps:
        position += len(step.emitted)
        end = place_of_refusal(step)
        known = {"level": None, "rank": None} if end is None else wanted_there(step, end)
        found.append(
            Outcome(
                run=name,
                category=category,
                step=step.index + 1,
                position=position,
                emitted=len(step.emitted),
                accepted=len(step.accepted),
                tested=metrics.tested(step),
                fact="" if end is None else fact(step, end),
                depth=len(step.walk) + 1,
                level=known["level"],
                rank=known["rank"],
                drafted=end is not None and any(n.parent == end for n in step.nodes),
                wanted="" if end is None else show(pieces.get(step.nodes[end].pick)),
            )
        )
    return found


def fact(step: Step, place: int) -> str:
    """The one fact of ``FACTS`` about the place where a walk ended."""
    lookup = lookup_at(step, place)
    told = settled(step, place)
    if told is not None:
        return "lost" if told.had else "never"
    if sights.offers(step, place) is not None:
        return str(wanted_there(step, place)["cut"]) or "unoffered"
    if lookup is None:
        return "refused" if any(n.parent == place for n in step.nodes) else "nothing"
    known = wanted_there(step, place)
    if known["known"]:
        return str(known["cut"])
    return "unknown" if lookup.candidates else "silent"
