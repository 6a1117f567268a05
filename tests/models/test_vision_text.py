"""What becomes of chats with pictures: literal texts, our placeholders, sizes, what is shown."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import Idefics3Processor, LlavaNextProcessor, LlavaProcessor

from specviz.models.base import InputError, Message, Picture, Unsupported
from specviz.models.entries import IMAGE_KINDS
from specviz.models.vision import VisionModel
from specviz.models.vision_families import FAMILIES
from tests.models import tiny_vision as tiny

ALL = pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)


@cache
def model(architecture: str) -> VisionModel:
    torch.set_num_threads(1)
    return tiny.model(architecture, torch.float32)


def said(architecture: str, tokens: tuple[int, ...]) -> str:
    return b"".join(map(model(architecture).token_bytes, tokens)).decode()


def flat(rgb: tuple[int, int, int], width: int, height: int) -> Picture:
    out = io.BytesIO()
    Image.new("RGB", (width, height), rgb).save(out, "PNG")
    return Picture("flat.png", out.getvalue(), width, height)


def test_the_kinds_that_a_label_may_be_are_the_families_there_are():
    assert tuple(FAMILIES) == IMAGE_KINDS


@ALL
def test_typed_placeholders_are_text(architecture: str):
    """Also right beside a real picture, and in what the model is said to have answered."""
    text = "what is <image> or <|image_pad|>? <|vision_start|><|im_end|><row_1_col_1>"
    m = model(architecture)
    inputs = m.encode([Message("user", text, (tiny.picture(1),)), Message("assistant", text)])
    (seen,) = inputs.pictures
    outside = inputs.tokens[: seen.span[0]] + inputs.tokens[seen.span[1] :]
    assert m.family.placeholder not in outside
    assert said(architecture, inputs.tokens).count(text) == 2
    assert outside.count(tiny.ID["<|im_end|>"]) == 1
    bare = m.encode([Message("user", text)])
    assert bare.pictures == () and bare.pixels is None
    assert m.blocked_ids.isdisjoint(set(bare.tokens) - {tiny.ID["<|im_start|>"]})


def test_a_template_of_texts_gets_its_pictures_in_front_of_the_text():
    inputs = model("llava").encode(
        [
            Message("system", "short"),
            Message("user", "ab?", (tiny.picture(1), tiny.picture(2))),
            Message("assistant", "b"),
            Message("user", "and?", (tiny.picture(3),)),
        ]
    )
    marks = "<image>" * 16
    assert said("llava", inputs.tokens) == (
        f"<|im_start|>system\nshort<|im_end|>\n<|im_start|>user\n{marks}{marks}ab?<|im_end|>\n"
        f"<|im_start|>assistant\nb<|im_end|>\n<|im_start|>user\n{marks}and?<|im_end|>\n"
        "<|im_start|>assistant\n"
    )
    assert [seen.picture.name for seen in inputs.pictures] == ["1.png", "2.png", "3.png"]
    assert [inputs.tokens[a:b] for a, b in (s.span for s in inputs.pictures)] == [(3,) * 16] * 3
    assert [p.rows for p in inputs.pixels] == [tuple(range(*s.span)) for s in inputs.pictures]


def test_qwen_gets_as_many_placeholders_as_the_picture_has_blocks_of_patches():
    inputs = model("qwen2_5_vl").encode([Message("user", "ab", (tiny.picture(1, 96, 32),))])
    pads = "<|image_pad|>" * 12
    assert said("qwen2_5_vl", inputs.tokens) == (
        f"<|im_start|>user\n<|vision_start|>{pads}<|vision_end|>ab<|im_end|>\n"
        "<|im_start|>assistant\n"
    )


# transformers' own processors, where they can be built without torchvision


def real(architecture: str) -> Any:
    m = model(architecture)
    tokenizer = tiny.tokenizer(tiny.LISTED.replace("PLACE", "<image>"))
    shared = {"image_processor": tiny.processor(architecture), "tokenizer": tokenizer}
    shared["chat_template"] = tokenizer.chat_template
    if architecture.startswith("idefics3"):
        return Idefics3Processor(**shared, image_seq_len=m.net.model.image_seq_len)
    if architecture == "llava_next":
        return LlavaNextProcessor(
            **shared, patch_size=8, vision_feature_select_strategy="default",
            num_additional_image_tokens=1,
        )  # fmt: skip
    if architecture == "llava-clip":
        return LlavaProcessor(
            **shared, patch_size=8, vision_feature_select_strategy="default",
            num_additional_image_tokens=1,
        )  # fmt: skip
    pytest.importorskip("torchvision")
    from transformers import Qwen2_5_VLProcessor, Qwen2VLVideoProcessor, SmolVLMProcessor

    shared["video_processor"] = Qwen2VLVideoProcessor()
    if architecture == "smolvlm":
        return SmolVLMProcessor(**shared, image_seq_len=m.net.model.image_seq_len)
    tokenizer.chat_template = shared["chat_template"] = tiny.template(architecture)
    return Qwen2_5_VLProcessor(**shared)


@pytest.mark.parametrize("architecture", ["llava-clip", "llava_next", "idefics3", "smolvlm",
                                          "qwen2_5_vl", "qwen3_vl"])  # fmt: skip
def test_ids_and_pixels_are_those_of_the_real_processor(architecture: str):
    processor, m = real(architecture), model(architecture)
    sizes = [(48, 40), (90, 30), (17, 120), (32, 32), (200, 150)]
    pictures = tuple(tiny.picture(i, *size) for i, size in enumerate(sizes))
    images = [Image.open(io.BytesIO(p.png)) for p in pictures]
    for chosen in ((0,), (1, 2), (3,), (4, 0, 2)):
        inputs = m.encode([Message("user", "which abc?", tuple(pictures[i] for i in chosen))])
        parts = [{"type": "image"} for _ in chosen] + [{"type": "text", "text": "which abc?"}]
        text = processor.apply_chat_template(
            [{"role": "user", "content": parts}], add_generation_prompt=True, tokenize=False
        )
        theirs = processor(
            text=[text], images=[images[i] for i in chosen], return_tensors="pt",
            add_special_tokens=False,
        )  # fmt: skip
        assert theirs["input_ids"][0].tolist() == list(inputs.tokens)
        ours = m.given(inputs)
        for name in ("pixel_values", "image_sizes", "image_grid_thw"):
            if name in theirs:
                assert torch.equal(ours[name], theirs[name].to(ours[name].dtype)), name


# What is shown


@ALL
def test_what_is_shown_is_what_the_tower_gets(architecture: str):
    """One colour comes back as it was, at the size that the note names."""
    (seen,) = model(architecture).encode(
        [Message("user", "a", (flat((200, 30, 90), 64, 64),))]
    ).pictures
    image = Image.open(io.BytesIO(seen.png))
    assert image.size == (seen.width, seen.height)
    assert np.abs(np.asarray(image, dtype=int) - (200, 30, 90)).max() <= 1
    assert seen.notes[0].startswith(f"Shown to the model at {seen.width} x {seen.height} pixels")


@pytest.mark.parametrize("architecture", ["llava", "llava_next", "idefics3", "qwen2_5_vl"])
def test_the_halves_of_a_picture_are_where_they_were(architecture: str):
    """Tiles and patches are put together again: left is red, the lower right is blue."""
    pixels = np.zeros((64, 64, 3), dtype=np.uint8)
    pixels[:, :32, 0] = 255
    pixels[32:, 32:, 2] = 255
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    picture = Picture("halves.png", out.getvalue(), 64, 64)
    (seen,) = model(architecture).encode([Message("user", "a", (picture,))]).pictures
    shown = np.asarray(Image.open(io.BytesIO(seen.png)).resize((64, 64)), dtype=int)
    assert np.abs(shown[8:56, 8:24] - (255, 0, 0)).max() < 8
    assert np.abs(shown[40:56, 40:56] - (0, 0, 255)).max() < 8
    assert np.abs(shown[8:24, 40:56]).max() < 8


@pytest.mark.parametrize(
    ("architecture", "size", "note"),
    [
        ("llava", (32, 32), "Shown to the model at 32 x 32 pixels."),
        ("llava", (90, 30), "Shown to the model at 32 x 32 pixels, stretched to fit."),
        ("llava-clip", (90, 30), "Shown to the model at 32 x 32 pixels, its edges cut off."),
        (
            "llava_next",
            (90, 30),
            "Shown to the model at 64 x 22 pixels, in 1 x 2 tiles of 32 x 32 and once as a whole.",
        ),
        (
            "idefics3",
            (60, 60),
            "Shown to the model at 96 x 96 pixels, in 3 x 3 tiles of 32 x 32 and once as a whole.",
        ),
        ("qwen3_vl", (96, 32), "Shown to the model at 96 x 32 pixels."),
    ],
)
def test_the_note_says_what_became_of_a_picture(
    architecture: str, size: tuple[int, int], note: str
):
    (seen,) = model(architecture).encode([Message("user", "a", (tiny.picture(1, *size),))]).pictures
    assert seen.notes == (note,)


@ALL
@pytest.mark.parametrize("size", [(1, 1), (3, 50), (50, 3), (1, 90), (180, 1)])
def test_small_and_narrow_pictures_are_read_or_refused_in_a_sentence(
    architecture: str, size: tuple[int, int]
):
    m = model(architecture)
    messages = [Message("user", "a", (tiny.picture(1, *size),))]
    try:
        inputs = m.encode(messages)
    except InputError as error:
        assert str(error) == (
            f"tiny-{architecture} cannot read the picture 1.png of {size[0]} x {size[1]} pixels: "
            "give one that is larger or less narrow."
        )
        return
    with torch.inference_mode():
        values = m.family.features(inputs.pixels[0].values)[0]
    assert len(values) == len(inputs.pixels[0].rows) > 0


@ALL
@pytest.mark.parametrize("size", [(1, 900), (900, 1)])
def test_what_is_200_times_as_long_as_wide_is_refused(architecture: str, size: tuple[int, int]):
    with pytest.raises(InputError, match=rf"of {size[0]} x {size[1]} pixels: give one that is"):
        model(architecture).encode([Message("user", "a", (tiny.picture(1, *size),))])


@pytest.mark.parametrize(
    ("error", "size"),
    [
        (torch.OutOfMemoryError("CUDA out of memory."), (8, 8)),
        (RuntimeError("CUDA out of memory."), (640, 480)),
        (ValueError("mean must have 3 elements"), (640, 480)),
    ],
)
def test_only_a_matter_of_size_is_blamed_on_the_size(monkeypatch, caplog, error, size):
    def fail(image):
        raise error

    m = model("llava")
    monkeypatch.setattr(m.family, "view", fail)
    with pytest.raises(Unsupported) as caught:
        m.encode([Message("user", "a", (tiny.picture(1, *size),))])
    assert str(caught.value) == (
        f"tiny-llava failed to read the picture 1.png ({str(error).rstrip('.')}): try another "
        "picture, or choose another model."
    )
    assert caplog.records[0].exc_info[1] is error


def test_an_image_processor_of_another_model_is_named(monkeypatch):
    m = model("llava")
    inputs = m.encode([Message("user", "a", (tiny.picture(1),))])
    features = m.family.features

    def one_less(values):
        found, deep = features(values)
        return found[1:], deep

    monkeypatch.setattr(m.family, "features", one_less)
    count = len(inputs.pixels[0].rows)
    with pytest.raises(Unsupported, match=rf"^tiny-llava turns a picture into {count - 1} feature"):
        list(m.look(inputs.tokens, inputs.pixels, "prefill"))


def test_a_picture_alone_is_no_question():
    m = model("llava")
    with pytest.raises(InputError, match=r"The prompt is empty: write something to continue\."):
        m.encode([Message("user", " ", (tiny.picture(1),))])
