"""Work and right guesses of waves, on runs small enough to count by hand."""

from __future__ import annotations

import pytest

from specviz import metrics, waves
from specviz.evidence import Cell, Round, WaveEvidence
from specviz.trace import Step, Trace
from tests.test_metrics import header, node, prefill, step


def trace_of(*events: Step, depth: int | None = 8) -> Trace:
    """A run that began with token 0, on a model of ``depth`` iterations."""
    head = header("decoder", "das_wave").model_copy(update={"depth": depth})
    return Trace((head, prefill("decoder"), *events))


def waved() -> Step:
    """A draft of two in two rounds: the first guess is right at once, the second never.

    Round 1 iterates both positions twice, round 2 the second one twice: 4 calls, 6 applications,
    3 readouts. Verifying three rows takes 8 calls, 24 applications.
    """
    evidence = WaveEvidence(
        kind="wave", depth=8, keys=8, values=8, carry=True, end="rounds",
        rounds=(
            Round(iterations=2, parked=0, cells=(
                Cell(1, 0.9, 2, "new"), Cell(7, 0.2, 2, "new"))),
            Round(iterations=2, parked=1, cells=(
                Cell(1, 0.9, 2, "frozen"), Cell(9, 0.4, 4, "changed"))),
        ),
        calls=4, applications=6, readouts=3,
    )  # fmt: skip
    tree = [node(0, -1, 1), node(1, 0, 2), node(9, 1, 3)]
    return step(0, tree, (1,), (1, 2), 1).model_copy(update={"evidence": evidence})


def test_the_ledger_counts_drafting_and_verifying_per_emitted_token() -> None:
    plain = step(1, [node(2, -1, 7)], (), (7,), 1)
    run = trace_of(waved(), plain).run()
    assert run is not None
    assert waves.core_calls(run) == (4, 16, 3)
    assert waves.core_calls(run).per_token == pytest.approx(20 / 3)
    assert waves.applications(run) == (6, 8 * 3 + 8, 3)
    assert waves.applications(run).total == 38
    facts = metrics.run_summary(run)
    assert (facts["depth"], facts["calls_per_token"]) == (8, pytest.approx(20 / 3))
    assert facts["applications_per_token"] == pytest.approx(38 / 3)
    only = trace_of(plain).run()
    assert waves.core_calls(only).per_token == waves.applications(only).per_token == 8
    assert waves.core_calls(trace_of().run()).per_token is None
    ordinary = trace_of(plain, depth=None).run()
    assert waves.core_calls(ordinary) is None
    assert metrics.run_summary(ordinary)["calls_per_token"] is None


def test_guesses_are_compared_with_what_stands_there_in_the_end() -> None:
    """The answer is 0 1 2: the draft's first guess, 1, is right, its second, 7 then 9, is not."""
    run = trace_of(waved()).run()
    assert run is not None
    assert waves.in_place(run) == [(1, 2)]
    longer = trace_of(waved(), step(1, [node(2, -1, 7)], (), (7,), 1)).run()
    assert waves.in_place(longer) == [(1, 2, 7), (7,)]
    assert waves.agreement(run) == ((2, 2, 1), (4, 1, 0))
    assert waves.agreement(run, "round") == ((1, 2, 1), (2, 1, 0))
    assert waves.agreement(run, "position") == ((1, 1, 1), (2, 2, 0))
    cut = waved().model_copy(update={"emitted": (1,)})
    assert waves.agreement(trace_of(cut).run()) == ((2, 1, 1),)
    more = trace_of(cut, step(1, [node(1, -1, 9)], (), (9,), 1)).run()
    assert waves.in_place(more) == [(1, 9), (9,)]
    assert waves.agreement(more) == ((2, 2, 1), (4, 1, 1))
