"""A drafter head beside one session of its target: bounded entries, guesses level by level.

The target's own states reach the head from prefill and verification, without another pass. Entry t
stands for the pair of the target's features at token t and the token behind it, and depends on
nothing else: of a long prompt only the pairs that stay are ever computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from specviz.models.base import InputError
from specviz.models.eagle_cache import DraftCache
from specviz.models.eagle_net import EagleHead
from specviz.models.eagle_rope import rotate
from specviz.models.engines import Offers
from specviz.windows import Bounds, Sight

# Beyond, neighbouring positions could not be told apart for certain any more.
LAST_POSITION = 2**40


class Target(Protocol):
    """What an engine needs of its session: see ``FeatureSession``."""

    def take_features(self) -> Tensor: ...

    def narrow_features(self, tokens: Sequence[int]) -> Tensor: ...


class EagleEngine:
    """See ``HeadEngine``. ``embedding`` [vocabulary, hidden]: the target's."""

    def __init__(self, head: EagleHead, embedding: Tensor, target: Target) -> None:
        self.head, self.embedding, self.target = head, head.embeddings(embedding), target
        self._ids = head.target_ids()
        self._truncated = False
        self._sinks = torch.empty(0)
        self._cache: DraftCache | None = None
        self._states: list[Tensor] = []
        self._depths: list[int] = []
        self._seen: list[list[int]] = []  # a node's ancestors and itself
        self._root = torch.empty(0)

    @property
    def sight(self) -> Sight:
        """What is seen of the text in this round."""
        return self._held.sight

    @property
    def bytes(self) -> int:
        """Of the keys and values that are seen."""
        return self._held.bytes

    @property
    def _held(self) -> DraftCache:
        assert self._cache is not None, "begin first"
        return self._cache

    def begin(self, bounds: Bounds, truncated: bool = False) -> None:
        """Forget everything, and keep entries by ``bounds`` from now on."""
        self._cache, self._truncated = self._empty(bounds), truncated
        self._sinks = self.head.norm.weight.new_empty(0, self.head.config.feature_width)

    def _empty(self, bounds: Bounds) -> DraftCache:
        config = self.head.config
        like = self.head.norm.weight
        return DraftCache(bounds, config.kv_heads, config.head_dim, config.rope, like)

    @torch.inference_mode()
    def follow(self, context: Sequence[int], top: int) -> Offers:
        """Take in what was committed since; what may follow the last of ``context``.

        ``context``: prompt and everything emitted, its last token not read by the target yet.
        """
        cache = self._held
        new = len(context) - 1 - cache.seen
        assert new > 0, "nothing new was committed"
        self._within(cache.bounds.sight(len(context) - 1).farthest(cache.bounds.depth))
        features = self.target.take_features()
        # Of a prompt there may be only those of what stays.
        stay = new if cache.seen else sum(map(len, cache.bounds.kept(new)))
        assert len(features) in (new, stay), "features of other tokens"
        if self._truncated:
            cache, features = self._narrowed(context, features)
            new = len(context) - 1
        wanted = cache.wanted(new)
        first = cache.seen
        if len(features) > len(wanted):
            features = features[wanted]
        state = self.head.condense(features.to(self.head.device, self.head.dtype))[None]
        x = self._joined(state, [context[first + i + 1] for i in wanted])
        keys, values = self.head.midlayer.self_attn.entries(x)
        cache.append(keys[0], values[0], new)
        sight = cache.arrange()
        self._states, self._depths, self._seen = [], [], []
        self._root, offers = self._out(state[:, -1:], x[:, -1:], sight.tip, None, top)
        return offers[0]

    def _narrowed(self, context: Sequence[int], features: Tensor) -> tuple[DraftCache, Tensor]:
        """An empty cache, and the features of everything that stays, as a target computes them that
        reads the window alone."""
        bounds = self._held.bounds
        # Nothing but sinks lies before a sink, so theirs are the same in every pass.
        self._sinks = torch.cat([self._sinks, features])[: bounds.sinks]
        sinks, window = bounds.kept(len(context) - 1)
        self._cache = self._empty(bounds)
        narrow = self.target.narrow_features(context[window.start : window.stop])
        return self._cache, torch.cat([self._sinks[: len(sinks)], narrow])

    @torch.inference_mode()
    def expand(self, parents: Sequence[int], tokens: Sequence[int], top: int) -> tuple[Offers, ...]:
        """Add a level: nodes holding ``tokens`` below ``parents`` (-1: the root), all of the same
        depth; what may follow each of them. Nodes count from 0 in the order in which they came."""
        cache, first = self._held, len(self._states)
        depth = 1 if parents[0] < 0 else self._depths[parents[0]] + 1
        assert all((self._depths[p] + 1 if p >= 0 else 1) == depth for p in parents), "one level"
        state = torch.stack([self._states[p] if p >= 0 else self._root for p in parents])[None]
        x = self._joined(state, tokens)
        at = cache.sight.farthest(depth)
        keys, values = self.head.midlayer.self_attn.entries(x)
        places = torch.full((len(tokens),), at, dtype=torch.float64)
        cache.keys.put(rotate(keys[0], places, cache.rope), cache.entries + first)
        cache.values.put(values[0], cache.entries + first)
        self._depths += [depth] * len(tokens)
        self._seen += [
            [*(self._seen[p] if p >= 0 else ()), first + i] for i, p in enumerate(parents)
        ]
        carried, offers = self._out(state, x, at, self._mask(first), top)
        self._states += carried.unbind()
        return offers

    def _joined(self, state: Tensor, tokens: Sequence[int]) -> Tensor:
        ids = torch.tensor(tokens, device=self.embedding.device)
        embedded = F.embedding(ids, self.embedding).to(state.device, state.dtype)
        return self.head.midlayer.joined(state, embedded[None])

    def _mask(self, first: int) -> Tensor:
        """[level, entries + nodes]: everything of the text, of the draft the own branch."""
        entries = self._held.entries
        rows = self._seen[first:]
        mask = torch.zeros(len(rows), entries + len(self._seen), dtype=torch.bool)
        mask[:, :entries] = True
        for row, seen in enumerate(rows):
            mask[row, [entries + node for node in seen]] = True
        return mask.to(self.head.device)

    def _out(
        self, state: Tensor, x: Tensor, at: float, mask: Tensor | None, top: int
    ) -> tuple[Tensor, tuple[Offers, ...]]:
        """States that are carried on, [rows, hidden], and offers, of rows at position ``at``."""
        cache, layer = self._held, self.head.midlayer
        places = torch.full((x.shape[1],), at, dtype=torch.float64)
        queries = rotate(layer.self_attn.queries(x), places, cache.rope)
        end = cache.entries + len(self._seen)
        gathered = F.scaled_dot_product_attention(
            queries,
            cache.keys[0:end][None],
            cache.values[0:end][None],
            attn_mask=mask,
            enable_gqa=True,
        )
        carried, logits = self.head.read(layer.rest(state, gathered))
        logps = logits[0].float() if logits.dtype != torch.float64 else logits[0]
        best = logps.log_softmax(-1).topk(min(top, logps.shape[-1]), dim=-1)
        ids = self._ids[best.indices]
        return carried[0] if mask is not None else carried[0, 0], tuple(
            Offers(tuple(tokens), tuple(values))
            for tokens, values in zip(ids.tolist(), best.values.tolist(), strict=True)
        )

    @staticmethod
    def _within(position: float) -> None:
        if position >= LAST_POSITION:
            raise InputError(
                f"The drafter would stand at position {position:.0f}, positions end at "
                f"{LAST_POSITION}: choose the mode slot."
            )
