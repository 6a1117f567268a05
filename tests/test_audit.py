"""A sound trace passes; every kind of forged trace is found out, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from specviz import jobs
from specviz.audit import audit
from specviz.trace import Check, Finish, Header, Prefill, Progress, Step, StoredEvent, Trace

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

    assert any("which the model did not pick." in f for f in audit(forged(sound, change)))


def test_a_walk_that_stops_too_early(sound: Trace) -> None:
    def change(event: StoredEvent) -> StoredEvent:
        if not drafted(event):
            return event
        assert isinstance(event, Step)
        return event.model_copy(update={"walk": event.walk[:-1], "emitted": event.emitted[:-1]})

    found = audit(forged(sound, change))
    assert any(f.endswith("stops before a guess that the model picked.") for f in found)


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
        "The two runs cannot be compared: their headers differ in max_new_tokens.",
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


def checked(trace: Trace, **values: Any) -> tuple[str, ...]:
    """The findings when the comparison says ``values`` instead."""
    events = (e.model_copy(update=values) if isinstance(e, Check) else e for e in trace.events)
    return audit(Trace(tuple(events)))


def test_a_comparison_that_contradicts_the_tokens(sound: Trace) -> None:
    assert checked(sound, equal=False) == ("The comparison calls the same tokens unequal.",)
    assert checked(sound, first_difference=3) == (
        "The comparison finds a difference at 3, it is at None.",
    )
    assert checked(sound, complete=False) == ("The comparison says cut runs, they are not.",)
    events = tuple(e for e in sound.events if e.role == "decoder")
    assert audit(Trace(events)) == ("The comparison stands without two runs.",)


def test_equal_runs_that_are_not(sound: Trace) -> None:
    """The baseline emits another last token than the decoder."""
    baseline = sound.run("baseline")
    assert baseline is not None and len(baseline.tokens) == 12

    def change(event: StoredEvent) -> StoredEvent:
        if not isinstance(event, Step) or event.role != "baseline" or event.index != 10:
            return event
        (root,) = event.nodes
        return event.model_copy(
            update={"nodes": (root.model_copy(update={"pick": 5}),), "emitted": (5,)}
        )

    other = Trace(tuple(map(change, sound.events)))
    named = {"pieces": {**sound.events[0].pieces, 5: "x"}}
    other = Trace((sound.events[0].model_copy(update=named), *other.events[1:]))
    assert audit(other) == (
        "The comparison finds a difference at None, it is at 11.",
        "The comparison calls other tokens equal.",
    )
    tie: dict[str, Any] = {"equal": "tie", "first_difference": 11, "cap": 0.001}
    assert checked(other, **tie, margin=0.0005) == ()
    assert checked(other, **tie, margin=0.002) == (
        "The comparison calls a margin of 0.002 a tie, its cap is 0.001.",
    )
    assert checked(other, **tie, margin=None) == (
        "The comparison calls a margin of None a tie, its cap is 0.001.",
    )


def test_a_text_that_ends_too_early_is_no_tie(sound: Trace) -> None:
    run = sound.run()
    assert run is not None
    short = Trace(tuple(e for e in sound.events if e is not run.steps[-1]))
    at = len(run.tokens) - len(run.steps[-1].emitted)
    found = checked(short, equal="tie", first_difference=at, margin=0.0, cap=0.001)
    assert found[-1] == "The comparison calls a text that ends too early a tie."


def test_runs_of_different_prompts_are_no_pair(sound: Trace) -> None:
    def change(event: StoredEvent) -> StoredEvent:
        if isinstance(event, Header) and event.role == "baseline":
            return event.model_copy(update={"digest": "other"})
        return event

    assert audit(Trace(tuple(map(change, sound.events)))) == (
        "The two runs cannot be compared: their headers differ in digest.",
    )


def with_ends(trace: Trace, *ends: int, reason: str = "length") -> tuple[str, ...]:
    """The findings when ``ends`` were end tokens of both runs and both ended by ``reason``."""

    def change(event: StoredEvent) -> StoredEvent:
        if isinstance(event, Header):
            return event.model_copy(update={"eos_ids": ends})
        return event.model_copy(update={"reason": reason}) if isinstance(event, Finish) else event

    return tuple(f for f in audit(Trace(tuple(map(change, trace.events)))) if "decoder" in f)


def test_nothing_follows_an_end_token(sound: Trace) -> None:
    run = sound.run()
    assert run is not None and run.prefill is not None
    assert with_ends(sound, run.prefill.token)[0] == (
        "The decoder's step 0 comes after an end token."
    )
    at, step = next((i, s) for i, s in enumerate(run.steps) if len(s.emitted) > 2)
    found = with_ends(sound, step.emitted[0])
    assert f"The decoder's step {at} emits tokens after an end token." in found


def test_the_reason_of_an_end_fits_its_last_token(sound: Trace) -> None:
    run = sound.run()
    assert run is not None
    assert with_ends(sound, 0, reason="eos") == (
        "The decoder's run ends as if by an end token, its last token is none.",
    )
    assert (
        "The decoder's run ends as if at its limit, its last token is an end token."
        in with_ends(sound, run.tokens[-1])
    )


def test_a_step_that_is_cut_for_no_reason(sound: Trace) -> None:
    run = sound.run()
    assert run is not None
    step = run.steps[-1]
    short = step.model_copy(update={"emitted": step.emitted[:1]})
    assert len(step.emitted) > 1
    events = tuple(short if e is step else e for e in sound.events if not isinstance(e, Finish))
    assert f"The decoder's step {step.index} is cut short although the run goes on." in audit(
        Trace(events)
    )
