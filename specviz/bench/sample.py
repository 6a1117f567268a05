"""One measured run as plain data: through our own door, or by a peer."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from specviz import jobs
from specviz.budget import Curve
from specviz.metrics import seconds, tested
from specviz.models.base import Inputs, Model
from specviz.trace import Check, Costs, Event, Finish, Progress, Run, Trace
from specviz.waves import Work, applications, core_calls

if TYPE_CHECKING:
    from specviz.models.peers import Peer

T = TypeVar("T")
Equal = bool | Literal["tie"] | None


@dataclass(frozen=True)
class Timing:
    """What one run took and did.

    ``first`` of its ``tokens`` came with the reading of the prompt, which took ``prefill`` seconds;
    the others took ``decode``, of which ``draft``, ``verify`` and ``commit`` are parts. ``passes``
    target passes over ``rows`` rows in all, modelled to cost ``cost`` single-row passes; ``tested``
    guesses, ``accepted`` of them right; ``drafted`` passes guessed, in ``top_right`` of them the
    foremost guess for the next token was right, in ``any_right`` any of these; ``calls`` of a
    recurrent-depth model's core, over ``applications`` positions in all. A peer does not tell the
    latter; they are 0 then.
    """

    tokens: int
    first: int
    prefill: float
    decode: float
    draft: float = 0.0
    verify: float = 0.0
    commit: float = 0.0
    passes: int = 0
    rows: int = 0
    cost: float = 0.0
    accepted: int = 0
    tested: int = 0
    drafted: int = 0
    top_right: int = 0
    any_right: int = 0
    calls: int = 0
    applications: int = 0


@dataclass(frozen=True)
class Sample:
    """The timing of ``row`` on ``prompt`` (its id). ``equal``: its tokens are those of our plain
    loop, differ by numeric ties, or differ; None where that was not asked."""

    part: str
    dtype: str
    row: str
    prompt: str
    timing: Timing
    equal: Equal = None

    def plain(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Sample:
        """The sample that ``plain`` gave."""
        return cls(**{**data, "timing": Timing(**data["timing"])})


@dataclass(frozen=True)
class Answer:
    """What a run emitted and how it ended."""

    tokens: tuple[int, ...]
    finish: Finish


def value(steps: Generator[Progress, None, T]) -> T:
    """Run something that yields progress to its end."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found


def run_ours(
    job: jobs.Job, watch: Callable[[Event], None] = lambda event: None
) -> tuple[Run, Timing]:
    """Run ``job``; ``watch`` is shown every event."""
    gc.collect()  # what an earlier run left is not collected in this one's time
    events = []
    for event in jobs.run(job):
        watch(event)
        if not isinstance(event, Progress):
            events.append(event)
    run = Trace(tuple(events)).run()
    assert run is not None
    return run, timing(run, run.header.costs)


def timing(run: Run, costs: Costs | None) -> Timing:
    """The timing of a recorded run; ``costs`` model what its passes cost."""
    curve = Curve(costs.rows, costs.seconds) if costs is not None else None
    spent = seconds(run)
    return Timing(
        tokens=len(run.tokens),
        first=1,
        prefill=spent["prefill"],
        decode=spent["decode"],
        draft=spent["draft"],
        verify=spent["verify"],
        commit=spent["commit"],
        passes=len(run.steps),
        rows=sum(len(s.nodes) for s in run.steps),
        cost=sum(curve(len(s.nodes)) for s in run.steps) if curve else 0.0,
        accepted=sum(len(s.accepted) for s in run.steps),
        tested=sum(map(tested, run.steps)),
        drafted=sum(len(s.nodes) > 1 for s in run.steps),
        top_right=sum(s.accepted[:1] == (1,) for s in run.steps),  # nodes count from the best on
        any_right=sum(bool(s.accepted) for s in run.steps),
        calls=_total(core_calls(run)),
        applications=_total(applications(run)),
    )


def _total(work: Work | None) -> int:
    return 0 if work is None else work.total


def run_peer(
    peer: Peer, inputs: Inputs, max_new_tokens: int, lookup: int, eos_ids: frozenset[int]
) -> tuple[Answer, Timing]:
    """Let transformers generate."""
    gc.collect()
    found = peer.generate(inputs.tokens, max_new_tokens, lookup, inputs.pixels)
    spent = found.prefill_seconds + found.decode_seconds
    ended = found.tokens[-1] in eos_ids
    finish = Finish(
        reason="eos" if ended else "length", tokens=len(found.tokens), seconds=round(spent, 6)
    )
    return Answer(found.tokens, finish), Timing(
        tokens=len(found.tokens),
        first=found.first,
        prefill=round(found.prefill_seconds, 6),
        decode=round(found.decode_seconds, 6),
    )


def compared(
    model: Model,
    inputs: Inputs,
    mine: Run | Answer,
    plain: Run | Answer,
    judge: Callable[..., Generator[Progress, None, Check]],
) -> bool | Literal["tie"]:
    """Whether ``mine`` is the text of ``plain``; ``judge`` says if rounding explains what is
    different."""
    if mine.tokens == plain.tokens:
        return True
    return value(judge(model, inputs, mine, plain)).equal
