"""A head learns from its target, goes on from its weights alone, and is looked at."""

from __future__ import annotations

import itertools
import random
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Tensor
from transformers import LlamaConfig, LlamaForCausalLM

from specviz.models.base import InputError
from specviz.models.eagle_net import EagleHead, rollout
from specviz.training import steps
from specviz.training.eagle import hidden
from specviz.training.eagle_batches import Batch, batches
from specviz.training.eagle_exchanges import Exchange
from specviz.training.eagle_features import Shards, write
from specviz.training.eagle_look import AHEAD, _runs, reach, summed
from specviz.training.eagle_steps import FADE, loss_of
from specviz.training.eagle_weights import fresh, load, most_frequent, save
from specviz.training.steps import History, Run, optimizers, train
from tests.models import tiny

LONGEST = 20
STEPS = 4  # guesses ahead


@pytest.fixture(scope="module")
def net() -> Any:
    torch.manual_seed(3)
    return LlamaForCausalLM(LlamaConfig(**tiny.SHAPE, num_hidden_layers=8)).eval()


def counting(number: int) -> Exchange:
    """Answers that count upwards: what follows is known from the token alone."""
    start = 10 + 3 * number % 40
    text = tuple(range(start, start + 16))
    return Exchange("list", text[:4], text[4:], number % 4 == 0)


@pytest.fixture(scope="module")
def shards(net: Any, tmp_path_factory: pytest.TempPathFactory) -> Shards:
    folder = tmp_path_factory.mktemp("features")
    list(write(net, [counting(i) for i in range(24)], folder, 100, 10_000))
    return Shards(folder)


def tensors(net: Any, head: EagleHead) -> tuple[Tensor, Tensor]:
    embedding = net.get_input_embeddings().weight.detach()
    return embedding, net.get_output_embeddings().weight.detach()[head.target_ids()]


def test_the_draft_vocabulary_holds_the_most_frequent_words_and_the_end() -> None:
    found = most_frequent([(9, 9, 7), (9, 7, 5, 4)], 3, {2})
    assert found.tolist() == [2, 7, 9]
    assert most_frequent([(9,)], 4, ()).tolist() == [0, 1, 2, 9]


def test_a_batch_is_padded_and_counts_the_targets_own_words(shards: Shards) -> None:
    batch = Batch.of([shards[1], shards[2]], 3)
    assert batch.tokens.shape == (2, 19)
    assert batch.tokens[0, :16].tolist() == list(shards[1].tokens)
    assert batch.tokens[0, 16:].tolist() == [0, 0, 0]
    # Column 3 is the last of the prompt: behind it comes the first word of the answer.
    assert batch.counts[0].nonzero().flatten().tolist() == list(range(3, 15))
    rows = torch.from_numpy(shards[1].features.astype("float32"))
    assert torch.equal(batch.features[0, :16], rows)


def test_every_exchange_that_is_not_held_out_comes_once_a_round(shards: Shards) -> None:
    stream = batches(shards, 40, LONGEST, STEPS, random.Random(1))
    seen: list[tuple[int, ...]] = []
    while len(seen) < 36:
        batch = next(stream)
        assert batch.tokens.shape[0] * (batch.tokens.shape[1] - STEPS) <= 40
        seen += [tuple(row[:16]) for row in batch.tokens.tolist()]
    wanted = [counting(i).tokens for i in range(24) if i % 4]
    assert sorted(seen[:18]) == sorted(seen[18:]) == sorted(wanted)


def test_exchanges_that_are_all_too_long_are_said(net: Any, shards: Shards) -> None:
    with pytest.raises(InputError, match=r"^No exchange has an answer within 3 tokens: give more"):
        next(batches(shards, 40, 3, STEPS, random.Random(1)))
    head = fresh(net, torch.arange(5, 40), LONGEST)
    with pytest.raises(InputError, match=r"^No held-out exchange has an answer within 3 tokens"):
        reach(head, tensors(net, head)[0], shards, 8, 3)


