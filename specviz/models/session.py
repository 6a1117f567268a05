"""One run on one cache, for every model that scores a whole tree in one packed pass."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch

from specviz.files import cache_root
from specviz.models.base import Capture, Inputs, Model, Scores, prompt_rows
from specviz.models.hf_costs import ROWS, Shelf, measure, rough
from specviz.models.hf_scores import Ranked, join, rank, rounded, to_scores
from specviz.trace import Costs, Progress, Stage
from specviz.tree import DraftTree

CHUNK = 256
SLACK = 512


class Rows(Protocol):
    """Keys and values of one run; ``length`` of its rows count, a pass appends more."""

    length: int

    def advance(self, rows: int) -> None:
        """Count ``rows`` rows that a pass has just appended."""
        ...

    def pad(self, rows: int) -> None:
        """Become ``rows`` rows longer without computing them: only to time passes."""
        ...

    def rewind(self) -> None:
        """Take back what a pass appended and was not counted."""
        ...

    def keep(self, path: Sequence[int]) -> None:
        """Count exactly the rows ``path`` (ascending offsets) of those behind ``length``."""
        ...


C = TypeVar("C", bound=Rows)


class Packed(Model, Protocol[C]):
    """A model that appends the rows of a tree to a cache of its kind and gives their logits."""

    def cache(self, reserve: int = 0) -> C:
        """An empty cache with room for ``reserve`` rows."""
        ...

    def run(self, cache: C, tree: DraftTree, keep: Sequence[int] | None = None) -> torch.Tensor:
        """Logits [len(keep), V] of one pass over ``tree`` behind ``cache.length`` rows."""
        ...


def chain(tokens: Sequence[int]) -> DraftTree:
    """``tokens`` as a tree without branches."""
    return DraftTree(tuple(tokens), tuple(range(-1, len(tokens) - 1)))


def visible(base: int, tree: DraftTree) -> np.ndarray:
    """[rows, base + rows]: the prefix, the ancestors and the node itself."""
    rows = len(tree)
    own = np.eye(rows, dtype=bool)
    for node in range(1, rows):
        own[node] |= own[tree.parents[node]]
    return np.concatenate([np.ones((rows, base), dtype=bool), own], axis=1)


class TreeSession(Generic[C]):
    """One cache: the committed rows first, behind them those of the last verified tree."""

    def __init__(self, model: Packed[C], capture: Capture) -> None:
        self.model = model
        self.capture = capture
        self._cache = self.model.cache()
        self._tree: DraftTree | None = None

    @property
    def length(self) -> int:
        """Committed rows."""
        return self._cache.length

    def prefill(self, inputs: Inputs) -> Generator[Progress, None, Scores]:
        """Read the prompt in chunks of 256 rows; returns the captured rows."""
        assert self.length == 0, "prefill needs an empty cache"
        tokens = inputs.tokens
        rows = prompt_rows(tokens, self.capture)
        self._cache = yield from self._begun(SLACK, tokens, inputs.pixels, "prefill")
        parts = []
        for start in range(0, len(tokens), CHUNK):
            part = tokens[start : start + CHUNK]
            keep = [r - start for r in rows if start <= r < start + len(part)]
            logits = self._append(self._cache, part, keep)
            if keep:
                parts.append(self._rank(logits))
            yield Progress(stage="prefill", done=start + len(part), total=len(tokens))
        return to_scores(join(parts), self.capture, [None] * len(rows), rows)

    def verify(self, tree: DraftTree) -> Scores:
        """Score every node in one packed pass; the committed length does not change."""
        logits = self.logits(tree)
        asked = (tree.parents[1:], tree.tokens[1:])
        ranked = self._rank(logits, asked)
        owns = (None, *rounded(ranked.asked))
        return to_scores(ranked, self.capture, owns, range(len(tree)))

    def logits(self, tree: DraftTree) -> torch.Tensor:
        """Raw logits [len(tree), V] behind ``verify``: for checks that rounding would hide."""
        self._tree = None
        logits = self._run(self._cache, tree)
        self._cache.rewind()
        self._tree = tree
        return logits

    def pretend(self, length: int) -> None:
        """Be a session of ``length`` cached rows without reading a prompt: to time passes only."""
        self.verify(chain([0]))
        self.commit([0])
        with torch.inference_mode():
            self._cache.pad(length - 1)

    def commit(self, path: Sequence[int]) -> None:
        """Keep exactly the rows of ``path``; moves these rows only."""
        assert self._tree is not None, "commit needs a verified tree"
        assert path and path[0] == 0, "the root is always kept"
        assert tuple(path) == self._tree.path(path[-1]), "the committed nodes are not a path"
        with torch.inference_mode():
            self._cache.keep(path)
        self._tree = None

    def score(self, tokens: Sequence[int], pixels: Any = None) -> Generator[Progress, None, Scores]:
        """Scores after every prefix of ``tokens``, in chunks, on a cache of their own."""
        tokens = tuple(tokens)
        cache = yield from self._begun(0, tokens, pixels, "check")
        parts = []
        for start in range(0, len(tokens), CHUNK):
            part = tokens[start : start + CHUNK]
            following = tokens[start + 1 : start + 1 + len(part)]
            logits = self._append(cache, part, None)
            parts.append(self._rank(logits, (range(len(following)), following)))
            yield Progress(stage="check", done=start + len(part), total=len(tokens))
        ranked = join(parts)
        owns = (None, *rounded(ranked.asked))
        return to_scores(ranked, self.capture, owns, range(len(tokens)))

    def close(self) -> None:
        """Free the cache."""
        self._cache = self.model.cache()
        self._tree = None

    def _begun(
        self, slack: int, tokens: tuple[int, ...], pixels: Any, stage: Stage
    ) -> Generator[Progress, None, C]:
        """An empty cache for ``tokens`` and ``slack`` more rows, in front of the first pass."""
        assert pixels is None, "this session reads no pictures"
        yield from ()
        return self.model.cache(len(tokens) + slack)

    def _append(self, cache: C, tokens: Sequence[int], keep: Sequence[int] | None) -> torch.Tensor:
        logits = self._run(cache, chain(tokens), keep)
        cache.advance(len(tokens))
        return logits

    def _run(self, cache: C, tree: DraftTree, keep: Sequence[int] | None = None) -> torch.Tensor:
        """Every pass goes through here."""
        return self.model.run(cache, tree, keep)

    def _rank(
        self, logits: torch.Tensor, asked: tuple[Sequence[int], Sequence[int]] = ((), ())
    ) -> Ranked:
        with torch.inference_mode():
            return rank(logits, self.capture, asked)


def verification_costs(
    model: Packed[C], facts: dict[str, Any], known: dict[int, Costs], context: int, fresh: bool
) -> Generator[Progress, None, Costs | None]:
    """What a verification costs behind about ``context`` tokens; None without room for a tree.

    Measured once per rough length (``known``) and, unless the machine was busy meanwhile, kept on
    disk for these ``facts``; ``fresh`` measures again.
    """
    length = rough(min(context, model.max_context))
    shelf = Shelf(cache_root() / "costs", facts)
    found = None if fresh else known.get(length) or shelf.get(length)
    if found is None:
        # A short context is shared between what stands there and the widest pass.
        room = max(model.max_context - max(ROWS), model.max_context // 2)
        found, steady = yield from _timed(model, max(1, min(length, room)))
        if found is None:
            return None
        if steady:
            shelf.put(length, found)
    known[length] = found
    return found


def _timed(model: Packed[C], behind: int) -> Generator[Progress, None, tuple[Costs | None, bool]]:
    session = TreeSession(model, Capture())
    try:
        session.pretend(behind)
        most = model.max_context - behind
        trees = {n: chain([t % model.vocab_size for t in range(n)]) for n in ROWS if n <= most}
        return (yield from measure(lambda rows: session.verify(trees[rows]), behind, most))
    finally:
        session.close()


def tree_error(session: TreeSession[Any], plain: Callable[[list[int]], torch.Tensor]) -> float:
    """The largest logit difference between a tree pass and plain ones over its two branches.

    In units of the logits' standard deviation; the prefix goes through the cache. ``session`` is
    new, and closed at the end; ``plain`` gives the logits [n, V] of n tokens without any cache.
    """
    ids = [(7 * i + 11) % session.model.vocab_size for i in range(10)]
    prefix, root, left, right = ids[:5], ids[5], ids[6:8], ids[8:10]
    session.logits(chain(prefix))
    session.commit(range(len(prefix)))
    packed = session.logits(DraftTree.from_paths(root, [left, right])).double()
    session.close()
    worst = 0.0
    for branch, rows in ((left, [0, 1, 2]), (right, [0, 3, 4])):
        alone = plain([*prefix, root, *branch])[-3:].double()
        gap = float((packed[rows] - alone).abs().max() / alone.std())
        worst = max(worst, gap if gap == gap else float("inf"))  # no number is no agreement
    return worst
