"""Refused guesses: recorded facts only, literal texts, filters, CSV."""

from __future__ import annotations

import csv
import io

from specviz.trace import Trace
from specviz.views.card import card
from specviz.views.rejects import COLUMNS, Reject, rejects, select, table, to_csv

FACTS = [
    Reject(1, 2, "&lt;", "level1", 0.5, 0.2, "</script>", 0.5, 1.5, True, 3, 2, "budget"),
    Reject(1, 3, "=1", "copy", 0.5, 0.1, "</script>", 0.5, 1.5, True, 3, 2, "budget"),
    Reject(2, 1, "%{y}", "level1", 0.5, 0.01, "‹E2 80›", 0.5, 1.5, False, None, None, ""),
]


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


def test_csv_holds_every_column_and_no_formula(trace: Trace) -> None:
    rows = list(csv.reader(io.StringIO(to_csv(trace))))
    assert tuple(rows[0]) == COLUMNS
    assert rows[1] == [
        "1", "2", "&lt;", "level1", "0.5", "0.2", "</script>", "0.5", "1.5", "True", "3", "2",
        "budget",
    ]  # fmt: skip
    assert rows[2][2] == "'=1"
    assert rows[3][9:] == ["False", "", "", ""]


def test_the_run_card_tells_the_conditions(trace: Trace) -> None:
    rows = card(trace)
    assert rows == [
        ("Model", "toy"),
        ("Weight digest", "d1"),
        ("Device, dtype", "cpu, float32"),
        ("Machine", "m, 2 cores"),
        ("Decoder", "recap"),
        ("Knobs", "nodes 12, rejected true"),
        ("Prompt", "3 tokens"),
        ("Limit", "8 tokens"),
        ("Memory at start", "scope <i>, 5 rows"),
        ("Ended by", "the token limit"),
        ("Plain decoding", "measured after this run: 5 tokens, 500.0 ms per token"),
        ("Versions", "python 3.11"),
        ("Note", "Read as UTF-8."),
    ]
    assert card(Trace(())) == []
