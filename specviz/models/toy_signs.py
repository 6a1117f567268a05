"""A toy model that sees: the colour of a sign decides some words of what it says about it.

Its tower cuts a picture into a grid of patches and names the main colour of each; one placeholder
token stands for one patch, and reading the prompt puts the patch's colour into the placeholder's
column, as an image-text model merges features into its embeddings. Needs Pillow, no weights.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from specviz.models.base import Capture, Inputs, Message, Picture, Seen
from specviz.models.toy import LogitFunction, ToyModel, ToySession
from specviz.pixels import picture_of, png_of
from specviz.request import SIGHT

SIDE, GRID = 64, 4  # pixels along the picture that the model reads, and patches along it
PATCHES = GRID * GRID

# A colour, what it looks like, and what a sign of that colour tells people to do.
COLOURS: tuple[tuple[str, tuple[int, int, int], str], ...] = (
    ("red", (214, 40, 40), "stop"),
    ("orange", (244, 140, 30), "slow"),
    ("yellow", (250, 215, 40), "wait"),
    ("green", (40, 160, 70), "walk"),
    ("blue", (40, 90, 210), "park"),
    ("purple", (130, 60, 180), "sing"),
    ("white", (255, 255, 255), "turn"),
    ("grey", (128, 128, 128), "rest"),
    ("black", (0, 0, 0), "return"),
)
UNSEEN = ("hidden", "guess")  # what stands in the two places where there is no picture

COLOUR, ORDER = "{colour}", "{order}"
TEXT = f"""
The sign is {COLOUR}.
A {COLOUR} sign tells you to {ORDER}.
See the sign and {ORDER}, see the sign and {ORDER}.
The road goes up, the road goes down, the road goes round the old market town.
The sign on the road is {COLOUR}, so {ORDER}.
"""
LONGEST = 6  # tokens that decide the next one


@dataclass(frozen=True)
class Patches:
    """What the tower made of one picture: token ``start`` of the prompt stands for the first of
    the ``colours`` (indices into COLOURS), row by row."""

    start: int
    colours: tuple[int, ...]


class SignsModel(ToyModel):
    """A :class:`ToyModel` whose messages may hold pictures; each takes 16 placeholder tokens."""

    def __init__(self, label: str = "toy-signs") -> None:
        pieces = [b"<end>", *(bytes([b]) for b in range(256)), b"<image>", *_words()]
        self.placeholder = pieces.index(b"<image>")
        super().__init__(
            _logits(tuple(pieces)),
            pieces,
            label=label,
            blocked_ids=frozenset({self.placeholder}),
            supports=frozenset({"tree", "rollback", "image"}),
        )
        self.special_ids = self.eos_ids | self.blocked_ids

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Join the turns by newlines; pictures stand before the text of theirs, a newline each."""
        tokens: list[int] = []
        seen: list[Seen] = []
        pixels: list[Patches] = []
        newline = self.tokenize("\n")
        for message in messages:
            if tokens:
                tokens += newline
            for picture in message.pictures:
                png = _resized(picture.png)
                span = (len(tokens), len(tokens) + PATCHES)
                note = SIGHT.format(width=SIDE, height=SIDE)
                seen.append(Seen(picture, png, SIDE, SIDE, span, (note,)))
                pixels.append(Patches(span[0], patch_colours(png)))
                tokens += [self.placeholder] * PATCHES
                tokens += newline
            tokens += self.tokenize(message.text)
        return Inputs(tuple(tokens), pictures=tuple(seen), pixels=tuple(pixels) or None)

    def open(self, capture: Capture = Capture()) -> SignsSession:
        """A session with an empty cache."""
        return SignsSession(self, capture)


class SignsSession(ToySession):
    """A column of a placeholder holds the colour of its patch, as the number ``-1 - colour``."""

    def _merged(self, tokens: tuple[int, ...], pixels: Any) -> tuple[int, ...]:
        merged = list(tokens)
        for patches in pixels or ():
            for at, colour in enumerate(patches.colours, start=patches.start):
                assert tokens[at] in self.model.blocked_ids, "a patch without a placeholder"
                merged[at] = -1 - colour
        return tuple(merged)


def _resized(png: bytes) -> bytes:
    return png_of(Image.open(io.BytesIO(png)).convert("RGB").resize((SIDE, SIDE)))


