"""The player in a real browser, as the exported file shows it, with the network off."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from player_traces import HOSTILE, PIECES, THUMB, bundle, hostile_trace, random_trace, step
from playwright.sync_api import Page

from specviz import player
from specviz.trace import Check, Finish, Trace

from .exported import Opener, focus, press, state, wait

SEEK_MS = float(os.environ.get("SPECVIZ_SEEK_MS", "33"))


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


def test_an_instructive_step_is_named_and_left_for_the_start(show: Callable[..., Page]) -> None:
    trace = random_trace(9, 30, 8)
    page = show(trace)
    assert state(page)["step"] == player.interesting_step(trace)
    assert page.locator(".notice").inner_text().startswith("opened at an instructive step")
    page.get_by_role("button", name="from the start").click()
    assert (state(page)["phase"], page.locator(".notice").inner_text()) == ("prefill", "")
    assert show(trace, start_step=5).locator(".notice").inner_text() == ""


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
