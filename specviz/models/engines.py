"""A drafter's arms beside or inside its target: states at any depth, or a small head that reads
them. They read a session and can never change what it commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

from specviz.models.base import Model, Session
from specviz.windows import Bounds, Sight


@dataclass(frozen=True)
class Guesses:
    """What the last ``r`` positions of a block predict: greedy ``picks`` [r], lowest id first among
    equals, and their ``probabilities`` [r]."""

    picks: tuple[int, ...]
    probabilities: tuple[float, ...]


@runtime_checkable
class DepthEngine(Protocol):
    """A drafter's arm inside a recurrent-depth model: a block of positions behind the committed
    prefix, whose states are its own. It reads the session's cache and can never write to it.

    Position 0 is the root. A position's age is the number of core iterations that its state has
    had; at age a it looks at the prefix's keys and values of the iterations that ``begin`` chose,
    and at the block's own keys and values, causally.
    """

    @property
    def depth(self) -> int:
        """Core iterations of the target's own pass."""
        ...

    @property
    def ages(self) -> tuple[int, ...]:
        """The age of every position [b]."""
        ...

    def begin(self, root: int, keys: int, values: int, stepwise: bool = False) -> None:
        """A fresh block of one position holding the token ``root``.

        ``keys``, ``values``: the iteration of the full pass (1 to ``depth``) to read in the prefix,
        0 for the one that follows the position's age (coupled). ``stepwise``: a position that is
        no longer refined offers the keys and values of the same age, not its latest.
        """
        ...

    def grow(self, tokens: Sequence[int]) -> None:
        """Add positions holding ``tokens`` at age 0, in the initial state."""
        ...

    def replace(self, tokens: Sequence[int]) -> None:
        """Give the positions 1 to len(tokens) other tokens; states and ages stay (carry)."""
        ...

    def restart(self) -> None:
        """Put every position back to the initial state and age 0."""
        ...

    def refine(self, iterations: int, first: int = 0) -> None:
        """Iterate the positions from ``first`` on; those before it keep state and age."""
        ...

    def read(self, first: int = 0) -> Guesses:
        """What the positions from ``first`` on predict from their present states."""
        ...

    def drop(self) -> None:
        """Forget the block."""
        ...


@runtime_checkable
class DepthSession(Session, Protocol):
    """A session of a recurrent-depth model."""

    def depth_engine(self) -> DepthEngine:
        """An engine reading this session; ``begin`` it anew after every commit."""
        ...


class Offers(NamedTuple):
    """What a head expects behind one node: ``tokens`` [k], the most probable first, and natural-log
    probabilities ``logps`` [k] over its own vocabulary."""

    tokens: tuple[int, ...]
    logps: tuple[float, ...]


@dataclass(frozen=True)
class HeadFacts:
    """``trained``: positions that a head has learned with. ``vocabulary``: tokens that it can
    guess. ``digest``: of its weights. ``size``: number of its weights. ``window``: entries that it
    was made to look back at, None for all."""

    label: str
    digest: str
    trained: int
    vocabulary: int
    size: int
    window: int | None = None


@runtime_checkable
class HeadEngine(Protocol):
    """A drafter's arm beside a session whose target shares its states with a small head.

    Entries of the text are kept and placed by ``Bounds``. A draft is a tree that grows level by
    level behind them and is forgotten by the next ``follow``.
    """

    @property
    def sight(self) -> Sight:
        """What is seen of the text in this round."""
        ...

    @property
    def bytes(self) -> int:
        """Of the keys and values that are seen."""
        ...

    def begin(self, bounds: Bounds, truncated: bool = False) -> None:
        """Forget everything, and keep entries by ``bounds`` from now on.

        ``truncated``: the states are those of a target that reads only what the head sees.
        """
        ...

    def follow(self, context: Sequence[int], top: int) -> Offers:
        """Take in what was committed since; the ``top`` offers behind the last of ``context``.

        ``context``: prompt and everything emitted.
        """
        ...

    def expand(self, parents: Sequence[int], tokens: Sequence[int], top: int) -> tuple[Offers, ...]:
        """Add a level: nodes holding ``tokens`` below ``parents`` (-1: the root), all of the same
        depth; the ``top`` offers behind each. Nodes count from 0 in the order in which they came.
        """
        ...


@runtime_checkable
class HeadSession(Session, Protocol):
    """A session that was opened for a head."""

    def head_engine(self) -> HeadEngine:
        """An engine reading this session, before or right after prefill."""
        ...


@runtime_checkable
class HeadModel(Model, Protocol):
    """A model that heads can draft for; ``"head"`` is among its abilities."""

    def head(self, name: str) -> HeadFacts:
        """Load the head ``name``: a label, a folder or a hub id, empty for the model's own.

        Raises InputError or Unsupported where there is none, or where it does not fit the model.
        """
        ...
