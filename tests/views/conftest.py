"""A small run with round numbers, made by hand."""

from __future__ import annotations

import pytest

from specviz.evidence import Candidate, Hit, Lookup, MemoryEvidence, Tally, Written
from specviz.trace import Finish, Header, Node, Prefill, Role, Seconds, Step, Trace

PIECES = {
    1: " the", 2: " <b>", 3: "&lt;", 4: "</script>", 5: "\xe2\x80", 6: "=1", 7: "${x}", 8: "%{y}",
}  # fmt: skip


def header(role: Role, decoder: str) -> Header:
    return Header(
        role=role, pieces=PIECES if role == "decoder" else {}, run="abc", decoder=decoder,
        knobs={"nodes": 12, "rejected": True} if role == "decoder" else {}, model="toy",
        digest="d1", device="cpu", dtype="float32", machine="m, 2 cores",
        versions={"python": "3.11"}, messages=(), tokens=(1, 1, 1), max_new_tokens=8,
        vocab_size=9, eos_ids=(),
        notes=("Read as UTF-8.",), scope="<i>" if role == "decoder" else None,
        memory_rows=5 if role == "decoder" else 0,
    )  # fmt: skip


def node(token: int, parent: int, source: str, pick: int, logp: float | None = None) -> Node:
    return Node(
        token=token, parent=parent, source=source, order=0, score=0.5, logp=logp, pick=pick,
        margin=1.5, top=((pick, -0.6931),), tail=0.1,
    )  # fmt: skip


def seconds(draft: float, verify: float, commit: float, total: float) -> Seconds:
    return Seconds(draft=draft, verify=verify, commit=commit, total=total)


def hit(level: int, key: tuple[int, ...], ids: tuple[int, ...], weight: float, by: Written) -> Hit:
    return Hit(
        level=level, key=key, ids=ids, probs=(0.5,) * len(ids), base=0.2 / (3 - level),
        entropy=0.5, weight=weight, written=by,
    )  # fmt: skip


# " <b>" is accepted; under it memory guessed "&lt;" and "=1", the target wanted "</script>", which
# memory had at rank 3 and the budget cut.
FIRST = Step(
    index=0,
    nodes=(
        node(1, -1, "root", 2), node(2, 0, "level2", 4, -0.5), node(3, 1, "level1", 1, -1.6094),
        node(6, 1, "copy", 1, -2.3026), node(7, 0, "level1", 1, -3.0),
    ),
    walk=(1,), emitted=(2, 4), seconds=seconds(0.1, 0.6, 0.1, 1.0), cache_length=5,
    evidence=MemoryEvidence(
        kind="memory",
        lookups=(
            Lookup(
                node=1, expanded=True, hits=(
                    hit(2, (1, 2), (4, 6), 0.75, Written(-1, 1, True)),
                    hit(1, (2,), (3, 4), 0.25, Written(4, 7, False)),
                ),
                candidates=(
                    Candidate(3, 0.5, 1, 2, ""), Candidate(6, 0.3, 0, 3, ""),
                    Candidate(4, 0.1, 2, -1, "budget"),
                ),
            ),
        ),
        tallies={1: Tally(2, 2, 1), 2: Tally(2, 1, 1)}, sizes={1: 9, 2: 3},
    ),
)  # fmt: skip
# Memory had no answer for what the target wanted here.
SECOND = Step(
    index=1, nodes=(node(4, -1, "root", 5), node(8, 0, "level1", 1, -4.6052)), walk=(),
    emitted=(5,), seconds=seconds(0.2, 0.5, 0.0, 0.8), cache_length=6,
    evidence=MemoryEvidence(
        kind="memory",
        lookups=(
            Lookup(node=0, expanded=True, hits=(), candidates=(Candidate(8, 0.9, 1, 1, ""),)),
        ),
        tallies={1: Tally(1, 1, 0)}, sizes={1: 9, 2: 3},
    ),
)  # fmt: skip
# The walk was clipped by the budget: nothing was refused.
THIRD = Step(
    index=2, nodes=(node(5, -1, "root", 1), node(1, 0, "level2", 2, -0.1)), walk=(1,), emitted=(1,),
    seconds=seconds(0.0, 0.2, 0.0, 0.2), cache_length=7, evidence=None,
)  # fmt: skip


def plain_step(index: int, token: int) -> Step:
    return Step(
        role="baseline", index=index, nodes=(node(1, -1, "root", token),), walk=(),
        emitted=(token,), seconds=seconds(0.0, 0.5, 0.0, 0.5), cache_length=5 + index,
    )  # fmt: skip


def prefill(role: Role) -> Prefill:
    return Prefill(role=role, seconds=0.5, token=1, margin=1.0, top=((1, -0.1),))


def finish(role: Role) -> Finish:
    return Finish(role=role, reason="length", tokens=5, seconds=2.5)


@pytest.fixture
def trace() -> Trace:
    """Three steps, five tokens, beside a baseline of four steps."""
    return Trace(
        (
            header("decoder", "recap"), prefill("decoder"), FIRST, SECOND, THIRD,
            finish("decoder"), header("baseline", "autoregressive"), prefill("baseline"),
            *(plain_step(i, t) for i, t in enumerate((2, 4, 5, 1))), finish("baseline"),
        )
    )  # fmt: skip
