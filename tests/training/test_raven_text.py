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
    shares: dict[Kind, float] = {"school": 0.5, "chain": 0.3, "code": 0.2}
    kinds = [d.kind for d in islice(Mixture(path, shares, 4, seed=1), 2000)]
    for kind, share in shares.items():
        assert abs(kinds.count(kind) / 2000 - share) < 0.04


def test_answers_of_composed_tasks_count_and_what_was_drawn_at_random_does_not(
    tokenizer: Tokenizer,
) -> None:
    ids, counts = encode(tokenizer, Document("chain", "a=3", "b=7;c=2"))
    words = [tokenizer.id_to_token(i) for i in ids]
    assert words == [
        "<|begin_text|>", "<|user|>", "a", "=", "3", "<|assistant|>",
        "b", "=", "7", ";", "c", "=", "2", "<|end_turn|>",
    ]  # fmt: skip
    assert counts == [0, 0, 0, 0, 0, 0, 1, 1, 2, 1, 1, 1, 2, 1]


def test_all_text_of_other_documents_counts_once(tokenizer: Tokenizer) -> None:
    ids, counts = encode(tokenizer, Document("words", "1 2", "3 4"))
    assert ids[:2] == [BEGIN, USER] and ids[4] == ASSISTANT and ids[-1] == END
    assert counts == [0, 0, 1, 1, 0, 1, 1, 1]


def test_a_token_sees_the_tokens_before_it_in_its_own_document_only(
    tokenizer: Tokenizer,
) -> None:
    documents = [Document("words", "1 2", "3"), Document("words", "4", "5 6 7"),
                 Document("words", "8", "9")]  # fmt: skip
    lengths = [len(encode(tokenizer, d)[0]) for d in documents]
    assert lengths == [7, 8, 6]
    batch = next(batches(tokenizer, iter(documents), rows=1, width=18))
    whole = [i for d in documents for i in encode(tokenizer, d)[0]]
    assert batch.tokens.tolist() == [whole[:19]], "the cut tail is lost"
    assert batch.weights.shape == (1, 18)
    counts = [c for d in documents for c in encode(tokenizer, d)[1]]
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
