"""What a recurrent-depth model would say before its last iteration, and how its parts settle.

Probes: teacher-forced over a text, all positions at once, in the arithmetic of the model's own
passes. Plain numbers come out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from specviz.models.base import Model
from specviz.models.raven import RavenModel
from specviz.models.raven_pass import Layer
from specviz.models.session import chain

Prefix = Literal["coupled", "keys", "values", "both"]
# Whether the prefix's keys, and its values, are those of the full pass's last iteration.
PREFIXES: Mapping[Prefix, tuple[bool, bool]] = {
    "coupled": (False, False),
    "keys": (True, False),
    "values": (False, True),
    "both": (True, True),
}


@dataclass(frozen=True)
class Settling:
    """How near each iteration's vectors are to those of the last one, by iteration: ``cosine`` [R]
    and relative distance ``distance`` [R], means over positions and layers of the core."""

    cosine: tuple[float, ...]
    distance: tuple[float, ...]


class Probe:
    """One text behind its full pass. ``final`` [n]: what the model picks after every token."""

    def __init__(self, model: Model, tokens: Sequence[int]) -> None:
        assert isinstance(model, RavenModel), "a model without depths"
        self.model, self.lean = model, model.lean
        self.count = len(tokens)
        cache = model.cache(self.count)
        with model.lock, torch.inference_mode():
            logits = model.run(cache, chain(tokens))
            self.final = tuple(logits.argmax(-1).tolist())
            self.views = cache.views(self.count)  # of what the pass has just written
            self._turns = self.lean.place(list(range(self.count)), None).turns
            size = (self.count, self.count)
            self._hidden = torch.ones(size, dtype=torch.bool, device=self.lean.device).triu(1)
            x = self.lean.embed(list(tokens))
            for layer, view in zip(self.lean.prelude, self.views, strict=False):
                x, _ = self._across(layer, x, view.keys[0], view.values[0])
            self._inputs = self.lean.inputs(x)

    def picks(self, prefix: Prefix, depths: Sequence[int]) -> list[list[int]]:
        """Greedy picks [len(depths)][n] after so many iterations (ascending), earlier positions
        seen through keys and values of the full pass, each position itself at its own age.

        The coda sees earlier positions as the full pass left them.
        """
        return self._read(depths, self._states(prefix), committed=True)

    def shallow(self, depths: Sequence[int]) -> list[list[int]]:
        """Greedy picks [len(depths)][n] of the same weights run with only so many iterations."""
        return self._read(depths, self._states("coupled"), committed=False)

    def settling(self) -> dict[str, Settling]:
        """Of ``queries``, ``keys`` and ``values`` in the full pass."""
        asked = [queries for _, queries in self._states("coupled")]
        head = len(self.lean.prelude)
        core = self.views[head : head + len(self.lean.core)]
        with torch.inference_mode():
            return {
                "queries": _settling([
                    torch.stack(layer) for layer in zip(*asked, strict=True)
                ]),
                "keys": _settling([torch.stack(view.keys).transpose(2, 3) for view in core]),
                "values": _settling([torch.stack(view.values) for view in core]),
            }  # fmt: skip

    def _states(self, prefix: Prefix) -> Iterator[tuple[Tensor, list[Tensor]]]:
        """After every iteration the states [n, d], and the queries of each layer of the core."""
        deep_keys, deep_values = PREFIXES[prefix]
        head, last = len(self.lean.prelude), self.model.iterations - 1
        with self.model.lock, torch.inference_mode():
            state = self.model.start(list(range(self.count)))
            for age in range(self.model.iterations):
                x, asked = self.lean.inject(state, self._inputs), list[Tensor]()
                for layer, view in zip(self.lean.core, self.views[head:], strict=False):
                    keys = view.keys[last if deep_keys else age]
                    values = view.values[last if deep_values else age]
                    x, queries = self._across(layer, x, keys, values)
                    asked.append(queries)
                state = x
                yield state, asked

    def _read(
        self,
        depths: Sequence[int],
        states: Iterator[tuple[Tensor, list[Tensor]]],
        committed: bool,
    ) -> list[list[int]]:
        found, tail = [], len(self.lean.layers) - len(self.lean.coda)
        with torch.inference_mode():
            for age, (state, _) in enumerate(states, start=1):
                if age in depths:
                    x = self.lean.last(state)
                    for layer, view in zip(self.lean.coda, self.views[tail:], strict=True):
                        seen = (view.keys[0], view.values[0]) if committed else (None, None)
                        x, _ = self._across(layer, x, *seen)
                    found.append(self.lean.logits(x).argmax(-1).tolist())
        return found

    def _across(
        self, layer: Layer, x: Tensor, keys: Tensor | None, values: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """The layer's output [n, d] and its queries, where every position offers itself its own
        key and value, and later ones ``keys`` [heads, width, n] and ``values`` [heads, n, width]
        (None: its own, too)."""
        home, x = x.device, x.to(layer.device)
        turned = layer.ask(x, self._turns[layer.device])
        queries, own_keys, own_values = turned.permute(1, 2, 0, 3)  # each [heads, n, width]
        keys = own_keys.transpose(1, 2) if keys is None else keys.to(queries.dtype)
        values = own_values if values is None else values.to(queries.dtype)
        scores = queries @ keys
        scores.masked_fill_(self._hidden.to(layer.device), float("-inf"))
        scores.diagonal(dim1=1, dim2=2).copy_((queries * own_keys).sum(-1))
        weights = scores.softmax(-1)
        itself = weights.diagonal(dim1=1, dim2=2)[..., None]
        seen = weights @ values + itself * (own_values - values)
        return layer.rest(x, seen.transpose(0, 1).flatten(1).to(x.dtype)).to(home), queries


def _settling(layers: Sequence[Tensor]) -> Settling:
    """Of ``layers``, each [R, heads, n, width]."""
    cosines, distances = [], []
    for layer in layers:
        flat = layer.transpose(1, 2).flatten(2).double()
        last = flat[-1]
        length = last.norm(dim=-1)
        cosines.append(torch.cosine_similarity(flat, last[None], dim=-1).mean(-1))
        distances.append(((flat - last).norm(dim=-1) / length).mean(-1))
    return Settling(
        tuple(torch.stack(cosines).mean(0).tolist()),
        tuple(torch.stack(distances).mean(0).tolist()),
    )
