"""The steps of a run: what became of every node, and a table with one row per step."""

from __future__ import annotations

from typing import Literal

from specviz.trace import Step, Trace
from specviz.views.sheet import sheet
from specviz.views.tokens import shown

State = Literal["root", "accepted", "rejected", "duplicate", "discarded", "not reached"]
COLUMNS = (
    "step", "drafted", "accepted", "emitted", "tokens", "clipped", "cache_length",
    "draft_s", "verify_s", "commit_s", "total_s",
)  # fmt: skip


def node_states(step: Step) -> tuple[State, ...]:
    """What became of every node.

    Rejected are those that the target was asked about (their parent is the root or was accepted)
    and did not pick. A duplicate repeats the token of the sibling that was accepted. Discarded were
    accepted beyond the end; beside them and below a refused guess nobody asked.
    """
    walked = set(step.walk)
    kept = step.accepted
    end = kept[-1] if kept else 0
    asked = {0, *kept} - ({end} if step.clipped else set())
    states: list[State] = ["root"]
    for i, node in enumerate(step.nodes[1:], start=1):
        if i in kept:
            states.append("accepted")
        elif i in walked:
            states.append("discarded")
        elif node.parent in asked:
            wanted = step.nodes[node.parent].pick
            states.append("duplicate" if node.token == wanted else "rejected")
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
    return sheet(COLUMNS, (_row(step, pieces) for step in (run.steps if run else ())))


def _row(step: Step, pieces: dict[int, bytes]) -> tuple[object, ...]:
    seconds = step.seconds
    return (
        step.index + 1,
        len(step.nodes) - 1,
        len(step.accepted),
        len(step.emitted),
        shown(step.emitted, pieces),
        step.clipped,
        step.cache_length,
        seconds.draft,
        seconds.verify,
        seconds.commit,
        seconds.total,
    )
