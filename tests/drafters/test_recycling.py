"""RECAP's formulas on numbers that can be checked by hand, and its memory's life."""

from __future__ import annotations

import itertools
import math

import pytest

from specviz.decoding import decode
from specviz.drafters import create
from specviz.drafters.growth import Answer, Growth, Limits, Option
from specviz.drafters.memory import ARRAYS, Level, Row, Snapshot, make_row, model_key
from specviz.drafters.mixture import Settings
from specviz.drafters.recycling import Recycler
from specviz.drafters.token_recycling import PUBLISHED
from specviz.evidence import MemoryEvidence, Written
from specviz.models.base import InputError, Inputs, Scores
from specviz.models.toy import ToyModel, random_logits
from specviz.trace import Header, Prefill, Step
from specviz.tree import DraftTree
from tests.adversaries import draft_of

HERE = Written(0, 0, True)


def row(probs: dict[int, float], entropy: float | None = None) -> Row:
    made = make_row(list(probs), [math.log(p) for p in probs.values()], HERE)
    if entropy is None:
        return made
    return Row(made.ids, made.logps, made.probs, entropy, HERE)


def recycler(**knobs) -> Recycler:
    memory = Recycler(Settings(copy="off", repeats=0, calibration="none", **knobs))
    memory._tail = (1, 2, 3)
    memory._match = None
    return memory


def fill(memory: Recycler, rows: dict[int, Row]) -> None:
    for order, content in rows.items():
        memory._levels[order].write([((1, 2, 3), content)])


def test_entropy_lumps_the_tail_into_one_symbol() -> None:
    made = row({4: 0.5, 5: 0.25})
    expected = -(0.5 * math.log(0.5) + 0.25 * math.log(0.25) + 0.25 * math.log(0.25))
    assert made.entropy == pytest.approx(expected / math.log(3), abs=1e-4)
    assert row({4: 1.0}).entropy == 0.0


def test_weights_are_base_times_sureness() -> None:
    memory = recycler()
    rows = {3: row({4: 0.6}, 0.5), 2: row({5: 0.6}, 0.2), 1: row({6: 0.6}, 0.0)}
    fill(memory, rows)
    hits = {h.level: h for h in memory._ask(()).hits}
    raw = {3: 0.7 * 0.5, 2: 0.2 * 0.8, 1: 0.1 * 1.0}
    total = sum(raw.values())
    assert {n: h.weight for n, h in hits.items()} == {
        n: round(w / total, 4) for n, w in raw.items()
    }
    assert [h.level for h in memory._ask(()).hits] == [3, 2, 1]
    assert hits[3].key == (1, 2, 3) and hits[1].key == (3,)


def test_a_certain_short_key_beats_a_diffuse_long_one() -> None:
    memory = recycler()
    fill(memory, {3: row({4: 0.2}, 0.9), 2: row({5: 0.9}, 0.05)})
    three, two = (h.weight for h in memory._ask(()).hits)
    assert two / three == pytest.approx(0.20 * 0.95 / (0.70 * 0.1), rel=1e-3)
    assert memory._ask(()).options[0].token == 5
    without = recycler(gamma=0.0)
    fill(without, {3: row({4: 0.2}, 0.9), 2: row({5: 0.9}, 0.05)})
    assert [h.weight for h in without._ask(()).hits] == [0.7778, 0.2222]


def test_longest_wins_silences_the_rest_but_records_them() -> None:
    memory = recycler(longest_wins=True)
    fill(memory, {3: row({4: 0.2}, 0.9), 2: row({5: 0.9}, 0.05)})
    answer = memory._ask(())
    assert [h.weight for h in answer.hits] == [1.0, 0.0]
    assert [o.token for o in answer.options] == [4]


