"""What the player finds room for: trees, names, captions and controls on every screen."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from player_traces import PIECES, bundle, hostile_trace, random_trace, step
from playwright.sync_api import Page

from specviz import metrics
from specviz.trace import Trace
from specviz.tracefile import load

from .exported import wait
from .patience import until

EXAMPLES = Path(__file__).parents[2] / "examples"


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


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_the_stage_keeps_its_size_from_step_to_step(show: Callable[..., Page], lang: str) -> None:
    trace = load(EXAMPLES / "tea.jsonl.gz")
    page = show(trace, lang=lang)
    sizes = page.evaluate(
        """() => {
          const seen = new Set(), { clientWidth, clientHeight } = root.querySelector('.stage');
          for (let step = 0; it.seekStep(step), it.state().step === step; step++) {
            const { clientWidth, clientHeight } = root.querySelector('.stage');
            seen.add(`${clientWidth} x ${clientHeight}`);
          }
          return [seen.size, clientWidth > 0 && clientHeight > 0, it.state().step];
        }"""
    )
    run = trace.run("decoder")
    assert run is not None and sizes == [1, True, len(run.steps) - 1]


@pytest.mark.parametrize(("name", "step"), [("sign", 23), ("slower", 53), ("code", 46)])
def test_a_count_of_guesses_out_of_view_lies_on_no_guess(
    show: Callable[..., Page], name: str, step: int
) -> None:
    page = show(load(EXAMPLES / f"{name}.jsonl.gz"), start_step=step)
    met = page.evaluate(
        """() => {
          const inked = (e) => {
            const range = document.createRange();
            range.selectNodeContents(e);
            return range.getBoundingClientRect();
          };
          const counts = [...root.querySelectorAll('.beyond:not([hidden])')].map(inked);
          const boxes = [...root.querySelectorAll('.chip .body')]
            .map((e) => e.getBoundingClientRect());
          const meets = (a, b) =>
            a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
          return [counts.length > 0, counts.filter((a) => boxes.some((b) => meets(a, b))).length];
        }"""
    )
    assert met == [True, 0]


def test_siblings_in_one_row_are_told_apart_as_choices(show: Callable[..., Page]) -> None:
    page = show(load(EXAMPLES / "list.jsonl.gz"), start_step=14)
    found = page.evaluate(
        """() => {
          const centre = (e) => { const b = e.getBoundingClientRect(); return b.x + b.width / 2; };
          const row = (e) => { const b = e.getBoundingClientRect(); return b.y + b.height / 2; };
          const bodies = [...root.querySelectorAll('.chip .body')];
          return [...root.querySelectorAll('.or')].map((stroke) => {
            const same = bodies.filter((b) => Math.abs(row(b) - row(stroke)) < 3);
            const edge = (side, sign) => same.map((b) => b.getBoundingClientRect()[side])
              .filter((x) => sign * (x - centre(stroke)) > 0).length > 0;
            return edge('right', -1) && edge('left', 1);
          });
        }"""
    )
    assert found == [True] * 6, "B / Fried / Vegan, Chicken / Ro / Sc, and / comma, chicken / lamb"


# How far the caption is below everything of the stage that is in view, and the rows of buttons.
ROOM = """() => {
  const deck = root.querySelector('.caption').getBoundingClientRect().top;
  const seen = [...root.querySelectorAll('.panel, .panel .legend, .panel .legend li')]
    .filter((e) => e.offsetHeight).map((e) => e.getBoundingClientRect().bottom);
  const buttons = [...root.querySelectorAll('.button-row button, .button-row select')]
    .filter((e) => e.offsetHeight).map((e) => e.getBoundingClientRect());
  const rows = new Set(buttons.map((b) => Math.round((b.top + b.bottom) / 2)));
  return [seen.every((bottom) => bottom <= deck), rows.size,
    Math.max(...buttons.map((b) => b.bottom)) <= innerHeight];
}"""


@pytest.mark.parametrize(
    ("name", "at", "lang", "size"),
    [
        ("list", 20, "ru", (1070, 720)),
        ("list", 20, "en", (1280, 720)),
        ("list", 20, "ru", (1280, 720)),
        ("stones", 0, "ru", (1280, 720)),
        ("stones", 0, "ru", (1440, 900)),
    ],
)
def test_the_caption_covers_nothing_and_the_buttons_stand_in_one_row(
    show: Callable[..., Page], name: str, at: int, lang: str, size: tuple[int, int]
) -> None:
    width, height = size
    page = show(
        load(EXAMPLES / f"{name}.jsonl.gz"), at, lang, viewport={"width": width, "height": height}
    )
    assert page.evaluate(ROOM) == [True, 1, True]
    # A switch that is on is marked, which takes room.
    page.evaluate("['loop', 'expert'].forEach((name) => it.set(name, true))")
    until(page, lambda: page.evaluate(ROOM), [True, 1, True])
    for button in page.locator(".button-row button:not(.term)").all():
        title = button.get_attribute("title") or ""
        assert title.startswith(button.get_attribute("aria-label") or "?")


def test_words_of_buttons_yield_before_a_second_row_and_then_the_stage_does(
    show: Callable[..., Page],
) -> None:
    page = show(load(EXAMPLES / "list.jsonl.gz"), 20)
    word = page.locator("[data-act=next_miss] .word")
    call = """(words) => it.setStrings(
      { ...data.options.strings, 'player.button_short.loop': words }, 'en')"""
    box = word.bounding_box()
    assert box is not None and box["width"] > 20
    high = page.locator(".middle").bounding_box()
    page.evaluate(call, "round and round this step and again")
    assert page.evaluate(ROOM) == [True, 1, True]
    box = word.bounding_box()
    assert box is not None and box["width"] < 2
    page.evaluate(call, "round and round this step and again " * 2)
    until(page, lambda: page.evaluate(ROOM), [True, 2, True])
    low = page.locator(".middle").bounding_box()
    assert high is not None and low is not None and high["height"] - low["height"] == 40


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_the_stage_of_a_narrow_window_ends_above_the_caption(
    show: Callable[..., Page], lang: str
) -> None:
    page = show(load(EXAMPLES / "list.jsonl.gz"), 20, lang, viewport={"width": 1024, "height": 700})
    assert page.evaluate(
        """root.querySelector('.tree-panel').getBoundingClientRect().bottom
             <= root.querySelector('.caption').getBoundingClientRect().top"""
    )
