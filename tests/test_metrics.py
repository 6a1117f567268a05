"""The figures, on runs small enough to count by hand."""

from __future__ import annotations

import pytest

from specviz import metrics
from specviz.compare import first_difference
from specviz.equality import tie_cap
from specviz.trace import (
    Check,
    Costs,
    Finish,
    Header,
    Node,
    Prefill,
    Seconds,
    Step,
    Trace,
)


def node(token: int, parent: int, pick: int) -> Node:
    return Node(
        token=token, parent=parent, source="test", order=0, score=None, logp=None,
        pick=pick, margin=1.0, top=((pick, -0.1),), tail=0.0,
    )  # fmt: skip


def step(index: int, nodes, walk, emitted, total: float) -> Step:
    return Step(
        index=index, nodes=tuple(nodes), walk=tuple(walk), emitted=tuple(emitted), cache_length=1,
        seconds=Seconds(draft=total / 4, verify=total / 2, commit=0.0, total=total),
    )  # fmt: skip


def header(role: str, decoder: str) -> Header:
    return Header(
        role=role, run="r", decoder=decoder, knobs={}, model="toy", digest="d", device="cpu",
        dtype="float32", machine="m", versions={}, messages=(), tokens=(1, 2), max_new_tokens=9,
        vocab_size=99,
        eos_ids=(),
    )  # fmt: skip


END = Finish(role="baseline", reason="length", tokens=2, seconds=1.0)


def ten_nodes() -> list[Node]:
    """A root and ten drafts; 1 and 2 are right, 2 has a child that is not."""
    tree = [node(0, -1, 1), node(1, 0, 2), node(2, 1, 50), node(9, 2, 9)]
    return [*tree, *(node(60 + i, 0, 9) for i in range(7))]


def prefill(role: str) -> Prefill:
    return Prefill(role=role, seconds=0.5, token=0, margin=1.0, top=((0, -0.1),))


def test_the_worked_example() -> None:
    """Ten drafted, two accepted, one more tested and refused, the bonus emitted."""
    run = Trace(
        (
            header("decoder", "recap"),
            prefill("decoder"),
            step(0, ten_nodes(), (1, 2), (1, 2, 50), 1),
        ),
    ).run()
    assert metrics.tau(run) == 3
    assert metrics.acceptance(run) == pytest.approx(2 / 3)
    assert metrics.run_summary(run)["nodes_verified"] == 10
    assert metrics.run_summary(run)["tokens"] == 4
    assert metrics.tested(run.steps[0]) == 3


def test_a_walk_that_ends_at_a_leaf_has_refused_nothing() -> None:
    full = step(0, [node(0, -1, 1), node(1, 0, 2)], (1,), (1, 2), 1.0)
    assert metrics.tested(full) == 1
    empty = step(0, [node(0, -1, 1)], (), (1,), 1.0)
    assert metrics.tested(empty) == 0
    run = Trace((header("decoder", "x"), prefill("decoder"), empty)).run()
    assert metrics.acceptance(run) is None and metrics.tau(run) == 1


def test_what_is_discarded_after_the_end_counts_nowhere() -> None:
    clipped = step(0, ten_nodes(), (1, 2), (1,), 1.0)
    assert clipped.accepted == (1,) and clipped.clipped
    assert metrics.tested(clipped) == 1
    run = Trace((header("decoder", "x"), prefill("decoder"), clipped)).run()
    assert metrics.tau(run) == 1 and metrics.acceptance(run) == 1


def test_speedups_are_ratios_of_seconds_per_token() -> None:
    trace = Trace(
        (
            header("decoder", "recap"),
            prefill("decoder"),
            step(0, ten_nodes(), (1, 2), (1, 2, 50), 0.9),
            Finish(reason="length", tokens=4, seconds=1.4),
            header("baseline", "autoregressive"),
            prefill("baseline"),
            *(
                step(i, [node(0, -1, t)], (), (t,), 0.4).model_copy(update={"role": "baseline"})
                for i, t in enumerate((1, 2, 50))
            ),
            Finish(role="baseline", reason="length", tokens=4, seconds=1.7),
            Check(equal=True),
        )
    )
    assert metrics.speedup_decode(trace) == pytest.approx(0.4 / 0.3)
    assert metrics.speedup_total(trace) == pytest.approx((1.7 / 4) / (1.4 / 4))
    summary = metrics.summary(trace)
    assert summary["passes_saved"] == 2 and summary["equal"] is True
    assert summary["decoder"]["seconds"] == {
        "prefill": 0.5, "draft": 0.225, "verify": 0.45, "commit": 0.0, "decode": 0.9, "total": 1.4,
    }  # fmt: skip


def measured(*steps: Step, costs: Costs | None) -> Trace:
    """Steps beside a plain run of half a second per token; drafting a quarter, verifying half."""
    return Trace(
        (
            header("decoder", "recap").model_copy(update={"costs": costs}), prefill("decoder"),
            *steps, header("baseline", "autoregressive"), prefill("baseline"),
            step(0, [node(0, -1, 1)], (), (1,), 0.5).model_copy(update={"role": "baseline"}),
            END,
        )
    )  # fmt: skip


