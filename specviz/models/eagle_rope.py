"""Rotary positions of drafter heads: how fast each channel turns, and turning at any position."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import torch
from torch import Tensor


@dataclass(frozen=True)
class Scaling:
    """Slower turns for longer texts: ``factor`` times slower for all channels.

    With ``low`` and ``high`` only channels that turn fewer than ``low`` times within ``original``
    positions are slowed down in full, those with more than ``high`` turns not at all, and between
    them the share falls evenly in the number of turns (Llama 3.1, ``rope_type`` llama3).
    """

    factor: float
    low: float = 0.0
    high: float = 0.0
    original: float = 0.0

    def slowed(self, steps: Tensor) -> Tensor:
        """The angles per position, of the unscaled ones."""
        if not self.original:
            return steps / self.factor
        turns = self.original * steps / (2 * pi)
        fast = ((turns - self.low) / (self.high - self.low)).clamp(0, 1)
        return fast * steps + (1 - fast) * steps / self.factor


@dataclass(frozen=True)
class Rope:
    """Channel pair i of a head of width w turns by ``theta ** (-2 i / w)`` per position."""

    theta: float = 10_000.0
    scaling: Scaling | None = None

    def steps(self, width: int, device: torch.device) -> Tensor:
        """Angles per position [width / 2], float64, in radians."""
        pairs = torch.arange(0, width, 2, dtype=torch.float64, device=device) / width
        steps = self.theta**-pairs
        return self.scaling.slowed(steps) if self.scaling else steps


USUAL = Rope()


def rotate(x: Tensor, positions: Tensor, rope: Rope) -> Tensor:
    """Turn channel i with channel i + width / 2, the way Llama does.

    ``x`` [batch, heads, n, width]; ``positions`` [n], whole or not. Angles are computed in float64:
    in float32 they would be off by 0.06 at a million positions.
    """
    steps = rope.steps(x.shape[-1], x.device)
    angles = torch.outer(positions.to(x.device, torch.float64), steps)
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    cos, sin = angles.cos().to(wide), angles.sin().to(wide)
    left, right = x.to(wide).chunk(2, dim=-1)
    return torch.cat([left * cos - right * sin, right * cos + left * sin], dim=-1).to(x.dtype)
