"""How ``smollm2-eagle`` was made: ``python -m specviz.training.eagle --features DIR --out DIR``.

Before it, ``eagle_answers`` lets the target answer prompts of many kinds, and ``eagle_features``
writes down what it computes while it reads its answers. A run goes on from the weights in
``--out``, which are all it needs.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor

from specviz.models import smollm2
from specviz.models.base import InputError
from specviz.models.eagle_net import EagleHead
from specviz.models.hf import HFModel
from specviz.training.eagle_batches import batches
from specviz.training.eagle_features import Shards
from specviz.training.eagle_look import reach
from specviz.training.eagle_steps import loss_of
from specviz.training.eagle_weights import fresh, load, most_frequent, save
from specviz.training.steps import History, Run, optimizers, train
from specviz.training.workers import Workers

GLANCE, LOOK = 40, 400  # held-out exchanges


def hidden(name: str) -> bool:
    """Whether a matrix lies between features and output layer."""
    return "lm_head" not in name


def main(
    features: Annotated[Path, typer.Option(help="folder that eagle_features wrote")],
    out: Annotated[Path, typer.Option(help="folder of the weights")],
    minutes: float = 60.0,
    rate: float = 2e-3,
    tokens: Annotated[int, typer.Option(help="in a batch, about")] = 3000,
    longest: Annotated[int, typer.Option(help="positions that the head is trained for")] = 256,
    vocabulary: Annotated[int, typer.Option(help="tokens that it can guess")] = 4096,
    ahead: Annotated[int, typer.Option(min=1, help="guesses in a row that are taught")] = 4,
    seed: int = 1,
    look_only: Annotated[bool, typer.Option("--look", help="train nothing")] = False,
) -> None:
    """Train for so many minutes, from the weights in ``--out`` if any; then look at them."""
    model = smollm2.load("cpu", "float32")
    assert isinstance(model, HFModel)
    net, shards = model.net, Shards(features)
    if not len(shards):
        raise InputError(f"{features} holds no features: write them first.")
    embedding: Tensor = net.get_input_embeddings().weight.detach()
    torch.manual_seed(seed)
    head, history = _head(model, shards, out, vocabulary, longest)

    def show(count: int) -> None:
        found = reach(head, embedding, shards, count, longest)
        after = " ".join(f"{share:.1%}" for share in found.after)
        typer.echo(
            f"held out: right {after}, tau {found.tau:.2f}, known {found.known:.1%}, "
            f"{found.places} places"
        )

    if not look_only:
        workers = Workers.join()
        torch.set_num_threads(max(1, torch.get_num_threads() // workers.count))
        stream = batches(shards, tokens, longest, ahead, random.Random(seed + workers.rank))
        output: Tensor = net.get_output_embeddings().weight.detach()[head.target_ids()]

        def loss(_: float) -> tuple[Tensor, int]:
            batch = next(stream)
            return loss_of(head, batch, embedding, output, ahead), int(batch.counts.sum())

        def keep(seen: History) -> None:
            if workers.rank == 0:
                save(head, out, seen)
                show(GLANCE)

        def say(line: str) -> None:
            if workers.rank == 0:
                typer.echo(line)

        steppers = optimizers(head, rate, hidden)
        run = Run(minutes, rate, seed)
        seen = train(head, steppers, loss, run, history, keep, say, workers=workers)
        workers.leave()
        if workers.rank > 0:
            return
        save(head, out, seen)
        head, _ = load(net, out)
    show(LOOK)


def _head(
    model: HFModel, shards: Shards, out: Path, vocabulary: int, longest: int
) -> tuple[EagleHead, History]:
    """What is in ``out``, or a new head that guesses the most frequent words of the answers."""
    if (out / "config.json").exists():
        return load(model.net, out)
    examples = (shards[i] for i in range(len(shards)))
    answers = (e.tokens[e.prompt :].tolist() for e in examples if not e.held)
    guessed = most_frequent(answers, vocabulary, model.eos_ids)
    return fresh(model.net, guessed, longest), History()


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        raise SystemExit(str(error)) from None
