"""How wide and how long a wave should be, against an oracle that tries every pair."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specviz.drafters.wave_size import Plan, Shape, WaveSize, best, confirmed, expected, rates

FLAT = [1.0] * 66


def slow_rate(chances, shape: Shape, prices, plan: Plan) -> float:
    """Tokens per cost by going through every way a draft can turn out."""
    width = min(plan.block, shape.start + (plan.rounds - 1) * shape.widen)
    tokens = 0.0
    for outcome in product((True, False), repeat=width):
        likely = 1.0
        for right, chance in zip(outcome, chances[plan.rounds - 1], strict=False):
            likely *= chance if right else 1 - chance
        accepted = outcome.index(False) if False in outcome else width
        tokens += likely * (accepted + 1)
    cost = prices[width + 1]
    for number in range(plan.rounds):
        b = min(plan.block, shape.start + number * shape.widen)
        cost += (shape.inner + shape.readout) * prices[b] / shape.depth
    return tokens / cost


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=7, max_size=7), min_size=1, max_size=4),
    st.integers(1, 4), st.integers(1, 3), st.integers(1, 4), st.integers(1, 7),
    st.sampled_from([0.0, 1.0]), st.integers(0, 99),
)  # fmt: skip
def test_the_best_plan_is_the_best_of_all_pairs(
    chances, start, widen, inner, widest, readout, seed
) -> None:
    rng = random.Random(seed)
    prices = [1.0, *sorted(1 + rng.random() * 3 for _ in range(9))]
    shape = Shape(start, widen, inner, 8, readout)
    pairs = [Plan(b, k) for b in range(1, widest + 1) for k in range(1, len(chances) + 1)]
    reached = [p for p in pairs if start + (p.rounds - 1) * widen >= p.block]
    slow = {plan: slow_rate(chances, shape, prices, plan) for plan in pairs}
    found = dict(rates(chances, shape, prices, widest))
    for plan, rate in found.items():
        assert rate == pytest.approx(slow[plan])
    # Widths between two that the wave can have are the same wave as the next narrower one that is
    # reached, or are cut to the widest allowed.
    steps = {*range(1, start + 1), *range(start, widest + 1, widen), widest}
    assert set(found) == {p for p in reached if p.block in steps}
    chosen = best(chances, shape, prices, widest)
    assert chosen is not None
    assert slow[chosen] == pytest.approx(max(slow[p] for p in found))


def test_what_is_expected_of_a_draft_worked_by_hand() -> None:
    """Half a guess, and half of three quarters of another."""
    assert expected([0.5, 0.75]) == [0.0, 0.5, 0.875]
    shape = Shape(start=1, widen=1, inner=2, depth=8, readout=1)
    prices = [1.0, 1.0, 1.25, 1.5]
    found = dict(rates([[0.5, 0.5], [0.5, 0.75]], shape, prices, 2))
    assert found == {
        Plan(1, 1): float(Fraction(3, 2) / (Fraction(3, 8) + Fraction(5, 4))),
        Plan(1, 2): float(Fraction(3, 2) / (Fraction(6, 8) + Fraction(5, 4))),
        Plan(2, 2): float(Fraction(15, 8) / (Fraction(3, 8) * Fraction(9, 4) + Fraction(3, 2))),
    }
    assert best([[0.5, 0.5], [0.5, 0.75]], shape, prices, 2) == Plan(1, 1)


def test_a_guess_is_confirmed_as_far_as_the_target_has_spoken() -> None:
    assert confirmed([1, 2, 3], [1, 2, 9]) == 2
    assert confirmed([1, 2, 3], [1, 2]) == 2
    assert confirmed([1], [1, 2]) == 1
    assert confirmed([5], [1, 2]) == 0


def size(**more) -> WaveSize:
    shape = Shape(start=2, widen=2, inner=2, depth=16, readout=0)
    given = {"shape": shape, "prices": FLAT, "start": Plan(6, 3), "most": Plan(16, 8), **more}
    return WaveSize(**given)


def test_every_smaller_wave_is_learned_from_the_rounds_of_one() -> None:
    """Weights 1/2 at first: a chance of 0.75 becomes 0.875 or 0.375."""
    wave = size()
    assert wave.plan(99) == Plan(6, 3) and wave.plan(4) == Plan(4, 3)
    wave.learn([[1, 9], [1, 2, 9, 9], [1, 2, 3, 9, 9, 9]], (1, 2, 3, 4), made=3)
    assert wave.chances == [
        [0.875, 0.4375],
        [0.875, 0.9375, 0.46875],
        [0.875, 0.9375, 0.96875, 0.484375],
    ]
    assert wave.counts == [[1, 1], [1, 1, 1], [1, 1, 1, 1]]
    assert wave.hoped(5)[2] == [0.875, 0.9375, 0.96875, 0.484375, 0.484375]


def test_where_the_target_has_not_spoken_nothing_is_learned() -> None:
    wave = size()
    wave.learn([[1, 2, 3]], (1,), made=1)
    assert wave.chances == [[0.875]]


def test_a_wave_that_settled_stands_for_all_longer_ones() -> None:
    wave = size()
    wave.learn([[1, 2]], (1, 2), made=3)
    assert wave.chances == [[0.875, 0.9375]] * 3


def test_a_wave_grows_while_its_whole_block_is_accepted_and_shrinks_when_not() -> None:
    wave = size()
    blocks = []
    for _ in range(12):
        plan = wave.plan(99)
        blocks.append(plan.block)
        rounds = [list(range(wave.shape.width(plan.block, k + 1))) for k in range(plan.rounds)]
        wave.learn(rounds, range(plan.block + 1), made=plan.rounds)
    assert blocks == [6, 8, 10, 12, 14, 16, 16, 16, 16, 16, 16, 16]
    assert wave.plan(99).rounds == 8 and wave.plan(5).block == 5
    for _ in range(30):
        plan = wave.plan(99)
        rounds = [[0] * wave.shape.width(plan.block, k + 1) for k in range(plan.rounds)]
        wave.learn(rounds, (1,), made=plan.rounds)
    assert wave.plan(99) == Plan(2, 1)  # two rows cost what one does


def test_dear_rows_make_a_narrow_wave() -> None:
    cheap, dear = size(), size(prices=[float(n) for n in range(66)])
    for wave in (cheap, dear):
        for _ in range(6):
            rounds = [[1, 9], [1, 2, 3, 9], [1, 2, 3, 9, 9, 9]]
            wave.learn(rounds, (1, 2, 3, 4), made=3)
    assert cheap.plan(99) == Plan(4, 2)
    assert dear.plan(99) == Plan(1, 1)
