"""What a drafter head sees, in a real browser: the strip, both rulers, offers, captions, keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from specviz import player
from specviz.trace import Trace
from specviz.tracefile import load
from tests.window_traces import every_mode, small_window, unpaid_window, window_trace

EXAMPLES = Path(__file__).parents[2] / "examples"
Show = Callable[..., Page]


@pytest.fixture
def show(show: Show) -> Show:
    """Traces are opened at their first step."""
    return partial(show, start_step=0)


def caption(page: Page) -> list[str]:
    words = page.locator(".caption .main, .caption .why").all_inner_texts()
    return [" ".join(line.replace("␣", "").split()) for line in words]


def label(page: Page) -> str:
    return page.locator(".sight-box").get_attribute("aria-label") or ""


def box(page: Page, selector: str) -> tuple[float, float]:
    """Left and right edge of a part of the picture."""
    found: list[float] = page.evaluate(
        """(s) => { const b = root.querySelector(s).getBoundingClientRect();
                    const o = root.querySelector('.sight').getBoundingClientRect();
                    return [b.left - o.left, b.right - o.left]; }""",
        selector,
    )
    return found[0], found[1]


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.evaluate(
        "(s) => [...root.querySelectorAll(s)].map((e) => e.textContent)", selector
    )
    return found


def test_the_strip_says_what_is_seen_and_where_the_head_is_told_that_it_stands(show: Show) -> None:
    """Entries 0, 1 and 10 to 15 of 16; told as 0 to 7; two guesses deeper than the root looked."""
    page = show(small_window())
    assert label(page) == (
        "The text so far has 16 tokens. Of these the head sees sinks 0 to 1, told as 0 to 1; a "
        "window 10 to 15, told as 2 to 7. greatest distance 9, within the 12 it was trained for."
    )
    assert page.locator(".sight-panel .phase").inner_text() == "8 of 16 tokens seen"
    assert texts(page, ".sight .part-name") == ["document", "question", "answer"]
    assert texts(page, ".sight .limit-name") == ["trained up to 12"]
    assert texts(page, ".sight .reach-name") == [
        "✓ greatest distance 9, within the 12 it was trained for"
    ]
    page.evaluate("it.seekStep(1)")
    assert "a window 13 to 18, told as 2 to 7" in label(page), "the window moved on by three"


def test_the_gap_closes_in_the_picture(show: Show) -> None:
    """In mode slot the window is told right behind the sinks; in window_abs it stays where it is."""
    page = show(window_trace("slot", 2000, 2))
    (_, sinks), (window, end) = box(page, ".held.sinks"), box(page, ".held.window")
    assert abs(window - sinks) < 2
    (edge, _) = box(page, ".limit")
    assert window < end < edge + 1 and box(page, ".seen.window")[0] > edge - 200
    assert page.locator(".reach-name.beyond").count() == 0

    page = show(window_trace("shift", 2000, 2))
    (sinks, end), (window, _) = box(page, ".held.sinks"), box(page, ".held.window")
    assert abs(window - end) < 2 and abs(window - box(page, ".seen.window")[0]) < 3
    learned = box(page, ".learned")
    assert abs(learned[0] - sinks) < 2, "what was learned are distances from the first one seen"
    assert texts(page, ".sight .limit-name") == ["trained for 256, from the first one seen"]
    assert page.locator(".reach-name.beyond").count() == 0

    page = show(window_trace("window_abs", 2000, 2))
    (_, sinks), (window, _) = box(page, ".held.sinks"), box(page, ".held.window")
    assert window - sinks > 400, "the gap is kept"
    assert abs(window - box(page, ".seen.window")[0]) < 3, "both rulers agree"
    assert box(page, ".limit")[0] < window
    assert texts(page, ".reach-name.beyond") == [
        "✗ greatest distance 2,002, beyond the 256 it was trained for"
    ]


def test_every_mode_draws_its_own_mapping(show: Show) -> None:
    said: dict[str, Any] = {}
    for name, trace in every_mode(2000, 1).items():
        page = show(trace)
        said[name] = (
            texts(page, ".band-name")[0],
            len(texts(page, ".hatch:not(.far)")),
            page.locator(".reach.beyond").count(),
        )
    assert said == {
        "full": ("everything, where it stands", 0, 1),
        "window_abs": ("the last 247, told where they stand", 1, 1),
        "slot": ("the last 247, counted on without the gap", 1, 0),
        "shift": ("the last 247, where they stand; the sinks are moved up to them", 1, 0),
        "reindex_only": ("all 2,000, squeezed 7.8 times", 0, 0),
        "pure": ("the last 251; without sinks, new positions change nothing", 1, 0),
        "truncated": ("the last 247, counted on without the gap", 1, 0),
    }


def test_the_first_guess_says_what_is_seen_and_the_pass_that_nothing_is_lost(show: Show) -> None:
    page = show(small_window())
    page.evaluate("it.seek(1)")
    assert caption(page) == [
        "Guess 1 of 4: keeper after the.",
        "The head sees 8 of 16 tokens: the first 2 (sinks) and the last 6. They are counted from 0 "
        "to 7, as if nothing lay between. No distance goes beyond the 12 that it was trained for.",
    ]
    page.keyboard.press("ArrowRight")
    assert caption(page)[1] == "Behind keeper the head gave it 0.50; the whole branch has 0.40."
    page.evaluate("it.seek(5)")
    assert caption(page)[1] == (
        "It took 20 ms. The model reads all 21 tokens: what the head cannot see may cost speed, "
        "never the answer."
    )
    page.evaluate("it.seekStep(0)")
    assert caption(page)[1] == (
        "The head had offered every at rank 3 (0.10), but the 4 guesses drafted looked likelier."
    )
    page.evaluate("it.seekStep(1)")
    assert caption(page)[1] == (
        "The head had not looked further than this, so . was the model's to write."
    )
    page.evaluate("it.seekStep(2)")
    assert caption(page)[1] == (
        "said was not among the 2 tokens that the head offered here; it can guess only 40 of the "
        "model's 58 tokens."
    )


def test_a_draft_that_the_length_cut_short_does_not_blame_the_head(show: Show) -> None:
    header, *rest = small_window().events
    before = 1 + 3  # the token of the prompt and the first step; the second emits two more
    limit = header.model_copy(update={"max_new_tokens": before + 2})
    page = show(Trace((limit, *rest)))
    page.evaluate("it.seekStep(1)")
    assert caption(page)[1] == (
        ". ends the answer at the length that was asked for: there was no room for a longer draft."
    )


@pytest.mark.parametrize("size", [(1100, 700), (1000, 700), (1280, 720)])
def test_the_caption_is_above_the_controls_in_a_low_window(
    show: Show, size: tuple[int, int]
) -> None:
    page = show(small_window(), viewport={"width": size[0], "height": size[1]})
    page.evaluate("it.seekStep(0)")
    above, below = page.evaluate(
        """() => ['.caption', '.transport'].map((s) => {
             const b = root.querySelector(s).getBoundingClientRect(); return [b.top, b.bottom]; })"""
    )
    assert above[0] > 0 and above[1] <= below[0] and below[1] <= size[1]


def why(show: Show, trace: Trace) -> str:
    page = show(trace)
    page.evaluate("it.seek(1)")
    return caption(page)[1]


def test_a_pure_window_says_that_new_positions_change_nothing(show: Show) -> None:
    runs = every_mode(2000, 1)
    assert why(show, runs["pure"]) == (
        "The head sees only the last 251 of 2,000 tokens, without sinks. Their new positions change "
        "nothing, mathematically: without sinks all move by the same number, and only distances "
        "count."
    )
    assert "without sinks only distances count, and none goes beyond 256" in why(
        show, window_trace("window_abs", 2000, 1, sinks=0)
    )
    assert why(show, window_trace("window_abs", 2000, 1, sinks=0, window=500)).endswith(
        "without sinks only distances count. The greatest distance, 502, lies beyond the 256 that "
        "it was trained for."
    )
    # Moved or not, the window of such a run stands where it stands.
    assert why(show, window_trace("shift", 2000, 1, sinks=0)).startswith(
        "The head sees only the last 251 of 2,000 tokens, without sinks. Their positions may be "
        "large, but without sinks only distances count, and none goes beyond 256."
    )
    assert (
        "The first 4 are moved up by 1,749 positions, next to the window, as if nothing lay "
        in (why(show, runs["shift"]))
    )
    assert why(show, runs["truncated"]).endswith(
        "Its input states come from a model that read only what the head sees."
    )
    assert why(show, runs["full"]) == (
        "The head sees all 2,000 tokens of the text so far. The greatest distance, 2,002, lies "
        "beyond the 256 that it was trained for."
    )
    assert "Their positions are pressed together, 7.8 tokens to one." in why(
        show, runs["reindex_only"]
    )


def test_the_evidence_lists_all_offers_and_which_became_guesses(show: Show) -> None:
    page = show(small_window())
    rows = [" ".join(t.replace("␣", "").split()) for t in
            page.locator(".offers tbody tr").all_inner_texts()]  # fmt: skip
    assert rows == ["in 0.60 guessed", "no 0.20 cut: tree full", "every ★ 0.10 cut: tree full"]
    known = page.locator(".memory .fact .knew").inner_text()
    assert known == "The head offered it at rank 3, 0.10; likelier guesses were drafted."
    facts = " ".join(page.locator(".facts").inner_text().split())
    assert facts == (
        "mode slot: counted without the gap tokens 8 of 16 distance 9 at most, trained for 12 "
        "cache 12 kB; of everything 25 kB draft best of 7 guesses, 3 passes"
    )
    assert "tiny-head: 1,234 weights" in page.locator(".memory").inner_text()
    assert page.locator(".memory .size").count() == 0, "the size that was asked for, not costs"
    page.evaluate("it.seekStep(1)")
    gone = page.locator(".gone").inner_text()
    assert " ".join(gone.split()).startswith("Left the window since the last step, 3:")


def test_guesses_that_did_not_pay_say_so(show: Show) -> None:
    page = show(small_window(cut="cost"))
    assert caption(page)[1] == (
        "The head had offered every at rank 3 (0.10), but a tree of 4 guesses was best here: one "
        "more would have cost more than it promised."
    )
    assert page.locator(".memory .fact .knew").inner_text() == (
        "The head offered it at rank 3, 0.10; a larger tree would have cost more than it promised "
        "to save."
    )
    assert "no 0.20 cut: would not have paid" in " ".join(
        page.locator(".offers").inner_text().replace("␣", "").split()
    )
    # 1 + 0.8 + 0.4 + 0.24 + 0.24 tokens; 5 rows cost 1.0875 of one.
    assert (
        page.locator(".memory .size p")
        .inner_text()
        .startswith(
            "A tree of 4 guesses was best here: it promised 2.68 tokens for 1.09 plain passes."
        )
    )


def test_a_step_without_guesses_says_whether_they_did_not_pay_or_had_no_room(show: Show) -> None:
    page = show(unpaid_window())
    assert caption(page) == [
        "No guess this time: the model wrote keeper itself.",
        "The head had guesses after the, but to verify even one would have cost more than it "
        "promised to save.",
    ]
    page.evaluate("it.seekStep(1)")
    assert caption(page)[1] == "The answer has no room for a guess: one pass, one token."
    page = show(unpaid_window("blocked"))
    assert caption(page)[1] == (
        "The head offered nothing after the that may be drafted: one pass, one token."
    )


def test_arrow_keys_read_the_text_along_the_strip(show: Show) -> None:
    page = show(small_window())
    page.locator(".sight-box").focus()
    page.keyboard.press("ArrowUp")
    strip = page.locator(".sight-box")
    assert strip.get_attribute("aria-valuenow") == "10", "it begins where the window does"
    assert (strip.get_attribute("aria-valuetext") or "").startswith("Token 10, seen, told as 2 …")
    page.keyboard.press("ArrowDown")
    assert (strip.get_attribute("aria-valuetext") or "").startswith(
        "Token 9, not seen by the head …"
    )
    assert page.locator(".pointer .blind").count() == 1
    before = page.evaluate("it.state().time")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("it.state().time") == before + 1, "time goes on as everywhere"
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()


def test_guesses_show_on_the_ruler_once_their_level_has_looked(show: Show) -> None:
    """keeper and wrote looked one and two positions behind the root's pair, in never did."""
    page = show(small_window())
    page.evaluate("it.seek(1)")
    assert page.locator(".sight .guesses").count() == 0
    page.evaluate("it.seek(2)")
    one = box(page, ".sight .guesses")
    page.evaluate("it.seek(4)")
    two = box(page, ".sight .guesses")
    assert two[1] - two[0] > 1.5 * (one[1] - one[0])


