"""Pictures that a person hands in: opened, checked, made upright RGB over white, and what was done
said.

What a file is called counts for nothing: its first bytes say what it is. Nothing is decoded before
its size is known from its header.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from specviz.inputs import shown_name
from specviz.models.base import MOST_RATIO, InputError, Picture
from specviz.picture_modes import to_rgb
from specviz.pixels import png_of

BYTES = 32 * 2**20
PIXELS = 64_000_000
LONGEST = 2048  # pixels of the longer side that is kept: more than any model here reads
LEAST = 28  # of the shorter side: the largest patch of any model here
TURNED = {
    2: "Mirrored as its EXIF says.",
    **dict.fromkeys((3, 6, 8), "Turned upright as its EXIF says."),
    **dict.fromkeys((4, 5, 7), "Turned upright and mirrored as its EXIF says."),
}
ORIENTATION = 0x0112  # the EXIF tag
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
ENDING = re.compile(r"[^/\\.]\.([A-Za-z0-9]{1,5})$")


@dataclass(frozen=True)
class Format:
    """A format that is read: Pillow's name for it, what its files begin with (at byte ``at``), and
    how their names end."""

    pillow: str
    title: str
    begins: tuple[bytes, ...]
    endings: tuple[str, ...]
    at: int = 0

    def fits(self, raw: bytes) -> bool:
        """Whether ``raw`` begins as a file of this format does."""
        return raw[self.at : self.at + 16].startswith(self.begins)


HEIC = Format(
    "HEIF", "HEIC", tuple(b"ftyp" + b for b in (b"heic", b"heix", b"heim", b"heis", b"hevc",
                                                b"hevx", b"mif1", b"msf1")),
    ("heic", "heif", "hif"), at=4,
)  # fmt: skip
AVIF = Format("AVIF", "AVIF", (b"ftypavif", b"ftypavis"), ("avif", "avifs"), at=4)
FORMATS = (
    Format("PNG", "PNG", (b"\x89PNG\r\n\x1a\n",), ("png", "apng")),
    Format("JPEG", "JPEG", (b"\xff\xd8\xff",), ("jpg", "jpeg", "jpe", "jfif", "mpo")),
    Format("GIF", "GIF", (b"GIF87a", b"GIF89a"), ("gif",)),
    Format("WEBP", "WebP", (b"WEBP",), ("webp",), at=8),
    Format("TIFF", "TIFF", (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), ("tif", "tiff")),
    Format("BMP", "BMP", (b"BM",), ("bmp", "dib")),
    AVIF,
    Format(
        "JPEG2000", "JPEG 2000", (b"\xff\x4f\xff\x51", b"\0\0\0\x0cjP  \r\n\x87\n"),
        ("jp2", "j2k", "jpx", "jpf", "j2c", "jpc"),
    ),
    Format(
        "PPM", "PNM", tuple(b"P%d%c" % (n, c) for n in range(1, 7) for c in b" \t\r\n#"),
        ("ppm", "pgm", "pbm", "pnm"),
    ),
    HEIC,
)  # fmt: skip
# A phone's JPEG may hold a second picture, which makes another format of it to Pillow.
OPENED_AS = {"JPEG": ("JPEG", "MPO")}
READ = "PNG, JPEG, WebP, GIF, TIFF, BMP, AVIF or HEIC"
OTHER = (
    (0, (b"%PDF",), "a PDF document: give the page as a PNG"),
    (0, (b"8BPS",), "a Photoshop file: save it as PNG"),
    (0, (b"%!PS",), "a PostScript drawing: save it as PNG"),
    (0, (b"\0\0\1\0", b"icns"), "an icon file: save it as PNG"),
    (0, (b"\x1aE\xdf\xa3",), "a video: give one frame of it as a PNG"),
    (8, (b"AVI ",), "a video: give one frame of it as a PNG"),
    (4, (b"ftyp", b"moov"), "a video: give one frame of it as a PNG"),
    (0, (b"PK\x03\x04", b"\x1f\x8b"), "a packed file: unpack it first"),
)

# Pillow warns of what is refused here anyway, by stricter limits and in a sentence.
warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)


def open_picture(source: str | Path | bytes, name: str = "") -> Picture:
    """The picture in a file (a path, or its bytes with a ``name`` to show).

    Upright, RGB, over white, no side longer than ``LONGEST`` or shorter than ``LEAST`` pixels; the
    notes say, one sentence each, what was done to make it so. Raises InputError for what is too
    large, too thin, damaged or no picture.
    """
    if not isinstance(source, bytes):
        name = name or Path(source).name
    ending = ENDING.search(name)
    # A name that the file system could not spell has halves of characters, which no file may hold.
    name = shown_name(name, "the picture").encode("utf-8", "replace").decode()
    if isinstance(source, bytes):
        raw = source
        _check_bytes(name, len(raw))
    else:
        raw = _read(Path(source), name)
    kind = _kind(raw, name)
    image, orientation = _decoded(raw, kind, name)
    notes = []
    if ending and ending[1].lower() not in kind.endings:
        notes.append(f"Read as {kind.title}, although its name ends in .{ending[1]}.")
    notes += _first_of_many(image)
    if orientation in TURNED:
        notes.append(TURNED[orientation])
    try:
        rgb, told = to_rgb(image)
    except ValueError as error:
        raise InputError(
            f"{name} is {kind.title} in a kind of colours that is not read ({image.mode}): save it "
            "as PNG."
        ) from error
    rgb, resized = _fitted(_upright(rgb, image))
    return Picture(name, png_of(rgb), *rgb.size, (*notes, *told, *resized))


def check_png(png: bytes, name: str) -> tuple[int, int]:
    """Width and height of a PNG as ``open_picture`` makes them, read to its end; raises InputError
    for anything else, however it came into a recording."""
    kind, refusal = FORMATS[0], f"{name} is no PNG as specviz records them: give the picture again."
    # Its first chunk says how large it is, so that nothing of a larger one is unpacked.
    sizes = png[16:24] if png[12:16] == b"IHDR" else b""
    longest = max(int.from_bytes(sizes[:4], "big"), int.from_bytes(sizes[4:], "big"))
    if len(png) > BYTES or not kind.fits(png) or not 0 < longest <= LONGEST:
        raise InputError(refusal)
    image, _ = _decoded(png, kind, name)
    if image.mode != "RGB" or "transparency" in image.info or max(image.size) > LONGEST:
        raise InputError(refusal)
    return image.size


def _check_bytes(name: str, size: int) -> None:
    if size > BYTES:
        raise InputError(
            f"{name} is larger than the limit of {BYTES >> 20} MB: save it smaller first."
        )


def _read(path: Path, name: str) -> bytes:
    if "\0" in str(path):
        raise InputError(f"{name} cannot be read: its path holds a NUL character.")
    try:
        if path.is_dir():
            raise InputError(f"{name} is a folder: choose a picture in it.")
        with path.open("rb") as file:
            _check_bytes(name, path.stat().st_size)
            # The size on disk says nothing about a pipe or a device.
            raw = file.read(BYTES + 1)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.") from error
    _check_bytes(name, len(raw))
    return raw


def _kind(raw: bytes, name: str) -> Format:
    """What ``raw`` is by its first bytes; raises InputError for what is no picture."""
    if not raw:
        raise InputError(f"{name} is empty: choose another file.")
    for kind in FORMATS:
        if kind.fits(raw):
            # The container is the same; further brands tell whose it is.
            return AVIF if kind is HEIC and b"avif" in raw[16:64] else kind
    if b"<svg" in raw[:4096].lower():
        raise InputError(f"{name} is an SVG drawing, which has no pixels: save it as PNG first.")
    for at, begins, what in OTHER:
        if raw[at : at + 16].startswith(begins):
            raise InputError(f"{name} is {what}.")
    raise InputError(f"{name} is not a picture: choose a {READ} file.")


def _decoded(raw: bytes, kind: Format, name: str) -> tuple[Image.Image, int]:
    """The first picture in ``raw``, its pixels read, and the orientation that its EXIF tells."""
    damaged = f"{name} begins like {kind.title} but is damaged or cut off: save it again."
    try:
        image = _opened(raw, kind, name)
        _check_size(image.size, name)
        orientation = _orientation(image)
        image.load()
    except InputError:
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"{name} has more pixels than the limit of {PIXELS // 10**6} million: make it smaller."
        ) from error
    except Exception as error:  # decoders of foreign files raise whatever they like
        raise InputError(damaged) from error
    return image, orientation


def _opened(raw: bytes, kind: Format, name: str) -> Image.Image:
    """The header of ``raw`` alone."""
    if kind is not HEIC:
        return Image.open(io.BytesIO(raw), formats=OPENED_AS.get(kind.pillow, (kind.pillow,)))
    try:
        import pillow_heif
    except ImportError as error:
        raise InputError(
            f"{name} is a HEIC photo, which is not read here: save it as JPEG or PNG, or install "
            "the Python package pillow-heif."
        ) from error
    # Not registered with Pillow, which would let the files' names decide for everybody else.
    image: Image.Image = pillow_heif.HeifImageFile(io.BytesIO(raw))
    return image


def _check_size(size: tuple[int, int], name: str) -> None:
    width, height = size
    if width * height > PIXELS:
        raise InputError(
            f"{name} has {width} x {height} pixels, more than the limit of "
            f"{PIXELS // 10**6} million: make it smaller."
        )
    if max(size) > MOST_RATIO * min(size):
        raise InputError(
            f"{name} has {width} x {height} pixels, a strip too thin to be shown to a model: cut "
            f"out a part that is less than {MOST_RATIO} times as long as it is wide."
        )


def _orientation(image: Image.Image) -> int:
    # A HEIC file is turned by its decoder, which tells what it did.
    told = image.info.get("original_orientation")
    if told is None:
        try:
            told = image.getexif().get(ORIENTATION, 1)
        except Exception:  # foreign metadata; pixels do not depend on it
            return 1
    return told if isinstance(told, int) else 1


def _upright(rgb: Image.Image, image: Image.Image) -> Image.Image:
    """``rgb`` turned as the EXIF of ``image`` still says: some decoders turn it themselves, and
    say no more. Nothing else of that is read or written: cameras write what Pillow cannot."""
    try:
        method = UPRIGHT.get(image.getexif().get(ORIENTATION, 1))
    except Exception:  # foreign metadata; pixels do not depend on it
        return rgb
    return rgb if method is None else rgb.transpose(method)


def _first_of_many(image: Image.Image) -> list[str]:
    try:
        several = getattr(image, "is_animated", False)
    except Exception:  # counting reads on to the second frame, which may be cut; the first is whole
        several = False
    if not several:
        return []
    if image.format in ("TIFF", "MPO", "HEIF"):
        return ["Only the first of its pictures is used."]
    return ["Only the first frame of its animation is used."]


def _fitted(rgb: Image.Image) -> tuple[Image.Image, list[str]]:
    """``rgb`` with sides that every model can take, by whole factors where it has to grow."""
    notes, (width, height) = [], rgb.size
    if max(rgb.size) > LONGEST:
        scale = LONGEST / max(rgb.size)
        smaller = tuple(max(1, round(side * scale)) for side in rgb.size)
        rgb = rgb.resize((smaller[0], smaller[1]), Image.Resampling.LANCZOS)
        notes.append(f"Scaled down from {width} x {height} to {rgb.width} x {rgb.height} pixels.")
    if min(rgb.size) >= LEAST:
        return rgb, notes
    width, height = rgb.size
    factor = min(math.ceil(LEAST / min(rgb.size)), LONGEST // max(rgb.size))
    if factor > 1:
        rgb = rgb.resize((width * factor, height * factor), Image.Resampling.NEAREST)
        notes.append(
            f"Enlarged {factor} times from {width} x {height} to {rgb.width} x {rgb.height} pixels."
        )
    if min(rgb.size) < LEAST:
        width, height = rgb.size
        whole = Image.new("RGB", (max(width, LEAST), max(height, LEAST)), "white")
        whole.paste(rgb, ((whole.width - width) // 2, (whole.height - height) // 2))
        rgb = whole
        notes.append(
            f"Padded with white from {width} x {height} to {rgb.width} x {rgb.height} pixels."
        )
    return rgb, notes
