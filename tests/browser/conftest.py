"""A headless Chromium that reaches nothing outside this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from .exported import show  # noqa: F401  (a fixture of the player's tests)
from .patience import PATIENCE
from .visitor import enter, server, visitor  # noqa: F401  (fixtures of the page's tests)

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """One browser for the session."""
    with sync_playwright() as play:
        found = play.chromium.launch(executable_path=chromium, args=ARGS)
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """``open_page(url, **context)``: a page in a context of its own; dialogs, errors and requests
    to other hosts are collected and fail the test when it ends."""
    contexts = []
    faults: list[str] = []

    def allowed(url: str) -> bool:
        return url.startswith(("file:", "data:", "blob:", "http://127.0.0.1", "http://localhost"))

    def route(handler: Any) -> None:
        if allowed(handler.request.url):
            handler.continue_()
        else:
            faults.append(f"asked the network for {handler.request.url}")
            handler.abort()

    def dialog(box: Any) -> None:
        faults.append(f"opened a dialog: {box.message}")
        box.dismiss()

    def open_(url: str, **options: Any) -> Page:
        options.setdefault("viewport", {"width": 1280, "height": 720})
        context = browser.new_context(**options)
        contexts.append(context)
        context.route("**/*", route)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE)
        page.on("dialog", dialog)
        page.on("pageerror", lambda error: faults.append(f"threw {error}"))
        page.goto(url)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert faults == []
