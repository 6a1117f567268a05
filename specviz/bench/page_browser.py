"""A headless Chromium, and what its own accounts say about a page."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from specviz.models.base import Unsupported

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, CDPSession, Page

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--enable-precise-memory-info", "--js-flags=--expose-gc",
]  # fmt: skip
WAIT = 120_000  # milliseconds that anything in the page may take
VIEWPORT = {"width": 1280, "height": 720}
# What a seek makes the browser do on its main thread; the rest of a task is neither.
WORK = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
COUNTS = ("LayoutCount", "RecalcStyleCount")
# So many turns of a tenth of a second, of the page's own clock: a busy page takes longer over them.
TURN, TURNS = "() => new Promise((done) => setTimeout(done, 100))", 15
QUIET_LIMIT = 60  # seconds
NETWORK = ("request", "response", "requestfinished", "requestfailed")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser; raises Unsupported with what to install where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError as error:
        raise Unsupported(
            "A browser is driven through Playwright, which is not installed: run pip install -r "
            "requirements-dev.txt."
        ) from error
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        raise Unsupported(
            "This needs Chromium and found none: install it, or set CHROMIUM to the path of one."
        )
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=ARGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass(frozen=True)
class Tab:
    """One page in a context of its own: an empty cache, no cookies."""

    page: Page
    context: BrowserContext
    devtools: CDPSession
    news: list[str] = field(default_factory=list)  # of its requests, since they were looked at
    unanswered: set[Any] = field(default_factory=set)

    def __post_init__(self) -> None:
        for event in NETWORK:
            self.page.on(event, partial(self._hear, event))  # type: ignore[call-overload]

    def _hear(self, event: str, about: Any) -> None:
        self.news.append(event)
        if event == "request":
            self.unanswered.add(about)
        else:
            self.unanswered.discard(about.request if event == "response" else about)

    def accounts(self) -> dict[str, float]:
        """What the browser has counted since the page began.

        Durations are seconds that the page's main thread had a core, whatever else ran meanwhile.
        """
        told = self.devtools.send("Performance.getMetrics")["metrics"]
        return {each["name"]: float(each["value"]) for each in told}

    def quiet(self) -> None:
        """Wait until every request has its answer and no other comes; a minute at most.

        Playwright's "networkidle" does not do: Gradio keeps a stream open.
        """
        end = time.monotonic() + QUIET_LIMIT
        turns = 0
        while turns < TURNS and time.monotonic() < end:
            self.news.clear()
            self.page.evaluate(TURN)
            turns = 0 if self.news or self.unanswered else turns + 1

    def settled(self) -> dict[str, float]:
        """``accounts`` after everything that nobody uses any more was dropped."""
        for _ in range(2):  # what the first run frees may hold on to more
            self.devtools.send("HeapProfiler.collectGarbage")
        return self.accounts()

    def ask(self, script: str, argument: Any = None) -> Any:
        """The value of ``script`` in the page."""
        return self.page.evaluate(script, argument)

    def frames(self, count: int = 2) -> None:
        """Wait until so many frames have been drawn."""
        self.page.evaluate(
            "async (n) => { for (; n > 0; n--) await new Promise(requestAnimationFrame); }", count
        )


@contextmanager
def tab(browser: Browser) -> Iterator[Tab]:
    """A fresh tab that counts what it does."""
    context = browser.new_context(viewport=VIEWPORT)  # type: ignore[arg-type]
    try:
        page = context.new_page()
        page.set_default_timeout(WAIT)
        devtools = context.new_cdp_session(page)
        devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        yield Tab(page, context, devtools)
    finally:
        context.close()


def spent(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Milliseconds of script, layout and style between two accounts, and how often."""
    return {
        "script": 1000 * (after["ScriptDuration"] - before["ScriptDuration"]),
        "layout": 1000 * (after["LayoutDuration"] - before["LayoutDuration"]),
        "style": 1000 * (after["RecalcStyleDuration"] - before["RecalcStyleDuration"]),
        "work": 1000 * sum(after[name] - before[name] for name in WORK),
        "task": 1000 * (after["TaskDuration"] - before["TaskDuration"]),
        **{name: after[name] - before[name] for name in COUNTS},
    }
