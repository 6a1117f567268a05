"""What training reads: which documents, how much each token counts, how rows are packed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer

from specviz.training.raven_documents import COMPOSED, Document, Kind, held_out, make
from specviz.training.raven_text import (
    ASSISTANT,
    BEGIN,
    END,
    USER,
    Mixture,
    batches,
    build_tokenizer,
    encode,
    school,
)

SCHOOL = "".join(
    f'{{"question": "Question {i}?", "answer": "It is 2+{i}=<<2+{i}={i + 2}>>{i + 2}."}}\n'
    for i in range(100)
)
GENERATED: tuple[Kind, ...] = (*COMPOSED, "words", "code")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    rng = random.Random(2)
    return build_tokenizer([make(kind, rng) for kind in GENERATED for _ in range(60)], 600)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("school") / "school.jsonl"
    file.write_text(SCHOOL, encoding="utf-8")
    return file


def test_calculator_notes_are_taken_out_of_school_solutions(path: Path) -> None:
    assert school(path)[3] == Document("school", "Question 3?", "It is 2+3=5.")


def test_school_problems_are_not_generated() -> None:
    with pytest.raises(ValueError, match="read from a file"):
        make("school", random.Random(1))


def test_one_question_in_twenty_is_held_out() -> None:
    assert [i for i in range(100) if held_out(f"Question {i}?")] == [21, 58, 85]
    rng = random.Random(3)
    questions = {make(kind, rng).user for kind in GENERATED for _ in range(800)}
    share = sum(map(held_out, questions)) / len(questions)
    assert 0.035 < share < 0.065


def test_the_mixture_never_shows_a_held_out_question(path: Path) -> None:
    shares: dict[Kind, float] = dict.fromkeys(("school", *GENERATED), 1.0)
    shown = {d.user for d in islice(Mixture(path, shares, 6, seed=1), 1500)}
    kept = {d.user for d in school(path) if held_out(d.user)}
    assert kept and not shown & kept
    assert not any(map(held_out, shown))


def test_the_mixture_keeps_its_shares(path: Path) -> None:
    shares: dict[Kind, float] = {"school": 0.5, "cups": 0.3, "code": 0.2}
    kinds = [d.kind for d in islice(Mixture(path, shares, 4, seed=1), 2000)]
    for kind, share in shares.items():
        assert abs(kinds.count(kind) / 2000 - share) < 0.04


def test_answers_of_composed_tasks_count_and_what_was_drawn_at_random_does_not(
    tokenizer: Tokenizer,
) -> None:
    read = encode(tokenizer, Document("sums", "1 2", "1 2=3;4=4"))
    words = [tokenizer.id_to_token(i) for i in read.ids]
    assert words == [
        "<|begin_text|>", "<|user|>", "1", "Ġ2", "<|assistant|>",
        "1", "Ġ2", "=", "3", ";", "4", "=", "4", "<|end_turn|>",
    ]  # fmt: skip
    assert read.targets == read.ids
    assert read.weights == [0, 0, 0, 0, 0, 1, 1, 1, 2, 1, 1, 1, 2, 1]


@pytest.mark.parametrize(
    ("kind", "title", "ends"), [("cups", "Cups:", "123xyz"), ("sums", "Sum modulo 5:", "01234")]
)
def test_notes_are_taught_where_their_steps_end_and_never_become_text(
    tokenizer: Tokenizer, kind: Kind, title: str, ends: str
) -> None:
    document = make(kind, random.Random(6), longest=4, queries=3)
    read = encode(tokenizer, document)
    taught = [
        (tokenizer.decode(read.ids[2:i]), tokenizer.decode([read.targets[i]]))
        for i in range(1, read.ids.index(ASSISTANT) + 1)
        if read.weights[i]
    ]
    assert [value for _, value in taught] == [value for _, value in document.notes]
    rows = document.user.removeprefix(f"{title}\n")
    for before, value in taught:  # the last row so far is worth that
        so_far = before.removeprefix(f"{title}\n").split(";")[-1]
        if kind == "sums":
            assert sum(map(int, so_far.split())) % 5 == int(value)
        else:
            start, *swaps = so_far.split()
            for pair in ({"x": "12", "y": "23", "z": "13"}[s] for s in swaps):
                start = {pair[0]: pair[1], pair[1]: pair[0]}.get(start, start)
            assert start == value
    assert len(taught) == sum(mark in ends for mark in rows)
    inside = read.ids.index(ASSISTANT)
    assert read.targets[inside + 1 :] == read.ids[inside + 1 :]


def test_all_text_of_other_documents_counts_once(tokenizer: Tokenizer) -> None:
    read = encode(tokenizer, Document("words", "1 2", "3 4"))
    assert read.ids[:2] == [BEGIN, USER] and read.ids[4] == ASSISTANT and read.ids[-1] == END
    assert read.targets == read.ids
    assert read.weights == [0, 0, 1, 1, 0, 1, 1, 1]


def test_a_token_sees_the_tokens_before_it_in_its_own_document_only(
    tokenizer: Tokenizer,
) -> None:
    documents = [Document("words", "1 2", "3"), Document("words", "4", "5 6 7"),
                 Document("words", "8", "9")]  # fmt: skip
    encoded = [encode(tokenizer, d) for d in documents]
    lengths = [len(e.ids) for e in encoded]
    assert lengths == [7, 8, 6]
    batch = next(batches(tokenizer, iter(documents), rows=1, width=18))
    whole = [i for e in encoded for i in e.ids]
    assert batch.tokens.tolist() == [whole[:18]], "the cut tail is lost"
    assert batch.targets.tolist() == [whole[1:19]]
    assert batch.weights.shape == (1, 18)
    counts = [c for e in encoded for c in e.weights]
    assert batch.weights.tolist() == [counts[1:19]]
    owner = [0] * 7 + [1] * 8 + [2] * 3
    wanted = [[owner[j] == owner[i] and j <= i for j in range(18)] for i in range(18)]
    assert torch.equal(batch.mask[0, 0], torch.tensor(wanted))


def test_rows_of_a_batch_hold_different_documents(tokenizer: Tokenizer) -> None:
    def endless() -> Iterator[Document]:
        for i in range(1000):
            yield Document("words", str(i % 10), "x")

    tokens = next(batches(tokenizer, endless(), rows=3, width=11)).tokens
    digits = [[tokenizer.id_to_token(i) for i in row if i > END][::2] for row in tokens.tolist()]
    assert digits == [["0", "1"], ["2", "3"], ["4", "5"]]
