"""What the target computes while it reads its answers: half-precision shards on disk.

``python -m specviz.training.eagle_features --answers DIR --out DIR`` writes one row per token: the
states that go into three layers, then the state that the output layer reads, side by side. A shard
is a memory-mapped array beside a small index, which is written last: a shard without one does not
count, and a run goes on behind the last that has one. At 4.5 kB per token of SmolLM2-135M a million
tokens take 4.6 GB, so ``--gigabytes`` says when to stop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from torch import Tensor

from specviz.files import write_whole
from specviz.models import smollm2
from specviz.models.base import InputError
from specviz.models.eagle_config import default_aux_layers
from specviz.models.hf import HFModel
from specviz.training.eagle_exchanges import FILE, Exchange, read

LARGEST = float(np.finfo(np.float16).max)


def features(net: Any, sequences: Sequence[Sequence[int]], layers: Sequence[int]) -> list[Tensor]:
    """Per sequence of n tokens, [n, (len(layers) + 1) * H] on the host, in the network's dtype.

    The inputs of ``layers``, then what the final norm puts out. Side by side, padded on the right:
    attention is causal, so no token sees the padding behind it.
    """
    width = max(map(len, sequences))
    ids = torch.tensor([list(s) + [0] * (width - len(s)) for s in sequences], device=net.device)
    body = net.base_model
    taken: dict[int, Tensor] = {}

    def take(number: int) -> Any:
        def hook(module: Any, given: tuple[Tensor, ...], named: dict[str, Tensor]) -> None:
            taken[number] = given[0] if given else named["hidden_states"]

        return hook

    hooks = [
        body.layers[n].register_forward_pre_hook(take(n), with_kwargs=True) for n in set(layers)
    ]
    try:
        with torch.inference_mode():
            final = body(input_ids=ids, use_cache=False).last_hidden_state
    finally:
        for hook in hooks:
            hook.remove()
    rows = torch.cat([*(taken[n] for n in layers), final], dim=-1).cpu()
    return [row[: len(s)] for row, s in zip(rows, sequences, strict=True)]


@dataclass(frozen=True)
class Example:
    """One exchange of n tokens with the target's states, read from disk.

    ``tokens`` [n]; ``prompt``: how many of them were given; ``held``: kept from training;
    ``features`` [n, 3H] and ``final`` [n, H], float16: row t was computed from the tokens up to t.
    """

    tokens: np.ndarray
    prompt: int
    held: bool
    features: np.ndarray
    final: np.ndarray


@dataclass(frozen=True)
class Index:
    """Beside the array of a shard: ``tokens`` [rows]; ``starts`` [m + 1] of its exchanges;
    ``prompts`` [m] lengths and ``held`` [m]."""

    tokens: np.ndarray
    starts: np.ndarray
    prompts: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, exchanges: Sequence[Exchange]) -> Index:
        """The index of these exchanges, one behind the other."""
        ends = np.cumsum([len(e.tokens) for e in exchanges])
        return cls(
            np.array([t for e in exchanges for t in e.tokens], dtype=np.int32),
            np.array([0, *ends], dtype=np.int64),
            np.array([len(e.prompt) for e in exchanges], dtype=np.int64),
            np.array([e.held for e in exchanges], dtype=bool),
        )


class Shards:
    """The exchanges of a folder of shards in order, ``[i]`` for each; nothing is read ahead."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._indices: list[Index] = []
        self._arrays: list[np.ndarray] = []
        while (index := _index_file(folder, len(self._indices))).is_file():
            with np.load(index) as kept:
                self._indices.append(Index(**kept))
            self._arrays.append(np.load(_array_file(folder, len(self._arrays)), mmap_mode="r"))
        self._places = [
            (shard, i) for shard, x in enumerate(self._indices) for i in range(len(x.prompts))
        ]

    @property
    def count(self) -> int:
        """Complete shards."""
        return len(self._indices)

    @property
    def rows(self) -> int:
        """Tokens in all shards."""
        return sum(len(index.tokens) for index in self._indices)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> Example:
        shard, i = self._places[number]
        index, array = self._indices[shard], self._arrays[shard]
        here = slice(index.starts[i], index.starts[i + 1])
        hidden = array.shape[1] // 4
        return Example(
            index.tokens[here].astype(np.int64),
            int(index.prompts[i]),
            bool(index.held[i]),
            array[here, : 3 * hidden],
            array[here, 3 * hidden :],
        )


