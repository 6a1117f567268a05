"""Rules of the memories that only show when the obvious shortcut would give another number."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specviz.budget import Curve
from specviz.decoding import decode
from specviz.drafters import create
from specviz.drafters.base import Draft
from specviz.drafters.growth import Answer, Growth, Limits
from specviz.drafters.memory import ARRAYS, Row, make_row, verified_rows
from specviz.drafters.recycling import HIT_MASS, Recycler, Settings
from specviz.evidence import Tally, Written
from specviz.models.base import Inputs, Scores, finish
from specviz.models.toy import ToyModel, random_logits
from specviz.trace import Header, Prefill, Step
from specviz.tree import DraftTree

HERE = Written(0, 0, True)


def toy(vocab: int = 24, order: int = 1, device: str = "cpu", **facts: frozenset[int]) -> ToyModel:
    facts.setdefault("eos_ids", frozenset())
    pieces = [bytes([97 + i]) for i in range(vocab)]
    model = ToyModel(random_logits(4, vocab, order), pieces, **facts)  # type: ignore[arg-type]
    model.device = device
    return model


def row(probs: dict[int, float]) -> Row:
    made = make_row(list(probs), [math.log(p) for p in probs.values()], HERE)
    return Row(made.ids, made.logps, made.probs, 0.0, HERE)


def started(
    model: ToyModel,
    rows: dict[int, dict[int, float]],
    costs: Curve | None = None,
    **knobs: object,
) -> Recycler:
    """A recycler at the start of a request, with these rows in the single-token level."""
    memory = Recycler(Settings(**{"seed": "none", "levels": "1", **knobs}))  # type: ignore[arg-type]
    session = model.open(memory.capture())
    scores = finish(session.prefill(Inputs((1, 2, 3))))
    memory.start(session, (1, 2, 3), scores, costs)
    memory._levels[1].write([((token,), row(probs)) for token, probs in rows.items()])
    return memory


# Writing


def drafted(tokens: tuple[int, ...], parents: tuple[int, ...], scores: tuple) -> Draft:
    names = ("root", *("level1" for _ in tokens[1:]))
    return Draft(DraftTree(tokens, parents), names, scores, tuple(range(len(tokens))))


def said(size: int) -> Scores:
    """Node n's row predicts token 10 + n."""
    return Scores(
        picks=tuple(10 + n for n in range(size)), margins=(1.0,) * size, peaks=(1.0,) * size,
        top_ids=tuple((10 + n,) for n in range(size)), top_logps=((-0.1,),) * size,
        tails=(0.1,) * size, own_logps=(None, *(-0.1,) * (size - 1)), positions=tuple(range(size)),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("scores", "order"),
    [
        ((None, 0.2, 0.9, 0.5), [0, 2, 3, 1]),
        ((None, 0.9, 0.2, 0.5), [0, 1, 3, 2]),
        ((None, 0.5, 0.5, 0.5), [0, 1, 2, 3]),
        ((None, None, 0.5, 0.1), [0, 2, 3, 1]),
    ],
)
def test_of_refused_branches_the_one_believed_most_writes(scores: tuple, order: list[int]) -> None:
    draft = drafted((3, 7, 7, 7), (-1, 0, 0, 0), scores)
    assert [n for n, _ in verified_rows(draft, said(4), (), 0, True, 24)] == order
    memory = started(toy(), {}, copy="off")
    memory._tail = (1, 2, 3)
    memory._write(draft, said(4), (), {0: (), 1: (7,), 2: (7,), 3: (7,)})
    written = memory._levels[1].rows[(7,)]
    assert written.written == Written(0, order[1], False) and written.ids == (10 + order[1],)


def test_the_accepted_branch_writes_before_a_better_believed_one() -> None:
    draft = drafted((3, 7, 7), (-1, 0, 0), (None, 0.9, 0.2))
    found = [(n, r.written) for n, r in verified_rows(draft, said(3), (2,), 5, True, 24)]
    assert found == [
        (0, Written(5, 0, True)), (2, Written(5, 2, True)), (1, Written(5, 1, False)),
    ]  # fmt: skip


