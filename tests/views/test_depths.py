"""Charts of a recurrent-depth model: the bench's counts in the lines, numbers in the cells."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from specviz.views import depths

FOUND: dict[str, Any] = {
    "probes": {
        "accuracy": {"depths": [1, 2, 4], "problems": 20, "right": [1, 8, 15]},
        "agreement": {
            "overall": {
                "depths": [1, 2, 4],
                "positions": 10,
                "same": {"coupled": [4, 7, 10], "keys": [5, 6, 9], "values": [6, 8, 9],
                         "both": [7, 9, 10]},
            }
        },
        "composed": {
            "sums": {"depths": [1, 2, 3, 4], "steps": [1, 5], "asked": [6, 2],
                      "right": [[3, 6, 6, 6], [0, 0, 0, 2]], "skipped": 0},
            "places": {"depths": [1, 2, 3, 4], "steps": [], "asked": [], "right": [], "skipped": 3},
        },
        "convergence": {
            "positions": 3,
            "cosine": {},
            "distance": {"queries": [0.4, 0.1, 0.0], "keys": [0.3, 0.05, 0.0],
                         "values": [0.9, 0.5, 0.0]},
        },
    },
    "map": {
        "blocks": [4, 8], "rounds": [2, 6], "accepted": [[1.25, 2.5], [1.5, None]],
        "tokens_per_s": [[410.4, 395.0], [520.6, 480.1]], "tau": [[2, 3], [2, 3]],
    },
}  # fmt: skip


def test_agreement_has_a_line_a_prefix_told_apart_without_colour() -> None:
    lines = depths.agreement(FOUND).data
    assert [line.name for line in lines] == [
        "coupled", "deep keys", "deep values (Mature-V)", "deep keys and values",
    ]  # fmt: skip
    assert [line.y for line in lines] == [
        (0.4, 0.7, 1.0), (0.5, 0.6, 0.9), (0.6, 0.8, 0.9), (0.7, 0.9, 1.0),
    ]  # fmt: skip
    assert lines[0].x == (1, 2, 4)
    assert lines[2].hovertext[1] == "deep values (Mature-V), 2 iterations: 80.0 %"
    assert len({line.marker.symbol for line in lines}) == 4


def test_convergence_counts_every_iteration() -> None:
    queries, keys, values = depths.convergence(FOUND).data
    assert (queries.x, queries.y) == ((1, 2, 3), (0.4, 0.1, 0.0))
    assert (keys.name, values.y) == ("keys", (0.9, 0.5, 0.0))
    assert values.hovertext[1] == "values, 2 iterations: 0.500"


def test_accuracy_leaves_out_what_was_not_asked() -> None:
    chart = depths.accuracy(FOUND)
    words, chain = chart.data
    assert (words.name, words.y) == ("word problems", (0.05, 0.4, 0.75))
    assert (chain.name, chain.y) == ("chained sums", (0.375, 0.75, 0.75, 1.0))
    assert chart.layout.xaxis.tickvals == (1, 2, 4)


@pytest.mark.parametrize(
    ("key", "cells", "best"),
    [
        ("tokens_per_s", ["410 white", "395 white", "521 black", "480 black"], (0, 1)),
        ("accepted", ["1.2 white", "2.5 black", "1.5 white"], (1, 0)),
    ],
)
def test_every_cell_of_the_map_says_its_number_and_the_best_is_framed(
    key: str, cells: list[str], best: tuple[int, int]
) -> None:
    chart = depths.wave_map(FOUND, key)
    (heat,) = chart.data
    names = {"#ffffff": "white", "#111111": "black"}
    assert [f"{a.text} {names[a.font.color]}" for a in chart.layout.annotations] == cells
    assert (heat.x, heat.y) == (("2", "6"), ("4", "8"))
    frame = chart.layout.shapes[0]
    assert (frame.x0 + 0.5, frame.y0 + 0.5) == best


def test_what_was_not_measured_is_said() -> None:
    bare = copy.deepcopy(FOUND)
    bare["map"] = None
    for name in ("agreement", "convergence", "composed"):
        del bare["probes"][name]
    said = "The model's depths were not looked into in this measurement."
    assert depths.agreement(bare).layout.annotations[0].text == said
    assert depths.convergence(bare).layout.annotations[0].text == said
    assert len(depths.accuracy(bare).data) == 1
    assert depths.wave_map(bare).layout.annotations[0].text == (
        "Waves of several sizes were not measured here."
    )


def test_the_same_figures_give_the_same_bytes() -> None:
    for draw in (depths.agreement, depths.convergence, depths.accuracy, depths.wave_map):
        assert draw(FOUND).to_json() == draw(copy.deepcopy(FOUND)).to_json()
