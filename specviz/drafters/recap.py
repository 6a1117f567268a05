"""RECAP: context-aware prediction recycling with request-local and persistent memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.drafters.base import Draft
from specviz.drafters.mixture import Settings
from specviz.drafters.recycling import Recycler, Recycling


@dataclass
class Recap(Settings, Recycling):
    """Draft trees mixed from three memories of the target's own predictions (Zhu, Wu, Liu)."""

    name: ClassVar[str] = "recap"

    def __post_init__(self) -> None:
        self.memory = Recycler(self)

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        return self.memory.grow(context, budget)
