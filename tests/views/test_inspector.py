"""The memory inspector: its rows are the drafter's own, and every use is accounted for."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from specviz import metrics
from specviz.decoding import decode
from specviz.drafters import create
from specviz.evidence import Candidate, Hit, Lookup, MemoryEvidence, Written
from specviz.models import toy
from specviz.models.base import Inputs
from specviz.trace import Header, Progress, Run, Step, Trace  # fmt: skip
from specviz.tracefile import load
from specviz.views.inspector import Use, inspect
from specviz.views.memory_table import COLUMNS, select, sentence, table, to_csv
from tests.views.conftest import FIRST, header, node, prefill, seconds

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.jsonl.gz"))
RHYME = "This is the house that Jack built.\nThis is the cow that tossed the dog.\nThis is"


def head(model: toy.ToyModel, decoder: str, knobs: dict[str, Any], tokens: tuple[int, ...]):
    return header("decoder", decoder).model_copy(
        update={"knobs": knobs, "tokens": tokens, "vocab_size": model.vocab_size}
    )


KNOBS = [
    ("recap", {"levels": "123", "seed": "all", "rejected": True}),
    ("recap", {"levels": "123", "seed": "level1", "rejected": False}),
    ("recap", {"levels": "13", "seed": "none", "rejected": True, "copy": "reserve"}),
    ("recap", {"levels": "23", "seed": "all", "rejected": True, "entropy": "full"}),
    ("token_recycling", {"tree": "static", "rejected": True}),
    ("token_recycling", {"tree": "best_first", "rejected": False}),
]


@pytest.mark.parametrize(("decoder", "knobs"), KNOBS)
def test_the_fold_gives_the_rows_that_the_drafter_holds(
    decoder: str, knobs: dict[str, Any]
) -> None:
    model = toy.rhyme_model("toy")
    drafter: Any = create(decoder, knobs)
    inputs = Inputs(model.tokenize(RHYME))
    events = [e for e in decode(model, inputs, drafter, 60) if not isinstance(e, Progress)]
    trace = Trace((head(model, decoder, knobs, inputs.tokens), *events))
    memories = inspect(trace)
    mine = {
        (row.level, row.key): (row.ids, row.probs, row.entropy, row.written)
        for row in memories.rows
        if row.kept
    }
    real = {
        (order, key): (row.ids, row.probs, row.entropy, row.written)
        for order, level in drafter.memory._levels.items()
        for key, row in level.rows.items()
    }
    assert mine == real and len(real) >= 8
    _explains_every_answer(trace)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.name.split(".")[0])
def test_every_recorded_answer_is_a_row_of_the_fold(path: Path) -> None:
    trace = load(path)
    _explains_every_answer(trace)
    run = trace.run()
    assert run is not None
    assert sum(r.recycled for r in inspect(trace).rows) == (metrics.recycled_hits(run) or 0)


def _explains_every_answer(trace: Trace) -> None:
    rows = {(r.level, r.key, r.written): r for r in inspect(trace).rows}
    run = trace.run()
    assert run is not None
    for step in run.steps:
        for lookup in step.evidence.lookups if isinstance(step.evidence, MemoryEvidence) else ():
            for hit in lookup.hits:
                row = rows[hit.level, hit.key, hit.written]
                assert (row.ids, row.entropy) == (hit.ids, hit.entropy)
                assert tuple(round(p, 4) for p in row.probs) == hit.probs


# A run made by hand. Step 1 refuses node 1 (token 3), whose answer (7) is written under (3,).
# Step 2 asks for (3,), drafts 7 from it, and 7 is right.


REFUSED = Written(0, 1, False)


def hit(key: int, ids: tuple[int, ...], written: Written, weight: float = 1.0) -> Hit:
    return Hit(level=1, key=(key,), ids=ids, probs=(0.5,) * len(ids), base=0.1, entropy=0.25,
               weight=weight, written=written)  # fmt: skip


def step(index: int, nodes, walk, emitted, lookups) -> Step:
    return Step(
        index=index, nodes=tuple(nodes), walk=walk, emitted=emitted, cache_length=5,
        seconds=seconds(0.1, 0.6, 0.1, 1.0),
        evidence=MemoryEvidence(kind="memory", lookups=tuple(lookups), tallies={}, sizes={}),
    )  # fmt: skip


def hand_made(recycler: Written = REFUSED) -> Trace:
    first = step(
        0, [node(1, -1, "root", 3), node(2, 0, "level1", 8), node(4, 1, "level1", 7)], (), (3,),
        [Lookup(node=0, expanded=True, hits=(hit(1, (2,), Written(-2, 0, True)),),
                candidates=(Candidate(2, 0.5, 1, 1, ""),))],
    )  # fmt: skip
    # Asks for token 2, which the refused node 1 of step 1 wrote.
    second = step(
        1, [node(3, -1, "root", 2), node(2, 0, "copy", 8), node(8, 1, "level1", 1)], (1, 2),
        (2, 8, 1),
        [
            Lookup(node=0, expanded=True, hits=(), candidates=(Candidate(2, 0.9, 0, 1, ""),)),
            Lookup(node=1, expanded=True, hits=(hit(2, (8,), recycler),),
                   candidates=(Candidate(8, 0.5, 1, 2, ""),)),
            Lookup(node=2, expanded=False, hits=(hit(8, (5,), Written(-2, 0, False)),),
                   candidates=(Candidate(5, 0.5, 1, -1, ""),)),
        ],
    )  # fmt: skip
    knobs = {"levels": "1", "seed": "none", "rejected": True}
    start = header("decoder", "recap").model_copy(update={"knobs": knobs})
    return Trace((start, prefill("decoder"), first, second))


def test_who_wrote_a_row_and_what_came_of_it() -> None:
    memories = inspect(hand_made())
    found = {(r.key, r.written): r for r in memories.rows}
    row = found[(2,), Written(0, 1, False)]
    assert row.ids == (8,) and row.uses == [Use(1, 1, 1.0, (2,), 2)]
    assert (row.kept, row.used, row.accepted, row.recycled) == (False, True, 1, 1)
    # Written again in step 2, by an accepted branch now.
    assert found[(2,), Written(1, 1, True)].kept
    # Of another request: one was asked for, one only afterwards, three never (five came along).
    earlier = found[(1,), Written(-2, 0, True)]
    assert earlier.uses == [Use(0, 0, 1.0, (1,), None)] and earlier.accepted == 0
    assert found[(8,), Written(-2, 0, False)].uses == []
    assert memories.unseen == 3


def test_recycled_hits_count_accepted_guesses_of_refused_branches() -> None:
    run = hand_made().run()
    assert isinstance(run, Run)
    assert metrics.recycled_hits(run) == 1
    assert metrics.recycled(run.steps[1]) == (2,)
    other = hand_made(Written(-2, 0, True)).run()
    assert other is not None and metrics.recycled_hits(other) == 0
    assert metrics.run_summary(run)["recycled_hits"] == 1
    plain = Run(header("baseline", "autoregressive"), None, (), None)
    assert metrics.recycled_hits(plain) is None


def test_rows_are_selected_by_text_level_and_use() -> None:
    trace = hand_made()
    rows = inspect(trace).rows
    pieces = trace.pieces
    right = select(rows, pieces, which="recycled")
    assert [(r.key, r.written) for r in right] == [((2,), Written(0, 1, False))]
    assert select(rows, pieces, level=2) == []
    assert {r.key for r in select(rows, pieces, "<b>")} == {(2,), (1,), (3,)}
    assert [r.key for r in select(rows, pieces, which="used")] == [(2,), (1,)]
    assert all(not r.uses for r in select(rows, pieces, which="idle"))
    assert select(rows, pieces)[0] is right[0], "what brought most comes first"


def test_the_table_and_the_sentence_say_it_in_words() -> None:
    trace = hand_made()
    memories = inspect(trace)
    titles, cells = table(select(memories.rows, trace.pieces, which="recycled"), trace.pieces)
    assert titles == [
        "level", "after", "answers", "entropy", "written in step", "branch", "still there",
        "asked", "accepted guesses", "asked in steps",
    ]  # fmt: skip
    assert cells == [
        ["L1", "␣<b>", "%{y} 50 %", memories.rows[2].entropy, 1, "refused", "no", 1, 1, "2✓"]
    ]
    assert sentence(memories) == (
        "8 rows were written, 5 are left, 2 had a say in a tree. Accepted guesses that came from "
        "such rows: 1, of which 1 from rows that refused branches had written. 3 more rows of "
        "earlier requests were never asked for."
    )
    assert sentence(inspect(Trace(()))) == (
        "This decoder keeps no memory, or nothing has been recorded yet."
    )


def test_csv_holds_every_row_and_no_formula() -> None:
    rows = list(csv.reader(io.StringIO(to_csv(hand_made()))))
    assert tuple(rows[0]) == COLUMNS
    by = {(r[1], r[5], r[6]): r for r in rows[1:]}
    row = by["␣<b>", "1", "1"]
    assert row[:4] == ["1", "␣<b>", "%{y}", "0.5000"]
    assert row[7:] == ["False", "False", "2:1:1.0:accepted", "1", "1"]
    assert by["␣the", "earlier", "0"][9] == "1:0:1.0"


def test_a_trace_without_memories_has_no_rows() -> None:
    lookup = next(p for p in EXAMPLES if p.name.startswith("lookup"))
    assert inspect(load(lookup)).rows == ()
    start: Header = header("decoder", "recap")
    assert inspect(Trace((start, prefill("decoder")))).rows == ()
    assert inspect(Trace((start, prefill("decoder"), FIRST))).rows != ()
