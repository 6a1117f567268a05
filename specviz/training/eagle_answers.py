"""The target's own greedy answers: ``python -m specviz.training.eagle_answers --out DIR``.

A head learns to guess what its target says, so it is trained on nothing else. A pass over 16 rows
costs little more than a pass over one, so prompts of similar length are answered side by side. The
file in ``--out`` grows by a batch at a time; a run goes on where the last one stopped.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Annotated

import torch
import typer
from torch import Tensor

from specviz.models import smollm2
from specviz.models.base import InputError, Message
from specviz.models.hf import HFModel
from specviz.training.eagle_exchanges import FILE, Exchange, Source, append, resume
from specviz.training.eagle_prompts import Prompt, stream
from specviz.training.raven_documents import held_out

POOL = 16  # batches that are sorted by length together: the order of lengths stays mixed


class Batch:
    """Sequences side by side, padded on the left, behind one cache.

    ``owners`` [b]: whose row each one is. ``seen`` [b, columns]: which cached columns are tokens.
    """

    def __init__(self, model: HFModel, rows: int, reserve: int) -> None:
        self.model = model
        self.owners = list(range(rows))
        self.seen = torch.zeros(rows, 0, dtype=torch.bool)
        self._reserve = reserve
        self._cache = model.cache(reserve)

    def read(self, ids: Tensor, real: Tensor) -> list[int]:
        """The target's pick [b] behind the last of the columns ``ids`` [b, c].

        ``real`` [b, c]: which of them are tokens, not padding.
        """
        self.seen = torch.cat([self.seen, real], dim=1)
        columns = (self.seen.cumsum(1) - 1).clamp(min=0)
        positions = columns[:, -ids.shape[1] :]
        net = self.model.net
        with torch.inference_mode():
            out = net(
                input_ids=ids.to(net.device),
                attention_mask=self._masks(columns, positions),
                position_ids=positions.to(net.device),
                cache=self._cache,
                use_cache=True,
                logits_to_keep=1,
            )
        picks: list[int] = out.logits[:, -1].argmax(-1).tolist()
        return picks

    def _masks(self, columns: Tensor, positions: Tensor) -> Tensor | dict[str, Tensor]:
        """Additive masks [b, 1, c, columns]; one for each kind of layer where they differ."""
        distance = positions[:, :, None] - columns[:, None, :]
        order = torch.arange(self.seen.shape[1])
        causal = order[None, :] <= order[-positions.shape[1] :, None]
        visible = self.seen[:, None, :] & causal
        dtype = self.model.net.dtype
        masks = {}
        for kind, window in self.model.windows.items():
            shown = visible if window is None else visible & (distance < window)
            mask = torch.zeros(shown.shape, dtype=dtype)
            # The least number, not minus infinity: a row of padding sees nothing, and stays finite.
            mask = mask.masked_fill_(~shown, torch.finfo(dtype).min)
            masks[kind] = mask[:, None].to(self.model.net.device)
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only."""
        full, self._cache = self._cache, self.model.cache(self._reserve)
        for number, layer in enumerate(full.layers):
            self._cache.update(layer.keys[rows], layer.values[rows], number)
        self.seen = self.seen[rows]
        self.owners = [self.owners[row] for row in rows]


def greedy(model: HFModel, prompts: Sequence[Sequence[int]], longest: int) -> list[tuple[int, ...]]:
    """What ``model`` answers to each of ``prompts``, at most ``longest`` tokens.

    Ends with the first end token. Equals decoding one by one except where two tokens tie within
    rounding.
    """
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + list(p) for p in prompts])
    real = torch.tensor([[False] * (width - len(p)) + [True] * len(p) for p in prompts])
    answers: list[list[int]] = [[] for _ in prompts]
    batch = Batch(model, len(prompts), width + longest)
    going = set(batch.owners)
    for _ in range(longest):
        picks = batch.read(ids, real)
        for owner, pick in zip(batch.owners, picks, strict=True):
            if owner in going:
                answers[owner].append(pick)
                if pick in model.eos_ids:
                    going.remove(owner)
        if not going:
            break
        if 2 * len(going) <= len(batch.owners):
            rows = [row for row, owner in enumerate(batch.owners) if owner in going]
            batch.keep(rows)
            picks = [picks[row] for row in rows]
        ids = torch.tensor(picks)[:, None]
        real = torch.ones_like(ids, dtype=torch.bool)
    return [tuple(answer) for answer in answers]


def encoded(model: HFModel, prompts: Iterable[Prompt]) -> Iterator[tuple[Prompt, tuple[int, ...]]]:
    """Prompts with their tokens, chat template included."""
    for prompt in prompts:
        yield prompt, model.encode([Message("user", prompt.text)]).tokens


def answer(
    model: HFModel,
    prompts: Iterable[Prompt],
    known: Sequence[Exchange],
    rows: int,
    longest: int,
) -> Iterator[list[Exchange]]:
    """The exchanges that ``known`` lacks, in batches of ``rows`` of about the same length."""
    done = {exchange.prompt for exchange in known}
    wanted = ((p, ids) for p, ids in encoded(model, prompts) if ids not in done)
    while pool := list(islice(wanted, POOL * rows)):
        pool.sort(key=lambda pair: len(pair[1]))
        batches = [pool[first : first + rows] for first in range(0, len(pool), rows)]
        # Wherever a run stops, what it leaves should hold all lengths.
        random.Random(len(done)).shuffle(batches)
        for batch in batches:
            answers = greedy(model, [ids for _, ids in batch], longest)
            yield [
                Exchange(prompt.kind, ids, found, held_out(prompt.text))
                for (prompt, ids), found in zip(batch, answers, strict=True)
            ]


def main(
    out: Annotated[Path, typer.Option(help="folder of the answers")],
    minutes: float = 60.0,
    count: Annotated[int, typer.Option(help="prompts in all")] = 6000,
    rows: Annotated[int, typer.Option(help="prompts answered side by side")] = 16,
    longest: Annotated[int, typer.Option(help="tokens of an answer at most")] = 160,
    seed: Annotated[int, typer.Option(help="of the prompts")] = 1,
) -> None:
    """Answer prompts for so many minutes, or until there are ``--count`` answers."""
    model = smollm2.load("cpu", "float32")
    assert isinstance(model, HFModel)
    model.pack()
    path = out / FILE
    known = resume(path, Source(model.label, model.digest, model.dtype, longest))
    begun, made, total = monotonic(), 0, len(known)
    for batch in answer(model, islice(stream(seed), count), known, rows, longest):
        append(path, batch)
        made += sum(len(exchange.answer) for exchange in batch)
        total += len(batch)
        gone = monotonic() - begun
        typer.echo(f"{total} answers, {made} tokens in {gone / 60:.1f} min: {made / gone:.0f} /s")
        if gone > 60 * minutes:
            break


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        raise SystemExit(str(error)) from None
