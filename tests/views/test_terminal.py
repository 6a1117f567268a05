"""Steps as lines and rows: every mark, every text literal."""

from __future__ import annotations

from specviz.trace import Costs, Header, Node, Prefill, Seconds, Step, Trace
from specviz.views import steps, terminal

PIECES = {0: b"<end>", 1: b" the", 2: b" light", 3: b"=house", 4: b"\x1b[31m", 5: b"\xe2\x80"}


def node(token: int, parent: int, pick: int, order: int = 0, logp: float | None = None) -> Node:
    return Node(
        token=token, parent=parent, source="root" if parent < 0 else "level2", order=order,
        score=None, logp=logp, pick=pick, margin=1.0, top=((pick, -0.1),), tail=0.1,
    )  # fmt: skip


def step(walk: tuple[int, ...], emitted: tuple[int, ...], *nodes: Node) -> Step:
    seconds = Seconds(draft=0.1, verify=0.2, commit=0.3, total=0.7)
    return Step(
        index=6, nodes=nodes, walk=walk, emitted=emitted, seconds=seconds, cache_length=20
    )


# Root " the"; " light" is accepted; under it "=house" was picked but lies beyond the budget; the
# escape sequence beside " light" is refused, and nobody asked for what follows it.
CLIPPED = step(
    (1, 3), (2,),
    node(1, -1, 2), node(2, 0, 3, 2, -0.5), node(4, 0, 5, 1, -3.0), node(3, 1, 0, 4, -0.2),
    node(5, 2, 0, 3, -4.0),
)  # fmt: skip


def test_every_node_has_a_state() -> None:
    assert steps.node_states(CLIPPED) == (
        "root", "accepted", "rejected", "discarded", "not reached",
    )  # fmt: skip
    assert steps.depths(CLIPPED) == (0, 1, 1, 2, 2)


def test_a_tree_is_drawn_in_order_of_growth_with_marks() -> None:
    assert list(terminal.tree_lines(CLIPPED, PIECES)) == [
        "• ␣the  → ␣light",
        "  – ‹U+001B›[31m  level2  p=0.050",
        "    · ‹E2 80›  level2  p=0.018",
        "  ✓ ␣light  level2  p=0.607  → =house",
        "    ○ =house  level2  p=0.819",
    ]


# Under " the" the target wants " light": two guesses say so, the second one is a copy, and nobody
# asked for what follows it. After the first one the target wants the end.
TWICE = step(
    (1,), (2, 0),
    node(1, -1, 2), node(2, 0, 0, 1, -0.5), node(2, 0, 0, 2, -0.5), node(0, 2, 1, 3, -0.1),
    node(3, 0, 0, 4, -2.0), node(3, 1, 0, 5, -2.0),
)  # fmt: skip


def test_a_second_guess_of_the_accepted_token_is_not_called_rejected() -> None:
    assert steps.node_states(TWICE) == (
        "root", "accepted", "duplicate", "not reached", "rejected", "rejected",
    )  # fmt: skip
    assert list(terminal.tree_lines(TWICE, PIECES))[3:5] == [
        "  = ␣light  level2  p=0.607",
        "    · <end>  level2  p=0.905",
    ]


def test_beside_the_end_nobody_asked() -> None:
    """The answer ends with " light": what was guessed after it was never put to the test."""
    ended = step((1,), (2,), *TWICE.nodes)
    assert steps.node_states(ended)[5] == "not reached"
    assert steps.node_states(ended)[4] == "rejected"


def test_a_step_is_one_line() -> None:
    assert terminal.step_line(CLIPPED, PIECES) == "   7  1/4   ✓␣light"
    whole = step((1,), (2, 3), node(1, -1, 2), node(2, 0, 3, 1, -0.5))
    assert terminal.step_line(whole, PIECES) == "   7  1/1   ✓␣light ★=house"


def test_a_step_says_what_the_model_wanted_instead_of_its_guesses() -> None:
    beyond = step((1,), (2, 0), *TWICE.nodes)
    assert terminal.step_line(beyond, PIECES) == (
        "   7  1/5   ✓␣light ★<end>  (the model wanted <end>, not =house)"
    )
    many = step(
        (), (3,), node(1, -1, 3), *(node(t, 0, 0, 9 - t, -2.0) for t in (1, 2, 4, 5))
    )  # fmt: skip
    assert terminal.step_line(many, PIECES) == (
        "   7  0/4   ★=house  (the model wanted =house, not ‹E2 80›, ‹U+001B›[31m, ␣light, …)"
    )