def test_a_live_run_ends_in_the_same_picture(show: Show) -> None:
    trace = small_window()
    page = show(trace)
    page.evaluate("it.seekStep(1)")
    look = "[root.querySelector('.sight').innerHTML, root.querySelector('.memory').innerText]"
    whole = page.evaluate(look)
    first = player.update(trace.events[:3], "live", 0)
    page.evaluate("(u) => it.push(u)", json.loads(json.dumps(first)))
    page.evaluate("(u) => it.push(u)", player.update(trace, "live", 3, live=False))
    page.evaluate("it.seekStep(1)")
    assert page.evaluate(look) == whole


def test_a_cut_run_shows_its_strip_before_any_step(show: Show) -> None:
    page = show(Trace(small_window().events[:2]))
    assert page.locator(".sight-panel .phase").inner_text() == "16 tokens, no draft here"
    assert page.locator(".sight .band").count() == 0


def test_a_low_screen_shows_trees_of_twelve_whole_beside_their_legend(show: Show) -> None:
    page = show(window_trace("slot", 2000, 12))
    for step in range(12):
        page.evaluate("(i) => it.seekStep(i)", step)
        assert page.locator(".tree .chip").count() == 14, "the root, twelve, and the model's own"
        assert page.locator(".beyond:visible").count() == 0, step
    stage, legend, bottom = page.evaluate(
        """() => [...['.stage', '.tree-foot .legend', '.tree-panel']].map((s) => {
             const b = root.querySelector(s).getBoundingClientRect();
             return [b.left, b.right, b.top, b.bottom]; })"""
    )
    assert legend[0] >= stage[1] - 1, "beside it"
    assert legend[1] <= 1280 and legend[2] >= stage[2] and legend[3] <= bottom[3] + 1
    assert len(page.locator(".tree-foot .legend li:visible").all_inner_texts()) == 5