def write(
    net: Any, exchanges: Sequence[Exchange], folder: Path, rows: int, most: int, side: int = 8
) -> Iterator[int]:
    """Write shards of about ``rows`` tokens of what ``folder`` lacks, ``most`` tokens in all.

    ``exchanges`` begin with those that are there already. ``side``: sequences in one pass. Yields
    the number of tokens on disk after every shard.
    """
    folder.mkdir(parents=True, exist_ok=True)
    kept = Shards(folder)
    number, total = kept.count, kept.rows
    left = list(exchanges[len(kept) :])
    same = len(kept) <= len(exchanges) and all(
        tuple(kept[i].tokens.tolist()) == exchanges[i].tokens for i in range(len(kept))
    )
    if not same:
        raise InputError(f"{folder} holds features of other answers: give another folder.")
    while left:
        ends = np.cumsum([len(e.tokens) for e in left])
        count = max(1, int(np.searchsorted(ends, rows, side="right")))
        if total + int(ends[count - 1]) > most:
            return
        _write_shard(net, left[:count], folder, number, side)
        number, total, left = number + 1, total + int(ends[count - 1]), left[count:]
        yield total


def _write_shard(net: Any, part: Sequence[Exchange], folder: Path, number: int, side: int) -> None:
    index = Index.of(part)
    config = net.config.get_text_config()
    layers = default_aux_layers(config.num_hidden_layers)
    array = np.lib.format.open_memmap(
        _array_file(folder, number),
        mode="w+",
        dtype=np.float16,
        shape=(len(index.tokens), 4 * config.hidden_size),
    )
    order = sorted(range(len(part)), key=lambda i: len(part[i].tokens))
    for first in range(0, len(order), side):
        here = order[first : first + side]
        for i, found in zip(
            here, features(net, [part[i].tokens for i in here], layers), strict=True
        ):
            # A few states of the first token are huge; half precision would make them infinite.
            clipped = found.float().clamp(-LARGEST, LARGEST).half()
            array[index.starts[i] : index.starts[i + 1]] = clipped.numpy()
    array.flush()
    buffer = BytesIO()
    np.savez(buffer, **vars(index))
    write_whole(_index_file(folder, number), buffer.getvalue())


def _array_file(folder: Path, number: int) -> Path:
    return folder / f"features-{number:04}.npy"


def _index_file(folder: Path, number: int) -> Path:
    return folder / f"features-{number:04}.npz"


def main(
    answers: Annotated[Path, typer.Option(help="folder that eagle_answers wrote")],
    out: Annotated[Path, typer.Option(help="folder of the shards")],
    gigabytes: Annotated[float, typer.Option(help="on disk at most")] = 5.0,
    megabytes: Annotated[float, typer.Option(help="of one shard, about")] = 200.0,
) -> None:
    """Write what is missing, until everything is there or the disk has been given its share."""
    source, exchanges = read(answers / FILE)
    model = smollm2.load("cpu", source.dtype)
    assert isinstance(model, HFModel)
    if model.digest != source.digest:
        raise InputError(f"{answers} holds answers of other weights: generate them again.")
    model.pack()
    each = 4 * 2 * model.net.config.get_text_config().hidden_size
    rows, most = int(megabytes * 1e6 / each), int(gigabytes * 1e9 / each)
    for total in write(model.net, exchanges, out, rows, most):
        typer.echo(f"{total} tokens, {total * each / 1e9:.2f} GB")


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        raise SystemExit(str(error)) from None
