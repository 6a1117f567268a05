"""The arithmetic of a recurrent-depth pass on few rows: tensors and formulas, no modules.

A token runs through the core dozens of times, with one row or a dozen. What surrounds the matrix
products then counts as much as they do: so the rotation, the scale of the scores and a pass of the
values are one complex product, biases and sums ride along with the matrix products, the prelude's
half of the adapter is computed once per pass, and views are made outside the loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.models.raven_cache import COMPLEX, Views
from specviz.models.raven_net import Block, Norm, Raven, RavenConfig, rotary_table
from specviz.models.raven_product import Product

FOLDED = 4_000_000  # larger matrices are not copied


class Scale:
    """A root-mean-square norm of [rows, d], from a vector norm where the numbers are wide.

    ``folded``: its weight is part of the product that follows; only where the numbers are wide.
    """

    def __init__(self, norm: Norm, folded: bool = False) -> None:
        weight = norm.weight.detach()
        self.weight, self.eps, self.width = weight, norm.eps, weight.shape[0]
        self.narrow, self.folded = weight.dtype not in COMPLEX, folded
        # sqrt(sum x^2 + d eps) is the hypotenuse of the norm and sqrt(d eps).
        self.side = torch.tensor(sqrt(self.width * norm.eps), dtype=weight.dtype).to(weight.device)
        self.stretched = weight * sqrt(self.width)

    def __call__(self, x: Tensor) -> Tensor:
        """Shape of ``x`` kept."""
        if self.narrow:
            wide = F.rms_norm(x.float(), (self.width,), None, self.eps)
            return wide.to(x.dtype) * self.weight
        scaled: Tensor = x / torch.linalg.vector_norm(x, dim=-1, keepdim=True).hypot_(self.side)
        return scaled if self.folded else scaled.mul_(self.stretched)


class Layer:
    """One block: the network's own weights as products and norms."""

    def __init__(self, block: Block) -> None:
        attn, mlp = block.attn, block.mlp
        weight = attn.Wqkv.weight
        self.wide = weight.dtype in COMPLEX
        fold = self.wide and weight.numel() <= FOLDED
        first, third = Scale(block.norm_1, fold), Scale(block.norm_3, fold)
        self.norms = [first, Scale(block.norm_2), third, Scale(block.norm_4)]
        self.qkv = Product(weight * first.stretched if fold else weight)
        self.fc = Product(mlp.fc.weight * third.stretched if fold else mlp.fc.weight)
        self.mix, self.down = Product(attn.proj.weight), Product(mlp.proj.weight)
        bias = attn.qk_bias.detach().flatten()
        self.bias = torch.cat([bias, bias.new_zeros(len(bias) // 2)])
        self.heads = attn.heads
        self.device = self.bias.device

    def ask(self, x: Tensor, turn: Turn) -> Tensor:
        """Queries (scaled), keys and values [rows, 3, heads, width] of ``x`` [rows, d], rotated.

        float32 at least, whatever ``x`` is.
        """
        flat = self.qkv(self.norms[0](x), self.bias)
        if flat.dtype not in (torch.float32, torch.float64):
            flat = flat.float()
        pairs = flat.view(COMPLEX[flat.dtype]).view(len(x), 3, self.heads, -1)
        return (pairs * turn.whole).view(flat.dtype)

    def rest(self, x: Tensor, seen: Tensor) -> Tensor:
        """The layer's output [rows, d]; ``seen`` [rows, d] is what attention gathered."""
        _, second, third, fourth = self.norms
        x = second(self.mix(seen, x))
        gate, value = self.fc(third(x)).chunk(2, -1)
        return fourth(self.down(F.silu(gate).mul_(value), x))

    def run(
        self,
        x: Tensor,
        turn: Turn,
        mask: Tensor | None,
        write: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        """The layer on ``x`` [rows, d]: its keys and values go to ``write``, which ``keys`` and
        ``values`` show already. ``mask`` as in :func:`look`."""
        if self.wide:  # rotated straight into their place
            flat = self.qkv(self.norms[0](x), self.bias)
            pairs = flat.view(COMPLEX[flat.dtype]).view(len(x), 3, self.heads, -1)
            torch.mul(pairs[:, 1:], turn.rest, out=write)
            queries = (pairs[:, 0] * turn.queries).view(flat.dtype)
        else:
            turned = self.ask(x, turn)
            write.copy_(turned[:, 1:])
            queries = turned[:, 0].to(x.dtype)
        return self.rest(x, look(queries, keys, values, mask))


def look(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
    """What scaled queries [rows, heads, width] gather [rows, d] from ``keys`` [heads, width, n] and
    ``values`` [heads, n, width]; ``mask`` [rows, n] is added to the scores."""
    q = q.transpose(0, 1)
    if q.dtype in (torch.float32, torch.float64):
        scores = torch.bmm(q, keys) if mask is None else torch.baddbmm(mask, q, keys)
        seen = torch.bmm(scores.softmax(-1), values)
    else:  # scores of half precision would be too coarse; the kernel keeps them wide
        seen = F.scaled_dot_product_attention(
            q[None], keys.transpose(1, 2)[None], values[None], mask, scale=1.0
        )[0]
    return seen.transpose(0, 1).flatten(1)


class Turn(NamedTuple):
    """Complex factors of some rows: ``whole`` [rows, 3, 1, width / 2], and its parts for
    ``queries`` [rows, 1, width / 2] and for the ``rest`` [rows, 2, 1, width / 2]."""

    whole: Tensor
    queries: Tensor
    rest: Tensor


class Turns:
    """The complex table [positions, 3, 1, width / 2] that rotates keys, rotates and scales queries
    and leaves values alone; it grows with the positions that are asked for."""

    def __init__(self, config: RavenConfig, dtype: torch.dtype, device: torch.device) -> None:
        self.config, self.dtype, self.device = config, dtype, device
        self._table = self._made(config.block_size)

    def _made(self, positions: int) -> Tensor:
        cos, sin = rotary_table(self.config, positions, self.dtype)
        turn = torch.complex(cos, sin)
        still = torch.ones_like(turn)
        table = torch.stack([turn / sqrt(self.config.head_width), turn, still], dim=1)
        return table[:, :, None].to(self.device)

    def __call__(self, positions: Tensor | slice, end: int) -> Turn:
        """Rows of the table; ``end`` is above every position."""
        if end > len(self._table):
            self._table = self._made(2 * end)
        rows = self._table[positions]
        return Turn(rows, rows[:, 0], rows[:, 1:])


class Causal:
    """Additive masks of consecutive rows, all of them windows of one tensor that grows: zeros, and
    right of them what later rows must not see of each other."""

    def __init__(self, dtype: torch.dtype, device: torch.device) -> None:
        self._table = torch.zeros(0, 0, dtype=dtype, device=device)

    def __call__(self, first: int, end: int) -> Tensor | None:
        """[end - first, end]; None for a single row, which sees everything."""
        rows = end - first
        if rows == 1:
            return None
        most, width = self._table.shape
        if rows > most or first > width - most:
            most = 1 << (max(rows, most) - 1).bit_length()
            width = most + (1 << (max(first, width - most, 1) - 1).bit_length())
            hidden = self._table.new_full((most, most), float("-inf")).triu_(1)
            self._table = torch.cat([hidden.new_zeros(most, width - most), hidden], 1)
        left = width - most - first
        return self._table[:rows, left : left + end]


@dataclass(frozen=True)
class Place:
    """Where the rows of a pass stand: rotations by device, and which columns they may see."""

    turns: dict[torch.device, Turn]
    masks: dict[torch.device, Tensor | None]


class Lean:
    """A network as layers and matrices. ``spread``: its layers are on several devices."""

    def __init__(self, net: Raven) -> None:
        trunk, config = net.transformer, net.config
        # Lists of modules are typed as lists of anything.
        made: list[list[Any]] = [
            [Layer(block) for block in part]  # type: ignore[arg-type]
            for part in (trunk.prelude, trunk.core_block, trunk.coda)
        ]
        self.prelude: list[Layer] = made[0]
        self.core: list[Layer] = made[1]
        self.coda: list[Layer] = made[2]
        self.layers = [*self.prelude, *self.core, *self.coda]
        adapter = trunk.adapter.weight
        self.from_state = Product(adapter[:, : config.n_embd])
        self.from_input = Product(adapter[:, config.n_embd :])
        self.embedding = trunk.wte.weight.detach()
        self.emb_scale = config.emb_scale
        self.last = Scale(trunk.ln_f)
        self.head = Product(net.lm_head.weight)
        self.device = self.embedding.device
        devices = dict.fromkeys([self.device, *(layer.device for layer in self.layers)])
        self.devices = tuple(devices)
        self.spread = len(devices) > 1
        dtype = self.embedding.dtype
        self._turns = {d: Turns(config, dtype, d) for d in devices}
        self._causal = {d: Causal(dtype, d) for d in devices}

    @property
    def products(self) -> list[Product]:
        """Every matrix of the network."""
        own = [p for layer in self.layers for p in (layer.qkv, layer.mix, layer.fc, layer.down)]
        return [*own, self.from_state, self.from_input, self.head]

    def place(self, positions: list[int], mask: Tensor | None) -> Place:
        """A place for rows at ``positions``, with the additive ``mask`` [rows, n] or none."""
        first, end = positions[0], positions[-1] + 1
        where: Tensor | slice = slice(first, end)
        if positions != list(range(first, end)):
            where, end = torch.tensor(positions), max(positions) + 1
        return Place(
            {d: turns(where, end) for d, turns in self._turns.items()},
            {d: None if mask is None else mask.to(d) for d in self.devices},
        )

    def stretch(self, first: int, end: int) -> Place:
        """A place for rows at the positions from ``first`` to ``end``, each seeing all before."""
        where = slice(first, end)
        return Place(
            {d: turns(where, end) for d, turns in self._turns.items()},
            {d: causal(first, end) for d, causal in self._causal.items()},
        )

    def embed(self, tokens: list[int]) -> Tensor:
        """Scaled embeddings [rows, d]."""
        ids = torch.tensor(tokens, device=self.device)
        return F.embedding(ids, self.embedding) * self.emb_scale

    def through(
        self, layers: list[Layer], x: Tensor, place: Place, views: list[Views], iteration: int = 0
    ) -> Tensor:
        """``x`` [rows, d] through ``layers``, reading and writing slot ``iteration`` of each."""
        if self.spread:
            home = x.device
            for layer, view in zip(layers, views, strict=True):
                at = layer.device
                x = layer.run(
                    x.to(at), place.turns[at], place.masks[at], view.writes[iteration],
                    view.keys[iteration], view.values[iteration],
                )  # fmt: skip
            return x.to(home)
        turn, mask = place.turns[self.device], place.masks[self.device]
        for layer, view in zip(layers, views, strict=True):
            x = layer.run(
                x, turn, mask, view.writes[iteration], view.keys[iteration], view.values[iteration]
            )
        return x

    def inputs(self, embedded: Tensor) -> Tensor:
        """The half of the adapter that stays the same in all iterations, [rows, d]."""
        return self.from_input(embedded)

    def inject(self, state: Tensor, inputs: Tensor) -> Tensor:
        """What the core reads in one iteration, [rows, d]."""
        return self.from_state(state, inputs)

    def logits(self, x: Tensor) -> Tensor:
        """The coda's output [rows, d] to logits [rows, V], float32 at least."""
        out = self.head(self.last(x))
        return out if out.dtype == torch.float64 else out.float()

    def forward(
        self,
        tokens: list[int],
        place: Place,
        views: list[Views],
        state: Tensor,
        depth: int,
        keep: list[int] | None,
    ) -> Tensor:
        """Logits [len(keep), V] of a pass of ``depth`` iterations from ``state`` [rows, d]."""
        head, tail = len(self.prelude), len(self.layers) - len(self.coda)
        core = views[head:tail]
        inputs = self.inputs(self.through(self.prelude, self.embed(tokens), place, views[:head]))
        for iteration in range(depth):
            state = self.through(self.core, self.inject(state, inputs), place, core, iteration)
        out = self.through(self.coda, self.last(state), place, views[tail:])
        return self.logits(out if keep is None else out[keep])
