"""Self-speculation by depth: rounds, cells, ages and ledger of examples worked by hand."""

from __future__ import annotations

from typing import Any

import pytest

from specviz.decoding import check_fit, decode
from specviz.drafters import create
from specviz.evidence import WaveEvidence
from specviz.models.base import InputError, Inputs, Scores, Unsupported
from specviz.models.toy import ToyModel, random_logits, rhyme_model
from specviz.trace import Step
from tests.fake_depth import DepthToy, RuleEngine

END, BLOCKED = 20, 30


class Beside:
    """A session of which only its engine is asked."""

    def __init__(self, engine: RuleEngine) -> None:
        self.engine, self.length = engine, 3
        self.model = self
        self.eos_ids, self.blocked_ids = frozenset({END}), frozenset({BLOCKED})

    def depth_engine(self) -> RuleEngine:
        return self.engine

    def unused(self) -> None: ...

    prefill = verify = commit = score = close = unused


def count_on(tokens: tuple[int, ...], age: int, keys: int, values: int) -> tuple[int, float]:
    """One more than the last token once two iterations old, until then 50 + position."""
    return (tokens[-1] + 1, 0.8) if age >= 2 else (49 + len(tokens), 0.5)


def drafted(
    decoder: str, budget: int = 100, root: int = 10, rule=count_on, **knobs: Any
) -> tuple[Any, WaveEvidence | None, RuleEngine]:
    """(draft, evidence, engine) of one step on a model of depth 4."""
    engine = RuleEngine(rule, 4)
    drafter = create(decoder, knobs)
    session: Any = Beside(engine)
    scores: Any = Scores((0,), (0.0,), (0.0,), ((),), ((),), (0.0,), (None,), (0,))
    drafter.start(session, (1, 2, 3), scores)
    draft = drafter.propose((1, 2, 3, root), budget)
    return draft, drafter.observe(draft, scores, ()), engine  # type: ignore[return-value]


def shown(evidence: WaveEvidence) -> list[str]:
    """Every round in one line: token, age and the first letter of the state of its cells."""
    return [" ".join(f"{c.token}:{c.age}{c.state[0]}" for c in r.cells) for r in evidence.rounds]


def test_a_wave_worked_by_hand() -> None:
    draft, found, engine = drafted("das_wave", block=3, first=2, widen=1, inner=1, freeze=1)
    assert found is not None
    assert shown(found) == [
        "50:1n 51:1n",
        "11:2c 51:2s 52:1n",  # 51 stands still, but behind a guess that does not
        "11:3s 12:3c 52:2s",
        "11:3f 12:4s 13:3c",
        "11:3f 12:4f 13:4s",
    ]
    assert [r.parked for r in found.rounds] == [0, 0, 0, 1, 2]
    assert [r.iterations for r in found.rounds] == [1] * 5
    assert found.end == "settled" and (found.depth, found.keys, found.values) == (4, 4, 4)
    assert (found.calls, found.applications, found.readouts) == (5, 11, 11)
    assert (engine.calls, engine.applications, engine.readouts) == (5, 11, 11)
    assert (draft.tree.tokens, draft.tree.parents) == ((10, 11, 12, 13), (-1, 0, 1, 2))
    assert draft.sources == ("root", "wave", "wave", "wave")
    assert draft.scores == (None, 0.8, 0.64, 0.512) and draft.order == (0, 1, 2, 3)
    assert engine.log[:6] == [
        ("begin", 10, 4, 4, False), ("grow", 10), ("refine", 1, 0), ("read", 0),
        ("replace", 50), ("grow", 51),
    ]  # fmt: skip
    assert [r.cells[0].probability for r in found.rounds] == [0.5, 0.8, 0.8, 0.8, 0.8]


def test_a_wave_without_freezing_makes_all_its_rounds() -> None:
    _, found, engine = drafted("das_wave", block=3, first=2, widen=1, inner=1, freeze=0, rounds=6)
    assert found is not None and found.end == "rounds"
    assert [r.parked for r in found.rounds] == [0] * 6
    assert shown(found)[-1] == "11:6s 12:6s 13:5s"
    assert (engine.calls, engine.applications) == (found.calls, found.applications) == (6, 17)


