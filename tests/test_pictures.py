"""Pictures as people have them: every defect made here, and what the model gets asserted by pixel.

The cases with numbers are those of field reports: photos of phones that lie on their side, one
pixel wide strips, channels lost, 16 bits clipped, files cut off or renamed.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
import subprocess
import sys
import types
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from specviz import pictures
from specviz.models.base import InputError, Picture
from specviz.pictures import check_png, open_picture

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 128, 0), (0, 0, 255), (255, 255, 255)
SIDE = 40


def file(image: Image.Image, kind: str, **options: Any) -> bytes:
    packed = io.BytesIO()
    image.save(packed, kind, **options)
    return packed.getvalue()


def pixels(picture: Picture) -> np.ndarray:
    with Image.open(io.BytesIO(picture.png)) as image:
        assert (image.format, image.mode, image.info) == ("PNG", "RGB", {})
        found = np.asarray(image)
    assert found.shape == (picture.height, picture.width, 3)
    return found


def only_colour(picture: Picture) -> tuple[int, int, int]:
    (colour,) = np.unique(pixels(picture).reshape(-1, 3), axis=0)
    return tuple(map(int, colour))  # type: ignore[return-value]


def two_halves(size: tuple[int, int] = (60, 40)) -> Image.Image:
    """Blue on the left, red on the right."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (0, 0, size[0] // 2, size[1]))
    return image


def plain(mode: str, colour: Any) -> Image.Image:
    return Image.new(mode, (SIDE, SIDE), colour)


def refused(source: Any, name: str = "a.png") -> str:
    with pytest.raises(InputError) as caught:
        open_picture(source, name)
    said = str(caught.value)
    assert said.endswith(".") and "\n" not in said and len(said) < 250
    return said


# What is kept as it is


@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [
        ("PNG", "a.png", {}), ("BMP", "a.bmp", {}), ("TIFF", "a.tiff", {}), ("PPM", "a.ppm", {}),
        ("GIF", "a.gif", {}), ("WEBP", "a.webp", {"lossless": True}), ("JPEG2000", "a.jp2", {}),
    ],
)  # fmt: skip
def test_every_format_gives_its_very_pixels_and_nothing_to_tell(
    kind: str, name: str, options: dict[str, Any]
) -> None:
    found = open_picture(file(two_halves(), kind, **options), name)
    assert (found.name, found.width, found.height, found.notes) == (name, 60, 40, ())
    assert np.array_equal(pixels(found), np.asarray(two_halves()))


@pytest.mark.parametrize("kind", ["JPEG", "AVIF"])
def test_formats_that_lose_a_little_come_close(kind: str) -> None:
    found = open_picture(file(two_halves(), kind, quality=95))
    assert np.abs(pixels(found)[:, [3, -3]].astype(int) - [[BLUE, RED]]).max() < 4
    assert found.name == "the picture"


def test_the_same_pixels_have_the_same_bytes_whatever_the_file_said_beside_them() -> None:
    exif = Image.Exif()
    exif[0x010E] = "a secret place"
    loud = file(two_halves(), "PNG", exif=exif, dpi=(300, 300), compress_level=1)
    found = open_picture(loud)
    assert found.png == open_picture(file(two_halves(), "BMP")).png
    assert b"secret" in loud and b"secret" not in found.png
    assert found.digest == hashlib.sha256(found.png).hexdigest()[:16]
    assert open_picture(found.png).png == found.png


def test_a_file_is_read_from_its_path_too(tmp_path: Path) -> None:
    (tmp_path / "b.gif").write_bytes(file(plain("RGB", GREEN), "GIF"))
    assert only_colour(open_picture(tmp_path / "b.gif")) == GREEN
    assert open_picture(str(tmp_path / "b.gif"), "shown.gif").name == "shown.gif"


