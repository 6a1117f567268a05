"""The state in which the iterations of every position begin."""

from __future__ import annotations

from math import erf, sqrt

import torch
from torch import Tensor

from specviz.models.raven_label import Initial
from specviz.models.raven_net import RavenConfig

PIECE = 256  # positions that one seed stands for


class Start:
    """Zeros, or one truncated normal sample per position: a function of the position alone.

    The published model draws a new sample in every pass, so that prefill, decoding and
    verification would disagree (arXiv 2502.05171 uses deviation sqrt(2 / 5) and 3 deviations). Here
    the sample is made on the CPU from a fixed seed: the same in every pass and on every device.
    """

    def __init__(
        self, config: RavenConfig, dtype: torch.dtype, device: torch.device, initial: Initial
    ) -> None:
        self.config, self.dtype, self.device, self.initial = config, dtype, device, initial
        self._table = torch.empty(0, config.n_embd, dtype=dtype, device=device)

    def __call__(self, positions: list[int]) -> Tensor:
        """States [len(positions), d]; never to be written to."""
        if self.initial == "zero":
            shape = (len(positions), self.config.n_embd)
            return torch.zeros(shape, dtype=self.dtype, device=self.device)
        while len(self._table) <= max(positions):
            piece = self._sample(len(self._table) // PIECE).to(self.device, self.dtype)
            self._table = torch.cat([self._table, piece])
        return self._table[positions]

    def _sample(self, piece: int) -> Tensor:
        """[PIECE, d], float64: a uniform sample through the inverse of the normal distribution."""
        generator = torch.Generator().manual_seed(piece)
        shape = (PIECE, self.config.n_embd)
        uniform = torch.rand(shape, generator=generator, dtype=torch.float64) * 2 - 1
        return torch.erfinv(uniform * erf(3 / sqrt(2))) * sqrt(2) * self.config.state_std
