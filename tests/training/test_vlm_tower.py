"""The tower is taught the cells of its pictures, and looked at honestly."""

import random

import pytest
import torch

from specviz.training.steps import History
from specviz.training.vlm_scenes import scene
from specviz.training.vlm_see import load, save
from specviz.training.vlm_symbols import NUMBER, SYMBOLS
from specviz.training.vlm_tower import (
    GLYPHS,
    UNITS,
    Batch,
    Reader,
    Said,
    batch_of,
    look,
    loss_of,
    targets,
)


@pytest.fixture(scope="module")
def reader() -> Reader:
    torch.manual_seed(1)
    return Reader()


def test_cells_are_told_what_they_say_and_which_glyph_they_hold() -> None:
    made = scene(random.Random(1), "train", "scores")
    symbols, glyphs, heights, ranks = targets(made)
    assert heights.max() == ranks.max() == -1
    line = made.lines[0]
    at = line.row * 16 + line.column
    assert SYMBOLS[symbols[at]] == made.symbols[line.row][line.column]
    assert [GLYPHS[g - 1] for g in glyphs[at : at + len(line.glyphs)]] == list(line.glyphs)
    assert symbols[240] == NUMBER[" score"] and glyphs[240] == 0
    assert (symbols >= 0).sum() == sum(bool(s) for row in made.symbols for s in row)


def test_labels_know_the_heights_of_their_bars() -> None:
    made = scene(random.Random(3), "train", "chart")
    _, _, heights, ranks = targets(made)
    sizes = [bar.height for bar in made.bars]
    assert heights[heights >= 0].tolist() == pytest.approx(sizes)
    found = ranks[ranks >= 0].tolist()
    assert [found.index(0), found.index(1)] == [sizes.index(max(sizes)), sizes.index(min(sizes))]
    assert sorted(found) == [0, 1] + [2] * (len(sizes) - 2)


def test_a_few_steps_lower_the_loss(reader: Reader) -> None:
    rng = random.Random(2)
    batch = batch_of([scene(rng, "train", "letters") for _ in range(2)], rng)
    assert batch.pixels.shape == (2, 3, 256, 256)
    assert batch.pixels.abs().max() <= 1.0
    stepper = torch.optim.AdamW(reader.parameters(), lr=1e-3)
    losses = []
    for _ in range(6):
        loss = loss_of(reader, batch)
        loss.backward()
        stepper.step()
        stepper.zero_grad()
        losses.append(loss.item())
    assert losses[-1] < 0.8 * losses[0]


def test_weights_go_round_through_the_file(reader: Reader, tmp_path) -> None:
    save(reader, tmp_path, History(48, 1.5))
    again, history = load(tmp_path)
    assert history == History(48, 1.5)
    for (name, mine), theirs in zip(
        reader.state_dict().items(), again.state_dict().values(), strict=True
    ):
        assert torch.equal(mine.half().float(), theirs), name
    fresh, history = load(tmp_path / "nothing")
    assert history == History() and fresh.says.weight.shape == (UNITS, 256)


class Knowing(Reader):
    """Says what it is told to: ``said`` and ``seen`` are logits for the next batches."""

    def __init__(self, wrong: int) -> None:
        super().__init__()
        self.wrong = wrong

    def tell(self, batch: Batch) -> None:
        self.batch = batch

    def forward(self, pixels: torch.Tensor) -> Said:
        symbols = self.batch.symbols
        said = torch.full((*symbols.shape, len(SYMBOLS)), -5.0)
        spoken = symbols >= 0
        said[spoken, symbols[spoken]] = 5.0
        if self.wrong:  # one unit more speaks in the first cell of the first picture
            said[0, 0, 7] = 5.0
        seen = torch.nn.functional.one_hot(self.batch.glyphs, 1 + len(GLYPHS)).float()
        ranks = torch.nn.functional.one_hot(self.batch.ranks.clamp(min=0), 3).float()
        return Said(said, seen, self.batch.heights, ranks)


@pytest.mark.parametrize("wrong", [0, 1])
def test_a_look_counts_cells_and_whole_pictures(wrong: int, monkeypatch) -> None:
    knowing = Knowing(wrong)

    def told(scenes, rng):
        batch = batch_of(scenes, rng)
        knowing.tell(batch)
        return batch

    monkeypatch.setattr("specviz.training.vlm_tower.batch_of", told)
    found = look(knowing, 6, seed=3)
    assert found.glyphs == found.ranks == 1.0
    if not wrong:
        assert found.said == found.silent == 1.0
        assert set(found.whole.values()) == {1.0}
    else:
        assert found.said < 1.0 or found.silent < 1.0
        assert min(found.whole.values()) < 1.0
