"""Fully rejected steps against tokens that the picture decides: every count by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz.probes import (
    LEAST_RUNS,
    Cross,
    Place,
    Reading,
    associations,
    cross,
    interval,
    readings,
    shifts,
    within,
)
from specviz.trace import Header, Node, Prefill, Probe, Seconds, Shown, Step, Trace
from specviz.views.report import report
from specviz.views.report import to_csv as report_csv

SHOWN = Shown(width=1, height=1, data="")
SPENT = Seconds(draft=0, verify=0, commit=0, total=0)


def node(token: int, parent: int, pick: int) -> Node:
    return Node(
        token=token, parent=parent, source="level1", order=0, score=None, logp=None, pick=pick,
        margin=1.0, top=((pick, -0.1),), tail=0.0,
    )  # fmt: skip


def step(index: int, root: int, *emitted: int, guesses: int = 1, clipped: int = 0) -> Step:
    """A step that emits ``emitted``: all but the last were guessed, the last is the model's own, or
    with ``clipped`` more guesses were right than could be kept. Wrong guesses are token 99."""
    right = emitted[:-1] if not clipped else (*emitted, *range(50, 49 + clipped))
    nodes, walk = [node(root, -1, emitted[0])], []
    for i, token in enumerate(right):
        after = emitted[i + 1] if i + 1 < len(emitted) else 50 + i
        nodes.append(node(token, walk[-1] if walk else 0, after))
        walk.append(len(nodes) - 1)
    nodes += [node(99, walk[-1] if walk else 0, 1) for _ in range(guesses)]
    return Step(
        index=index, nodes=tuple(nodes), walk=tuple(walk), emitted=emitted, seconds=SPENT,
        cache_length=0,
    )  # fmt: skip


def header() -> Header:
    return Header(
        run="r", decoder="recap", knobs={}, model="m", digest="d", device="cpu", dtype="float32",
        machine="m", versions={}, messages=(), tokens=(1,), max_new_tokens=20, vocab_size=200,
        eos_ids=(),
    )  # fmt: skip


# The answer 10 … 20: fully rejected at 1, right at 2 and 3, nothing guessed at 4, fully rejected
# at 5, right at 6 … 8, fully rejected at 9, and the end clips a walk at 10.
STEPS = (
    step(0, 10, 11), step(1, 11, 12, 13), step(2, 13, 14, guesses=0), step(3, 14, 15),
    step(4, 15, 16, 17, 18), step(5, 18, 19, guesses=3), step(6, 19, 20, clipped=2, guesses=0),
)  # fmt: skip
ANSWER = tuple(range(10, 21))


def trace(*probes: Probe, steps: tuple[Step, ...] = STEPS) -> Trace:
    first = Prefill(seconds=0, token=10, margin=1, top=())
    return Trace((header(), first, *steps, *probes))


def probe(*changed: int, kind: str = "blank", shift: float = -2.0, rows: int = 11) -> Probe:
    """A probe that changes the tokens at ``changed`` by ``shift`` nats, all others by -0.5."""
    return Probe(
        kind=kind, replaced=0, name="", digest="", seen=SHOWN, kept=ANSWER[:rows],
        picks=tuple(77 if i in changed else ANSWER[i] for i in range(rows)),
        kept_logps=(-0.25,) * rows,
        logps=tuple(-0.25 + (shift if i in changed else -0.5) for i in range(rows)),
    )  # fmt: skip


def test_the_steps_are_those_that_the_names_say() -> None:
    assert [(s.walk == (), len(s.nodes) - 1, s.clipped) for s in STEPS] == [
        (True, 1, False), (False, 2, False), (True, 0, False), (True, 1, False),
        (False, 3, False), (True, 3, False), (False, 2, True),
    ]  # fmt: skip


def test_a_step_stands_where_its_first_token_does() -> None:
    (found,) = readings(trace(probe(0, 1, 3, 4, 6, 8)))
    # 0 is the prefill's token and no step's; 3 and 8 are not the first of theirs.
    assert (found.kind, found.tokens, found.changed) == ("blank", 11, 6)
    assert found.places == (
        Place(0, 1, True, True, 2.0), Place(1, 2, False, False, 0.5),
        Place(3, 5, True, False, 0.5), Place(4, 6, False, True, 2.0),
        Place(5, 9, True, False, 0.5), Place(6, 10, False, False, 0.5),
    )  # fmt: skip
    assert (found.undrafted, found.undrafted_dependent) == (1, 1)
    assert found.shift == pytest.approx((6 * 2.0 + 5 * 0.5) / 11)
    table = cross(found.places)
    assert table == Cross(1, 2, 1, 2)
    assert (table.rejected, table.held, table.steps) == (3, 3, 6)
    assert (table.rejected_rate, table.held_rate, table.base) == (1 / 3, 1 / 3, 1 / 3)
    assert (table.difference, table.odds_ratio) == (0.0, 1.0)


def test_probes_of_one_kind_are_one_reading_and_kinds_are_kept_apart() -> None:
    both = trace(probe(1), probe(6, shift=-4.0), probe(9, kind="other"), probe(kind="shuffled"))
    other, blank, shuffled = readings(both)
    assert [r.kind for r in (other, blank, shuffled)] == ["other", "blank", "shuffled"]
    assert [p.position for p in blank.places if p.depends] == [1, 6]
    assert [p.shift for p in blank.places] == [2.0, 0.5, 0.5, 4.0, 0.5, 0.5]
    assert [p.position for p in other.places if p.depends] == [9]
    assert cross(shuffled.places) == Cross(0, 3, 0, 3)
    assert [a.kind for a in associations((*readings(both), *readings(both)))] == [
        "other", "blank", "shuffled",
    ]  # fmt: skip


def test_a_probe_of_a_part_counts_the_steps_that_it_reached() -> None:
    (found,) = readings(trace(probe(1, rows=6)))
    assert [p.position for p in found.places] == [1, 2, 5] and found.tokens == 6
    assert readings(trace(probe(rows=0))) == ()
    assert readings(trace()) == () and readings(Trace((probe(1),))) == ()


def test_one_impossible_token_does_not_decide_a_mean() -> None:
    assert shifts(probe(1, shift=-9000.0))[:3] == (-0.5, -20.0, -0.5)
    (found,) = associations(readings(trace(probe(1, shift=-9000.0))))
    assert (found.rejected_shift, found.held_shift) == ((20 + 0.5 + 0.5) / 3, 0.5)


def test_what_is_not_defined_is_none() -> None:
    empty = Cross(0, 0, 0, 0)
    assert (empty.base, empty.rejected_rate, empty.difference, empty.odds_ratio) == (None,) * 4
    assert Cross(3, 1, 0, 4).odds_ratio is None and Cross(3, 1, 0, 4).difference == 0.75
    assert Cross(3, 1, 2, 4).odds_ratio == 6.0
    assert within([(0, 0, 0, 0), (1, 0, 0, 1)]) is None
    only = trace(probe(1), steps=STEPS[2:3])
    (found,) = associations(readings(only))
    assert (found.cross, found.rejected_shift, found.undrafted_dependent) == (empty, None, 1)


def reading(table: tuple[int, int, int, int]) -> Reading:
    places = [
        Place(0, 1, row == 0, column == 0, 1.0)
        for (row, column), n in zip(((0, 0), (0, 1), (1, 0), (1, 1)), table, strict=True)
        for _ in range(n)
    ]
    return Reading("blank", 10, 3, 0.5, tuple(places))


def test_within_runs_takes_out_what_only_differs_between_them() -> None:
    # Both runs: no relation. Pooled: the run that is all about the picture is also hard to guess.
    tables = [(8, 2, 4, 1), (1, 4, 2, 8)]
    (pooled,) = associations(map(reading, tables))
    assert pooled.cross == Cross(9, 6, 6, 9) and pooled.cross.odds_ratio == 2.25
    assert pooled.within == pytest.approx(1.0)
    assert pooled.interval is None and pooled.runs == 2
    assert pooled.all_tokens == 6 / 20


def test_the_interval_draws_whole_runs() -> None:
    assert interval([(1, 1, 1, 1)] * (LEAST_RUNS - 1)) is None
    same = [(3, 1, 1, 3)] * 8
    assert interval(same) == (0.5, 0.5), "runs alike: no run can change it"
    mixed = [(4, 0, 0, 4)] * 6 + [(0, 4, 4, 0)] * 6
    low, high = interval(mixed) or (0, 0)
    # With k of 12 drawn runs from the first half the difference is (k - 6) / 6; k is within 3 … 9.
    assert (low, high) == (-0.5, 0.5)
    assert interval(mixed) == (low, high), "the same every time"
    # No step was fully rejected, so no draw has a difference.
    assert interval([(0, 0, 1, 1)] * 8) is None


def test_a_report_pools_runs_by_decoder() -> None:
    one, two = trace(probe(1)), trace(probe(1, 2))
    other = Trace((header().model_copy(update={"decoder": "x"}), *one.events[1:]))
    first, second = report([("a", one), ("b", two), ("c", other), ("d", trace())])
    assert [(a.runs, a.cross) for a in first.pictures] == [(2, Cross(2, 4, 1, 5))]
    assert [(a.runs, a.cross) for a in second.pictures] == [(1, Cross(1, 2, 0, 3))]
    rows = [line for line in report_csv([first]).splitlines() if "picture-" in line]
    assert rows == [
        "recap,picture-blank,rejected,6,,6,dependent,2,0.3333",
        "recap,picture-blank,rejected,6,,6,free,4,0.6667",
        "recap,picture-blank,held,6,,6,dependent,1,0.1667",
        "recap,picture-blank,held,6,,6,free,5,0.8333",
    ]
    nothing = replace(first, readings=())
    assert nothing.pictures == () and "picture-" not in report_csv([nothing])
