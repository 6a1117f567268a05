"""The page in a real browser: the first seconds, a live run, Stop, updates."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from specviz.tracefile import load

from .patience import PATIENCE
from .visitor import PLAYER, STATE, Enter, Visitor

LONG = "This is the rat that ate the malt that lay in the house that Jack built.\n" * 240


# The first seconds


def test_the_page_opens_on_a_paused_recorded_run_without_weights(
    browser: Browser, server: tuple[str, int]
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(server[0])
    visit = Visitor(page)
    visit.until(lambda: visit.state()["step"] == visit.state()["drawn"] > 0, True)
    assert (visit.state()["run"], visit.state()["playing"]) == ("example-rhyme", False)
    assert page.get_by_role("button", name="Play").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    bottom = "document.querySelector('.sv-stage').getBoundingClientRect().bottom"
    visit.wait(f"{bottom} <= 720")  # the transport included
    context.close()
    maps = Path(f"/proc/{server[1]}/maps").read_text()
    assert "numpy" in maps and "libtorch" not in maps


def test_the_address_names_a_run_and_a_step(enter: Enter) -> None:
    visit = enter("?trace=odd&step=5")
    assert (visit.state()["run"], visit.state()["step"]) == ("example-odd", 4)
    beyond = enter("?trace=odd&step=4000")
    steps = int(beyond.page.locator(".step-of").inner_text().split(" of ")[1])
    assert beyond.state()["step"] == steps - 1 > 5
    assert beyond.said("error") == (
        f"The address asks for step 4000, the run has {steps}: here is the last one."
    )
    unknown = enter("?trace=<b>none</b>&step=x")
    assert unknown.state()["run"] == "example-rhyme"
    assert unknown.said("error") == (
        "There is no recorded run called <b>none</b>: here is the first one."
    )


def test_an_example_is_clicked_and_plays_without_weights(
    visitor: Visitor, server: tuple[str, int]
) -> None:
    card = visitor.page.locator(".sv-card[data-name=odd]")
    assert card.locator(".sv-card-title").inner_text() == "<b>${alert(1)}</b> `"
    assert card.locator(".sv-card-description").inner_text() == "{{x}} &lt; </script>"
    card.click()
    visitor.wait(f"{STATE}.run === 'example-odd'")
    before = visitor.state()["time"]
    visitor.page.get_by_role("button", name="Play").click()
    visitor.wait(f"{STATE}.time > {before + 1}")
    assert card.get_attribute("aria-pressed") == "true"
    visitor.page.click(".sv-card[data-name=gone]")
    assert visitor.said("error") == "This is not a trace file, a line is not JSON: choose a file that specviz wrote."
    assert visitor.state()["run"] == "example-odd"
    assert "libtorch" not in Path(f"/proc/{server[1]}/maps").read_text()


# A run


def test_a_run_grows_on_the_page_and_ends_beside_its_baseline(visitor: Visitor) -> None:
    visitor.fill("slow", "This is the house that", 90)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-rhyme' && {STATE}.events > 3")
    seen = {visitor.state()["events"]}
    while visitor.page.locator("#stop").is_visible():
        seen.add(visitor.state()["events"])
        visitor.page.wait_for_timeout(100)
    assert len(seen) > 5
    assert re.fullmatch(r"90 tokens in \d+ passes", visitor.said("done"))
    visitor.wait("document.querySelectorAll('.js-plotly-plot').length === 6")
    visitor.page.get_by_role("tab", name="Run card").click()
    visitor.wait(
        "document.querySelector('#card').innerText.includes('measured after this run: 90 tokens')"
    )
    trace = load(visitor.download("trace"))
    assert trace.check is not None and trace.check.equal is True
    assert len(trace.events) == visitor.state()["events"]


@pytest.mark.parametrize(("width", "stays"), [(1280, True), (390, False)])
def test_the_controls_make_room_for_a_run_and_for_a_message(
    open_page: Callable[..., Page], server: tuple[str, int], width: int, stays: bool
) -> None:
    visit = Visitor(open_page(server[0], viewport={"width": width, "height": 800}))
    column = "document.querySelector('#controls').classList.contains('open')"
    assert not visit.page.evaluate(column)
    left = "document.querySelector('#player').getBoundingClientRect().x"
    before = visit.page.evaluate(left)
    visit.page.click("#own")
    visit.wait(column)
    visit.page.wait_for_timeout(400)
    assert visit.page.evaluate(left) == before  # the column lies over the player
    visit.fill("quick", " ", 8)
    visit.run()
    assert visit.said("error") == "The prompt is empty: write something to continue."
    visit.until(lambda: visit.page.evaluate(column), stays)
    if not stays:
        visit.page.click("#own")
        visit.wait(column)
    visit.fill("slow", "This is the dog that", 400)
    visit.page.evaluate("scrollTo(0, 600)")
    visit.run()
    visit.wait(f"!{column} && {STATE}.run !== 'example-rhyme'")
    visit.wait("scrollY < 40")
    visit.page.click("#stop")
    visit.page.wait_for_selector("#stop", state="hidden")
    assert visit.page.evaluate("document.documentElement.scrollWidth") == width


@pytest.mark.parametrize("part", ["prefill", "decode", "baseline"])
def test_stop_ends_a_run_within_a_step_and_the_next_run_starts(
    visitor: Visitor, part: str
) -> None:
    said = {"prefill": "reading the prompt", "decode": "decoding:", "baseline": "plain decoding:"}
    # Long enough that a busy machine presses Stop in time.
    budget = 60 if part == "baseline" else 400
    visitor.fill("slow", LONG if part == "prefill" else "This is the dog that", budget)
    visitor.run()
    visitor.page.wait_for_function(
        "(t) => document.querySelector('#status').innerText.includes(t)", arg=said[part]
    )
    assert visitor.page.locator(".sv-card:enabled").count() == 0
    assert visitor.page.locator("#upload").is_disabled()
    visitor.page.click("#stop")
    visitor.page.wait_for_selector("#stop", state="hidden")
    ending = {
        "prefill": "Stopped after 0 tokens; what was recorded can be replayed.",
        "decode": r"Stopped after \d+ tokens; what was recorded can be replayed\.",
        "baseline": r"60 tokens in \d+ passes; plain decoding was stopped, so nothing was "
        r"compared\.",
    }
    assert re.fullmatch(ending[part], visitor.said("done"))
    visitor.wait("document.querySelectorAll('.sv-card:enabled').length === 3")
    assert visitor.page.locator("#upload").is_enabled()
    trace = load(visitor.download("trace"))
    run = trace.run("baseline" if part == "baseline" else "decoder")
    assert run is not None and run.finish is not None
    assert run.finish.reason == "stopped"
    assert (run.prefill is None) == (part == "prefill")
    assert len(run.tokens) == run.finish.tokens < budget
    visitor.fill("quick", "go w1", 8)
    assert visitor.to_end().startswith("8 tokens in ")


def test_a_run_that_waits_for_the_device_can_be_stopped(
    enter: Enter, visitor: Visitor
) -> None:
    visitor.fill("slow", "This is the cat that", 300)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-rhyme'")
    other = enter()
    other.fill("quick", "go w1", 8)
    other.run()
    assert other.said("busy") == "waiting for the device"
    other.page.click("#stop")
    other.page.wait_for_selector("#stop", state="hidden")
    assert other.status()[1] == "Stopped before it began."
    assert other.state()["run"] == "example-rhyme"
    visitor.page.click("#stop")
    visitor.page.wait_for_selector("#stop", state="hidden")
    assert other.to_end().startswith("8 tokens in ")


def test_run_pressed_while_a_document_is_read_waits_for_it(
    visitor: Visitor, tmp_path: Path
) -> None:
    text = "This is the house that Jack built.\nThis is the malt"
    (tmp_path / "slow.txt").write_text(text)
    visitor.fill("quick", "", 8)
    visitor.page.get_by_role("tab", name="Document").click()
    visitor.page.fill("#question textarea", "go w1")
    visitor.page.set_input_files("#document input[type=file]", tmp_path / "slow.txt")
    visitor.page.wait_for_selector("#document-line [data-kind=busy]")
    for _ in range(2):  # stopped once, then waited for to the end
        visitor.run()
        visitor.page.wait_for_function(
            "() => /^reading slow.txt: page \\d+ of 20$/.test("
            "document.querySelector('#status').innerText.trim())"
        )
        assert visitor.page.locator("#stop").is_visible()
        if visitor.page.input_value("#tokens input") == "8":
            visitor.page.click("#stop")
            visitor.page.wait_for_selector("#stop", state="hidden")
            visitor.until(lambda: visitor.status()[1], "Stopped before it began.")
            visitor.page.fill("#tokens input", "9")
            visitor.page.locator("#tokens input").press("Tab")
    assert visitor.said("done").startswith("9 tokens in ")
    assert visitor.page.input_value("#question textarea") == "go w1"
    line = visitor.page.locator("#document-line").inner_text()
    assert line.strip() == f"slow.txt: {len(text)} characters. Read as UTF-8."
    header = load(visitor.download("trace")).run("decoder").header  # type: ignore[union-attr]
    assert header.messages[-1].text == f"{text}\n\ngo w1"


def test_a_reload_stops_the_run_and_leaves_a_fresh_page(visitor: Visitor) -> None:
    visitor.fill("slow", "This is the cow with", 2000)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-rhyme'")
    visitor.page.reload()
    visitor.wait(f"{STATE}.run === 'example-rhyme'")
    visitor.fill("quick", "go w1", 8)
    # The old run held the device for minutes, had the reload not ended it.
    assert visitor.to_end().startswith("8 tokens in ")


def test_quick_rounds_lose_no_event_and_update_at_most_ten_times_a_second(
    visitor: Visitor,
) -> None:
    visitor.choose("#decoder", "autoregressive")
    visitor.fill("quick", "go w1", 260)
    visitor.page.evaluate(
        f"""() => {{
          const stage = {PLAYER}, push = stage.push;
          window.pushed = [];
          window.begun = performance.now();
          stage.push = (u) => {{ window.pushed.push(performance.now()); return push(u); }};
        }}"""
    )
    assert visitor.to_end() == "260 tokens in 259 passes"
    trace = load(visitor.download("trace"))
    total = visitor.state()["events"]
    assert total == len(trace.events) == 2 * (2 + 259) + 3  # two runs with all parts, one check
    assert trace.check is not None and trace.check.equal is True
    times = visitor.page.evaluate("window.pushed.map((t) => t - window.begun)")
    assert len(times) > 4
    # Over all of the run, for a busy browser may get several at once; the last follows at once.
    assert len(times) - 1 <= 10 * times[-1] / 1000 + 1


def test_missing_events_are_fetched_from_the_server(visitor: Visitor) -> None:
    visitor.fill("quick", "go w1", 20)
    visitor.to_end()
    before = visitor.state()
    run, total = before["run"], before["events"]
    lost = {"version": 1, "run_id": run, "first": total, "events": [], "total": total,
            "live": False, "stage": None, "summary": None}  # fmt: skip
    visitor.page.evaluate(
        f"""(lost) => {{
          const stage = {PLAYER};
          stage.load({{ ...lost, events: [], total: 0 }});
          stage.push(lost);
        }}""",
        lost,
    )
    visitor.wait(f"{STATE}.events === {total}")


def test_big_type_leaves_the_stage_alone_on_the_page(enter: Enter) -> None:
    visitor = enter("?trace=odd")
    page = visitor.page
    visitor.wait("document.querySelector('#controls.open')")
    page.evaluate("document.querySelector('#player').stage.set('projector', true)")
    page.wait_for_timeout(600)
    assert page.locator("#controls").is_hidden() and page.locator("#own").is_hidden()
    box = page.locator("#player").bounding_box()
    assert box is not None
    assert (box["x"], box["y"], box["width"]) == (0, 0, 1600)
    page.evaluate("document.querySelector('#player').stage.set('projector', false)")
    for part in ("#controls", "#own"):
        page.locator(part).wait_for(state="visible")
