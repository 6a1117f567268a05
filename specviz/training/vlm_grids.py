"""Pictures as a language model gets them: grids of symbol tokens, with the mistakes of a tower."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from specviz.training.vlm_packing import single
from specviz.training.vlm_symbols import FILLER


@dataclass(frozen=True)
class Alphabet:
    """``ids`` [k]: the token of every symbol; ``filler``: that of a cell without one."""

    ids: dict[str, int]
    filler: int

    @classmethod
    def of(cls, tokenizer: Any, symbols: Sequence[str]) -> Alphabet:
        """Raises InputError when a symbol is not a single token."""
        return cls({s: single(tokenizer, s) for s in symbols}, single(tokenizer, FILLER))

    @cached_property
    def tokens(self) -> list[int]:
        """Those of all symbols."""
        return sorted(set(self.ids.values()))

    def grid(self, rows: Sequence[Sequence[str]]) -> list[int]:
        """The tokens of ``rows`` of symbols, row by row; an empty string is a filler."""
        return [self.ids[s] if s else self.filler for row in rows for s in row]


@dataclass(frozen=True)
class Mistakes:
    """How often a tower errs: ``worst``: of symbols misread in the worst picture (half of all
    pictures have none), half of them as nothing; ``ghosts``: symbols seen where there is nothing,
    relative to that; ``faint``: how far a sure symbol may be from its embedding."""

    worst: float = 0.04
    ghosts: float = 0.05
    faint: float = 0.3

    def spoil(self, grid: Sequence[int], alphabet: Alphabet, rng: random.Random) -> list[int]:
        """``grid`` with some of its symbols wrong, missing or made up."""
        rate = max(0.0, rng.uniform(-self.worst, self.worst))
        found = list(grid)
        for cell, token in enumerate(grid):
            if token == alphabet.filler:
                if rng.random() < rate * self.ghosts:
                    found[cell] = rng.choice(alphabet.tokens)
            elif rng.random() < rate:
                found[cell] = rng.choice((alphabet.filler, rng.choice(alphabet.tokens)))
        return found

    def blur(self, embedded: Tensor, filler: Tensor, others: Tensor) -> Tensor:
        """``embedded`` [cells, H], every cell some way towards ``filler`` [H] or a random one of
        ``others`` [symbols, H], most of them nearly none."""
        cells = len(embedded)
        near = 1 - self.faint * torch.rand(cells, 1) ** 4
        doubt = self.faint * torch.rand(cells, 1) ** 8
        ghost = others[torch.randint(len(others), (cells,))]
        return filler + near * (embedded - filler) + doubt * (ghost - filler)
