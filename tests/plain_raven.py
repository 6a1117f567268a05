"""Recurrent depth written down plainly: whole sequences, loops, no cache and no class of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

Rows = tuple[Tensor, Tensor]  # keys and values [heads, tokens, width]


def norm(x: Tensor, weight: Tensor) -> Tensor:
    return x / (x.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * weight


class Plain:
    """A network's weights by name, and what the paper says to do with them."""

    def __init__(self, model) -> None:
        self.config = model.net.config
        names = model.net.state_dict()
        self.w = {k.removeprefix("transformer."): v.clone() for k, v in names.items()}
        self.initial = model.start  # [tokens, d] for a list of positions

    def parts(self, name: str) -> list[str]:
        count = {
            "prelude": self.config.n_layers_in_prelude,
            "core_block": self.config.n_layers_in_recurrent_block,
            "coda": self.config.n_layers_in_coda,
        }[name]
        return [f"{name}.{i}" for i in range(count)]

    def turned(self, x: Tensor, start: int) -> Tensor:
        """Neighbouring channels of [heads, tokens, width], rotated by position * base^(-2i/w)."""
        width = x.shape[-1]
        powers = torch.arange(0, width, 2, dtype=torch.float64) / width
        positions = torch.arange(start, start + x.shape[1])[:, None]
        angles = positions * self.config.rope_base**-powers
        a, b = x[..., ::2], x[..., 1::2]
        pairs = (a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin())
        return torch.stack(pairs, -1).flatten(-2)

    def project(self, name: str, x: Tensor, start: int) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys, values [heads, tokens, width] of ``x`` [tokens, d] from ``start`` on."""
        heads, bias = self.config.n_heads, self.w[f"{name}.attn.qk_bias"]
        mixed = norm(x, self.w[f"{name}.norm_1.weight"]) @ self.w[f"{name}.attn.Wqkv.weight"].T
        q, k, v = mixed.chunk(3, -1)
        q, k = q + bias[0].flatten(), k + bias[1].flatten()
        q, k, v = (part.unflatten(-1, (heads, -1)).transpose(0, 1) for part in (q, k, v))
        return self.turned(q, start), self.turned(k, start), v

    def close(self, name: str, x: Tensor, seen: Tensor) -> Tensor:
        """The rest of a layer; ``seen`` [heads, tokens, width]."""
        w = {k.removeprefix(f"{name}."): v for k, v in self.w.items() if k.startswith(f"{name}.")}
        mixed = seen.transpose(0, 1).flatten(1) @ w["attn.proj.weight"].T
        x = norm(x + mixed, w["norm_2.weight"])
        a, b = (norm(x, w["norm_3.weight"]) @ w["mlp.fc.weight"].T).chunk(2, -1)
        return norm(x + (F.silu(a) * b) @ w["mlp.proj.weight"].T, w["norm_4.weight"])

    def layer(self, name: str, x: Tensor, past: Rows | None = None, record=None) -> Tensor:
        """One layer on consecutive tokens; ``past`` stands before them, all of it visible."""
        before = 0 if past is None else past[0].shape[1]
        q, k, v = self.project(name, x, before)
        if record is not None:
            record[name] = (k, v)
        if past is not None:
            k, v = torch.cat([past[0], k], 1), torch.cat([past[1], v], 1)
        scores = q @ k.transpose(1, 2) / q.shape[-1] ** 0.5
        hidden = torch.ones(len(x), before + len(x)).triu(before + 1).bool()
        return self.close(name, x, scores.masked_fill(hidden, -torch.inf).softmax(-1) @ v)

    def embed(self, tokens: Sequence[int]) -> Tensor:
        return self.w["wte.weight"][list(tokens)] * self.config.n_embd**0.5

    def inject(self, x: Tensor, embedded: Tensor) -> Tensor:
        return torch.cat([x, embedded], -1) @ self.w["adapter.weight"].T

    def head(self, x: Tensor) -> Tensor:
        return norm(x, self.w["ln_f.weight"]) @ self.w["wte.weight"].T

    def logits(self, tokens: Sequence[int], depth: int, state=None, records=None) -> Tensor:
        """[tokens, V] of everything; ``records`` takes prelude, ``depth`` iterations, coda."""
        made: list[dict[str, Rows]] = [{} for _ in range(depth + 2)]
        e = self.embed(tokens)
        for name in self.parts("prelude"):
            e = self.layer(name, e, record=made[0])
        x = self.initial(list(range(len(tokens)))) if state is None else state
        for i in range(depth):
            x = self.inject(x, e)
            for name in self.parts("core_block"):
                x = self.layer(name, x, record=made[1 + i])
        x = norm(x, self.w["ln_f.weight"])
        for name in self.parts("coda"):
            x = self.layer(name, x, record=made[-1])
        if records is not None:
            records.extend(made)
        return self.head(x)


@dataclass
class Position:
    """What a position of a block has been through."""

    token: int
    state: Tensor
    age: int = 0
    latest: dict[str, Rows] = field(default_factory=dict)
    past: dict[tuple[str, int], Rows] = field(default_factory=dict)  # by layer and iteration


class PlainBlock:
    """A block of positions behind ``prefix``, one position and one layer at a time."""

    def __init__(self, plain: Plain, prefix, depth, root, keys, values, stepwise=False) -> None:
        self.plain, self.base, self.depth = plain, len(prefix), depth
        self.keys, self.values, self.stepwise = keys, values, stepwise
        self.records: list[dict[str, Rows]] = []
        plain.logits(prefix, depth, records=self.records)
        self.block: list[Position] = []
        self.grow([root])

    def grow(self, tokens) -> None:
        for token in tokens:
            start = self.plain.initial([self.base + len(self.block)])[0]
            self.block.append(Position(token, start))

    def replace(self, tokens) -> None:
        for position, token in zip(self.block[1:], tokens, strict=False):
            position.token = token

    def restart(self) -> None:
        tokens = [p.token for p in self.block]
        self.block = []
        self.grow(tokens)

    def prefix(self, name: str, age: int) -> Rows:
        own = min(age, self.depth - 1) + 1
        keys = self.records[self.keys or own][name][0]
        return keys, self.records[self.values or own][name][1]

    def refine(self, iterations: int, first: int = 0) -> None:
        e = self.plain.embed([p.token for p in self.block])
        for name in self.plain.parts("prelude"):
            e = self.plain.layer(name, e, past=self.records[0][name])
        active = range(first, len(self.block))
        for _ in range(iterations):
            xs = {j: self.plain.inject(self.block[j].state[None], e[j : j + 1]) for j in active}
            for name in self.plain.parts("core_block"):
                xs = self.core(name, xs)
            for j, x in xs.items():
                self.block[j].state, self.block[j].age = x[0], self.block[j].age + 1

    def core(self, name: str, xs: dict[int, Tensor]) -> dict[int, Tensor]:
        queries = {}
        for j, x in xs.items():
            q, k, v = self.plain.project(name, x, self.base + j)
            queries[j], position = q, self.block[j]
            position.latest[name] = position.past[name, position.age] = (k, v)
        out = {}
        for j, x in xs.items():
            age = self.block[j].age
            rows = [self.prefix(name, age)]
            for other in self.block[: j + 1]:
                own = other.past.get((name, age)) if self.stepwise else None
                rows.append(own or other.latest[name])
            keys, values = (torch.cat([r[i] for r in rows], 1) for i in (0, 1))
            scores = queries[j] @ keys.transpose(1, 2) / keys.shape[-1] ** 0.5
            out[j] = self.plain.close(name, x, scores.softmax(-1) @ values)
        return out

    def read(self, first: int = 0) -> Tensor:
        """Probabilities [positions from first, V]."""
        x = torch.stack([p.state for p in self.block])
        x = norm(x, self.plain.w["ln_f.weight"])
        for name in self.plain.parts("coda"):
            x = self.plain.layer(name, x, past=self.records[-1][name])
        return self.plain.head(x)[first:].softmax(-1)


def oracle(model, tokens: Sequence[int], depth: int, state: Tensor | None = None) -> Tensor:
    """Logits [tokens, V] after ``depth`` iterations over everything."""
    return Plain(model).logits(tokens, depth, state)
