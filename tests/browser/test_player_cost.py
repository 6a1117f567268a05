"""What a seek costs the browser, counted: elements that are built, and how much is laid out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from player_traces import random_trace
from playwright.sync_api import Page

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
