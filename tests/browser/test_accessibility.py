"""Nothing serious for axe in exported files and on every part of the page, in both themes."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from player_traces import random_trace
from playwright.sync_api import Page
from wave_traces import small_wave
from window_traces import small_window

from specviz import player
from specviz.trace import Trace

from .hearing import CONTRAST, findings
from .test_pictures import made, wide
from .visitor import Enter, Visitor

RUNS: dict[str, Callable[[], Trace]] = {
    "memory": lambda: random_trace(9, 5, 12),
    "window": small_window,
    "wave": small_wave,
    "picture": lambda: made(("blank", 0, None), pictures=(wide(),)),
    "empty": lambda: Trace(()),
}


@pytest.mark.parametrize("run", RUNS)
def test_an_exported_run_has_no_serious_finding(
    open_page: Callable[..., Page], tmp_path: Path, run: str
) -> None:
    trace = RUNS[run]()
    for lang in ("en", "ru"):
        path = tmp_path / f"{lang}.html"
        path.write_text(player.export_html(trace, lang), "utf-8")
        page = open_page(path.as_uri(), color_scheme="light", reduced_motion="reduce")
        page.wait_for_selector("#player section.sv")
        assert findings(page) == []
        page.emulate_media(color_scheme="dark")
        page.wait_for_selector("#player section.sv[data-theme=dark]")
        assert findings(page, CONTRAST) == []


def test_what_lies_over_the_player_has_no_serious_finding(show: Callable[..., Page]) -> None:
    page = show(made(("blank", 0, None), pictures=(wide(),)), reduced_motion="reduce")
    page.locator("section.sv").focus()
    for key, dialog in (("?", "Keys, signs and words"), ("i", "Picture: wide.png")):
        page.keyboard.press(key)
        assert page.get_by_role("dialog", name=dialog).is_visible()
        assert findings(page) == []
        page.keyboard.press("Escape")
    page.keyboard.press("b")
    page.keyboard.press("e")
    assert findings(page) == []


def dark(visit: Visitor) -> None:
    visit.page.evaluate("document.body.classList.add('dark')")
    visit.page.wait_for_selector("#player section.sv[data-theme=dark]")


PANE = ".sv-below [role=tabpanel]:not([hidden])"


def test_every_tab_has_no_serious_finding(enter: Enter) -> None:
    visit = enter("?__theme=light")
    page = visit.page
    assert findings(page) == []
    names = page.locator(".sv-below [role=tablist] [role=tab]").all_inner_texts()
    assert len(set(names)) == 9
    for name in dict.fromkeys(names):
        page.get_by_role("tab", name=name, exact=True).click()
        page.wait_for_timeout(100)
        assert findings(page, within=".sv-below") == [], name
        dark(visit)
        assert findings(page, CONTRAST, ".sv-below") == [], name
        page.evaluate("document.body.classList.remove('dark')")


@pytest.mark.parametrize("lang", ["", "ru"])
def test_the_form_and_its_states_have_no_serious_finding(enter: Enter, lang: str) -> None:
    visit = enter(f"{lang}?__theme=light")
    page = visit.page
    if not page.locator("#controls.open").count():
        page.click("#controls .toggle-button")
    for fold in page.locator("#controls button.label-wrap:visible").all():
        fold.click()
    assert findings(page) == [], "the form"
    visit.fill("slow", "A rhyme, please.", 400)
    visit.run()
    page.wait_for_selector("#stop", state="visible")
    assert findings(page) == [], "running"
    page.click("#stop")
    page.wait_for_selector("#stop", state="hidden")
    visit.fill("broken", "A rhyme, please.")
    visit.run()
    visit.said("error")
    assert findings(page) == [], "an error"
    dark(visit)
    assert findings(page, CONTRAST) == [], "an error in the dark"


def test_what_a_change_brought_has_no_serious_finding(visitor: Visitor) -> None:
    page = visitor.page
    page.get_by_role("tab", name="What if").click()
    visitor.choose(
        "#whatif-change", "What did level 1, the memory of the last token, bring?"
    )
    page.click("#whatif-run")
    page.wait_for_selector("#whatif-lanes .bars", state="attached")
    page.wait_for_selector("#whatif-table td", state="attached")
    line = page.locator("#whatif-said .sv-plain").inner_text()
    assert re.match(r"With level 1 off: \d+ passes instead of \d+", line)
    assert findings(page) == []
    dark(visitor)
    assert findings(page, CONTRAST) == []
