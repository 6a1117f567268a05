"""The overview of a run, the ways its tokens go in a step, and finding one of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from player_traces import bundle, random_trace, step
from playwright.sync_api import Page

from specviz.trace import Trace

ROOT = "document.querySelector('div').shadowRoot"


def four_steps() -> Trace:
    """No guess, all refused, two right and one refused, three right to the end."""
    draw = random.Random(1)
    return bundle(
        [
            step(draw, 0, 16, 0, 0),
            step(draw, 1, 17, 6, 0),
            step(draw, 2, 18, 6, 2),
            step(draw, 3, 19, 3, 3),
        ]
    )


def columns(page: Page) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(
        f"""() => Object.fromEntries([...{ROOT}.querySelectorAll('.overview path')].map((p) =>
          [p.getAttribute('class'), (p.getAttribute('d') ?? '').split('M').length - 1]))"""
    )
    return found


def test_a_column_per_step_and_the_same_in_words(show: Callable[..., Page]) -> None:
    page = show(four_steps())
    assert columns(page) == {
        "v-accepted": 2, "v-bonus": 3, "v-own": 1, "v-missed": 2, "v-full": 1, "v-found": 0,
    }  # fmt: skip
    bar = page.locator(".scrub")
    described = bar.get_attribute("aria-describedby")
    assert page.locator(f"#{described}").text_content() == (
        "The whole run: 4 steps wrote 9 tokens. In 1 every tested guess was right, 2 ended at a "
        "refused guess, 1 had no guess. Most in one step: 4 tokens, in step 4."
    )
    box = bar.bounding_box()
    assert box is not None
    said = []
    for index in range(4):
        x = box["x"] + 8 + (index + 1) / 4 * (box["width"] - 16)
        page.mouse.move(x - 3, box["y"] + 20)
        said.append(bar.get_attribute("title"))
    assert said == [
        "step 1: 1 token, 0 of them guessed; nothing was guessed",
        "step 2: 1 token, 0 of them guessed; the first guesses were refused",
        "step 3: 3 tokens, 2 of them guessed; then a guess was refused",
        "step 4: 4 tokens, 3 of them guessed; every tested guess was right",
    ]
    page.mouse.down()
    page.mouse.up()
    assert page.evaluate("it.state().step") == 3


def test_a_long_run_costs_no_more_elements(show: Callable[..., Page]) -> None:
    few = show(random_trace(3, 8, 4))
    count = f"{ROOT}.querySelectorAll('.overview *').length"
    elements = few.evaluate(count)
    many = show(random_trace(3, 700, 4), viewport={"width": 390, "height": 844})
    assert many.evaluate(count) == elements == 6
    drawn = columns(many)
    assert 30 < max(drawn.values()) < 200  # columns that can still be seen, each of several steps


def beat(page: Page, index: int, phase: str, at: int = 0) -> float:
    """The time at which beat ``at`` of a phase of a step begins."""
    found: float = page.evaluate(
        """([index, phase, at]) => {
          for (let t = 1; ; t++) {
            const {step, place} = SpecvizPlayer.scene(data.payload, t);
            if (step === index && place.phase === phase && place.at === at) return t - 1;
          }
        }""",
        [index, phase, at],
    )
    return found


def test_guesses_grow_out_of_their_parent_and_the_pass_reaches_all(
    show: Callable[..., Page],
) -> None:
    page = show(four_steps())
    page.evaluate("(t) => it.seek(t)", beat(page, 1, "verify"))
    place = f"""() => Object.fromEntries([...{ROOT}.querySelectorAll('.chip[data-node]')]
      .map((c) => [c.dataset.node, c.transform.baseVal[0].matrix.e]))"""
    rest = page.evaluate(place)
    page.evaluate("(t) => it.seek(t)", beat(page, 1, "draft") + 0.5)
    growing = page.evaluate(
        f"""() => [...{ROOT}.querySelectorAll('.chip[opacity]')].map((c) => c.dataset.node)"""
    )
    assert len(growing) == 1
    mid = page.evaluate(place)
    node = four_steps().run("decoder").steps[1].nodes[int(growing[0])]  # type: ignore[union-attr]
    begin, end = rest[str(node.parent)], rest[growing[0]]
    assert begin < mid[growing[0]] == pytest.approx(end - 0.25 * (end - begin), abs=0.2)
    page.evaluate("(t) => it.seek(t)", beat(page, 1, "verify") + 0.01)
    assert page.locator(".chip.asked").count() == 0
    page.evaluate("(t) => it.seek(t)", beat(page, 1, "verify") + 0.99)
    assert page.locator(".chip.asked").count() == 7
    page.evaluate("(t) => it.seek(t)", beat(page, 1, "verify") + 1)
    assert page.locator(".chip.asked").count() == 0


def test_what_was_written_flows_into_the_text_and_the_rest_fades(
    show: Callable[..., Page],
) -> None:
    page = show(four_steps())
    written = page.evaluate("data.payload.events.filter((e) => e.type === 'step')[2].emitted")
    start = beat(page, 2, "emit")
    page.evaluate("(t) => it.seek(t)", start + 0.4)
    flying = page.locator(".flight .tok")
    assert [int(t.get_attribute("data-token") or 0) for t in flying.all()] == written
    faded = f"""[...{ROOT}.querySelectorAll('.chip[opacity]')].map((c) => +c.dataset.node).sort()"""
    assert page.evaluate(faded) == [3, 4, 5, 6]
    page.evaluate("(t) => it.seek(t)", start + 1)
    assert page.locator(".flight").is_hidden()
    assert page.evaluate(faded) == []  # stopped there, all is to be read
    page.evaluate("(t) => it.seek(t)", beat(page, 2, "walk") + 0.25)
    assert page.locator(".pulse").get_attribute("stroke-dasharray") == "0.500 1"


def test_nothing_flies_where_motion_is_unwanted(show: Callable[..., Page]) -> None:
    page = show(four_steps(), reduced_motion="reduce")
    page.evaluate("(t) => it.seek(t)", beat(page, 2, "emit") + 0.4)
    assert page.locator(".flight .tok").count() == 0
    assert page.locator(".t.fresh").first.evaluate("(e) => getComputedStyle(e).opacity") == "1"


def test_a_token_is_found_in_the_answer_and_among_vain_guesses(show: Callable[..., Page]) -> None:
    trace = random_trace(4, 12, 10)
    page = show(trace, start_step=0)
    run = trace.run("decoder")
    assert run is not None
    wanted = run.steps[7].emitted[0]
    wrote = [s.index for s in run.steps if wanted in s.emitted]
    guessed = [
        s.index for s in run.steps
        if s.index not in wrote and any(n.token == wanted for n in s.nodes[1:])
    ]  # fmt: skip
    assert 7 in wrote and guessed
    page.locator("section.sv").focus()
    page.keyboard.press("f")
    page.keyboard.type(f"#{wanted}")
    said = page.locator(".found")
    assert said.inner_text() == (
        f"Steps that wrote it: {len(wrote)}; that only guessed it: {len(guessed)}."
    )
    assert columns(page)["v-found"] == len(wrote) + len(guessed)
    order = sorted({*wrote, *guessed})
    page.evaluate("it.seekStep(-1)")
    for k, index in enumerate(order, 1):
        page.keyboard.press("Enter")
        assert page.evaluate("it.state().step") == index
        what = "wrote it." if index in wrote else "guessed it in vain."
        assert said.inner_text() == f"{k} of {len(order)}: step {index + 1} {what}"
    page.keyboard.press("Shift+Enter")
    assert page.evaluate("it.state().step") == order[-2]
    page.get_by_role("button", name="written only").click()
    page.evaluate("it.seekStep(-1)")
    page.locator(".find input").focus()
    for k, index in enumerate(wrote, 1):
        page.keyboard.press("Enter")
        assert page.evaluate("it.state().step") == index
        assert said.inner_text() == f"{k} of {len(wrote)}: step {index + 1} wrote it."
    assert columns(page)["v-found"] == len(wrote)
    page.keyboard.press("Escape")
    assert page.locator(".find").is_hidden()
    assert columns(page)["v-found"] == 0
    assert page.evaluate(f"{ROOT}.activeElement.className").startswith("sv")
