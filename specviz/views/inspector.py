"""What the memories of a run held: every row that was written, by whom, and what came of it.

The rows are derived by folding the recorded passes as the drafter did: every verified node writes
the model's answer there under its last one, two and three tokens. Rows of earlier requests are not
in a trace, so of those only the ones that were asked for are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from specviz.evidence import Hit, Lookup, MemoryEvidence, Written
from specviz.trace import Run, Step, Trace

Key = tuple[int, ...]
Entry = tuple[int, Key, Written]  # level, key, writer: what tells one row from all others


@dataclass(frozen=True)
class Use:
    """A row answered at a node that the tree asked (steps count from 0, as recorded).

    ``nodes``: the guesses that it gave most of; ``accepted``: the one of them that was, or None.
    """

    step: int
    node: int
    weight: float
    nodes: tuple[int, ...]
    accepted: int | None


@dataclass
class Row:
    """One row while it stood in a memory: from its writing until another pass wrote its key again.

    ``probs`` are those of ``ids`` over the whole vocabulary; ``entropy`` in [0, 1] as in ``Hit``;
    ``kept``: still there at the end.
    """

    level: int
    key: Key
    ids: tuple[int, ...]
    probs: tuple[float, ...]
    entropy: float
    written: Written
    kept: bool = False
    uses: list[Use] = field(default_factory=list)

    @property
    def used(self) -> bool:
        """Whether it had a say in some tree."""
        return any(use.weight > 0 for use in self.uses)

    @property
    def accepted(self) -> int:
        """Accepted guesses that it gave most of."""
        return sum(use.accepted is not None for use in self.uses)

    @property
    def recycled(self) -> int:
        """The same, if a refused branch had written it."""
        return 0 if self.written.accepted else self.accepted


@dataclass(frozen=True)
class Memories:
    """The rows of a run in order of writing. ``unseen``: rows that an earlier request left and
    nobody asked for."""

    rows: tuple[Row, ...]
    unseen: int


def inspect(trace: Trace) -> Memories:
    """Every row that the decoder's memories held during its run."""
    run = trace.run("decoder")
    if run is None or not _remembers(run):
        return Memories((), 0)
    found: dict[Entry, Row] = {}
    last: dict[tuple[int, Key], Row] = {}
    for batch in _batches(run):
        for row in batch:
            found[row.level, row.key, row.written] = last[row.level, row.key] = row
    for step in run.steps:
        for lookup in _lookups(step):
            for hit in lookup.hits:
                row = found.get((hit.level, hit.key, hit.written)) or _earlier(hit, found)
                last.setdefault((row.level, row.key), row)
                if lookup.expanded:
                    row.uses.append(_use(step, lookup, hit))
    for row in last.values():
        row.kept = True
    earlier = sum(row.written.step == -2 for row in found.values())
    return Memories(tuple(found.values()), max(0, run.header.memory_rows - earlier))


def _remembers(run: Run) -> bool:
    return any(isinstance(step.evidence, MemoryEvidence) for step in run.steps)


def _lookups(step: Step) -> tuple[Lookup, ...]:
    return step.evidence.lookups if isinstance(step.evidence, MemoryEvidence) else ()


def _earlier(hit: Hit, found: dict[Entry, Row]) -> Row:
    """A row that the trace knows by its answer alone."""
    row = Row(hit.level, hit.key, hit.ids, hit.probs, hit.entropy, hit.written)
    found[hit.level, hit.key, hit.written] = row
    return row


def _use(step: Step, lookup: Lookup, hit: Hit) -> Use:
    nodes = tuple(c.node for c in lookup.candidates if c.level == hit.level and c.node > 0)
    accepted = next((n for n in nodes if n in step.accepted), None)
    return Use(step.index, lookup.node, hit.weight, nodes, accepted)


# The fold


def _batches(run: Run) -> Iterator[list[Row]]:
    """What was written at once, in order: the prompt, then every step."""
    knobs = run.header.knobs
    # Token Recycling has no knobs for what it does in one way only.
    levels = [n for n in (3, 2, 1) if str(n) in str(knobs.get("levels", "1"))]
    seed = knobs.get("seed", "none")
    yield _seeded(run, [n for n in levels if seed == "all" or (seed == "level1" and n == 1)])
    context = list(run.header.tokens)
    if run.prefill is not None:
        context.append(run.prefill.token)
    for step in run.steps:
        yield _written(step, context[-3:], levels, bool(knobs.get("rejected", True)), run)
        context += step.emitted


def _seeded(run: Run, levels: Sequence[int]) -> list[Row]:
    if run.prefill is None:
        return []
    rows, tokens = run.prefill.rows, run.header.tokens
    answers = []
    for i, at in enumerate(rows.positions):
        full = None if rows.entropies is None else rows.entropies[i]
        answer = _answer(rows.ids[i], rows.logps[i], full, run)
        answers.append((tokens[max(0, at - 2) : at + 1], answer, Written(-1, at, True)))
    return _first_wins(answers, levels)


def _written(
    step: Step, tail: Sequence[int], levels: Sequence[int], rejected: bool, run: Run
) -> list[Row]:
    kept = {0, *step.accepted}
    order = sorted(
        (n for n in range(len(step.nodes)) if rejected or n in kept),
        key=lambda n: (n not in kept, -(1.0 if n == 0 else step.nodes[n].score or 0.0), n),
    )
    whole = all(node.entropy is not None for node in step.nodes)
    branches: list[Key] = [()]
    for node in step.nodes[1:]:
        branches.append((*branches[node.parent], node.token))
    answers = []
    for n in order:
        node = step.nodes[n]
        ids, logps = tuple(t for t, _ in node.top), tuple(v for _, v in node.top)
        answer = _answer(ids, logps, node.entropy if whole else None, run)
        context = (*tail, *branches[n])[-3:]
        answers.append((context, answer, Written(step.index, n, n in kept)))
    return _first_wins(answers, levels)


Answer = tuple[tuple[int, ...], tuple[float, ...], float]


def _answer(ids: Key, logps: Sequence[float], full: float | None, run: Run) -> Answer:
    """Tokens, probabilities, entropy as the memory keeps them."""
    probs = tuple(math.exp(v) for v in logps)
    if full is not None:
        entropy = full / math.log(run.header.vocab_size)
    else:
        tail = max(0.0, 1.0 - sum(probs))
        mass = -sum(p * v for p, v in zip(probs, logps, strict=True))
        entropy = (mass - (tail * math.log(tail) if tail > 0 else 0.0)) / math.log(len(ids) + 1)
    return ids, probs, round(min(max(entropy, 0.0), 1.0), 4)


def _first_wins(
    answers: Sequence[tuple[Sequence[int], Answer, Written]], levels: Sequence[int]
) -> list[Row]:
    """Rows for every level; of one key within a batch the first writer's."""
    rows: dict[tuple[int, Key], Row] = {}
    for level in levels:
        for context, (ids, probs, entropy), written in answers:
            if len(context) >= level:
                key = tuple(context[-level:])
                if (level, key) not in rows:
                    rows[level, key] = Row(level, key, ids, probs, entropy, written)
    return list(rows.values())
