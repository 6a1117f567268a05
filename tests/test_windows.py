"""Which entries stay and where they are seen, against a table written out by hand."""

from __future__ import annotations

import pytest

from specviz.windows import MODES, Bounds, widest

Placed = list[tuple[int, float]]


def placed(bounds: Bounds, count: int) -> Placed:
    """Entry and position of everything that is seen, one by one."""
    sight = bounds.sight(count)
    return [(s.first + i, s.at + i * s.step) for s in sight.stretches for i in range(s.length)]


# 9 entries, 2 sinks, a window of 3, drafts of 2 levels, trained for 8 positions.
NINE: dict[str, tuple[Placed, float, float]] = {
    "full": ([(i, i) for i in range(9)], 8, 1),
    "window_abs": ([(0, 0), (1, 1), (6, 6), (7, 7), (8, 8)], 8, 1),
    "slot": ([(0, 0), (1, 1), (6, 2), (7, 3), (8, 4)], 4, 1),
    "shift": ([(0, 4), (1, 5), (6, 6), (7, 7), (8, 8)], 8, 1),
    "reindex_only": ([(i, i * 8 / 11) for i in range(9)], 8 * 8 / 11, 8 / 11),
}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_sees_what_its_table_says(mode: str) -> None:
    expected, tip, step = NINE[mode]
    bounds = Bounds(mode, 2, 3, 2, 8)  # type: ignore[arg-type]
    assert [entry for entry, _ in placed(bounds, 9)] == [entry for entry, _ in expected]
    assert [at for _, at in placed(bounds, 9)] == pytest.approx([at for _, at in expected])
    sight = bounds.sight(9)
    assert (sight.tip, sight.step) == pytest.approx((tip, step))
    assert sight.farthest(2) == pytest.approx(tip + 2 * step)
    nearest = min(at for _, at in expected)
    assert sight.distance(2) == pytest.approx(tip + 2 * step - nearest)
    assert sight.entries == len(expected)


@pytest.mark.parametrize("mode", MODES)
def test_until_something_is_lost_all_modes_are_alike(mode: str) -> None:
    bounds = Bounds(mode, 2, 3, 2, 8)  # type: ignore[arg-type]
    for count in range(1, 6):
        assert placed(bounds, count) == [(i, float(i)) for i in range(count)]
        assert (bounds.sight(count).tip, bounds.sight(count).step) == (count - 1, 1.0)


def test_without_sinks_a_window_keeps_its_distances_wherever_it_stands() -> None:
    still, moved = (Bounds(mode, 0, 4, 3, 8).sight(1000) for mode in ("window_abs", "slot"))
    assert (still.farthest(3), moved.farthest(3)) == (1002, 6)
    assert still.distance(3) == moved.distance(3) == 6


def test_a_full_window_and_the_deepest_draft_end_at_the_last_trained_position() -> None:
    assert widest(4, 5, 256) == 246
    bounds = Bounds("slot", 4, 246, 5, 256)
    assert bounds.needed == 256
    assert bounds.sight(100_000).farthest(5) == 254
    assert Bounds("reindex_only", 0, 0, 5, 256).sight(100_000).farthest(5) < 256
    assert widest(250, 5, 256) == 0
