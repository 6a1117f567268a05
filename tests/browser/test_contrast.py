"""Text and lines of the player stand out from what is behind them, in both themes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from .contrast import faint
from .test_accessibility import RUNS

TALL = {"width": 1280, "height": 1000}


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("run", ["memory", "window", "wave", "picture"])
def test_text_and_lines_stand_out(show: Callable[..., Page], run: str, theme: str) -> None:
    page = show(RUNS[run](), color_scheme=theme, reduced_motion="reduce", viewport=TALL)
    for keys in ((), ("Home",), ("Shift+ArrowRight", "ArrowRight", "ArrowRight"), ("End",)):
        page.locator("section.sv").focus()
        for key in keys:
            page.keyboard.press(key)
        texts, lines, low = faint(page)
        assert texts > 30 and lines > 3
        assert low == [], keys


def test_a_faint_text_is_found(show: Callable[..., Page]) -> None:
    page = show(RUNS["memory"](), color_scheme="light", reduced_motion="reduce", viewport=TALL)
    page.evaluate("root.querySelector('.sv').style.setProperty('--quiet', '#999999')")
    # #999999 on white: 0.3185 of the light, so 1.05 / 0.3685.
    named = [line for line in faint(page)[2] if "span.where" in line]
    assert [line.split("] ")[1] for line in named] == ["2.85 < 4.5"]
