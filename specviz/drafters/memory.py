"""Prediction memories: what the target said after a context, kept for the next time.

A row is the target's top-k after a context of one to three tokens. The memory of single tokens can
outlive a request; it is carried as a ``Snapshot`` of plain arrays. Sources: Token Recycling (the
adjacency matrix) and RECAP (three levels, persistent and request-local).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from specviz.drafters.base import Draft
from specviz.drafters.snapshot import ARRAYS as ARRAYS
from specviz.drafters.snapshot import Deep
from specviz.drafters.snapshot import Snapshot as Snapshot
from specviz.evidence import Written
from specviz.models.base import InputError, Model, Scores
from specviz.trace import Header, Step
from specviz.tree import DraftTree

_UNIT = 1e4  # log-probabilities are kept to four decimals, so integers hold them exactly


@dataclass(frozen=True, slots=True)
class Row:
    """The target's most probable continuations after one context, and who wrote them.

    ``shown``: ``probs`` to four decimals, as they are recorded.

    ``entropy`` in [0, 1]: H / ln(k + 1), H = -sum p ln p - r ln r with the tail r as one symbol
    (a lower bound of the full entropy), or the full entropy over ln V when it was captured.
    """

    ids: tuple[int, ...]
    logps: tuple[float, ...]
    probs: tuple[float, ...]
    entropy: float
    written: Written
    shown: tuple[float, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shown", tuple(round(p, 4) for p in self.probs))


def make_row(
    ids: Sequence[int],
    logps: Sequence[float],
    written: Written,
    full_entropy: float | None = None,
    vocab_size: int = 0,
) -> Row:
    """A row from log-probabilities (nats, whole vocabulary)."""
    probs = tuple(math.exp(v) for v in logps)
    if full_entropy is not None:
        entropy = full_entropy / math.log(vocab_size)
    else:
        tail = max(0.0, 1.0 - sum(probs))
        mass = -sum(p * v for p, v in zip(probs, logps, strict=True))
        entropy = (mass - (tail * math.log(tail) if tail > 0 else 0.0)) / math.log(len(ids) + 1)
    return Row(tuple(ids), tuple(logps), probs, round(min(max(entropy, 0.0), 1.0), 4), written)


def model_key(model: Model | Header, entropy: str) -> str:
    """What a lasting memory belongs to: weights, their arithmetic, the kind of entropy kept."""
    return f"{model.digest}/{model.dtype}/{entropy}"


class Level:
    """One level: rows by key of ``order`` tokens.

    Keys never hold a ``blocked`` id: what follows the placeholder of a picture depends on the
    picture, and all placeholders are the same token.
    """

    def __init__(self, order: int) -> None:
        self.order = order
        self.blocked: frozenset[int] = frozenset()
        self.rows: dict[tuple[int, ...], Row] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def get(self, context: Sequence[int]) -> tuple[tuple[int, ...], Row] | None:
        """Key and row for the end of ``context``; None when unknown or too short."""
        if len(context) < self.order:
            return None
        key = tuple(context[-self.order :])
        row = self.rows.get(key)
        return None if row is None else (key, row)

    def write(self, contexts: Iterable[tuple[Sequence[int], Row]]) -> None:
        """Overwrite rows; within the batch the first writer of a key wins."""
        fresh: dict[tuple[int, ...], Row] = {}
        for context, row in contexts:
            key = tuple(context[-self.order :])
            if len(context) >= self.order and self.blocked.isdisjoint(key):
                fresh.setdefault(key, row)
        self.rows.update(fresh)

    def snapshot(self, model: str) -> Snapshot:
        """The rows of a single-token level as plain arrays, in order of key."""
        rows = self.pack()
        return Snapshot(
            model, rows.tokens[:, 0], rows.ids, rows.logps, rows.entropies, rows.accepted
        )

    def pack(self) -> Deep:
        """The rows as plain arrays, in order of key."""
        keys = sorted(self.rows)
        rows = [self.rows[k] for k in keys]
        width = max((len(r.ids) for r in rows), default=0)
        logps = [[round(v * _UNIT) for v in r.logps] for r in rows]
        return Deep(
            np.array(keys, dtype=np.int32).reshape(len(rows), self.order),
            np.array([r.ids for r in rows], dtype=np.int32).reshape(len(rows), width),
            np.array(logps, dtype=np.int32).reshape(len(rows), width),
            np.array([round(r.entropy * _UNIT) for r in rows], dtype=np.int32),
            np.array([r.written.accepted for r in rows], dtype=np.int32),
        )

    def restore(self, snapshot: Snapshot, vocab_size: int) -> None:
        """Take over the single-token rows of a snapshot; see ``unpack``."""
        columns = {name: getattr(snapshot, name) for name in ARRAYS}
        self.unpack(Deep(**{**columns, "tokens": snapshot.tokens[:, None]}), vocab_size)

    def unpack(self, packed: Deep, vocab_size: int) -> None:
        """Take over rows; those that name tokens outside the vocabulary are refused."""
        if len(packed) and (
            min(packed.tokens.min(), packed.ids.min()) < 0
            or max(packed.tokens.max(), packed.ids.max()) >= vocab_size
        ):
            raise InputError("The saved memory names tokens that this model does not have.")
        columns = (getattr(packed, name).tolist() for name in ARRAYS)
        for key, ids, logps, entropy, accepted in zip(*columns, strict=True):
            if not self.blocked.isdisjoint(key):
                continue
            values = tuple(v / _UNIT for v in logps)
            probs = tuple(math.exp(v) for v in values)
            written = Written(step=-2, node=0, accepted=bool(accepted))
            self.rows[tuple(key)] = Row(tuple(ids), values, probs, entropy / _UNIT, written)


def verified_rows(
    draft: Draft, scores: Scores, walk: Sequence[int], step: int, rejected: bool, vocab_size: int
) -> list[tuple[int, Row]]:
    """(node, row) of every verified node in order of precedence for writing.

    The accepted path first, then by branch score, then by index (duplicates in one batch would
    otherwise be written in an undefined order). ``rejected=False`` keeps the accepted path only.
    """
    kept = {0, *walk}
    nodes = sorted(
        (n for n in range(len(draft.tree)) if rejected or n in kept),
        key=lambda n: (n not in kept, -_score(draft, n), n),
    )
    full = scores.entropies
    return [
        (
            n,
            make_row(
                scores.top_ids[n],
                scores.top_logps[n],
                Written(step, n, n in kept),
                None if full is None else full[n],
                vocab_size,
            ),
        )
        for n in nodes
    ]


def _score(draft: Draft, node: int) -> float:
    """The branch score, 1 at the root; what was drafted without one comes last."""
    return 1.0 if node == 0 else draft.scores[node] or 0.0


def verification(step: Step) -> tuple[Draft, Scores, tuple[int, ...]]:
    """The draft, the scores and the kept walk that a recorded step came from."""
    nodes = step.nodes
    draft = Draft(
        DraftTree(tuple(n.token for n in nodes), tuple(n.parent for n in nodes)),
        tuple(n.source for n in nodes),
        tuple(n.score for n in nodes),
        tuple(n.order for n in nodes),
    )
    entropies = tuple(n.entropy for n in nodes if n.entropy is not None)
    scores = Scores(
        picks=tuple(n.pick for n in nodes),
        margins=tuple(n.margin for n in nodes),
        peaks=(0.0,) * len(nodes),
        top_ids=tuple(tuple(t for t, _ in n.top) for n in nodes),
        top_logps=tuple(tuple(v for _, v in n.top) for n in nodes),
        tails=tuple(n.tail for n in nodes),
        own_logps=tuple(n.logp for n in nodes),
        positions=tuple(range(len(nodes))),
        entropies=entropies if len(entropies) == len(nodes) else None,
    )
    return draft, scores, step.accepted
