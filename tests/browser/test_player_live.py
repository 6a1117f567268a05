"""The player while a decoder runs: what comes later, what stays, what makes way."""

from __future__ import annotations

from collections.abc import Callable

from player_traces import random_trace
from playwright.sync_api import Page

from specviz import player
from specviz.trace import Trace

from .exported import drawn, focus, press, state, wait
from .patience import until


def test_live_updates_with_gap_and_overlap_end_as_a_load_does(show: Callable[..., Page]) -> None:
    trace = random_trace(8, 14, 9)
    page = show(trace)
    page.evaluate("it.seekStep(13)")
    whole = drawn(page)
    cut = [(0, 3), (3, 5), (4, 9), (12, 14), (14, 20), (18, len(trace.events))]
    updates = [
        player.update(trace.events[:end], "live", first, live=end < len(trace.events))
        for first, end in cut
    ]
    page.evaluate(
        """async ({updates, events}) => {
          const asked = [];
          window.asked = asked;
          it.destroy();
          const host = document.createElement('div');
          document.querySelector('div').replaceWith(host);
          it = SpecvizPlayer.mount(host, {...data.options, fetchEvents: async (run, from) => {
            asked.push([run, from]);
            await new Promise((go) => setTimeout(go, 20));
            return events.slice(from, 12);
          }});
          it.load({version: 1, run_id: 'live', events: [], total: 0, live: true});
          for (const update of updates) {
            it.push(update);
            await new Promise(requestAnimationFrame);
          }
        }""",
        {"updates": updates, "events": player.payload(trace)["events"]},
    )
    wait(page, f"it.state().events === {len(trace.events)}")
    assert page.evaluate("asked") == [["live", 9]]
    page.evaluate("it.seekStep(13)")
    until(page, lambda: drawn(page), whole)


def test_a_running_decoder_is_followed_until_a_person_moves(show: Callable[..., Page]) -> None:
    trace = random_trace(8, 6, 5)
    page = show(trace)

    def push(first: int, end: int) -> None:
        update = player.update(trace.events[:end], "next", first)
        page.evaluate("(u) => it.push(u)", update)

    push(0, 4)
    assert "still running" in page.locator(".head .badge").inner_text()
    wait(page, "it.state().step === 1 && it.state().phase === 'emit'")
    assert state(page)["run"] == "next"
    focus(page)
    press(page, "Home")
    push(4, 6)
    page.wait_for_timeout(300)
    assert (state(page)["phase"], state(page)["follow"]) == ("prefill", False)
    page.get_by_role("button", name="Live").click()
    assert state(page)["step"] == 3


def test_no_picture_of_an_old_run_stays_when_a_new_one_begins(show: Callable[..., Page]) -> None:
    trace = random_trace(8, 6, 5)
    page = show(trace, start_step=2)
    assert page.locator(".stage .chip").count() == 7
    assert page.locator(".pass").inner_text() != ""
    load = {"name": "load", "done": 0, "total": 1}
    page.evaluate("(u) => it.push(u)", player.update((), "next", 0, stage=load))
    assert page.locator(".waiting").inner_text() == "waiting for the model"
    assert page.locator(".badge").inner_text().endswith("loading the model")
    assert page.locator(".stage .chip").count() == 0
    assert page.locator(".pass").inner_text() == ""
    page.evaluate("(u) => it.push(u)", player.update(trace.events[:1], "next", 0))
    assert page.locator(".waiting").inner_text() == "waiting for toy"
    assert page.locator(".stage .chip").count() == 0
    assert page.locator(".absent").text_content() == (
        "plain decoding, where asked for, runs afterwards"
    )
    page.evaluate("(u) => it.push(u)", player.update(trace.events[:3], "next", 1))
    assert page.locator(".waiting").is_hidden()
    assert page.locator(".stage .chip").count() > 0


def test_every_beginning_of_a_run_can_be_drawn(show: Callable[..., Page]) -> None:
    trace = random_trace(8, 2, 5)
    page = show(trace)
    headings = []
    for end in range(len(trace.events) + 1):
        beginning = player.payload(Trace(trace.events[:end]), run_id=f"cut {end}", live=True)
        page.evaluate("(p) => it.load(p)", beginning)
        headings.append(page.locator(".tree-panel h3").inner_text())
        if end == 1:
            caption = page.locator(".caption .main").inner_text()
            assert caption == "The model is reading 6 tokens of the prompt."
    assert headings[:4] == [
        "No run yet",
        "Before the first step",
        "Before the first step",
        "Step 1: guessed, then checked",
    ]
    assert "same text" in page.locator(".head .badge").inner_text()


def test_controls_stay_the_same_while_a_run_streams(show: Callable[..., Page]) -> None:
    trace = random_trace(8, 6, 5)
    page = show(trace)
    page.evaluate("(u) => it.push(u)", player.update(trace.events[:3], "next", 0))
    mark = """() => { const root = document.querySelector('div').shadowRoot;
      window.buttons = [...root.querySelectorAll('.transport button, .seg, .figures .term')]; }"""
    page.evaluate(mark)
    page.get_by_role("button", name="Loop step").focus()
    page.evaluate("(u) => it.push(u)", player.update(trace.events[:6], "next", 3))
    assert page.evaluate("buttons.every((b) => b.isConnected)")
    wait(page, "it.state().step === 3 && it.state().phase === 'emit'")
    assert press(page, "Shift+ArrowLeft")["step"] == 2
