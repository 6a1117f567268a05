"""A drafter's block of positions inside a recurrent-depth model.

Everything here is the engine's own: states, prelude and coda rows of the block, and copies of those
slots of the session's cache that it looks at. Rows of committed tokens never change, so a copy
costs only what was committed since the last one; and nothing that a draft does can reach the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import RLock
from typing import Literal, Protocol

import torch
from torch import Tensor

from specviz.models.engines import Guesses
from specviz.models.raven_cache import RavenCache, Views, grown
from specviz.models.raven_pass import Layer, Lean, Place, look
from specviz.models.raven_start import Start

BLOCK = 32  # positions to make room for at first

Part = Literal["prelude", "core", "coda"]


class Seat(Protocol):
    """What an engine knows of its model: ``iterations`` of the target's own pass, initial states,
    and the lock of passes."""

    iterations: int
    start: Start
    lock: RLock


class Page:
    """The prefix's keys of one slot and values of another, then the block's own rows.

    ``store`` [1, 2, heads, capacity, width] is a copy, of which ``copied`` rows are in place.
    """

    def __init__(self, store: Tensor) -> None:
        self.store = store
        self.copied = 0

    def follow(self, source: Tensor, keys: int, values: int, base: int, end: int) -> None:
        """Copy what is new among the first ``base`` rows; make room up to ``end``."""
        capacity = self.store.shape[3]
        if end > capacity:
            room = max(end, source.shape[3], 2 * capacity)
            self.store = grown(self.store, capacity, room)
        if self.copied < base:
            new = slice(self.copied, base)
            self.store[0, 0, :, new] = source[keys, 0, :, new]
            self.store[0, 1, :, new] = source[values, 1, :, new]
            self.copied = base


class RavenEngine:
    """See ``DepthEngine``. ``cache`` gives the session's cache of the moment."""

    def __init__(self, lean: Lean, seat: Seat, cache: Callable[[], RavenCache]) -> None:
        self.lean, self.seat, self._cache = lean, seat, cache
        self._base = 0
        self._tokens: list[int] = []
        self._ages: list[int] = []
        self._states = self._inputs = torch.empty(0)
        self._embedded = self._spoken = 0  # leading positions whose prelude, coda rows are current
        self._keys = self._values = 0
        self._stepwise = False
        self._pages: dict[tuple[int, int], Page] = {}
        self._latest: list[Tensor] = []
        # What a pass of this block looks at, by its part and rows; a block only grows.
        self._ready: dict[tuple[str, int, int], tuple[Place, list[Views]]] = {}

    @property
    def depth(self) -> int:
        """Core iterations of the target's own pass."""
        return self.seat.iterations

    @property
    def ages(self) -> tuple[int, ...]:
        """The age of every position [b]."""
        return tuple(self._ages)

    def begin(self, root: int, keys: int, values: int, stepwise: bool = False) -> None:
        """A fresh block holding ``root``, behind what the session has committed."""
        assert 0 <= keys <= self.depth and 0 <= values <= self.depth, "no such iteration"
        if (keys, values, stepwise) != (self._keys, self._values, self._stepwise):
            core = range(len(self.lean.prelude), len(self.lean.prelude) + len(self.lean.core))
            self._pages = {k: p for k, p in self._pages.items() if k[0] not in core}
        self._keys, self._values, self._stepwise = keys, values, stepwise
        self._base = self._cache().length
        self.drop()
        self.grow([root])

    def grow(self, tokens: Sequence[int]) -> None:
        """Add positions holding ``tokens`` at age 0, in the initial state."""
        first, end = len(self._tokens), len(self._tokens) + len(tokens)
        assert first or len(tokens) == 1, "begin a block first"
        if not tokens:
            return
        with self.seat.lock, torch.inference_mode():
            new = self.seat.start(list(range(self._base + first, self._base + end)))
            if end > len(self._states):
                self._make_room(max(end, 2 * len(self._states), BLOCK), new)
            self._states[first:end] = new
        self._tokens += tokens
        self._ages += [0] * len(tokens)

    def _make_room(self, positions: int, like: Tensor) -> None:
        """Buffers for so many positions, with what is in the present ones."""
        used = len(self._tokens)
        states, inputs = self._states, self._inputs
        self._states, self._inputs = (like.new_empty(positions, like.shape[1]) for _ in range(2))
        if used:
            self._states[:used], self._inputs[:used] = states[:used], inputs[:used]
        head = len(self.lean.prelude)
        stores = self._cache().stores[head : head + len(self.lean.core)]
        rows = [store.new_empty((*store.shape[1:3], positions, store.shape[4])) for store in stores]
        for new, old in zip(rows, self._latest, strict=False):
            new[:, :, :used] = old[:, :, :used]
        self._latest = rows

    def replace(self, tokens: Sequence[int]) -> None:
        """Give the positions 1 to len(tokens) other tokens; states and ages stay."""
        assert len(tokens) < len(self._tokens), "more tokens than positions"
        old = self._tokens[1 : 1 + len(tokens)]
        differs = [i for i, (a, b) in enumerate(zip(old, tokens, strict=True), 1) if a != b]
        if differs:
            self._tokens[1 : 1 + len(tokens)] = tokens
            # The prelude is causal: what follows a replaced token has to be computed again too.
            self._embedded = min(self._embedded, differs[0])

    def restart(self) -> None:
        """Put every position back to the initial state and age 0."""
        count = len(self._tokens)
        with self.seat.lock, torch.inference_mode():
            positions = list(range(self._base, self._base + count))
            self._states[:count] = self.seat.start(positions)
        self._ages = [0] * count
        self._spoken = 0

    def drop(self) -> None:
        """Forget the block; copies of committed rows stay for the next one."""
        self._tokens, self._ages = [], []
        self._embedded = self._spoken = 0
        self._ready.clear()

    def refine(self, iterations: int, first: int = 0) -> None:
        """Iterate the positions from ``first`` on; those before it keep state and age."""
        end = len(self._tokens)
        assert 0 <= first < end, "nothing to refine"
        assert all(self._ages[:first]), "a position was never refined: it has nothing to offer"
        coupled = 0 in (self._keys, self._values)
        with self.seat.lock, torch.inference_mode():
            self._embed()
            inputs = self._inputs[first:end]
            state = self._states[first:end]
            if not (coupled or self._stepwise):
                # One page for all ages: what a parked position offers stands in it already.
                place, views = self._outlook("core", first)
                for _ in range(iterations):
                    injected = self.lean.inject(state, inputs)
                    state = self.lean.through(self.lean.core, injected, place, views)
                self._ages[first:] = [age + iterations for age in self._ages[first:]]
            else:
                place = self._place(first)
                for _ in range(iterations):
                    state = self._iterate(self.lean.inject(state, inputs), place, first)
                    self._ages[first:] = [age + 1 for age in self._ages[first:]]
            self._states[first:end] = state
        self._spoken = min(self._spoken, first)

    def read(self, first: int = 0) -> Guesses:
        """What the positions from ``first`` on predict from their present states."""
        end = len(self._tokens)
        assert 0 <= first < end, "nothing to read"
        start = min(first, self._spoken)
        with self.seat.lock, torch.inference_mode():
            x = self.lean.last(self._states[start:end])
            x = self.lean.through(self.lean.coda, x, *self._outlook("coda", start))
            guesses = _guesses(self.lean.logits(x[first - start :]))
        self._spoken = end
        return guesses

    def _embed(self) -> None:
        """The prelude of the positions whose token is new, or follows one that is."""
        first, end = self._embedded, len(self._tokens)
        if first < end:
            x = self.lean.embed(self._tokens[first:])
            x = self.lean.through(self.lean.prelude, x, *self._outlook("prelude", first))
            self._inputs[first:end] = self.lean.inputs(x)
            self._embedded = end

    def _place(self, first: int) -> Place:
        """The block's positions from ``first`` on: they see the prefix, and the block causally."""
        rows, end = len(self._tokens) - first, self._base + len(self._tokens)
        return self.lean.stretch(end - rows, end)

    def _outlook(self, part: Part, first: int) -> tuple[Place, list[Views]]:
        """What the positions from ``first`` on need to pass through ``part``; of the core only
        where one page serves all ages."""
        key = part, first, len(self._tokens)
        ready = self._ready.get(key)
        if ready is None:
            layers: list[Layer] = getattr(self.lean, part)
            start, end = self._base + first, self._base + len(self._tokens)
            views = [Views.of(self._page(layer, 0).store, start, end) for layer in layers]
            ready = self._ready[key] = self._place(first), views
        return ready

    def _page(self, layer: Layer, age: int) -> Page:
        """The page that positions of ``age`` look at in ``layer``, brought up to date.

        Stepwise, the block's rows of every age are kept, each in a page of its own.
        """
        index = self.lean.layers.index(layer)
        source = self._cache().stores[index]
        slot = min(age, len(source) - 1)
        keys, values = slot, slot
        if layer in self.lean.core:
            keys = self._keys - 1 if self._keys else slot
            values = self._values - 1 if self._values else slot
        number = age if self._stepwise else slot
        page = self._pages.get((index, number))
        if page is None:
            page = self._pages[index, number] = Page(source[:1, ..., :0, :])
        page.follow(source, keys, values, self._base, self._base + len(self._tokens))
        return page

    def _iterate(self, x: Tensor, place: Place, first: int) -> Tensor:
        """One iteration of the positions from ``first`` on, where ages look at different slots."""
        ages = self._ages[first:]
        groups = {age: [i for i, a in enumerate(ages) if a == age] for age in sorted({*ages})}
        for layer, latest in zip(self.lean.core, self._latest, strict=True):
            x = x.to(layer.device)
            turned = layer.ask(x, place.turns[layer.device])
            queries = turned[:, 0].to(x.dtype)
            latest[:, :, first : len(self._ages)] = turned[:, 1:].permute(1, 2, 0, 3)
            mask = place.masks[layer.device]
            if len(groups) == 1:
                seen = self._seen(layer, latest, queries, mask, ages[0], first)
            else:
                seen = x.new_empty(x.shape)
                for age, rows in groups.items():
                    part = None if mask is None else mask[rows]
                    seen[rows] = self._seen(layer, latest, queries[rows], part, age, first)
            x = layer.rest(x, seen)
        return x.to(self.lean.device)

    def _seen(
        self,
        layer: Layer,
        latest: Tensor,
        queries: Tensor,
        mask: Tensor | None,
        age: int,
        first: int,
    ) -> Tensor:
        """What queries of positions of ``age`` gather, [rows, d]."""
        page, end = self._page(layer, age), len(self._ages)
        block = page.store[0, :, :, self._base : self._base + end]
        if not self._stepwise:
            block[:] = latest[:, :, :end]
        else:
            # Who had this iteration before offers its rows of then, everybody else the latest.
            rows = [j for j, a in enumerate(self._ages) if a <= age]
            if rows and rows == list(range(rows[0], end)):
                block[:, :, rows[0] :] = latest[:, :, rows[0] : end]
            elif rows:
                block[:, :, rows] = latest[:, :, rows]
        view = Views.of(page.store, self._base, self._base + end)
        return look(queries, view.keys[0], view.values[0], mask)


def _guesses(logits: Tensor) -> Guesses:
    """The first among the largest of ``logits`` [rows, V], and its probability."""
    # On few rows numpy's search is several times faster than torch's; both find the first.
    picks = (logits.numpy() if logits.device.type == "cpu" else logits).argmax(-1)
    probabilities = logits.softmax(-1).amax(-1)
    return Guesses(tuple(picks.tolist()), tuple(probabilities.tolist()))
