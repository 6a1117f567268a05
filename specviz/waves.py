"""What drafting inside a recurrent-depth model costs and gets right: pure functions of traces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

from specviz.evidence import WaveEvidence
from specviz.trace import Run


class Work(NamedTuple):
    """Work of the steps of a run on a recurrent-depth model, by what it was done for.

    ``tokens``: emitted by these steps. The prompt's reading is not counted.
    """

    draft: int
    verify: int
    tokens: int

    @property
    def total(self) -> int:
        """Drafting and verifying."""
        return self.draft + self.verify

    @property
    def per_token(self) -> float | None:
        """``total`` per token that the steps emitted."""
        return self.total / self.tokens if self.tokens else None


def core_calls(run: Run) -> Work | None:
    """Calls of the core, one after the other: ``depth`` per pass, and those of drafting; what a run
    waits for where a call costs the same for one position and for many. None without a core."""
    return _work(run, lambda depth, rows: depth, lambda wave: wave.calls)


def applications(run: Run) -> Work | None:
    """Positions, summed over these calls: ``depth`` x rows per pass; the arithmetic done."""
    return _work(run, lambda depth, rows: depth * rows, lambda wave: wave.applications)


def _work(
    run: Run, verify: Callable[[int, int], int], draft: Callable[[WaveEvidence], int]
) -> Work | None:
    depth = run.header.depth
    if depth is None:
        return None
    waves = (s.evidence for s in run.steps if isinstance(s.evidence, WaveEvidence))
    return Work(
        sum(map(draft, waves)),
        sum(verify(depth, len(s.nodes)) for s in run.steps),
        sum(len(s.emitted) for s in run.steps),
    )


class Share(NamedTuple):
    """``right`` of ``cells`` guesses were the token that stands there in the end."""

    key: int
    cells: int
    right: int


def in_place(run: Run) -> list[tuple[int, ...]]:
    """For every step, what the run emitted from it on: cell or guess i of its draft is for entry i,
    where there is one yet."""
    tokens = run.tokens
    start = len(tokens) - sum(len(s.emitted) for s in run.steps)
    found = []
    for step in run.steps:
        found.append(tokens[start:])
        start += len(step.emitted)
    return found


def agreement(run: Run, by: Literal["age", "round", "position"] = "age") -> tuple[Share, ...]:
    """Of the guesses of all rounds that were computed there, how many are the token that was
    emitted at their place in the end; by the age of the state, the round (from 1) or the distance
    from the root (from 1).

    Guesses beyond the end of the text are left out. A guess behind a wrong one was made for another
    text and counts all the same: a wave is shown whole.
    """
    found: dict[int, list[int]] = {}
    for step, final in zip(run.steps, in_place(run), strict=True):
        if not isinstance(step.evidence, WaveEvidence):
            continue
        for number, made in enumerate(step.evidence.rounds, start=1):
            for i, (cell, token) in enumerate(zip(made.cells, final, strict=False)):
                if i >= made.parked:
                    key = {"age": cell.age, "round": number, "position": i + 1}[by]
                    share = found.setdefault(key, [0, 0])
                    share[0] += 1
                    share[1] += cell.token == token
    return tuple(Share(key, *found[key]) for key in sorted(found))
