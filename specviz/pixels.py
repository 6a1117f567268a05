"""Pixels out of a picture and back: one way to open it, one way to pack it."""

from __future__ import annotations

import io

from PIL import Image

from specviz.models.base import Picture


def opened(picture: Picture) -> Image.Image:
    """The pixels of ``picture``, in RGB."""
    return Image.open(io.BytesIO(picture.png)).convert("RGB")


def png_of(rgb: Image.Image) -> bytes:
    """The pixels of an RGB picture as a PNG: the same pixels, the same bytes, nothing else."""
    bare = Image.frombytes("RGB", rgb.size, rgb.tobytes())  # no text, no profile, no date
    packed = io.BytesIO()
    bare.save(packed, "PNG", compress_level=6)
    return packed.getvalue()


def shrunk(png: bytes, longest: int) -> tuple[bytes, int, int]:
    """A PNG with no side longer than ``longest`` pixels, its width and height."""
    image = Image.open(io.BytesIO(png))
    if max(image.size) <= longest:
        return png, *image.size
    small = image.convert("RGB")
    small.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return png_of(small), *small.size


def picture_of(rgb: Image.Image, name: str) -> Picture:
    """An RGB image as models get it."""
    return Picture(name, png_of(rgb), rgb.width, rgb.height)