def patch_colours(png: bytes) -> tuple[int, ...]:
    """The commonest colour of every patch [16] of a picture, row by row, as indices."""
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB"), dtype=np.int64)
    known = np.array([rgb for _, rgb, _ in COLOURS])
    nearest = ((pixels[:, :, None] - known) ** 2).sum(-1).argmin(-1)
    size = SIDE // GRID
    blocks = nearest.reshape(GRID, size, GRID, size).swapaxes(1, 2).reshape(PATCHES, -1)
    return tuple(int(np.bincount(block).argmax()) for block in blocks)


def _words() -> list[bytes]:
    """Every word of the text and of both places that depend on the picture, with its space."""
    plain = TEXT.replace(COLOUR, "").replace(ORDER, "")
    found = {f" {word}" for word in plain.replace(".", " ").replace(",", " ").split()}
    found |= {f" {word}" for colour, _, order in COLOURS for word in (colour, order)}
    found |= {f" {word}" for word in UNSEEN} | {"\nThe", "\nA", "\nSee", ".", ","}
    return [word.encode() for word in sorted(found) if len(word) > 1]


def _logits(pieces: tuple[bytes, ...]) -> LogitFunction:
    """The next token after a context: the text above, its two places filled from the picture."""
    index = {piece: i for i, piece in enumerate(pieces)}
    colours = [index[f" {c}".encode()] for c, _, _ in COLOURS] + [index[f" {UNSEEN[0]}".encode()]]
    orders = [index[f" {o}".encode()] for _, _, o in COLOURS] + [index[f" {UNSEEN[1]}".encode()]]
    # One token stands for all that may fill a place, so that what follows does not depend on it.
    same = {**dict.fromkeys(colours, colours[-1]), **dict.fromkeys(orders, orders[-1])}
    follow = _counts(index)

    known: dict[tuple[tuple[int, ...], int, int], np.ndarray] = {}

    def after(suffix: tuple[int, ...], colour: int, named: int) -> np.ndarray:
        noise = np.random.default_rng([7, *suffix, colour + 1, named + 1]).random(len(pieces))
        mixed = 1e-6 + 1e-8 * noise
        for order in range(min(LONGEST, len(suffix)) + 1):
            for token, count in follow.get(suffix[len(suffix) - order :], {}).items():
                weight = 4.0**order * count
                if token == colours[-1]:
                    mixed[colours] += 0.01 * weight
                    token = colours[colour]
                elif token == orders[-1]:
                    mixed[orders] += 0.01 * weight
                    token = orders[named]
                mixed[token] += weight
        found: np.ndarray = np.log(mixed / mixed.sum())
        return found

    def logits(context: tuple[int, ...]) -> np.ndarray:
        patches = [-1 - token for token in context if token < 0]
        seen = [patches[i : i + PATCHES] for i in range(0, len(patches), PATCHES)]
        names = [min(Counter(p).items(), key=lambda kv: (-kv[1], kv[0]))[0] for p in seen] or [-1]
        last = max((i for i, token in enumerate(context) if token < 0), default=-1)
        # Several pictures take turns: every colour word passes on to the next one.
        said = sum(token in colours for token in context[last + 1 :])
        suffix = tuple(same.get(t, t) for t in context[-LONGEST:] if t >= 0)
        key = (suffix, names[said % len(names)], names[(said - 1) % len(names)])
        if key not in known:
            known[key] = after(*key)
        return known[key]

    return logits


def _counts(index: dict[bytes, int]) -> dict[tuple[int, ...], dict[int, float]]:
    """How much speaks for which token after up to ``LONGEST`` others; what comes early, more."""
    pieces: list[int] = []
    rest = TEXT.replace(COLOUR, UNSEEN[0]).replace(ORDER, UNSEEN[1]).rstrip("\n").encode()
    while rest:
        piece = max((p for p in index if rest.startswith(p)), key=len)
        pieces.append(index[piece])
        rest = rest[len(piece) :]
    tokens = [*pieces, 0]
    follow: dict[tuple[int, ...], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    follow[()][tokens[0]] = 1.0  # after anything else the text begins
    for order in range(1, LONGEST + 1):
        for i in range(order, len(tokens)):
            follow[tuple(tokens[i - order : i])][tokens[i]] += 1.0 + 1.0 / i
    return follow


def sign(colour: str, name: str = "", side: int = 96) -> Picture:
    """A picture of one colour of COLOURS: for tests, documentation and teaching."""
    rgb = next(rgb for known, rgb, _ in COLOURS if known == colour)
    return picture_of(Image.new("RGB", (side, side), rgb), name or f"{colour}.png")
