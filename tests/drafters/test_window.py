"""How a head's offers become a tree, and which knobs are refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from specviz.budget import Curve
from specviz.drafters import create
from specviz.drafters.base import Draft
from specviz.drafters.window import Window
from specviz.models.base import InputError
from specviz.models.engines import HeadFacts, Offers
from specviz.windows import Bounds, Sight

FACTS = HeadFacts("a-head", "d", 64, 9, 1000)


class Script:
    """An engine that offers what a table says behind every path."""

    trained, bytes, sight = 64, 128, Sight((), 0.0, 1.0)

    def __init__(self, table: Mapping[tuple[int, ...], Mapping[int, float]]) -> None:
        self.table, self.paths = table, list[tuple[int, ...]]()
        self.asked: list[tuple[tuple[int, ...], ...]] = []

    def begin(self, bounds: Bounds, truncated: bool = False) -> None:
        self.bounds = bounds

    def follow(self, context: Sequence[int], top: int) -> Offers:
        self.paths = []
        return self._offers((), top)

    def expand(self, parents: Sequence[int], tokens: Sequence[int], top: int) -> tuple[Offers, ...]:
        level = tuple(
            (*(self.paths[p] if p >= 0 else ()), t) for p, t in zip(parents, tokens, strict=True)
        )
        self.asked.append(level)
        self.paths += level
        return tuple(self._offers(path, top) for path in level)

    def _offers(self, path: tuple[int, ...], top: int) -> Offers:
        found = sorted(self.table.get(path, {}).items(), key=lambda x: -x[1])[:top]
        return Offers(tuple(t for t, _ in found), tuple(math.log(p) for _, p in found))


class Stage:
    """As much of a session and of a model as the drafter looks at."""

    label, eos_ids, blocked_ids = "m", frozenset({7}), frozenset({8})

    def __init__(self, engine: Script) -> None:
        self.engine, self.model = engine, self

    def head_engine(self) -> Script:
        return self.engine

    def head(self, name: str) -> HeadFacts:
        return FACTS


TABLE: dict[tuple[int, ...], dict[int, float]] = {
    (): {1: 0.6, 2: 0.3, 3: 0.05},
    (1,): {4: 0.5, 5: 0.4},
    (2,): {4: 0.9, 8: 0.1},
    (1, 4): {6: 1.0},
    (2, 4): {7: 0.8},
    (1, 5): {6: 0.5},
    (2, 4, 7): {1: 1.0},
}


def drafted(
    budget: int = 20, costs: Curve | None = None, **knobs: Any
) -> tuple[Draft, Script, Window]:
    engine = Script(TABLE)
    drafter = create("window", {"depth": 3, "top_k": 2, "least": 0.0, **knobs})
    assert isinstance(drafter, Window)
    stage: Any = Stage(engine)
    drafter._settle(stage.head(""))
    # Protocols with members of other types are no obstacle to what is tested here.
    drafter._engine, drafter._ends, drafter._blocked = engine, stage.eos_ids, stage.blocked_ids
    drafter._costs = costs
    return drafter.propose([9, 0], budget), engine, drafter


def branches(draft: Draft) -> dict[tuple[int, ...], float | None]:
    tree = draft.tree
    return {
        tuple(tree.tokens[n] for n in tree.path(i)[1:]): draft.scores[i]
        for i in range(1, len(tree))
    }


def test_the_most_probable_branches_make_the_tree() -> None:
    draft, engine, _ = drafted()
    assert branches(draft) == {
        (1,): 0.6, (2,): 0.3, (1, 4): 0.3, (2, 4): 0.27, (1, 5): 0.24, (1, 4, 6): 0.3,
        (2, 4, 7): 0.216,
    }  # fmt: skip
    # Each level goes on with the two best branches only; nothing follows a blocked token.
    assert engine.asked == [((1,), (2,)), ((1, 4), (2, 4))]
    assert draft.tree.tokens[0] == 0
    assert set(draft.sources) == {"root", "head"}


def test_a_smaller_tree_is_its_best_part_and_costs_make_it_smaller() -> None:
    # (2,), (1, 4) and (1, 4, 6) are equally probable: who was offered first comes first.
    assert [*branches(drafted(size=3)[0])] == [(1,), (2,), (1, 4)]
    dear = Curve((1, 2, 3, 64), (1.0, 1.1, 9.0, 64.0))
    assert [*branches(drafted(costs=dear)[0])] == [(1,)]
    ruinous = Curve((1, 2, 64), (1.0, 9.0, 90.0))
    assert [*branches(drafted(costs=ruinous)[0])] == []


def told(**settings: Any) -> dict[tuple[int, int], tuple[int, str]]:
    """By node and token offered there: the node that it became, and why it became none."""
    draft, _, drafter = drafted(**settings)
    nothing: Any = None  # of what the drafter could learn, it learns nothing
    evidence = drafter.observe(draft, nothing, ())
    assert evidence is not None
    return {(e.node, o.token): (o.node, o.cut) for e in evidence.expansions for o in e.offers}


def test_every_offer_says_what_became_of_it() -> None:
    """Cut by the size that was asked for, by costs, or never a candidate."""
    assert told(size=3) == {
        (0, 1): (1, ""), (0, 2): (2, ""), (1, 4): (3, ""), (1, 5): (-1, "budget"),
        (2, 4): (-1, "budget"), (2, 8): (-1, "blocked"), (3, 6): (-1, "budget"),
    }  # fmt: skip
    dear = Curve((1, 2, 3, 64), (1.0, 1.1, 9.0, 64.0))
    assert told(costs=dear, size=3) == {
        (0, 1): (1, ""), (0, 2): (-1, "cost"), (1, 4): (-1, "cost"), (1, 5): (-1, "cost"),
    }  # fmt: skip
    ruinous = Curve((1, 2, 64), (1.0, 9.0, 90.0))
    assert told(costs=ruinous) == {(0, 1): (-1, "cost"), (0, 2): (-1, "cost")}
    cheap = Curve((1, 2, 64), (1.0, 1.0, 1.0))
    assert told(costs=cheap, size=1) == {
        (0, 1): (1, ""), (0, 2): (-1, "budget"), (1, 4): (-1, "budget"), (1, 5): (-1, "budget"),
    }  # fmt: skip


def test_nothing_is_drafted_beyond_the_end_the_budget_or_the_improbable() -> None:
    draft, engine, _ = drafted(depth=6)
    assert engine.asked[2:] == [((1, 4, 6),)], "nothing is asked behind an end token"
    assert (2, 4, 7) in branches(draft)
    assert max(map(len, branches(drafted(budget=3)[0]))) == 2
    assert drafted(budget=1)[0] == Draft.nothing(0)
    _, engine, _ = drafted(least=0.5)
    assert engine.asked == [((1,),)]


@pytest.mark.parametrize(
    ("knobs", "sentence"),
    [
        (
            {"window": 60},
            "4 sinks, a window of 60 and 3 levels take 68 positions, a-head was trained for 64: "
            "give a window of at most 56.",
        ),
        (
            {"sinks": 60, "depth": 8, "mode": "shift"},
            "60 sinks and 8 levels leave no room for a window in the 64 positions that a-head was "
            "trained for: give fewer.",
        ),
        (
            {"trained": 1, "window": 1, "sinks": 0},
            "0 sinks and 3 levels leave no room for a window in the 1 positions that a-head was "
            "trained for: give fewer, or another trained range.",
        ),
        (
            {"mode": "full", "features": "truncated"},
            "In the mode full the head sees everything, so truncated features would be the full "
            "ones: choose features=full, or the mode slot.",
        ),
        ({"mode": "sideways"}, "mode cannot be 'sideways': give one of full, window_abs, slot, "),
        ({"window": -1}, "window cannot be -1: give a whole number from 0 to "),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(knobs: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        drafted(**knobs)
    assert str(refused.value).startswith(sentence)


def test_a_window_as_wide_as_the_range_allows_is_the_default() -> None:
    assert drafted()[2]._bounds == Bounds("slot", 4, 56, 3, 64)
    assert drafted(mode="window_abs", window=500)[2]._bounds.window == 500


def test_what_a_head_was_made_for_can_be_said_and_sets_the_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert drafted(trained=32)[2]._bounds == Bounds("slot", 4, 24, 3, 32)
    assert drafted(trained=32)[2].used_head() == replace(FACTS, trained=32)
    made_for = replace(FACTS, window=20)
    monkeypatch.setattr(Stage, "head", lambda self, name: made_for)
    assert drafted()[2]._bounds == Bounds("slot", 4, 20, 3, 64)
    assert drafted(window=30)[2].remarks(500) == (
        "The head was made for a window of 20 entries, here it can see 30.",
    )
    assert drafted(window=20)[2].remarks(500) == ()


def test_a_run_that_can_leave_the_range_says_how_far() -> None:
    assert drafted(mode="full")[2].remarks(62) == ()
    assert drafted(mode="full")[2].remarks(63) == (
        "Draft positions can go beyond the 64 that the head was trained for, up to a distance of "
        "64.",
    )
    assert drafted(mode="shift")[2].remarks(5_000) == ()
    assert drafted(mode="window_abs")[2].remarks(5_000) == (
        "Draft positions can go beyond the 64 that the head was trained for, up to a distance of "
        "5001.",
    )


def test_modes_without_a_window_need_no_room_for_one() -> None:
    for mode in ("full", "reindex_only"):
        assert drafted(mode=mode, sinks=60, depth=8)[2]._bounds.mode == mode
    assert drafted(mode="window_abs", sinks=60, depth=8, window=9)[2]._bounds.window == 9
