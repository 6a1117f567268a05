"""The tower is taught the cells of its pictures, and looked at honestly."""

import json
import random

import pytest
import torch
from huggingface_hub import save_torch_state_dict
from safetensors.torch import save_file

from specviz.models.base import InputError
from specviz.training.steps import History
from specviz.training.vlm_folder import shipped
from specviz.training.vlm_scenes import scene
from specviz.training.vlm_see import load, meet, save
from specviz.training.vlm_symbols import NUMBER, SYMBOLS
from specviz.training.vlm_tower import (
    CALM,
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
    symbols, glyphs, heights, ranks, count = targets(made)
    assert heights.max() == ranks.max() == count == -1
    line = made.lines[0]
    at = line.row * 16 + line.column
    assert SYMBOLS[symbols[at]] == made.symbols[line.row][line.column]
    assert [GLYPHS[g - 1] for g in glyphs[at : at + len(line.glyphs)]] == list(line.glyphs)
    assert symbols[240] == NUMBER[" score"] and glyphs[240] == 0
    assert (symbols >= 0).sum() == sum(bool(s) for row in made.symbols for s in row)


def test_labels_know_the_heights_of_their_bars() -> None:
    made = scene(random.Random(3), "train", "chart")
    _, _, heights, ranks, count = targets(made)
    sizes = [bar.height for bar in made.bars]
    assert count == len(sizes)
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


def shipped_by(reader: Reader, folder) -> None:
    """What ``ship`` writes of a trained tower."""
    parts = shipped(reader.state_dict(), len(SYMBOLS))
    save_torch_state_dict(parts, folder, filename_pattern="tower{suffix}.safetensors",
                          max_shard_size="9MB")  # fmt: skip
    (folder / "symbols.json").write_text(json.dumps({"symbols": SYMBOLS}))


def test_a_run_goes_on_from_what_was_shipped(reader: Reader, tmp_path) -> None:
    ship = tmp_path / "ship"
    ship.mkdir()
    shipped_by(reader, ship)
    assert len(list(ship.glob("tower-*.safetensors"))) == 2
    again, history = load(tmp_path / "out", ship)
    assert history == History()
    kept = {n: w.half() for n, w in reader.state_dict().items()}
    found = {n: w.half() for n, w in again.state_dict().items()}
    assert all(torch.equal(kept[n], found[n]) for n in kept if n.startswith("tower."))
    for name in ("says.weight", "says.bias"):
        assert torch.equal(kept[name][: len(SYMBOLS)], found[name][: len(SYMBOLS)])
    # Units without a symbol and the questions of earlier layers begin anew.
    assert (found["says.bias"][len(SYMBOLS) :] == CALM).all()
    assert not torch.equal(kept["glyph.weight"], found["glyph.weight"])


def test_new_questions_learn_alone_what_a_trained_tower_knows() -> None:
    torch.manual_seed(3)
    reader, rng = Reader(), random.Random(4)
    batch = batch_of([scene(rng, "train", kind) for kind in ("letters", "chart")], rng)
    before = {n: w.clone() for n, w in reader.state_dict().items()}
    loss = loss_of(reader, batch).item()
    meet(reader, iter([batch] * 6), 6)
    for name, weight in reader.state_dict().items():
        still = name.startswith(("tower.", "says."))
        assert torch.equal(weight, before[name]) == still, name
    assert loss_of(reader, batch).item() < loss - 0.5
    assert all(p.grad is None for p in reader.parameters())


def test_rows_go_to_the_symbols_that_they_say(reader: Reader, tmp_path) -> None:
    parts = shipped(reader.state_dict(), 3)
    save_file(parts, tmp_path / "tower.safetensors")
    (tmp_path / "symbols.json").write_text(json.dumps({"symbols": ["7", " London", "0"]}))
    again, _ = load(tmp_path / "out", tmp_path)
    for row, symbol in enumerate(("7", " London", "0")):
        mine = reader.says.weight[row].half()
        assert torch.equal(again.says.weight[NUMBER[symbol]].half(), mine), symbol
    assert again.says.bias[NUMBER["1"]] == CALM


@pytest.mark.parametrize("wrong", ["absent", "gone", "shape"])
def test_a_folder_that_is_no_tower_is_refused(reader: Reader, tmp_path, wrong: str) -> None:
    if wrong != "absent":
        parts = shipped(reader.state_dict(), 1)
        if wrong == "shape":
            name = next(n for n in parts if n.endswith("position_embedding.weight"))
            parts[name] = parts[name][:9].clone()
        save_file(parts, tmp_path / "tower.safetensors")
        symbol = " Atlantis" if wrong == "gone" else "0"
        (tmp_path / "symbols.json").write_text(json.dumps({"symbols": [symbol]}))
    with pytest.raises(InputError, match={
        "absent": "holds no shipped tower", "gone": "' Atlantis', which is no symbol",
        "shape": "no tower of this shape",
    }[wrong]):  # fmt: skip
        load(tmp_path / "out", tmp_path)


class Knowing(Reader):
    """Says what it is told to: ``said`` and ``seen`` are logits for the next batches."""

    def __init__(self, wrong: int) -> None:
        super().__init__()
        self.wrong = wrong

    def tell(self, batch: Batch) -> None:
        self.batch = batch

    def forward(self, pixels: torch.Tensor, still: bool = False) -> Said:
        symbols = self.batch.symbols
        said = torch.full((*symbols.shape, len(SYMBOLS)), -5.0)
        spoken = symbols >= 0
        said[spoken, symbols[spoken]] = 5.0
        if self.wrong:  # one unit more speaks in the first cell of the first picture
            said[0, 0, 7] = 5.0
        seen = torch.nn.functional.one_hot(self.batch.glyphs, 1 + len(GLYPHS)).float()
        ranks = torch.nn.functional.one_hot(self.batch.ranks.clamp(min=0), 3).float()
        return Said(said, seen, self.batch.heights, ranks, self.batch.counts)


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