def test_the_speed_has_its_reason_in_plain_passes_and_a_ceiling() -> None:
    mine = {"rows_per_pass": 12.44, "ceiling": None, "curve_cost": None, "free_rows": None}
    parts = {"tau": 3.0, "cost": 2.0, "pass": 1.504, "speed": 1.5}
    facts = {"decoder": mine, "breakdown": parts, "above_ceiling": False}
    assert list(terminal.why(facts)) == [
        "3.00 tokens a pass; a pass over 12.4 rows cost 1.50 plain passes, guessing and upkeep "
        "0.50 more: 3.00 / 2.00 = 1.50x"
    ]
    slow = {"tau": 1.204, "cost": 1.666, "pass": 1.6, "speed": 1.204 / 1.666}
    known = {**mine, "ceiling": 0.951, "curve_cost": 1.266, "free_rows": 4}
    assert list(terminal.why({**facts, "decoder": known, "breakdown": slow})) == [
        "not faster: 1.20 tokens a pass, but a pass over 12.4 rows cost 1.60 plain passes, "
        "guessing and upkeep 0.07 more: 1.20 / 1.67 = 0.72x",
        "ceiling 0.95x, had guessing and upkeep been free: by the costs measured here these passes "
        "cost 1.27 passes over one row on average; up to 4 rows are nearly free",
    ]
    # A speed just above that ceiling was not bounded by it.
    near = {**facts, "decoder": {**known, "ceiling": 0.386}, "breakdown": {**slow, "speed": 0.404}}
    assert list(terminal.why(near))[1:] == [
        "had guessing and upkeep been free, it would have been about as fast as measured: by the "
        "costs measured here these passes cost 1.27 passes over one row on average; up to 4 rows "
        "are nearly free"
    ]
    # What was rounded does not divide to the last digit: then it is not said to be equal.
    (line,) = terminal.why({**facts, "breakdown": {**parts, "speed": 1.5051}})
    assert line.endswith("3.00 / 2.00 ≈ 1.51x")
    assert list(terminal.why({**facts, "breakdown": None})) == []
    *_, doubt = terminal.why({**facts, "above_ceiling": True})
    assert doubt == (
        "that is above the ceiling: something disturbed the plain run or the measuring of pass "
        "costs, so measure again on a quiet machine"
    )


def test_the_object_tells_what_passes_cost() -> None:
    found = trace(3, 2)
    costs = Costs(context=128, rows=(1, 4), seconds=(0.02, 0.025))
    first = found.events[0].model_copy(update={"costs": costs, "packed": True})
    told = terminal.run_object(Trace((first, *found.events[1:])))
    assert (told["packed"], told["rows_per_pass"], told["ceiling"]) == (True, 1.0, 2.0)
    assert told["costs"] == {"context": 128, "rows": [1, 4], "seconds": [0.02, 0.025]}
    plain = terminal.run_object(found)
    assert (plain["packed"], plain["ceiling"], plain["costs"]) == (False, None, None)


def trace(*emitted: int) -> Trace:
    header = Header(
        run="r", decoder="recap", knobs={}, model="m\x1b[2J", digest="d", device="cpu",
        dtype="float32", machine="", versions={}, messages=(), tokens=(1,), max_new_tokens=9,
        vocab_size=6, eos_ids=(),
    )  # fmt: skip
    pieces = {i: p.decode("latin-1") for i, p in PIECES.items()}
    prefill = Prefill(
        seconds=0.1, token=1, margin=1.0, top=((1, -0.1),), pieces=pieces, specials=(0,)
    )
    return Trace((header, prefill, step((), emitted, node(1, -1, emitted[0]))))


def test_what_a_model_wrote_has_no_power_over_the_terminal() -> None:
    found = trace(4, 2, 0)
    run = found.run()
    assert run is not None
    assert terminal.answer(found, run) == " the\\x1b[31m light"
    heading = terminal.heading(run.header)
    assert heading == "recap on m\\x1b[2J (cpu, float32), a prompt of 1 token"
    assert terminal.literal("a\r\u202eb\n\tc") == "a\\x0d\\x202eb\n\tc"
    assert terminal.run_object(found)["text"] == " the\x1b[31m light"


def test_steps_as_csv_are_inert_in_a_spreadsheet() -> None:
    lines = steps.to_csv(trace(3, 2)).splitlines()
    assert lines[0] == ",".join(steps.COLUMNS)
    assert lines[1] == "7,0,0,2,'=house ␣light,False,20,0.1,0.2,0.3,0.7"
