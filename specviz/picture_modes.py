"""Whatever a picture's pixels are made of, made RGB over white with eight bits a channel."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

Values = np.ndarray[Any, np.dtype[Any]]
FULL_8, FULL_16 = 255, 65535
WIDE = ("I;16", "I;16L", "I;16B", "I;16N")
# Fractions go to 1. Where they go a little beyond, it is bright light and not 256 greys that are
# nearly all black, so up to this they are stretched.
AMBIGUOUS = 16.0
ROWS = 256  # that are computed at once: eight bytes a pixel are many
BITS, PHOTOMETRIC, SAMPLES = 258, 262, 339  # tags of a TIFF
UNSIGNED = 1


def to_rgb(image: Image.Image) -> tuple[Image.Image, list[str]]:
    """``image`` in RGB, transparent parts over white, and in words what that took.

    Raises ValueError for colours that Pillow does not turn into RGB.
    """
    if image.mode in (*WIDE, "I", "F"):
        return _from_values(image)
    if image.has_transparency_data:
        return _over_white(image)
    if image.mode in ("1", "L", "P", "RGB"):
        return image.convert("RGB"), []
    return image.convert("RGB"), [f"Its {image.mode} colours were turned into RGB."]


def _over_white(image: Image.Image) -> tuple[Image.Image, list[str]]:
    colours = image.convert("RGBA")
    least, most = colours.getchannel("A").getextrema()
    if least == FULL_8:
        return colours.convert("RGB"), []
    whole = Image.new("RGBA", image.size, "white")
    whole.alpha_composite(colours)
    if most == 0:
        return whole.convert("RGB"), ["It is wholly transparent, so all of it is white."]
    return whole.convert("RGB"), ["Its transparent parts were put over white."]


def _from_values(image: Image.Image) -> tuple[Image.Image, list[str]]:
    """One number a pixel, of 16 or 32 bits or a fraction, to 256 greys."""
    values: Values = np.asarray(image)
    tags: Any = getattr(image, "tag_v2", {})
    if image.mode == "I" and tags and tags.get(SAMPLES, (UNSIGNED,))[0] == UNSIGNED:
        values = values.view(np.uint32)
    notes: list[str] = []
    known: Values = np.isfinite(values)
    lost = int(known.size - known.sum())
    if lost:
        notes.append(f"{lost} of its pixels hold no number and were made black.")
    numbers = values[known] if lost else values
    low, high = (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)
    full, what = _range(image, tags, low, high)
    if full is not None:
        grey = _grey(values, 0.0, FULL_8 / full)
        if full != FULL_8:
            notes.append(f"Its {what} (0 to {full}) were scaled to 0 to {FULL_8}.")
        elif image.mode == "F":
            notes.append(f"Its {what} were rounded to 0 to {FULL_8}.")
    else:
        grey = _grey(values, low, FULL_8 / (high - low or 1.0))
        notes.append(f"Its {what} ({low:g} to {high:g}) were stretched to 0 to {FULL_8}.")
    if tags.get(PHOTOMETRIC) == 0:  # where 0 is white
        grey = FULL_8 - grey
    key = image.info.get("transparency")
    if isinstance(key, int) and (values == key).any():  # the one value that a PNG calls transparent
        grey[values == key] = FULL_8
        notes.append("Its transparent parts were put over white.")
    return Image.fromarray(grey).convert("RGB"), notes


def _range(image: Image.Image, tags: Any, low: float, high: float) -> tuple[int | None, str]:
    """The number that is white, and what the numbers are; None: whatever is the largest.

    What a file's format says; else the least usual range that holds all numbers.
    """
    if image.mode in WIDE:
        bits = int(tags.get(BITS, (16,))[0])
        return (1 << bits) - 1, f"{bits}-bit values"
    if image.format == "PPM":
        return FULL_16, "16-bit values"
    if image.mode == "I":
        usual, what = [FULL_8, FULL_16], "32-bit values"
    else:
        usual, what = [1] if high <= AMBIGUOUS else [FULL_8, FULL_16], "fractional values"
    return next((full for full in usual if low >= 0 and high <= full), None), what


def _grey(values: Values, low: float, scale: float) -> Values:
    """round((values - low) * scale) as bytes; what is no number becomes 0."""
    grey = np.empty(values.shape, np.uint8)
    for at in range(0, len(values), ROWS):
        block = values[at : at + ROWS].astype(np.float64)
        np.nan_to_num(block, copy=False, nan=low, posinf=low, neginf=low)
        grey[at : at + ROWS] = np.clip(np.rint((block - low) * scale), 0, FULL_8)
    return grey
