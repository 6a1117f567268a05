"""What memory offered: reasons, branch scores as the tree had them, what would have been right."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from specviz import metrics
from specviz.evidence import Candidate, Lookup, MemoryEvidence
from specviz.trace import Trace
from specviz.tracefile import load
from specviz.views.candidates import COLUMNS, Offer, candidates, select, table, to_csv
from tests.views.conftest import FIRST, header, prefill

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.jsonl.gz"))
OFFERS = [
    Offer(1, 1, 2, "␣<b>", "&lt;", 1, 0.5, 0.5, 2, "", True, False),
    Offer(1, 1, 2, "␣<b>", "=1", 0, 0.3, 0.5, 3, "", True, False),
    # 0.5 (the branch so far) x 2 (the drafted sibling got 0.5 for 0.5 x 0.5) x 0.1
    Offer(1, 1, 2, "␣<b>", "</script>", 2, 0.1, 0.1, None, "budget", True, True),
    Offer(2, 0, 1, "</script>", "%{y}", 1, 0.9, 0.5, 1, "", True, False),
]


def test_everything_that_was_offered_with_its_reason(trace: Trace) -> None:
    assert candidates(trace) == OFFERS
    assert candidates(Trace(())) == []


def lookups(*found: Lookup) -> Trace:
    evidence = MemoryEvidence(kind="memory", lookups=found, tallies={}, sizes={})
    step = FIRST.model_copy(update={"evidence": evidence})
    return Trace((header("decoder", "recap"), prefill("decoder"), step))


def test_only_where_the_walk_came_by_is_known_what_would_have_been_right() -> None:
    # Node 2 was refused; what the model would say after it is no fact about the answer.
    beside = Lookup(node=2, expanded=True, hits=(), candidates=(Candidate(1, 0.4, 1, -1, "cost"),))
    after = Lookup(node=1, expanded=False, hits=(), candidates=(Candidate(4, 0.4, 1, -1, ""),))
    rows = candidates(lookups(beside, after))
    assert [(r.node, r.cut, r.on_path, r.right, r.score) for r in rows] == [
        (2, "cost", False, None, None), (1, "leaf", True, True, None)
    ]  # fmt: skip
    assert [r.candidate for r in select(rows)] == ["</script>"]


def test_where_the_limit_ended_the_answer_nothing_was_wanted(trace: Trace) -> None:
    step = FIRST.model_copy(update={"emitted": (2,)})
    rows = candidates(Trace((*trace.events[:2], step)))
    assert [(r.candidate, r.on_path, r.right) for r in rows][-1] == ("</script>", False, None)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name.split(".")[0])
def test_the_score_of_what_was_cut_is_reckoned_as_the_drafter_did(path: Path) -> None:
    """The tree takes the largest scores first: where it ended for lack of room, or because more
    would not have paid, the cut candidate's reckoned score is its real one, and no drafted guess
    has less."""
    trace = load(path)
    run = trace.run()
    assert run is not None
    full = [c for c in candidates(trace) if c.cut in ("budget", "cost") and c.score is not None]
    for c in full:
        step = run.steps[c.step - 1]
        drafted = metrics.given(step)
        least = min((step.nodes[n].score or 0.0 for n in drafted), default=1.0)
        assert c.score is not None and c.score <= least + 1e-3
    if run.header.decoder == "recap":
        assert len(full) > (50 if len(run.steps) > 30 else 1)


def test_rows_are_selected_by_what_became_of_them_and_by_text() -> None:
    assert select(OFFERS) == OFFERS[2:3]
    assert select(OFFERS, "cut") == OFFERS[2:3]
    assert select(OFFERS, "all", "%{") == OFFERS[3:]
    assert select(OFFERS, "all", "<b>") == OFFERS[:3]


def test_the_table_says_it_in_words(trace: Trace) -> None:
    titles, cells = table(candidates(trace))
    assert titles == [
        "step", "depth", "after", "candidate", "level", "memory's p", "branch score",
        "what became of it", "model wanted it",
    ]  # fmt: skip
    assert cells[1] == [1, 2, "␣<b>", "=1", "copied", 0.3, 0.5, "drafted", "no"]
    assert cells[2] == [1, 2, "␣<b>", "</script>", "L2", 0.1, 0.1, "tree was full", "yes"]


def test_in_a_fixed_tree_only_so_many_candidates_are_tried_as_it_has_places() -> None:
    trace = load(EXAMPLES[0].with_name("slower.jsonl.gz"))
    rows = [r for r in candidates(trace) if (r.step, r.node) == (3, 4)]
    assert [(r.became, r.tried) for r in rows] == [
        (5, None), (8, None), (9, None), *[(None, 3)] * 5,
    ]  # fmt: skip
    assert table(rows)[1][-1][7] == "only ranks up to 3 are tried"


def test_csv_holds_every_column_and_no_formula(trace: Trace) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(trace))))
    assert tuple(rows[0]) == COLUMNS
    assert rows[2][4] == "'=1"
    assert rows[3] == [
        "1", "1", "2", "␣<b>", "</script>", "2", "0.1", "0.1", "", "budget", "True", "True",
        "",
    ]  # fmt: skip
