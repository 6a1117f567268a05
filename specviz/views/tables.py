"""Traces as tables: the steps of a run, and every rejected guess with the recorded facts.

A table is a tuple of rows, each a dict with the same keys in the same order.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from specviz.trace import Lookup, MemoryEvidence, Run, Step, Trace

Cell = str | int | float | bool | None
Row = dict[str, Cell]
State = Literal["root", "accepted", "rejected", "discarded", "not reached"]
# Controls that JSON leaves as they are: C1, and marks that reorder or hide text.
HIDDEN = re.compile("[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def quoted(raw: bytes) -> str:
    """A token's bytes in quotes with everything invisible escaped; broken UTF-8 as hex bytes."""
    try:
        text = json.dumps(raw.decode("utf-8"), ensure_ascii=False)
    except UnicodeDecodeError:
        return "<" + " ".join(f"{byte:02X}" for byte in raw) + ">"
    return HIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def node_states(step: Step) -> tuple[State, ...]:
    """What became of every node: rejected are those that the target was asked about (their parent
    is the root or was accepted) and did not pick; discarded were accepted beyond the end."""
    kept, walked = set(step.accepted), set(step.walk)
    states: list[State] = ["root"]
    for i, node in enumerate(step.nodes[1:], start=1):
        if i in kept:
            states.append("accepted")
        elif i in walked:
            states.append("discarded")
        elif node.parent == 0 or node.parent in kept:
            states.append("rejected")
        else:
            states.append("not reached")
    return tuple(states)


def depths(step: Step) -> tuple[int, ...]:
    """Depth of every node; the root has 0."""
    found = [0]
    for node in step.nodes[1:]:
        found.append(found[node.parent] + 1)
    return tuple(found)


def steps(run: Run, pieces: Mapping[int, bytes]) -> tuple[Row, ...]:
    """One row per step; seconds as measured."""
    return tuple(
        {
            "step": step.index,
            "drafted": len(step.nodes) - 1,
            "accepted": len(step.accepted),
            "emitted": len(step.emitted),
            "tokens": " ".join(quoted(pieces[t]) for t in step.emitted),
            "clipped": step.clipped,
            "cache_length": step.cache_length,
            "draft_s": step.seconds.draft,
            "verify_s": step.seconds.verify,
            "commit_s": step.seconds.commit,
            "total_s": step.seconds.total,
        }
        for step in run.steps
    )


def rejects(run: Run, pieces: Mapping[int, bytes]) -> tuple[Row, ...]:
    """One row per rejected guess: what it was, what the target wanted instead, and whether the
    drafter knew that token (its rank among the candidates there, from 1) and why it was cut."""
    found: list[Row] = []
    for step in run.steps:
        deep = depths(step)
        for i, state in enumerate(node_states(step)):
            if state != "rejected":
                continue
            node, parent = step.nodes[i], step.nodes[step.nodes[i].parent]
            found.append(
                {
                    "step": step.index,
                    "node": i,
                    "depth": deep[i],
                    "id": node.token,
                    "token": quoted(pieces[node.token]),
                    "source": node.source,
                    "order": node.order,
                    "score": node.score,
                    "probability": None if node.logp is None else round(math.exp(node.logp), 6),
                    "wanted_id": parent.pick,
                    "wanted": quoted(pieces[parent.pick]),
                    "wanted_probability": _probability(parent.top, parent.pick),
                    "margin": parent.margin,
                    **_known(step, node.parent, parent.pick),
                }
            )
    return tuple(found)


def _probability(top: Sequence[tuple[int, float]], token: int) -> float | None:
    return next((round(math.exp(logp), 6) for t, logp in top if t == token), None)


def _known(step: Step, node: int, wanted: int) -> Row:
    """What the memory held about ``wanted`` at ``node``; blank where no memory was recorded."""
    blank: Row = {"known": None, "known_rank": None, "known_level": None, "cut": None}
    if not isinstance(step.evidence, MemoryEvidence):
        return blank
    lookup: Lookup | None = next((x for x in step.evidence.lookups if x.node == node), None)
    if lookup is None:
        return blank
    for rank, candidate in enumerate(lookup.candidates, start=1):
        if candidate.token == wanted:
            return {
                "known": True,
                "known_rank": rank,
                "known_level": candidate.level,
                "cut": candidate.cut,
            }
    return {**blank, "known": False}


def to_csv(trace: Trace, table: Literal["rejects", "steps"]) -> str:
    """A table of the decoder's run as CSV with a header line.

    Token cells are quoted JSON strings, so a spreadsheet never takes one for a formula.
    """
    run = trace.run("decoder")
    rows = {"rejects": rejects, "steps": steps}[table](run, trace.pieces) if run else ()
    columns = list(rows[0]) if rows else []
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
