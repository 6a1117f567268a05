"""A drafter head with a bounded cache: what it sees of the text stays small and within range."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, cast

from specviz.budget import Curve, best_size
from specviz.drafters.autoregressive import Autoregressive
from specviz.drafters.base import Draft, knob
from specviz.evidence import Entries, Expansion, Offer, Unkept, WindowEvidence
from specviz.models.base import Capture, InputError, Model, Scores, Session
from specviz.models.engines import HeadFacts, HeadModel, HeadSession, Offers
from specviz.tree import DraftTree
from specviz.windows import MODES, Bounds, Mode, widest

DEEPEST, WIDEST, LARGEST = 16, 16, 128
LONGEST = 2**24  # entries


@dataclass
class Guess:
    """One candidate node. ``score``: the product of the head's probabilities up to it. ``parent``:
    the candidate above it, -1 below the root. ``engine``: its node there, -1 before it is expanded.
    ``node``: its place in the tree, -1 when it was cut."""

    token: int
    parent: int
    depth: int
    score: float
    probability: float
    engine: int = -1
    node: int = -1


@dataclass
class Window(Autoregressive):
    """A small head drafts from the target's own states, with a cache of bounded length.

    Guesses form a tree of the most probable branches. The cache keeps the first entries (sinks) and
    the last ones (window) and counts their positions anew, so that nothing lies beyond what the
    head was trained for, however long the text is.
    """

    name: ClassVar[str] = "window"
    needs: ClassVar[frozenset[str]] = frozenset({"tree", "rollback", "head"})

    mode: str = knob(
        "slot",
        "What the head sees: all of the text (full), sinks and window where they stand "
        "(window_abs), counted without the gap (slot), the sinks moved up to the window (shift), "
        "or all of it with positions pressed together (reindex_only).",
        choices=MODES,
        advanced=False,
    )
    sinks: int = knob(4, "First entries that always stay.", 0, 64, advanced=False)
    window: int = knob(
        0, "Last entries that stay; 0: as many as the head's range has room for.", 0, LONGEST,
        advanced=False,
    )  # fmt: skip
    features: str = knob(
        "full",
        "The states that the head drafts from: of the target that reads everything, or of one that "
        "reads what the head sees (truncated, slow).",
        choices=("full", "truncated"),
        advanced=False,
    )
    depth: int = knob(4, "Levels of a draft at most.", 1, DEEPEST)
    top_k: int = knob(
        4, "Branches that each level goes on with, and offers behind each.", 1, WIDEST
    )
    size: int = knob(16, "Guesses to verify at most; costs may allow fewer.", 1, LARGEST)
    least: float = knob(0.05, "Probability below which no branch is drafted further.", 0.0, 1.0)
    head: str = knob("", "Another head: its label, folder or hub id; empty for the model's own.")
    trained: int = knob(
        0, "Positions that the head was trained for; 0: as its files say, where a converted head "
        "may name the target's context.", 0, LONGEST,
    )  # fmt: skip

    def check(self, model: Model) -> None:
        assert isinstance(model, HeadModel)
        self._settle(model.head(self.head))

    def _settle(self, facts: HeadFacts) -> None:
        self._facts = replace(facts, trained=self.trained or facts.trained)
        self._bounds = self._bounded(self._facts)

    def used_head(self) -> HeadFacts | None:
        return self._facts

    def _bounded(self, facts: HeadFacts) -> Bounds:
        """Sinks and window for a head; raises InputError where they leave its range."""
        most = widest(self.sinks, self.depth, facts.trained)
        mode = cast(Mode, self.mode)
        bounds = Bounds.of(mode, self.sinks, self.window, self.depth, facts.trained, facts.window)
        if most < 1 and bounds.bounded and (not self.window or mode != "window_abs"):
            raise InputError(
                f"{self.sinks} sinks and {self.depth} levels leave no room for a window in the "
                f"{facts.trained} positions that {facts.label} was trained for: give fewer"
                f"{', or another trained range' if self.trained else ''}."
            )
        if self.mode in ("slot", "shift") and self.window > most:
            raise InputError(
                f"{self.sinks} sinks, a window of {self.window} and {self.depth} levels take "
                f"{bounds.needed} positions, {facts.label} was trained for {facts.trained}: give a "
                f"window of at most {most}."
            )
        if self.features == "truncated" and not bounds.bounded:
            raise InputError(
                f"In the mode {self.mode} the head sees everything, so truncated features would be "
                "the full ones: choose features=full, or the mode slot."
            )
        return bounds

    def capture(self) -> Capture:
        return Capture(head=self.head, kept=self._bounds)

    def remarks(self, tokens: int) -> tuple[str, ...]:
        bounds, found = self._bounds, []
        sight = bounds.sight(max(1, tokens - 1))
        if (reach := sight.distance(self.depth)) >= bounds.trained:
            found.append(
                f"Draft positions can go beyond the {bounds.trained} that the head was trained "
                f"for, up to a distance of {reach:.0f}."
            )
        own = self._facts.window
        if own is not None and own < sight.stretches[-1].length:
            found.append(
                f"The head was made for a window of {own} entries, here it can see "
                f"{sight.stretches[-1].length}."
            )
        return tuple(found)

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        assert isinstance(session, HeadSession)
        self._engine = session.head_engine()
        self._engine.begin(self._bounds, self.features == "truncated")
        self._ends, self._blocked = session.model.eos_ids, session.model.blocked_ids
        self._costs = costs
        self._guesses: list[Guess] | None = None
        self._opened: list[tuple[int, Offers]] = []

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        self._guesses, self._opened = None, []
        depth = min(self.depth, budget - 1)
        if depth < 1:
            return Draft.nothing(context[-1])
        guesses = self._grow(context, depth)
        self._guesses = guesses
        order = sorted(range(len(guesses)), key=lambda i: -guesses[i].score)[: self.size]
        self._cut: Unkept = "budget"
        if self._costs is not None:
            best = best_size([guesses[i].score for i in order], self._costs)
            if best < len(order):
                order, self._cut = order[:best], "cost"
        for node, i in enumerate(order, start=1):
            guesses[i].node = node
        kept = [guesses[i] for i in order]
        tree = DraftTree(
            (context[-1], *(g.token for g in kept)),
            (-1, *(guesses[g.parent].node if g.parent >= 0 else 0 for g in kept)),
        )
        return Draft(
            tree,
            ("root", *("head" for _ in kept)),
            (None, *(round(g.score, 6) for g in kept)),
            (0, *(i + 1 for i in order)),
        )

    def _grow(self, context: Sequence[int], depth: int) -> list[Guess]:
        """All candidates, parents first: each level goes on with the most probable branches."""
        guesses: list[Guess] = []
        self._offer(guesses, -1, self._engine.follow(context, self.top_k))
        opened = 0
        for level in range(1, depth):
            here = [i for i, g in enumerate(guesses) if g.depth == level]
            here = [i for i in here if guesses[i].token not in self._ends]
            here = sorted(here, key=lambda i: -guesses[i].score)[: self.top_k]
            here = [i for i in here if guesses[i].score >= self.least]
            if not here:
                break
            for i in here:
                guesses[i].engine = opened
                opened += 1
            above = [guesses[i].parent for i in here]
            parents = [guesses[p].engine if p >= 0 else -1 for p in above]
            tokens = [guesses[i].token for i in here]
            found = self._engine.expand(parents, tokens, self.top_k)
            for i, offers in zip(here, found, strict=True):
                self._offer(guesses, i, offers)
        return guesses

    def _offer(self, guesses: list[Guess], parent: int, offers: Offers) -> None:
        """Make candidates of what the head offers behind ``parent``."""
        self._opened.append((parent, offers))
        score, depth = (1.0, 0) if parent < 0 else (guesses[parent].score, guesses[parent].depth)
        for token, logp in zip(offers.tokens, offers.logps, strict=True):
            if token not in self._blocked:
                probability = math.exp(logp) if logp > -math.inf else 0.0
                guesses.append(Guess(token, parent, depth + 1, score * probability, probability))

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> WindowEvidence | None:
        guesses = self._guesses
        if guesses is None:
            return None
        sight, bounds = self._engine.sight, self._bounds
        deepest = max((g.depth for g in guesses), default=1) - 1  # of a node that looked itself
        nodes = {(g.parent, g.token): g.node for g in guesses}
        return WindowEvidence(
            kind="window",
            mode=bounds.mode,
            trained=bounds.trained,
            entries=tuple(
                Entries(s.first, s.length, round(s.at, 4), round(s.step, 6))
                for s in sight.stretches
            ),
            tip=round(sight.tip, 4),
            spacing=round(sight.step, 6),
            distance=round(sight.distance(deepest), 4),
            bytes=self._engine.bytes,
            truncated=self.features == "truncated",
            levels=1 + deepest,
            considered=len(guesses),
            expansions=tuple(
                Expansion(
                    node=0 if parent < 0 else guesses[parent].node,
                    offers=tuple(
                        self._recorded(token, logp, nodes.get((parent, token)))
                        for token, logp in zip(offers.tokens, offers.logps, strict=True)
                    ),
                )
                for parent, offers in self._opened
                if parent < 0 or guesses[parent].node > 0
            ),
        )

    def _recorded(self, token: int, logp: float, node: int | None) -> Offer:
        """The record of an offer that became ``node``, -1 where it was cut, None where it was never
        a candidate."""
        cut: Unkept = "blocked" if node is None else self._cut if node < 0 else ""
        return Offer(token, round(math.exp(logp), 4), -1 if node is None else node, cut)
