"""Follow a job while it decodes: record, remember, and say often enough how far it is."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from time import monotonic

from specviz.jobs import Job, ProbeJob
from specviz.memories import MemoryKeeper, Scopes
from specviz.trace import Event, Finish, Header, Prefill, Progress, Step
from specviz.ui.visit import Live

INTERVAL = 0.125  # seconds between two updates of the page
OVERLAP = 2  # events sent again, so that one lost update is healed by the next

Decode = Callable[[Job | ProbeJob], Iterator[Event]]


@dataclass(frozen=True)
class Stage:
    """A named stage and how much of it is done; ``total`` 0 means that nobody knows."""

    name: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True)
class Tick:
    """Something new to show: events from number ``first`` on."""

    first: int
    stage: Stage
    live: bool = True


def follow(
    live: Live, decode: Decode, scopes: Scopes, clock: Callable[[], float] = monotonic
) -> Generator[Tick, None, None]:
    """Run ``live.job`` into ``live.recording``; yields at most eight ticks a second and a last one.

    Stop is noticed after each event. Whatever ends the run, the recording is closed and what the
    decoder learned is kept in its scope, unless that was cleared meanwhile. Raises what the job
    raises.
    """
    # Not when Run was pressed: a scope can be cleared while the run waits for the device.
    begun = scopes.generation(live.job.scope)
    live.job = replace(live.job, memory=scopes.get(live.job))
    keeper = MemoryKeeper(live.job)
    recording, stage = live.recording, Stage("load")
    sent, last = 0, -INTERVAL
    try:
        if live.halted():
            return
        with closing(decode(live.job)) as events:  # type: ignore[type-var]
            for event in events:
                recording.add(event)
                keeper.add(event)
                stage = stage_of(event, stage, live.job.max_new_tokens)
                if live.halted():
                    break
                now = clock()
                if now - last >= INTERVAL:
                    yield Tick(max(0, sent - OVERLAP), stage)
                    sent, last = len(recording.events), now
    finally:
        live.ended = True
        if recording.events:
            recording.stop()
            scopes.put(live.job, keeper.snapshot(), begun)
    yield Tick(max(0, sent - OVERLAP), Stage("stopped" if live.stopped else "done"), live=False)


def stage_of(event: Event, before: Stage, budget: int) -> Stage:
    """The stage that ``event`` belongs to."""
    part = "decode" if event.role == "decoder" else "baseline"
    match event:
        case Progress(stage="prefill", role="baseline"):
            return Stage("baseline_prefill", event.done, event.total)
        case Progress():
            return Stage(event.stage, event.done, event.total)
        case Prefill():
            return Stage(part, 1, budget)
        case Step():
            done = before.done if before.name == part else 1
            return Stage(part, done + len(event.emitted), budget)
        case Header():
            return before if event.role == "decoder" else Stage(part, 0, budget)
        case Finish():
            return before
        case _:
            return Stage("check")
