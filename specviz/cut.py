"""Documents that are longer than the room for them: what of them is kept, exact in tokens.

The cut is made in the text, at an end of one of its own tokens, and the shorter text is encoded
like any other. So no cut can make a control token of what a document says, and a run can be
repeated from the prompt that its trace holds.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from specviz.models.base import InputError, Inputs, Message, Model

CUTS = ("middle", "head", "tail", "refuse")
GAP = "\n\n[...]\n\n"
LIKELY = 8  # characters of a token that are worth trying the whole document first

# The messages of a prompt around a document.
Around = Callable[[str], tuple[Message, ...]]


@dataclass(frozen=True)
class Room:
    """``tokens`` that a prompt may have where it and ``new`` tokens share ``limit`` ones.
    ``chosen``: a person set the limit, not the model."""

    limit: int
    new: int
    chosen: bool = False

    @property
    def tokens(self) -> int:
        """What is left for the prompt."""
        return self.limit - self.new


def check_cut(cut: str, context: int | None) -> None:
    """Raise InputError for a policy that there is not, or a context of no tokens."""
    if cut not in CUTS:
        raise InputError(f"cut cannot be {cut!r}: give one of {', '.join(CUTS)}.")
    if context is not None and context < 1:
        raise InputError(f"context cannot be {context}: give at least 1 token.")


def room_for(model: Model, context: int | None, new: int) -> Room:
    """The room that ``model`` has, or the part of it that ``context`` allows; InputError for more
    than it has."""
    if context is not None and context > model.max_context:
        raise InputError(
            f"context cannot be {context}: {model.label} holds {model.max_context} tokens."
        )
    return Room(context or model.max_context, new, context is not None)


def fitted(
    model: Model, around: Around, document: str, room: Room, cut: str
) -> tuple[tuple[Message, ...], Inputs]:
    """Messages and their tokens with as much of ``document`` as there is room for.

    ``around`` puts a document first in the last of its messages, nothing of which is cut. Notes of
    the inputs say what was kept, their ``document`` where it stands. Raises InputError when it does
    not fit and ``cut`` is "refuse", or when there is no room for any of it.
    """
    document = document.strip()
    if len(document) <= LIKELY * room.tokens:
        messages = around(document)
        inputs = model.encode(messages)
        if len(inputs.tokens) <= room.tokens:
            return messages, _placed(model, inputs, messages, document)
    ends = model.ends(document)
    own = len(model.encode(around("")).tokens)
    keep = min(room.tokens - own, len(ends))
    while keep > 0:
        if keep < len(ends) and cut == "refuse":
            break
        part = kept(document, ends, keep, cut)
        messages = around(part)
        inputs = model.encode(messages)
        over = len(inputs.tokens) - room.tokens
        if over <= 0:
            inputs = _placed(model, inputs, messages, part.strip())
            if keep == len(ends):
                return messages, inputs
            note = said(keep, len(ends), cut, room)
            return messages, replace(inputs, notes=(*inputs.notes, note))
        keep -= over
    raise _no_room(len(ends), own, room, cut)


def kept(document: str, ends: Sequence[int], keep: int, cut: str) -> str:
    """``keep`` of the tokens that end at ``ends``: the first, the last, or both with a mark."""
    if keep >= len(ends):
        return document
    first, last = _shares(keep, cut)
    begin = document[: ends[first - 1]] if first else ""
    end = document[ends[len(ends) - last - 1] :] if last else ""
    return f"{begin.rstrip()}{GAP}{end.lstrip()}" if cut == "middle" else begin + end


def said(keep: int, total: int, cut: str, room: Room) -> str:
    """What was kept of ``total`` tokens, and why, in a sentence."""
    first, last = _shares(keep, cut)
    parts = [f"{end} {n}" for end, n in (("first", first), ("last", last)) if n]
    mark = " ([...] stands for the rest)" if cut == "middle" else ""
    return (
        f"Kept the {' and the '.join(parts)} of the {total} tokens of the document{mark}: prompt "
        f"and answer have room for {room.limit} together."
    )


def _shares(keep: int, cut: str) -> tuple[int, int]:
    """How many tokens are kept at the beginning and at the end."""
    if cut == "middle":
        return keep - keep // 2, keep // 2
    return (keep, 0) if cut == "head" else (0, keep)


def _placed(model: Model, inputs: Inputs, messages: Sequence[Message], document: str) -> Inputs:
    """``inputs`` with the tokens that hold any of ``document``, which the last message begins with.

    Without them where a template or a tokenizer writes that message in other bytes.
    """
    parts = [model.token_bytes(t) for t in inputs.tokens]
    # The last place: a system prompt may say the same.
    start = b"".join(parts).rfind(messages[-1].text.strip().encode())
    if start < 0 or not document:
        return inputs
    ends = list(accumulate(map(len, parts)))
    last = bisect_left(ends, start + len(document.encode()))
    return replace(inputs, document=(bisect_right(ends, start), last + 1))


def _no_room(total: int, own: int, room: Room, cut: str) -> InputError:
    if cut == "refuse" and own < room.tokens:
        return InputError(
            f"The document has {total} tokens, and beside the question and {room.new} new tokens "
            f"there is room for {room.tokens - own}: let it be cut (middle, head or tail), give "
            "the part that matters, or ask for fewer new tokens."
        )
    if room.chosen:
        return InputError(
            f"The question takes {own} tokens and the answer up to {room.new}, with room for "
            f"{room.limit} in all: allow more than {own + room.new}."
        )
    return InputError(
        f"The question takes {own} tokens and the answer up to {room.new} of {room.limit}, which "
        "leaves no room for the document: ask for fewer new tokens or a shorter question."
    )
