"""The cost curve and the size that pays best, against the slow obvious ways."""

from __future__ import annotations

import random

import pytest

from specviz.budget import Curve, Size, best_size

# Measured on a CPU with stock weights: two rows cost more than eight.
DIPPED = Curve((1, 2, 4, 8, 16, 32), (0.040, 0.065, 0.060, 0.050, 0.080, 0.120))


def slow_envelope(curve: Curve, n: int) -> float:
    """c*(n) by its definition: the least cost of any pass at least that wide."""

    def measured(rows: int) -> float:
        for (a, low), (b, high) in zip(
            zip(curve.rows, curve.seconds, strict=True),
            list(zip(curve.rows, curve.seconds, strict=True))[1:],
            strict=False,
        ):
            if a <= rows <= b:
                return low + (high - low) * (rows - a) / (b - a)
        raise AssertionError(rows)

    cheapest = min(measured(m) for m in range(n, curve.rows[-1] + 1))
    return max(1.0, cheapest / curve.seconds[0])


def test_the_envelope_of_a_curve_with_a_dip() -> None:
    assert [DIPPED(n) for n in DIPPED.rows] == pytest.approx([1, 1.25, 1.25, 1.25, 2.0, 3.0])
    assert DIPPED(12) == pytest.approx(1.625)
    assert DIPPED(48) == pytest.approx(4.0)  # as steep as between 16 and 32
    for n in DIPPED.rows:
        assert DIPPED(n) == pytest.approx(slow_envelope(DIPPED, n))


def test_the_single_row_is_the_unit_also_where_it_was_measured_dearer_than_more() -> None:
    odd = Curve((1, 4, 8), (0.030, 0.020, 0.045))
    assert [odd(1), odd(4), odd(8)] == pytest.approx([1.0, 1.0, 1.5])


@pytest.mark.parametrize(
    ("scores", "size"),
    [
        ([], 0),
        ([0.1, 0.1], 0),  # the second row alone costs a quarter more
        ([0.2, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1], 7),  # a rule on the margin would stop at 0
        ([0.9] + [0.01] * 30, 7),  # up to eight rows for the price of two
        ([0.9, 0.8, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6] + [0.5] * 23, 31),
    ],
)
def test_best_size(scores: list[float], size: int) -> None:
    assert best_size(scores, DIPPED) == size


def test_what_is_learned_from_a_node_counts_for_it() -> None:
    for lesson, best in ((0.0, 0), (0.02, 7)):
        size = Size(DIPPED, 20, lesson)
        while size.add(0.03):
            pass
        assert size.best == best


def test_growing_stops_early_and_never_misses_the_best_size() -> None:
    rng = random.Random(7)
    saved = 0
    for _ in range(2000):
        rows = sorted({1, 70, *(rng.randint(2, 64) for _ in range(rng.randint(1, 8)))})
        curve = Curve(tuple(rows), tuple(rng.uniform(0.01, 0.01 + 0.002 * n) for n in rows))
        most = rng.randint(1, 70)
        scores = sorted((rng.random() ** rng.randint(1, 9) for _ in range(most)), reverse=True)
        size = Size(curve, most)
        for score in scores:
            if not size.add(score):
                break
        assert size.best == best_size(scores, curve)
        saved += most - size.nodes
    assert saved > 20_000  # or it looks at everything, which a person would wait for
