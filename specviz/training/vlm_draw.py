"""Pictures of scenes, 256 x 256 pixels, drawn with Pillow in many styles.

Glyphs stand in cells of 16 pixels, as the tower of ``smol-boards`` reads them. Typefaces are
Pillow's own and whatever common ones this machine has.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from specviz.training.vlm_dots import COLUMNS, ROWS, lamps
from specviz.training.vlm_scenes import GRID, Figure, Scene

CELL = 16
SIDE = GRID * CELL
Colour = tuple[int, int, int]

PALETTE: dict[str, Colour] = {
    "red": (214, 40, 40), "orange": (245, 130, 32), "yellow": (250, 215, 40),
    "green": (46, 150, 70), "blue": (40, 90, 210), "purple": (130, 60, 170),
    "pink": (245, 140, 180), "brown": (125, 80, 45), "black": (18, 18, 18),
    "white": (250, 250, 250), "grey": (130, 130, 130),
}  # fmt: skip
FACES = (
    "DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf",
    "DejaVuSansCondensed-Bold.ttf", "DejaVuSerif.ttf", "LiberationSans-Regular.ttf",
    "LiberationSans-Bold.ttf", "LiberationMono-Regular.ttf", "LiberationMono-Bold.ttf",
    "LiberationSansNarrow-Bold.ttf", "LiberationSerif-Bold.ttf",
)  # fmt: skip
DOTS = "dots"  # letters of lamps


@dataclass(frozen=True)
class Style:
    """How a board looks. ``flap``: the colour of the flaps behind glyphs, None without; ``face``:
    a file, ``DOTS``, or empty for Pillow's own."""

    ground: Colour
    ink: Colour
    flap: Colour | None
    face: str
    size: int


def draw(scene: Scene, rng: random.Random) -> Image.Image:
    """The picture of a scene [256 x 256, RGB] in a random style, with wear.

    Some are drawn larger and made smaller, as pictures from elsewhere are.
    """
    scale = rng.choice((1, 1, 1, 1, 1, 2, 2, 3))
    picture = paint(scene, rng, _style(scene, rng, faces()), scale, worn=True)
    if scale > 1:
        how = rng.choice((Image.Resampling.BICUBIC, Image.Resampling.BILINEAR))
        picture = picture.resize((SIDE, SIDE), how)
    return _worn(picture, rng)


def draw_plain(scene: Scene, rng: random.Random, scale: int = 1) -> Image.Image:
    """The picture [256 x 256 times ``scale``] without wear, in a typeface that every machine
    has."""
    return paint(scene, rng, _style(scene, rng, ("", DOTS)), scale, worn=False)


def paint(
    scene: Scene, rng: random.Random, style: Style, scale: int, worn: bool = False
) -> Image.Image:
    """The picture of a scene in a style, its cells of 16 pixels times ``scale``. ``worn``: some
    glyphs stand askew and colours vary a little."""
    cell = CELL * scale
    picture = Image.new("RGB", (SIDE * scale, SIDE * scale), style.ground)
    pen = ImageDraw.Draw(picture)
    _bars(pen, scene, style, rng, cell)
    for figure in scene.figures:
        _figure(picture, figure, rng, cell, 18 if worn else 0)
    _lines(picture, pen, scene, style, rng, cell, rng.choice((0.0, 0.0, 0.1)) if worn else 0.0)
    return picture


def faces() -> tuple[str, ...]:
    """The typefaces that are here: Pillow's own first, then files."""
    return ("", DOTS, *(face for face in FACES if _has(face)))


@lru_cache(maxsize=64)
def _has(face: str) -> bool:
    try:
        ImageFont.truetype(face, 12)
    except OSError:
        return False
    return True


@lru_cache(maxsize=16384)
def _glyph(face: str, size: float, glyph: str, cell: int) -> Image.Image:
    """The coverage of a glyph in its cell [cell x cell, L]; ``size`` in pixels of the cell."""
    if face == DOTS:
        return _dotted(glyph, cell)
    points = size * cell / CELL
    font = ImageFont.truetype(face, points) if face else ImageFont.load_default(points)
    box = Image.new("L", (cell, cell), 0)
    # On one base line, as type stands; the middle of a capital is the middle of the cell.
    capital = font.getbbox("H", anchor="ls")
    at = (cell / 2, cell / 2 - capital[1] / 2)
    ImageDraw.Draw(box).text(at, glyph, 255, font=font, anchor="ms")
    return box


