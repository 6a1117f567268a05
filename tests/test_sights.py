"""What a head saw and what came of it, with numbers counted by hand from a small run."""

from __future__ import annotations

import json

from specviz import player, sights
from specviz.sights import Bin, Level, Rank
from specviz.trace import Run, Trace
from specviz.windows import MODES
from tests.wave_traces import small_wave
from tests.window_traces import HEAD, ID, every_mode, small_window, window_trace


def small() -> Run:
    run = small_window().run()
    assert run is not None
    return run


def test_entries_grow_with_the_text_and_eight_of_them_are_seen() -> None:
    """16 tokens of prompt and the first of the answer: 16 pairs; then 3 and 2 tokens more."""
    seen = list(sights.looks(small()))
    assert [s.entries for s in seen] == [16, 19, 21]
    assert [sights.kept(s.evidence) for s in seen] == [8, 8, 8]
    assert [s.evidence.distance for s in seen] == [9.0, 7.0, 7.0]
    assert sights.overview(small()) == {
        "seen": 8, "entries": 21, "bytes": 8 * 1536, "trained": 12, "distance": 9.0,
    }  # fmt: skip


def test_beyond_begins_at_the_first_position_that_was_not_trained() -> None:
    evidence = next(sights.looks(small())).evidence
    for distance, beyond in ((11.0, False), (11.9, False), (12.0, True)):
        assert sights.beyond(evidence.model_copy(update={"distance": distance})) is beyond
    far = {
        name: [sights.beyond(s.evidence) for s in sights.looks(run)]
        for name, trace in every_mode(400, 2).items()
        if (run := trace.run()) is not None
    }
    assert far == {
        "full": [True, True], "window_abs": [True, True], "slot": [False, False],
        "shift": [False, False], "reindex_only": [False, False], "pure": [False, False],
        "truncated": [False, False],
    }  # fmt: skip


def test_the_rank_of_a_token_among_what_was_offered() -> None:
    first = small().steps[0]
    assert sights.rank(first, 2, ID[" every"]) == Rank(3, 3, 0.1, "budget")
    assert sights.rank(first, 2, ID[" night"]) is None
    assert sights.offers(first, 4) is None, "a guess at the end of its branch did not look"


def test_bins_hold_whole_steps_and_the_plain_seconds_of_the_same_tokens() -> None:
    first, second, third = sights.bins(small_window())
    assert first == Bin(16, 19, 1, 3, 2, 0.004, 0.02, 0.03, 0.021)
    assert second == Bin(19, 21, 1, 2, 1, 0.005, 0.02, 0.03, 0.021)
    assert third == Bin(21, 22, 1, 1, 0, 0.006, 0.02, 0.03, 0.021)
    (whole,) = sights.bins(small_window(), most=1)
    assert (whole.first, whole.end, whole.tokens, whole.accepted) == (16, 22, 6, 3)
    alone = Trace(tuple(e for e in small_window().events if e.role == "decoder"))
    assert [b.plain for b in sights.bins(alone)] == [None, None, None]
    assert sights.bins(small_wave()) == ()


def test_levels_count_only_what_was_put_to_the_test() -> None:
    """Level 1: right, right, wrong; level 2: right, then the draft of step 2 had ended; level 3:
    wrong."""
    assert sights.by_level(small()) == (Level(1, 3, 2), Level(2, 1, 1), Level(3, 1, 0))


def test_the_map_has_a_figure_per_few_tokens_and_the_recorded_document() -> None:
    """`` The`` is the second of 16 tokens, the blank line behind the document the ninth."""
    found = sights.text_map(small_window())
    assert found is not None
    assert (found.per, len(found.cells), found.document) == (1, 16, (1, 8))
    words = [small_window().pieces[t] for t in small().header.tokens]
    assert words[7:9] == [b".", b"\n\n"] and found.cells[7:9] == "10"
    assert words[-1] == b"<answer>" and found.cells[-1] == "9", "the longest"
    long = sights.text_map(window_trace("slot", 7000, 1))
    assert long is not None and (long.per, len(long.cells), long.document) == (15, 467, (1, 6992))
    assert sights.text_map(small_wave()) is None


def test_a_prompt_with_a_blank_line_is_no_document() -> None:
    """Nothing is guessed from the text: of a plain prompt no part is called a document."""
    header, *rest = small_window().events
    plain = header.model_copy(update={"document": None})
    found = sights.text_map(Trace((plain, *rest)))
    assert "\n\n" in header.messages[0].text  # type: ignore[union-attr]
    assert found is not None and found.document is None


def test_a_long_run_stays_small_for_the_browser() -> None:
    trace = window_trace("slot", 8000, 200)
    payload = player.payload(trace)
    assert len(payload["map"]["cells"]) == 471 <= sights.MOST_CELLS
    assert len(sights.bins(trace)) == 40 <= sights.MOST_BINS
    assert len(json.dumps(payload)) < 1_500_000


def test_the_map_travels_with_the_first_events_only() -> None:
    trace = small_window()
    assert player.update(trace, "r", 0)["map"] == player.payload(trace)["map"]
    assert player.update(trace.events[:1], "r", 0)["map"] == player.payload(trace)["map"]
    assert "map" not in player.update(trace, "r", 2)
    assert player.payload(small_wave())["map"] is None


def test_the_page_opens_where_a_wanted_token_was_offered_and_not_drafted() -> None:
    assert player.interesting_step(small_window()) == 0


def test_made_up_runs_keep_to_their_modes() -> None:
    """251 of 400 tokens: 4 sinks and 247; whatever the mode, the head has 256 positions."""
    for mode in MODES:
        run = window_trace(mode, 400, 1).run()
        assert run is not None and run.header.head == HEAD
        seen = next(sights.looks(run))
        assert sights.kept(seen.evidence) == (251 if mode.startswith(("w", "s")) else 400)
