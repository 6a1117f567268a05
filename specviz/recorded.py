"""What a run was asked, as its trace holds it, and rebuilt from there: messages and pictures."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator, Sequence

from specviz.metrics import written
from specviz.models import registry
from specviz.models.base import MOST_PICTURES, InputError, Message, Picture, Seen
from specviz.pictures import check_png
from specviz.pixels import shrunk
from specviz.trace import Header, Role, Shown, Trace, TraceError, UsedPicture

# Of the pictures of a talk as they were given, in all: four photos of a phone. Bases of 64 make
# a third more of them, which a trace file has room for beside what the model saw.
GIVEN_BYTES = 24 * 2**20
SEEN_LONGEST = 1024  # pixels of the longer side: what a model saw is only looked at again


def shown(png: bytes, width: int, height: int) -> Shown:
    """The bytes of a PNG as a trace holds them."""
    return Shown(width=width, height=height, data=base64.b64encode(png).decode("ascii"))


def used_pictures(pictures: Sequence[Seen], role: Role) -> Iterator[UsedPicture]:
    """``pictures`` as a header holds them: as they were given while they fit into ``GIVEN_BYTES``,
    what the model saw no larger than ``SEEN_LONGEST``; both once in a trace, in the decoder's."""
    left = GIVEN_BYTES if role == "decoder" else 0
    for each in pictures:
        picture = each.picture
        fits = len(picture.png) <= left
        left -= len(picture.png) if fits else 0
        seen, said = recorded_sight(each)
        saw = (each.width, each.height)
        yield UsedPicture(
            name=picture.name,
            digest=picture.digest,
            given=shown(picture.png, picture.width, picture.height) if fits else None,
            seen=seen if role == "decoder" else None,
            span=each.span,
            notes=picture.notes,
            seen_notes=(*each.notes, *said),
            saw=saw if saw != (seen.width, seen.height) and role == "decoder" else None,
        )


def recorded_sight(seen: Seen) -> tuple[Shown, tuple[str, ...]]:
    """What a model saw of a picture as a trace holds it, and in words whether it is smaller."""
    png, width, height = shrunk(seen.png, SEEN_LONGEST)
    small = (width, height) != (seen.width, seen.height)
    said = (f"Recorded at {width} x {height} pixels of that.",) if small else ()
    return shown(png, width, height), said


def whole(header: Header) -> bool:
    """Whether the pictures of the prompt are recorded, so that it can be asked again."""
    return all(each.given is not None for each in header.pictures)


def picture(used: UsedPicture) -> Picture:
    """A recorded picture as the model's image processor got it; raises TraceError where the
    recording lacks it, or holds something else under its digest."""
    given, name = used.given, used.name[:80]
    if given is None:
        raise TraceError(
            f"The recording holds the picture {name!r} only as the model saw it "
            f"({' x '.join(map(str, used.size))} pixels), because the pictures of a talk are "
            f"kept up to {GIVEN_BYTES >> 20} MB in all: record the run again with smaller ones."
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
    """The turns of the prompt with their pictures; raises TraceError as ``picture`` does, and
    for more of them than a talk may have, before any is decoded."""
    count = len(header.pictures)
    if count > MOST_PICTURES:
        raise TraceError(
            f"This recording has {count} pictures, and {MOST_PICTURES} are the limit of a talk: "
            "choose a recording that specviz wrote."
        )
    pictures = [picture(used) for used in header.pictures]
    found, at = [], 0
    for turn in header.messages:
        mine = tuple(pictures[at : at + turn.pictures])
        found.append(Message(turn.role, turn.text, mine))
        at += turn.pictures
    return tuple(found)


def talk(
    trace: Trace, asked: tuple[Message, ...] | None = None
) -> tuple[str | None, tuple[Message, ...]]:
    """The system prompt and the turns of a recorded run, its answer last: what the next question
    of the same talk follows. ``asked``: the messages of the run where they are still known, which
    need not be read back. Raises TraceError where there is no answer or a picture is lacking."""
    run = trace.run("decoder")
    if run is None or not run.tokens:
        raise TraceError("This trace holds no answer yet: choose one that goes on longer.")
    turns = messages(run.header) if asked is None else asked
    system = [turn.text for turn in turns if turn.role == "system"]
    said = Message("assistant", written(trace, run))
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
