"""The steps of a run: what became of every node, and a table with one row per step."""

from __future__ import annotations

import csv
import io
from typing import Literal

from specviz.trace import Step, Trace
from specviz.views.tokens import shown

State = Literal["root", "accepted", "rejected", "discarded", "not reached"]
COLUMNS = (
    "step", "drafted", "accepted", "emitted", "tokens", "clipped", "cache_length",
    "draft_s", "verify_s", "commit_s", "total_s",
)  # fmt: skip


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


def to_csv(trace: Trace) -> str:
    """The decoder's steps as CSV with a header line; steps count from 1, seconds as measured."""
    run, pieces = trace.run("decoder"), trace.pieces
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for step in run.steps if run else ():
        text, seconds = shown(step.emitted, pieces), step.seconds
        writer.writerow(
            [
                step.index + 1,
                len(step.nodes) - 1,
                len(step.accepted),
                len(step.emitted),
                # A spreadsheet would run a cell that begins like a formula.
                "'" + text if text[:1] in ("=", "+", "-", "@") else text,
                step.clipped,
                step.cache_length,
                seconds.draft,
                seconds.verify,
                seconds.commit,
                seconds.total,
            ]
        )
    return out.getvalue()
