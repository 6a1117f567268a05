"""How ``smol-boards`` was made: ``python -m specviz.training.vlm tower --out DIR``, then
``language --out DIR``, then ``ship``; ``look`` asks the result about held-out pictures.

Both trainings go on from the weights in ``--out``, which are all they need; they do not need one
another, and ``torchrun --nproc-per-node 2 -m specviz.training.vlm …`` shares one between processes.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Annotated

import torch
import typer
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import AutoConfig, AutoTokenizer

from specviz.models import registry, smollm2
from specviz.models.base import InputError
from specviz.models.hf import HFModel
from specviz.models.smol_boards import FOLDER, LABEL
from specviz.training.steps import History, Run, train
from specviz.training.vlm_folder import configuration, write_folder
from specviz.training.vlm_grids import Alphabet, Mistakes
from specviz.training.vlm_language import (
    LOOK_SEED,
    MARK,
    Reader,
    halve,
    lines,
    look,
    sequences,
)
from specviz.training.vlm_look import look as look_all
from specviz.training.vlm_look import write
from specviz.training.vlm_lora import Record, keep, optimizer, resume
from specviz.training.vlm_packing import Template
from specviz.training.vlm_scenes import scene
from specviz.training.vlm_see import WEIGHTS, train_tower
from specviz.training.vlm_symbols import SYMBOLS
from specviz.training.vlm_tower import tower_config
from specviz.training.workers import Workers

app = typer.Typer(add_completion=False, no_args_is_help=True)
GLANCE, LOOK = 6, 60  # held-out pictures that are looked at during a run, and after it


@app.callback()
def parts() -> None:
    """Train the parts of smol-boards."""


@app.command()
def tower(
    out: Annotated[Path, typer.Option(help="folder of the tower")],
    minutes: float = 60.0,
    rate: float = 1e-3,
    size: Annotated[int, typer.Option(min=1, help="pictures in a batch")] = 16,
    pages: Annotated[float, typer.Option(help="share of pages of words and of signs")] = 0.5,
    drills: Annotated[float, typer.Option(help="share of charts and crowds of figures")] = 0.0,
    seed: int = 1,
    begin: Annotated[
        Path | None, typer.Option(help="shipped folder to go on from where --out has no weights")
    ] = None,
) -> None:
    """Teach a small tower to say, patch by patch, what a picture shows."""
    train_tower(out, minutes, rate, size, pages, drills, seed, typer.echo, begin)


@app.command()
def language(
    out: Annotated[Path, typer.Option(help="folder of the update")],
    minutes: float = 60.0,
    rate: float = 2e-3,
    rank: Annotated[int, typer.Option(min=1, help="of a new update")] = 16,
    pause: Annotated[float, typer.Option(help="minutes between two savings")] = 5.0,
    together: Annotated[int, typer.Option(min=1, help="pictures in a step")] = 1,
    seed: int = 1,
    look_only: Annotated[bool, typer.Option("--look", help="train nothing")] = False,
    pictures: Annotated[int, typer.Option(min=1, help="held-out ones looked at in the end")] = LOOK,
) -> None:
    """Teach SmolLM2 to read grids of symbols, by a low-rank update; then look at its answers."""
    torch.manual_seed(seed)
    reader, updates, record = _reader(out, rank)
    if not look_only:
        workers = Workers.join()
        torch.set_num_threads(max(1, torch.get_num_threads() // workers.count))
        stream = sequences(
            reader,
            lambda rng: scene(rng, "train"),
            random.Random(f"{seed} {workers.rank} {record.tokens}"),
            Mistakes(),
        )
        seen = 0

        def loss(_: float) -> tuple[Tensor, int]:
            nonlocal seen
            found = [next(stream) for _ in range(together)]
            seen += together * workers.count
            mean = torch.stack([reader.loss(packed, Mistakes()) for packed in found]).mean()
            return mean, sum(len(packed.tokens) for packed in found)

        def save(history: History) -> None:
            if workers.rank == 0:
                keep(updates, out, _grown(record, history, seen, seed))
                _show(reader, GLANCE)

        steppers = optimizer(updates, rate)
        run = Run(minutes, rate, seed, pause)
        history = History(record.tokens, record.minutes)
        say = typer.echo if workers.rank == 0 else lambda _: None
        ended = train(updates, steppers, loss, run, history, save, say, workers=workers)
        workers.leave()
        if workers.rank > 0:
            return
        keep(updates, out, _grown(record, ended, seen, seed))
    _show(reader, pictures)


@app.command()
def ship(
    seen: Annotated[Path, typer.Option("--tower", help="folder of the trained tower")],
    update: Annotated[Path, typer.Option(help="folder of the trained update")],
    out: Annotated[Path, typer.Option(help="folder of the model")] = FOLDER,
) -> None:
    """Write the folder of the model from its trained parts; its card is written by hand."""
    language = smollm2.unpacked()
    tokenizer = AutoTokenizer.from_pretrained(language)
    text = AutoConfig.from_pretrained(language)
    config = configuration(tower_config(), text, MARK)
    weights = load_file(seen / WEIGHTS)
    write_folder(out, config, weights, update, SYMBOLS, Alphabet.of(tokenizer, SYMBOLS))


@app.command("look")
def look_at_model(
    count: Annotated[int, typer.Option(min=1, help="held-out pictures")] = 300,
    seed: int = 7,
    others: Annotated[
        int | None,
        typer.Option(min=0, help="of them asked about blank, shuffled and mistaken too; all"),
    ] = None,
    signs: Annotated[int, typer.Option(min=0, help="signs in free lettering beside them")] = 0,
    out: Annotated[Path | None, typer.Option(help="file for the figures, JSON")] = None,
) -> None:
    """Ask the shipped model about held-out pictures, also without showing them."""
    model = registry.load(LABEL, device="cpu", dtype="float32")
    found = look_all(model, count, seed, typer.echo, others, signs)
    if out is not None:
        write(out, model, found, seed)


def _reader(out: Path, rank: int) -> tuple[Reader, nn.ModuleDict, Record]:
    """SmolLM2 with the update in ``out``, or a new one."""
    model = smollm2.load("cpu", "float32")
    assert isinstance(model, HFModel)
    model.net.set_attn_implementation("sdpa")
    updates, record = resume(model.net, out, rank)
    halve(model.net)
    tokenizer = model.codec.tokenizer
    template = Template.of(tokenizer, MARK)
    return Reader(model.net, tokenizer, template, Alphabet.of(tokenizer, SYMBOLS)), updates, record


def _grown(record: Record, history: History, pictures: int, seed: int) -> Record:
    """``record`` after a run."""
    return Record(
        tokens=history.tokens,
        pictures=record.pictures + pictures,
        minutes=round(history.minutes, 1),
        seeds=(*record.seeds, seed),
        rank=record.rank,
    )


def _show(reader: Reader, pictures: int) -> None:
    """Print how ``reader`` does on so many held-out pictures."""
    rng = random.Random(LOOK_SEED)
    for line in lines(look(reader, [scene(rng, "held-out") for _ in range(pictures)])):
        typer.echo(line)


if __name__ == "__main__":
    try:
        app()
    except InputError as error:
        raise SystemExit(str(error)) from None
