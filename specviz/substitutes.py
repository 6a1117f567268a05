"""What a probe puts in the place of a picture: another one, a blank one, or its own tiles mixed.

All have the size of the picture that they replace, so that they take as many tokens.
"""

from __future__ import annotations

from random import Random

from PIL import Image, ImageOps

from specviz.models.base import InputError, Picture
from specviz.pixels import opened, picture_of
from specviz.probes import Kind

# Not the picture's own mean colour: that would still answer what colour it was. White is what the
# intake puts behind transparency, and what people call an empty page.
BLANK = (255, 255, 255)
TILES = 8  # along each side: letters and bars are torn apart, their colours and strokes stay
SEED = 8


def replacement(kind: Kind, picture: Picture, other: Picture | None = None) -> Picture:
    """What stands in the place of ``picture``; raises InputError where that is no other picture."""
    if kind == "other" and other is None:
        raise InputError("Another picture has to be given for that: choose one, or blank.")
    if kind == "other":
        assert other is not None
        found = fitted(other, picture.width, picture.height)
    else:
        found = blank(picture) if kind == "blank" else shuffled(picture)
    if _pixels(found) == _pixels(picture):
        raise InputError(
            f"Nothing would change, because {picture.name[:80]!r} looks the same "
            f"{WAYS[kind]}: choose another picture."
        )
    return found


WAYS: dict[Kind, str] = {
    "other": "as the picture given in its place",
    "blank": "when it is blank",
    "shuffled": "when its tiles are shuffled",
}


def blank(picture: Picture) -> Picture:
    """A white picture of the same size."""
    return picture_of(Image.new("RGB", (picture.width, picture.height), BLANK), picture.name)


def shuffled(picture: Picture) -> Picture:
    """Its tiles, up to 8 x 8 of equal size, each in another's place; the same for the same
    picture. Up to seven rows and columns of pixels at the right and at the bottom stay."""
    source = opened(picture)
    across, down = min(TILES, picture.width), min(TILES, picture.height)
    width, height = picture.width // across, picture.height // down
    boxes = [
        (x * width, y * height, (x + 1) * width, (y + 1) * height)
        for y in range(down)
        for x in range(across)
    ]
    made = source.copy()
    for box, origin in zip(boxes, cycle(len(boxes)), strict=True):
        made.paste(source.crop(boxes[origin]), box)
    return picture_of(made, picture.name)


def cycle(size: int) -> list[int]:
    """A fixed permutation of ``size`` places that leaves none where it was (Sattolo 1986)."""
    draw, found = Random(SEED), list(range(size))
    for i in range(size - 1, 0, -1):
        j = int(draw.random() * i)
        found[i], found[j] = found[j], found[i]
    return found


def fitted(picture: Picture, width: int, height: int) -> Picture:
    """``picture`` scaled into ``width`` x ``height`` pixels, undistorted, white around it."""
    if (picture.width, picture.height) == (width, height):
        return picture
    source = opened(picture)
    return picture_of(ImageOps.pad(source, (width, height), color=BLANK), picture.name)


def _pixels(picture: Picture) -> bytes:
    return opened(picture).tobytes()