@lru_cache(maxsize=1024)
def _dotted(glyph: str, cell: int) -> Image.Image:
    """A glyph of lamps, every dot an eighth of the cell wide."""
    lit = np.zeros((8, 8), dtype=np.uint8)
    lit[:ROWS, 1 : 1 + COLUMNS] = lamps(glyph)
    dot = cell // 8
    box = np.kron(lit, np.full((dot, dot), 200, dtype=np.uint8))
    box[::dot, ::dot] = lit * 255
    return Image.fromarray(box)


def _style(scene: Scene, rng: random.Random, known: tuple[str, ...]) -> Style:
    dark = rng.random() < 0.55 if scene.lines and not scene.bars else rng.random() < 0.15
    if dark:
        ground = _grey(rng, 0, 60)
        ink = rng.choice(((255, 255, 255), (255, 205, 60), (255, 150, 30), (240, 240, 220),
                          (120, 255, 140), (255, 90, 70), (140, 210, 255)))  # fmt: skip
    else:
        ground = _grey(rng, 195, 255)
        ink = rng.choice(((15, 15, 15), (30, 30, 90), (110, 15, 15), (20, 70, 30), (60, 30, 80)))
    if scene.figures:
        # A figure has to stand out from what is behind it.
        used = [PALETTE[f.colour] for f in scene.figures]
        for _ in range(40):
            if min(math.dist(ground, c) for c in used) > 90:
                break
            ground = rng.choice((_grey(rng, 0, 60), _grey(rng, 190, 255), _grey(rng, 60, 190)))
    flap: Colour | None = None
    face = rng.choice(known)
    if dark and scene.lines and not scene.bars and face != DOTS and rng.random() < 0.6:
        red, green, blue = (min(255, c + rng.randint(12, 40)) for c in ground)
        flap = (red, green, blue)
    return Style(ground, ink, flap, face, rng.randint(11, 16))


def _grey(rng: random.Random, low: int, high: int) -> Colour:
    """A colour that is nearly grey."""
    level = rng.randint(low, high)
    red, green, blue = (min(255, max(0, level + rng.randint(-14, 14))) for _ in range(3))
    return red, green, blue


def _lines(
    picture: Image.Image,
    pen: ImageDraw.ImageDraw,
    scene: Scene,
    style: Style,
    rng: random.Random,
    cell: int,
    askew: float,
) -> None:
    line = cell // CELL
    if style.flap is not None:
        whole = rng.random() < 0.5
        for row in range(GRID) if whole else {each.row for each in scene.lines}:
            for column in range(GRID):
                x, y = column * cell, row * cell
                box = (x + line, y + line, x + cell - 1 - line, y + cell - 1 - line)
                pen.rectangle(box, fill=style.flap)
    for each in scene.lines:
        for i, glyph in enumerate(each.glyphs):
            if glyph == " ":
                continue
            dx, dy = 0, 0
            if askew and rng.random() < askew:
                dx, dy = rng.randint(-line, line), rng.randint(-line, line)
            mask = _glyph(style.face, style.size, glyph, cell)
            picture.paste(style.ink, ((each.column + i) * cell + dx, each.row * cell + dy), mask)
    if style.flap is not None:
        for row in {each.row for each in scene.lines}:
            y = row * cell + cell // 2
            pen.line((0, y, GRID * cell, y), fill=style.ground, width=line)


def _bars(
    pen: ImageDraw.ImageDraw, scene: Scene, style: Style, rng: random.Random, cell: int
) -> None:
    if not scene.bars:
        return
    line, side = cell // CELL, GRID * cell
    colours = [c for c in PALETTE.values() if math.dist(c, style.ground) > 110]
    one, many = rng.choice(colours), rng.random() < 0.35
    base = round(scene.bars[0].base * cell)
    if rng.random() < 0.4:
        red, green, blue = (
            (3 * g + i) // 4 for g, i in zip(style.ground, style.ink, strict=True)
        )
        for y in range(base, cell, -cell * rng.choice((1, 2, 3))):
            pen.line((0, y, side, y), fill=(red, green, blue), width=line)
    for bar in scene.bars:
        fill = rng.choice(colours) if many else one
        left, right = round(bar.left * cell), round((bar.left + bar.width) * cell)
        pen.rectangle((left, round(base - bar.height * cell), right, base), fill=fill)
    pen.line((0, base, side, base), fill=style.ink, width=line)


