"""Plain greedy decoding: the drafter that guesses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from specviz.budget import Curve
from specviz.drafters.base import Draft
from specviz.evidence import Evidence
from specviz.models.base import Capture, Model, Scores, Session
from specviz.models.engines import HeadFacts
from specviz.trace import Header, Prefill, Step


@dataclass
class Autoregressive:
    """One token per target pass; the measured baseline of every other decoder.

    Also the base class of drafters that keep nothing between runs.
    """

    name: ClassVar[str] = "autoregressive"
    needs: ClassVar[frozenset[str]] = frozenset()
    persistent: ClassVar[bool] = False

    def check(self, model: Model) -> None:
        pass

    def remarks(self, tokens: int) -> tuple[str, ...]:
        return ()

    def used_head(self) -> HeadFacts | None:
        return None

    def capture(self) -> Capture:
        return Capture()

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        pass

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        return Draft.nothing(context[-1])

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> Evidence | None:
        return None

    def snapshot(self) -> Any:
        return None

    def restore(self, data: Any, model: Model | Header) -> None:
        pass

    def fold(self, event: Header | Prefill | Step) -> None:
        pass
