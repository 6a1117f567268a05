"""Random image-text checkpoints of a few thousand weights, with processors and pictures."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import torch
from PIL import Image
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPVisionConfig,
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaNextConfig,
    LlavaNextForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    SiglipVisionConfig,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
)
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil
from transformers.models.llava_next.image_processing_pil_llava_next import (
    LlavaNextImageProcessorPil,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

from specviz.models.base import Picture
from specviz.models.vision import VisionModel
from tests.models.tiny import CHAT, SHAPE

VOCABULARY = 330
SPECIALS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<|image_pad|>", "<|video_pad|>",
    "<|vision_start|>", "<|vision_end|>", "<fake_token_around_image>", "<global-img>",
    *(f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)),
)  # fmt: skip
ID = {name: at for at, name in enumerate(SPECIALS)}
LISTED = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{% for part in m['content'] %}"
    "{% if part['type'] == 'image' %}PLACE{% else %}{{ part['text'] }}{% endif %}{% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXT = {**SHAPE, "vocab_size": VOCABULARY, "num_hidden_layers": 2}
AXES = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
TOWER = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
         "num_attention_heads": 2, "initializer_range": 0.2}  # fmt: skip
ARCHITECTURES = ("llava", "llava-clip", "llava_next", "idefics3", "smolvlm", "qwen2_5_vl",
                 "qwen3_vl")  # fmt: skip


def tokenizer(chat: str) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer with the control tokens of all families."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*SPECIALS, *alphabet, "ab", "abc"]
    backend = Tokenizer(
        models.BPE(
            vocab={p: i for i, p in enumerate(pieces)}, merges=[("a", "b"), ("ab", "c")]
        )
    )
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        chat_template=chat,
    )


def _llava() -> Any:
    tower = SiglipVisionConfig(**TOWER, image_size=32, patch_size=8)
    return LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=tower, text_config=LlamaConfig(**TEXT), image_token_index=ID["<image>"],
            vision_feature_layer=-1, vision_feature_select_strategy="full",
            projector_hidden_act="sigmoid",
        )
    )  # fmt: skip


def _clip() -> Any:
    tower = CLIPVisionConfig(**TOWER, image_size=32, patch_size=8)
    return LlavaForConditionalGeneration(
        LlavaConfig(
            vision_config=tower, text_config=LlamaConfig(**TEXT), image_token_index=ID["<image>"]
        )
    )  # fmt: skip


GRID = [[32, 64], [64, 32], [64, 64]]


def _llava_next() -> Any:
    tower = CLIPVisionConfig(**TOWER, image_size=32, patch_size=8)
    return LlavaNextForConditionalGeneration(
        LlavaNextConfig(
            vision_config=tower, text_config=LlamaConfig(**TEXT), image_token_index=ID["<image>"],
            image_grid_pinpoints=GRID,
        )
    )  # fmt: skip


def _tiled(config: Any, made: Any) -> Any:
    tower = {**TOWER, "image_size": 32, "patch_size": 8}
    text = LlamaConfig(**TEXT)
    shape = config(
        vision_config=tower, text_config=text, scale_factor=2, image_token_id=ID["<image>"],
        pad_token_id=0, tie_word_embeddings=False,
    )  # fmt: skip
    return made(shape)


def _qwen25() -> Any:
    tower = {"depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 48,
             "out_hidden_size": 48, "patch_size": 8, "window_size": 32,
             "fullatt_block_indexes": [1], "initializer_range": 0.2}  # fmt: skip
    return Qwen2_5_VLForConditionalGeneration(
        Qwen2_5_VLConfig(
            vision_config=tower, text_config={**TEXT, "rope_parameters": AXES},
            image_token_id=ID["<|image_pad|>"], video_token_id=ID["<|video_pad|>"],
            vision_start_token_id=ID["<|vision_start|>"],
            vision_end_token_id=ID["<|vision_end|>"], tie_word_embeddings=False,
        )
    )  # fmt: skip


def _qwen3() -> Any:
    tower = {"depth": 3, "hidden_size": 32, "num_heads": 2, "intermediate_size": 48,
             "out_hidden_size": 48, "patch_size": 8, "num_position_embeddings": 64,
             "deepstack_visual_indexes": [0, 1], "initializer_range": 0.2}  # fmt: skip
    text = {**TEXT, "num_hidden_layers": 3, "rope_parameters": AXES}
    return Qwen3VLForConditionalGeneration(
        Qwen3VLConfig(
            vision_config=tower, text_config=text,
            image_token_id=ID["<|image_pad|>"], video_token_id=ID["<|video_pad|>"],
            vision_start_token_id=ID["<|vision_start|>"],
            vision_end_token_id=ID["<|vision_end|>"], tie_word_embeddings=False,
        )
    )  # fmt: skip


def net(architecture: str, dtype: torch.dtype = torch.float64) -> Any:
    """A random network of a real class; its generation settings hold a penalty that must not
    matter."""
    torch.manual_seed(11)
    made = {
        "llava": _llava,
        "llava-clip": _clip,
        "llava_next": _llava_next,
        "idefics3": lambda: _tiled(Idefics3Config, Idefics3ForConditionalGeneration),
        "smolvlm": lambda: _tiled(SmolVLMConfig, SmolVLMForConditionalGeneration),
        "qwen2_5_vl": _qwen25,
        "qwen3_vl": _qwen3,
    }[architecture]()
    # A picture that nothing depends on would test nothing.
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if weight.ndim > 1:
                weight.normal_(0, 0.2)
            elif "norm" not in name:
                weight.normal_(0, 0.1)
    made.generation_config.repetition_penalty = 1.3
    return made.to(dtype).eval()


def processor(architecture: str) -> Any:
    """The image processor that goes with ``net``, without torchvision."""
    square = {"height": 32, "width": 32}
    if architecture == "llava":
        return SiglipImageProcessorPil(size=square)
    if architecture == "llava-clip":
        return LlavaImageProcessorPil(size={"shortest_edge": 32}, crop_size=square)
    if architecture == "llava_next":
        return LlavaNextImageProcessorPil(
            size={"shortest_edge": 32}, crop_size=square, image_grid_pinpoints=GRID
        )
    if architecture in ("idefics3", "smolvlm"):
        kind = Idefics3ImageProcessorPil if architecture == "idefics3" else SmolVLMImageProcessorPil
        return kind(size={"longest_edge": 96}, max_image_size={"longest_edge": 32})
    return Qwen2VLImageProcessorPil(
        patch_size=8, min_pixels=16 * 16, max_pixels=64 * 64, merge_size=2, temporal_patch_size=2
    )


def template(architecture: str) -> str:
    """A chat template that knows pictures; LLaVA with a SigLIP tower gets one of texts only."""
    if architecture == "llava":
        return CHAT
    qwen = architecture.startswith("qwen")
    return LISTED.replace(
        "PLACE", "<|vision_start|><|image_pad|><|vision_end|>" if qwen else "<image>"
    )


def model(architecture: str, dtype: torch.dtype = torch.float64) -> VisionModel:
    """A complete tiny model, ready to open sessions on."""
    return VisionModel(
        net(architecture, dtype),
        tokenizer(template(architecture)),
        processor(architecture),
        label=f"tiny-{architecture}",
        digest="0",
    )


def picture(seed: int, width: int = 48, height: int = 40) -> Picture:
    """A picture of a few random blocks of colour."""
    rng = np.random.default_rng(seed)
    small = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8))
    out = io.BytesIO()
    small.resize((width, height), Image.Resampling.NEAREST).save(out, "PNG")
    return Picture(f"{seed}.png", out.getvalue(), width, height)


def words(seed: int, count: int = 12) -> str:
    """A text of few different tokens, so that drafts fit."""
    rng = random.Random(seed)
    return "".join(rng.choice("abc de") for _ in range(count)) + "?"
