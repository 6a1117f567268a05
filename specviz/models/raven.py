"""A recurrent-depth model: every token runs through one shared core ``depth`` times.

A token's keys and values of an iteration are seen by later tokens in the same iteration only. So a
block of tokens verified at once computes what one token after the other would have.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from threading import RLock
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import __version__ as TRANSFORMERS

from specviz.models.base import Capture, Inputs, Message
from specviz.models.engines import DepthEngine
from specviz.models.hf import hardware
from specviz.models.hf_text import TextCodec
from specviz.models.raven_cache import RavenCache, Views
from specviz.models.raven_engine import RavenEngine
from specviz.models.raven_label import Recurrence
from specviz.models.raven_net import Raven
from specviz.models.raven_pass import Lean
from specviz.models.raven_product import pack
from specviz.models.raven_start import Start
from specviz.models.session import TreeSession, verification_costs, visible
from specviz.trace import Costs, Progress
from specviz.tree import DraftTree


class RavenModel:
    """Weights, tokenizer and facts of one recurrent-depth model.

    ``net``: in its final dtype, on its device or devices. ``digest``: of the weights;
    with ``recurrence`` it makes the
    model's own. ``eos_ids``: beside the tokenizer's own end token.
    Raises InputError for a depth out of range.
    """

    def __init__(
        self,
        net: Raven,
        tokenizer: Any,
        *,
        label: str,
        digest: str,
        eos_ids: frozenset[int] = frozenset(),
        recurrence: Recurrence = Recurrence(),
    ) -> None:
        config = net.config
        self.recurrence = recurrence.within(config.mean_recurrence, label)
        self.net = net.eval().requires_grad_(False)
        self.lean = Lean(net)
        self.label = label
        self._weights_digest = digest
        self.digest = self.recurrence.mark(digest, config.mean_recurrence)
        self.device = str(self.lean.device)
        self.hardware = hardware(self.lean.device)
        self.torch_dtype = self.lean.embedding.dtype
        self.dtype = str(self.torch_dtype).removeprefix("torch.")
        self.packed = False
        self.supports = frozenset({"tree", "rollback", "depth"})
        self.codec = TextCodec(tokenizer, label)
        ids = {tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.pad_token_id} - {None}
        self.eos_ids = eos_ids | ({tokenizer.eos_token_id} & ids)
        self.blocked_ids = frozenset(ids - self.eos_ids)
        self.special_ids = self.codec.special_ids() | self.eos_ids
        self.max_context = config.block_size
        self.vocab_size = config.vocab_size
        assert self.recurrence.depth is not None
        self.iterations = self.recurrence.depth
        self.depth: int | None = self.iterations
        self.start = Start(config, self.torch_dtype, self.lean.device, self.recurrence.initial)
        # Passes of a model take turns: threads that share the processor only slow each other down.
        self.lock = RLock()
        self._costs: dict[int, Costs] = {}

    def pack(self) -> None:
        """Keep the weights in a second layout, for passes of several rows, where that helps."""
        with self.lock:
            self.packed = self.packed or pack(self.lean.products)

    def at(self, recurrence: Recurrence, label: str) -> RavenModel:
        """The same weights run otherwise; raises InputError for a depth out of range."""
        other = RavenModel(
            self.net,
            self.codec.tokenizer,
            label=label,
            digest=self._weights_digest,
            eos_ids=self.eos_ids,
            recurrence=recurrence,
        )
        other.lean, other.packed = self.lean, self.packed
        return other

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Apply the chat template with every text inert; see ``TextCodec.encode``."""
        return self.codec.encode(messages)

    def ends(self, text: str) -> tuple[int, ...]:
        """Characters of ``text`` read at the end of each of its tokens; see ``Model.ends``."""
        return self.codec.ends(text)

    def token_bytes(self, token: int) -> bytes:
        """The raw bytes of ``token``; a control token gives its name."""
        return self.codec.token_bytes(token)

    def open(self, capture: Capture = Capture()) -> RavenSession:
        """A session with an empty cache."""
        return RavenSession(self, capture)

    def measure(self, context: int, fresh: bool = False) -> Generator[Progress, None, Costs | None]:
        """What a verification costs behind about ``context`` tokens; see verification_costs."""
        facts = {
            "digest": self.digest, "dtype": self.dtype, "device": self.hardware,
            "packed": self.packed, "torch": torch.__version__, "transformers": TRANSFORMERS,
        }  # fmt: skip
        return (yield from verification_costs(self, facts, self._costs, context, fresh))

    def cache(self, reserve: int = 0) -> RavenCache:
        """An empty cache with room for ``reserve`` rows."""
        config, lean = self.net.config, self.lean
        before, after = len(lean.prelude), len(lean.layers) - len(lean.coda)
        with torch.inference_mode():
            empty = []
            for i, layer in enumerate(lean.layers):
                slots = self.iterations if before <= i < after else 1
                shape = (slots, 2, config.n_heads, 0, config.head_width)
                empty.append(torch.empty(shape, dtype=self.torch_dtype, device=layer.device))
            return RavenCache(empty, reserve)

    def run(self, cache: RavenCache, tree: DraftTree, keep: Sequence[int] | None = None) -> Tensor:
        """Logits [len(keep), V] of one pass over ``tree`` behind ``cache.length`` rows.

        The pass writes its rows to ``cache`` but does not count them. ``keep``: the nodes whose
        logits are wanted, None for all.
        """
        base = cache.length
        positions = [base + depth for depth in tree.depths]
        mask: Tensor | None = None
        with self.lock, torch.inference_mode():
            if len(tree) > 1:
                seen = torch.from_numpy(np.ascontiguousarray(visible(base, tree)))
                mask = torch.zeros(seen.shape, dtype=self.torch_dtype)
                mask.masked_fill_(~seen, float("-inf"))
            return self.lean.forward(
                list(tree.tokens),
                self.lean.place(positions, mask),
                cache.views(len(tree)),
                self.start(positions),
                self.iterations,
                None if keep is None else list(keep),
            )


class RavenSession(TreeSession[RavenCache]):
    """One run of a recurrent-depth model."""

    model: RavenModel

    def views(self, rows: int) -> list[Views]:
        """Every layer's keys and values, with room for ``rows`` more: for probes."""
        return self._cache.views(rows)

    def depth_engine(self) -> DepthEngine:
        """An engine that copies what it needs of this session's cache, as of each ``begin``."""
        return RavenEngine(self.model.lean, self.model, lambda: self._cache)