# Photos of phones (D36)


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "TIFF", "WEBP", "AVIF"])
@pytest.mark.parametrize(
    ("orientation", "blue", "note"),
    [
        (2, "right", "Mirrored as its EXIF says."),
        (3, "right", "Turned upright as its EXIF says."),
        (4, "left", "Turned upright and mirrored as its EXIF says."),
        (5, "top", "Turned upright and mirrored as its EXIF says."),
        (6, "top", "Turned upright as its EXIF says."),
        (7, "bottom", "Turned upright and mirrored as its EXIF says."),
        (8, "bottom", "Turned upright as its EXIF says."),
    ],
)
def test_a_photo_is_turned_upright(kind: str, orientation: int, blue: str, note: str) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    found = open_picture(file(two_halves(), kind, exif=exif))
    seen = pixels(found).astype(int)
    assert found.notes == (note,)
    assert (found.width, found.height) == ((60, 40) if blue in ("left", "right") else (40, 60))
    spots = {"left": (20, 5), "right": (20, 54), "top": (5, 20), "bottom": (54, 20)}
    opposite = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}
    assert np.abs(seen[spots[blue]] - BLUE).max() < 8
    assert np.abs(seen[spots[opposite[blue]]] - RED).max() < 8


@pytest.mark.parametrize("value", [0, 1, 9, 60000])
def test_an_orientation_that_says_nothing_turns_nothing(value: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = value
    found = open_picture(file(two_halves(), "PNG", exif=exif))
    assert found.notes == () and np.array_equal(pixels(found), np.asarray(two_halves()))


def test_damaged_metadata_costs_nothing() -> None:
    found = open_picture(file(two_halves(), "PNG", exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff"))
    assert np.array_equal(pixels(found), np.asarray(two_halves()))


def raw_exif(*entries: tuple[int, int, int, bytes]) -> bytes:
    """EXIF with ``entries`` (tag, type, count, four bytes) as they are, sound or not."""
    rows = b"".join(struct.pack(">HHI", *entry[:3]) + entry[3] for entry in entries)
    return b"Exif\0\0MM\0*\0\0\0\x08" + struct.pack(">H", len(entries)) + rows + bytes(4)


@pytest.mark.parametrize(
    "other",
    [
        (0x011A, 1, 1, b"\x48\0\0\0"),  # a resolution that is a byte
        (0x0128, 2, 4, b"abc\0"),  # its unit, a text
        (0x0100, 5, 1, b"\0\0\0\x09"),  # a width that is a fraction
    ],
)
def test_metadata_that_cannot_be_written_again_does_not_stop_a_photo(
    other: tuple[int, int, int, bytes],
) -> None:
    exif = raw_exif((0x0112, 3, 1, b"\0\x06\0\0"), other)
    found = open_picture(file(two_halves(), "JPEG", exif=exif), "phone.jpg")
    assert found.notes == ("Turned upright as its EXIF says.",)
    assert (found.width, found.height) == (40, 60)
    assert np.abs(pixels(found)[5, 20].astype(int) - BLUE).max() < 8


def test_a_heic_photo_without_its_reader_names_the_way_out(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    raw = b"\0\0\0\x1cftypheic\0\0\0\0mif1heic" + bytes(100)
    assert refused(raw, "IMG_1.HEIC") == (
        "IMG_1.HEIC is a HEIC photo, which is not read here: save it as JPEG or PNG, or install "
        "the Python package pillow-heif."
    )


def test_a_heic_photo_is_read_where_its_reader_is(monkeypatch: Any) -> None:
    """The reader turns the photo itself and tells what it did."""

    class Opened:
        def __init__(self, stream: io.BytesIO) -> None:
            assert stream.read(12)[4:] == b"ftypheic"

        def __new__(cls, stream: io.BytesIO) -> Any:
            image = two_halves().transpose(Image.Transpose.ROTATE_270)
            image.info["original_orientation"] = 6
            return image

    monkeypatch.setitem(sys.modules, "pillow_heif", types.SimpleNamespace(HeifImageFile=Opened))
    found = open_picture(b"\0\0\0\x1cftypheic\0\0\0\0mif1heic", "IMG_1.heic")
    assert found.notes == ("Turned upright as its EXIF says.",)
    assert (found.width, found.height) == (40, 60)
    assert tuple(pixels(found)[5, 20]) == BLUE and tuple(pixels(found)[54, 20]) == RED


def test_a_real_heic_photo_is_read() -> None:
    heif = pytest.importorskip("pillow_heif")
    exif = Image.Exif()
    exif[0x0112] = 6
    packed = io.BytesIO()
    heif.from_pillow(two_halves()).save(packed, quality=95, exif=exif.tobytes())
    found = open_picture(packed.getvalue(), "IMG_1.heic")
    assert found.notes == ("Turned upright as its EXIF says.",)
    assert np.abs(pixels(found)[5, 20].astype(int) - BLUE).max() < 8
    assert "damaged" in refused(packed.getvalue()[:300], "IMG_1.heic")


# Modes and channels (D37)


def palette(*, transparency: Any = None) -> bytes:
    """Red on the left; green, which may be transparent, on the right."""
    image = plain("P", 0)
    image.putpalette([*RED, *GREEN])
    image.paste(1, (SIDE // 2, 0, SIDE, SIDE))
    return file(image, "PNG", **({} if transparency is None else {"transparency": transparency}))


OVER_WHITE = "Its transparent parts were put over white."
ALL_WHITE = "It is wholly transparent, so all of it is white."
CMYK = "Its CMYK colours were turned into RGB."


@pytest.mark.parametrize(
    ("raw", "colour", "notes"),
    [
        (file(plain("RGBA", (0, 0, 0, 0)), "PNG"), WHITE, (ALL_WHITE,)),
        (file(plain("RGBA", (0, 0, 255, 255)), "PNG"), BLUE, ()),
        (file(plain("RGBA", (255, 0, 0, 51)), "PNG"), (255, 204, 204), (OVER_WHITE,)),
        (file(plain("LA", (0, 51)), "PNG"), (204, 204, 204), (OVER_WHITE,)),
        (file(plain("LA", (90, 255)), "PNG"), (90, 90, 90), ()),
        (file(plain("RGBA", (255, 0, 0, 51)), "WEBP", lossless=True), (255, 204, 204),
         (OVER_WHITE,)),
        (file(plain("RGBA", (255, 0, 0, 51)), "TIFF"), (255, 204, 204), (OVER_WHITE,)),
        (file(plain("CMYK", (255, 0, 0, 0)), "JPEG", quality=100), (0, 255, 255), (CMYK,)),
        (file(plain("CMYK", (0, 255, 255, 0)), "TIFF"), RED, (CMYK,)),
        (file(plain("L", 77), "PNG"), (77, 77, 77), ()),
        (file(plain("L", 77), "PNG", transparency=77), WHITE, (ALL_WHITE,)),
        (file(plain("RGB", BLUE), "PNG", transparency=BLUE), WHITE, (ALL_WHITE,)),
        (file(plain("1", 1), "PNG"), WHITE, ()),
        (file(plain("1", 0), "TIFF"), (0, 0, 0), ()),
    ],
)  # fmt: skip
def test_every_kind_of_colours_becomes_rgb_over_white(
    raw: bytes, colour: tuple[int, int, int], notes: tuple[str, ...]
) -> None:
    found = open_picture(raw)
    assert only_colour(found) == colour and found.notes == notes


@pytest.mark.parametrize(
    ("transparency", "right", "notes"),
    [
        (None, GREEN, ()),
        (1, WHITE, (OVER_WHITE,)),
        (b"\xff\x33", (204, 230, 204), (OVER_WHITE,)),
    ],
)
def test_a_palette_keeps_its_colours_and_its_transparency(
    transparency: Any, right: tuple[int, int, int], notes: tuple[str, ...]
) -> None:
    found = open_picture(palette(transparency=transparency))
    assert tuple(pixels(found)[0, 0]) == RED and tuple(pixels(found)[0, -1]) == right
    assert found.notes == notes


# Sizes (D37)


def test_a_strip_of_one_pixel_is_enlarged_by_a_whole_factor() -> None:
    tall = Image.new("RGB", (1, 50), RED)
    tall.putpixel((0, 49), BLUE)
    found = open_picture(file(tall, "PNG"))
    assert (found.width, found.height) == (28, 1400)
    assert found.notes == ("Enlarged 28 times from 1 x 50 to 28 x 1400 pixels.",)
    seen = pixels(found)
    assert (seen[:1372] == RED).all() and (seen[1372:] == BLUE).all()


def test_what_cannot_be_enlarged_enough_is_padded_with_white() -> None:
    found = open_picture(file(Image.new("RGB", (200, 1), BLUE), "PNG"))
    assert found.notes == (
        "Enlarged 10 times from 200 x 1 to 2000 x 10 pixels.",
        "Padded with white from 2000 x 10 to 2000 x 28 pixels.",
    )
    seen = pixels(found)
    assert (seen[9:19] == BLUE).all() and (seen[:9] == WHITE).all() and (seen[19:] == WHITE).all()


def test_a_single_pixel_is_a_picture() -> None:
    found = open_picture(file(Image.new("RGB", (1, 1), GREEN), "PNG"))
    assert (found.width, found.height) == (28, 28) and only_colour(found) == GREEN


def test_a_strip_too_thin_is_refused_with_its_sizes() -> None:
    assert refused(file(Image.new("RGB", (1, 201)), "PNG"), "long.png") == (
        "long.png has 1 x 201 pixels, a strip too thin to be shown to a model: cut out a part "
        "that is less than 200 times as long as it is wide."
    )


def test_a_huge_picture_is_scaled_down_and_told_so() -> None:
    found = open_picture(file(two_halves((3000, 2000)), "PNG"))
    assert (found.width, found.height) == (2048, 1365)
    assert found.notes == ("Scaled down from 3000 x 2000 to 2048 x 1365 pixels.",)
    assert tuple(pixels(found)[700, 1000]) == BLUE and tuple(pixels(found)[700, 1048]) == RED


def test_a_bomb_is_refused_by_its_header_before_it_is_decoded(monkeypatch: Any) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(
            ">I", zlib.crc32(kind + data)
        )  # fmt: skip

    def bomb(width: int, height: int) -> bytes:
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        rows = chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + rows + chunk(b"IEND", b"")

    def load(self: Any) -> None:
        raise AssertionError("decoded")

    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", load)
    assert refused(bomb(8001, 8000), "b.png") == (
        "b.png has 8001 x 8000 pixels, more than the limit of 64 million: make it smaller."
    )
    for side in (12_000, 60_000, 2**31 - 1):
        assert "more" in refused(bomb(side, side)) and "64 million" in refused(bomb(side, side))


# Depth (D40)


def grey(array: np.ndarray, kind: str = "TIFF", **options: Any) -> bytes:
    return file(Image.fromarray(array), kind, **options)


def levels(values: list[float], dtype: Any) -> np.ndarray:
    """A row of values, each a block wide enough to be a picture."""
    return np.repeat(np.repeat(np.array([values], dtype), SIDE, axis=0), SIDE, axis=1)


def read(raw: bytes, count: int) -> tuple[list[int], tuple[str, ...]]:
    found = open_picture(raw)
    return [int(v) for v in pixels(found)[0, ::SIDE, 0][:count]], found.notes


@pytest.mark.parametrize(
    ("values", "dtype", "expected", "note"),
    [
        ([0, 300, 60000, 65535], np.uint16, [0, 1, 233, 255],
         "Its 16-bit values (0 to 65535) were scaled to 0 to 255."),
        ([0, 128, 255], np.int32, [0, 128, 255], None),
        ([0, 25700, 65535], np.int32, [0, 100, 255],
         "Its 32-bit values (0 to 65535) were scaled to 0 to 255."),
        ([-1000, 0, 1000], np.int32, [0, 128, 255],
         "Its 32-bit values (-1000 to 1000) were stretched to 0 to 255."),
        ([0, 0.2, 1], np.float32, [0, 51, 255],
         "Its fractional values (0 to 1) were scaled to 0 to 255."),
        ([0, 99.6, 255], np.float32, [0, 100, 255],
         "Its fractional values were rounded to 0 to 255."),
        ([0, 25700, 65535], np.float32, [0, 100, 255],
         "Its fractional values (0 to 65535) were scaled to 0 to 255."),
        ([0, 1.5, 3], np.float32, [0, 128, 255],
         "Its fractional values (0 to 3) were stretched to 0 to 255."),
        ([-2, 0, 2], np.float32, [0, 128, 255],
         "Its fractional values (-2 to 2) were stretched to 0 to 255."),
        ([0, 5e5, 1e6], np.float32, [0, 128, 255],
         "Its fractional values (0 to 1e+06) were stretched to 0 to 255."),
        ([-3e38, 0, 3e38], np.float32, [0, 128, 255],
         "Its fractional values (-3e+38 to 3e+38) were stretched to 0 to 255."),
        ([-7, -7], np.float32, [0, 0],
         "Its fractional values (-7 to -7) were stretched to 0 to 255."),
    ],
)  # fmt: skip
def test_values_are_scaled_by_the_range_that_they_have(
    values: list[float], dtype: Any, expected: list[int], note: str | None
) -> None:
    found, notes = read(grey(levels(values, dtype)), len(values))
    assert found == expected and notes == ((note,) if note else ())


def test_a_16_bit_png_is_not_clipped_and_its_transparent_value_is_white() -> None:
    array = levels([300, 60000, 7], np.uint16)
    assert read(grey(array, "PNG"), 3)[0] == [1, 233, 0]
    raw = grey(array, "PNG")
    # Pillow writes no transparent value of 16 bits, so it is put in by hand, before the pixels.
    data = b"tRNS" + struct.pack(">H", 7)
    chunk = struct.pack(">I", 2) + data + struct.pack(">I", zlib.crc32(data))
    at = raw.index(b"IDAT") - 4
    found, notes = read(raw[:at] + chunk + raw[at:], 3)
    assert found == [1, 233, 255] and notes[-1] == OVER_WHITE


def test_pixels_that_are_no_numbers_are_counted() -> None:
    array = levels([0, 0.5, 1], np.float32)
    array[0, 0], array[1, 0], array[2, 0] = np.nan, np.inf, -np.inf
    found, notes = read(grey(array), 3)
    assert found == [0, 128, 255]
    assert notes[0] == "3 of its pixels hold no number and were made black."
    nothing = np.full((SIDE, SIDE), np.nan, np.float32)
    assert only_colour(open_picture(grey(nothing))) == (0, 0, 0)


def test_unsigned_numbers_of_32_bits_do_not_turn_negative() -> None:
    # A TIFF by hand: Pillow writes signed ones only.
    values = np.repeat(np.array([[0, 2**31, 2**32 - 1]], "<u4"), SIDE, axis=0).repeat(SIDE, axis=1)
    tags = [(256, values.shape[1]), (257, SIDE), (258, 32), (259, 1), (262, 1), (273, 8), (277, 1),
            (278, SIDE), (279, values.nbytes), (339, 1)]  # fmt: skip
    table = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    head = b"II*\0" + struct.pack("<I", 8 + values.nbytes)
    raw = head + values.tobytes() + struct.pack("<H", len(tags)) + table + bytes(4)
    assert read(raw, 3)[0] == [0, 128, 255]


def test_a_tiff_whose_zero_is_white_and_one_of_12_bits() -> None:
    white = Image.fromarray(levels([0, 65535], np.uint16))
    assert read(file(white, "TIFF", tiffinfo={262: 0}), 2)[0] == [255, 0]
    packed = bytes([0x00, 0x0F, 0xFF]) * (SIDE // 2)  # 0, then 4095
    tags = [(256, SIDE), (257, SIDE), (258, 12), (259, 1), (262, 1), (273, 8), (277, 1),
            (278, SIDE), (279, len(packed) * SIDE)]  # fmt: skip
    table = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
    head = b"II*\0" + struct.pack("<I", 8 + len(packed) * SIDE)
    raw = head + packed * SIDE + struct.pack("<H", len(tags)) + table + bytes(4)
    found = open_picture(raw)
    assert [int(v) for v in pixels(found)[0, :4, 0]] == [0, 255, 0, 255]
    assert found.notes == ("Its 12-bit values (0 to 4095) were scaled to 0 to 255.",)


# Animations


@pytest.mark.parametrize(
    ("kind", "note"),
    [
        ("GIF", "Only the first frame of its animation is used."),
        ("PNG", "Only the first frame of its animation is used."),
        ("WEBP", "Only the first frame of its animation is used."),
        ("AVIF", "Only the first frame of its animation is used."),
        ("TIFF", "Only the first of its pictures is used."),
        ("MPO", "Only the first of its pictures is used."),
    ],
)
def test_the_first_frame_is_used_and_told(kind: str, note: str) -> None:
    frames = [plain("RGB", colour) for colour in (RED, BLUE, GREEN)]
    found = open_picture(file(frames[0], kind, save_all=True, append_images=frames[1:]))
    assert found.notes == (note,)
    assert np.abs(pixels(found).astype(int) - RED).max() < 3


# Files that are no pictures, not whole, or not what their names say (D40)


def test_the_content_counts_and_a_name_that_lies_is_told() -> None:
    raw = file(plain("RGB", GREEN), "PNG")
    said = open_picture(raw, "notes.txt").notes
    assert said == ("Read as PNG, although its name ends in .txt.",)
    assert only_colour(open_picture(raw, "notes.txt")) == GREEN
    assert open_picture(raw, "a.JPG").notes == ("Read as PNG, although its name ends in .JPG.",)
    for name in ("a.PNG", "picture", ".png", "v1.2 of it", "a" * 200 + ".png"):
        assert open_picture(raw, name).notes == ()


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "JPEG2000", "AVIF"])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.7])
def test_a_file_that_is_cut_off_is_refused_in_a_sentence(kind: str, share: float) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), np.uint8)
    raw = file(Image.fromarray(noise), kind)
    assert "begins like" in (said := refused(raw[: max(16, int(len(raw) * share))], "a.x"))
    assert said.endswith("but is damaged or cut off: save it again.")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "JPEG2000", "PPM"])
