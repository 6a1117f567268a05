"""What a seek costs the browser, counted: elements that are built, and how much is laid out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from player_traces import random_trace
from playwright.sync_api import Page

from .patience import until

# Every jump is far from the one before, so that all counts and labels change their width.
COUNT = """async ([steps, jumps]) => {
  const frames = async (n) => { for (; n > 0; n--) await new Promise(requestAnimationFrame); };
  const built = { lanes: 0, overview: 0, all: [] };
  let here = 0;
  const watch = new MutationObserver((records) => {
    for (const { target, addedNodes } of records) {
      here += addedNodes.length;
      if (target.closest('.blocks')) built.lanes += addedNodes.length;
      if (target.closest('.overview')) built.overview += addedNodes.length;
    }
  });
  watch.observe(root, { childList: true, subtree: true });
  await frames(3);
  for (let k = 1; k <= jumps; k++) {
    here = 0;
    it.seekStep((k * Math.round(steps * 0.382)) % steps);
    await frames(2);
    built.all.push(here);
  }
  watch.disconnect();
  return built;
}"""


def counted(page: Page, steps: int, jumps: int = 12) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(COUNT, [steps, jumps])
    return found


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_a_seek_draws_no_lane_and_no_mark_anew(show: Callable[..., Page], lang: str) -> None:
    page = show(random_trace(11, 240, 4), lang=lang)
    built = counted(page, 240)
    assert (built["lanes"], built["overview"]) == (0, 0)


def test_a_seek_builds_no_more_in_a_long_run_than_in_a_short_one(
    show: Callable[..., Page],
) -> None:
    most = [max(counted(show(random_trace(11, n, 4)), n)["all"]) for n in (40, 240)]
    assert most[1] <= 1.25 * most[0]


# Which tokens in sight are shown, of those that stand in the box's view, and which of all.
SIGHT = """() => {
  const box = root.querySelector('.answer .scroll').getBoundingClientRect();
  const spans = [...root.querySelectorAll('.flow .t[data-i]')];
  const seen = (e) => getComputedStyle(e).visibility === 'visible';
  const near = spans.filter((e) => {
    const { top, bottom } = e.getBoundingClientRect();
    return bottom > box.top && top < box.bottom;
  });
  const numbers = (them) => them.filter(seen).map((e) => Number(e.dataset.i));
  return { near: near.map((e) => Number(e.dataset.i)), seen: numbers(near), all: numbers(spans) };
}"""


def test_a_far_seek_shows_what_is_in_sight_at_once_and_the_rest_at_rest(
    show: Callable[..., Page],
) -> None:
    page = show(random_trace(11, 400, 4))
    for step in (390, 20, 250, 3, 399):
        changed = page.evaluate(
            """(step) => {
              const watch = new MutationObserver(() => {});
              const attributes = { attributes: true, subtree: true, attributeFilter: ['class'] };
              watch.observe(root.querySelector('.flow'), attributes);
              it.seekStep(step);
              const bunches = watch.takeRecords().filter((r) => r.target.matches('.bunch'));
              watch.disconnect();
              return bunches.length;
            }""",
            step,
        )
        tokens = page.evaluate("it.state().tokens")
        at_once = page.evaluate(SIGHT)
        assert at_once["near"], "the end of the text is in sight"
        assert at_once["seen"] == [i for i in at_once["near"] if i < tokens]
        assert changed <= 8, "bunches of 64 tokens, of which a box shows few"
        until(page, lambda n=tokens: page.evaluate(SIGHT)["all"] == list(range(n)), True)


def test_a_text_that_is_scrolled_by_hand_is_whole_at_once(show: Callable[..., Page]) -> None:
    page = show(random_trace(11, 400, 4))
    page.evaluate("it.seekStep(399)")
    page.wait_for_timeout(600)
    found = page.evaluate(
        """async () => {
          it.seekStep(2);
          const box = root.querySelector('.answer .scroll');
          box.scrollTop = box.scrollHeight;
          await new Promise(requestAnimationFrame);
          await new Promise(requestAnimationFrame);
          const spans = [...root.querySelectorAll('.flow .t[data-i]')];
          return [it.state().tokens,
                  spans.filter((e) => getComputedStyle(e).visibility === 'visible').length];
        }"""
    )
    assert found[0] == found[1]
