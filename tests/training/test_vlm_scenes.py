"""Scenes say and show the same thing, and held-out ones hold what no other one does."""

import random
from collections import Counter

import numpy as np
import pytest

from specviz.training.vlm_charts import LABELS
from specviz.training.vlm_draw import CELL, DOTS, PALETTE, SIDE, Style, draw, draw_plain, paint
from specviz.training.vlm_scenes import FACTS_ROW, GRID, Scene, allowed, reserved, scene
from specviz.training.vlm_shapes import FIGURES
from specviz.training.vlm_signs import page
from specviz.training.vlm_symbols import NUMBER, PLACES, SYMBOLS, WORDS, spelled

KINDS = ("departures", "scores", "letters", "codes", "chart", "shapes")
INK = Style((255, 255, 255), (0, 0, 0), None, DOTS, 14)


def many(kind: str | None = None, split="train", count: int = 60) -> list[Scene]:
    rng = random.Random(11)
    return [scene(rng, split, kind) for _ in range(count)]


def glyphs_of(made: Scene) -> dict[tuple[int, int], str]:
    return {
        (line.row, line.column + i): glyph
        for line in made.lines
        for i, glyph in enumerate(line.glyphs)
    }


def test_the_symbols_are_few_enough_and_every_one_is_different() -> None:
    assert len(SYMBOLS) == len(set(SYMBOLS)) == 321
    assert [NUMBER[s] for s in ("0", " A", " London")] == [0, 18, 44]


def test_every_symbol_is_one_token_of_the_language_model() -> None:
    smollm2 = pytest.importorskip("specviz.models.smollm2")
    if smollm2.problem():
        pytest.skip(smollm2.problem())
    tokenizer = smollm2.load("cpu", "float32").codec.tokenizer
    split = [s for s in SYMBOLS if len(tokenizer.encode(s, add_special_tokens=False)) != 1]
    assert split == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_scene_and_picture(kind: str) -> None:
    one, two = (scene(random.Random(5), "train", kind) for _ in range(2))
    assert one == two
    pictures = [np.asarray(draw(one, random.Random(6))) for _ in range(2)]
    assert pictures[0].shape == (SIDE, SIDE, 3)
    assert (pictures[0] == pictures[1]).all()


@pytest.mark.parametrize("kind", ["departures", "scores", "letters", "codes"])
def test_a_board_says_what_is_written_on_it_where_it_is_written(kind: str) -> None:
    for made in many(kind):
        written = glyphs_of(made)
        said = {}
        for row in range(FACTS_ROW):
            for column, symbol in enumerate(made.symbols[row]):
                if symbol:
                    said.update({(row, column + i): g for i, g in enumerate(spelled(symbol))})
        assert said == written


def test_a_departure_board_answers_with_its_own_lines() -> None:
    for made in many("departures"):
        rows: dict[int, list[str]] = {}
        for (row, _), glyph in sorted(glyphs_of(made).items()):
            rows.setdefault(row, []).append(glyph)
        times = ["".join(glyphs)[:5] for glyphs in rows.values() if glyphs[2:3] == [":"]]
        asked = next(e for e in made.questions if e.kind == "lines")
        assert [fact[:5] for fact in asked.facts] == times == sorted(times)
        assert asked.answer.count(" to ") == len(times)


def test_a_chart_calls_the_highest_bar_the_tallest() -> None:
    for made in many("chart"):
        heights = [bar.height for bar in made.bars]
        labels = [s.strip() for s in made.symbols[LABELS] if s and not s.isdigit()]
        facts = [s.strip() for s in made.symbols[FACTS_ROW] if s]
        tallest = labels[heights.index(max(heights))]
        smallest = labels[heights.index(min(heights))]
        assert facts == [
            "chart", str(len(labels)), "bars", "tallest", tallest, "smallest", smallest,
        ]  # fmt: skip
        asked = next(e for e in made.questions if e.kind == "tallest")
        assert asked.facts == (f"tallest bar is {tallest}", f"smallest bar is {smallest}")


def test_the_value_over_a_bar_is_said_beside_its_label() -> None:
    made = next(m for m in many("chart") if any(e.kind == "value" for e in m.questions))
    written, digits = glyphs_of(made), Counter[str]()
    for (row, _), glyph in written.items():
        if row < LABELS:
            assert glyph.isdigit()
            digits[glyph] += 1
    assert digits == Counter(s for s in made.symbols[LABELS] if s.isdigit())
    assert all(not any(row) for row in made.symbols[:LABELS])


def test_answers_hold_their_facts() -> None:
    for made in [*many(), *many(split="held-out")]:
        for asked in made.questions:
            assert all(fact in asked.answer for fact in asked.facts), asked


def test_what_is_held_out_is_never_trained_on() -> None:
    for made in many("shapes", "train"):
        assert not any(reserved(f.colour, f.kind) for f in made.figures)
    for made in many("shapes", "held-out"):
        assert any(reserved(f.colour, f.kind) for f in made.figures)
    pairs = [(c, k.strip()) for c in PALETTE for k in FIGURES]
    assert sum(reserved(*pair) for pair in pairs) == 10


def test_which_split_a_combination_belongs_to() -> None:
    assert allowed("train", [False, False])
    assert not allowed("train", [False, True])
    assert allowed("held-out", [False, True])
    assert not allowed("held-out", [False, False])


@pytest.mark.parametrize("scale", [1, 3])
def test_ink_is_in_the_cells_that_hold_a_glyph_and_nowhere_else(scale: int) -> None:
    cell = CELL * scale
    for made in [*many("departures", count=5), page(random.Random(2))]:
        pixels = np.asarray(paint(made, random.Random(1), INK, scale).convert("L"))
        assert pixels.shape == (SIDE * scale, SIDE * scale)
        dark = (pixels < 128).reshape(GRID, cell, GRID, cell).any(axis=(1, 3))
        found = {(int(r), int(c)) for r, c in np.argwhere(dark)}
        assert found == set(glyphs_of(made))


def test_a_figure_has_its_colour_in_its_place() -> None:
    for made in many("shapes", count=20):
        pixels = np.asarray(draw_plain(made, random.Random(3)))
        for figure in made.figures:
            if figure.kind == "ring":
                continue
            at = pixels[round(figure.y * CELL), round(figure.x * CELL)]
            assert tuple(at) == PALETTE[figure.colour], figure


def test_a_page_is_full_of_words() -> None:
    made = page(random.Random(4))
    words = [s for row in made.symbols for s in row if s in {*PLACES, *WORDS}]
    assert made.questions == () and len(words) == 20
