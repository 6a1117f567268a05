"""Several processes that train one network together, as ``torchrun`` starts them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn


@dataclass(frozen=True)
class Workers:
    """This process, number ``rank`` of ``count``; alone when ``torchrun`` did not start it."""

    rank: int = 0
    count: int = 1

    @classmethod
    def join(cls) -> Workers:
        """Meet the other processes of this run, over gloo; no others: nothing to meet."""
        if not dist.is_torchelastic_launched():
            return cls()
        dist.init_process_group("gloo")
        return cls(dist.get_rank(), dist.get_world_size())

    def average(self, net: nn.Module) -> None:
        """Give every process the mean of all their gradients."""
        if self.count == 1:
            return
        found = [p.grad for p in net.parameters() if p.grad is not None]
        flat = torch.cat([g.flatten() for g in found])
        dist.all_reduce(flat)
        for g, mean in zip(found, torch.split(flat, [g.numel() for g in found]), strict=True):
            g.copy_(mean.view_as(g) / self.count)

    def agree(self, value: float) -> float:
        """What the first process holds: clocks differ, and all have to stop at the same step."""
        if self.count == 1:
            return value
        told = torch.tensor(value, dtype=torch.float64)
        dist.broadcast(told, 0)
        return told.item()

    def leave(self) -> None:
        """Part from the others once all have come this far; who ends alone, breaks their ties."""
        if self.count > 1:
            dist.barrier()
            dist.destroy_process_group()
