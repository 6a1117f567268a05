"""Decoder-only transformers models: one packed pass over a draft tree, on full key/value caches.

Every pass brings its own additive mask and position ids, so chunks of a prompt, single rows and
trees take one path, and layers with a sliding window see what they would see along the branch.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from threading import RLock
from typing import Any

import numpy as np
import torch
from transformers import __version__ as TRANSFORMERS

from specviz.models.base import Capture, Inputs, Message, cpu_name
from specviz.models.eagle_heads import Heads
from specviz.models.engines import HeadFacts
from specviz.models.hf_attention import GROUPED, fold_mask
from specviz.models.hf_cache import BufferCache
from specviz.models.hf_facts import Facts
from specviz.models.hf_features import FeatureSession
from specviz.models.hf_pack import pack
from specviz.models.hf_text import TextCodec
from specviz.models.session import TreeSession, verification_costs, visible
from specviz.trace import Costs, Progress
from specviz.tree import DraftTree


class HFModel:
    """Weights, tokenizer and facts of one causal language model.

    ``net``: a transformers ``…ForCausalLM`` in eval mode, already on its device. Raises
    Unsupported when its architecture cannot verify trees.
    """

    def __init__(self, net: Any, tokenizer: Any, *, label: str, digest: str) -> None:
        facts = Facts.of(net, tokenizer, label)
        self.net = net
        self.language = self._language(net)
        self.place = place(net)
        # On a GPU the stock kernels read the mask themselves; copying heads costs little there.
        if self.attention == "sdpa" and self.place.type == "cpu":
            self.language.set_attn_implementation(GROUPED)
        self.label = label
        self.digest = digest
        self.device = str(self.place)
        self.hardware = hardware(self.place)
        self.dtype = str(net.dtype).removeprefix("torch.")
        self.supports = frozenset({"tree", "rollback", "head"})
        self.codec = TextCodec(tokenizer, label)
        self.eos_ids = facts.eos_ids
        self.blocked_ids = facts.blocked_ids
        self.special_ids = self.codec.special_ids() | facts.eos_ids
        self.max_context = facts.max_context
        self.vocab_size = facts.vocab_size
        self.windows = facts.windows
        self.depth: int | None = None
        self.packed = False
        self._groups = facts.groups
        self._heads = Heads(self)
        self._costs: dict[int, Costs] = {}
        # Some modules keep a value from one pass to the next, so passes take turns.
        self._lock = RLock()

    @property
    def attention(self) -> str:
        """The attention that passes go through, by transformers' name for it."""
        return str(self.language.config._attn_implementation)

    def _language(self, net: Any) -> Any:
        """The part of ``net`` that passes go through."""
        return net

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Apply the chat template with every text inert; see ``TextCodec.encode``."""
        return self.codec.encode(messages)

    def ends(self, text: str) -> tuple[int, ...]:
        """Characters of ``text`` read at the end of each of its tokens; see ``Model.ends``."""
        return self.codec.ends(text)

    def token_bytes(self, token: int) -> bytes:
        """The raw bytes of ``token``; a control token gives its name."""
        return self.codec.token_bytes(token)

    def open(self, capture: Capture = Capture()) -> TreeSession[BufferCache]:
        """A session with an empty cache; one that feeds a head, where ``capture`` names one."""
        if capture.head is None:
            return TreeSession(self, capture)
        return FeatureSession(self, capture, self._heads.load(capture.head)[0])

    def head(self, name: str) -> HeadFacts:
        """Load a head and say what it is; see ``HeadModel``."""
        return self._heads.load(name)[1]

    def pack(self) -> None:
        """Lay out linear weights for the CPU, where that is checked to help."""
        with self._lock:
            self.packed = self.packed or pack(self.net)

    def measure(self, context: int, fresh: bool = False) -> Generator[Progress, None, Costs | None]:
        """What a verification costs behind about ``context`` tokens; see verification_costs."""
        return (yield from verification_costs(self, self._facts, self._costs, context, fresh))

    @property
    def _facts(self) -> dict[str, Any]:
        """What costs depend on."""
        return {
            "digest": self.digest, "dtype": self.dtype, "device": self.hardware,
            "packed": self.packed, "torch": torch.__version__, "transformers": TRANSFORMERS,
            "attention": self.attention,
        }  # fmt: skip

    def cache(self, reserve: int = 0) -> BufferCache:
        """An empty cache with room for ``reserve`` rows."""
        return BufferCache(reserve)

    def run(
        self, cache: BufferCache, tree: DraftTree, keep: Sequence[int] | None = None
    ) -> torch.Tensor:
        """Logits [len(keep), V] of one pass over ``tree`` behind ``cache.length`` rows.

        The pass appends its rows to the layers of ``cache`` but does not count them. ``keep``:
        the nodes whose logits are wanted, None for all.
        """
        return self._pass(cache, tree, keep, ())[0]

    def run_tapped(
        self,
        cache: BufferCache,
        tree: DraftTree,
        keep: Sequence[int] | None,
        layers: Sequence[int],
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits of ``run``, and what ``layers`` read at every node [rows, layers x hidden]."""
        logits, states = self._pass(cache, tree, keep, layers)
        return logits, torch.cat([states[layer][0] for layer in layers], dim=-1)

    def _pass(
        self,
        cache: BufferCache,
        tree: DraftTree,
        keep: Sequence[int] | None,
        layers: Sequence[int],
    ) -> tuple[torch.Tensor, Any]:
        """Logits, and the inputs [1, rows, hidden] of ``layers`` by number."""
        base = cache.length
        positions = base + np.array(tree.depths)
        ids = torch.tensor([tree.tokens], device=self.place)
        wanted: int | torch.Tensor = 0
        if keep is not None:
            wanted = torch.tensor(keep, dtype=torch.long, device=self.place)
        with self._lock, torch.inference_mode():
            try:
                masks = self._masks(base, tree, positions)
                return self._forward(cache, ids, masks, positions, wanted, layers)
            except BaseException:
                cache.rewind()
                raise

    def _forward(
        self,
        cache: BufferCache,
        ids: torch.Tensor,
        masks: torch.Tensor | dict[str, torch.Tensor],
        positions: np.ndarray,
        wanted: int | torch.Tensor,
        layers: Sequence[int],
    ) -> tuple[torch.Tensor, Any]:
        """The network itself: token ``ids`` [1, rows] that stand at ``positions`` [rows]."""
        out = self.net(
            input_ids=ids,
            attention_mask=masks,
            position_ids=torch.from_numpy(positions)[None].to(self.place),
            cache=cache,
            use_cache=True,
            logits_to_keep=wanted,
            output_hidden_states=list(layers) or False,
        )
        return out.logits[0], out.hidden_states

    def _masks(
        self, base: int, tree: DraftTree, positions: np.ndarray
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        """Additive masks [1, 1, rows, base + rows]; one for each kind of layer where they differ.

        A sliding layer sees the last ``window`` positions of the branch, itself included.
        """
        seen = visible(base, tree)
        columns = np.concatenate([np.arange(base), positions])
        distance = positions[:, None] - columns[None, :]
        masks = {
            kind: self._additive(seen if window is None else seen & (distance < window))
            for kind, window in self.windows.items()
        }
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _additive(self, seen: np.ndarray) -> torch.Tensor:
        dtype, device = self.net.dtype, self.place
        mask = torch.zeros(seen.shape, dtype=dtype, device=device)
        hidden = torch.from_numpy(~seen).to(device)
        mask = mask.masked_fill_(hidden, torch.finfo(dtype).min)[None, None]
        grouped = self.attention == GROUPED
        return fold_mask(mask, self._groups) if grouped else mask


def place(net: Any) -> torch.device:
    """Where passes begin and end; weights of a spread network may lie elsewhere in between."""
    spread = getattr(net, "hf_device_map", None) or {}
    if len(spread) > 1:
        real = [device for device in spread.values() if device not in ("cpu", "disk")]
        return torch.device(real[0] if real else "cpu")
    if net.device.type == "meta":  # weights that come when they are needed
        hooks = (getattr(module, "_hf_hook", None) for module in net.modules())
        devices = (getattr(hook, "execution_device", None) for hook in hooks)
        return torch.device(next(device for device in devices if device is not None))
    return torch.device(net.device)


def hardware(device: torch.device) -> str:
    """What passes run on: the GPU's name, or the processor and the threads used of it."""
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{cpu_name()}, {torch.get_num_threads()} threads"
