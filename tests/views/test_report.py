"""Many runs: every ended walk is counted once, under one fact, however the runs are cut up."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from specviz import metrics
from specviz.evidence import Lookup, MemoryEvidence
from specviz.trace import Header, Trace, Turn
from specviz.tracefile import load
from specviz.views import report_words
from specviz.views.outcomes import FACTS
from specviz.views.report import BY, COLUMNS, Group, buckets, plain, pool, report, to_csv
from tests.views.conftest import FIRST, SECOND, THIRD, finish, header, node, prefill, seconds

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.jsonl.gz"))


@pytest.fixture(scope="module")
def recorded() -> list[tuple[str, Trace]]:
    return [(path.name, load(path)) for path in EXAMPLES]


def run(decoder: str = "recap", model: str = "toy", nodes: int = 12, asked: str = "") -> Trace:
    head: Header = header("decoder", decoder).model_copy(
        update={
            "model": model, "knobs": {"nodes": nodes},
            "messages": (Turn(role="user", text=asked),),
        }
    )  # fmt: skip
    return Trace((head, prefill("decoder"), FIRST, SECOND, THIRD, finish("decoder")))


def step_with(evidence: MemoryEvidence | None, guesses: int):
    nodes = (node(1, -1, "root", 5), *(node(2, 0, "lookup", 3) for _ in range(guesses)))
    return SECOND.model_copy(
        update={"nodes": nodes, "walk": (), "emitted": (5,), "evidence": evidence,
                "seconds": seconds(0, 1, 0, 1)}
    )  # fmt: skip


def asked(*lookups: Lookup) -> MemoryEvidence:
    return MemoryEvidence(kind="memory", lookups=lookups, tallies={}, sizes={})


def one(events: tuple) -> Group:
    (group,) = report([("x", Trace((header("decoder", "recap"), prefill("decoder"), *events)))])
    return group


def test_two_runs_are_pooled() -> None:
    (group,) = report([("a", run()), ("b", run(nodes=3))])
    assert (group.decoder, group.models, len(group.settings), group.runs) == (
        "recap", ("toy",), 2, 2,
    )  # fmt: skip
    assert group.tokens == 10 and group.tau == 4 / 3
    assert group.acceptance == 2 / 4  # a run: 1 of 2, 0 of 1, 1 of 1 tested
    assert [(o.run, o.step, o.position, o.fact, o.depth, o.level, o.rank) for o in group.ends] == [
        ("a", 1, 3, "budget", 2, 2, 3), ("a", 2, 4, "unknown", 1, None, None),
        ("b", 1, 3, "budget", 2, 2, 3), ("b", 2, 4, "unknown", 1, None, None),
    ]  # fmt: skip
    assert group.unknown == [("‹E2 80›", 2)]


def test_acceptance_and_tau_are_those_of_one_run_where_there_is_one(
    recorded: list[tuple[str, Trace]],
) -> None:
    for name, trace in recorded:
        whole = trace.run()
        assert whole is not None
        (group,) = report([(name, trace)])
        assert group.tau == metrics.tau(whole)
        assert group.acceptance == metrics.acceptance(whole)
        assert group.recycled_hits == metrics.recycled_hits(whole)


@pytest.mark.parametrize(
    ("evidence", "guesses", "fact", "drafted"),
    [
        (None, 0, "nothing", False),
        (None, 2, "refused", True),
        (asked(), 1, "refused", True),
        (asked(Lookup(node=0, expanded=True, hits=(), candidates=())), 0, "silent", False),
        (asked(Lookup(node=0, expanded=True, hits=(), candidates=((1, 0.5, 1, -1, "cost"),))), 0,
         "unknown", False),
        (asked(Lookup(node=0, expanded=True, hits=(), candidates=((5, 0.5, 1, -1, "cost"),))), 0,
         "cost", False),
        (asked(Lookup(node=0, expanded=False, hits=(), candidates=((5, 0.5, 1, -1, ""),))), 0,
         "leaf", False),
    ],
)  # fmt: skip
def test_every_end_has_one_fact(evidence, guesses: int, fact: str, drafted: bool) -> None:
    (end,) = one((step_with(evidence, guesses),)).ends
    assert (end.fact, end.drafted, end.wanted) == (fact, drafted, "‹E2 80›")


def test_a_walk_that_the_limit_ended_is_no_failure() -> None:
    group = one((THIRD,))
    assert group.ends == () and len(group.outcomes) == 1
    assert buckets(group, "depth") == [] and buckets(group, "step")[0].facts == {}


def test_counts_by_level_rank_depth_position_step_category_and_run() -> None:
    traces = [("a", run(asked=" tea? ")), ("b", run())]
    (group,) = report(traces, {"tea?": "chat"})

    def counted(by: str) -> list[tuple[str, int | None, dict[str, int]]]:
        return [(b.label, b.steps, b.facts) for b in buckets(group, by)]

    both = {"budget": 2, "unknown": 2}
    assert counted("fact") == [("all", 6, both)]
    assert counted("level") == [("L2", None, {"budget": 2}), ("", None, {"unknown": 2})]
    assert counted("rank") == [("3", None, {"budget": 2}), ("", None, {"unknown": 2})]
    assert counted("depth") == [("1", None, {"unknown": 2}), ("2", None, {"budget": 2})]
    assert counted("position") == [("2–4", 4, both), ("5–8", 2, {})]
    assert counted("step") == [("1", 2, {"budget": 2}), ("2–4", 4, {"unknown": 2})]
    assert counted("run") == [
        ("a", 3, {"budget": 1, "unknown": 1}), ("b", 3, {"budget": 1, "unknown": 1})
    ]  # fmt: skip
    assert [label for label, _, _ in counted("category")] == ["chat", ""]
    assert [b.tau for b in buckets(group, "step")] == [2.0, 1.0]


@pytest.mark.parametrize("by", BY)
def test_no_end_is_lost_or_counted_twice(by: str, recorded: list[tuple[str, Trace]]) -> None:
    for group in report(recorded):
        found = buckets(group, by)
        assert sum(b.ends for b in found) == len(group.ends)
        assert all(sum(b.facts.values()) == b.ends and set(b.facts) <= {*FACTS} for b in found)
        if found and found[0].steps is not None:
            assert sum(b.steps or 0 for b in found) == len(group.outcomes)


def test_decoders_are_kept_apart_and_groups_can_be_pooled_later() -> None:
    traces = [("a", run()), ("b", run("token_recycling", "other")), ("c", run(model="other"))]
    groups = report(traces)
    assert [(g.decoder, g.runs, g.models) for g in groups] == [
        ("recap", 2, ("other", "toy")), ("token_recycling", 1, ("other",)),
    ]  # fmt: skip
    assert pool(g for t in traces for g in report([t])) == groups
    assert report([("x", Trace(()))]) == []


def test_the_lines_say_it_in_words() -> None:
    groups = report([("a", run()), ("b", run(model="<b>\x1b[2J", nodes=3))])
    assert list(report_words.lines(groups, "fact")) == [
        "recap on <b>\\x1b[2J, toy: 2 runs, 10 tokens in 6 steps",
        "1.33 tokens a pass (tau), 50 % of the tested guesses accepted",
        "0 accepted guesses came from memory rows that refused branches had written",
        "these runs are of 2 different models: compare with care",
        "these runs had 2 different sets of knobs",
        "4 walks ended at no right guess, 0 of them where no guess was drafted, whatever the "
        "reason",
        "     2   50.0 %  known, tree was full",
        "     2   50.0 %  memory said something else",
        "most often wanted and unknown: ‹E2 80› ×2",
    ]
    assert list(report_words.lines(groups, "depth"))[6:9] == [
        "depth  ended  known, tree was full  memory said something else",
        "1          2                     0                           2",
        "2          2                     2                           0",
    ]


def test_the_picture_draws_the_counts_and_reads_no_markup() -> None:
    (group,) = report([("<b>${a}", run())])
    bars = report_words.picture(group, "fact").data
    assert [(list(b.x), list(b.y)) for b in bars] == [
        ([1, 1], ["known, tree was full<br>1 (50.0 %)", "memory said something else<br>1 (50.0 %)"])
    ]
    first, second = report_words.picture(group, "run").data
    assert list(first.x) == list(second.x) == [1]
    assert list(first.y) == ["&#60;b&#62;&#36;&#123;a&#125;"]
    nothing = report_words.picture(None, "fact")
    assert nothing.layout.annotations[0].text == "No walk has ended at a wrong guess yet."


def test_plain_data_and_csv_hold_every_count() -> None:
    groups = report([("=a", run())])
    found = plain(groups[0])
    assert found["by"]["fact"] == [
        {"bucket": "all", "steps": 3, "tau": 4 / 3, "ends": 2,
         "facts": {"budget": 1, "unknown": 1}}
    ]  # fmt: skip
    assert (found["ends"], found["nothing_drafted"], found["settings"]) == (2, 0, 1)
    rows = list(csv.reader(io.StringIO(to_csv(groups))))
    assert tuple(rows[0]) == COLUMNS
    assert ["recap", "run", "'=a", "3", "1.3333", "2", "unknown", "1", "0.5"] in rows
