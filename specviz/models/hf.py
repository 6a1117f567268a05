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

from specviz.files import cache_root
from specviz.models.base import Capture, Inputs, Message, Scores, cpu_name, prompt_rows
from specviz.models.hf_attention import GROUPED, fold_mask
from specviz.models.hf_cache import BufferCache
from specviz.models.hf_costs import ROWS, Shelf, measure, rough
from specviz.models.hf_facts import Facts
from specviz.models.hf_pack import pack
from specviz.models.hf_scores import Ranked, join, rank, rounded, to_scores
from specviz.models.hf_text import TextCodec
from specviz.trace import Costs, Progress
from specviz.tree import DraftTree

CHUNK = 256
SLACK = 512


class HFModel:
    """Weights, tokenizer and facts of one causal language model.

    ``net``: a transformers ``…ForCausalLM`` in eval mode, already on its device. Raises
    Unsupported when its architecture cannot verify trees.
    """

    def __init__(self, net: Any, tokenizer: Any, *, label: str, digest: str) -> None:
        facts = Facts.of(net, tokenizer, label)
        # On a GPU the stock kernels read the mask themselves; copying heads costs little there.
        if net.config._attn_implementation == "sdpa" and net.device.type == "cpu":
            net.set_attn_implementation(GROUPED)
        self.net = net
        self.label = label
        self.digest = digest
        self.device = str(net.device)
        self.hardware = _hardware(net.device)
        self.dtype = str(net.dtype).removeprefix("torch.")
        self.supports = frozenset({"tree", "rollback"})
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
        self._costs: dict[int, Costs] = {}
        # Some modules keep a value from one pass to the next, so passes take turns.
        self._lock = RLock()

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Apply the chat template with every text inert; see ``TextCodec.encode``."""
        return self.codec.encode(messages)

    def token_bytes(self, token: int) -> bytes:
        """The raw bytes of ``token``; a control token gives its name."""
        return self.codec.token_bytes(token)

    def open(self, capture: Capture = Capture()) -> HFSession:
        """A session with an empty cache."""
        return HFSession(self, capture)

    def pack(self) -> None:
        """Lay out linear weights for the CPU, where that is checked to help."""
        with self._lock:
            self.packed = self.packed or pack(self.net)

    def measure(
        self, context: int, fresh: bool = False
    ) -> Generator[Progress, None, Costs | None]:
        """What a verification costs behind about ``context`` tokens.

        Measured once per rough length and, unless the machine was busy meanwhile, kept on disk for
        this model, dtype and machine; ``fresh`` measures again. None where the model has no room
        for a tree.
        """
        length = rough(min(context, self.max_context))
        shelf = Shelf(cache_root() / "costs", self._facts)
        found = None if fresh else self._costs.get(length) or shelf.get(length)
        if found is None:
            # A short context is shared between what stands there and the widest pass.
            room = max(self.max_context - max(ROWS), self.max_context // 2)
            behind = max(1, min(length, room))
            found, steady = yield from self._measure(behind)
            if found is None:
                return None
            if steady:
                shelf.put(length, found)
        self._costs[length] = found
        return found

    @property
    def _facts(self) -> dict[str, Any]:
        """What costs depend on."""
        return {
            "digest": self.digest, "dtype": self.dtype, "device": self.hardware,
            "packed": self.packed, "torch": torch.__version__, "transformers": TRANSFORMERS,
            "attention": self.net.config._attn_implementation,
        }  # fmt: skip

    def _measure(self, behind: int) -> Generator[Progress, None, tuple[Costs | None, bool]]:
        session = self.open()
        try:
            session.pretend(behind)
            most = self.max_context - behind
            trees = {
                n: chain([t % self.vocab_size for t in range(n)]) for n in ROWS if n <= most
            }
            return (yield from measure(lambda rows: session.verify(trees[rows]), behind, most))
        finally:
            session.close()

    def run(
        self, cache: BufferCache, tree: DraftTree, keep: Sequence[int] | None = None
    ) -> torch.Tensor:
        """Logits [len(keep), V] of one pass over ``tree`` behind ``cache.length`` rows.

        The pass appends its rows to the layers of ``cache`` but does not count them. ``keep``:
        the nodes whose logits are wanted, None for all.
        """
        base = cache.length
        positions = base + np.array(tree.depths)
        ids = torch.tensor([tree.tokens], device=self.net.device)
        wanted: int | torch.Tensor = 0
        if keep is not None:
            wanted = torch.tensor(keep, dtype=torch.long, device=self.net.device)
        with self._lock, torch.inference_mode():
            try:
                out = self.net(
                    input_ids=ids,
                    attention_mask=self._masks(base, tree, positions),
                    position_ids=torch.from_numpy(positions)[None].to(self.net.device),
                    cache=cache,
                    use_cache=True,
                    logits_to_keep=wanted,
                )
            except BaseException:
                cache.rewind()
                raise
        logits: torch.Tensor = out.logits[0]
        return logits

    def _masks(
        self, base: int, tree: DraftTree, positions: np.ndarray
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        """Additive masks [1, 1, rows, base + rows]; one for each kind of layer where they differ.

        A sliding layer sees the last ``window`` positions of the branch, itself included.
        """
        visible = _visible(base, tree)
        columns = np.concatenate([np.arange(base), positions])
        distance = positions[:, None] - columns[None, :]
        masks = {
            kind: self._additive(visible if window is None else visible & (distance < window))
            for kind, window in self.windows.items()
        }
        return masks if len(masks) > 1 else next(iter(masks.values()))

    def _additive(self, visible: np.ndarray) -> torch.Tensor:
        dtype, device = self.net.dtype, self.net.device
        mask = torch.zeros(visible.shape, dtype=dtype, device=device)
        hidden = torch.from_numpy(~visible).to(device)
        mask = mask.masked_fill_(hidden, torch.finfo(dtype).min)[None, None]
        grouped = self.net.config._attn_implementation == GROUPED
        return fold_mask(mask, self._groups) if grouped else mask


def _hardware(device: torch.device) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    return f"{cpu_name()}, {torch.get_num_threads()} threads"


def chain(tokens: Sequence[int]) -> DraftTree:
    """``tokens`` as a tree without branches."""
    return DraftTree(tuple(tokens), tuple(range(-1, len(tokens) - 1)))


def _visible(base: int, tree: DraftTree) -> np.ndarray:
    """[rows, base + rows]: the prefix, the ancestors and the node itself."""
    rows = len(tree)
    own = np.eye(rows, dtype=bool)
    for node in range(1, rows):
        own[node] |= own[tree.parents[node]]
    return np.concatenate([np.ones((rows, base), dtype=bool), own], axis=1)


class HFSession:
    """One cache: the committed rows first, behind them those of the last verified tree."""

    def __init__(self, model: HFModel, capture: Capture) -> None:
        self.model = model
        self.capture = capture
        self._cache = BufferCache()
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
        self._cache = BufferCache(reserve=len(tokens) + SLACK)
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
        logits = self.model.run(self._cache, tree)
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

    def score(self, tokens: Sequence[int]) -> Generator[Progress, None, Scores]:
        """Scores after every prefix of ``tokens``, in chunks, on a cache of their own."""
        tokens = tuple(tokens)
        cache = BufferCache(reserve=len(tokens))
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
        self._cache = BufferCache()
        self._tree = None

    def _append(
        self, cache: BufferCache, tokens: Sequence[int], keep: Sequence[int] | None
    ) -> torch.Tensor:
        logits = self.model.run(cache, chain(tokens), keep)
        cache.advance(len(tokens))
        return logits

    def _rank(
        self, logits: torch.Tensor, asked: tuple[Sequence[int], Sequence[int]] = ((), ())
    ) -> Ranked:
        with torch.inference_mode():
            return rank(logits, self.capture, asked)
