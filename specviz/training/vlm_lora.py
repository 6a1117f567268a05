"""A decoder with a low-rank update that learns beside it, and the file of that update."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import SafetensorError
from safetensors.torch import save
from torch import Tensor, nn

from specviz.files import write_whole
from specviz.models.base import InputError
from specviz.models.low_rank import DOWN, UP, linear_layers, mismatch, read
from specviz.models.smol_boards import UPDATE

RECORD = "language.json"
DOWN_SHARE = 0.25  # of the rate, for the factors that do not start as zero


@dataclass(frozen=True)
class Record:
    """What an update has learned from: ``tokens`` read, ``pictures`` seen, ``minutes`` of all its
    runs, the ``seeds`` of those, and its ``rank``."""

    tokens: int = 0
    pictures: int = 0
    minutes: float = 0.0
    seeds: tuple[int, ...] = ()
    rank: int = 0


class Adapted(nn.Module):
    """A frozen linear layer and its update: ``x W' + (x down') up'``.

    The update starts as zero; its factors stay in float32 or wider, whatever the layer has.
    """

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer
        kept = torch.promote_types(layer.weight.dtype, torch.float32)
        scale = layer.in_features**-0.5
        self.down = nn.Parameter(torch.randn(rank, layer.in_features, dtype=kept) * scale)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank, dtype=kept))

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] to [..., out]."""
        inner = F.linear(x, self.down.to(x.dtype))
        base: Tensor = self.layer(x)
        return base + F.linear(inner, self.up.to(x.dtype))


def attach(net: Any, rank: int) -> nn.ModuleDict:
    """Put an update of ``rank`` beside every linear layer of the decoder of ``net``, a transformers
    ``…ForCausalLM``; everything else is frozen. The updates by layer name, dots as slashes."""
    net.requires_grad_(False)
    decoder = net.get_decoder()
    updates = nn.ModuleDict()
    for name, layer in list(linear_layers(decoder)):
        parent, _, child = name.rpartition(".")
        updates[name.replace(".", "/")] = adapted = Adapted(layer, rank)
        setattr(decoder.get_submodule(parent), child, adapted)
    return updates


def optimizer(updates: nn.ModuleDict, rate: float) -> list[torch.optim.Optimizer]:
    """AdamW for the factors; what starts as zero moves faster (arXiv 2402.12354)."""
    named = dict(updates.named_parameters())
    down, up = ([p for n, p in named.items() if n.endswith(end)] for end in (".down", ".up"))
    adam = torch.optim.AdamW(
        [{"params": down, "share": DOWN_SHARE}, {"params": up, "share": 1.0}],
        lr=rate,
        betas=(0.9, 0.98),
        weight_decay=0.0,
    )
    return [adam]


def factors(updates: nn.ModuleDict) -> dict[str, Tensor]:
    """The factors by the names that files have."""
    found: dict[str, Tensor] = {}
    for name, update in updates.items():
        assert isinstance(update, Adapted)
        found[name.replace("/", ".") + DOWN] = update.down.detach()
        found[name.replace("/", ".") + UP] = update.up.detach()
    return found


def keep(updates: nn.ModuleDict, out: Path, record: Record) -> None:
    """Write the factors in float16, then ``record``; each file appears whole or not at all."""
    out.mkdir(parents=True, exist_ok=True)
    halves = {name: part.to(torch.float16) for name, part in factors(updates).items()}
    write_whole(out / UPDATE, save(halves, metadata={"format": "pt"}))
    write_whole(out / RECORD, (json.dumps(asdict(record), indent=1) + "\n").encode())


def resume(net: Any, out: Path, rank: int) -> tuple[nn.ModuleDict, Record]:
    """The update in ``out`` attached to ``net``, or a new one of ``rank``; raises InputError.

    The weights are enough to go on from; without its record an update is only of unknown age.
    """
    if not (out / UPDATE).exists():
        return attach(net, rank), Record(rank=rank)
    try:
        stored = read(out / UPDATE)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{out / UPDATE} is damaged: take it away to begin anew.") from error
    layers = {name: layer.weight for name, layer in linear_layers(net.get_decoder())}
    wrong = mismatch(layers, stored)
    if wrong:
        raise InputError(f"{out / UPDATE} belongs to another model ({wrong}): name another folder.")
    found = next(part.shape[0] for name, part in stored.items() if name.endswith(DOWN))
    updates = attach(net, found)
    with torch.no_grad():
        for name, part in factors(updates).items():
            part.copy_(stored[name])
    return updates, _record(out, found)


def _record(out: Path, rank: int) -> Record:
    if not (out / RECORD).exists():
        return Record(rank=rank)
    facts = json.loads((out / RECORD).read_text(encoding="utf-8"))
    return Record(**{**facts, "seeds": tuple(facts["seeds"]), "rank": rank})
