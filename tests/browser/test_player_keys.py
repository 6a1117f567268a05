"""The player by keyboard: events, steps, misses, guesses, and a pause before the pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from player_traces import random_trace
from playwright.sync_api import Page

from specviz.trace import Trace

from .exported import Opener, focus, press, state, wait


def misses(trace: Trace) -> list[int]:
    """Steps that ended because the model wanted something else than the guesses there."""
    steps = trace.run("decoder").steps  # type: ignore[union-attr]
    return [
        s.index
        for s in steps
        if len(s.emitted) > len(s.walk)
        and any(n.parent == (s.walk[-1] if s.walk else 0) for n in s.nodes)
    ]


def test_keys_move_by_event_and_by_step(show: Callable[..., Page]) -> None:
    trace = random_trace(9, 30, 8)
    page = show(trace, start_step=5)
    start = state(page)
    assert (start["phase"], start["step"]) == ("emit", 5)
    assert press(page, "ArrowLeft")["phase"] == "walk"
    assert press(page, "ArrowRight")["beat"] == start["beat"]
    assert press(page, "Shift+ArrowRight")["step"] == 6
    assert press(page, "Shift+ArrowLeft", "Shift+ArrowLeft")["step"] == 4
    assert press(page, "End")["phase"] == "finish"
    assert press(page, "Home")["phase"] == "prefill"
    steps = trace.run("decoder").steps  # type: ignore[union-attr]
    first = misses(trace)[0]
    assert press(page, "r")["step"] == first
    full = [s.index for s in steps if s.walk and all(n.parent != s.walk[-1] for n in s.nodes)]
    after = [i for i in full if i > first] or full
    if after:
        assert press(page, "a")["step"] == after[0]
    assert press(page, " ")["playing"] is True
    assert press(page, " ")["playing"] is False
    press(page, "?")
    assert page.locator(".help:not(.lightbox, .share)").is_visible()
    press(page, "Escape")
    assert page.locator(".help:not(.lightbox, .share)").is_hidden()


def test_keys_work_at_once_and_with_the_focus_nowhere_but_not_in_a_field(
    show: Callable[..., Page], open_page: Opener, tmp_path: Path
) -> None:
    page = show(random_trace(9, 30, 8), start_step=5)
    assert press(page, "Shift+ArrowRight")["step"] == 6, "the player has the focus on load"
    page.evaluate("document.activeElement.blur()")
    assert press(page, "Shift+ArrowRight")["step"] == 7
    assert press(page, "End")["step"] == 7, "keys that scroll stay the page's own"
    page.evaluate(
        """() => {
          const field = Object.assign(document.createElement('input'), {id: 'field'});
          document.body.prepend(field);
          field.focus();
          it.load(data.payload);
        }"""
    )
    assert page.evaluate("document.activeElement.id") == "field", "who types keeps the focus"
    assert press(page, "Shift+ArrowLeft", "r")["step"] == 5
    page.evaluate("document.activeElement.blur(); document.body.style.paddingTop = '3000px'")
    page.evaluate("scrollTo(0, 0)")
    assert press(page, "Shift+ArrowRight")["step"] == 5, "out of view"


def test_next_miss_goes_through_all_of_them_and_says_when_it_begins_anew(
    show: Callable[..., Page],
) -> None:
    trace = random_trace(9, 30, 8)
    page = show(trace)
    press(page, "Home")
    found = misses(trace)
    assert len(found) > 3
    assert [press(page, "r")["step"] for _ in found] == found
    assert page.locator(".notice").inner_text() == ""
    assert press(page, "r")["step"] == found[0]
    assert page.locator(".notice").inner_text() == "past the end: searched on from the start"


def test_tab_goes_through_and_leaves(show: Callable[..., Page]) -> None:
    page = show(random_trace(9, 5, 4))
    page.evaluate(
        "document.body.append(Object.assign(document.createElement('button'), {id: 'after'}))"
    )
    focus(page)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "after":
            return
    pytest.fail("Tab never left the player")


def test_arrows_walk_the_guesses_and_escape_lets_go(show: Callable[..., Page]) -> None:
    page = show(random_trace(9, 5, 6), start_step=2)
    focus(page)
    before = state(page)["focus"]
    press(page, "ArrowDown")
    chosen = state(page)["focus"]
    assert chosen != before
    assert page.locator(".chip.focus").get_attribute("data-node") == str(chosen)
    assert press(page, "Escape")["focus"] == before


def test_pause_before_reveal_stops_between_guessing_and_the_pass(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 3, 4), start_step=0)
    focus(page)
    press(page, "p")
    page.evaluate("it.set('speed', '8')")
    press(page, " ")
    wait(page, "!it.state().playing")
    found = state(page)
    assert (found["step"], found["phase"]) == (1, "draft")
    assert page.locator(".chip.drafted").count() == 4
    assert page.locator(".chip.accepted, .chip.refused").count() == 0


def test_jumps_ask_too_before_they_reveal(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 6, 4), start_step=0)
    question = "Which guess will the model accept? Press Space to see."
    main = page.locator(".caption .main")
    for keys in (("p", "Shift+ArrowRight"), ("r",), ("a",)):
        before = state(page)["step"]
        found = press(page, *keys)
        if found["step"] == before:
            continue  # no other step of that kind
        assert found["phase"] == "draft"
        assert main.inner_text() == question
        assert page.locator(".chip.accepted, .chip.refused").count() == 0
    step_before = state(page)["step"]
    found = press(page, "Shift+ArrowRight")
    assert (found["step"], found["phase"]) == (step_before, "emit"), "the answer comes first"
    assert main.inner_text() != question


def test_the_overview_gives_no_answer_away_while_it_is_asked_for(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 6, 4), start_step=0)
    covered = """() => {
      const bar = root.querySelector('.scrub').getBoundingClientRect();
      const ahead = root.querySelector('.ahead').getBoundingClientRect();
      const { opacity } = getComputedStyle(root.querySelector('.ahead'));
      // Six steps on a bar with 8 px at its ends: from the middle between the columns on.
      const slot = (bar.width - 16) / 6;
      return [Math.round((ahead.left - bar.left - 8) / slot - 0.5), Number(opacity)];
    }"""
    focus(page)
    press(page, "p", "Shift+ArrowRight")
    assert state(page)["phase"] == "draft"
    step = state(page)["step"]
    assert page.evaluate(covered) == [step, 1], "the column of the step that asks is covered, too"
    x, y = page.evaluate(
        "() => { const b = root.querySelector('.scrub').getBoundingClientRect();"
        " return [b.right - 9, b.y + b.height / 2]; }"
    )
    page.mouse.move(x, y)
    assert page.evaluate("root.querySelector('.scrub').title") == ""
    press(page, "Shift+ArrowRight")
    assert page.evaluate(covered) == [step + 1, 1]
    press(page, "p")
    assert page.evaluate(covered) == [step + 1, 0.5]


def test_reduced_motion_goes_in_whole_events(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 3, 4), start_step=0, reduced_motion="reduce")
    page.evaluate("states.length = 0; it.set('speed', '8'); it.play()")
    wait(page, "states.length > 4")
    page.evaluate("it.pause()")
    times = page.evaluate("states.map((s) => s.time)")
    assert all(t == int(t) for t in times), times


def test_moves_smoothly_otherwise(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 3, 4), start_step=0)
    page.evaluate("it.set('speed', '0.25'); it.play()")
    wait(page, "it.state().time % 1 > 0.05")


def test_focus_on_a_chip_survives_the_next_step(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 6, 5), start_step=1)
    page.locator(".chip[data-node='2']").focus()
    assert press(page, "Shift+ArrowRight", "Shift+ArrowRight")["step"] == 3