def test_the_roots_row_wins_over_an_accepted_child_with_its_token() -> None:
    """The root's branch is certain, its child's was a guess: one rule, the score, decides."""
    draft = drafted((7, 7, 7), (-1, 0, 1), (None, 0.6, 0.3))
    assert [n for n, _ in verified_rows(draft, said(3), (1, 2), 0, True, 24)] == [0, 1, 2]
    memory = started(toy(), {}, copy="off")
    memory._tail = (1, 2, 7)
    memory._write(draft, said(3), (1, 2), {0: (), 1: (7,), 2: (7, 7)})
    assert memory._levels[1].rows[(7,)].ids == (10,)
    outside = Recycler(Settings(levels="1"))
    rows = verified_rows(draft, said(3), (1, 2), 0, True, 24)
    outside._levels[1].write([((draft.tree.tokens[n],), row) for n, row in rows])
    assert outside._levels[1].rows[(7,)].ids == (10,)


# Evidence


def test_tallies_count_answers_and_among_them_the_right_ones() -> None:
    model = toy(order=3)
    right = answered = asked = 0
    steps = [e for e in decode(model, Inputs((1, 2, 3, 1)), create("recap", {"seed": "all"}), 80)
             if isinstance(e, Step)]  # fmt: skip
    for step in steps:
        at = {lookup.node: lookup for lookup in step.evidence.lookups}  # type: ignore
        for level, tally in step.evidence.tallies.items():  # type: ignore
            path = (0, *step.accepted)
            hits = [(h.ids[0], step.nodes[n].pick) for n in path for h in at[n].hits
                    if h.level == level]  # fmt: skip
            expected = Tally(len(path), len(hits), sum(guess == pick for guess, pick in hits))
            assert tally == expected
            asked, answered, right = (
                asked + tally.asked, answered + tally.answered, right + tally.right,
            )  # fmt: skip
    assert 0 < right < answered < asked


# Scores of branches


ROWS = {3: {4: 0.9, 5: 0.05}, 4: {6: 0.8}, 6: {8: 0.7}}


@pytest.mark.parametrize(
    ("calibration", "discounts"),
    [
        ("level", (0.65,) * 3),  # every row here is one of a single token
        ("depth", HIT_MASS),
        ("learned", HIT_MASS),
        ("none", (1.0,) * 3),
    ],
)
def test_a_branch_is_discounted_at_every_depth(
    calibration: str, discounts: tuple[float, ...]
) -> None:
    memory = started(toy(), ROWS, calibration=calibration, copy="off")
    draft = memory.grow((1, 2, 3), 20)
    one = discounts[0] * 0.9
    two = one * discounts[1] * 0.8
    three = two * discounts[2] * 0.7
    assert draft.tree == DraftTree((3, 4, 6, 8, 5), (-1, 0, 1, 2, 0))
    assert draft.scores[1:4] == pytest.approx((one, two, three), abs=1e-6)
    assert draft.scores[4] == pytest.approx(discounts[0] * 0.05, abs=1e-6)


def test_the_discount_table_is_the_measured_one_and_its_end_goes_on() -> None:
    memory = Recycler(Settings(calibration="depth"))
    found = [memory._trust(depth, 2) for depth in range(1, 9)]
    assert found == [0.68, 0.63, 0.5, 0.43, 0.4, 0.38, 0.38, 0.38]


def test_what_longer_keys_say_is_trusted_more_at_every_depth() -> None:
    memory = Recycler(Settings(calibration="level"))
    for depth in (1, 9):
        assert [memory._trust(depth, level) for level in (3, 2, 1, 0)] == [0.97, 0.9, 0.65, 0.87]


