"""Depth curves count what a network says on held-out replies, and the command line tells them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import typer
from tokenizers import Tokenizer
from torch import Tensor

from specviz.training import raven, raven_look
from specviz.training.raven_documents import COMPOSED, Document, held_out, make
from specviz.training.raven_look import DEPTHS, Curve, curve, first_answer, lines, readouts, unseen
from specviz.training.raven_text import ASSISTANT, build_tokenizer, encode
from specviz.training.raven_weights import CONFIG, load
from tests.plain_raven import Plain
from tests.tiny_raven import tiny_raven


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    rng = random.Random(2)
    rows = [make(kind, rng) for kind in (*COMPOSED, "words") for _ in range(60)]
    return build_tokenizer(rows, 600)


def test_readouts_are_those_of_the_plain_network() -> None:
    model = tiny_raven(depth=3)
    rows = [[7, 3, 9, 250], [5, 5]]
    found = readouts(model.net.float(), rows, [1, 3])
    for row, out in zip(rows, found, strict=True):
        for at, depth in enumerate((1, 3)):
            logits = Plain(tiny_raven(depth=3)).logits(row, depth)
            # Half precision: the pick is the best or as good as that.
            lost = logits.max(-1).values - logits.gather(-1, out[at][:, None])[:, 0]
            assert lost.max() < 0.3
    assert [tuple(out.shape) for out in found] == [(2, 4), (2, 2)]


def test_the_first_answer_is_what_follows_the_first_mark(tokenizer: Tokenizer) -> None:
    rng = random.Random(4)
    for kind in COMPOSED:
        document = make(kind, rng)
        reply = tokenizer.encode(document.reply).ids
        at = first_answer(reply, tokenizer)
        assert tokenizer.decode(reply[:at]) == document.reply.split("=")[0] + "="


def test_what_is_looked_at_was_never_trained_on() -> None:
    found = unseen(5)
    assert list(found) == ["cups", "sums", "words", "code"]
    assert all(held_out(d.user) for rows in found.values() for d in rows)
    assert [len(rows) for rows in found.values()] == [5] * 4


def test_shares_are_of_reply_tokens(tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The network is right from depth 8 on, but for the last token; before it says nonsense."""

    def said(net: object, rows: Sequence[list[int]], depths: Sequence[int]) -> list[Tensor]:
        found = []
        for ids in rows:
            right = torch.tensor([*ids[1:], 0])
            right[-2] = 1  # the end of the reply
            found.append(torch.stack([right if d >= 8 else right * 0 - 1 for d in depths]))
        return found

    monkeypatch.setattr(raven_look, "readouts", said)
    document = Document("sums", "1 2;4", "1 2=3;4=4")
    net, _ = load(Path("nowhere"), replace(CONFIG, n_embd=32, n_heads=4, intermediate_size=48))
    reply = len(encode(tokenizer, document).ids) - 1
    reply -= encode(tokenizer, document).ids.index(ASSISTANT)
    late = [float(d >= 8) for d in DEPTHS]
    found = curve(net, tokenizer, "sums", [document])
    assert found.agree == tuple(late)
    assert found.right == pytest.approx([x * (reply - 1) / reply for x in late])
    assert found.deepest == tuple(late)
    assert curve(net, tokenizer, "words", [document]).deepest is None


def test_a_table_has_a_row_per_kind_and_the_deepest_answers_below() -> None:
    shares = tuple(i / 10 for i in range(10))
    table = list(
        lines({"sums": Curve(shares, shares, shares), "code": Curve(shares, shares, None)})
    )
    assert [row.split()[0] for row in table] == ["kind", "sums", "deepest", "code"]
    assert table[0].split()[1:] == [str(d) for d in DEPTHS]
    assert table[2].split()[1:4] == ["0.0%", "10.0%", "20.0%"]
    assert table[3].split()[1:5] == ["0.0%", "0.0%", "10.0%", "10.0%"]


def test_kinds_are_chosen_by_name_and_unknown_ones_refused() -> None:
    assert raven.chosen("") == raven.SHARES
    assert raven.chosen("cups, code") == {"code": 0.12, "cups": 0.16}
    with pytest.raises(typer.BadParameter, match="There is no kind 'cusp': name school, words"):
        raven.chosen("cusp")


def test_shares_of_all_kinds_are_a_whole() -> None:
    assert sum(raven.SHARES.values()) == pytest.approx(1.0)