def test_base_by_rank_gives_the_best_hit_the_first_weight() -> None:
    memory = recycler(base="rank", gamma=0.0)
    fill(memory, {2: row({4: 0.5}), 1: row({5: 0.5})})
    assert [h.base for h in memory._ask(()).hits] == [0.7, 0.2]
    assert [h.weight for h in memory._ask(()).hits] == [0.7778, 0.2222]


def test_the_mixture_adds_shares_and_names_the_level_that_gave_most() -> None:
    memory = recycler(gamma=0.0, base="level")
    fill(memory, {3: row({4: 0.5, 5: 0.3}), 1: row({5: 0.9, 6: 0.05})})
    options = {o.token: o for o in memory._ask(()).options}
    assert options[4].probability == pytest.approx(0.875 * 0.5)
    assert options[5].probability == pytest.approx(0.875 * 0.3 + 0.125 * 0.9)
    assert options[6].probability == pytest.approx(0.125 * 0.05)
    assert (options[4].level, options[5].level, options[6].level) == (3, 3, 1)


def test_equal_candidates_keep_the_most_specific_levels_order() -> None:
    memory = recycler(gamma=0.0)
    fill(memory, {3: row({9: 0.2, 4: 0.2})})
    assert [o.token for o in memory._ask(()).options] == [9, 4]


def test_level_three_without_fallback_is_silent_where_it_has_no_row() -> None:
    memory = recycler(levels="3")
    assert set(memory._levels) == {3}
    assert memory._ask(()).hits == ()


# Growth against the slow obvious way


def best_subtree(table: dict[int, list[tuple[int, float]]], nodes: int) -> float:
    """The largest sum of branch scores of any subtree with so many nodes, by trying them all."""
    everything: list[tuple[int, float, int]] = []  # parent, score, token

    def unfold(parent: int, token: int, score: float, depth: int) -> None:
        for child, q in table.get(token, []):
            everything.append((parent, score * q, child))
            if depth < 3:
                unfold(len(everything) - 1, child, score * q, depth + 1)

    unfold(-1, 0, 1.0, 1)
    best = 0.0
    for chosen in itertools.combinations(range(len(everything)), nodes):
        if all(everything[i][0] in (-1, *chosen) for i in chosen):
            best = max(best, sum(everything[i][1] for i in chosen))
    return best


@pytest.mark.parametrize("nodes", [1, 2, 3, 4])
def test_best_first_growth_is_optimal(nodes: int) -> None:
    table = {0: [(1, 0.5), (2, 0.4)], 1: [(2, 0.9), (1, 0.05)], 2: [(0, 0.3), (1, 0.6)]}

    def ask(branch: tuple[int, ...]) -> Answer:
        last = branch[-1] if branch else 0
        return Answer((), [Option(t, q, 1) for t, q in table[last]])

    growth = Growth(0, ask, Limits(nodes, 3, 8), lambda depth, level: 1.0)
    growth.grow()
    assert len(growth.tokens) == nodes + 1
    assert sum(growth.scores[1:]) == pytest.approx(best_subtree(table, nodes))


def grown(options: dict[tuple[int, ...], list[tuple[int, float]]], **limits) -> Growth:
    bounds = {"nodes": 10, "depth": 5, "width": 8, **limits}

    def ask(branch: tuple[int, ...]) -> Answer:
        return Answer((), [Option(t, q, 1) for t, q in options.get(branch, [])])

    growth = Growth(0, ask, Limits(**bounds), lambda depth, level: 1.0)
    growth.grow()
    return growth


def cuts(growth: Growth, node: int = 0) -> dict[int, str]:
    return {o.token: o.cut for o in growth.answers[node].options}


def test_every_cut_says_why() -> None:
    root = [(1, 0.5), (2, 0.3), (3, 0.1), (4, 0.05), (5, 0.01)]
    growth = grown({(): root}, blocked=frozenset({1}), width=2, least_score=0.08)
    assert cuts(growth) == {1: "blocked", 2: "", 3: "", 4: "width", 5: "width"}
    assert cuts(grown({(): root}, nodes=2)) == {1: "", 2: "", 3: "budget", 4: "budget", 5: "budget"}
    assert cuts(grown({(): root}, least_score=0.08))[4] == "score"
    assert cuts(grown({(): root, (1,): [(7, 0.9)]}, depth=1), 1) == {7: "depth"}


