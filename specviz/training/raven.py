"""Trains ``tiny-raven``: ``python -m specviz.training.raven --school gsm8k_train.jsonl``.

A run starts from the weights in ``--out`` when there are some (weights alone: no optimizer state
is kept), warms up, holds its rate and decays it to nothing within ``--minutes``, so that whatever
it leaves is in final form. ``torchrun --nproc-per-node 2 -m specviz.training.raven`` shares a run
between processes. ``--look`` prints the depth curves of those weights and trains nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import torch
import typer
from tokenizers import Tokenizer

from specviz.models.raven_net import Raven
from specviz.training.raven_documents import LONGEST, Kind
from specviz.training.raven_look import look
from specviz.training.raven_steps import Plan, train
from specviz.training.raven_text import Mixture, batches
from specviz.training.raven_weights import CONFIG, load, save, tokenizer_in
from specviz.training.steps import History
from specviz.training.workers import Workers

SHARES: dict[Kind, float] = {
    "school": 0.12,
    "words": 0.22,
    "code": 0.12,
    "arithmetic": 0.26,
    "cups": 0.16,
    "sums": 0.12,
}
GLANCE, LOOK = 40, 150  # documents of each kind that are looked at during a run, and after it


def chosen(kinds: str) -> dict[Kind, float]:
    """The shares of the kinds named in ``a,b,c``; of all when nothing is named."""
    names = [name.strip() for name in kinds.split(",") if name.strip()]
    unknown = [name for name in names if name not in SHARES]
    if unknown:
        raise typer.BadParameter(f"There is no kind {unknown[0]!r}: name {', '.join(SHARES)}.")
    return {kind: share for kind, share in SHARES.items() if not names or kind in names}


def show(net: Raven, tokenizer: Tokenizer, count: int, path: Path | None = None) -> None:
    """Print the depth curves on ``count`` held-out documents of every kind."""
    for line in look(net, tokenizer, count, path):
        typer.echo(line)


def main(
    path: Annotated[Path, typer.Option("--school", help="GSM8K questions and answers, JSON lines")],
    out: Path = Path("assets/models/tiny-raven"),
    kinds: Annotated[str, typer.Option(help="train on these kinds only, as a,b,c")] = "",
    minutes: float = 60.0,
    rate: float = 3e-3,
    mean: Annotated[float, typer.Option(help="mean iterations")] = 16.0,
    longest: Annotated[int, typer.Option(help="steps of a composed row at most")] = LONGEST,
    from_mean: Annotated[float, typer.Option(help="mean at the beginning; 0: no growth")] = 0.0,
    from_longest: Annotated[int, typer.Option(help="longest then; 0: no growth")] = 0,
    rows: int = 8,
    width: Annotated[int, typer.Option(help="tokens in a row")] = 384,
    seed: int = 1,
    noise: Annotated[float, typer.Option(help="share of batches from random states")] = 0.5,
    look_only: Annotated[bool, typer.Option("--look", help="train nothing")] = False,
) -> None:
    """Train for so many minutes, from the weights in ``--out`` if any; then look at them."""
    shares = chosen(kinds)
    torch.manual_seed(seed)  # fresh weights are drawn by load
    net, history = load(out)
    tokenizer = tokenizer_in(out, path, SHARES, CONFIG.vocab_size)
    if not look_only:
        workers = Workers.join()
        torch.set_num_threads(max(1, torch.get_num_threads() // workers.count))
        mixture = Mixture(path, shares, longest, seed + 1000 * workers.rank)
        plan = Plan(
            minutes=minutes,
            rate=rate,
            seed=seed,
            mean=mean,
            longest=longest,
            from_mean=from_mean or mean,
            from_longest=from_longest or longest,
            noise=noise,
        )

        def grow(steps: int) -> None:
            mixture.longest = steps

        def keep(seen: History) -> None:
            if workers.rank == 0:
                save(net, out, seen)
                show(net, tokenizer, GLANCE)

        def say(line: str) -> None:
            if workers.rank == 0:
                typer.echo(line)

        stream = batches(tokenizer, mixture, rows, width)
        seen = train(net, stream, plan, history, grow, keep, say, workers=workers)
        workers.leave()
        if workers.rank > 0:
            return
        save(net, out, seen)
        net, _ = load(out)
    show(net, tokenizer, LOOK, path)


if __name__ == "__main__":
    typer.run(main)
