"""Photograph every view of the page: ``python docs/screenshots.py [--out DIR] [--only WORD ...]``.

Starts app.py on a free port and writes one PNG for every view, size, theme and language, named
``<view>-<size>-<theme>-<language>.png``, into a folder that git ignores. ``--only`` keeps names
that hold all of the words. Needs the development requirements and Chromium.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from picture import ROOT, opened
from playwright.sync_api import Browser, Page

Act = Callable[[Page], None]
SIZES = {"1280x720": (1280, 720), "1920x1080": (1920, 1080), "phone": (390, 844)}
THEMES = ("light", "dark")
LANGUAGES = ("en", "ru")
# By their place: what they are called depends on the language.
TABS = (
    "charts", "rejects", "candidates", "memory", "report", "whatif", "depths", "lengths", "card",
)  # fmt: skip
# The player hangs on one of the elements that Gradio puts around it.
PLAYER = "[...document.querySelectorAll('#player *')].find((e) => e.specviz)?.specviz"
# Motion ends by itself; this is for the charts, which are drawn after it.
REST = 700  # ms


@dataclass(frozen=True)
class View:
    """One thing to look at: a recorded run, or a stop of a lesson, and what a person does until it
    is in view."""

    name: str
    place: str
    act: Act = lambda page: None
    whole: bool = False

    @property
    def query(self) -> str:
        """What the address asks for."""
        lesson, _, stop = self.place.partition(" ")
        return f"lesson={lesson}&stop={stop}" if stop else f"trace={lesson}"


def _keys(*keys: str) -> Act:
    def press(page: Page) -> None:
        page.locator("#player section.sv").focus()
        for key in keys:
            page.keyboard.press(key)

    return press


def _tab(place: int) -> Act:
    def open_(page: Page) -> None:
        # Tabs without room are folded into a menu; its button tells them from those of the form.
        tabs = page.locator(".sv-below .tab-container:visible [role=tab]")
        tabs.first.scroll_into_view_if_needed()
        if place < tabs.count():
            tabs.nth(place).click()
        else:
            page.locator(".sv-below .overflow-menu > button").click()
            hidden = page.locator(".sv-below .overflow-dropdown button")
            hidden.nth(place - tabs.count()).click()
        page.wait_for_timeout(REST)
        page.evaluate("document.querySelector('.sv-below .tabs').scrollIntoView()")

    return open_


def _sidebar(page: Page) -> None:
    if not page.locator("#controls.open").count():
        page.click("#controls .toggle-button")


def _beside(page: Page) -> None:
    """One change of the shown run, decoded here, and the player with both of them."""
    _tab(TABS.index("whatif"))(page)
    page.click("#whatif-run")
    page.locator("#whatif-side").click(timeout=60_000)
    page.wait_for_selector("#player .token-said", state="visible")
    page.evaluate("document.querySelector('#player').scrollIntoView()")


def _below(page: Page) -> None:
    page.locator("#gallery").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#gallery').scrollIntoView()")


VIEWS = (
    View("memory", "code"),
    View("memory-start", "code", _keys("Home")),
    View("memory-draft", "code", _keys("Shift+ArrowRight", "ArrowRight", "ArrowRight")),
    View("memory-end", "code", _keys("End")),
    View("copy", "lookup"),
    View("slower", "slower"),
    View("window", "head-2000"),
    View("window-full", "head-full"),
    View("wave", "stones"),
    View("wave-overdone", "overdone"),
    View("image", "sign"),
    View("image-chart", "bars"),
    View("lightbox", "sign", _keys("i")),
    View("projector", "code", _keys("b")),
    View("projector-wave", "stones", _keys("b")),
    View("projector-window", "head-2000", _keys("b")),
    View("expert", "code", _keys("e")),
    View("help", "code", _keys("?")),
    View("share", "code", _keys("s")),
    View("find", "code", _keys("f")),
    View("beside", "cups", _beside),
    View("lesson", "memories 3"),
    View("lesson-answer", "memories 3", _keys("1")),
    View("lesson-wave", "wave 3"),
    View("sidebar", "code", _sidebar),
    View("gallery", "code", _below),
    View("page", "sign", whole=True),
    *(View(f"tab-{name}", "code", _tab(place)) for place, name in enumerate(TABS)),
)


def shots(only: list[str]) -> Iterator[tuple[View, str, str, str, str]]:
    """Every view, size, theme, language and the name of its file."""
    for theme, size, lang, view in product(THEMES, SIZES, LANGUAGES, VIEWS):
        name = f"{view.name}-{size}-{theme}-{lang}"
        if all(word in name for word in only):
            yield view, size, theme, lang, name


def photograph(browser: Browser, address: str, out: Path, only: list[str]) -> int:
    """Write all pictures; returns how many."""
    count = 0
    for view, size, theme, lang, name in shots(only):
        width, height = SIZES[size]
        page = browser.new_page(
            viewport={"width": width, "height": height}, reduced_motion="reduce",
            has_touch=size == "phone",
        )  # fmt: skip
        path = "" if lang == "en" else lang
        page.goto(f"{address}/{path}?{view.query}&__theme={theme}")
        page.wait_for_function(f"() => {PLAYER}?.state().events > 0")
        page.wait_for_timeout(REST)
        view.act(page)
        page.wait_for_timeout(REST)
        page.screenshot(path=out / f"{name}.png", full_page=view.whole)
        page.close()
        count += 1
    return count


def main() -> None:
    """Serve, photograph, write."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--out", type=Path, default=ROOT / "screenshots")
    ask.add_argument("--only", nargs="*", default=[])
    asked = ask.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    with opened() as (browser, address):
        count = photograph(browser, address, asked.out, asked.only)
    sys.stdout.write(f"{count} pictures in {asked.out}\n")


if __name__ == "__main__":
    main()