def _figure(
    picture: Image.Image, figure: Figure, rng: random.Random, cell: int, shift: int
) -> None:
    red, green, blue = (
        min(255, max(0, c + rng.randint(-shift, shift))) for c in PALETTE[figure.colour]
    )
    scale = 3  # drawn larger, then made smaller, so that edges are smooth
    radius = figure.radius * cell
    side = math.ceil(2 * radius) + 2
    mask = Image.new("L", (side * scale, side * scale), 0)
    _outline(ImageDraw.Draw(mask), figure.kind, side * scale / 2, radius * scale)
    mask = mask.resize((side, side), Image.Resampling.BOX)
    at = (round(figure.x * cell - side / 2), round(figure.y * cell - side / 2))
    picture.paste((red, green, blue), at, mask)


def _outline(pen: ImageDraw.ImageDraw, kind: str, middle: float, r: float) -> None:
    """Fill a figure of radius ``r`` around (middle, middle)."""
    m = middle
    match kind:
        case "circle":
            pen.ellipse((m - r, m - r, m + r, m + r), fill=255)
        case "ring":
            pen.ellipse((m - r, m - r, m + r, m + r), fill=255)
            pen.ellipse((m - r * 0.55, m - r * 0.55, m + r * 0.55, m + r * 0.55), fill=0)
        case "square":
            pen.rectangle((m - r * 0.85, m - r * 0.85, m + r * 0.85, m + r * 0.85), fill=255)
        case "rectangle":
            pen.rectangle((m - r, m - r * 0.5, m + r, m + r * 0.5), fill=255)
        case "triangle":
            pen.polygon([(m, m - r), (m - r, m + r * 0.8), (m + r, m + r * 0.8)], fill=255)
        case "diamond":
            pen.polygon([(m, m - r), (m + r * 0.75, m), (m, m + r), (m - r * 0.75, m)], fill=255)
        case "cross":
            pen.rectangle((m - r * 0.3, m - r, m + r * 0.3, m + r), fill=255)
            pen.rectangle((m - r, m - r * 0.3, m + r, m + r * 0.3), fill=255)
        case "star":
            points = []
            for i in range(10):
                far = r if i % 2 == 0 else r * 0.42
                angle = math.pi * (i / 5 - 0.5)
                points.append((m + far * math.cos(angle), m + far * math.sin(angle)))
            pen.polygon(points, fill=255)
        case "heart":
            half = r * 0.52
            for side in (-1, 1):
                x = m + side * half * 0.92
                pen.ellipse((x - half, m - r * 0.8, x + half, m - r * 0.8 + 2 * half), fill=255)
            pen.polygon([(m - r * 0.96, m - r * 0.1), (m + r * 0.96, m - r * 0.1), (m, m + r)],
                        fill=255)  # fmt: skip
        case _:
            raise ValueError(kind)


def _worn(picture: Image.Image, rng: random.Random) -> Image.Image:
    """What cameras and screens do: a shift, blur, other contrast, noise."""
    if rng.random() < 0.3:
        dx, dy = rng.randint(-1, 1), rng.randint(-1, 1)
        picture = picture.transform(
            picture.size, Image.Transform.AFFINE, (1, 0, dx, 0, 1, dy),
            fillcolor=picture.getpixel((0, SIDE - 1)),
        )  # fmt: skip
    if rng.random() < 0.35:
        picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.2, 0.7)))
    if rng.random() < 0.5:
        return picture
    pixels = np.asarray(picture, dtype=np.float32)
    pixels = (pixels - 128) * rng.uniform(0.75, 1.1) + 128 + rng.uniform(-15, 15)
    noise = np.random.default_rng(rng.getrandbits(32))
    pixels += noise.normal(0, rng.uniform(0, 9), pixels.shape).astype(np.float32)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def save(picture: Image.Image, path: Path) -> None:
    """Write a PNG without anything but its pixels."""
    picture.save(path, "PNG", optimize=True)
