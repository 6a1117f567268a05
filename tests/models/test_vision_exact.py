"""Image-text networks where a coarse look would not notice: long prompts, single pixels, begins."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers.processors import TemplateProcessing
from transformers import LlavaProcessor

from specviz.models import hf_load, registry
from specviz.models.base import Capture, Message, Picture, finish
from specviz.models.session import CHUNK
from specviz.models.vision import VisionModel
from tests.models import tiny_vision as tiny


@cache
def model(architecture: str) -> VisionModel:
    torch.set_num_threads(1)
    return tiny.model(architecture)


@pytest.mark.parametrize("architecture", ["llava-clip", "smolvlm", "qwen2_5_vl", "qwen3_vl"])
def test_a_prompt_of_several_chunks_is_right_in_every_position(architecture: str):
    """The chunks cut pictures in two: each part gets its own features and positions."""
    m = model(architecture)
    pictures = tuple(tiny.picture(i, 96, 96) for i in range(16))
    inputs = m.encode([Message("user", "ab", pictures)])
    assert any(seen.span[0] < CHUNK < seen.span[1] for seen in inputs.pictures)
    scores = finish(m.open(Capture(prompt_rows="all")).prefill(inputs))
    with torch.inference_mode():
        logits = m.net(**m.given(inputs), use_cache=False).logits[0]
    if architecture.startswith("qwen"):
        m.net.model.rope_deltas = None
    assert scores.picks == tuple(logits.argmax(-1).tolist())
    assert scores.peaks == pytest.approx(logits.max(-1).values.tolist(), abs=1e-4)


@pytest.mark.parametrize("architecture", ["llava_next", "qwen2_5_vl"])
def test_a_picture_that_needs_no_resizing_comes_back_to_the_pixel(architecture: str):
    pixels = np.random.default_rng(5).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    picture = Picture("noise.png", out.getvalue(), 64, 64)
    (seen,) = model(architecture).encode([Message("user", "a", (picture,))]).pictures
    shown = np.asarray(Image.open(io.BytesIO(seen.png)), dtype=int)
    assert np.abs(shown - pixels).max() <= 1


def test_a_begin_token_that_the_template_leaves_out_is_written_as_the_real_processor_does():
    """The template of LLaVA 1.6 Vicuna has none: its processor lets the tokenizer write it."""
    template = "USER: <image>\n{{ messages[0]['content'][1]['text'] }} ASSISTANT:"
    tokenizer = tiny.tokenizer(template)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="<|im_start|> $A", special_tokens=[("<|im_start|>", 1)]
    )
    m = VisionModel(
        tiny.net("llava-clip"), tokenizer, tiny.processor("llava-clip"), label="v", digest="0"
    )
    picture = tiny.picture(1)
    inputs = m.encode([Message("user", "ab?", (picture,))])
    real = LlavaProcessor(
        image_processor=m.family.processor, tokenizer=tokenizer, chat_template=template,
        patch_size=8, vision_feature_select_strategy="default", num_additional_image_tokens=1,
    )  # fmt: skip
    parts = [{"type": "image"}, {"type": "text", "text": "ab?"}]
    theirs = real.apply_chat_template(
        [{"role": "user", "content": [{**parts[0], "image": Image.open(io.BytesIO(picture.png))},
                                      parts[1]]}],
        tokenize=True, return_dict=True,
    )  # fmt: skip
    assert theirs["input_ids"] == [list(inputs.tokens)]
    assert inputs.tokens[0] == 1 and inputs.tokens.count(1) == 1


@pytest.mark.parametrize("architecture", ["llava", "qwen2_5_vl"])
def test_a_decoder_that_was_never_tried_is_checked_when_loaded(
    architecture: str, tmp_path, monkeypatch
):
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.setattr(registry, "_loaded", {})
    monkeypatch.setattr(hf_load, "VERIFIED", set())
    tiny.net(architecture, torch.float32).save_pretrained(tmp_path)
    tiny.tokenizer(tiny.template(architecture)).save_pretrained(tmp_path)
    tiny.processor(architecture).save_pretrained(tmp_path)
    gaps = []
    honest = hf_load.tree_gap
    monkeypatch.setattr(hf_load, "tree_gap", lambda m: gaps.append(honest(m)) or gaps[-1])
    assert isinstance(registry.load(str(tmp_path), "cpu", "float32", packed=False), VisionModel)
    assert len(gaps) == 1 and gaps[0] < 1e-4