def test_the_longest_key_that_hits_decides_the_trust_of_all_its_candidates() -> None:
    memory = started(toy(), {3: {4: 0.9, 5: 0.05}}, copy="off", levels="12", width=3)
    made = make_row((6, 4), (math.log(0.5), math.log(0.4)), Written(0, 0, True))
    memory._levels[2].rows[2, 3] = Row(made.ids, made.logps, made.probs, 0.0, made.written)
    draft = memory.grow((1, 2, 3), 20)
    scores = dict(zip(draft.tree.tokens, draft.scores, strict=True))
    weights = {2: 0.2 / 0.3, 1: 0.1 / 0.3}  # both certain, so the base weights alone decide
    assert scores[4] == pytest.approx(0.9 * (weights[2] * 0.4 + weights[1] * 0.9), abs=1e-4)
    assert scores[6] == pytest.approx(0.9 * weights[2] * 0.5, abs=1e-4)
    assert scores[5] == pytest.approx(0.9 * weights[1] * 0.05, abs=1e-4)


# Copied continuations


@pytest.mark.parametrize("length", [2, 3, 4])
def test_a_copy_is_as_long_and_as_believed_as_its_match(length: int) -> None:
    """1 + 2 x length tokens at most; believed 1 - 1/(length + depth), up to 0.9."""
    text = (9, *range(1, 1 + length), *range(10, 22), 8, *range(1, 1 + length))
    memory = started(toy(), {}, calibration="none")
    draft = memory.grow(text, 40)
    width = min(8, 1 + 2 * length)
    assert draft.tree.tokens == (length, *range(10, 10 + width))
    assert draft.tree.parents == tuple(range(-1, width))
    assert draft.sources == ("root", *("copy",) * width)
    score, expected = 1.0, []
    for below in range(width):
        score *= min(0.9, 1 - 1 / (length + below + 1))
        expected.append(score)
    assert draft.scores[1:] == pytest.approx(expected, abs=1e-6)


def test_no_copy_is_believed_more_than_nine_tenths() -> None:
    long = tuple(range(1, 9))
    memory = started(toy(40), {}, calibration="none")
    draft = memory.grow((30, *long, 31, 32, 33, *long), 40)
    assert draft.tree.tokens[:4] == (8, 31, 32, 33)
    assert draft.scores[1] == pytest.approx(1 - 1 / 9, abs=1e-6)
    assert draft.scores[2] == pytest.approx((1 - 1 / 9) * 0.9, abs=1e-6)
    assert draft.scores[3] == pytest.approx((1 - 1 / 9) * 0.81, abs=1e-6)


@pytest.mark.parametrize(
    ("calibration", "first", "trust"),
    [("depth", (10, 7), (0.68, 1.0)), ("level", (7, 10), (0.65, 0.87)), ("none", (7, 10), (1, 1))],
)
def test_memory_and_a_copy_are_discounted_each_in_its_way(
    calibration: str, first: tuple[int, int], trust: tuple[float, float]
) -> None:
    """0.68 x 0.9 of memory lies below the 2/3 of a copy, 0.65 x 0.9 just above 0.87 x 2/3."""
    memory = started(toy(), {2: {7: 0.9}}, calibration=calibration, depth=1)
    draft = memory.grow((9, 1, 2, 10, 11, 8, 1, 2), 40)
    grown = sorted(zip(draft.order, draft.tree.tokens, draft.scores, strict=True))
    scores = {10: trust[1] * 2 / 3, 7: trust[0] * 0.9}
    where = {token: score for _, token, score in grown[1:] if token in scores}
    assert tuple(where) == first
    assert where == pytest.approx(scores, abs=1e-6)


# Entropy


def test_full_entropy_is_that_of_the_models_whole_distribution() -> None:
    model = toy(vocab=30)
    drafter = create("recap", {"entropy": "full", "levels": "1", "copy": "off"})
    list(decode(model, Inputs((1, 2, 3)), drafter, 30))
    rows = drafter.memory._levels[1].rows  # type: ignore[attr-defined]
    for (token,), kept in rows.items():
        logits = model.logits((token,))
        p = np.exp(logits - logits.max())
        p /= p.sum()
        assert kept.entropy == pytest.approx(-float(p @ np.log(p)) / math.log(30), abs=2e-4)
    assert len(rows) > 3 and len({kept.entropy for kept in rows.values()}) > 3


