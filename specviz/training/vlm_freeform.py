"""Signs in free lettering: words anywhere, of any size, that do not stand in the cells of the grid.

Nothing here is trained on them. They are asked about to say honestly what ``smol-boards`` makes of
letters that are not set for it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from specviz.training.vlm_draw import DOTS, SIDE, faces
from specviz.training.vlm_symbols import WORDS, spelled

QUESTION = "What is written here?"
SMALLEST, LARGEST = 18, 64  # pixels of type; the cells take 16
EDGE = 6  # pixels that stay free at the sides
TURN = 6.0  # degrees


@dataclass(frozen=True)
class Sign:
    """Words that the model knows, and a picture of them [256 x 256, RGB]."""

    words: tuple[str, ...]
    picture: Image.Image


def sign(rng: random.Random) -> Sign:
    """One to three words below one another, each in a size and at a place of its own, the whole a
    little askew; the same state of ``rng`` gives the same sign."""
    words = rng.sample(WORDS, rng.randint(1, 3))
    dark = rng.random() < 0.5
    ground, ink = ((22, 26, 40), (245, 235, 210)) if dark else ((244, 240, 230), (30, 34, 60))
    picture = Image.new("RGB", (SIDE, SIDE), ground)
    face = rng.choice([face for face in faces() if face != DOTS])
    high = SIDE // len(words)
    for i, word in enumerate(words):
        shown = spelled(word) if rng.random() < 0.5 else word.strip()
        size = rng.uniform(SMALLEST, LARGEST)
        box = _box(face, size, shown)
        while size > SMALLEST and (_wide(box) > SIDE - 2 * EDGE or _high(box) > high - 2 * EDGE):
            size -= 1
            box = _box(face, size, shown)
        x = rng.uniform(EDGE, max(EDGE, SIDE - EDGE - _wide(box))) - box[0]
        y = i * high + rng.uniform(EDGE, max(EDGE, high - EDGE - _high(box))) - box[1]
        ImageDraw.Draw(picture).text((x, y), shown, ink, font=_font(face, size))
    turned = picture.rotate(rng.uniform(-TURN, TURN), Image.Resampling.BICUBIC, fillcolor=ground)
    return Sign(tuple(word.strip() for word in words), turned)


def _font(face: str, size: float) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.truetype(face, size) if face else ImageFont.load_default(size)


def _box(face: str, size: float, shown: str) -> tuple[float, float, float, float]:
    return _font(face, size).getbbox(shown)


def _wide(box: tuple[float, float, float, float]) -> float:
    return box[2] - box[0]


def _high(box: tuple[float, float, float, float]) -> float:
    return box[3] - box[1]