def test_an_end_token_is_a_leaf_and_edges_repeat_twice_at_most() -> None:
    growth = grown({(): [(9, 0.9)], (9,): [(1, 0.9)]}, leaves=frozenset({9}))
    assert growth.tokens == [0, 9] and 1 not in growth.answers
    loop = {(0,) * n: [(0, 0.9)] for n in range(9)}
    growth = grown(loop, repeats=2)
    assert growth.tokens == [0, 0, 0]
    assert cuts(growth, 2) == {0: "repeat"}


def test_the_order_is_depth_first_with_the_best_chain_in_front() -> None:
    options = {(): [(1, 0.6), (2, 0.5)], (1,): [(3, 0.9)], (2,): [(4, 0.9)]}
    draft, index = grown(options).draft()
    assert draft.tree == DraftTree((0, 1, 3, 2, 4), (-1, 0, 1, 0, 3))
    assert draft.order == (0, 1, 2, 3, 4)
    assert [draft.tree.tokens[i] for i in index] == [0, 1, 3, 2, 4]


def test_a_copied_chain_merges_with_what_is_there() -> None:
    growth = grown({(): [(1, 0.6)], (1,): [(3, 0.9)]})
    growth.add_chain([1, 5, 6])
    draft, _ = growth.draft()
    assert draft.tree.tokens == (0, 1, 3, 5, 6)
    assert draft.sources == ("root", "level1", "level1", "copy", "copy")


# Token Recycling


def test_the_published_tree_has_80_nodes_in_six_levels() -> None:
    levels: dict[int, int] = {}
    leaves = 0
    for path, count in PUBLISHED.items():
        levels[len(path) + 1] = levels.get(len(path) + 1, 0) + count
        assert path == () or PUBLISHED[path[:-1]] > path[-1]
        leaves += sum((*path, rank) not in PUBLISHED for rank in range(count))
    assert levels == {1: 8, 2: 21, 3: 25, 4: 15, 5: 8, 6: 3}
    assert sum(levels.values()) == 80 and leaves == 40


def test_static_recycling_against_a_plain_matrix() -> None:
    """The slow way: an int matrix of zeros, filled level by level, whole rows overwritten."""
    vocab = 12
    model = ToyModel(random_logits(5, vocab, 1), [bytes([97 + i]) for i in range(vocab)])
    model.eos_ids = frozenset()
    matrix = [[0] * 8 for _ in range(vocab)]
    drafter = create("token_recycling")
    steps, emitted = 0, 1
    for event in decode(model, Inputs((1, 2, 3)), drafter, 40):
        if not isinstance(event, Step):
            continue
        steps += 1
        if event.index < 30:
            expected = {(): event.nodes[0].token}
            for path, count in PUBLISHED.items():
                for rank in range(count):
                    expected[(*path, rank)] = matrix[expected[path]][rank]
            deep = {p: t for p, t in expected.items() if len(p) < 40 - emitted}
            assert sorted(n.token for n in event.nodes) == sorted(deep.values())
        emitted += len(event.emitted)
        for node in event.nodes:
            matrix[node.token] = [t for t, _ in node.top]
    assert steps > 5


# Memory