@pytest.mark.parametrize("entropy", ["full", "top"])
def test_a_rebuilt_memory_has_the_same_kind_of_entropy(entropy: str) -> None:
    model = toy(vocab=30, order=2)
    drafter, outside = (create("recap", {"entropy": entropy}) for _ in range(2))
    outside.fold(header(model, (1, 2, 3)))
    for event in decode(model, Inputs((1, 2, 3)), drafter, 30):
        if isinstance(event, (Prefill, Step)):
            outside.fold(event)
    mine, theirs = drafter.snapshot(), outside.snapshot()
    assert mine.model == theirs.model == f"{model.digest}/float64/{entropy}"
    assert all((getattr(mine, name) == getattr(theirs, name)).all() for name in ARRAYS)


def header(model: ToyModel, tokens: tuple[int, ...]) -> Header:
    return Header(
        run="r", decoder="recap", knobs={}, model=model.label, digest=model.digest, device="cpu",
        dtype=model.dtype, eos_ids=(), machine="", versions={}, messages=(), tokens=tokens,
        max_new_tokens=9, vocab_size=model.vocab_size,
    )  # fmt: skip


# What the model brings along


@pytest.mark.parametrize(
    ("device", "nodes", "expected"),
    [("cpu", 0, 16), ("cuda:0", 0, 63), ("cuda", 0, 63), ("cpu", 5, 5), ("cuda:0", 5, 5)],
)
def test_the_device_chooses_the_size_of_the_tree(device: str, nodes: int, expected: int) -> None:
    many = {t: {c: 0.1 for c in range(8)} for t in range(24)}
    memory = started(
        toy(device=device), many, nodes=nodes, least_score=0.0, repeats=0, calibration="none"
    )
    assert len(memory.grow((1, 2, 3), 40).tree) == expected + 1


def test_an_end_token_is_guessed_and_nothing_after_it() -> None:
    model = toy(eos_ids=frozenset({5}))
    memory = started(model, {3: {5: 0.6, 4: 0.3}, 5: {6: 0.9}, 4: {7: 0.9}}, copy="off")
    assert memory.grow((1, 2, 3), 40).tree == DraftTree((3, 5, 4, 7), (-1, 0, 0, 2))
    extra = started(model, {}, copy="reserve")
    assert extra.grow((9, 1, 2, 10, 5, 11, 8, 1, 2), 40).tree.tokens == (2, 10, 5)
    merged = started(model, {}, copy="merged")
    assert merged.grow((9, 1, 2, 10, 5, 11, 8, 1, 2), 40).tree.tokens == (2, 10, 5)


def test_a_blocked_token_is_never_guessed_by_a_grown_tree() -> None:
    model = toy(blocked_ids=frozenset({5}))
    memory = started(model, {3: {5: 0.6, 4: 0.3}, 5: {6: 0.9}}, copy="off")
    assert memory.grow((1, 2, 3), 40).tree.tokens == (3, 4)
    assert [(o.token, o.cut) for o in memory._answers[0].options] == [(5, "blocked"), (4, "")]


def test_a_blocked_token_is_never_guessed_by_a_fixed_tree() -> None:
    memory = started(toy(blocked_ids=frozenset({5})), {3: {5: 0.6, 4: 0.3}, 4: {6: 0.9}})
    draft = memory.fill((1, 2, 3), 40, {(): 2, (0,): 1, (1,): 1})
    assert draft.tree == DraftTree((3, 4, 6), (-1, 0, 1))
    assert [(o.token, o.cut) for o in memory._answers[0].options] == [(5, "blocked"), (4, "")]