def test_figures_stand_between_rows_only_where_there_is_room(show: Show) -> None:
    trace = window_trace("slot", 2000, 3)
    for height, figures in ((768, 0), (1000, 12)):
        page = show(trace, viewport={"width": 1366, "height": height})
        assert page.locator(".tree .score").count() == figures


def test_a_phone_keeps_to_its_width(show: Show) -> None:
    page = show(window_trace("slot", 7000, 3), viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    edges = page.evaluate(
        """() => [...root.querySelectorAll('.sight text')].map((e) => {
             const b = e.getBoundingClientRect(); return [b.left, b.right]; })"""
    )
    assert min(a for a, _ in edges) >= 0 and max(b for _, b in edges) <= 390


def test_seeking_a_long_run_is_fast(show: Show) -> None:
    page = show(window_trace("slot", 8000, 200))
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        values = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        kinds = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
        return 1000 * sum(values[kind] for kind in kinds)

    times = []
    for k in range(90):
        before = spent()
        page.evaluate(
            "(i) => { it.seekStep(i); root.querySelector('.sv').offsetHeight; }", 7 * k % 200
        )
        times.append(spent() - before)
    times = sorted(times[20:])
    assert times[round(0.95 * len(times)) - 1] < 33, "twice a frame at most, on any machine"


def test_the_lane_of_told_positions_answers_with_what_is_told_to_stand_there(show: Show) -> None:
    """Entries 1664 to 1910 are told as 4 to 250; the guess that looked at them comes next."""
    trace = load(EXAMPLES / "head-2000.jsonl.gz")
    run = trace.run("decoder")
    assert run is not None
    seen = run.steps[5].evidence
    assert seen.kind == "window"
    assert [tuple(e) for e in seen.entries] == [(0, 4, 0, 1), (1664, 247, 4, 1)]
    assert seen.tip == 250
    page = show(trace)
    page.evaluate("it.seekStep(5)")

    def hover(told: float) -> list[str]:
        x, y = page.evaluate(
            """(told) => {
              const lane = root.querySelector('.sight .learned').getBoundingClientRect();
              return [lane.left + (told / 256) * lane.width, lane.top + lane.height / 2];
            }""",
            told,
        )
        page.mouse.move(x, y)
        return [" ".join(line.split()) for line in page.locator(".tip").all_inner_texts()[0].split("\n")]

    assert hover(2.5)[0] == "Told position 2: token 2"
    named, words = hover(100.5)
    assert named == "Told position 100: token 1,760"
    # The token that is named is the one whose neighbours are shown.
    near = b"".join(trace.pieces[t] for t in run.header.tokens[1758:1763]).decode()
    assert " ".join(near.split()) in words
    assert hover(251.5) == ["Told position 251: guesses of depth 1"]
    assert hover(250.5)[0] == "Told position 250: token 1,910"
    assert hover(255.5) == ["Told position 255: nothing stands there"]
