"""Refused guesses: recorded facts only, literal texts, filters, CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.evidence import Candidate, Lookup, Written
from specviz.trace import Trace
from specviz.tracefile import load
from specviz.views.card import card
from specviz.views.numbers import percent
from specviz.views.rejects import COLUMNS, Reject, rejects, select, table, to_csv
from tests.views.conftest import FIRST, SECOND

EXAMPLES = Path(__file__).parents[2] / "examples"
FACTS = [
    Reject(
        1, 2, "&lt;", "level1", 0.5, 0.2, "</script>", 0.5, 1.5, True, 3, 2, "budget",
        wanted_share=0.1, position=3, depth=2, share=0.5, given=1, weights="L2 0.75 L1 0.25",
        key="␣<b>", base=0.1, entropy=0.5, weight=0.25, row_from="step", row_step=5, row_at=7,
        row_accepted=False,
    ),
    Reject(
        1, 3, "=1", "copy", 0.5, 0.1, "</script>", 0.5, 1.5, True, 3, 2, "budget",
        wanted_share=0.1, position=3, depth=2, share=0.3, given=0, weights="L2 0.75 L1 0.25",
    ),
    Reject(
        2, 1, "%{y}", "level1", 0.5, 0.01, "‹E2 80›", 0.5, 1.5, False, None, None, "",
        position=4, depth=1, share=0.9, given=1, weights="",
    ),
]  # fmt: skip


def test_rejects_are_the_refused_children_where_the_walk_ended(trace: Trace) -> None:
    assert rejects(trace) == FACTS
    assert rejects(Trace(())) == []


def test_rows_are_selected_by_what_memory_knew_by_cut_and_by_text() -> None:
    assert select(FACTS, "known") == FACTS[:2]
    assert select(FACTS, "unknown") == FACTS[2:]
    assert select(FACTS, "budget") == FACTS[:2]
    assert select(FACTS, "width") == []
    assert select(FACTS, "all", "</script>") == FACTS[:2]
    assert select(FACTS, "all", "%{") == FACTS[2:]
    assert select(FACTS, "known", "=1") == FACTS[1:2]
    assert select(FACTS, source="level1") == [FACTS[0], FACTS[2]]
    assert select(FACTS, source="copy") == FACTS[1:2]
    assert select(FACTS, hesitant=1.5) == []
    doubtful = replace(FACTS[1], margin=0.2)
    assert select([FACTS[0], doubtful], hesitant=1.5) == [doubtful]


def test_the_table_says_it_in_words(trace: Trace) -> None:
    titles, cells = table(rejects(trace))
    assert titles == [
        "step", "guess", "from", "p(guess)", "model wanted", "p(wanted)", "margin",
        "memory knew", "rank", "level", "cut because",
    ]  # fmt: skip
    assert cells[0] == [
        1, "&lt;", "L1", 0.2, "</script>", 0.5, 1.5, "yes", 3, "L2", "tree was full",
    ]  # fmt: skip
    assert cells[2][7:] == ["no", "–", "–", "–"]
    titles, cells = table(rejects(trace), more=True)
    assert titles[11:] == [
        "position", "depth", "memory's p(guess)", "branch score", "asked for", "weights", "entropy",
        "row written by", "branch accepted",
    ]  # fmt: skip
    assert cells[0][11:] == [
        3, 2, 0.5, 0.5, "␣<b>", "L2 0.75 L1 0.25", 0.5, "step 5, node 7", "no",
    ]  # fmt: skip
    assert cells[1][11:] == [3, 2, 0.3, 0.5, "–", "L2 0.75 L1 0.25", "–", "–", "–"]


def test_what_rounds_to_nothing_is_not_called_nothing() -> None:
    tiny = replace(FACTS[0], probability=0.0004, wanted_probability=0.0006, share=0.0, score=0.0)
    titles, (cells,) = table([tiny], more=True)
    found = dict(zip(titles, cells, strict=True))
    assert (found["p(guess)"], found["p(wanted)"]) == ("<0.001", 0.001)
    assert (found["memory's p(guess)"], found["branch score"]) == ("<0.001", "<0.001")
    assert (percent(0.004), percent(0.006), percent(0.126)) == ("<1 %", "1 %", "13 %")


def test_who_wrote_the_row_of_a_guess_is_told_in_words(trace: Trace) -> None:
    def writer(written: Written) -> tuple[object, ...]:
        step = FIRST.model_copy(deep=True)
        evidence = step.evidence
        lookup = evidence.lookups[0]
        hits = tuple(h.model_copy(update={"written": written}) for h in lookup.hits)
        changed = lookup.model_copy(update={"hits": hits})
        new = evidence.model_copy(update={"lookups": (changed,)})
        events = (*trace.events[:2], step.model_copy(update={"evidence": new}))
        row = rejects(Trace(events))[0]
        cells = table([row], more=True)[1][0]
        return row.row_from, row.row_step, row.row_at, row.row_accepted, cells[-2]

    assert writer(Written(-1, 11, True)) == ("prompt", None, 12, None, "prompt, token 12")
    assert writer(Written(-2, 0, False)) == ("earlier", None, None, False, "an earlier request")


def test_what_memory_knew_where_the_tree_had_ended_was_cut_by_nothing_else(trace: Trace) -> None:
    """Asked only afterwards: the tree did not go on from there."""
    lookup = Lookup(node=0, expanded=False, hits=(), candidates=(Candidate(5, 0.9, 1, -1, ""),))
    evidence = SECOND.evidence.model_copy(update={"lookups": (lookup,)})
    events = (*trace.events[:2], SECOND.model_copy(update={"evidence": evidence}))
    assert [(r.known, r.rank, r.cut) for r in rejects(Trace(events))] == [(True, 1, "leaf")]


@pytest.mark.parametrize(
    ("lang", "said"),
    [("en", "only ranks up to 8 are tried"), ("ru", "пробуются только ранги до 8")],
)
def test_what_ranked_below_those_tried_is_told_with_how_many_were(lang: str, said: str) -> None:
    (row,) = [r for r in rejects(load(EXAMPLES / "code.jsonl.gz")) if r.step == 49]
    assert (row.cut, row.rank, row.tried) == ("width", 12, 8)
    assert table([row], lang)[1][0][8:] == [12, "L1", said]


def test_csv_holds_every_column_and_no_formula(trace: Trace) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(trace))))
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == [
        "1", "2", "&lt;", "level1", "0.5", "0.2", "</script>", "0.5", "1.5", "True", "3", "2",
        "budget", "0.1", "3", "2", "0.5", "1", "␣<b>", "0.1", "0.5", "0.25", "L2 0.75 L1 0.25",
        "step", "5", "7", "False", "", "", "", "", "", "", "", "", "",
    ]  # fmt: skip
    assert rows[2][2] == "'=1"
    assert rows[3][9:] == ["False", "", "", "", "", "4", "1", "0.9", "1", *[""] * 18]


def test_the_run_card_tells_the_conditions(trace: Trace) -> None:
    rows = card(trace)
    assert rows == [
        ("Model", "toy"),
        ("Weight digest", "d1"),
        ("Device, dtype", "cpu, float32"),
        ("Machine", "m, 2 cores"),
        ("CPU weights", "not packed"),
        ("Decoder", "recap"),
        ("Knobs", "nodes 12, rejected true"),
        ("Prompt", "3 tokens"),
        ("Limit", "8 tokens"),
        ("Cost of a pass", "not measured"),
        ("Memory at start", "scope <i>, 5 rows"),
        ("Ended by", "the token limit"),
        ("Plain decoding", "measured after this run: 5 tokens, 500.0 ms per token"),
        ("Versions", "python 3.11"),
        ("Note", "Read as UTF-8."),
    ]
    assert card(Trace(())) == []
