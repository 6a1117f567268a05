"""What ``tiny-raven`` reads: its tokenizer, and packed batches of documents."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from torch import Tensor

from specviz.training.raven_documents import COMPOSED, Document, Kind, held_out, make

SPECIALS = ("<|pad|>", "<|begin_text|>", "<|user|>", "<|assistant|>", "<|end_turn|>")
PAD, BEGIN, USER, ASSISTANT, END = range(5)
# Letters in words, single digits, single marks: sums stay aligned and names stay whole.
SPLIT = r"'(?:s|t|re|ve|m|ll|d)\b| ?[A-Za-z]+| ?[0-9]| ?[^\sA-Za-z0-9]|\s+(?!\S)|\s+"
STEPS = 100  # of a composed task, all its rows together
CALCULATOR = re.compile(r"<<[^>]*>>")


def school(path: Path) -> list[Document]:
    """GSM8K questions with solutions, calculator notes taken out."""
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    return [Document("school", r["question"], CALCULATOR.sub("", r["answer"])) for r in rows]


def build_tokenizer(documents: list[Document], vocabulary: int) -> Tokenizer:
    """A byte-level BPE trained on ``documents``."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIALS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((f"{d.user}\n{d.reply}" for d in documents), trainer)
    return tokenizer


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """The id of a ``token`` that every tokenizer made here has: a digit or mark is one alone."""
    found: int | None = tokenizer.token_to_id(token)
    assert found is not None, f"no token {token!r}"
    return found


@dataclass(frozen=True)
class Encoded:
    """``ids`` [n] of a document; ``targets`` [n]: what to say where the one before was the last
    token read, the token itself but for notes; ``weights`` [n] of those targets."""

    ids: list[int]
    targets: list[int]
    weights: list[float]


def encode(tokenizer: Tokenizer, document: Document) -> Encoded:
    """A document as tokens and targets.

    What is asked in a composed task is drawn at random: nothing to learn. There the model is taught
    its notes instead, the value so far, which never becomes text: a dense teacher of single steps.
    The answers count twice.
    """
    asked = tokenizer.encode(document.user, add_special_tokens=False)
    reply = tokenizer.encode(document.reply, add_special_tokens=False).ids
    random_given = document.kind in (*COMPOSED, "arithmetic")
    ids = [BEGIN, USER, *asked.ids, ASSISTANT, *reply, END]
    counts = [0.0, 0.0, *[0.0 if random_given else 1.0] * len(asked.ids), 0.0]
    mark = token_id(tokenizer, "=") if document.kind in COMPOSED else None
    answered = [2.0 if before == mark else 1.0 for before in [ASSISTANT, *reply[:-1]]]
    targets, weights = list(ids), [*counts, *answered, 1.0]
    after = {end: i for i, (_, end) in enumerate(asked.offsets, start=3)}
    for end, value in document.notes:
        targets[after[end]] = token_id(tokenizer, value)
        weights[after[end]] = 1.0
    return Encoded(ids, targets, weights)


class Mixture:
    """An endless stream of training documents in fixed shares (of documents)."""

    def __init__(self, path: Path, shares: dict[Kind, float], longest: int, seed: int) -> None:
        self.rng = random.Random(seed)
        self.school = [d for d in school(path) if not held_out(d.user)]
        self.kinds, self.shares = tuple(shares), tuple(shares.values())
        self.longest = longest

    def __iter__(self) -> Iterator[Document]:
        while True:
            kind = self.rng.choices(self.kinds, self.shares)[0]
            if kind == "school":
                yield self.rng.choice(self.school)
                continue
            longest = self.rng.randint(2, self.longest)
            queries = min(self.rng.randint(3, 8), max(1, STEPS // longest))
            document = make(kind, self.rng, longest, queries)
            if not held_out(document.user):
                yield document


@dataclass(frozen=True)
class Batch:
    """``tokens`` [b, t], what to say after each of them, ``targets`` [b, t], and how much that
    counts, ``weights`` [b, t]; ``mask`` [b, 1, t, t]: causal within a document."""

    tokens: Tensor
    targets: Tensor
    weights: Tensor
    mask: Tensor


def batches(
    tokenizer: Tokenizer, documents: Iterable[Document], rows: int, width: int
) -> Iterator[Batch]:
    """Documents packed end to end into ``rows`` rows of ``width`` tokens; the cut tail is lost."""
    stream = iter(documents)
    while True:
        tokens = torch.full((rows, width + 1), PAD)
        targets = torch.full((rows, width + 1), PAD)
        weights = torch.zeros(rows, width + 1)
        owner = torch.zeros(rows, width + 1, dtype=torch.long)
        for row in range(rows):
            filled, count = 0, 0
            while filled <= width:
                read = encode(tokenizer, next(stream))
                room = min(len(read.ids), width + 1 - filled)
                here = slice(filled, filled + room)
                tokens[row, here] = torch.tensor(read.ids[:room])
                targets[row, here] = torch.tensor(read.targets[:room])
                weights[row, here] = torch.tensor(read.weights[:room])
                owner[row, here] = count
                filled, count = filled + room, count + 1
        same = owner[:, :-1, None] == owner[:, None, :-1]
        mask = same & torch.ones(width, width, dtype=torch.bool).tril()
        yield Batch(tokens[:, :-1], targets[:, 1:], weights[:, 1:], mask[:, None])
