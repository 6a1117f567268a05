"""What the player costs a browser: seeks, scrubbing, and what it keeps after many replays.

``FACE`` is a script that gives the player's public face in the page that is measured.
"""

from __future__ import annotations

from math import gcd
from statistics import median
from typing import Any

from specviz.bench.page_browser import Tab, spent

FACE = "[...document.querySelectorAll('#player *')].find((e) => e.specviz)?.specviz"
# In its place on a bare page, to learn what frames cost this browser whatever is drawn in them.
BARE = "({seekStep: (n) => (document.body.style.background = n % 2 ? '#0072b2' : '#fff')})"
FRAME = 1000 / 60  # milliseconds
LATE = 1.5 * FRAME  # a frame after that long means that one was missed
WARM_UP = 12
JUMP = """async ([step, face]) => {
  await new Promise(requestAnimationFrame);
  eval(face).seekStep(step);
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
}"""
SWEEP = """async ([stops, face]) => {
  const player = eval(face), gaps = [];
  let then = await new Promise(requestAnimationFrame);
  for (const step of stops) {
    player.seekStep(step);
    const now = await new Promise(requestAnimationFrame);
    gaps.push(now - then);
    then = now;
  }
  return gaps;
}"""


def hops(steps: int, count: int) -> list[int]:
    """``count`` steps to jump to, the same ones every time and far from one another."""
    least = max(1, round(0.382 * steps))
    stride = next(n for n in range(least, least + steps + 1) if gcd(n, steps) == 1)
    return [(k * stride) % steps for k in range(1, count + 1)]


def sweep(steps: int, count: int) -> list[int]:
    """``count`` steps from the first to the last and back, as a hand scrubs."""
    half = max(2, count // 2)
    there = [round(k * (steps - 1) / (half - 1)) for k in range(half)]
    return [*there, *reversed(there)]


def seeks(tab: Tab, steps: int, count: int, face: str = FACE) -> dict[str, Any]:
    """Milliseconds of script, layout and style that one jump to another step costs."""
    told = []
    jumps = hops(steps, WARM_UP + count)
    tab.ask(SWEEP, [jumps[:WARM_UP], face])
    for step in jumps[WARM_UP:]:
        tab.frames(2)
        before = tab.accounts()
        tab.ask(JUMP, [step, face])  # in a frame's own script, which the browser accounts for
        told.append(spent(before, tab.accounts()))
    return {name: _spread([each[name] for each in told]) for name in told[0]}


def scrub(tab: Tab, steps: int, count: int, face: str = FACE) -> dict[str, Any]:
    """One seek a frame through the whole run and back: how many frames came late."""
    tab.frames(4)
    before = tab.accounts()
    gaps = tab.ask(SWEEP, [sweep(steps, count), face])
    after = spent(before, tab.accounts())
    return {
        "frames": len(gaps),
        "late": round(sum(gap > LATE for gap in gaps) / len(gaps), 4),
        "gap": _spread(gaps),
        "work": round(after["work"] / len(gaps), 3),
        "layouts": round(after["LayoutCount"] / len(gaps), 2),
    }


def percentile(values: list[float], share: float) -> float:
    """The least value that at least ``share`` of ``values`` do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def _spread(values: list[float]) -> dict[str, float]:
    return {
        "median": round(median(values), 3),
        "p95": round(percentile(values, 0.95), 3),
        "most": round(max(values), 3),
    }
