"""The language side of the embedded image-text model: packed pictures, its update, its loss."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from specviz.models import low_rank
from specviz.models.base import InputError
from specviz.models.smol_boards import UPDATE
from specviz.training import vlm_lora
from specviz.training.steps import History, Run, train
from specviz.training.vlm_grids import Alphabet, Mistakes
from specviz.training.vlm_language import Reader, chats, lines, look, sequences
from specviz.training.vlm_lora import Record, attach, factors, keep, optimizer, resume
from specviz.training.vlm_packing import Branch, Template, pack
from specviz.training.vlm_scenes import Exchange, Scene
from tests.models import tiny

MARK = 3
GRID = [40, 41, 42, 43]
BRANCHES = [
    Branch((10, 11, 12, 13, 2), (False, False, True, True, True)),
    Branch((20, 21, 22, 2), (False, True, True, True)),
    Branch((10, 30, 2, 31, 32, 2), (False, True, True, False, True, True)),
]
TEMPLATE = Template((1, 9, 8), (2, 7), (2, 6))
SYMBOLS = ("a", "b", "c", "d")


def asked(question: str, answer: str) -> Exchange:
    return Exchange(question, answer, "test", (answer,))


def board(number: int) -> Scene:
    """A picture of two cells whose only question is which letters they hold."""
    first, second = SYMBOLS[number % 4], SYMBOLS[number // 4 % 4]
    return Scene("board", ((first, ""), ("", second)), (asked("Q", f"{first}{second}"),))


def updated(dtype: torch.dtype = torch.float64) -> tuple[Any, nn.ModuleDict]:
    """A tiny network with an update that is not zero."""
    net = tiny.net("llama", "sdpa", dtype)
    updates = attach(net, 4)
    torch.manual_seed(5)
    with torch.no_grad():
        for name, factor in factors(updates).items():
            if name.endswith(low_rank.UP):
                factor.normal_(std=0.3)
    return net, updates


def reader(net: Any) -> Reader:
    tokenizer = tiny.tokenizer()
    return Reader(net, tokenizer, Template.of(tokenizer, MARK), Alphabet.of(tokenizer, SYMBOLS))


def test_a_template_is_read_off_the_chat_template() -> None:
    tokenizer = tiny.tokenizer()
    found = Template.of(tokenizer, MARK)
    assert tokenizer.decode(found.head) == "<|im_start|>user\n"
    assert tokenizer.decode(found.turn) == "<|im_end|>\n<|im_start|>assistant\n"
    assert tokenizer.decode(found.again) == "<|im_end|>\n<|im_start|>user\n"


def test_a_chat_about_a_picture_is_what_the_chat_template_makes_of_it() -> None:
    tokenizer, mark = tiny.tokenizer(), "<image>"
    exchanges = [asked("What?", "a b"), asked("And?", "c")]
    template = Template.of(tokenizer, MARK)
    made = reader(tiny.net("llama")).asked(exchanges, "\n")
    whole = tokenizer.apply_chat_template(
        [
            {"role": "user", "content": f"{mark}{mark}\nWhat?"},
            {"role": "assistant", "content": "a b"},
            {"role": "user", "content": "And?"},
            {"role": "assistant", "content": "c"},
        ],
        return_dict=False,
    )
    assert [*template.head, MARK, MARK, *made.tokens] == whole[:-1]  # but the last line end
    own = [t for t, learned in zip(made.tokens, made.learned, strict=True) if learned]
    assert tokenizer.decode(own) == "a b<|im_end|>c<|im_end|>"


def test_packed_chats_say_what_each_says_alone() -> None:
    net, _ = updated()
    model = reader(net)
    packed = pack(TEMPLATE, GRID, BRANCHES)
    said = model.logits(packed, model.embedded(packed))
    assert packed.targets.tolist() == [12, 13, 2, 21, 22, 2, 30, 2, 32, 2]
    start = 0
    for piece in BRANCHES:
        tokens = [*TEMPLATE.head, *GRID, *piece.tokens]
        alone = net(torch.tensor([tokens])).logits[0]
        rows = [7 + i - 1 for i, own in enumerate(piece.learned) if own]
        wanted = alone[rows]
        assert torch.allclose(said[start : start + len(rows)], wanted, atol=1e-10)
        start += len(rows)
    assert start == len(said)


def test_only_the_update_gets_gradients() -> None:
    net, updates = updated(torch.float32)
    model = reader(net)
    model.loss(pack(TEMPLATE, GRID, BRANCHES), Mistakes()).backward()
    learned = {n for n, p in net.named_parameters() if p.grad is not None}
    assert learned == {n for n, _ in net.named_parameters() if n.endswith((".down", ".up"))}
    assert len(learned) == 2 * len(updates) == 28


@pytest.mark.parametrize(("dtype", "gap"), [(torch.float64, 1e-10), (torch.float32, 2e-4)])
def test_a_merged_update_computes_what_it_did_beside_the_weights(
    dtype: torch.dtype, gap: float
) -> None:
    net, updates = updated(dtype)
    tokens = torch.tensor([[1, 20, 30, 40, 50]])
    beside = net(tokens).logits
    merged = tiny.net("llama", "sdpa", dtype)
    before = merged(tokens).logits
    layers = dict(low_rank.linear_layers(merged.get_decoder()))
    low_rank.merge({name: layer.weight for name, layer in layers.items()}, factors(updates))
    assert (merged(tokens).logits - beside).abs().max() < gap
    assert (before - beside).abs().max() > 0.1


def test_an_update_goes_on_from_its_file_alone(tmp_path: Path) -> None:
    _, updates = updated(torch.float32)
    keep(updates, tmp_path, Record(70, 8, 1.5, (3,), 4))
    again, record = resume(tiny.net("llama", "sdpa", torch.float32), tmp_path, 9)
    assert record == Record(70, 8, 1.5, (3,), 4)
    halves = {name: part.half().float() for name, part in factors(updates).items()}
    assert {n: p.tolist() for n, p in factors(again).items()} == {
        n: p.tolist() for n, p in halves.items()
    }
    (tmp_path / vlm_lora.RECORD).unlink()
    assert resume(tiny.net("llama", "sdpa", torch.float32), tmp_path, 9)[1] == Record(rank=4)


def test_a_new_update_changes_nothing_yet(tmp_path: Path) -> None:
    net = tiny.net("llama", "sdpa", torch.float32)
    tokens = torch.tensor([[1, 20, 30]])
    before = net(tokens).logits
    updates, record = resume(net, tmp_path / "none", 4)
    assert record == Record(rank=4)
    assert torch.equal(net(tokens).logits, before)
    assert updates["layers/0/self_attn/q_proj"].down.shape == (4, 48)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda f: f.write_bytes(f.read_bytes()[:100]), "is damaged: take it away"),
        (lambda f: f.write_bytes(b""), "is damaged: take it away"),
        (lambda f: keep(attach(tiny.net("qwen3"), 4), f.parent, Record()), "another model"),
    ],
)
def test_a_wrong_update_is_refused_in_a_sentence(
    tmp_path: Path, change: Callable[[Path], object], said: str
) -> None:
    keep(updated(torch.float32)[1], tmp_path, Record())
    if said == "another model":
        smaller = nn.ModuleDict(dict(list(attach(tiny.net("llama"), 4).items())[:3]))
        keep(smaller, tmp_path, Record())
    else:
        change(tmp_path / UPDATE)
    with pytest.raises(InputError, match=said):
        resume(tiny.net("llama", "sdpa", torch.float32), tmp_path, 4)


def test_mistakes_are_few_and_of_every_sort() -> None:
    alphabet = Alphabet({s: 100 + i for i, s in enumerate("abcdefgh")}, 7)
    grid = [100, 7] * 500
    rng = random.Random(1)
    spoiled = [Mistakes(worst=0.2, ghosts=0.5).spoil(grid, alphabet, rng) for _ in range(40)]
    assert sum(found == grid for found in spoiled) in range(12, 28)
    pairs = [p for found in spoiled for p in zip(grid, found, strict=True) if p[0] != p[1]]
    assert {b for a, b in pairs if a == 100} == {7, *range(101, 108)}
    assert {b for a, b in pairs if a == 7} == set(range(100, 108))
    assert Mistakes(worst=0.0).spoil(grid, alphabet, rng) == grid


def test_a_blurred_cell_lies_between_its_symbol_and_the_others() -> None:
    torch.manual_seed(0)
    embedded, filler = torch.eye(6)[torch.tensor([0, 1] * 200)], torch.eye(6)[5]
    found = Mistakes(faint=0.3).blur(embedded, filler, torch.eye(6)[2:4])
    assert torch.allclose(found.sum(1), torch.ones(400))
    own = (found * embedded).sum(1)
    assert 0.7 <= own.min() < 0.8 and own.max() > 0.999
    assert 0.2 < found[:, 2:4].max() <= 0.3
    assert torch.equal(Mistakes(faint=0.0).blur(embedded, filler, torch.eye(6)[2:4]), embedded)


def test_every_question_of_a_picture_is_asked_once_some_as_a_second_turn() -> None:
    scene = Scene("board", (), tuple(asked(str(i), "x") for i in range(6)))
    rng = random.Random(2)
    found = [chats(scene, rng) for _ in range(50)]
    for turns in found:
        assert sorted(e.question for chat in turns for e in chat) == list("012345")
    lengths = [len(chat) for turns in found for chat in turns]
    assert set(lengths) == {1, 2}
    assert 0.35 < lengths.count(2) / len(lengths) < 0.55


def test_the_loss_falls_and_answers_become_exact() -> None:
    net = tiny.net("llama", "sdpa", torch.float32)
    updates = attach(net, 8)
    model = reader(net)
    numbers = iter(range(10**6))
    stream = sequences(model, lambda rng: board(next(numbers)), random.Random(1), Mistakes(0, 0, 0))
    losses: list[float] = []

    def loss(_: float) -> tuple[torch.Tensor, int]:
        found = torch.stack([model.loss(p) for p in islice(stream, 4)]).mean()
        losses.append(found.item())
        return found, 1

    steppers = optimizer(updates, 0.04)
    assert [g["share"] for g in steppers[0].param_groups] == [0.25, 1.0]
    clock = iter(range(100_000))
    run = Run(minutes=3.0, rate=0.04, seed=1)
    train(updates, steppers, loss, run, History(), lambda _: None, lambda _: None,
          clock=lambda: float(next(clock)))  # fmt: skip
    assert losses[0] > 5 and losses[-1] < 0.2
    cases = [board(i) for i in range(16)]
    found = look(model, cases)
    assert found.exact == {"board": (16, 16)}
    assert found.right == 1.0 and found.wrong == ()
    untrained = look(reader(tiny.net("llama", "sdpa", torch.float32)), cases)
    assert untrained.exact == {"board": (0, 16)}
    text = "\n".join(lines(untrained, 1))
    assert "board          0 of 16 answers exact (0%)" in text
    assert "wanted  'aa'" in text


def test_a_symbol_of_two_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="'xyz' is not one token"):
        Alphabet.of(tiny.tokenizer(), ["a", "xyz"])


def test_a_record_is_plain_json(tmp_path: Path) -> None:
    keep(updated()[1], tmp_path, Record(1, 2, 3.0, (4, 5), 6))
    kept = json.loads((tmp_path / "language.json").read_text(encoding="utf-8"))
    assert kept == {"tokens": 1, "pictures": 2, "minutes": 3.0, "seeds": [4, 5], "rank": 6}
