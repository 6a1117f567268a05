"""How the families of image-text models read a picture, one class each.

A family says which placeholders stand for a picture, what its tower gets and gives, and where its
tokens stand. Everything is a function of its arguments: nothing is kept in a module of the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from transformers.image_processing_utils import get_patch_output_size, select_best_resolution
from transformers.image_utils import ChannelDimension
from transformers.models.llava_next.modeling_llava_next import unpad_image

from specviz.models.base import Unsupported
from specviz.models.vision_seen import joined, unpatched, unscaled


@dataclass(frozen=True)
class View:
    """One picture as a model reads it.

    ``text`` takes the place of one placeholder in the prompt; ``values``: what the image processor
    made; ``pixels`` [H, W, 3] uint8: the same to look at; ``how``: what became of it, behind
    "Shown to the model at W x H pixels".
    """

    text: str
    values: Mapping[str, Tensor] = field(repr=False)
    pixels: np.ndarray = field(repr=False)
    how: str = ""


@dataclass(frozen=True)
class Placed:
    """A view in its prompt: ``values``, and the token positions ``rows`` [n] of its features."""

    values: Mapping[str, Tensor] = field(repr=False)
    rows: tuple[int, ...] = field(repr=False)


class Family:
    """What all families share; ``net`` is a transformers ``…ForConditionalGeneration``."""

    named: tuple[str, ...] = ()  # further tokens that only pictures have
    inner = "language_model"
    typed = False  # transformers wants to be told which tokens stand for a picture

    def __init__(self, net: Any, tokenizer: Any, processor: Any, label: str) -> None:
        self.net, self.processor, self.label = net, processor, label
        self.placeholder: int = net.config.image_token_id
        self.mark: str = tokenizer.convert_ids_to_tokens(self.placeholder)
        known = tokenizer.get_vocab()
        self.marks = frozenset(known[name] for name in self.named if name in known)
        self.language: Any = getattr(net.model, self.inner)

    @property
    def inline(self) -> str:
        """What a prompt holds for one picture where the chat template has no word for it."""
        return self.mark

    def view(self, image: Image.Image) -> View:
        """Read one picture; raises whatever the image processor raises."""
        raise NotImplementedError

    def features(self, values: Mapping[str, Tensor]) -> tuple[Tensor, list[Tensor]]:
        """What the tower makes of one picture: [n, hidden], and the same of deeper layers."""
        given = {name: self.fitting(value) for name, value in values.items()}
        out = self.net.model.get_image_features(**given, return_dict=True)
        return torch.cat(list(out.pooler_output)), []

    def positions(
        self, tokens: Sequence[int], placed: Sequence[Placed]
    ) -> tuple[Tensor | None, int]:
        """Positions [axes, n] of a prompt, None where they count up, and how far later tokens are
        off from counting."""
        return None, 0

    def together(self, placed: Sequence[Placed]) -> dict[str, Tensor]:
        """The values of all pictures as transformers itself takes them in one call."""
        names = placed[0].values if placed else ()
        return {name: torch.cat([p.values[name] for p in placed]) for name in names}

    def _read(self, image: Image.Image, **options: Any) -> dict[str, Any]:
        read = self.processor.preprocess([image], return_tensors="pt", **options)
        return dict(read)

    def fitting(self, value: Tensor) -> Tensor:
        """``value`` in the number format of the network."""
        floating = torch.is_floating_point(value)
        return value.to(self.net.dtype) if floating else value


class Llava(Family):
    """LLaVA: one square per picture, one placeholder per patch of its tower."""

    def __init__(self, net: Any, tokenizer: Any, processor: Any, label: str) -> None:
        super().__init__(net, tokenizer, processor, label)
        tower = net.config.vision_config
        if tower.model_type == "pixtral":
            raise Unsupported(
                f"{label} reads pictures with a Pixtral tower, whose rows of patches end in tokens "
                "of their own: choose a LLaVA model with a CLIP or SigLIP tower."
            )
        self._patch = tower.patch_size
        self._beside = _beside(net)

    def view(self, image: Image.Image) -> View:
        values = self._read(image)
        square = values["pixel_values"][0]
        height, width = square.shape[-2:]
        count = (height // self._patch) * (width // self._patch) + self._beside
        how = _fitted(image, width, height, self.processor)
        pixels = unscaled(square.numpy(), self.processor)
        return View(self.mark * count, values, pixels, how)


class LlavaNext(Family):
    """LLaVA-NeXT: the whole picture small, then tiles of it, each row of patches with an end."""

    def __init__(self, net: Any, tokenizer: Any, processor: Any, label: str) -> None:
        super().__init__(net, tokenizer, processor, label)
        tower = net.config.vision_config
        self._side, self._patch = tower.image_size, tower.patch_size
        self._beside = _beside(net)

    def view(self, image: Image.Image) -> View:
        values = self._read(image)
        tiles = values["pixel_values"][0].numpy()
        size = tuple(values["image_sizes"][0].tolist())
        best = select_best_resolution(size, self.net.config.image_grid_pinpoints)
        rows, columns = best[0] // self._side, best[1] // self._side
        patches = self._side // self._patch
        grid = torch.empty(1, rows * patches, columns * patches)
        _, high, wide = unpad_image(grid, size).shape
        count = patches * patches + self._beside + high * (wide + 1)
        whole = unscaled(joined(tiles[1:], rows, columns), self.processor)
        pixels = _without_edges(whole, np.zeros((3, *size), dtype=np.uint8))
        how = f", in {rows} x {columns} tiles of {self._side} x {self._side} and once as a whole"
        return View(self.mark * count, values, pixels, how)

    def together(self, placed: Sequence[Placed]) -> dict[str, Tensor]:
        most = max(p.values["pixel_values"].shape[1] for p in placed)
        filled = []
        for values in (p.values["pixel_values"] for p in placed):
            missing = most - values.shape[1]
            filled.append(torch.nn.functional.pad(values, (0, 0, 0, 0, 0, 0, 0, missing)))
        sizes = torch.cat([p.values["image_sizes"] for p in placed])
        return {"pixel_values": torch.cat(filled), "image_sizes": sizes}


class Idefics3(Family):
    """Idefics3 and SmolVLM: tiles between marks that name row and column, then a whole view."""

    inner = "text_model"
    around, whole = "<fake_token_around_image>", "<global-img>"
    named = (
        around, whole,
        *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
    )  # fmt: skip

    def view(self, image: Image.Image) -> View:
        read = self._read(image, return_row_col_info=True)
        rows, columns = int(read.pop("rows")[0][0]), int(read.pop("cols")[0][0])
        frames = read["pixel_values"][0].numpy()
        run = self.mark * self.net.model.image_seq_len
        text = ""
        if rows and columns:
            for row in range(1, rows + 1):
                for column in range(1, columns + 1):
                    text += f"{self.around}<row_{row}_col_{column}>{run}"
                text += "\n"
            text += "\n"
            side = frames.shape[-1]
            how = _stretched(image, columns * side, rows * side)
            how += f", in {rows} x {columns} tiles of {side} x {side} and once as a whole"
            shown = joined(frames[: rows * columns], rows, columns)
        else:
            how, shown = _stretched(image, *frames.shape[:-3:-1]), frames[0]
        text += f"{self.around}{self.whole}{run}{self.around}"
        return View(text, read, unscaled(shown, self.processor), how)

    def together(self, placed: Sequence[Placed]) -> dict[str, Tensor]:
        names = placed[0].values if placed else ()
        return {name: torch.cat([p.values[name] for p in placed], dim=1) for name in names}


class Qwen25(Family):
    """Qwen2.5-VL: as many patches as the picture has; time, height and width are axes.

    Its checkpoints allow a picture 16 thousand tokens; here it gets as many as one picture of a
    megapixel, what transformers itself allows unless told otherwise.
    """

    most = 1280

    def __init__(self, net: Any, tokenizer: Any, processor: Any, label: str) -> None:
        super().__init__(net, tokenizer, processor, label)
        area = self.most * (processor.patch_size * processor.merge_size) ** 2
        size = dict(processor.size)
        size["longest_edge"] = min(size["longest_edge"], area)
        processor.size = type(processor.size)(**size)

    named = ("<|vision_start|>", "<|vision_end|>", "<|vision_pad|>", "<|video_pad|>")
    typed = True

    @property
    def inline(self) -> str:
        return f"<|vision_start|>{self.mark}<|vision_end|>"

    def view(self, image: Image.Image) -> View:
        values = self._read(image)
        _, rows, columns = values["image_grid_thw"][0].tolist()
        count = rows * columns // self.processor.merge_size**2
        patches = values["pixel_values"].numpy()
        shown = unpatched(patches, rows, columns, self.processor)
        return View(self.mark * count, values, unscaled(shown, self.processor))

    def positions(
        self, tokens: Sequence[int], placed: Sequence[Placed]
    ) -> tuple[Tensor | None, int]:
        if not placed:
            return None, 0
        kinds = torch.zeros(1, len(tokens), dtype=torch.int)
        kinds[0, [row for p in placed for row in p.rows]] = 1
        grids = torch.cat([p.values["image_grid_thw"] for p in placed])
        ids = torch.tensor([list(tokens)])
        found, delta = self.net.model.get_rope_index(ids, kinds, image_grid_thw=grids)
        return found[:, 0], int(delta[0, 0])


class Qwen3(Qwen25):
    """Qwen3-VL: like Qwen2.5-VL, and features of deeper tower layers for the first layers."""

    def features(self, values: Mapping[str, Tensor]) -> tuple[Tensor, list[Tensor]]:
        given = {name: self.fitting(value) for name, value in values.items()}
        out = self.net.model.get_image_features(**given, return_dict=True)
        deep = [torch.cat(list(layer)) for layer in out.deepstack_features]
        return torch.cat(list(out.pooler_output)), deep


FAMILIES: dict[str, type[Family]] = {
    "llava": Llava,
    "llava_next": LlavaNext,
    "idefics3": Idefics3,
    "smolvlm": Idefics3,
    "qwen2_5_vl": Qwen25,
    "qwen3_vl": Qwen3,
}


def _beside(net: Any) -> int:
    """Features of a view beside those of its patches: a class token has one, "default" drops the
    first."""
    named = [name for name, _ in net.model.vision_tower.named_parameters()]
    extra = any(name.endswith(("class_embedding", "cls_token")) for name in named)
    return int(extra) - int(net.config.vision_feature_select_strategy == "default")


def _fitted(image: Image.Image, width: int, height: int, processor: Any) -> str:
    """How a picture came to have ``width`` x ``height`` pixels: cut, stretched or neither."""
    how = _stretched(image, width, height)
    if how and getattr(processor, "do_pad", False):
        return ", with bars beside it"
    return ", its edges cut off" if how and processor.do_center_crop else how


def _stretched(image: Image.Image, width: int, height: int) -> str:
    """Says so where ``width`` and ``height`` are not, but for rounding, those of ``image``."""
    off = abs(image.width * height - image.height * width)
    return ", stretched to fit" if off > max(image.size) + max(width, height) else ""


def _without_edges(pixels: np.ndarray, like: np.ndarray) -> np.ndarray:
    """``pixels`` [H, W, 3] without the bars that filled a picture of the shape of ``like`` up."""
    height, width = pixels.shape[:2]
    high, wide = get_patch_output_size(like, (height, width), ChannelDimension.FIRST)
    top, left = (height - high) // 2, (width - wide) // 2
    return pixels[top : top + high, left : left + wide]
