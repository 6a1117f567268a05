"""Prediction recycling: the machinery that Token Recycling and RECAP share.

Stored predictions of the target, keyed by the last one (lasting), two and three tokens (alive
inside one request), are mixed by specificity and certainty into a tree; every verified node's
prediction is written back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from specviz.budget import Curve, Size
from specviz.drafters.base import Draft
from specviz.drafters.growth import COPIED, Answer, Growth, Limits, Template
from specviz.drafters.memory import (
    Level,
    Snapshot,
    make_row,
    model_key,
    verification,
    verified_rows,
)
from specviz.drafters.mixture import Settings, copied_option, mix
from specviz.drafters.prompt_lookup import span
from specviz.drafters.spans import Match, SpanIndex
from specviz.evidence import MemoryEvidence, Tally, Written
from specviz.models.base import Capture, InputError, Model, Scores, Session
from specviz.models.engines import HeadFacts
from specviz.trace import Header, Prefill, Step
from specviz.tree import DraftTree

HIT_MASS = (0.68, 0.63, 0.50, 0.43, 0.40, 0.38)
# By the longest key that hit: how often what it says comes true, over the probability that it
# claims; alike at every depth. Measured over 24 prompts with trees of 48 guesses.
TRUST = {3: 0.97, 2: 0.9, 1: 0.65, COPIED: 0.87}
CPU_NODES, GPU_NODES = 16, 63  # where costs were not measured
MOST_NODES = 95
RESERVE = 4


class Recycler:
    """The memories of one run and the trees that grow from them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        levels = settings.levels
        self._levels = {n: Level(n) for n in (3, 2, 1) if str(n) in levels}
        self._model = ""
        self._vocab = 0
        self._discount = list(HIT_MASS)
        self._costs: Curve | None = None
        self._carried = False  # whether levels 2 and 3 hold what an earlier turn of the talk wrote

    # The request

    def capture(self) -> Capture:
        rows = {"none": "last", "level1": "distinct", "all": "all"}[self.settings.seed]
        return Capture(full_entropy=self.settings.entropy == "full", prompt_rows=rows)  # type: ignore[arg-type]

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        model = session.model
        self._model, self._vocab = model_key(model, self.settings.entropy), model.vocab_size
        size = self.settings.nodes
        self._costs = None if size else costs
        if not size:
            unmeasured = GPU_NODES if model.device.startswith("cuda") else CPU_NODES
            # No tree is larger than what was measured.
            size = unmeasured if costs is None else min(MOST_NODES, costs.rows[-1] - 1)
        self._limits = Limits(
            size,
            self.settings.depth,
            self.settings.width,
            self.settings.least_score,
            self.settings.repeats,
            model.blocked_ids,
            model.eos_ids,
        )
        self._discount = list(HIT_MASS)
        self._block(model.blocked_ids)
        self._step = 0
        for order, level in self._levels.items():
            if order > 1 and not self._carried:  # what knows its context belongs to one request
                level.rows.clear()
        self._spans = SpanIndex(2, 8, model.blocked_ids)
        self._seed(prompt, scores.positions, scores.top_ids, scores.top_logps, scores.entropies)

    def _block(self, ids: Iterable[int]) -> None:
        """From now on no level takes a key that holds one of ``ids``."""
        for level in self._levels.values():
            level.blocked = frozenset(ids)

    def _seed(
        self,
        prompt: Sequence[int],
        positions: Sequence[int],
        ids: Sequence[Sequence[int]],
        logps: Sequence[Sequence[float]],
        entropies: Sequence[float] | None,
        only_lasting: bool = False,
    ) -> None:
        if self.settings.seed == "none":
            return
        rows = [
            (
                prompt[max(0, p - 2) : p + 1],
                make_row(
                    ids[i],
                    logps[i],
                    Written(-1, p, True),
                    None if entropies is None else entropies[i],
                    self._vocab,
                ),
            )
            for i, p in enumerate(positions)
        ]
        for order, level in self._levels.items():
            if order == 1 or (self.settings.seed == "all" and not only_lasting):
                level.write(rows)

    # Draft

    def grow(self, context: Sequence[int], budget: int) -> Draft:
        """A best-first tree with a look-up at every node, the drafted branch included."""
        self._tail = tuple(context[-3:])
        self._match: Match | None = None
        if self.settings.copy != "off":
            self._spans.extend(context)
            found = self._spans.find(context, 8)
            if found is not None:
                width = min(8, 1 + 2 * found.length)
                self._match = Match(found.length, found.start, found.tokens[:width])
        limits = self._limits
        if budget - 1 < limits.depth:
            limits = replace(limits, depth=budget - 1, beyond="end")
        growth = Growth(context[-1], self._ask, limits, self._trust)
        growth.grow(Size(self._costs, limits.nodes, self.settings.lesson) if self._costs else None)
        if self.settings.copy == "reserve" and self._match is not None:
            growth.add_chain(self._match.tokens[:RESERVE])
        return self._take(growth)

    def fill(self, context: Sequence[int], budget: int, template: Template) -> Draft:
        """A tree of fixed shape: children are the first so many tokens of the parent's row.

        A row never written is all zeros, so its children are token 0, siblings included.
        """
        self._tail, self._match = tuple(context[-3:]), None
        growth = Growth(context[-1], self._ask, self._limits, self._trust)
        growth.fill(template, min(self.settings.depth, budget - 1))
        return self._take(growth)

    def _take(self, growth: Growth) -> Draft:
        draft, self._index = growth.draft()
        self._answers = growth.answers
        return draft

    def _trust(self, depth: int, level: int) -> float:
        kind = self.settings.calibration
        if kind == "level":
            return TRUST[level]
        # How far a copy is believed already depends on its length and depth.
        if kind == "none" or level == COPIED:
            return 1.0
        return self._discount[min(depth, len(self._discount)) - 1]

    def _ask(self, branch: tuple[int, ...]) -> Answer:
        """Mix what the levels say after history + ``branch``; level 3 is scanned first."""
        context = (*self._tail, *branch)
        found = [
            (n, *entry) for n, lv in self._levels.items() if (entry := lv.get(context)) is not None
        ]
        copied = None
        if self.settings.copy == "merged" and self._match is not None:
            copied = copied_option(self._match, branch)
        return mix(found, self.settings, copied)

    # Learn

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> MemoryEvidence:
        tree = draft.tree
        path = (0, *walk)
        branches = {n: tuple(tree.tokens[i] for i in tree.path(n)[1:]) for n in range(len(tree))}
        asked = {self._index[grown]: answer for grown, answer in self._answers.items()}
        lookups = [answer.lookup(n, True, self._index) for n, answer in sorted(asked.items())]
        for node in path:
            if node not in asked:
                asked[node] = self._ask(branches[node])
                lookups.append(asked[node].lookup(node, False))
        evidence = MemoryEvidence(
            kind="memory",
            lookups=tuple(lookups),
            tallies=self._tallies([(asked[n], scores.picks[n]) for n in path]),
            sizes={n: len(level) for n, level in self._levels.items()},
            copied=self._span(tree),
        )
        self._learn_discount(tree, scores, walk)
        self._write(draft, scores, walk, branches)
        return evidence

    def _tallies(self, path: Sequence[tuple[Answer, int]]) -> dict[int, Tally]:
        tallies = {}
        for level in self._levels:
            firsts = [
                (s.row.ids[0], pick) for a, pick in path for s in a.sources if s.level == level
            ]
            tallies[level] = Tally(len(path), len(firsts), sum(t == pick for t, pick in firsts))
        return tallies

    def _span(self, tree: DraftTree) -> Any:
        if self._match is None:
            return None
        nodes: list[int] = []
        at = 0
        for token in self._match.tokens:
            below = next((c for c in tree.children[at] if tree.tokens[c] == token), None)
            if below is None:
                break
            nodes.append(below)
            at = below
        return span(self._match, tuple(nodes))

    def _learn_discount(self, tree: DraftTree, scores: Scores, walk: Sequence[int]) -> None:
        """Moving average of: of the accepted nodes with children, one child was right."""
        if self.settings.calibration != "learned":
            return
        for depth, node in enumerate((0, *walk)):
            if tree.children[node] and depth < len(self._discount):
                right = any(tree.tokens[c] == scores.picks[node] for c in tree.children[node])
                self._discount[depth] = 0.95 * self._discount[depth] + 0.05 * right

    def _write(
        self,
        draft: Draft,
        scores: Scores,
        walk: Sequence[int],
        branches: dict[int, tuple[int, ...]],
    ) -> None:
        rows = verified_rows(draft, scores, walk, self._step, self.settings.rejected, self._vocab)
        entries = [((*self._tail, *branches[node])[-3:], row) for node, row in rows]
        for level in self._levels.values():
            level.write(entries)
        self._step += 1

    # What lasts

    def snapshot(self) -> Snapshot | None:
        """The single-token level as plain data, and with the knob ``turns`` the deeper ones; None
        when all of that is switched off."""
        deeper = tuple(self._levels[n].pack() for n in self._kept if n > 1)
        if not self._kept:
            return None
        return replace(self._levels.get(1, Level(1)).snapshot(self._model), deeper=deeper)

    @property
    def _kept(self) -> tuple[int, ...]:
        """The levels that outlive a request, the shortest keys first."""
        return tuple(n for n in sorted(self._levels) if n == 1 or self.settings.turns)

    def restore(self, data: Snapshot, model: Model | Header) -> None:
        """Take over what lasts; raises InputError when other weights filled it."""
        if data.model != model_key(model, self.settings.entropy):
            raise InputError(
                "The saved memory was made with other weights, another dtype or another kind of "
                "entropy: clear it or choose the model that it belongs to."
            )
        self._model = data.model
        self._block(model.blocked_ids)
        if 1 in self._levels:
            self._levels[1].restore(data, model.vocab_size)
        for part in data.deeper:
            if part.order in self._kept:
                self._levels[part.order].unpack(part, model.vocab_size)
                self._carried = True

    def fold(self, event: Header | Prefill | Step) -> None:
        """Write into the levels that last what the recorded run wrote there."""
        if isinstance(event, Header):
            self._model = model_key(event, self.settings.entropy)
            self._vocab, self._prompt = event.vocab_size, event.tokens
            self._block(event.blocked_ids)
        elif isinstance(event, Prefill):
            rows = event.rows
            only_lasting = not self.settings.turns
            self._seed(
                self._prompt, rows.positions, rows.ids, rows.logps, rows.entropies, only_lasting
            )
            self._tail = (*self._prompt, event.token)[-3:]
        else:
            draft, scores, walk = verification(event)
            written = verified_rows(
                draft, scores, walk, event.index, self.settings.rejected, self._vocab
            )
            entries = [
                ((*self._tail, *(draft.tree.tokens[i] for i in draft.tree.path(n)[1:]))[-3:], row)
                for n, row in written
            ]
            for level in self._kept:
                self._levels[level].write(entries)
            self._tail = (*self._tail, *event.emitted)[-3:]


class Recycling:
    """The part of a drafter that every user of a ``Recycler`` (``self.memory``) shares."""

    needs: ClassVar[frozenset[str]] = frozenset({"tree"})
    persistent: ClassVar[bool] = True
    memory: Recycler

    def check(self, model: Model) -> None:
        pass

    def remarks(self, tokens: int) -> tuple[str, ...]:
        return ()

    def used_head(self) -> HeadFacts | None:
        return None

    def capture(self) -> Capture:
        return self.memory.capture()

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        self.memory.start(session, prompt, scores, costs)

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> MemoryEvidence:
        return self.memory.observe(draft, scores, walk)

    def snapshot(self) -> Snapshot | None:
        return self.memory.snapshot()

    def restore(self, data: Snapshot, model: Model | Header) -> None:
        self.memory.restore(data, model)

    def fold(self, event: Header | Prefill | Step) -> None:
        self.memory.fold(event)
