"""The player in a real browser, as the exported file shows it, with the network off."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from player_traces import HOSTILE, PIECES, THUMB, bundle, hostile_trace, random_trace, step
from playwright.sync_api import Page

from specviz import metrics, player
from specviz.trace import Check, Costs, Finish, Seconds, Trace

from .exported import wait
from .patience import until

SEEK_MS = float(os.environ.get("SPECVIZ_SEEK_MS", "33"))
Opener = Callable[..., Page]


def state(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("it.state()")
    return found


def focus(page: Page) -> None:
    page.locator("section.sv").focus()


def press(page: Page, *keys: str) -> dict[str, Any]:
    for key in keys:
        page.keyboard.press(key)
    return state(page)


def drawn(page: Page) -> Any:
    """All texts of the player and the state of every chip."""
    return page.evaluate(
        """() => {
          const root = document.querySelector('div').shadowRoot;
          const view = (s) => [...root.querySelectorAll(s)].map((e) => e.textContent);
          return {
            texts: ['.head', '.lanes', '.flow', '.tree', '.memory', '.caption'].map(view),
            chips: [...root.querySelectorAll('.chip')].map((c) => c.getAttribute('class')),
            shown: root.querySelectorAll('.t:not(.off, .off .t)').length,
            blocks: [...root.querySelectorAll('.rest path')].map((p) => p.getAttribute('d')),
          };
        }"""
    )


def test_the_exported_file_opens_paused_on_its_step_without_a_network(
    open_page: Opener, tmp_path: Path
) -> None:
    trace = random_trace(4, 12, 10)
    path = tmp_path / "run.html"
    path.write_text(player.export_html(trace, start_step=7), "utf-8")
    page = open_page(path.as_uri(), offline=True)
    assert page.locator("svg.tree").get_attribute("data-step") == "7"
    assert page.locator(".step-of").inner_text() == "step 8 of 12"
    assert page.locator(".chip").count() == 12
    assert page.locator(".title").inner_text() == "RECAP"
    assert "same text as plain decoding" in page.locator(".head .badge").inner_text()


def test_hostile_texts_stay_texts(show: Callable[..., Page]) -> None:
    page = show(hostile_trace())
    steps = len(hostile_trace().run("decoder").steps)  # type: ignore[union-attr]
    seen = ""
    for index in range(steps):
        page.evaluate("(i) => it.seekStep(i)", index)
        seen += page.locator("section.sv").inner_text() + page.locator("svg.tree").text_content()
        for chip in page.locator(".chip[data-node='1'], .chip[data-node='2']").all():
            chip.dispatch_event("pointerenter")
            seen += page.locator(".tip").text_content()  # type: ignore[operator]
    counts = page.evaluate(
        """() => ['img', 'script', 'b', 'iframe'].map(
             (tag) => document.querySelector('div').shadowRoot.querySelectorAll(tag).length)"""
    )
    assert counts == [0, 0, 0, 0]
    for text in ("${alert(1)}", "`", "\\u", "{{x}}", "<img src=x onerror=alert(1)>", "</script>"):
        assert text in seen
    assert "&lt;" in seen and "<b>bold</b>" in seen and "{name}" in seen
    assert "\u202e" not in seen, "a direction override reached the page"
    assert "RLO" in seen


def test_every_string_is_in_the_catalogue(show: Callable[..., Page]) -> None:
    page = show(hostile_trace())
    page.evaluate("it.set('expert', true)")
    for beat in range(0, 60):
        page.evaluate("(t) => it.seek(t)", beat)
        assert "player." not in page.locator("section.sv").text_content()  # type: ignore[operator]


def test_whitespace_and_special_tokens_are_told_apart(show: Callable[..., Page]) -> None:
    page = show(hostile_trace())
    labels = []
    for index in (2, 3):
        page.evaluate("(i) => it.seekStep(i)", index)
        labels += [
            "".join(chip.locator(".label").all_text_contents())
            for chip in page.locator(".chip.accepted").all()
        ]
    assert labels == ["<b>bold</b>", "&lt;", "␣the", "↵↵", "⇥", "␣"]
    blank = page.locator(".chip.accepted .blank").last.bounding_box()
    assert blank is not None and blank["width"] > 4
    focus(page)
    page.keyboard.press("End")
    assert page.locator(".t .pc.special").all_text_contents() == ["<end>"]
    assert page.locator(".t:not(.off, .off .t)", has_text="<end>").count() > 1, "the lookalike is text"


def test_an_emoji_in_three_tokens_is_bytes_until_it_is_whole(show: Callable[..., Page]) -> None:
    trace = hostile_trace()
    steps = trace.run("decoder").steps  # type: ignore[union-attr]
    split = next(i for i, s in enumerate(steps) if PIECES[s.emitted[0]] == THUMB[:2])
    page = show(trace)
    page.evaluate("(i) => it.seekStep(i)", split)
    visible = "() => document.querySelector('div').shadowRoot.querySelector('.flow').innerText"
    marks = page.evaluate(
        """() => [...document.querySelector('div').shadowRoot
             .querySelectorAll('.t:not(.off, .off .t) .p [data-mark]')]
             .filter((e) => e.offsetParent).map((e) => e.dataset.mark)"""
    )
    assert marks == ["F0", "9F", "part 1/3", "91", "8D", "F0", "part 2/3"]
    assert "👍" not in page.evaluate(visible)
    page.evaluate("(i) => it.seekStep(i)", split + 1)
    assert page.evaluate(visible).count("👍🏽") == 1
    assert page.evaluate(visible).count("👍") == 1


def test_nodes_after_the_end_are_marked_discarded(show: Callable[..., Page]) -> None:
    trace = hostile_trace()
    last = len(trace.run("decoder").steps) - 1  # type: ignore[union-attr]
    page = show(trace, start_step=last)
    assert page.locator(".chip[data-node='1']").get_attribute("class").startswith("chip accepted")  # type: ignore[union-attr]
    assert page.locator(".chip[data-node='2']").get_attribute("class").startswith("chip accepted")  # type: ignore[union-attr]
    assert page.locator(".chip[data-node='3']").get_attribute("class").startswith("chip discarded")  # type: ignore[union-attr]
    assert page.locator(".chip.bonus").count() == 0
    assert "discarded" in page.locator(".caption .why").inner_text()


def misses(trace: Trace) -> list[int]:
    """Steps that ended because the model wanted something else than the guesses there."""
    steps = trace.run("decoder").steps  # type: ignore[union-attr]
    return [
        s.index
        for s in steps
        if len(s.emitted) > len(s.walk)
        and any(n.parent == (s.walk[-1] if s.walk else 0) for n in s.nodes)
    ]


def test_why_a_run_failed_is_said_in_the_language_of_the_reader(show: Callable[..., Page]) -> None:
    events = random_trace(9, 30, 8).events
    rest = [e for e in events if e.type != "finish"]
    message = "The model computed numbers that are not finite: choose dtype float32 or bfloat16."
    end = Finish(reason="error", tokens=9, seconds=1.0, message=message)
    page = show(Trace((*rest, end)))
    press(page, "End")
    assert message in page.locator(".caption").inner_text()
    page.evaluate("(words) => it.setStrings(words, 'ru')", player.player_strings("ru"))
    said = page.locator(".caption").inner_text()
    assert "У модели получились бесконечности или не числа: выберите dtype float32" in said
    assert "numbers" not in said


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


def test_an_instructive_step_is_named_and_left_for_the_start(show: Callable[..., Page]) -> None:
    trace = random_trace(9, 30, 8)
    page = show(trace)
    assert state(page)["step"] == player.interesting_step(trace)
    assert page.locator(".notice").inner_text().startswith("opened at an instructive step")
    page.get_by_role("button", name="from the start").click()
    assert (state(page)["phase"], page.locator(".notice").inner_text()) == ("prefill", "")
    assert show(trace, start_step=5).locator(".notice").inner_text() == ""


@pytest.mark.parametrize("nodes", [8, 24, 96])
def test_root_path_and_own_token_are_in_view_and_the_rest_is_counted(
    show: Callable[..., Page], nodes: int
) -> None:
    page = show(random_trace(nodes, 12, nodes))
    look = """() => {
      const root = document.querySelector('div').shadowRoot;
      const stage = root.querySelector('.stage').getBoundingClientRect();
      const outside = (c) => {
        const b = c.querySelector('.body').getBoundingClientRect();
        return b.left < stage.left - 2 || b.top < stage.top - 2
          || b.right > stage.right + 2 || b.bottom > stage.bottom + 2;
      };
      const count = (s) => [...root.querySelectorAll(s)].filter(outside).length;
      const told = [...root.querySelectorAll('.beyond:not([hidden])')]
        .reduce((sum, e) => sum + parseInt(e.textContent.slice(1)), 0);
      return [count('.chip.root, .chip.accepted, .chip.bonus'), count('.chip'), told];
    }"""
    hidden = 0
    for index in range(12):
        page.evaluate("(i) => it.seekStep(i)", index)
        story, outside, told = page.evaluate(look)
        assert (story, told) == (0, outside)
        hidden += outside
    assert hidden > 0 or nodes < 96
    page.get_by_role("button", name="Fit the tree").click()
    assert page.evaluate(look) == [0, 0, 0]


def test_a_phone_shows_the_whole_tree(show: Callable[..., Page]) -> None:
    page = show(random_trace(24, 6, 24), viewport={"width": 390, "height": 844})
    for index in range(6):
        page.evaluate("(i) => it.seekStep(i)", index)
        until(page, lambda: page.evaluate(
            """() => { const root = document.querySelector('div').shadowRoot;
              const end = root.querySelector('svg.tree').getBoundingClientRect().bottom;
              const foot = root.querySelector('.tree-foot').getBoundingClientRect().top;
              return [...root.querySelectorAll('.chip .body')]
                .filter((b) => b.getBoundingClientRect().bottom > Math.min(end, foot)).length; }"""
        ), 0)


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


def test_the_step_drawn_is_the_step_asked(show: Callable[..., Page]) -> None:
    page = show(random_trace(6, 40, 12))
    bar = page.locator(".scrub").bounding_box()
    assert bar is not None
    for asked in (0, 7, 23, 39, 12):
        x = bar["x"] + 8 + (asked + 1) / 40 * (bar["width"] - 16)
        page.mouse.move(x, bar["y"] + 20)
        page.mouse.down()
        page.mouse.up()
        found = state(page)
        assert (found["step"], found["drawn"], found["phase"]) == (asked, asked, "emit")
        assert page.locator(".scrub").get_attribute("aria-valuenow") == str(asked + 1)


def test_seeking_a_long_run_is_fast(show: Callable[..., Page]) -> None:
    page = show(random_trace(11, 300, 24))
    session = page.context.new_cdp_session(page)
    # Time of the page's own thread: other work on the machine does not count.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        found = session.send("Performance.getMetrics")["metrics"]
        values = {m["name"]: m["value"] for m in found}
        kinds = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
        return 1000 * sum(values[kind] for kind in kinds)

    draw = random.Random(7)
    seeks = [draw.randrange(300) for _ in range(230)]
    times = []
    for asked in seeks:
        before = spent()
        drawn_step = page.evaluate(
            """(i) => {
              it.seekStep(i);
              document.querySelector('div').shadowRoot.querySelector('.sv').offsetHeight;
              return it.state().drawn;
            }""",
            asked,
        )
        times.append(spent() - before)
        assert drawn_step == asked
    times = sorted(times[30:])
    assert times[round(0.95 * len(times))] < SEEK_MS, (times[100], times[190])


def test_memory_stays_flat_over_many_seeks(show: Callable[..., Page]) -> None:
    page = show(random_trace(11, 300, 24))
    session = page.context.new_cdp_session(page)
    page.evaluate("for (let i = 0; i < 300; i++) it.seekStep(i)")

    def nodes() -> int:
        session.send("HeapProfiler.collectGarbage")
        found: int = session.send("Memory.getDOMCounters")["nodes"]
        return found

    first = nodes()
    page.evaluate("for (let k = 0; k < 3; k++) for (let i = 0; i < 300; i++) it.seekStep(i)")
    assert nodes() < first + 1500


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


@pytest.mark.parametrize("width", [390, 640, 1280])
def test_no_sideways_scrolling(show: Callable[..., Page], width: int) -> None:
    page = show(hostile_trace(), start_step=2, viewport={"width": width, "height": 800})
    for projector in (False, True):
        page.evaluate("(on) => it.set('projector', on)", projector)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        inside = page.evaluate(
            """() => [...document.querySelector('div').shadowRoot
                 .querySelectorAll('button, .panel, .caption')]
                 .filter((e) => e.offsetParent && e.getBoundingClientRect().right > innerWidth + 1)
                 .map((e) => e.className)"""
        )
        assert inside == []


def test_touch_targets_on_a_phone(show: Callable[..., Page]) -> None:
    page = show(hostile_trace(), start_step=2, viewport={"width": 390, "height": 844})
    for box in page.locator(".transport button, .transport select").all():
        size = box.bounding_box()
        assert size is not None
        assert (size["width"] >= 44, size["height"] >= 44) == (True, True)


def test_labels_do_not_overlap_in_a_large_tree(show: Callable[..., Page]) -> None:
    for nodes in (24, 96):
        page = show(random_trace(nodes, 6, nodes))
        for index in range(6):
            page.evaluate("(i) => it.seekStep(i)", index)
            clashes = page.evaluate(
                """() => {
                  const root = document.querySelector('div').shadowRoot;
                  const boxes = [...root.querySelectorAll('.chip .body')]
                    .map((b) => b.getBoundingClientRect());
                  const apart = (a, b) => a.left > b.right - 1 || b.left > a.right - 1
                    || a.top > b.bottom - 1 || b.top > a.bottom - 1;
                  let clashes = 0;
                  for (let i = 0; i < boxes.length; i++)
                    for (let j = 0; j < i; j++) if (!apart(boxes[i], boxes[j])) clashes++;
                  return [boxes.length, clashes];
                }"""
            )
            assert clashes == [nodes + 2, 0]


def test_one_step_of_ten_guesses_is_counted_as_the_glossary_says(
    show: Callable[..., Page],
) -> None:
    trees = (step(random.Random(seed), 0, 16, 10, 2) for seed in range(20))
    made = next(s for s in trees if any(node.parent == 2 for node in s.nodes))
    page = show(bundle([made]), start_step=0)
    figures = page.locator(".figures").inner_text()
    assert "3.00 tokens a pass" in figures
    assert "67 % right" in figures
    assert "1 pass, not 3" in figures
    assert page.locator(".pass").inner_text().startswith("10 guesses, one pass")
    assert page.locator(".caption .main").inner_text().startswith("2 of 3 positions right")
    assert page.locator(".chip.accepted").count() == 2
    term = page.locator(".figures .term", has_text="% right")
    term.focus()
    assert "and one more where the walk stopped" in page.locator(".tip").inner_text()


def test_a_step_without_a_right_guess_says_what_the_model_wanted(
    show: Callable[..., Page],
) -> None:
    made = step(random.Random(1), 0, 16, 6, 0)
    page = show(bundle([made]), start_step=0)
    want = PIECES[made.nodes[0].pick].decode()
    assert page.locator(".caption .main").inner_text().startswith("No guess right")
    assert page.locator(".chip.bonus").text_content().replace("★", "") == want.replace(" ", "␣")  # type: ignore[union-attr]
    assert "the tree was full" in page.locator(".caption .why").inner_text()
    assert "rank 2" in page.locator(".memory .fact").inner_text()


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (Check(equal=True), "same text as plain decoding"),
        (
            Check(equal="tie", first_difference=3, margin=0.0021, cap=0.01),
            "numeric tie with plain decoding at token 4",
        ),
        (
            Check(equal=False, first_difference=3, margin=1.5, cap=0.01),
            "differs from plain decoding at token 4",
        ),
    ],
)
def test_verdict_tells_a_tie_from_a_difference(
    show: Callable[..., Page], check: Check, words: str
) -> None:
    trace = random_trace(8, 3, 4)
    page = show(Trace((*trace.events[:-1], check)))
    assert page.locator(".head .badge").inner_text().endswith(words)


def test_a_file_that_contradicts_itself_gets_no_verdict(
    open_page: Opener, tmp_path: Path
) -> None:
    path = tmp_path / "run.html"
    path.write_text(player.export_html(random_trace(8, 3, 4), audited=False), "utf-8")
    badge = open_page(path.as_uri()).locator(".head .badge")
    assert badge.inner_text() == "○ not verified: the recording contradicts itself"


def test_a_step_without_evidence_says_that_none_was_recorded(show: Callable[..., Page]) -> None:
    draw = random.Random(4)
    first = step(draw, 0, 16, 5, 2, evidence=False)
    page = show(bundle([first]), start_step=0)
    assert "No memory was recorded for this step." in page.locator(".memory").inner_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_stay_inside_the_head(show: Callable[..., Page], width: int) -> None:
    trace = random_trace(8, 3, 4)
    long = {"model": "m" * 400, "machine": "machine " * 60, "scope": "s" * 300, "decoder": "d" * 90}
    events = tuple(
        e.model_copy(update=long) if e.type == "header" and e.role == "decoder" else e
        for e in trace.events
    )
    page = show(Trace(events), viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == width
    box = page.locator(".head").bounding_box()
    badge = page.locator(".head .badge").bounding_box()
    assert box is not None and badge is not None
    assert box["height"] < (320 if width == 390 else 170)
    assert badge["x"] + badge["width"] <= width
    blocks = page.locator(".blocks").bounding_box()
    assert blocks is not None and blocks["width"] > (70 if width == 390 else 640)


def test_a_slow_run_says_so_and_why(show: Callable[..., Page]) -> None:
    made = [
        step(random.Random(i), i, 16, 6, 0).model_copy(
            update={"seconds": Seconds(draft=0.03, verify=0.06, commit=0.01, total=0.1)}
        )
        for i in range(4)
    ]
    trace = bundle(made)
    speed = metrics.speedup_decode(trace)
    assert speed is not None and speed < 0.5
    page = show(trace)
    focus(page)
    press(page, "End")
    assert page.locator(".speed").inner_text() == f"{speed:.2f}×"
    why = page.locator(".caption .why").inner_text()
    found = [float(n) for n in re.findall(r"\d+\.\d+", why)]
    tau, rows, verify, rest, _, cost, shown = found
    assert why.startswith("Not faster: 1.00 tokens a pass, but a pass over 7.0 rows cost ")
    assert rows == 7.0
    assert (shown, tau) == (round(speed, 2), 1.0)
    assert abs(tau / cost - speed) < 0.01
    assert abs(verify + rest - cost) < 1e-9, "the parts add up as they are shown"
    assert abs(verify / rest - 1.5) < 0.02
    press(page, "Home")
    assert page.locator(".head .told").inner_text() == why, "told at every step"
    page.locator(".figures .term").first.focus()
    assert why in page.locator(".tip").inner_text()


COSTS = Costs(context=128, rows=(1, 2, 4, 16), seconds=(0.04, 0.05, 0.042, 0.09))


def fitted(scores: tuple[float, ...]) -> Trace:
    """One step whose tree was fitted to the costs: what memory also knew was cut for its cost."""
    made = step(random.Random(1), 0, 16, len(scores), 0)
    nodes = [
        node.model_copy(update={"score": score})
        for node, score in zip(made.nodes, (None, *scores), strict=True)
    ]
    assert made.evidence is not None and made.evidence.kind == "memory"
    lookups = [
        found.model_copy(
            update={"candidates": tuple(c._replace(cut="cost") for c in found.candidates)}
        )
        for found in made.evidence.lookups
    ]
    evidence = made.evidence.model_copy(update={"lookups": tuple(lookups)})
    trace = bundle([made.model_copy(update={"nodes": tuple(nodes), "evidence": evidence})])
    first = trace.events[0].model_copy(update={"costs": COSTS})
    return Trace((first, *trace.events[1:]))


def test_a_tree_that_fits_the_machine_says_what_more_would_have_cost(
    show: Callable[..., Page],
) -> None:
    """Six rows cost 1.05 + 2 x 0.1 = 1.25, one more 0.1; five guesses and the root promise 2.5."""
    page = show(fitted((0.6, 0.4, 0.25, 0.15, 0.1)), start_step=0)
    assert page.locator(".size p").inner_text() == (
        "A tree of 5 guesses was best here: it promised 2.50 tokens for 1.25 plain passes. "
        "One guess more would have cost 0.10 of a plain pass; none promised enough for that."
    )
    picture = page.locator(".size svg.curve")
    label = "Cost of a pass by its rows; the dot is this step: 6 rows, 1.25 plain passes"
    assert picture.get_attribute("aria-label") == label
    assert picture.locator(".timed").count() == 4 and picture.locator("circle.here").count() == 1
    told = page.locator(".caption .why").inner_text()
    assert "but a tree of 5 guesses was best here: one more would have cost more" in told
    assert "Cut: the best tree here had 5 guesses" in page.locator(".fact").inner_text()
    bare = fitted((0.6, 0.4, 0.25, 0.15, 0.1)).events
    # Five guesses that teach a tenth of a token each.
    taught = bare[0].model_copy(update={"knobs": {"lesson": 0.1}})
    page = show(Trace((taught, *bare[1:])), start_step=0)
    assert "with what it teaches it promised 3.00 tokens" in page.locator(".size p").inner_text()
    # Without a curve the reason stays, without the numbers.
    page = show(Trace((bare[0].model_copy(update={"costs": None}), *bare[1:])), start_step=0)
    assert page.locator(".size").count() == 0
    assert "a larger tree would have cost more time" in page.locator(".caption .why").inner_text()
    assert page.locator(".reason .ceiling").is_hidden()


def test_guessing_nothing_because_of_its_cost_is_not_called_an_empty_memory(
    show: Callable[..., Page],
) -> None:
    made = fitted((0.5,)).run().steps[0]  # type: ignore[union-attr]
    events = bundle([step(random.Random(1), 0, 16, 0, 0)]).events
    bare = events[2].model_copy(update={"evidence": made.evidence})
    first = events[0].model_copy(update={"costs": Costs(context=9, rows=(1, 2), seconds=(1, 1.5))})
    page = show(Trace((first, events[1], bare, *events[3:])), start_step=0)
    assert page.locator(".caption .why").inner_text() == (
        "Memory had guesses after ␣word0, but none promised enough to pay for its place in the "
        "pass."
    )
    assert page.locator(".size p").inner_text() == (
        "Guessing nothing was best here: one guess would have cost 0.50 of a plain pass; none "
        "promised enough for that."
    )


def test_the_ceiling_stands_beside_the_speed(show: Callable[..., Page]) -> None:
    trace = fitted((0.6, 0.4, 0.25, 0.15, 0.1))
    ceiling = metrics.ceiling(trace.run())  # type: ignore[arg-type]
    assert ceiling == pytest.approx(1 / 1.25)
    page = show(trace, start_step=0)
    term = page.locator(".reason .ceiling")
    assert term.inner_text() == "ceiling 0.80×"
    term.focus()
    assert "Its ceiling is 0.80×" in page.locator(".tip").inner_text()
    assert "(up to 4 are nearly free here)" in page.locator(".told").inner_text()
    focus(page)
    press(page, "End")
    assert "Its ceiling is 0.80×" in page.locator(".caption .why").inner_text()
    page.set_viewport_size({"width": 390, "height": 844})
    assert (term.is_visible(), page.locator(".told").is_visible()) == (True, False)


def test_a_speed_above_the_ceiling_is_doubted(show: Callable[..., Page]) -> None:
    events = fitted((0.6, 0.4, 0.25, 0.15, 0.1)).events
    quick = events[2].model_copy(
        update={"seconds": Seconds(draft=0.001, verify=0.004, commit=0.0, total=0.005)}
    )
    page = show(Trace((*events[:2], quick, *events[3:])), start_step=0)
    assert page.locator(".reason .ceiling").inner_text() == "above its ceiling of 0.80×"
    focus(page)
    press(page, "End")
    assert "something disturbed the plain run" in page.locator(".caption .why").inner_text()


def test_an_estimate_that_the_run_just_passed_is_not_called_its_ceiling(
    show: Callable[..., Page],
) -> None:
    events = fitted((0.6, 0.4, 0.25, 0.15, 0.1)).events
    plain = metrics.decode_seconds_per_token(Trace(events).run("baseline"))  # type: ignore[arg-type]
    assert plain is not None
    own = plain / 0.81
    quick = events[2].model_copy(
        update={"seconds": Seconds(draft=0.0, verify=own, commit=0.0, total=own)}
    )
    page = show(Trace((*events[:2], quick, *events[3:])), start_step=0)
    assert page.locator(".speed").first.inner_text() == "0.81×"
    assert page.locator(".reason .ceiling").is_hidden()


def test_the_browser_and_the_metrics_read_one_curve(show: Callable[..., Page]) -> None:
    """What the player says of a size is c*, beyond the last size measured too."""
    for guesses in (1, 3, 4, 15, 20):
        scores = tuple(0.9 - 0.04 * k for k in range(guesses))
        trace = fitted(scores)
        cost = metrics.curve(trace.run())(guesses + 1)  # type: ignore[arg-type,misc]
        told = show(trace, start_step=0).locator(".size p").inner_text()
        worth = 1 + sum(scores)
        assert f"promised {worth:.2f} tokens for {cost:.2f} plain passes" in told


def test_a_long_caption_keeps_the_controls_where_they_are(show: Callable[..., Page]) -> None:
    draw = random.Random(5)
    words = [i for i, piece in enumerate(PIECES) if len(piece) > 20] * 6
    long = step(draw, 0, 16, 12, 6, (*words[:6], 20))
    page = show(bundle([step(draw, 0, 16, 3, 1), long.model_copy(update={"index": 1})]))
    where = """() => ['.transport', '.caption'].map((s) => document.querySelector('div')
      .shadowRoot.querySelector(s).getBoundingClientRect().top)"""
    page.evaluate("it.seekStep(0)")
    short = page.evaluate(where)
    page.evaluate("it.seekStep(1)")
    assert "long" in page.locator(".caption").get_attribute("class")  # type: ignore[operator]
    assert page.evaluate(where) == short
    page.set_viewport_size({"width": 1900, "height": 900})
    page.evaluate("it.seekStep(0)")
    until(page, lambda: page.locator(".caption").get_attribute("class"), "caption")


def test_a_long_reading_of_the_prompt_is_in_the_head(show: Callable[..., Page]) -> None:
    def read_in(seconds: float) -> Trace:
        events = random_trace(8, 6, 5).events
        new = {"seconds": seconds}
        return Trace(tuple(e.model_copy(update=new) if e.type == "prefill" else e for e in events))

    assert "in all" not in show(read_in(0.001)).locator(".figures").inner_text()
    total = metrics.speedup_total(read_in(30.0))
    figures = show(read_in(30.0)).locator(".figures")
    assert f"after the prompt, {total:.2f}× in all" in figures.inner_text()


def test_memory_that_was_carried_over_is_named_in_the_head(show: Callable[..., Page]) -> None:
    trace = random_trace(8, 6, 5)
    first = trace.events[0].model_copy(update={"memory_rows": 150, "scope": "essays"})
    page = show(Trace((first, *trace.events[1:])))
    line = page.locator(".who .term")
    assert line.inner_text() == "memory: 150 rows from earlier runs, scope essays"
    assert show(trace).locator(".who .term").is_hidden()


@pytest.mark.parametrize("projector", [False, True])
def test_the_controls_are_in_view_on_a_small_screen(
    show: Callable[..., Page], projector: bool
) -> None:
    trace = random_trace(9, 30, 24)
    steps = trace.run("decoder").steps  # type: ignore[union-attr]
    short = next(s.index for s in steps if len(s.walk) == 1)
    page = show(trace, start_step=short)
    page.evaluate("(on) => it.set('projector', on)", projector)
    wait(page, "root.querySelector('.transport').getBoundingClientRect().bottom <= 721")
    small = page.evaluate(
        """() => { const root = document.querySelector('div').shadowRoot;
          const svg = root.querySelector('.canvas').getScreenCTM().a;
          return [...root.querySelectorAll('.chip .score, .chip .from-level')]
            .map((t) => svg * parseFloat(getComputedStyle(t).fontSize)); }"""
    )
    assert len(small) > 20
    assert min(small) >= (12 if projector else 9) - 0.05


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
        "Step 1: what was guessed, what the model kept",
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


def test_focus_on_a_chip_survives_the_next_step(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 6, 5), start_step=1)
    page.locator(".chip[data-node='2']").focus()
    assert press(page, "Shift+ArrowRight", "Shift+ArrowRight")["step"] == 3


def test_theme_follows_the_class_above(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 3, 4), color_scheme="light")
    assert page.locator("section.sv").get_attribute("data-theme") == "light"
    page.evaluate("document.body.classList.add('dark')")
    wait(
        page,
        "document.querySelector('div').shadowRoot.querySelector('.sv').dataset.theme === 'dark'")


def test_scene_is_a_pure_function(show: Callable[..., Page]) -> None:
    page = show(random_trace(8, 5, 6))
    assert page.evaluate(
        """() => {
          const before = JSON.stringify(data.payload);
          const last = SpecvizPlayer.lastTime(data.payload);
          const at = (t) => JSON.stringify(SpecvizPlayer.scene(data.payload, t));
          const all = () => Array.from({length: last + 1}, (_, t) => at(t));
          const one = all().reverse();
          const two = all().reverse();
          return one.every((s, i) => s === two[i]) && before === JSON.stringify(data.payload);
        }"""
    )


def test_hostile_texts_cover_the_list() -> None:
    assert {t for t in HOSTILE if t.encode() in PIECES} == set(HOSTILE)


def test_a_step_whose_best_continuations_were_not_recorded_is_drawn(
    show: Callable[..., Page],
) -> None:
    made = step(random.Random(1), 0, 16, 6, 0)
    bare = tuple(n.model_copy(update={"top": ()}) for n in made.nodes)
    for change in ({"nodes": bare}, {"nodes": bare, "evidence": None}):
        page = show(bundle([made.model_copy(update=change)]), start_step=0)
        assert page.locator(".caption .main").inner_text().startswith("No guess right")
