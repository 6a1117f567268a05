"""What a run was asked and what it ran on: the plain records that a trace's header is made of."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field, model_validator

from specviz.evidence import Index, Record

SIGHT = "Shown to the model at {width} x {height} pixels."  # the plainest of ``seen_notes``
Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*={0,2}$")]


class Turn(Record):
    """One message of the prompt, as a person wrote it, and how many ``pictures`` came with it."""

    role: Literal["system", "user", "assistant"]
    text: str
    pictures: Index = 0


class Shown(Record):
    """A picture of ``width`` x ``height`` pixels as a file: ``data`` is base64 of a PNG."""

    width: Annotated[int, Field(ge=1, le=100_000)]
    height: Annotated[int, Field(ge=1, le=100_000)]
    data: Base64


class UsedPicture(Record):
    """A picture of the prompt. ``given``: upright and in RGB, as the model's image processor got
    it, None where that is too large to be recorded; ``seen``: what the processor made of it, maybe
    recorded smaller; both None with a baseline, which got the decoder's; ``digest`` of ``given``;
    ``saw``: width and height of what the model saw where ``seen`` is recorded smaller; ``span``:
    the first of the prompt's tokens that stand for it, and the one behind the last; ``notes``: what
    was done to the file, in words, and ``seen_notes``: what the model's processor did to the
    picture."""

    name: str
    digest: str
    given: Shown | None
    seen: Shown | None
    span: tuple[Index, Index]
    notes: tuple[str, ...] = ()
    seen_notes: tuple[str, ...] = ()
    saw: tuple[Index, Index] | None = None

    @property
    def size(self) -> tuple[int, int]:
        """Width and height that the model saw; (0, 0) with a baseline, where the decoder's header
        has them."""
        if self.saw is not None or self.seen is None:
            return self.saw or (0, 0)
        return self.seen.width, self.seen.height

    @property
    def remarks(self) -> tuple[str, ...]:
        """``said`` but for what tells no more than ``size``."""
        width, height = self.size
        return tuple(s for s in self.said if s != SIGHT.format(width=width, height=height))

    @property
    def said(self) -> tuple[str, ...]:
        """All that was done to it, in order."""
        return (*self.notes, *self.seen_notes)


class Costs(Record):
    """What one target pass costs on this machine: ``seconds[i]`` is the least of a few passes
    over ``rows[i]`` rows (at least two, ascending from 1) behind ``context`` cached tokens."""

    context: Index
    rows: Annotated[tuple[Annotated[int, Field(ge=1, le=4096)], ...], Field(min_length=2)]
    seconds: tuple[Annotated[float, Field(ge=1e-7, le=1e5)], ...]

    @model_validator(mode="after")
    def _is_a_curve(self) -> Costs:
        if self.rows[0] != 1 or any(a >= b for a, b in pairwise(self.rows)):
            raise ValueError("rows have to ascend from 1")
        if len(self.seconds) != len(self.rows):
            raise ValueError("every number of rows has its seconds")
        return self


class UsedHead(Record):
    """The head that drafted: ``trained`` for so many positions, guessing among ``vocabulary``
    tokens, ``size`` weights, made to look back at ``window`` entries (None: at all)."""

    label: str
    digest: str
    trained: Index
    vocabulary: Index
    size: Index
    window: Index | None = None