def test_a_wave_without_carry_begins_every_round_anew() -> None:
    draft, found, engine = drafted(
        "das_wave", block=3, first=2, widen=1, inner=2, freeze=1, carry=False
    )
    assert found is not None and found.carry is False
    assert shown(found) == [
        "11:2n 11:2n",
        "11:2s 12:2c 12:2n",
        "11:2s 12:2s 13:2c",
        "11:2s 12:2s 13:2s",
    ]
    assert [r.parked for r in found.rounds] == [0] * 4 and found.end == "settled"
    assert (found.calls, found.applications) == (8, 2 * (2 + 3 + 3 + 3))
    assert (engine.calls, engine.applications) == (found.calls, found.applications)
    assert engine.log.count(("restart",)) == 3
    assert draft.tree.tokens == (10, 11, 12, 13)


def test_a_wave_never_drafts_beyond_the_budget() -> None:
    draft, found, _ = drafted("das_wave", budget=3, block=8, first=4, inner=2, freeze=1)
    assert draft.tree.tokens == (10, 11, 12)
    assert found is not None and found.end == "budget"
    assert shown(found) == ["11:2n 11:2n", "11:4s 12:4c", "11:4f 12:6s"]
    draft, found, engine = drafted("das_wave", budget=1)
    assert len(draft.tree) == 1 and found is None and engine.log == []


def test_a_wave_ends_at_a_stable_end_token_and_widens_no_further() -> None:
    draft, found, _ = drafted("das_wave", root=18, block=12, first=3, widen=2, inner=2, freeze=2)
    assert draft.tree.tokens == (18, 19, END)
    assert found is not None and found.end == "settled"
    assert shown(found) == [
        "19:2n 19:2n 19:2n",
        "19:4s 20:4c 20:4c 20:2n 20:2n",
        "19:6s 20:6s 21:6c 21:4c 21:4c 21:2n 21:2n",  # 20 stood still: nothing joins any more
        "19:6f 20:8s 21:8s 22:6c 22:6c 22:4c 22:4c",
    ]


def test_a_blocked_token_is_not_drafted() -> None:
    draft, found, _ = drafted("das_wave", root=28, block=4, inner=2)
    assert draft.tree.tokens == (28, 29)
    assert found is not None and found.rounds[-1].cells[1].token == BLOCKED
    draft, _, _ = drafted("das", root=28, draft=2)
    assert draft.tree.tokens == (28, 29)