def test_writing_prefers_the_accepted_branch_then_the_better_score() -> None:
    memory = recycler()
    memory._step = 4
    draft = draft_of([3, 7, 7, 7], [-1, 0, 0, 0])
    scores = Scores(
        picks=(7, 1, 2, 3),
        margins=(1.0,) * 4,
        peaks=(1.0,) * 4,
        top_ids=((7,), (1,), (2,), (3,)),
        top_logps=((-0.1,),) * 4,
        tails=(0.1,) * 4,
        own_logps=(None, -0.1, -0.1, -0.1),
        positions=(0, 1, 2, 3),
    )
    branches = {0: (), 1: (7,), 2: (7,), 3: (7,)}
    memory._write(draft, scores, (3,), branches)
    found = memory._levels[1].rows[(7,)]
    assert found.ids == (3,) and found.written == Written(4, 3, True)
    memory._write(draft, scores, (), branches)
    assert memory._levels[1].rows[(7,)].ids == (1,)
    assert memory._levels[1].rows[(7,)].written == Written(5, 1, False)
    assert memory._levels[3].rows[(2, 3, 7)].ids == (1,)


def test_only_committed_tokens_enter_the_history() -> None:
    model = ToyModel(random_logits(2, 9, 2), [bytes([97 + i]) for i in range(9)])
    model.eos_ids = frozenset()
    drafter = create("recap", {"nodes": 20})
    context = [1, 2, 3]
    for event in decode(model, Inputs((1, 2, 3)), drafter, 60):
        if isinstance(event, Prefill):
            context.append(event.token)
        elif isinstance(event, Step):
            assert event.nodes[0].token == context[-1]
            for lookup in event.evidence.lookups:
                path, node = [], lookup.node
                while node > 0:
                    path.append(event.nodes[node].token)
                    node = event.nodes[node].parent
                whole = (*context, *reversed(path))
                assert all(h.key == whole[-h.level :] for h in lookup.hits)
            context.extend(event.emitted)
            assert drafter.memory._spans._known <= len(context)


def test_a_snapshot_survives_saving_and_is_refused_elsewhere(tmp_path) -> None:
    level = Level(1)
    level.write([((5,), make_row([1, 2], [-0.1234, -2.5], HERE))])
    snapshot = level.snapshot("weights/float32")
    snapshot.save(tmp_path / "m.npz")
    again = Snapshot.load(tmp_path / "m.npz")
    assert again.model == "weights/float32" and len(again) == 1
    other = Level(1)
    other.restore(again, vocab_size=9)
    assert other.rows[(5,)] == Row(
        (1, 2), (-0.1234, -2.5), (math.exp(-0.1234), math.exp(-2.5)),
        level.rows[(5,)].entropy, Written(-2, 0, True),
    )  # fmt: skip
    with pytest.raises(InputError, match="tokens that this model does not have"):
        Level(1).restore(again, vocab_size=4)
    model = ToyModel(random_logits(2, 9), [bytes([97 + i]) for i in range(9)])
    drafter = create("recap")
    with pytest.raises(InputError, match="other weights, another dtype"):
        drafter.restore(again, model)
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 nonsense")
    with pytest.raises(InputError, match="not a saved memory"):
        Snapshot.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("name", ["recap", "token_recycling"])
@pytest.mark.parametrize("rejected", [True, False])
def test_folding_the_events_rebuilds_the_lasting_memory(name: str, rejected: bool) -> None:
    model = ToyModel(random_logits(2, 9, 2), [bytes([97 + i]) for i in range(9)])
    model.eos_ids = frozenset()
    drafter = create(name, {"rejected": rejected})
    outside = create(name, {"rejected": rejected})
    outside.fold(header(model, (1, 2, 3, 1)))
    for event in decode(model, Inputs((1, 2, 3, 1)), drafter, 50):
        if isinstance(event, (Prefill, Step)):
            outside.fold(event)
            mine, theirs = drafter.snapshot(), outside.snapshot()
            assert mine.model == theirs.model == model_key(model, "top")
            for field in ARRAYS:
                assert (getattr(mine, field) == getattr(theirs, field)).all(), field
    assert len(mine) > 3


def header(model: ToyModel, tokens: tuple[int, ...]) -> Header:
    return Header(
        run="r", decoder="recap", knobs={}, model=model.label, digest=model.digest,
        device="cpu", dtype=model.dtype, eos_ids=(), machine="", versions={}, messages=(),
        tokens=tokens,
        max_new_tokens=9, vocab_size=model.vocab_size,
    )  # fmt: skip


