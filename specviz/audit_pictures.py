"""Can a run have had the pictures that its trace tells of?

Every picture is read to its end under the limits of those that are handed in: what passes here can
be shown, probed and asked about again.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterator
from itertools import pairwise

from specviz.models.base import MOST_PICTURES, InputError
from specviz.pictures import check_png
from specviz.trace import Header, Shown, UsedPicture

PNG = b"\x89PNG\r\n\x1a\n"
HEAD = 24  # bytes of a PNG that end with its width and height


def pictures(header: Header) -> Iterator[str]:
    """What about the pictures of ``header`` cannot be, one finding each; none is decoded where
    there are more than a talk may have."""
    count = len(header.pictures)
    if count > MOST_PICTURES:
        yield f"prompt has {count} pictures, {MOST_PICTURES} are the limit of a talk."
        return
    for number, used in enumerate(header.pictures, start=1):
        yield from (f"picture {number} {finding}" for finding in _picture(used))
    for number, (a, b) in enumerate(pairwise(header.pictures), start=1):
        if a.span[1] > b.span[0]:
            yield f"picture {number} ends at token {a.span[1]}, the next begins at {b.span[0]}."
    if header.document is not None:
        first, end = header.document
        for number, used in enumerate(header.pictures, start=1):
            if used.span[0] < end and first < used.span[1]:
                yield f"picture {number} stands inside the document."


def _picture(used: UsedPicture) -> Iterator[str]:
    for name, shown in (("given", used.given), ("seen", used.seen)):
        if shown is None:
            continue
        yield from (f"as {name} {finding}" for finding in png(shown))
        if name == "given" and hashlib.sha256(_bytes(shown)).hexdigest()[:16] != used.digest:
            yield "is not the one whose digest is recorded."


def png(shown: Shown) -> Iterator[str]:
    """What is wrong with a recorded PNG, at most one finding."""
    raw = _bytes(shown)
    size = _size(raw)
    if size is None:
        yield "is no PNG."
    elif size != (shown.width, shown.height):
        yield f"has {size[0]} x {size[1]} pixels, not {shown.width} x {shown.height}."
    else:
        try:
            check_png(raw, "it")
        except InputError:
            yield "is damaged, or larger than the pictures that specviz records."


def _bytes(shown: Shown) -> bytes:
    try:
        return base64.b64decode(shown.data, validate=True)
    except binascii.Error:
        return b""


def _size(raw: bytes) -> tuple[int, int] | None:
    """Width and height in the header of a PNG, None where it is none."""
    if len(raw) < HEAD or not raw.startswith(PNG) or raw[12:16] != b"IHDR":
        return None
    width, height = struct.unpack(">II", raw[16:HEAD])
    return width, height