@pytest.mark.parametrize("copy", ["merged", "reserve"])
def test_a_blocked_token_is_never_copied(copy: str) -> None:
    memory = started(toy(blocked_ids=frozenset({5})), {}, copy=copy)
    assert memory.grow((9, 1, 2, 10, 5, 11, 8, 1, 2), 40).tree.tokens == (2, 10)
    fresh = started(toy(blocked_ids=frozenset({5})), {}, copy=copy)
    assert fresh.grow((9, 5, 2, 10, 11, 8, 5, 2), 40).tree.tokens == (2,), "an equal end is none"


def test_an_added_chain_stops_before_a_blocked_and_after_an_end_token() -> None:
    def chain(tokens: list[int]) -> tuple[int, ...]:
        limits = Limits(9, 5, 8, blocked=frozenset({5}), leaves=frozenset({6}))
        growth = Growth(0, lambda branch: Answer((), []), limits, lambda depth: 1.0)
        growth.grow()
        growth.add_chain(tokens)
        return growth.draft()[0].tree.tokens

    assert chain([1, 5, 2]) == (0, 1)
    assert chain([1, 6, 2]) == (0, 1, 6)
    assert chain([1, 2, 3, 4, 7, 8]) == (0, 1, 2, 3, 4, 7)


def test_the_same_option_is_cut_by_the_end_only_when_the_budget_is_near() -> None:
    def cut(budget: int, depth: int) -> tuple[tuple[int, ...], str]:
        memory = started(toy(), ROWS, copy="off", depth=depth)
        tokens = memory.grow((1, 2, 3), budget).tree.tokens
        last = memory._answers[memory.settings.depth if budget > depth else budget - 1]
        return tokens, last.options[0].cut

    assert cut(budget=3, depth=10) == ((3, 4, 6, 5), "end")
    assert cut(budget=3, depth=2) == ((3, 4, 6, 5), "depth")
    assert cut(budget=9, depth=2) == ((3, 4, 6, 5), "depth")
    assert cut(budget=1, depth=10) == ((3,), "end")


def test_a_run_names_the_end_as_the_reason_only_near_it() -> None:
    drafter = create("recap", {"copy": "off", "levels": "1", "seed": "all", "depth": 4})
    left, near, far = 39, set(), set()
    for step in decode(toy(), Inputs(tuple(range(20))), drafter, 40):
        if isinstance(step, Step):
            cuts = {c.cut for lookup in step.evidence.lookups for c in lookup.candidates}  # type: ignore
            (near if left - 1 < 4 else far).update(cuts)
            left -= len(step.emitted)
    assert "end" in near and "depth" not in near
    assert "end" not in far and "depth" in far


# The size that pays


CHEAP_TO_EIGHT = Curve((1, 8, 16, 64), (1.0, 1.1, 2.0, 4.0))


@pytest.mark.parametrize(
    ("nodes", "lesson", "size", "why"),
    [
        (0, 0.0, 7, "cost"),  # up to eight rows cost a tenth more, the ninth a tenth for itself
        (0, 1.0, 40, ""),  # what it teaches pays for everything that is known
        (3, 0.0, 3, "budget"),  # a chosen number is a chosen number
    ],
)
def test_the_costs_set_the_size_of_the_tree(
    nodes: int, lesson: float, size: int, why: str
) -> None:
    rows = {3: {c: 0.1 - c / 1000 for c in range(10, 18)}}
    rows |= {c: {t: 0.01 - t / 10000 for t in range(18, 22)} for c in range(10, 18)}
    memory = started(
        toy(), rows, CHEAP_TO_EIGHT, nodes=nodes, lesson=lesson, least_score=0.0,
        calibration="none", copy="off",
    )  # fmt: skip
    draft = memory.grow((1, 2, 3), 40)
    assert len(draft.tree) == size + 1
    assert draft.tree.tokens[1:4] == ((10, 11, 12) if size < 40 else (10, 18, 19))
    root = memory._answers[0]
    assert {o.cut for o in root.options if o.node < 0} == ({why} if size < 8 else set())
    assert [o.node for o in root.options] == [n if n <= size else -1 for n in range(1, 9)]