def test_a_sequential_draft_worked_by_hand() -> None:
    draft, found, engine = drafted("das", tokens=3, draft=2, keys=1, values=-1)
    assert found is not None
    assert shown(found) == ["11:2n", "11:2f 12:2n", "11:2f 12:2f 13:2n"]
    assert [r.parked for r in found.rounds] == [0, 1, 2]
    assert [r.iterations for r in found.rounds] == [2, 2, 2]
    assert (found.calls, found.applications, found.readouts) == (6, 6, 3)
    assert (engine.calls, engine.applications, engine.readouts) == (6, 6, 3)
    assert (found.keys, found.values, found.carry, found.end) == (1, 4, False, "rounds")
    assert draft.tree.tokens == (10, 11, 12, 13)
    assert draft.sources[1:] == ("das",) * 3 and draft.scores == (None, 0.8, 0.64, 0.512)
    assert engine.log == [
        ("begin", 10, 1, 4, True), ("refine", 2, 0), ("read", 0),
        ("grow", 11), ("refine", 2, 1), ("read", 1),
        ("grow", 12), ("refine", 2, 2), ("read", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("knobs", "tokens", "end"),
    [
        ({"root": 18}, (18, 19, END), "settled"),
        ({"budget": 3}, (10, 11, 12), "budget"),
        ({"confidence": 0.6}, (10, 11, 12, 13), "settled"),
        ({"confidence": 0.3}, (10, 11, 12, 13, 14, 15), "rounds"),
        ({"tokens": 1}, (10, 11), "rounds"),
    ],
)
def test_where_a_sequential_draft_stops(knobs: dict, tokens: tuple[int, ...], end: str) -> None:
    draft, found, _ = drafted("das", **{"draft": 2, "tokens": 5, **knobs})
    assert draft.tree.tokens == tokens
    assert found is not None and found.end == end
    draft, found, engine = drafted("das", budget=1)
    assert len(draft.tree) == 1 and found is None and engine.log == []


def test_states_that_overflowed_are_guesses_without_confidence() -> None:
    draft, found, _ = drafted("das", tokens=2, rule=lambda *_: (7, float("nan")))
    assert found is not None and [c.probability for c in found.rounds[1].cells] == [0.0, 0.0]
    assert draft.scores == (None, 0.0, 0.0)


@pytest.mark.parametrize(
    ("decoder", "knobs", "said"),
    [
        ("das", {"draft": 9}, "draft cannot be 9: deep makes 8 iterations, so give a whole number "
         "from 1 to 8."),
        ("das", {"keys": 9}, "keys cannot be 9: deep makes 8 iterations, so give a whole number "
         "from -1 to 8."),
        ("das_wave", {"values": 12}, "values cannot be 12: deep makes 8 iterations, so give a "
         "whole number from -1 to 8."),
        ("das_wave", {"inner": 9}, "inner cannot be 9: deep makes 8 iterations, so give a whole "
         "number from 1 to 8."),
        ("das_wave", {"first": 9, "block": 8}, "first cannot be 9 with a block of 8: give first "
         "a whole number from 1 to 8, or a block of 9 or more."),
        ("das_wave", {"block": 1}, "first cannot be 4 with a block of 1: give first 1, or a block "
         "of 4 or more."),
    ],
)  # fmt: skip
def test_depths_that_the_model_never_reaches_are_refused(
    decoder: str, knobs: dict, said: str
) -> None:
    model = DepthToy(random_logits(1, 4), [b"a", b"b", b"c", b"d"], label="deep")
    with pytest.raises(InputError) as refused:
        next(decode(model, Inputs((1, 2)), create(decoder, knobs), 9))
    assert str(refused.value) == said
    check_fit(model, create(decoder, {"keys": 8, "values": 0}), Inputs((1,)), 9)


@pytest.mark.parametrize(
    ("decoder", "knobs", "said"),
    [
        ("das", {"tokens": 33}, "tokens cannot be 33: give a whole number from 1 to 32."),
        ("das", {"values": -2}, "values cannot be -2: give a whole number from -1 to 256."),
        ("das_wave", {"block": 0}, "block cannot be 0: give a whole number from 1 to 64."),
        ("das_wave", {"rounds": 99}, "rounds cannot be 99: give a whole number from 1 to 32."),
    ],
)
def test_knobs_out_of_range_are_refused(decoder: str, knobs: dict, said: str) -> None:
    with pytest.raises(InputError) as refused:
        create(decoder, knobs)
    assert str(refused.value) == said


@pytest.mark.parametrize("decoder", ["das", "das_wave"])
def test_a_model_without_a_shared_block_is_refused_with_the_reason(decoder: str) -> None:
    with pytest.raises(Unsupported) as refused:
        next(decode(rhyme_model(), Inputs((1, 2)), create(decoder), 9))
    assert str(refused.value) == (
        f"The decoder {decoder} guesses with fewer iterations of a shared block, and toy has none, "
        "its layers run once each: choose a recurrent-depth model."
    )
    plain = ToyModel(random_logits(1, 2), [b"a", b"b"])
    with pytest.raises(Unsupported, match=r"^The model toy has no shared block"):
        create(decoder).check(plain)


@pytest.mark.parametrize("knobs", [{}, {"auto": True}, {"carry": False, "inner": 2}, {"block": 5}])
def test_the_ledger_of_whole_runs_is_what_the_engine_was_asked_for(knobs: dict) -> None:
    model = DepthToy(random_logits(3, 6, 2, 3.0), [bytes([97 + i]) for i in range(6)])
    model.eos_ids = frozenset()
    steps = [
        e for e in decode(model, Inputs((1, 2, 3)), create("das_wave", knobs), 60)
        if isinstance(e, Step)
    ]  # fmt: skip
    waves = [s.evidence for s in steps if isinstance(s.evidence, WaveEvidence)]
    (engine,) = model.engines
    assert sum(w.calls for w in waves) == engine.calls
    assert sum(w.applications for w in waves) == engine.applications
    assert sum(w.readouts for w in waves) == engine.readouts
    for step, wave in zip(steps, waves, strict=False):
        last = [c.token for c in wave.rounds[-1].cells]
        assert [n.token for n in step.nodes[1:]] == last
    assert len(waves) >= len(steps) - 1 and sum(len(s.walk) for s in steps) > 20
