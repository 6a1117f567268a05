"""Processes that train together hold the same gradients and stop at the same step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from specviz.training.workers import Workers

TOGETHER = """
import sys, torch
from torch import nn
from specviz.training.workers import Workers
me = Workers.join()
net = nn.ModuleList([nn.Linear(2, 1), nn.Linear(1, 1)])  # the second one has no gradients
net[0].weight.grad = torch.full((1, 2), 1.0 + me.rank)
net[0].bias.grad = torch.tensor([10.0 * me.rank])
me.average(net)
told = [*net[0].weight.grad.flatten().tolist(), *net[0].bias.grad.tolist(), me.agree(5.0 + me.rank)]
assert net[1].weight.grad is None
with open(f"{sys.argv[1]}/{me.rank}-of-{me.count}", "w") as file:
    file.write(" ".join(map(str, told)))
me.leave()
"""


def test_two_processes_hold_the_mean_of_their_gradients_and_one_clock(tmp_path: Path) -> None:
    script = tmp_path / "together.py"
    script.write_text(TOGETHER, encoding="utf-8")
    subprocess.run(
        [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2",
            str(script), str(tmp_path),
        ],
        check=True, timeout=120, cwd=Path(__file__).parents[2],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ".", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    for rank in range(2):
        assert (tmp_path / f"{rank}-of-2").read_text() == "1.5 1.5 5.0 5.0"


def test_one_process_alone_keeps_what_it_has() -> None:
    me, net = Workers.join(), nn.Linear(1, 1)
    net.weight.grad = torch.tensor([[3.0]])
    me.average(net)
    assert (me, net.weight.grad.item(), me.agree(7.0)) == (Workers(0, 1), 3.0, 7.0)
