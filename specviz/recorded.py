"""What a recorded run was asked, rebuilt from its trace: messages, pictures, and where it ran."""

from __future__ import annotations

import base64
import binascii
import hashlib

from specviz.models import registry
from specviz.models.base import InputError, Message, Picture
from specviz.pictures import check_png
from specviz.trace import Header, Shown, Trace, TraceError, UsedPicture


def shown(png: bytes, width: int, height: int) -> Shown:
    """The bytes of a PNG as a trace holds them."""
    return Shown(width=width, height=height, data=base64.b64encode(png).decode("ascii"))


def picture(used: UsedPicture) -> Picture:
    """A recorded picture as the model's image processor got it, all notes with it; raises
    TraceError where the recording lacks it, or holds something else under its digest."""
    given, name = used.given, used.name[:80]
    if given is None:
        raise TraceError(
            f"The recording holds the picture {name!r} only as the model saw it, because it was "
            "too large: record the run again with a smaller one."
        )
    # A trace may come from anywhere: nothing of it is decoded without the limits of any picture.
    try:
        png = base64.b64decode(given.data, validate=True)
        sound = hashlib.sha256(png).hexdigest()[:16] == used.digest
        sound = sound and check_png(png, name) == (given.width, given.height)
    except (binascii.Error, InputError):
        sound = False
    if not sound:
        raise TraceError(
            f"The picture {name!r} of this recording is damaged or not the one that the run was "
            "asked about: choose a recording that specviz wrote."
        )
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


def talk(trace: Trace) -> tuple[str | None, tuple[Message, ...]]:
    """The system prompt and the turns of a recorded run, its answer last: what the next question
    of the same talk follows. Raises TraceError where there is no answer or a picture is lacking."""
    run = trace.run("decoder")
    if run is None or not run.tokens:
        raise TraceError("This trace holds no answer yet: choose one that goes on longer.")
    special = {t for event in trace.events for t in event.specials}
    answer = b"".join(trace.pieces.get(t, b"") for t in run.tokens if t not in special)
    turns = messages(run.header)
    system = [turn.text for turn in turns if turn.role == "system"]
    said = Message("assistant", answer.decode("utf-8", "replace"))
    return (system[0] if system else None), (*turns[len(system) :], said)


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