def test_damaged_bytes_give_a_picture_or_a_sentence(kind: str) -> None:
    raw = file(two_halves(), kind)
    draw = np.random.default_rng(7)
    for _ in range(60):
        broken = bytearray(raw)
        for at in draw.integers(0, len(raw), 3):
            broken[at] = draw.integers(256)
        try:
            found = open_picture(bytes(broken))
        except InputError as error:
            assert str(error).endswith(".") and len(str(error)) < 250
        else:
            assert max(found.width, found.height) <= pictures.LONGEST


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "a.png is empty: choose another file."),
        (b"hello world, this is text",
         "a.png is not a picture: choose a PNG, JPEG, WebP, GIF, TIFF, BMP, AVIF or HEIC file."),
        (b"\xef\xbb\xbf<?xml version='1.0'?><!-- x --><SVG xmlns='...'/>",
         "a.png is an SVG drawing, which has no pixels: save it as PNG first."),
        (b"%PDF-1.7 ...", "a.png is a PDF document: give the page as a PNG."),
        (b"\0\0\0\x18ftypisom....", "a.png is a video: give one frame of it as a PNG."),
        (b"\0\0\1\0\1\0", "a.png is an icon file: save it as PNG."),
        (b"PK\x03\x04...", "a.png is a packed file: unpack it first."),
        (b"\x89PNG\r\n\x1a\n", "a.png begins like PNG but is damaged or cut off: save it again."),
    ],
)  # fmt: skip
def test_what_is_no_picture_is_refused_in_a_sentence(raw: bytes, sentence: str) -> None:
    assert refused(raw) == sentence


