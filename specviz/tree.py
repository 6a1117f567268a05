"""The draft tree: tokens and parents, parents first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class DraftTree:
    """A rooted tree of guessed tokens in an order where every parent precedes its children.

    ``tokens[0]`` is the root: the last emitted token, whose keys and values are not computed yet.
    ``parents[i]`` is the index of node ``i``'s parent, ``-1`` for the root alone. Duplicate
    siblings are legal (the published Token Recycling tree has them).

    Raises ``ValueError`` when the two sequences are not such a tree.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.tokens or len(self.tokens) != len(self.parents):
            raise ValueError("a tree needs as many parents as tokens, and a root")
        if self.parents[0] != -1:
            raise ValueError("the first node is the root and has parent -1")
        for node, parent in enumerate(self.parents[1:], start=1):
            if not 0 <= parent < node:
                raise ValueError(f"node {node} has parent {parent}: parents come first")

    @classmethod
    def root_only(cls, token: int) -> DraftTree:
        """The tree that guesses nothing: plain autoregressive decoding."""
        return cls((token,), (-1,))

    @classmethod
    def from_paths(cls, root: int, paths: Iterable[Sequence[int]]) -> DraftTree:
        """The smallest tree that holds every path, children in order of first appearance."""
        tokens, parents = [root], [-1]
        child_of: dict[tuple[int, int], int] = {}
        for path in paths:
            node = 0
            for token in path:
                key = (node, token)
                if key not in child_of:
                    child_of[key] = len(tokens)
                    tokens.append(token)
                    parents.append(node)
                node = child_of[key]
        return cls(tuple(tokens), tuple(parents))

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """Depth of every node; the root has depth 0."""
        depths = [0]
        for parent in self.parents[1:]:
            depths.append(depths[parent] + 1)
        return tuple(depths)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Children of every node, in node order."""
        children: list[list[int]] = [[] for _ in self.tokens]
        for node, parent in enumerate(self.parents[1:], start=1):
            children[parent].append(node)
        return tuple(tuple(c) for c in children)

    def path(self, node: int) -> tuple[int, ...]:
        """Node indices from the root to ``node``, both included."""
        path = [node]
        while (node := self.parents[node]) >= 0:
            path.append(node)
        return tuple(reversed(path))
