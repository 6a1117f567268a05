"""Token Recycling: one memory, keyed by the last token (Luo and others, ACL 2025)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.drafters.base import Draft, knob
from specviz.drafters.growth import Template
from specviz.drafters.mixture import Settings
from specviz.drafters.recycling import Recycler, Recycling

# The published tree "2.2.2": 80 nodes below the root, six levels of 8, 21, 25, 15, 8 and 3.
# A path of ranks -> number of children there.
PUBLISHED: Template = {
    (): 8,
    (0,): 8, (1,): 4, (2,): 3, (3,): 2, (4,): 1, (5,): 1, (6,): 1, (7,): 1,
    (0, 0): 8, (0, 1): 3, (0, 2): 2, (0, 3): 1, (0, 4): 1, (0, 5): 1, (0, 6): 1, (0, 7): 1,
    (1, 0): 2, (1, 1): 1, (2, 0): 1, (3, 0): 1, (4, 0): 1, (5, 0): 1,
    (0, 0, 0): 5, (0, 0, 1): 2, (0, 0, 2): 1, (0, 0, 3): 1, (0, 0, 4): 1,
    (0, 1, 0): 1, (0, 2, 0): 1, (1, 0, 0): 1, (2, 0, 0): 1, (3, 0, 0): 1,
    (0, 0, 0, 0): 3, (0, 0, 0, 1): 1, (0, 0, 0, 2): 1, (0, 0, 1, 0): 1, (0, 1, 0, 0): 1,
    (1, 0, 0, 0): 1,
    (0, 0, 0, 0, 0): 2, (0, 0, 0, 1, 0): 1,
}  # fmt: skip


@dataclass
class TokenRecycling(Recycling):
    """The target's top-8 after a token, recycled whenever that token comes again."""

    name: ClassVar[str] = "token_recycling"

    tree: str = knob(
        "static",
        "The published static tree of 80 guesses, or a best-first tree over the same memory.",
        choices=("static", "best_first"),
        advanced=False,
    )
    nodes: int = knob(
        0, "Guesses per step of the best-first tree; 0 lets the device choose.", 0, 96,
        advanced=False,
    )  # fmt: skip
    lesson: float = knob(
        0.04, "Tokens that a guess is worth by what it teaches, where costs set the size.", 0, 1
    )
    rejected: bool = knob(True, "Refused branches update the memory too.")

    def __post_init__(self) -> None:
        self.memory = Recycler(
            Settings(
                nodes=self.nodes,
                lesson=self.lesson,
                levels="1",
                gamma=0.0,
                copy="off",
                seed="none",
                rejected=self.rejected,
                repeats=0,
            )
        )

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        if self.tree == "static":
            return self.memory.fill(context, budget, PUBLISHED)
        return self.memory.grow(context, budget)
