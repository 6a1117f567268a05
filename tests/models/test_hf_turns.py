"""Passes of one model take turns: its modules may keep a value from one line to the next."""

from __future__ import annotations

from threading import Barrier, Lock, Thread
from time import sleep

import torch

from specviz.models.base import Inputs, finish
from specviz.tree import DraftTree
from tests.models import tiny

TREE = DraftTree((20, 21, 22), (-1, 0, 0))


class Noticing(torch.nn.Module):
    """The identity; counts who is inside, and leaves a value behind as some models' modules do."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self.inside = self.most = self.disturbed = self.passes = 0
        self.guard = Lock()
        self.left: int | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with self.guard:
            self.inside += 1
            self.passes += 1
            self.most = max(self.most, self.inside)
        self.left = mine = id(x)
        sleep(0.004)  # long enough for the other thread to come in, were it let in
        self.disturbed += self.left != mine
        with self.guard:
            self.inside -= 1
        out: torch.Tensor = self.inner(x)
        return out


def test_two_threads_are_never_inside_one_model_at_once() -> None:
    torch.set_num_threads(1)
    model = tiny.model("llama")
    noticing = Noticing(model.net.model.layers[0].mlp)
    model.net.model.layers[0].mlp = noticing
    begin = Barrier(2)
    found: list[list[tuple[int, ...]]] = [[], []]

    def work(i: int) -> None:
        session = model.open()
        finish(session.prefill(Inputs((5 + i, 6, 7))))
        begin.wait(60)
        for _ in range(6):
            found[i].append(session.verify(TREE).picks)
            finish(session.score((5, 6, 7)))
        session.close()

    threads = [Thread(target=work, args=(i,)) for i in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert noticing.passes == 2 * (1 + 6 * 2)
    assert noticing.most == 1 and noticing.disturbed == 0
    assert [len(set(picks)) for picks in found] == [1, 1]


def test_a_pass_that_fails_lets_the_next_one_in() -> None:
    model = tiny.model("llama")
    session = model.open()
    finish(session.prefill(Inputs((5, 6, 7))))
    expected = session.verify(TREE)
    model.net.model.layers[0].mlp = torch.nn.Linear(1, 1)
    try:
        session.verify(TREE)
    except RuntimeError:
        pass
    else:
        raise AssertionError("the broken layer was not used")
    model.net.model.layers[0].mlp = tiny.net("llama").model.layers[0].mlp
    done: list[object] = []
    thread = Thread(target=lambda: done.append(session.verify(TREE)), daemon=True)
    thread.start()
    thread.join(20)
    assert done == [expected]
