"""Two runs aligned on their tokens: who guessed what right, where, and after how many passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from specviz.compare import Place, compare, first_difference, places
from specviz.jobs import Job, run
from specviz.trace import Header, Node, Prefill, Progress, Seconds, Step, Trace, TraceError
from specviz.tracefile import load

EXAMPLES = Path(__file__).parent.parent / "examples"
SPENT = Seconds(draft=0, verify=0, commit=0, total=0)


def header(**changed: object) -> Header:
    known = {
        "run": "r", "decoder": "recap", "knobs": {}, "model": "m", "digest": "d" * 16,
        "device": "cpu", "dtype": "float32", "machine": "m", "versions": {}, "messages": (),
        "tokens": (1, 2), "eos_ids": (), "max_new_tokens": 9, "vocab_size": 99,
    }  # fmt: skip
    return Header(**(known | changed))  # type: ignore[arg-type]


def step(index: int, guesses: list[tuple[int, int, str]], walk: list[int], *emitted: int) -> Step:
    """A step of ``guesses`` (token, parent, source) below a root."""
    nodes = [(0, -1, "root"), *guesses]
    return Step(
        index=index, walk=tuple(walk), emitted=emitted, cache_length=9, seconds=SPENT,
        nodes=tuple(
            Node(token=t, parent=p, source=s, order=i, score=None, logp=None, pick=0, margin=1,
                 top=(), tail=0)
            for i, (t, p, s) in enumerate(nodes)
        ),
    )  # fmt: skip


def traced(*steps: Step, first: int = 10, **changed: object) -> Trace:
    begin = Prefill(seconds=0, token=first, margin=1, top=())
    return Trace((header(**changed), begin, *steps))


# Tokens 10 | 11 12 | 13 | 14 15 16: right, then refused; nothing guessed; two right, a leaf.
A = traced(
    step(0, [(11, 0, "level3"), (99, 1, "copy")], [1], 11, 12),
    step(1, [], [], 13),
    step(2, [(14, 0, "copy"), (15, 1, "copy")], [1, 2], 14, 15, 16),
)
# Tokens 10 | 11 | 12 13 14 | 15 | 16
B = traced(
    step(0, [(98, 0, "level1")], [], 11),
    step(1, [(12, 0, "level1"), (13, 1, "level2")], [1, 2], 12, 13, 14),
    step(2, [], [], 15),
    step(3, [(16, 0, "level1"), (17, 1, "level1")], [1, 2], 16),
)


def test_every_token_has_its_step_its_source_and_what_became_of_the_guess() -> None:
    run_a = A.run("decoder")
    assert run_a is not None
    assert places(run_a) == (
        Place(-1, 0, "target", "unguessed"),
        Place(0, 1, "level3", "right"),
        Place(0, 1, "target", "refused"),
        Place(1, 3, "target", "unguessed"),
        Place(2, 4, "copy", "right"),
        Place(2, 4, "copy", "right"),
        Place(2, 4, "target", "unguessed"),
    )
    assert [p.passes for p in places(run_a)] == [0, 1, 1, 2, 3, 3, 3]


def test_gained_and_lost_are_told_by_position_and_source() -> None:
    found = compare(A, B)
    assert [p.token for p in found.positions] == [10, 11, 12, 13, 14, 15, 16]
    assert [p.index for p in found.gained] == [2, 3, 6]
    assert [p.index for p in found.mended] == [2]
    assert [(p.index, p.b.outcome) for p in found.lost] == [
        (1, "refused"), (4, "unguessed"), (5, "unguessed"),
    ]  # fmt: skip
    assert found.by_source() == {
        "gained": {"level1": 2, "level2": 1}, "lost": {"copy": 2, "level3": 1},
    }  # fmt: skip
    assert [p.index for p in found.positions if p.aligned] == [0, 1]
    assert (found.a.passes, found.a.tau, found.a.nodes, found.a.refused) == (3, 2.0, 4, 1)
    assert (found.b.passes, found.b.tau, found.b.nodes, found.b.refused) == (4, 1.5, 5, 1)
    assert (found.a.acceptance, found.b.acceptance) == (3 / 4, 3 / 4)
    assert (found.parted, found.a.finish) == (None, None)
    # B's last walk was clipped by the end: that pass has no token of the model's own.
    assert found.b.passes - found.a.passes == len(found.lost) - len(found.gained) + 1


def test_what_one_run_has_more_is_left_out_of_the_figures() -> None:
    shorter = Trace(B.events[:4])
    found = compare(A, shorter)
    assert [p.token for p in found.positions] == [10, 11, 12, 13, 14]
    assert (found.a.passes, found.b.passes, found.parted) == (3, 2, None)
    assert (found.a.tokens, found.b.tokens) == (7, 5)


def test_texts_that_part_are_compared_up_to_there() -> None:
    other = Trace((*B.events[:2], step(0, [], [], 11), step(1, [], [], 77), step(2, [], [], 13)))
    found = compare(A, other)
    assert (found.parted, len(found.positions)) == (2, 2)
    assert [p.index for p in found.lost] == [1]


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (traced(digest="e" * 16, model="n"),
         "These are runs of different weights or depths, m (dddddddd) and n (eeeeeeee): "
         "compare two runs of one model."),
        (traced(tokens=(1, 2, 3)),
         "These are runs of different prompts, of lengths 2 and 3: "
         "compare two runs of one prompt."),
        (Trace((header(),)),
         "The trace 'B' was cut before its first token: choose a longer one."),
    ],
)  # fmt: skip
def test_runs_that_have_nothing_in_common_are_refused(other: Trace, sentence: str) -> None:
    with pytest.raises(TraceError) as refused:
        compare(A, other)
    assert str(refused.value) == sentence


def test_the_recorded_examples_of_one_prompt_align_whole() -> None:
    found = compare(load(EXAMPLES / "tea.jsonl.gz"), load(EXAMPLES / "recycling.jsonl.gz"))
    assert found.parted is None and len(found.positions) == found.a.tokens == found.b.tokens
    assert found.b.passes - found.a.passes == len(found.lost) - len(found.gained)
    assert {p.b.source for p in found.gained} == {"level1"}


def test_plain_decoding_loses_exactly_what_had_been_guessed_right() -> None:
    def made(decoder: str) -> Trace:
        job = Job(model="toy", decoder=decoder, prompt="This is", max_new_tokens=40, baseline=False)
        return Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))

    found = compare(made("recap"), made("autoregressive"))
    assert found.gained == ()
    assert found.b.passes == 39 == found.a.passes + len(found.lost)
    assert replace(found.b, passes=0).acceptance is None


def test_the_first_difference_of_two_texts() -> None:
    assert first_difference((1, 2, 3), (1, 2, 3)) is None
    assert first_difference((1, 2, 3), (1, 5, 3)) == 1
    assert first_difference((1, 2), (1, 2, 3)) == 2