def test_a_postscript_or_icon_is_never_given_to_an_interpreter() -> None:
    assert "PostScript" in refused(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")


def test_paths_that_lead_to_no_file_are_sentences(tmp_path: Path) -> None:
    assert refused(tmp_path, "") == f"{tmp_path.name} is a folder: choose a picture in it."
    assert refused(tmp_path / "no.png", "") == ("no.png cannot be read: No such file or directory.")
    assert "NUL" in refused("a\0b.png", "")


def test_bytes_beyond_the_limit_are_never_read(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(pictures, "BYTES", 1 << 20)
    large = tmp_path / "large.png"
    with large.open("wb") as stream:
        stream.truncate((1 << 20) + 1)
    assert (
        refused(large, "") == "large.png is larger than the limit of 1 MB: save it smaller first."
    )
    assert "larger" in refused(b"\0" * ((1 << 20) + 1))
    if Path("/dev/zero").exists():  # a device says that its size is nothing
        assert "larger" in refused("/dev/zero", "zero.png")


def test_a_name_from_outside_is_one_short_line_that_can_be_written() -> None:
    raw = file(plain("RGB", GREEN), "PNG")
    assert open_picture(raw, "C:\\x\\../a\n b.png").name == "a b.png"
    assert open_picture(raw, "b\udcff.png").name == "b?.png"
    assert len(open_picture(raw, "x" * 500 + ".png").name) <= 60


# What a recording holds


def test_a_recorded_png_beyond_the_longest_side_is_never_unpacked(monkeypatch: Any) -> None:
    raw = file(Image.new("RGB", (7000, 7000)), "PNG")  # within the limit of any picture's pixels
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("unpacked"))
    with pytest.raises(InputError, match=r"^picture 1 is no PNG as specviz records them"):
        check_png(raw, "picture 1")


def test_the_png_of_a_recording_is_checked_as_strictly() -> None:
    mine = open_picture(file(two_halves(), "PNG"))
    assert check_png(mine.png, "picture 1") == (60, 40)
    others = [
        mine.png[:-30],
        b"",
        file(two_halves(), "JPEG"),
        file(plain("RGBA", (0, 0, 0, 0)), "PNG"),
        file(plain("L", 3), "PNG"),
        file(Image.new("RGB", (2049, 40)), "PNG"),
    ]
    for raw in others:
        with pytest.raises(InputError, match=r"^picture 1 .*\.$"):
            check_png(raw, "picture 1")


def test_an_animation_that_is_cut_anywhere_is_read_or_refused() -> None:
    noise = np.random.default_rng(1).integers(0, 255, (2, 30, 30), dtype=np.uint8)
    first, second = (Image.fromarray(frame, "L").convert("P") for frame in noise)
    raw = file(first, "GIF", save_all=True, append_images=[second])
    told = []
    for end in range(len(raw) // 4, len(raw), 3):
        try:
            told.append(open_picture(raw[:end], "a.gif").width)
        except InputError as error:
            told.append(0)
            assert "a.gif" in str(error)
    assert set(told) == {0, 30}
    assert open_picture(raw, "a.gif").notes == ("Only the first frame of its animation is used.",)


def test_a_refused_giant_leaves_no_warning_behind(tmp_path: Path) -> None:
    giant = file(Image.new("1", (11_000, 11_000)), "PNG")
    (tmp_path / "giant.png").write_bytes(giant)
    script = (
        "from specviz.models.base import InputError\n"
        "from specviz.pictures import open_picture\n"
        "try: open_picture('giant.png')\n"
        "except InputError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
    )  # fmt: skip
    assert "11000" in done.stdout.replace(" ", "") and done.stderr == ""
