"""What axe finds on a page, and what stands in the accessibility tree of the player."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

SERIOUS = ("serious", "critical")
CONTRAST = ["color-contrast"]
# Inside Gradio's own widgets, which offer no way to change it: rule, what the element's markup
# holds, and why it is left.
GRADIOS = (
    # A plot without a figure names itself without having a role; it holds nothing else.
    ("aria-prohibited-attr", 'aria-label="Empty value"'),
)

# A colour on its way from one theme to another is none of either.
SETTLED = """() => Promise.allSettled(document.getAnimations()
  .filter((a) => Number.isFinite(a.effect.getComputedTiming().endTime)).map((a) => a.finished))"""


def findings(page: Page, rules: list[str] | None = None, within: str = ":root") -> list[str]:
    """Serious and critical findings outside of ``GRADIOS``, as "rule: selector: markup".

    ``rules``: look for these alone; all of them by default. ``within``: a selector.
    """
    options: dict[str, Any] = {
        "resultTypes": ["violations"], "elementRef": False, "xpath": False, "ancestry": False,
    }  # fmt: skip
    if rules:
        options["runOnly"] = {"type": "rule", "values": rules}
    page.evaluate(SETTLED)
    found = Axe().run(page, within, options).response["violations"]
    return [
        f"{rule['id']}: {node['target'][-1]}: {node['html'][:160]}"
        for rule in found
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
        if not any(rule["id"] == r and markup in node["html"] for r, markup in GRADIOS)
    ]
