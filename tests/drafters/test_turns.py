"""Levels of two and three tokens over the turns of a talk: an option that changes no text."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specviz import cli, jobs, recorded
from specviz.drafters.memory import ARRAYS, Snapshot
from specviz.drafters.snapshot import Deep
from specviz.jobs import Job
from specviz.memories import MemoryKeeper, Scopes
from specviz.models.base import InputError
from specviz.models.toy_signs import sign
from specviz.trace import Header, Progress, Step, Trace
from specviz.tracefile import load

KEEP = {"turns": True, "copy": "off", "seed": "none", "levels": "23"}
FIRST = Job(
    model="toy-signs", prompt="What does it say?", pictures=(sign("red"),), max_new_tokens=40,
    knobs=KEEP, baseline=False, scope="s",
)  # fmt: skip


def made(job: Job) -> tuple[Trace, Snapshot | None]:
    keeper, events = MemoryKeeper(job), []
    for event in jobs.run(job):
        keeper.add(event)
        if not isinstance(event, Progress):
            events.append(event)
    return Trace(tuple(events)), keeper.snapshot()


def following(trace: Trace, memory: Snapshot | None, **changed: Any) -> Job:
    """The next turn of the talk in ``trace``."""
    history = recorded.talk(trace)[1]
    job = replace(FIRST, prompt="And what does it say now?", pictures=(), history=history)
    return replace(job, memory=memory, **changed)


def tokens(trace: Trace) -> tuple[int, ...]:
    run = trace.run("decoder")
    assert run is not None
    return run.tokens


def steps(trace: Trace) -> tuple[Step, ...]:
    run = trace.run("decoder")
    assert run is not None
    return run.steps


def earlier_hits(trace: Trace) -> list[int]:
    """The levels of hits that an earlier request wrote."""
    return [
        hit.level
        for step in steps(trace)
        for lookup in step.evidence.lookups  # type: ignore[union-attr]
        for hit in lookup.hits
        if hit.written.step == -2
    ]


@pytest.fixture(scope="module")
def first() -> tuple[Trace, Snapshot]:
    trace, memory = made(FIRST)
    assert memory is not None
    return trace, memory


def test_a_snapshot_carries_the_levels_that_the_run_filled(first: tuple[Trace, Snapshot]) -> None:
    trace, memory = first
    assert [part.order for part in memory.deeper] == [2, 3] and len(memory.tokens) == 0
    emitted = tokens(trace)
    keys = {tuple(key) for part in memory.deeper for key in part.tokens.tolist()}
    assert emitted[3:5] in keys and emitted[3:6] in keys
    assert len(memory) == sum(len(part) for part in memory.deeper) > 40
    assert memory.nbytes == sum(
        getattr(part, name).nbytes for part in (memory, *memory.deeper) for name in ARRAYS
    )


def test_the_next_turn_goes_on_with_them_and_says_the_same(first: tuple[Trace, Snapshot]) -> None:
    cold = made(following(first[0], None))[0]
    warm = made(following(*first))[0]
    assert tokens(warm) == tokens(cold) and len(tokens(warm)) == 40
    assert len(steps(warm)) < len(steps(cold))
    assert set(earlier_hits(warm)) == {2, 3} and earlier_hits(cold) == []
    header = warm.events[0]
    assert isinstance(header, Header) and header.memory_rows == len(first[1])
    assert header.knobs["turns"] is True


def test_without_the_option_every_turn_starts_them_empty(first: tuple[Trace, Snapshot]) -> None:
    knobs = {**KEEP, "turns": False, "levels": "123"}
    trace, memory = made(replace(FIRST, knobs=knobs))
    assert memory is not None and memory.deeper == () and memory.talk == "" and len(memory) > 10
    second = made(following(trace, memory, knobs=knobs))[0]
    assert set(earlier_hits(second)) == {1}
    # What another run kept is not looked at either.
    off = made(following(*first, knobs={**KEEP, "turns": False}))[0]
    assert earlier_hits(off) == [] and off.events[0].memory_rows == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("changed", ["no history", "question", "picture", "system", "answer"])
def test_another_talk_never_sees_them(first: tuple[Trace, Snapshot], changed: str) -> None:
    job = following(*first)
    question, answer = job.history
    job = {
        "no history": replace(job, history=(), pictures=FIRST.pictures, prompt=FIRST.prompt),
        "question": replace(job, history=(replace(question, text="What?"), answer)),
        "picture": replace(job, history=(replace(question, pictures=(sign("blue"),)), answer)),
        "system": replace(job, system="Be brief."),
        "answer": replace(job, history=(question, replace(answer, text="It says stop."))),
    }[changed]
    trace, memory = made(job)
    assert earlier_hits(trace) == []
    assert trace.events[0].memory_rows == 0  # type: ignore[union-attr]
    alone = made(replace(job, memory=None))[1]
    assert memory is not None and alone is not None and memory.talk == alone.talk != ""
    pairs = zip((memory, *memory.deeper), (alone, *alone.deeper), strict=True)
    assert all(np.array_equal(getattr(a, n), getattr(b, n)) for a, b in pairs for n in ARRAYS)


def test_a_third_turn_still_knows_the_first(first: tuple[Trace, Snapshot]) -> None:
    trace, memory = made(following(*first))
    assert memory is not None and "" != memory.talk != first[1].talk != ""
    mine = {tuple(k) for part in first[1].deeper for k in part.tokens.tolist()}
    theirs = {tuple(k) for part in memory.deeper for k in part.tokens.tolist()}
    assert mine < theirs
    third = made(following(trace, memory))[0]
    assert set(earlier_hits(third)) == {2, 3}


def test_a_turn_that_was_asked_otherwise_does_not_see_the_branch_that_was_left(
    first: tuple[Trace, Snapshot],
) -> None:
    """Two second questions after one first: each goes on with what it was itself preceded by."""
    left, memory = made(following(*first))
    other = made(following(first[0], None, prompt="Is it large?"))[0]
    back = replace(following(other, memory), prompt="And now?")
    assert earlier_hits(made(back)[0]) == []
    again = replace(following(first[0], memory), prompt="Is it large?")
    assert earlier_hits(made(again)[0]) == [], "it follows one turn, the memory two"
    assert set(earlier_hits(made(following(left, memory))[0])) == {2, 3}


def test_the_scope_is_a_wall_for_them_too(first: tuple[Trace, Snapshot]) -> None:
    with pytest.raises(InputError, match="belongs to the scope 's', this run to 't'"):
        list(jobs.run(following(*first, scope="t")))
    scopes = Scopes()
    scopes.put(FIRST, first[1])
    assert scopes.get(following(*first, scope="t")) is None
    assert scopes.size("s") == (len(first[1]), first[1].nbytes)
    scopes.clear("s")
    assert scopes.get(following(*first)) is None


@pytest.mark.parametrize("seed", ["none", "level1", "all"])
@pytest.mark.parametrize("rejected", [True, False])
def test_folding_the_events_rebuilds_every_level_of_the_run(seed: str, rejected: bool) -> None:
    """What the keeper carries is what the run itself would have carried."""
    from specviz.decoding import decode
    from specviz.drafters import create
    from specviz.models import registry

    knobs = {**KEEP, "seed": seed, "rejected": rejected, "levels": "123"}
    job = replace(FIRST, knobs=knobs)
    memory = made(job)[1]
    model = registry.load("toy-signs")
    drafter: Any = create("recap", knobs)
    list(decode(model, model.encode(job.messages()), drafter, 40))
    own = drafter.snapshot()
    assert memory is not None and [p.order for p in own.deeper] == [2, 3]
    pairs = zip((own, *own.deeper), (memory, *memory.deeper), strict=True)
    assert all(np.array_equal(getattr(a, n), getattr(b, n)) for a, b in pairs for n in ARRAYS)


def test_poisoned_levels_change_no_token(first: tuple[Trace, Snapshot]) -> None:
    trace, memory = first
    draw = np.random.default_rng(3)

    def poisoned(part: Deep) -> Deep:
        ids = draw.permuted(np.tile(np.arange(part.ids.shape[1]), (len(part), 1)), axis=1) + 1
        return replace(part, ids=ids.astype(np.int32))

    bad = replace(memory, deeper=tuple(map(poisoned, memory.deeper)))
    found = made(following(trace, bad))[0]
    assert tokens(found) == tokens(made(following(trace, None))[0]) and earlier_hits(found)


# Files


def test_a_file_keeps_all_levels_and_the_talk(
    first: tuple[Trace, Snapshot], tmp_path: Path
) -> None:
    first[1].save(tmp_path / "m.npz")
    again = Snapshot.load(tmp_path / "m.npz")
    assert (again.model, again.scope, again.talk) == (first[1].model, "s", first[1].talk)
    pairs = list(zip((again, *again.deeper), (first[1], *first[1].deeper), strict=True))
    assert len(pairs) == 3
    assert all(np.array_equal(getattr(a, n), getattr(b, n)) for a, b in pairs for n in ARRAYS)


def written(path: Path, **arrays: Any) -> Path:
    packed = io.BytesIO()
    np.savez_compressed(packed, **{k: np.array(v) for k, v in arrays.items()})
    path.write_bytes(packed.getvalue())
    return path


ROWS: dict[str, Any] = {
    "model": "w/float32/top", "scope": "s", "tokens": [5], "ids": [[1, 2]],
    "logps": [[-1000, -20000]], "entropies": [4000], "accepted": [1],
}  # fmt: skip


def test_a_memory_of_version_1_is_read(tmp_path: Path) -> None:
    old = Snapshot.load(written(tmp_path / "m.npz", version=1, **ROWS))
    assert old.tokens.tolist() == [5] and old.deeper == () and old.talk == ""
    assert (old.model, old.scope, len(old)) == ("w/float32/top", "s", 1)


def test_other_versions_and_uneven_levels_are_refused_in_a_sentence(tmp_path: Path) -> None:
    def said(**arrays: Any) -> str:
        with pytest.raises(InputError) as caught:
            Snapshot.load(written(tmp_path / "m.npz", **arrays))
        return str(caught.value)

    assert said(version=3, **ROWS) == (
        "m.npz holds a memory of version 3, this specviz reads versions 1 and 2: start with an "
        "empty memory."
    )
    deep = {f"{n}_2": ROWS[n] for n in ARRAYS} | {"tokens_2": [[5, 6]], "talk": "t"}
    assert (
        Snapshot.load(written(tmp_path / "m.npz", version=2, **ROWS, **deep)).deeper[0].order == 2
    )
    for wrong in ({"tokens_2": [[5, 6, 7]]}, {"tokens_2": [5]}, {"ids_2": [[1, 2], [1, 2]]},
                  {"accepted_2": []}, {"logps_2": [[1]]}):  # fmt: skip
        assert "unequal lengths" in said(version=2, **ROWS, **{**deep, **wrong})
    del deep["ids_2"]
    assert "not a saved memory" in said(version=2, **ROWS, **deep)


def test_levels_that_name_unknown_tokens_are_refused(first: tuple[Trace, Snapshot]) -> None:
    trace, memory = first
    far = memory.deeper[0].tokens.copy()
    far[0, 1] = 10_000
    bad = replace(memory, deeper=(replace(memory.deeper[0], tokens=far), memory.deeper[1]))
    with pytest.raises(InputError, match="tokens that this model does not have"):
        list(jobs.run(following(trace, bad)))


def test_the_command_line_says_what_a_memory_holds_and_goes_on_with_it(
    tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "red.png").write_bytes(sign("red").png)
    kept = str(tmp_path / "m.npz")
    common = ["run", "--model", "toy-signs", "--memory", kept, "--max-new-tokens",
              "20", "--no-baseline", "--knob", "turns=true", "--knob", "seed=none"]  # fmt: skip
    one, two = str(tmp_path / "1.jsonl"), str(tmp_path / "2.jsonl")
    asked = ["--image", str(tmp_path / "red.png"), "--prompt", "What is it?", "-o", one]
    assert cli.main([*common, *asked]) == 0
    capsys.readouterr()
    assert cli.main(["memory", str(tmp_path / "m.npz")]) == 0
    memory = Snapshot.load(tmp_path / "m.npz")
    deeper = sum(len(part) for part in memory.deeper)
    lines = capsys.readouterr().out.splitlines()
    assert f"{deeper} of them are of levels 2 and 3, for the next turn of one talk alone" in lines
    assert deeper > 20
    assert cli.main([*common, "--after", one, "--prompt", "Sure?", "-o", two]) == 0
    assert {2, 3} <= set(earlier_hits(load(two)))
