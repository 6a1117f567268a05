"""What the stage shows at once: in big type, on a phone, and before its first run is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

import specviz
from specviz import player
from specviz.ui.examples import FOLDER

Show = Callable[..., Page]
FIND = "document.querySelector('div').shadowRoot"
# In px of the window, or null where it is not shown.
BOX = f"""(what) => {{
  const found = {FIND}.querySelector(what);
  if (!found.offsetParent && !found.closest('svg')) return null;
  const {{ left, top, right, bottom }} = found.getBoundingClientRect();
  return [left, top, right, bottom].map(Math.round);
}}"""


def recorded(name: str) -> specviz.Trace:
    return specviz.load(FOLDER / f"{name}.jsonl.gz")


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080)])
def test_big_type_shows_the_stage_of_a_head_at_once(show: Show, size: tuple[int, int]) -> None:
    width, height = size
    page = show(recorded("head-2000"), viewport={"width": width, "height": height})
    page.evaluate("it.set('projector', true)")
    page.wait_for_timeout(100)
    assert page.evaluate("document.documentElement.scrollHeight") <= height
    deck = page.evaluate(BOX, ".caption")
    for part in (".badge", ".brief", ".blocks", ".answer .fresh", ".chip.bonus", ".sight .seen"):
        box = page.evaluate(BOX, part)
        assert box is not None and box[2] <= width and box[3] <= deck[1], part
    # Where there is room evidence and the second ruler stand beside them.
    roomy = height > 1000
    assert (page.evaluate(BOX, ".memory") is not None) == roomy
    strip, ruler = page.evaluate(BOX, ".sight-box"), page.evaluate(BOX, ".sight .learned")
    assert (ruler[3] <= strip[3]) == roomy
    sizes = page.evaluate(
        f"""[...{FIND}.querySelectorAll('.reason > *, .answer .t, .figures .term, .caption .why')]
              .filter((e) => e.offsetParent).map((e) => parseFloat(getComputedStyle(e).fontSize))"""
    )
    assert len(sizes) > 20 and min(sizes) >= 18


@pytest.mark.parametrize(
    ("size", "big"),
    [((1280, 720), False), ((1280, 720), True), ((390, 844), False), ((1920, 1080), False)],
)
def test_the_reason_is_found_in_every_kind_of_view(
    show: Show, size: tuple[int, int], big: bool
) -> None:
    page = show(recorded("code"), viewport={"width": size[0], "height": size[1]})
    page.evaluate("(on) => it.set('projector', on)", big)
    asked = page.locator(".reason .asked")
    assert asked.inner_text() == "Why not faster?"
    box = asked.bounding_box()
    assert box is not None and box["y"] + box["height"] < 200, "on the first screen"
    short = big or size[0] < 1500
    assert page.locator(".brief").is_visible() == short
    assert page.locator(".told").is_visible() == (not short)
    brief = "A pass brings 1.99 tokens but costs 1.26 plain ones: 1.99 / 1.26 = 1.58×."
    assert page.locator(".brief").text_content() == brief
    asked.focus()
    assert "guessing and upkeep 0.04 more" in page.locator(".tip").inner_text()


def test_a_slower_run_is_asked_why_it_is_slower(show: Show) -> None:
    page = show(recorded("slower"), viewport={"width": 390, "height": 844})
    assert page.locator(".asked").inner_text() == "Why slower?"
    assert page.locator(".brief").inner_text().startswith("A pass brings only ")


def test_a_run_whose_guessing_costs_much_says_so_in_short(show: Show) -> None:
    page = show(recorded("stones"))
    assert page.locator(".brief").inner_text() == (
        "A pass brings 20.00 tokens but costs 7.49 plain ones (2.76 to check, 4.73 to guess): "
        "20.00 / 7.49 = 2.67×."
    )


@pytest.mark.parametrize("size", [(390, 844), (360, 740)])
def test_a_phone_keeps_sentence_and_bar_in_view(show: Show, size: tuple[int, int]) -> None:
    width, height = size
    page = show(recorded("code"), viewport={"width": width, "height": height}, has_touch=True)
    caption, bar = page.evaluate(BOX, ".caption"), page.evaluate(BOX, ".scrub-row")
    root = page.evaluate(BOX, ".chip.root")
    assert bar[3] == height and caption[3] <= bar[1]
    assert root[3] < caption[1], "the tree begins above it"
    page.evaluate("scrollTo(0, 700)")
    moved = page.evaluate(BOX, ".caption")
    assert moved[3] < caption[3], "in its place below the tree it scrolls on"
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_lines_of_the_answer_are_not_cut_in_half(show: Show) -> None:
    page = show(recorded("head-2000"))
    cut = f"""() => {{
      const box = {FIND}.querySelector('.answer .scroll').getBoundingClientRect();
      return [...{FIND}.querySelectorAll('.answer .t:not(.off)')]
        .filter((t) => {{
          const {{ top, bottom }} = [...t.getClientRects()].at(-1);
          return top < box.top - 1 && bottom > box.top + 3;
        }}).map((t) => t.textContent);
    }}"""
    scrolled = set()
    for step in range(12, 35):
        page.evaluate("(step) => it.seekStep(step)", step)
        assert page.evaluate(cut) == []
        scrolled.add(page.evaluate(f"{FIND}.querySelector('.answer .scroll').scrollTop"))
    assert len(scrolled) > 2


@pytest.mark.parametrize("size", [(1280, 720), (390, 844)])
def test_a_stage_says_what_it_waits_for_and_does_not_jump(
    show: Show, size: tuple[int, int]
) -> None:
    trace = recorded("tea")
    page = show(trace, viewport={"width": size[0], "height": size[1]})
    page.evaluate(
        """(opening) => {
          const data = JSON.parse(document.getElementById('run').textContent);
          const fresh = document.createElement('div');
          document.querySelector('div').replaceWith(fresh);
          window.it = SpecvizPlayer.mount(fresh, { ...data.options, opening });
        }""",
        {"title": "Chat: a good cup of tea", "decoder": "recap"},
    )
    words = "opening “Chat: a good cup of tea” …"
    assert page.locator(".tree-panel h3").inner_text() == words
    assert page.locator(".caption .main").inner_text() == words
    assert page.locator(".title").inner_text() == "RECAP"
    parts = (".lanes", ".tree-panel", ".scrub-row")
    before = [page.evaluate(BOX, part)[:2] for part in parts]
    page.evaluate("(payload) => it.load(payload)", player.payload(trace))
    assert page.locator(".tree-panel h3").inner_text().startswith("Step ")
    after = [page.evaluate(BOX, part)[:2] for part in parts]
    assert after == before


def test_the_share_menu_opens_inside_a_phones_window(show: Show) -> None:
    page = show(recorded("code"), viewport={"width": 390, "height": 844}, has_touch=True)
    page.locator("[data-act=share]").evaluate("(button) => button.click()")
    page.wait_for_timeout(100)
    left, top, right, bottom = page.evaluate(BOX, ".share")
    assert left >= 0 and right <= 390 and 0 <= top < 500 and bottom <= 844