# Two rows cost more than four, so c*(2) = c*(4) = 1.05; up to 16 it rises by 0.1 a row.
COSTS = Costs(context=128, rows=(1, 2, 4, 16), seconds=(0.04, 0.05, 0.042, 0.09))


def test_the_ceiling_is_tokens_per_measured_cost_of_the_passes() -> None:
    """Eleven rows cost 1.05 + 7 x 0.1 = 1.75 passes, one row costs 1: four tokens for 2.75."""
    steps = (
        step(0, ten_nodes(), (1, 2), (1, 2, 50), 1.5),
        step(1, [node(50, -1, 7)], (), (7,), 0.5),
    )
    trace = measured(*steps, costs=COSTS)
    run = trace.run()
    assert run is not None
    assert metrics.rows_per_pass(run) == 6
    assert metrics.curve_cost(run) == pytest.approx(2.75 / 2)
    assert metrics.ceiling(run) == pytest.approx(4 / 2.75)
    assert metrics.free_rows(run) == 4
    assert metrics.run_summary(run)["ceiling"] == metrics.ceiling(run)


def test_a_speed_up_is_tokens_per_step_over_what_a_step_cost() -> None:
    """Two steps took 2 s, four plain tokens: a step cost 2, half of it the pass."""
    steps = (
        step(0, ten_nodes(), (1, 2), (1, 2, 50), 1.5),
        step(1, [node(50, -1, 7)], (), (7,), 0.5),
    )
    trace = measured(*steps, costs=None)
    assert metrics.breakdown(trace) == {
        "speed": 1.0, "tau": 2.0, "cost": 2.0, "pass": 1.0, "draft": 0.5, "upkeep": 0.5,
        "prefill": 0.2,
    }  # fmt: skip
    assert metrics.speedup_decode(trace) == 1.0
    assert metrics.breakdown(Trace(trace.events[:4])) is None


@pytest.mark.parametrize(("each", "above"), [(0.344, False), (0.33, False), (0.3, True)])
def test_a_speed_up_far_above_the_ceiling_is_in_doubt(each: float, above: bool) -> None:
    """Four tokens for 2.75 passes, 1.45; against plain tokens of 0.5 s that takes 1.375 s."""
    steps = (
        step(0, ten_nodes(), (1, 2), (1, 2, 50), 3 * each),
        step(1, [node(50, -1, 7)], (), (7,), each),
    )
    assert metrics.above_ceiling(measured(*steps, costs=COSTS)) is above
    assert metrics.above_ceiling(measured(*steps, costs=None)) is False


def test_no_curve_no_ceiling() -> None:
    run = measured(step(0, ten_nodes(), (1, 2), (1, 2, 50), 1), costs=None).run()
    assert run is not None
    found = [metrics.ceiling(run), metrics.curve_cost(run), metrics.free_rows(run)]
    assert found == [None, None, None]
    assert metrics.rows_per_pass(run) == 11


def test_every_emitted_token_has_an_origin() -> None:
    kept = step(0, ten_nodes(), (1, 2), (1, 2, 50), 1)
    clipped = step(1, ten_nodes(), (1, 2), (1, 2), 1)
    run = Trace((header("decoder", "recap"), prefill("decoder"), kept, clipped)).run()
    assert run is not None
    assert metrics.origins(run) == ["target", "test", "test", "target", "test", "test"]


def test_a_loss_is_shown_as_a_loss() -> None:
    trace = Trace(
        (
            header("decoder", "recap"), prefill("decoder"), step(0, ten_nodes(), (), (1,), 0.8),
            header("baseline", "autoregressive"), prefill("baseline"),
            step(0, [node(0, -1, 1)], (), (1,), 0.4).model_copy(update={"role": "baseline"}),
            END,
        )
    )  # fmt: skip
    assert metrics.speedup_decode(trace) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("left", "right", "at"),
    [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1,), (1, 2), 1), ((), (), None)],
)
def test_first_difference(left, right, at) -> None:
    assert first_difference(left, right) == at


def test_tie_caps_are_two_units_in_the_last_place() -> None:
    assert tie_cap("bfloat16", 20.0) == 0.25
    assert tie_cap("bfloat16", -15.9) == 0.125
    assert tie_cap("float16", 20.0) == 0.03125
    assert tie_cap("float32", 20.0) == 1e-3


def test_a_plain_run_that_goes_on_gives_no_verdict_yet() -> None:
    """Its first tokens may be slow or quick; the verdict would change while people look."""
    kept = step(0, ten_nodes(), (1, 2), (1, 2, 50), 1)
    plain = step(0, [node(0, -1, 1)], (), (1,), 0.5).model_copy(update={"role": "baseline"})
    begun = (
        header("decoder", "recap"), prefill("decoder"), kept,
        header("baseline", "autoregressive"), prefill("baseline"), plain,
    )  # fmt: skip
    for events, speed in ((begun, None), ((*begun, END), 1.5)):
        trace = Trace(events)
        assert metrics.speedup_decode(trace) == speed
        assert (metrics.breakdown(trace) is None) is (speed is None)
        assert (metrics.speedup_total(trace) is None) is (speed is None)
