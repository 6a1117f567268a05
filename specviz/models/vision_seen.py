"""What a tower gets, turned back into a picture that a person can look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from specviz.pixels import opened as opened
from specviz.pixels import png_of


def png(pixels: np.ndarray) -> bytes:
    """``pixels`` [H, W, 3] uint8 as a PNG."""
    return png_of(Image.fromarray(np.ascontiguousarray(pixels)))


def unscaled(values: np.ndarray, processor: Any) -> np.ndarray:
    """Channels-first ``values`` [3, H, W] of an image processor as [H, W, 3] uint8."""
    pixels = np.asarray(values, dtype=np.float64)
    if processor.do_normalize:
        mean, std = (np.asarray(v).reshape(3, 1, 1) for v in _statistics(processor))
        pixels = pixels * std + mean
    if processor.do_rescale:
        pixels = pixels / processor.rescale_factor
    return np.moveaxis(pixels.round().clip(0, 255).astype(np.uint8), 0, -1)


def _statistics(processor: Any) -> tuple[Any, Any]:
    return processor.image_mean, processor.image_std


def joined(tiles: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """``tiles`` [rows * columns, 3, h, w], row by row, as one [3, rows * h, columns * w]."""
    _, channels, height, width = tiles.shape
    grid = tiles.reshape(rows, columns, channels, height, width)
    return grid.transpose(2, 0, 3, 1, 4).reshape(channels, rows * height, columns * width)


def unpatched(patches: np.ndarray, rows: int, columns: int, processor: Any) -> np.ndarray:
    """Qwen's ``patches`` [rows * columns, 3 * times * p * p] as one [3, rows * p, columns * p].

    The patches come in blocks of ``merge_size`` squared; a still picture repeats in time.
    """
    size, merge, times = processor.patch_size, processor.merge_size, processor.temporal_patch_size
    grid = patches.reshape(
        rows // merge, columns // merge, merge, merge, -1, times, size, size
    )  # fmt: skip
    still = grid[:, :, :, :, :, 0]
    return still.transpose(4, 0, 2, 5, 1, 3, 6).reshape(-1, rows * size, columns * size)
