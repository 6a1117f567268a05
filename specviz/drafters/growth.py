"""Best-first growth of a draft tree from a look-up that is asked again at every node.

The tree holds the nodes with the largest branch scores, s(child) = s(parent) x trust x q(child).
Scores never grow along a branch, so taking the largest first gives the subtree with the largest
expected number of accepted tokens (EAGLE-2's re-ranking, OPT-Tree).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from specviz.budget import Size
from specviz.drafters.base import Draft
from specviz.drafters.memory import Row
from specviz.evidence import Candidate, Cut, Hit, Lookup
from specviz.tree import DraftTree

Template = Mapping[tuple[int, ...], int]  # path of ranks -> number of children there
COPIED = 0  # the level of a copied continuation
STATIC = -2  # the level of a node that a fixed shape asked for


@dataclass(slots=True)
class Option:
    """A mixed candidate: estimated probability after its context, and the level that gave most."""

    token: int
    probability: float
    level: int
    node: int = -1
    cut: Cut = ""


@dataclass(frozen=True, slots=True)
class Source:
    """One level that hit: its row for ``key``, its base weight and its final one."""

    level: int
    key: tuple[int, ...]
    row: Row
    base: float
    weight: float


@dataclass
class Answer:
    """What memory said for one context: the levels that hit, the most specific first, and the
    options in order of probability."""

    sources: tuple[Source, ...]
    options: list[Option]

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """``sources`` as they are recorded."""
        return tuple(
            Hit(
                level=s.level,
                key=s.key,
                ids=s.row.ids,
                probs=s.row.shown,
                base=s.base,
                entropy=s.row.entropy,
                weight=round(s.weight, 4),
                written=s.row.written,
            )
            for s in self.sources
        )

    def lookup(self, node: int, expanded: bool, index: Sequence[int] | None = None) -> Lookup:
        """The recorded form; ``index`` maps growth order to node index."""
        return Lookup(
            node=node,
            expanded=expanded,
            hits=self.hits,
            candidates=tuple(
                Candidate(
                    o.token,
                    round(o.probability, 4),
                    o.level,
                    o.node if index is None or o.node < 0 else index[o.node],
                    o.cut,
                )
                for o in self.options
            ),
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of the tree: ``nodes`` below the root, ``depth``, children kept per node, the least
    branch score, how often one (parent token, child token) edge may stand on a branch (0: as often
    as it likes), tokens never drafted, tokens drafted only as leaves, and what to say of
    what would lie too deep."""

    nodes: int
    depth: int
    width: int
    least_score: float = 0.0
    repeats: int = 0
    blocked: frozenset[int] = frozenset()
    leaves: frozenset[int] = frozenset()
    beyond: Cut = "depth"