def test_the_loss_is_the_cross_entropy_of_words_that_can_be_guessed(
    net: Any, shards: Shards
) -> None:
    head = fresh(net, torch.arange(5, 40), LONGEST)
    embedding, output = tensors(net, head)
    batch = Batch.of([shards[1], shards[5]], STEPS)
    found = rollout(
        head, batch.features[:, : batch.tokens.shape[1] - STEPS],
        F.embedding(batch.tokens[:, 1:], embedding), STEPS,
    )  # fmt: skip
    total = 0.0
    for step, logits in enumerate(found):
        losses = []
        for row, column in itertools.product(range(2), range(16)):
            q = column + 1 + step  # what is guessed is the word behind this token
            if not 3 <= q < 15 or not 5 <= int(batch.tokens[row, q + 1]) < 40:
                continue
            wanted = (batch.final[row, q] @ output.T).softmax(-1)
            losses.append(-(wanted * logits[row, column].log_softmax(-1)).sum())
        total += FADE**step * torch.stack(losses).mean().item()
    expected = total / sum(FADE**step for step in range(STEPS))
    found_loss = loss_of(head, batch, embedding, output, STEPS).item()
    assert found_loss == pytest.approx(expected, rel=1e-5)


def test_a_head_learns_to_count_and_goes_on_from_its_weights_alone(
    net: Any, shards: Shards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps, "WARM_UP", 10)
    torch.manual_seed(1)
    head = fresh(net, torch.arange(5, 80), LONGEST)
    embedding, _ = tensors(net, head)
    before = reach(head, embedding, shards, 10, LONGEST)
    stream = batches(shards, 80, LONGEST, STEPS, random.Random(1))

    def words(batch: Batch) -> Tensor:
        """The target of these tests is noise; its text is learned instead."""
        found = rollout(
            head, batch.features[:, : batch.tokens.shape[1] - STEPS],
            F.embedding(batch.tokens[:, 1:], embedding), 1,
        )[0]  # fmt: skip
        counts = batch.counts[:, 1 : 1 + found.shape[1]]
        wanted = batch.tokens[:, 2 : 2 + found.shape[1]] - 5
        return F.cross_entropy(found[counts].float(), wanted[counts])

    def loss(_: float) -> tuple[Tensor, int]:
        batch = next(stream)
        return words(batch), int(batch.counts.sum())

    kept: list[History] = []
    run = Run(2.0, 0.02, 1, pause=1.0)
    clock = itertools.count(0, 0.5).__next__
    seen = train(
        head, optimizers(head, 0.02, hidden), loss, run, History(100, 1.0), kept.append,
        lambda line: None, clock,
    )  # fmt: skip
    after = reach(head, embedding, shards, 10, LONGEST)
    assert before.after[0] < 0.3 < 0.7 < after.after[0]
    assert seen.minutes == 3.0 and seen.tokens > 100 and len(kept) == 1
    save(head, tmp_path, seen)
    again, history = load(net, tmp_path)
    assert history == seen
    assert all(p.requires_grad for p in again.parameters())
    assert again.config == head.config and again.config.max_positions == LONGEST
    for name, tensor in head.state_dict().items():
        kept_as = tensor if name in ("d2t", "t2d") else tensor.to(torch.bfloat16).float()
        assert torch.equal(again.state_dict()[name], kept_as), name


def test_files_have_public_names_and_stay_small(
    net: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specviz.training.eagle_weights.SHARD", "40KB")
    save(fresh(net, torch.arange(5, 80), LONGEST), tmp_path, History())
    files = sorted(tmp_path.glob("*.safetensors"))
    names = [name for file in files for name in safe_open(file, "pt").keys()]  # noqa: SIM118
    assert len(files) > 1 and all(file.stat().st_size < 100_000 for file in files)
    assert {"fc.weight", "layers.0.self_attn.q_proj.weight", "d2t", "t2d"} <= set(names)
    assert not [name for name in names if name.startswith("midlayer")]


def test_runs_of_right_guesses_are_summed_up() -> None:
    found = summed([0, 1, 5, 5], 0.75)
    assert found.after == (0.75, 2 / 3, 1.0, 1.0, 1.0)
    assert (found.tau, found.known, found.places) == (1 + 11 / 4, 0.75, 4)


def test_a_run_is_as_long_as_guesses_are_right(
    net: Any, shards: Shards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A head that always guesses the same word is right where the text has it."""
    head = fresh(net, torch.arange(5, 80), LONGEST)
    word = int(shards[1].tokens[9])
    batch = Batch.of([shards[1]], AHEAD)
    columns = batch.tokens.shape[1] - AHEAD
    sure = torch.zeros(1, columns, 75)
    sure[..., word - 5] = 1.0
    monkeypatch.setattr(
        "specviz.training.eagle_look.rollout", lambda *given: [sure for _ in range(AHEAD)]
    )
    runs = _runs(head, tensors(net, head)[0], batch)
    # Columns 2 to 9 have AHEAD words of the answer behind them; the guess of column 7 is word 9.
    assert runs.tolist() == [0, 0, 0, 0, 0, 1, 0, 0]
