"""A session that keeps what chosen layers of its model read, for heads that draft from it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from specviz.models.base import Capture, Inputs, Scores
from specviz.models.eagle_engine import EagleEngine
from specviz.models.eagle_net import EagleHead
from specviz.models.engines import HeadEngine
from specviz.models.hf_cache import BufferCache
from specviz.models.session import CHUNK, TreeSession, chain
from specviz.trace import Progress
from specviz.tree import DraftTree

if TYPE_CHECKING:
    from specviz.models.hf import HFModel


class FeatureSession(TreeSession[BufferCache]):
    """The passes of prefill and verification also give what ``head`` reads: no second pass.

    Features of rejected rows are dropped with them.
    """

    def __init__(self, model: HFModel, capture: Capture, head: EagleHead) -> None:
        super().__init__(model, capture)
        self.head, self.layers = head, head.config.aux_layers
        self._tapped = model
        self._last: Tensor | None = None
        self._kept: list[Tensor] = []

    def take_features(self) -> Tensor:
        """Features [n, layers x hidden] of the committed positions since the last call, in order.

        They belong to the cached tokens: the last emitted one has none yet. Of a prompt there are
        only those that ``Capture.kept`` keeps.
        """
        assert self._kept, "no position was committed since the last call"
        found = torch.cat(self._kept)
        self._kept = []
        return found

    def narrow_features(self, tokens: Sequence[int]) -> Tensor:
        """Features [n, layers x hidden] of a target that reads nothing but ``tokens``.

        In chunks, like a prompt: in one pass the masks alone would grow with the square of n.
        """
        model = self._tapped
        cache = model.cache(len(tokens))
        parts = []
        for start in range(0, len(tokens), CHUNK):
            part = chain(tokens[start : start + CHUNK])
            parts.append(model.run_tapped(cache, part, [], self.layers)[1])
            cache.advance(len(part))
        return torch.cat(parts)

    def head_engine(self) -> HeadEngine:
        """An engine that takes this session's features."""
        embedding: Tensor = self._tapped.net.get_input_embeddings().weight.detach()
        return EagleEngine(self.head, embedding, self)

    def prefill(self, inputs: Inputs) -> Generator[Progress, None, Scores]:
        """As ever; the features of every chunk count at once."""
        self._kept = []
        return (yield from super().prefill(inputs))

    def commit(self, path: Sequence[int]) -> None:
        """As ever; keeps the features of the same rows."""
        super().commit(path)
        assert self._last is not None, "commit needs a verified tree"
        self._kept.append(self._last[list(path)])
        self._last = None

    def close(self) -> None:
        """Free cache and features."""
        super().close()
        self._last, self._kept = None, []

    def _run(
        self, cache: BufferCache, tree: DraftTree, keep: Sequence[int] | None = None
    ) -> Tensor:
        if cache is not self._cache:  # teacher-forced scoring: not a pass of this run
            return super()._run(cache, tree, keep)
        logits, self._last = self._tapped.run_tapped(cache, tree, keep, self.layers)
        return logits

    def _append(
        self, cache: BufferCache, tokens: Sequence[int], keep: Sequence[int] | None
    ) -> Tensor:
        logits = super()._append(cache, tokens, keep)
        if cache is self._cache and self._last is not None:
            self._kept.append(self._last)
            self._last = None
            self._trim()
        return logits

    def _trim(self) -> None:
        """Drop what the head will never look at: of a long prompt that is nearly everything.

        What is held are sinks and the rows up to the present end, so counting from its own
        beginning finds the same ones.
        """
        if self.capture.kept is None:
            return
        held = sum(map(len, self._kept))
        sinks, window = self.capture.kept.kept(held)
        if len(sinks) + len(window) < held:
            rows = torch.cat(self._kept)
            self._kept = [torch.cat([rows[: len(sinks)], rows[window.start :]])]