@dataclass
class Growth:
    """A tree under construction, in order of growth. Ask ``ask(branch tokens)`` at every node.

    ``trust(depth, level)``: how often what the longest key that hit (``level``, or COPIED) says at
    that depth comes true, as a factor of the probability that it claims.
    """

    root: int
    ask: Callable[[tuple[int, ...]], Answer]
    limits: Limits
    trust: Callable[[int, int], float]
    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    levels: list[int] = field(default_factory=list)
    answers: dict[int, Answer] = field(default_factory=dict)
    _serial: int = 0

    def grow(self, size: Size | None = None) -> None:
        """Take the best open candidate until the limits are met, or until more would not pay."""
        self._add(self.root, -1, 1.0, -1)
        heap: list[tuple[float, int, int, Option]] = []
        self._open(0, heap)
        while heap and len(self.tokens) <= self.limits.nodes:
            score, _, parent, option = heapq.heappop(heap)
            option.node = self._add(option.token, parent, -score, option.level)
            self._open(option.node, heap)
            if size is not None and not size.add(-score):
                break
        full = len(self.tokens) > self.limits.nodes
        for _, _, _, option in heap:
            option.cut = "budget" if full else "cost"
        if size is not None:
            self._shrink(size.best)

    def _shrink(self, nodes: int) -> None:
        """Keep the first ``nodes`` nodes below the root: those that came later pay less."""
        for column in (self.tokens, self.parents, self.depths, self.scores, self.levels):
            del column[nodes + 1 :]
        self.answers = {n: answer for n, answer in self.answers.items() if n <= nodes}
        for answer in self.answers.values():
            for option in answer.options:
                if option.node > nodes:
                    option.node, option.cut = -1, "cost"

    def fill(self, template: Template, depth: int) -> None:
        """Grow a fixed shape level by level; where the row is short, token 0 fills it."""
        self._add(self.root, -1, 1.0, -1)
        queue: list[tuple[int, tuple[int, ...]]] = [(0, ())]
        for node, ranks in queue:
            count = template.get(ranks, 0)
            if not count or self.depths[node] >= depth:
                continue
            answer = self.answers[node] = self.ask(self.branch(node))
            for option in answer.options[count:]:
                option.cut = "width"
            for rank in range(count):
                known = answer.options[rank] if rank < len(answer.options) else Option(0, 0.0, 1)
                if known.token in self.limits.blocked:
                    known.cut = "blocked"
                    continue
                score = self.scores[node] * known.probability
                known.node = self._add(known.token, node, score, STATIC)
                queue.append((known.node, (*ranks, rank)))

    def _add(self, token: int, parent: int, score: float, level: int) -> int:
        self.tokens.append(token)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1 if parent >= 0 else 0)
        self.scores.append(score)
        self.levels.append(level)
        return len(self.tokens) - 1

    def branch(self, node: int) -> tuple[int, ...]:
        """Tokens from below the root down to ``node``."""
        tokens: list[int] = []
        while node > 0:
            tokens.append(self.tokens[node])
            node = self.parents[node]
        return tuple(reversed(tokens))

    def _open(self, node: int, heap: list[tuple[float, int, int, Option]]) -> None:
        limits = self.limits
        if self.tokens[node] in limits.leaves and node > 0:
            return
        branch = self.branch(node)
        answer = self.answers[node] = self.ask(branch)
        depth = self.depths[node] + 1
        longest = answer.sources[0].level if answer.sources else COPIED
        kept = 0
        for option in answer.options:
            level = option.level if option.level == COPIED else longest
            score = self.scores[node] * self.trust(depth, level) * option.probability
            option.cut = self._why_not(option.token, score, depth, kept, branch)
            if not option.cut:
                kept += 1
                self._serial += 1
                heapq.heappush(heap, (-score, self._serial, node, option))

    def _why_not(
        self, token: int, score: float, depth: int, kept: int, branch: tuple[int, ...]
    ) -> Cut:
        limits = self.limits
        if token in limits.blocked:
            return "blocked"
        if limits.repeats:
            chain = (self.root, *branch)
            if list(pairwise(chain)).count((chain[-1], token)) >= limits.repeats:
                return "repeat"
        if kept >= limits.width:
            return "width"
        if depth > limits.depth:
            return limits.beyond
        if score < limits.least_score:
            return "score"
        return ""

    def add_chain(self, tokens: Sequence[int]) -> None:
        """Merge a chain below the root, beyond the node budget; nodes that exist are kept."""
        node = 0
        for token in tokens[: self.limits.depth]:
            if token in self.limits.blocked or (
                node > 0 and self.tokens[node] in self.limits.leaves
            ):
                return
            below = next(
                (
                    n
                    for n in range(node + 1, len(self.tokens))
                    if self.parents[n] == node and self.tokens[n] == token
                ),
                None,
            )
            if below is None:
                below = self._add(token, node, 0.0, COPIED)
            node = below

    def draft(self) -> tuple[Draft, list[int]]:
        """The draft in depth-first pre-order, best child first, and growth order -> node index.

        In that order the first-choice chain lies contiguously in the cache.
        """
        children: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents[1:], start=1):
            children[parent].append(node)
        order: list[int] = []
        stack = [0]
        while stack:
            node = stack.pop()
            order.append(node)
            stack.extend(reversed(children[node]))
        index = [0] * len(order)
        for position, node in enumerate(order):
            index[node] = position
        names = {-1: "root", COPIED: "copy", STATIC: "static"}
        draft = Draft(
            DraftTree(
                tuple(self.tokens[n] for n in order),
                tuple(index[self.parents[n]] if n else -1 for n in order),
            ),
            tuple(names.get(self.levels[n], f"level{self.levels[n]}") for n in order),
            tuple(round(self.scores[n], 6) if n else None for n in order),
            tuple(order),
        )
        return draft, index
