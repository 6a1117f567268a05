"""What the next prompt takes along beside its words: pictures, and the turns before it."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass, field

from PIL import Image

from specviz.models.base import Message, Picture

THUMB = 256  # pixels of the longer side: as wide as the column


@dataclass(frozen=True)
class Given:
    """A picture that was understood, and a small one of it as a data URL."""

    picture: Picture
    url: str = field(repr=False)


@dataclass(frozen=True)
class Talk:
    """The turns before the next prompt, the last one an answer; ``system``: what was told first.
    ``thumbs``: of their pictures."""

    history: tuple[Message, ...]
    system: str | None = None
    thumbs: tuple[Given, ...] = ()

    @property
    def turns(self) -> int:
        """Questions so far."""
        return sum(message.role == "user" for message in self.history)


def given(picture: Picture) -> Given:
    """``picture`` with its thumbnail."""
    image = Image.open(io.BytesIO(picture.png))
    image.thumbnail((THUMB, THUMB))
    out = io.BytesIO()
    image.save(out, "PNG")
    data = base64.b64encode(out.getvalue()).decode("ascii")
    return Given(picture, f"data:image/png;base64,{data}")
