"""A sound trace passes; every kind of forged trace is found out, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from specviz import jobs
from specviz.audit import audit
from specviz.trace import Finish, Header, Prefill, Progress, Step, StoredEvent, Trace

JOB = jobs.Job(
    model="toy", decoder="prompt_lookup", prompt="This is the house that Jack built.\nThis is",
    max_new_tokens=12,
)  # fmt: skip


@pytest.fixture(scope="module")
def sound() -> Trace:
    return Trace(tuple(e for e in jobs.run(JOB) if not isinstance(e, Progress)))


def forged(trace: Trace, change: Callable[[StoredEvent], StoredEvent | None]) -> Trace:
    events = (change(e) if e.role == "decoder" else e for e in trace.events)
    return Trace(tuple(e for e in events if e is not None))


def drafted(step: StoredEvent) -> bool:
    return isinstance(step, Step) and len(step.walk) >= 2


def with_step(**values: Any) -> Callable[[StoredEvent], StoredEvent]:
    """Changes the steps whose walk has two nodes or more."""
    return lambda e: e.model_copy(update=values) if drafted(e) else e


def test_a_sound_trace_and_all_its_beginnings_pass(sound: Trace) -> None:
    assert any(drafted(e) for e in sound.events)
    for end in range(1, len(sound.events) + 1):
        assert audit(Trace(sound.events[:end])) == ()


def test_other_emitted_tokens_than_accepted(sound: Trace) -> None:
    found = audit(forged(sound, with_step(emitted=(1, 2, 3))))
    assert any(f.endswith("emits other tokens than it accepted.") for f in found)


def test_a_walk_that_the_target_did_not_pick(sound: Trace) -> None:
    def change(event: StoredEvent) -> StoredEvent:
        if not drafted(event):
            return event
        assert isinstance(event, Step)
        root = event.nodes[0].model_copy(update={"pick": 5})
        return event.model_copy(update={"nodes": (root, *event.nodes[1:])})

    assert any("which the target did not pick." in f for f in audit(forged(sound, change)))


def test_a_walk_that_stops_too_early(sound: Trace) -> None:
    def change(event: StoredEvent) -> StoredEvent:
        if not drafted(event):
            return event
        assert isinstance(event, Step)
        return event.model_copy(update={"walk": event.walk[:-1], "emitted": event.emitted[:-1]})

    found = audit(forged(sound, change))
    assert any(f.endswith("stops before a guess that the target picked.") for f in found)


def test_a_wrong_root_a_missing_step_and_a_wrong_cache(sound: Trace) -> None:
    first = audit(forged(sound, lambda e: e.model_copy(update={"token": 9})
                         if isinstance(e, Prefill) else e))  # fmt: skip
    assert "The decoder's step 0 does not start from the last emitted token." in first

    def skip(event: StoredEvent) -> StoredEvent | None:
        return None if isinstance(event, Step) and event.index == 0 else event

    assert "The decoder's step 1 stands where step 0 belongs." in audit(forged(sound, skip))
    cache = audit(forged(sound, with_step(cache_length=7)))
    assert any(f.endswith("leaves 7 tokens in the cache, not one less.") for f in cache)


def test_a_wrong_count_and_a_broken_limit(sound: Trace) -> None:
    def shorter(event: StoredEvent) -> StoredEvent:
        if isinstance(event, Header):
            return event.model_copy(update={"max_new_tokens": 11})
        return event

    assert audit(forged(sound, shorter)) == (
        "The decoder's run emits 12 tokens, its limit is 11.",
        "The decoder's run stops at its limit of 11 with 12 tokens.",
    )

    def miscount(event: StoredEvent) -> StoredEvent:
        return event.model_copy(update={"tokens": 13}) if isinstance(event, Finish) else event

    found = audit(forged(sound, miscount))
    assert found == ("The decoder's end counts 13 tokens, its steps emit 12.",)


def test_missing_bytes_and_a_missing_prompt(sound: Trace) -> None:
    bare = Trace(tuple(e.model_copy(update={"pieces": {}}) for e in sound.events))
    assert audit(bare)[-1].startswith("The bytes of token ")

    def headless(event: StoredEvent) -> StoredEvent | None:
        return None if isinstance(event, Prefill) else event

    found = audit(forged(sound, headless))
    assert found[0] == "The decoder's steps come before its prompt was read."
