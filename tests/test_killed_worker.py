"""A worker that is killed: what it had computed and what has arrived differ by one step at most."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from specviz.drafters.memory import ARRAYS
from specviz.jobs import Job, run
from specviz.memories import MemoryKeeper
from specviz.models import registry
from specviz.models.toy import ToySession
from specviz.trace import Costs, Event, Header, Prefill, Progress, Step

JOB = Job(prompt="This is the cow", baseline=False, knobs={"copy": "off"})
FORK = multiprocessing.get_context("fork")


def worker(job: Job, session: type, pipe: Any, passes: Any) -> None:
    """Runs ``job``; ``passes`` counts the steps that the target has begun to verify."""
    verify = session.verify  # type: ignore[attr-defined]

    def counted(self: Any, tree: Any) -> Any:
        passes.value += 1
        return verify(self, tree)

    session.verify = counted  # type: ignore[attr-defined]
    for event in run(job):
        pipe.send(event)
    pipe.close()


def events_until_killed(job: Job, session: type, step: int) -> tuple[list[Event], int]:
    """All events that arrived of a worker killed at ``step``, and how many passes it had begun."""
    here, there = FORK.Pipe(duplex=False)
    passes = FORK.Value("i", 0, lock=False)  # a killed owner would never give a lock back
    process = FORK.Process(target=worker, args=(job, session, there, passes))
    process.start()
    there.close()
    arrived: list[Event] = []
    while True:
        try:
            event = here.recv()
        except (EOFError, OSError):  # the end, or half an event
            break
        arrived.append(event)
        if isinstance(event, Step) and event.index == step:
            process.kill()
    process.join(20)
    assert process.exitcode == -signal.SIGKILL
    return arrived, passes.value


@pytest.fixture
def tiny_llama() -> Iterator[str]:
    """A random transformers model under a label, loaded before the fork."""
    import torch

    from tests.models import tiny

    torch.set_num_threads(1)
    model = tiny.model("llama", dtype=torch.float32)
    model.eos_ids = frozenset({1})
    entry = replace(registry.find("smollm2-135m"), label="tiny", load=lambda device, dtype: model,
                    problem=lambda: None)  # fmt: skip
    registry.register(entry)
    registry.load("tiny", device="cpu", dtype="float32")
    yield "tiny"
    registry.register(entry)
    registry._entries.pop("tiny")


def check(job: Job, session: type, step: int) -> None:
    arrived, passes = events_until_killed(job, session, step)
    steps = [e for e in arrived if isinstance(e, Step)]
    assert [s.index for s in steps] == list(range(len(steps))) and len(steps) > step
    assert passes - len(steps) in (0, 1), "computed, but not streamed"
    keeper, expected = MemoryKeeper(job), MemoryKeeper(job)
    for event in arrived:
        keeper.add(event)
    whole = run(job)
    for event in whole:
        if isinstance(event, (Header, Prefill, Step)):
            expected.add(event)
        if isinstance(event, Step) and event.index == steps[-1].index:
            break
    whole.close()
    mine, theirs = keeper.snapshot(), expected.snapshot()
    assert mine is not None and theirs is not None and len(mine) > 10
    for name in ARRAYS:
        assert (getattr(mine, name) == getattr(theirs, name)).all(), name
    assert not any(isinstance(e, Progress) and e.stage == "check" for e in arrived)


def test_a_killed_toy_loses_at_most_one_step() -> None:
    check(replace(JOB, model="toy", max_new_tokens=1500), ToySession, 4)


def test_a_killed_transformer_loses_at_most_one_step(tiny_llama: str) -> None:
    from specviz.models.session import TreeSession

    # Passes are counted, so none may go into measuring what a pass costs.
    costs = Costs(context=128, rows=(1, 16), seconds=(0.01, 0.015))
    job = replace(JOB, model=tiny_llama, device="cpu", dtype="float32", max_new_tokens=400)
    job = replace(job, costs=costs)
    check(job, TreeSession, 4)
