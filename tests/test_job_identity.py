"""What makes two runs the same run, two memories the same memory; and what never does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from specviz.drafters.memory import ARRAYS, Snapshot
from specviz.jobs import Job, run
from specviz.memories import MemoryKeeper, Scopes
from specviz.models import registry
from specviz.models.base import InputError
from specviz.models.toy import ToyModel, rhyme_model
from specviz.trace import Check, Finish, Header, Progress, Step, StoredEvent, Trace

JOB = Job(model="toy", prompt="This is the cow", max_new_tokens=16)


def stored(job: Job) -> tuple[StoredEvent, ...]:
    return tuple(e for e in run(job) if not isinstance(e, Progress))


def first_header(job: Job) -> Header:
    events = run(job)
    found = next(e for e in events if isinstance(e, Header))
    events.close()
    return found


# A baseline from before


@pytest.fixture(scope="module")
def before() -> tuple[StoredEvent, ...]:
    return stored(JOB)


def changed(events: tuple[StoredEvent, ...], kind: type, **values: Any) -> tuple[StoredEvent, ...]:
    return tuple(
        e.model_copy(update=values) if e.role == "baseline" and isinstance(e, kind) else e
        for e in events
    )


def reused(job: Job) -> bool:
    base = Trace(stored(job)).run("baseline")
    assert base is not None
    return base.header.reused


def test_an_equal_baseline_is_reused(before: tuple[StoredEvent, ...]) -> None:
    assert reused(replace(JOB, reuse=before))
    assert reused(replace(JOB, reuse=before, decoder="prompt_lookup", knobs={"tokens": 3}))


@pytest.mark.parametrize(
    "other",
    [
        {"run": "0123456789ab"},
        {"device": "cuda:0"},
        {"machine": "another processor, 64 cores"},
        {"versions": {"specviz": "0.0.0", "python": "3.11.0"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_a_baseline_of_another_run_device_machine_or_version_is_not_reused(
    before: tuple[StoredEvent, ...], other: dict[str, Any]
) -> None:
    assert not reused(replace(JOB, reuse=changed(before, Header, **other)))


@pytest.mark.parametrize("reason", ["stopped", "error"])
def test_a_baseline_that_did_not_end_is_not_reused(
    before: tuple[StoredEvent, ...], reason: str
) -> None:
    assert not reused(replace(JOB, reuse=changed(before, Finish, reason=reason)))
    open_ = tuple(e for e in before if not (e.role == "baseline" and isinstance(e, Finish)))
    assert not reused(replace(JOB, reuse=open_))


@pytest.mark.parametrize("change", [{"max_new_tokens": 17}, {"system": "Be brief."}])
def test_a_baseline_of_other_settings_is_not_reused(
    before: tuple[StoredEvent, ...], change: dict[str, Any]
) -> None:
    assert not reused(replace(JOB, reuse=before, **change))


# The run's name


@pytest.mark.parametrize(
    "change",
    [
        {"max_new_tokens": 17},
        {"prompt": "This is the dog"},
        {"decoder": "token_recycling"},
        {"knobs": {"nodes": 5}},
    ],
)
def test_a_runs_name_follows_what_was_asked(change: dict[str, Any]) -> None:
    assert first_header(replace(JOB, **change)).run != first_header(JOB).run


@pytest.mark.parametrize("change", [{"digest": "f" * 16}, {"dtype": "float32"}])
def test_a_runs_name_follows_the_weights_and_their_arithmetic(
    known: Callable[[ToyModel], str], change: dict[str, str]
) -> None:
    model = rhyme_model("other-toy")
    job = replace(JOB, model=known(model))
    one = first_header(job)
    for name, value in change.items():
        setattr(model, name, value)
    two = first_header(job)
    assert one.run != two.run


def test_a_runs_name_does_not_follow_memory_scope_or_baseline() -> None:
    keeper = remembered(replace(JOB, scope="s"))
    same = [JOB, replace(JOB, scope="s", memory=keeper.snapshot()), replace(JOB, baseline=False)]
    assert len({first_header(job).run for job in same}) == 1


# Memories


def remembered(job: Job) -> MemoryKeeper:
    keeper = MemoryKeeper(job)
    for event in run(job):
        keeper.add(event)
    return keeper


def snapshot(job: Job) -> Snapshot:
    found = remembered(job).snapshot()
    assert found is not None
    return found


def same_arrays(one: Snapshot, two: Snapshot) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ARRAYS)


@pytest.mark.parametrize(
    "change",
    [
        {"scope": "b"}, {"decoder": "token_recycling"}, {"model": "other-toy"},
        {"dtype": "bfloat16"},
    ],
)  # fmt: skip
def test_a_memory_is_one_scopes_decoders_models_and_dtypes_own(change: dict[str, str]) -> None:
    scopes, other = Scopes(), replace(JOB, **change)
    mine = snapshot(JOB)
    scopes.put(JOB, mine)
    assert scopes.get(JOB) is mine and scopes.get(other) is None
    theirs = replace(mine, scope="theirs")
    scopes.put(other, theirs)
    assert scopes.get(JOB) is mine and scopes.get(other) is theirs


def test_a_keeper_learns_from_the_decoder_alone() -> None:
    keeper, alone = MemoryKeeper(JOB), MemoryKeeper(JOB)
    for event in run(JOB):
        keeper.add(event)
        if event.role == "decoder":
            alone.add(event)
        if isinstance(event, Step) and event.role == "decoder":
            # A baseline that saw other things: its root is a token that no one else names.
            root = event.nodes[0].model_copy(update={"token": 7, "top": ((9, -0.5),)})
            odd = {"role": "baseline", "nodes": (root,), "walk": ()}
            before = keeper.snapshot()
            keeper.add(event.model_copy(update=odd))
            after = keeper.snapshot()
            assert before is not None and after is not None and same_arrays(before, after)
    one, two = keeper.snapshot(), alone.snapshot()
    assert one is not None and two is not None and same_arrays(one, two)
    assert 7 not in one.tokens and len(one) > 10


def refused(job: Job) -> str:
    seen = []
    with pytest.raises(InputError) as caught:
        for event in run(job):
            seen.append(event)
    assert seen and all(isinstance(e, Progress) for e in seen), "before the first header"
    assert "prefill" not in {e.stage for e in seen}, "before the prompt was read"
    return str(caught.value)


def test_a_memory_of_another_scope_is_refused_before_the_header() -> None:
    memory = snapshot(replace(JOB, scope="a"))
    assert memory.scope == "a"
    said = refused(replace(JOB, scope="b", memory=memory))
    assert said == (
        "The saved memory belongs to the scope 'a', this run to 'b': use that scope, or another "
        "memory."
    )
    assert stored(replace(JOB, scope="a", memory=memory))[-1] == Check(equal=True)


@pytest.mark.parametrize(
    "key", [{"digest": "f" * 16}, {"dtype": "float32"}], ids=lambda k: next(iter(k))
)
def test_a_memory_of_another_model_is_refused_before_the_header(
    known: Callable[[ToyModel], str], key: dict[str, str]
) -> None:
    memory = snapshot(JOB)
    model = rhyme_model("toy-two")
    model.digest = registry.load("toy").digest
    job = replace(JOB, model=known(model), memory=memory)
    assert stored(job)[0].memory_rows == len(memory)  # type: ignore[union-attr]
    for name, value in key.items():
        setattr(model, name, value)
    assert "other weights, another dtype" in refused(job)


def test_a_memory_of_another_kind_of_entropy_is_refused_before_the_header() -> None:
    assert "kind of entropy" in refused(
        replace(JOB, memory=snapshot(JOB), knobs={"entropy": "full"})
    )


def test_a_memory_that_names_unknown_tokens_is_refused_before_the_header() -> None:
    memory = snapshot(JOB)
    far = memory.ids.copy()
    far[0, 0] = 10_000
    assert "tokens that this model does not have" in refused(
        replace(JOB, memory=replace(memory, ids=far))
    )
