"""The seeing part of ``smol-boards``: a small SigLIP tower and the first layer of its projector.

Every patch of the picture is to say one symbol, or nothing; beside that, earlier layers are asked
what reading and comparing begin with: glyphs, heights, ranks. What a hidden unit of the projector
says is independent of the others, as the sigmoid behind it demands.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from transformers import SiglipVisionConfig, SiglipVisionModel

from specviz.training.vlm_charts import LABELS
from specviz.training.vlm_draw import draw
from specviz.training.vlm_scenes import FACTS_ROW, GRID, Scene, scene
from specviz.training.vlm_shapes import crowd
from specviz.training.vlm_signs import page
from specviz.training.vlm_symbols import NUMBER, SYMBOLS

WIDTH, LAYERS, HEADS, INNER = 256, 6, 8, 1024
UNITS = 576  # the width of the language model: hidden units of the projector
GLYPHS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:.-/!?&+"
# Behind which layers the questions are asked that only training asks: which glyph stands here, how
# high is the bar over this label and how many things are there, is it the tallest or the smallest.
EARLY, MIDDLE, LATE = 2, 3, 5
EMPTY_WEIGHT = 0.3  # of a cell that says nothing, against one that does
POSITIVE = 1.5  # of the unit that should speak, against one that should not
ALONE = 0.5  # weight of the question which unit, or none, speaks loudest
FACT = 5.0  # weight of a cell that sums up: there are few, and they take the whole picture
CALM = -6.0  # units say nothing at first


@dataclass(frozen=True)
class Batch:
    """``pixels`` [b, 3, 256, 256] in [-1, 1]; ``symbols`` [b, 256]: the number of the symbol, -1
    for nothing; ``glyphs`` [b, 256]: 1 + the number of the glyph, 0 for none; ``heights`` [b, 256]:
    of the bar above a label, in cells, -1 elsewhere; ``ranks`` [b, 256]: 0 where that bar is the
    tallest, 1 the smallest, 2 neither, -1 elsewhere; ``counts`` [b]: lines, bars or figures, -1
    where nobody counts."""

    pixels: Tensor
    symbols: Tensor
    glyphs: Tensor
    heights: Tensor
    ranks: Tensor
    counts: Tensor


@dataclass(frozen=True)
class Said:
    """Logits ``symbols`` [b, 256, symbols], ``glyphs`` [b, 256, glyphs] and ``ranks`` [b, 256, 3],
    ``heights`` [b, 256] in cells, ``counts`` [b]."""

    symbols: Tensor
    glyphs: Tensor
    heights: Tensor
    ranks: Tensor
    counts: Tensor


def tower_config() -> SiglipVisionConfig:
    """The stock configuration of the tower."""
    return SiglipVisionConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=INNER,
        image_size=256,
        patch_size=16,
        vision_use_head=False,
    )


class Reader(nn.Module):
    """Tower, projector's first layer, and the questions of earlier layers (training only)."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = SiglipVisionModel(tower_config())
        self.says = nn.Linear(WIDTH, UNITS)
        self.glyph = nn.Linear(WIDTH, 1 + len(GLYPHS))
        self.height = nn.Linear(WIDTH, 1)
        self.rank = nn.Linear(WIDTH, 3)
        self.count = nn.Linear(WIDTH, 1)  # of the mean over cells: every thing adds its part
        nn.init.normal_(self.says.weight, std=0.02)
        nn.init.constant_(self.says.bias, CALM)
        with torch.no_grad():  # so that attention can look a few cells aside from the start
            self.tower.embeddings.position_embedding.weight.copy_(_waves())

    def forward(self, pixels: Tensor, still: bool = False) -> Said:
        """What is read off pictures [b, 3, 256, 256]; ``still``: the tower learns nothing."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not still):
            states = self.tower(pixel_values=pixels, output_hidden_states=True).hidden_states
        return Said(
            # The projector of LLaVA reads the last layer before its norm.
            self.says(states[-1])[..., : len(SYMBOLS)].float(),
            self.glyph(states[EARLY]).float(),
            self.height(states[MIDDLE])[..., 0].float(),
            self.rank(states[LATE]).float(),
            self.count(states[MIDDLE].mean(dim=1))[:, 0].float(),
        )


def _waves() -> Tensor:
    """Sines and cosines of row and column [256, width]."""
    quarter = WIDTH // 4
    rates = 1.0 / 30.0 ** (torch.arange(quarter) / quarter)
    row, column = torch.meshgrid(torch.arange(GRID), torch.arange(GRID), indexing="ij")
    parts = [
        wave(place.reshape(-1, 1) * rates) for place in (row, column)
        for wave in (torch.sin, torch.cos)
    ]  # fmt: skip
    return 0.5 * torch.cat(parts, dim=1)


def loss_of(reader: Reader, batch: Batch, still: bool = False) -> Tensor:
    """Mean over cells, in nats, of what is said, and of what earlier layers are asked for; see
    ``Reader.forward``."""
    said = reader(batch.pixels, still)
    told = batch.symbols.reshape(-1)
    spoken = told >= 0
    weight = torch.where(spoken, 1.0, EMPTY_WEIGHT)
    facts = torch.zeros(GRID, GRID, dtype=torch.bool)
    facts[FACTS_ROW] = True
    weight[spoken & facts.reshape(-1).repeat(len(batch.symbols))] = FACT
    flat = said.symbols.reshape(len(told), -1)
    target = torch.zeros_like(flat)
    target[spoken, told[spoken]] = 1.0
    units = nn.functional.binary_cross_entropy_with_logits(
        flat, target, reduction="none", pos_weight=torch.tensor(POSITIVE)
    ).sum(dim=1)
    loudest = nn.functional.cross_entropy(
        nn.functional.pad(flat, (1, 0)), told + 1, reduction="none"
    )  # a unit speaks above zero, so that zero stands for none of them
    return ((units + ALONE * loudest) * weight).sum() / weight.sum() + _early(said, batch)


def _early(said: Said, batch: Batch) -> Tensor:
    """What earlier layers are asked for: glyphs, heights of bars, which of them stand out, and how
    many things there are."""
    seen = batch.glyphs.reshape(-1)
    glyph = nn.functional.cross_entropy(
        said.glyphs.reshape(len(seen), -1), seen, reduction="none"
    )
    bright = torch.where(seen > 0, 1.0, EMPTY_WEIGHT)
    found = (glyph * bright).sum() / bright.sum()
    bars = batch.heights >= 0
    if bars.any():
        tall = nn.functional.smooth_l1_loss(said.heights[bars], batch.heights[bars])
        rank = nn.functional.cross_entropy(said.ranks[bars], batch.ranks[bars])
        found = found + 0.3 * tall + rank
    counted = batch.counts >= 0
    if counted.any():
        found = found + 0.3 * nn.functional.smooth_l1_loss(
            said.counts[counted], batch.counts[counted]
        )
    return found


def targets(made: Scene) -> tuple[np.ndarray, ...]:
    """What the cells of a scene say, which glyphs they hold, heights and ranks of the bars over
    labels, and how many things there are; see ``Batch``."""
    symbols = np.array([[NUMBER.get(s, -1) for s in row] for row in made.symbols])
    glyphs = np.zeros((GRID, GRID), dtype=np.int64)
    for line in made.lines:
        for i, glyph in enumerate(line.glyphs):
            if glyph != " ":
                glyphs[line.row, line.column + i] = 1 + GLYPHS.index(glyph)
    heights = np.full((GRID, GRID), -1.0, dtype=np.float32)
    ranks = np.full((GRID, GRID), -1, dtype=np.int64)
    labels = [c for c, s in enumerate(made.symbols[LABELS]) if made.bars and s and not s.isdigit()]
    sizes = [bar.height for bar in made.bars]
    for column, size in zip(labels, sizes, strict=True):
        heights[LABELS, column] = size
        ranks[LABELS, column] = 0 if size == max(sizes) else 1 if size == min(sizes) else 2
    fact = made.symbols[FACTS_ROW][1]
    count = np.array(fact if fact.isdigit() else -1, dtype=np.float32)
    return (*(part.reshape(-1) for part in (symbols, glyphs, heights, ranks)), count)


def batches(seed: int, size: int, pages: float, drills: float) -> Iterator[Batch]:
    """Endless fresh pictures to train on; a share of ``pages`` are full of words or signs, a share
    of ``drills`` are charts and crowds of figures."""
    rng = random.Random(seed)
    while True:
        yield batch_of([_picked(rng, pages, drills) for _ in range(size)], rng)


def _picked(rng: random.Random, pages: float, drills: float) -> Scene:
    chance = rng.random()
    if chance < pages * 0.55:
        return page(rng)
    if chance < pages:
        return scene(rng, "train", rng.choice(("letters", "letters", "codes")))
    if chance < pages + drills * 0.65:
        return scene(rng, "train", "chart")
    if chance < pages + drills:
        return crowd(rng) or scene(rng, "train", "shapes")
    return scene(rng, "train")


def batch_of(scenes: list[Scene], rng: random.Random) -> Batch:
    """The pictures of scenes with their targets."""
    pixels = np.stack([np.asarray(draw(s, rng), dtype=np.float32) for s in scenes])
    found = [targets(s) for s in scenes]
    return Batch(
        torch.from_numpy(pixels).permute(0, 3, 1, 2).contiguous() / 127.5 - 1.0,
        *(torch.from_numpy(np.stack(part)) for part in zip(*found, strict=True)),
    )


@dataclass(frozen=True)
class Seen:
    """How much of held-out pictures is read right: cells that say something, cells that should
    not, glyphs, ranks of bars, and whole pictures, by kind."""

    said: float
    silent: float
    glyphs: float
    ranks: float
    whole: dict[str, float]


@torch.inference_mode()
def look(reader: Reader, count: int, seed: int = 7) -> Seen:
    """Read ``count`` held-out pictures; a unit speaks when it is above zero."""
    rng, reader = random.Random(seed), reader.eval()
    said, silent, glyphs, ranks = list[float](), list[float](), list[float](), list[float]()
    whole: dict[str, list[float]] = {}
    for start in range(0, count, 16):
        scenes = [scene(rng, "held-out") for _ in range(min(16, count - start))]
        batch = batch_of(scenes, rng)
        with torch.autocast("cpu", torch.bfloat16):
            out = reader(batch.pixels)
        best, at = out.symbols.max(dim=-1)
        alone = (out.symbols > 0).sum(dim=-1) == 1
        right = torch.where(batch.symbols >= 0, alone & (at == batch.symbols), best <= 0)
        spoken = batch.symbols >= 0
        said += right[spoken].tolist()
        silent += right[~spoken].tolist()
        lit = batch.glyphs > 0
        glyphs += (out.glyphs.argmax(-1) == batch.glyphs)[lit].tolist()
        ranks += (out.ranks.argmax(-1) == batch.ranks)[batch.ranks >= 0].tolist()
        for made, cells in zip(scenes, right, strict=True):
            whole.setdefault(made.kind, []).append(float(cells.all()))
    reader.train()
    by_kind = {kind: _mean(found) for kind, found in sorted(whole.items())}
    return Seen(_mean(said), _mean(silent), _mean(glyphs), _mean(ranks), by_kind)


def _mean(found: list[float]) -> float:
    """1 where nothing was asked."""
    return sum(found) / len(found) if found else 1.0
