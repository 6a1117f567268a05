"""A table-driven toy model with a real, checked cache: for tests, documentation and teaching.

Its next-token scores are a pure function of the visible context, read through the same cache
discipline as a transformer's: every verified row occupies a column with a position, a node sees
the committed columns and its ancestors, and a commit that keeps the wrong columns is caught.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from specviz.models.base import (
    LEAST_LOGP,
    Capture,
    InputError,
    Inputs,
    Message,
    Scores,
    cpu_name,
    prompt_rows,
)
from specviz.trace import Progress
from specviz.tree import DraftTree

LogitFunction = Callable[[tuple[int, ...]], np.ndarray]
CHUNK = 512

RHYME = """This is the house that Jack built.
This is the malt that lay in the house that Jack built.
This is the rat that ate the malt that lay in the house that Jack built.
This is the cat that killed the rat that ate the malt that lay in the house that Jack built.
This is the dog that worried the cat that killed the rat that ate the malt that lay in the house \
that Jack built.
This is the cow with the crumpled horn that tossed the dog that worried the cat that killed the \
rat that ate the malt that lay in the house that Jack built.
"""


class ToyModel:
    """A model whose logits are ``logits(context)`` -> float array [V].

    ``pieces[i]`` are the bytes of token ``i``; encoding is greedy longest match, so give all 256
    single bytes to accept any text. ``supports`` may be narrowed to try refusals.
    """

    device = "cpu"
    dtype = "float64"
    packed = False
    depth: int | None = None
    hardware = cpu_name()

    def __init__(
        self,
        logits: LogitFunction,
        pieces: Sequence[bytes],
        *,
        label: str = "toy",
        eos_ids: frozenset[int] = frozenset({0}),
        blocked_ids: frozenset[int] = frozenset(),
        max_context: int = 8192,
        supports: frozenset[str] = frozenset({"tree", "rollback"}),
    ) -> None:
        self.logits = logits
        self.pieces = tuple(pieces)
        self.label = label
        self.eos_ids = eos_ids
        self.special_ids = eos_ids
        self.blocked_ids = blocked_ids
        self.max_context = max_context
        self.supports = supports
        self.vocab_size = len(pieces)
        self.digest = hashlib.sha256(b"\0".join(self.pieces) + label.encode()).hexdigest()[:16]
        self._by_bytes = {
            p: i for i, p in enumerate(pieces) if i not in eos_ids and i not in blocked_ids
        }
        self._longest = max(map(len, pieces))

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Join the texts by newlines; the toy has no chat template."""
        return Inputs(self.tokenize("\n".join(m.text for m in messages)))

    def tokenize(self, text: str) -> tuple[int, ...]:
        """Greedy longest match over ``pieces``; raises InputError where nothing matches."""
        raw, tokens, at = text.encode(), [], 0
        while at < len(raw):
            for size in range(min(self._longest, len(raw) - at), 0, -1):
                token = self._by_bytes.get(raw[at : at + size])
                if token is not None:
                    tokens.append(token)
                    at += size
                    break
            else:
                raise InputError(f"The toy model has no token for {raw[at : at + 1]!r}.")
        return tuple(tokens)

    def ends(self, text: str) -> tuple[int, ...]:
        """Characters of ``text`` read at the end of each token, a part of one counts as whole."""
        read = accumulate(
            sum(byte & 0xC0 != 0x80 for byte in self.pieces[token]) for token in self.tokenize(text)
        )
        return tuple(read)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of ``token``."""
        return self.pieces[token]

    def open(self, capture: Capture = Capture()) -> ToySession:
        """A session with an empty cache."""
        return ToySession(self, capture)

    def measure(self, context: int, fresh: bool = False) -> Generator[Progress, None, None]:
        """Passes over a table cost nothing worth knowing."""
        yield from ()


class ToySession:
    """Columns of (token, position); the committed ones come first and count 0, 1, 2, …"""

    def __init__(self, model: ToyModel, capture: Capture) -> None:
        self.model = model
        self.capture = capture
        self._columns: list[tuple[int, int]] = []
        self._committed = 0
        self._tree: DraftTree | None = None

    @property
    def length(self) -> int:
        """Committed columns."""
        return self._committed

    def prefill(self, inputs: Inputs) -> Generator[Progress, None, Scores]:
        """Read the prompt in chunks of 512; returns the captured rows."""
        assert not self._columns, "prefill needs an empty cache"
        tokens = self._merged(inputs.tokens, inputs.pixels)
        for start in range(0, len(tokens), CHUNK):
            done = min(start + CHUNK, len(tokens))
            self._columns += [(tokens[i], i) for i in range(start, done)]
            self._committed = done
            yield Progress(stage="prefill", done=done, total=len(tokens))
        rows = prompt_rows(inputs.tokens, self.capture)
        contexts = [tokens[: p + 1] for p in rows]
        return self._scores(contexts, [None] * len(rows), rows)

    def verify(self, tree: DraftTree) -> Scores:
        """Append every node as a column and read its context back through the cache."""
        del self._columns[self._committed :]
        base = self._committed
        self._columns += [(t, base + d) for t, d in zip(tree.tokens, tree.depths, strict=True)]
        self._tree = tree
        contexts = []
        for node in range(len(tree)):
            visible = [*range(base), *(base + n for n in tree.path(node))]
            seen = [self._columns[c] for c in visible]
            assert [p for _, p in seen] == list(range(len(seen))), "positions have a gap"
            contexts.append(tuple(t for t, _ in seen))
        return self._scores(contexts, list(tree.parents), range(len(tree)))

    def commit(self, path: Sequence[int]) -> None:
        """Keep the root and the accepted nodes of the last tree; drop its other columns."""
        assert self._tree is not None, "commit needs a verified tree"
        assert path and path[0] == 0, "the root is always kept"
        assert tuple(path) == self._tree.path(path[-1]), "the committed nodes are not a path"
        base = self._committed
        kept = [self._columns[base + n] for n in path]
        self._columns[base:] = kept
        self._committed = base + len(kept)
        self._tree = None

    def score(self, tokens: Sequence[int], pixels: Any = None) -> Generator[Progress, None, Scores]:
        """Scores after every prefix of ``tokens``."""
        yield Progress(stage="check", done=0, total=len(tokens))
        merged = self._merged(tuple(tokens), pixels)
        contexts = [merged[: i + 1] for i in range(len(tokens))]
        parents = [i - 1 for i in range(len(tokens))]
        return self._scores(contexts, parents, range(len(tokens)), tokens)

    def close(self) -> None:
        """Forget the cache."""
        self._columns.clear()
        self._committed = 0
        self._tree = None

    def _merged(self, tokens: tuple[int, ...], pixels: Any) -> tuple[int, ...]:
        """What the columns of a prompt hold: its tokens; a toy that sees puts pictures there."""
        assert pixels is None, "this session reads no pictures"
        return tokens

    def _scores(
        self,
        contexts: Sequence[tuple[int, ...]],
        parents: Sequence[int | None],
        positions: Sequence[int],
        tokens: Sequence[int] | None = None,
    ) -> Scores:
        """``tokens``: those of the rows where a context may end in something else."""
        tokens = [c[-1] for c in contexts] if tokens is None else tokens
        logits = [np.asarray(self.model.logits(c), dtype=np.float64) for c in contexts]
        logits = [np.maximum(row, row.max() + LEAST_LOGP) for row in logits]
        lses = [_logsumexp(row) for row in logits]
        k = min(self.capture.top_k, self.model.vocab_size)
        tops = [np.argsort(-row, kind="stable")[: max(k, 2)] for row in logits]
        top_logps = [
            [round(float(row[i] - lse), 4) for i in top[:k]]
            for row, lse, top in zip(logits, lses, tops, strict=True)
        ]
        owns = [
            None if p is None or p < 0 else round(float(logits[p][t] - lses[p]), 4)
            for t, p in zip(tokens, parents, strict=True)
        ]
        entropies = None
        if self.capture.full_entropy:
            entropies = tuple(
                round(float(lse - (np.exp(row - lse) @ row)), 4)
                for row, lse in zip(logits, lses, strict=True)
            )
        return Scores(
            picks=tuple(int(top[0]) for top in tops),
            margins=tuple(
                round(float(r[t[0]] - r[t[1]]), 4) for r, t in zip(logits, tops, strict=True)
            ),
            peaks=tuple(round(float(r[t[0]]), 4) for r, t in zip(logits, tops, strict=True)),
            top_ids=tuple(tuple(int(i) for i in top[:k]) for top in tops),
            top_logps=tuple(map(tuple, top_logps)),
            tails=tuple(
                round(max(0.0, 1.0 - sum(math.exp(v) for v in row)), 4) for row in top_logps
            ),
            own_logps=tuple(owns),
            positions=tuple(positions),
            entropies=entropies,
        )


def _logsumexp(row: np.ndarray) -> float:
    peak = float(row.max())
    return peak + math.log(float(np.exp(row - peak).sum()))


def random_logits(seed: int, vocab: int, order: int = 3, sharpness: float = 3.0) -> LogitFunction:
    """Logits drawn anew, and always the same, for every distinct suffix of ``order`` tokens."""
    known: dict[tuple[int, ...], np.ndarray] = {}

    def logits(context: tuple[int, ...]) -> np.ndarray:
        suffix = context[-order:]
        if suffix not in known:
            known[suffix] = sharpness * np.random.default_rng([seed, *suffix]).normal(size=vocab)
        return known[suffix]

    return logits


def rhyme_model(label: str = "toy") -> ToyModel:
    """A word-and-byte model fitted on a nursery rhyme by counting the last one to three tokens."""
    words: list[bytes] = []
    for line in RHYME.splitlines():
        first, *rest = line.rstrip(".").split(" ")
        words += [first.encode(), *(f" {w}".encode() for w in rest)]
    pieces = [b"<end>", *(bytes([b]) for b in range(256)), *sorted(set(words) | {b".\n"})]
    counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
    known: dict[tuple[int, ...], np.ndarray] = {}

    def logits(context: tuple[int, ...]) -> np.ndarray:
        suffix = context[-3:]
        if suffix not in known:
            mixed = np.full(len(pieces), 1e-6)
            mixed += 1e-8 * np.random.default_rng([1, *suffix]).random(len(pieces))
            for order, weight in ((1, 0.1), (2, 0.2), (3, 0.7)):
                after = counts.get(suffix[-order:]) if len(suffix) >= order else None
                for token, count in (after or {}).items():
                    mixed[token] += weight * count / sum(after.values())  # type: ignore[union-attr]
            known[suffix] = np.log(mixed / mixed.sum())
        return known[suffix]

    model = ToyModel(logits, pieces, label=label)
    tokens = (*model.tokenize(RHYME), 0)
    for order in (1, 2, 3):
        for i in range(order, len(tokens)):
            counts[tokens[i - order : i]][tokens[i]] += 1
    return model
