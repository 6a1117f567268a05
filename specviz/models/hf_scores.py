"""From logits to plain numbers: exact picks, ranked candidates, one transfer to the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from specviz.models.base import LEAST_LOGP, Capture, InputError, Scores

DECIMALS = 4


@dataclass(frozen=True)
class Ranked:
    """Numbers read off ``r`` rows of logits, float64 on the host.

    ``values``/``ids`` [r, k]: the largest logits, lowest id first among equals. ``lse`` [r]:
    logsumexp over the vocabulary. ``asked`` [a]: log-probs of the asked (row, token) pairs.
    ``entropies`` [r] or None.
    """

    values: np.ndarray
    ids: np.ndarray
    lse: np.ndarray
    asked: np.ndarray
    entropies: np.ndarray | None


def rank(
    logits: torch.Tensor, capture: Capture, asked: tuple[Sequence[int], Sequence[int]] = ((), ())
) -> Ranked:
    """Rank ``logits`` [r, V]; computed in float32, in float64 where the model is float64.

    ``asked``: rows and tokens whose log-probs are wanted. Raises InputError when the model gave
    numbers that are not finite.
    """
    exact = logits if logits.dtype == torch.float64 else logits.float()
    rows, vocabulary = exact.shape
    width = min(max(capture.top_k, 2) + 1, vocabulary)  # one more shows a tie at the cut
    values, ids = exact.topk(width, dim=-1)
    lse = exact.logsumexp(-1)
    which = torch.tensor(asked[0], dtype=torch.long, device=exact.device)
    token = torch.tensor(asked[1], dtype=torch.long, device=exact.device)
    parts = [values.flatten(), ids.flatten(), lse, exact[which, token] - lse[which]]
    if capture.full_entropy:
        parts.append(torch.special.entr(exact.softmax(-1)).sum(-1))
    host = torch.cat([part.double() for part in parts]).cpu().numpy()
    sizes = np.cumsum([rows * width, rows * width, rows, len(which)])
    flat_values, flat_ids, host_lse, host_asked, entropies = np.split(host, sizes)
    if not np.isfinite(host_lse).all():
        raise InputError(
            "The model computed numbers that are not finite: choose dtype float32 or bfloat16."
        )
    host_values = flat_values.reshape(rows, width)
    host_ids = flat_ids.reshape(rows, width).astype(np.int64)
    tied = np.flatnonzero((host_values[:, 1:] == host_values[:, :-1]).any(axis=1))
    if len(tied):
        _order_ties(exact, tied, host_values, host_ids)
    return Ranked(
        host_values, host_ids, host_lse, host_asked, entropies if capture.full_entropy else None
    )


def _order_ties(exact: torch.Tensor, tied: np.ndarray, values: np.ndarray, ids: np.ndarray) -> None:
    """Rewrite ``ids`` of the ``tied`` rows: lowest id first among equals, also at the cut.

    ``topk`` promises the values only: neither the order among equals, nor which of them it takes.
    """
    width = values.shape[1]
    sub = exact[torch.from_numpy(tied).to(exact.device)]
    cut = torch.from_numpy(values[tied, -1]).to(sub)
    row, token = torch.nonzero(sub >= cut[:, None], as_tuple=True)
    found = torch.stack([row.double(), token.double(), sub[row, token].double()]).cpu().numpy()
    order = np.lexsort((found[1], -found[2], found[0]))
    starts = np.searchsorted(found[0][order], np.arange(len(tied)))
    ids[tied] = found[1][order][starts[:, None] + np.arange(width)].astype(np.int64)


def join(parts: Sequence[Ranked]) -> Ranked:
    """The rows of several chunks as one."""
    if len(parts) == 1:
        return parts[0]
    entropies = [p.entropies for p in parts if p.entropies is not None]
    return Ranked(
        np.concatenate([p.values for p in parts]),
        np.concatenate([p.ids for p in parts]),
        np.concatenate([p.lse for p in parts]),
        np.concatenate([p.asked for p in parts]),
        np.concatenate(entropies) if entropies else None,
    )


def to_scores(
    ranked: Ranked, capture: Capture, owns: Sequence[float | None], positions: Sequence[int]
) -> Scores:
    """Round once, and give plain tuples."""
    k = min(capture.top_k, ranked.values.shape[1])
    # A masked token has probability zero; JSON has no logarithm of that.
    values = np.maximum(ranked.values, ranked.values[:, :1] + LEAST_LOGP)
    logps = values[:, :k] - ranked.lse[:, None]
    tails = np.maximum(0.0, 1.0 - np.exp(logps).sum(axis=1))
    entropies = ranked.entropies
    return Scores(
        picks=tuple(ranked.ids[:, 0].tolist()),
        margins=rounded(values[:, 0] - values[:, 1]),
        peaks=rounded(ranked.values[:, 0]),
        top_ids=tuple(map(tuple, ranked.ids[:, :k].tolist())),
        top_logps=tuple(map(tuple, _round(logps).tolist())),
        tails=rounded(tails),
        own_logps=tuple(owns),
        positions=tuple(positions),
        entropies=None if entropies is None else rounded(entropies),
    )


def rounded(numbers: np.ndarray) -> tuple[float, ...]:
    """``numbers`` [n] to four decimals."""
    return tuple(_round(np.maximum(numbers, LEAST_LOGP)).tolist())


def _round(numbers: np.ndarray) -> np.ndarray:
    return np.round(numbers, DECIMALS) + 0.0  # no negative zero
