"""A picture and all its questions as one sequence: the picture is read once, each pair sees it.

To the language model a picture is a grid of tokens, so no tower is needed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from specviz.models.base import InputError
from specviz.training.vlm_scenes import Exchange

PREFIX = -1  # owner of what every branch sees


@dataclass(frozen=True)
class Template:
    """The fixed tokens of a chat: ``head`` up to the picture, ``turn`` from the end of a question
    to its answer, ``again`` from the end of an answer to the next question. The first token of
    ``turn`` and ``again`` ends a message."""

    head: tuple[int, ...]
    turn: tuple[int, ...]
    again: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any, mark: int) -> Template:
        """Read off the chat template, in which the token ``mark`` stands for every text."""
        text = tokenizer.convert_ids_to_tokens(mark)
        roles = ("user", "assistant", "user")
        ids = tokenizer.apply_chat_template(
            [{"role": role, "content": text} for role in roles],
            add_generation_prompt=True,
            return_dict=False,
        )
        at = [i for i, token in enumerate(ids) if token == mark]
        parts = [ids[i + 1 : j] for i, j in zip([-1, *at], [*at, len(ids)], strict=True)]
        head, turn, again, _ = map(tuple, parts)
        return cls(head, turn, again)


@dataclass(frozen=True)
class Branch:
    """What follows a picture: ``tokens``, and which of them (``learned``) are the model's own."""

    tokens: tuple[int, ...]
    learned: tuple[bool, ...]


def branch(
    tokenizer: Any, template: Template, exchanges: Sequence[Exchange], opening: str = ""
) -> Branch:
    """A chat about a picture; ``opening`` stands between the picture and the first question."""
    tokens: list[int] = []
    learned: list[bool] = []

    def add(ids: Sequence[int], own: bool) -> None:
        tokens.extend(ids)
        learned.extend([own] * len(ids))

    for number, exchange in enumerate(exchanges):
        if number:
            add(template.again[1:], False)
        asked = exchange.question if number else opening + exchange.question
        add(tokenizer.encode(asked, add_special_tokens=False), False)
        add(template.turn, False)
        add([*tokenizer.encode(exchange.answer, add_special_tokens=False), template.again[0]], True)
    return Branch(tuple(tokens), tuple(learned))


@dataclass(frozen=True)
class Packed:
    """One sequence of ``n`` tokens: ``tokens``, ``positions``, ``owners`` [n], ``mask`` bool
    [n, n] (True: sees); ``grid``: where the picture starts. ``rows`` [m] say ``targets`` [m] of
    the branches ``of`` [m]."""

    tokens: Tensor
    positions: Tensor
    owners: Tensor
    mask: Tensor
    grid: int
    rows: Tensor
    targets: Tensor
    of: Tensor


def pack(template: Template, grid: Sequence[int], branches: Sequence[Branch]) -> Packed:
    """One prefix of head and ``grid``; each branch sees it and what came before in itself."""
    prefix = (*template.head, *grid)
    tokens, positions = list(prefix), list(range(len(prefix)))
    owners = [PREFIX] * len(prefix)
    rows: list[int] = []
    for number, piece in enumerate(branches):
        rows += [len(tokens) + i - 1 for i, own in enumerate(piece.learned) if own]
        positions += range(len(prefix), len(prefix) + len(piece.tokens))
        tokens += piece.tokens
        owners += [number] * len(piece.tokens)
    owner = torch.tensor(owners)
    same = owner[:, None] == owner[None, :]
    ids, at = torch.tensor(tokens), torch.tensor(rows, dtype=torch.long)
    return Packed(
        ids, torch.tensor(positions), owner,
        (same | (owner == PREFIX)[None, :]).tril(),
        len(template.head), at, ids[at + 1], owner[at + 1],
    )  # fmt: skip


def additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """``mask`` [n, n] for a transformers network: zero or the least number, [1, 1, n, n]."""
    shaped = torch.zeros(mask.shape, dtype=dtype)
    return shaped.masked_fill_(~mask, torch.finfo(dtype).min)[None, None]


def single(tokenizer: Any, text: str) -> int:
    """The one token of ``text``; raises InputError when it has several."""
    ids = tokenizer.encode(text, add_special_tokens=False)
    if len(ids) != 1:
        raise InputError(f"{text!r} is not one token of this vocabulary: choose another symbol.")
    return int(ids[0])
