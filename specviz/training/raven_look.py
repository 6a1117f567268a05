"""What depth does for ``tiny-raven``: agreement and right tokens on held-out replies, by depth."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from specviz.models.raven_net import Raven
from specviz.training.raven_documents import COMPOSED, Document, Kind, held_out, make
from specviz.training.raven_steps import forward
from specviz.training.raven_text import ASSISTANT, PAD, encode, school, token_id

DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
LOOKED_AT: tuple[Kind, ...] = (*COMPOSED, "words", "code")
SEED = 10_000
TOGETHER = 16  # documents in one pass


@dataclass(frozen=True)
class Curve:
    """Shares of reply tokens, one per depth in ``DEPTHS``.

    ``agree`` with the greatest depth, ``right`` as in the document; ``deepest`` is the share of
    right first answers, which take most steps (composed tasks only).
    """

    agree: tuple[float, ...]
    right: tuple[float, ...]
    deepest: tuple[float, ...] | None


def unseen(count: int, path: Path | None = None) -> dict[Kind, list[Document]]:
    """``count`` held-out documents of every generated kind, and school problems from ``path``."""
    rng = random.Random(SEED)
    found: dict[Kind, list[Document]] = {}
    for kind in LOOKED_AT:
        rows: list[Document] = []
        while len(rows) < count:
            document = make(kind, rng)
            if held_out(document.user):
                rows.append(document)
        found[kind] = rows
    if path is not None:
        found["school"] = [d for d in school(path) if held_out(d.user)][:count]
    return found


@torch.no_grad()
def readouts(net: Raven, rows: Sequence[list[int]], depths: Sequence[int]) -> list[Tensor]:
    """Argmax [depths, t] of every row after each of ``depths`` iterations from a zero state."""
    found: list[Tensor] = []
    for at in range(0, len(rows), TOGETHER):
        part = rows[at : at + TOGETHER]
        width = max(map(len, part))
        tokens = torch.tensor([r + [PAD] * (width - len(r)) for r in part])
        with torch.autocast("cpu", torch.bfloat16):
            logits = forward(net, tokens, None, depths, 0.0, 0)
        picks = torch.stack([x.argmax(-1) for x in logits], 1)
        found += [p[:, : len(r)] for p, r in zip(picks, part, strict=True)]
    return found


def first_answer(reply: Sequence[int], tokenizer: Tokenizer) -> int:
    """Where in the reply tokens of a composed task the first answer stands."""
    return list(reply).index(token_id(tokenizer, "=")) + 1


def curve(net: Raven, tokenizer: Tokenizer, kind: Kind, documents: Sequence[Document]) -> Curve:
    """What ``net`` says about the replies of ``documents``, all of ``kind``."""
    net.eval()
    longest = net.config.block_size
    encoded = [encode(tokenizer, document).ids[:longest] for document in documents]
    agree, right, first = (torch.zeros(len(DEPTHS)) for _ in range(3))
    total = 0
    for ids, out in zip(encoded, readouts(net, encoded, DEPTHS), strict=True):
        at = ids.index(ASSISTANT)
        want, said = torch.tensor(ids[at + 1 :]), out[:, at:-1]
        total += len(want)
        agree += (said == said[-1]).sum(1)
        right += (said == want).sum(1)
        if kind in COMPOSED:
            mark = first_answer(ids[at + 1 :], tokenizer)
            first += said[:, mark] == want[mark]
    deepest = tuple((first / len(documents)).tolist()) if kind in COMPOSED else None
    return Curve(tuple((agree / total).tolist()), tuple((right / total).tolist()), deepest)


def lines(curves: Mapping[Kind, Curve]) -> Iterator[str]:
    """A table for people: per kind and depth agreement and right tokens; deepest answers below."""
    yield "kind      " + "".join(f"{depth:>13}" for depth in DEPTHS)
    for kind, found in curves.items():
        pairs = zip(found.agree, found.right, strict=True)
        yield f"{kind:10}" + "".join(f"{a:6.1%}{r:7.1%}" for a, r in pairs)
        if found.deepest is not None:
            yield "   deepest" + "".join(f"{share:13.1%}" for share in found.deepest)


def look(net: Raven, tokenizer: Tokenizer, count: int, path: Path | None = None) -> Iterator[str]:
    """The table for ``count`` held-out documents of every kind."""
    yield from lines({k: curve(net, tokenizer, k, rows) for k, rows in unseen(count, path).items()})
