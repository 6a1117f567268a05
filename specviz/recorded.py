"""What a recorded run was asked, rebuilt from its trace: messages, pictures, and where it ran."""

from __future__ import annotations

import base64
import binascii
import hashlib
import io

from PIL import Image

from specviz.models import registry
from specviz.models.base import InputError, Message, Picture
from specviz.trace import Header, Shown, TraceError, UsedPicture

MOST_PIXELS = 2**24  # a trace may come from anywhere: what is larger is not decoded


def shown(png: bytes, width: int, height: int) -> Shown:
    """The bytes of a PNG as a trace holds them."""
    return Shown(width=width, height=height, data=base64.b64encode(png).decode("ascii"))


def picture(used: UsedPicture) -> Picture:
    """A recorded picture as the model got it; raises TraceError where the recording lacks it, or
    holds something else under its digest."""
    given, name = used.given, used.name[:80]
    if given is None:
        raise TraceError(
            f"The recording holds the picture {name!r} only as the model saw it, because it was "
            "too large: record the run again with a smaller one."
        )
    broken = TraceError(
        f"The picture {name!r} of this recording is damaged or not the one that the run was "
        "asked about: choose a recording that specviz wrote."
    )
    try:
        png = base64.b64decode(given.data, validate=True)
    except binascii.Error as error:
        raise broken from error
    # Before it is decoded: what its header says has to be what the trace says, and not too much.
    if hashlib.sha256(png).hexdigest()[:16] != used.digest:
        raise broken
    if given.width * given.height > MOST_PIXELS:
        raise broken
    try:
        with Image.open(io.BytesIO(png), formats=("PNG",)) as opened:
            if opened.size != (given.width, given.height) or opened.mode != "RGB":
                raise broken
            opened.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise broken from error
    return Picture(used.name, png, given.width, given.height, used.notes)


def messages(header: Header) -> tuple[Message, ...]:
    """The turns of the prompt with their pictures; raises TraceError as ``picture`` does."""
    pictures = [picture(used) for used in header.pictures]
    found, at = [], 0
    for turn in header.messages:
        mine = tuple(pictures[at : at + turn.pictures])
        found.append(Message(turn.role, turn.text, mine))
        at += turn.pictures
    return tuple(found)


def moved(header: Header) -> bool:
    """Whether the recorded device or dtype cannot be had here, so that a run takes what can."""
    entry = registry.find(header.model)
    if entry.kind == "toy":
        return header.device not in entry.dtypes
    try:
        if header.device != "cpu":  # which needs no torch to be found out
            registry.resolve_device(header.device)
        registry.resolve_dtype(header.dtype, header.device, entry)
    except InputError:
        return True
    return False