def test_seeding_takes_the_first_occurrence_and_marks_it_as_read() -> None:
    model = ToyModel(random_logits(2, 9, 2), [bytes([97 + i]) for i in range(9)])
    prompt = (1, 2, 1, 3)
    drafter = create("recap", {"seed": "level1"})
    events = list(decode(model, Inputs(prompt), drafter, 1))
    rows = drafter.memory._levels[1].rows
    assert rows[(1,)].written == Written(-1, 0, True)
    assert rows[(1,)].ids[0] == int(model.logits((1,)).argmax())
    assert set(rows) == {(1,), (2,), (3,)}
    assert not drafter.memory._levels[2].rows
    assert next(e for e in events if isinstance(e, Prefill)).rows.positions == (0, 1, 3)
    deep = create("recap", {"seed": "all"})
    list(decode(model, Inputs(prompt), deep, 1))
    assert deep.memory._levels[3].rows[(2, 1, 3)].written == Written(-1, 3, True)
    bare = create("recap", {"seed": "none"})
    list(decode(model, Inputs(prompt), bare, 1))
    assert not bare.memory._levels[1].rows


def test_evidence_is_what_memory_said_before_it_learned() -> None:
    model = ToyModel(random_logits(2, 6, 1), [bytes([97 + i]) for i in range(6)])
    model.eos_ids = frozenset()
    drafter = create("recap", {"seed": "none", "copy": "off", "nodes": 4})
    first, second = [e for e in decode(model, Inputs((1,)), drafter, 30) if isinstance(e, Step)][:2]
    assert isinstance(first.evidence, MemoryEvidence)
    assert first.evidence.sizes == {3: 0, 2: 0, 1: 0}
    assert first.evidence.tallies[1] == (1, 0, 0)
    assert [lk.node for lk in first.evidence.lookups] == [0]
    assert second.evidence.sizes[1] == 1
    right = {n.token: n.pick for n in (*first.nodes, *second.nodes)}
    for lookup in second.evidence.lookups:
        for hit in lookup.hits:
            assert hit.ids[0] == right.get(hit.key[0], hit.ids[0])


def test_without_rejected_updates_only_the_accepted_path_is_written() -> None:
    model = ToyModel(random_logits(2, 9, 2), [bytes([97 + i]) for i in range(9)])
    model.eos_ids = frozenset()
    drafter = create("recap", {"rejected": False, "copy": "off", "nodes": 20})
    accepted: set[tuple[int, int]] = set()
    for event in decode(model, Inputs((1, 2, 3)), drafter, 60):
        if isinstance(event, Step):
            accepted |= {(event.index, n) for n in (0, *event.accepted)}
            rows = [r for level in drafter.memory._levels.values() for r in level.rows.values()]
            written = {r.written for r in rows if r.written.step >= 0}
            assert {(w.step, w.node) for w in written} <= accepted
            assert all(w.accepted for w in written)
    assert len(written) > 3 and len(accepted) > 20


def test_the_learned_discount_moves_by_a_twentieth_towards_what_happened() -> None:
    memory = Recycler(Settings(calibration="learned"))
    memory._discount = [0.5, 0.5, 0.5]
    scores = Scores(
        picks=(7, 9), margins=(1.0,) * 2, peaks=(1.0,) * 2, top_ids=((7,), (9,)),
        top_logps=((-0.1,),) * 2, tails=(0.1,) * 2, own_logps=(None, -0.1), positions=(0, 1),
    )  # fmt: skip
    tree = DraftTree((3, 7, 8), (-1, 0, 1))
    memory._learn_discount(tree, Scores(**{**vars(scores), "picks": (7, 9, 1)}), (1,))
    assert memory._discount == pytest.approx([0.525, 0.475, 0.5])
