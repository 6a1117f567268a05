"""Prompt lookup: guess that the text goes on as it did after an earlier, equal n-gram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from specviz.budget import Curve
from specviz.drafters.autoregressive import Autoregressive
from specviz.drafters.base import Draft, knob
from specviz.drafters.spans import Match, SpanIndex
from specviz.evidence import Span
from specviz.models.base import Scores, Session
from specviz.tree import DraftTree


@dataclass
class PromptLookup(Autoregressive):
    """A single chain of tokens copied from prompt or answer (prompt lookup decoding)."""

    name: ClassVar[str] = "prompt_lookup"
    needs: ClassVar[frozenset[str]] = frozenset({"rollback"})

    tokens: int = knob(10, "Tokens copied per step at most.", 1, 32, advanced=False)
    ngram: int = knob(3, "Longest n-gram that is searched for.", 1, 16, advanced=False)
    shortest: int = knob(1, "Shortest n-gram that still counts as a match.", 1, 8)
    occurrence: str = knob(
        "earliest", "Which of equally long matches to copy from.", choices=("earliest", "latest")
    )

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        self._match: Match | None = None
        shortest = min(self.shortest, self.ngram)
        self._index = SpanIndex(shortest, self.ngram, session.model.blocked_ids)

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        self._index.extend(context)
        width = min(self.tokens, budget - 1)
        self._match = None
        if width > 0:
            self._match = self._index.find(context, width, self.occurrence == "latest")
        copied = self._match.tokens if self._match else ()
        size = len(copied) + 1
        return Draft(
            DraftTree((context[-1], *copied), tuple(range(-1, size - 1))),
            ("root", *("lookup" for _ in copied)),
            (None,) * size,
            tuple(range(size)),
        )

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> Span | None:
        if self._match is None:
            return None
        return span(self._match, tuple(range(1, len(draft.tree))))


def span(match: Match, nodes: tuple[int, ...]) -> Span:
    """The evidence of a copied continuation whose first tokens became ``nodes``."""
    return Span(
        kind="span", length=match.length, start=match.start, tokens=match.tokens, nodes=nodes
    )
