"""Memory scopes of a visit: what is cleared, kept and shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from specviz import jobs
from specviz.jobs import Job
from specviz.memories import Scopes
from specviz.models.base import InputError
from specviz.trace import Event
from specviz.ui.live import follow
from specviz.ui.memory import MOST_SCOPES, Memory, room
from specviz.ui.visit import Live, Visit
from tests.page_parts import JOB


def test_what_was_cleared_during_a_run_stays_cleared() -> None:
    scopes = Scopes()
    list(follow(Live(JOB), jobs.run, scopes))
    kept = scopes.get(JOB)
    assert kept is not None
    live = Live(JOB)

    def decode(job: Job) -> Iterator[Event]:
        assert job.memory is kept
        for count, event in enumerate(jobs.run(job)):
            if count == 9:
                scopes.clear(JOB.scope)
            yield event

    list(follow(live, decode, scopes))
    assert scopes.get(JOB) is None and scopes.size("default") == (0, 0)
    seen = []
    list(follow(Live(JOB), lambda job: (seen.append(job.memory), jobs.run(job))[1], scopes))
    assert seen == [None] and scopes.get(JOB) is not None
    scopes.clear()
    assert scopes.generation("default") == 2 and scopes.names() == set()


def test_clearing_one_scope_leaves_what_another_one_learns() -> None:
    scopes, begun = Scopes(), 0
    snapshot = snapshot_of(JOB)
    scopes.clear("other")
    scopes.put(JOB, snapshot, begun)
    assert scopes.get(JOB) is snapshot


def snapshot_of(job: Job) -> Any:
    scopes = Scopes()
    list(follow(Live(job), jobs.run, scopes))
    return scopes.get(job)


def test_a_tab_keeps_a_bounded_number_of_scopes() -> None:
    visit, snapshot = Visit(), snapshot_of(JOB)
    for number in range(MOST_SCOPES):
        visit.scopes.put(replace(JOB, scope=f"s{number}"), snapshot)
    memory = Memory("en")
    memory.cross(visit, "  s3 ")
    assert room(visit) == "s3"
    memory.cross(visit, "new")
    with pytest.raises(InputError) as caught:
        room(visit)
    assert str(caught.value) == (
        "This tab keeps the memory of 32 scopes at most: clear one of them, or choose a scope "
        "that has runs."
    )
    visit.scopes.clear("s3")
    assert room(visit) == "new"
    memory.cross(visit, "x" * 100)
    assert visit.scope == "x" * 80


def test_beside_run_stands_what_the_next_run_may_see() -> None:
    visit, memory = Visit(), Memory("en")
    line, clear = memory.next(visit, "recap", "toy", "auto")
    assert (line, clear["interactive"]) == ("Memory: 0 rows of scope “default”", False)
    snapshot = snapshot_of(JOB)
    assert snapshot is not None
    visit.scopes.put(JOB, snapshot)
    line, clear = memory.next(visit, JOB.decoder, " toy ", JOB.dtype)
    assert line == f"Memory: {len(snapshot)} rows of scope “default”" and clear["interactive"]
    # The scope holds rows, none of which a run in another number format may see.
    line, clear = memory.next(visit, JOB.decoder, "toy", "float32")
    assert line == "Memory: 0 rows of scope “default”" and clear["interactive"]
    line, clear = memory.next(visit, "prompt_lookup", "toy", "auto")
    assert line == "Memory: this decoder keeps none between runs." and clear["visible"] is False
