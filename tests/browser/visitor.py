"""A page server with toys, and a person who visits it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from .patience import PATIENCE, T, until

ROOT = Path(__file__).parents[2]
# The player hangs on one of the elements that Gradio puts around it.
PLAYER = "[...document.querySelectorAll('#player *')].find((e) => e.specviz)?.specviz"
STATE = f"({PLAYER}?.state() ?? {{}})"


@pytest.fixture(scope="session")
def server() -> Iterator[tuple[str, int]]:
    """Address and process id of a page with the toys of serve.py."""
    yield from serve()


def serve(*asked: str) -> Iterator[tuple[str, int]]:
    """The same for whatever serve.py is ``asked`` for; the page ends with the iterator."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("serve.py")), str(port), *asked],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None and process.stdin is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http"), "the page did not start"
    yield address, process.pid
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()


class Visitor:
    """One tab, and what a person does in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wait(f"{STATE}.events > 0")

    def wait(self, condition: str, seconds: float = PATIENCE) -> None:
        self.page.wait_for_function(f"() => {condition}", timeout=1000 * seconds)

    def until(self, look: Callable[[], T], wanted: T) -> None:
        until(self.page, look, wanted)

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate(f"() => {STATE}")
        return found

    def status(self) -> tuple[str, str]:
        line = self.page.locator("#status .sv-status")
        return line.get_attribute("data-kind") or "", line.inner_text().strip()

    def said(self, kind: str, seconds: float = PATIENCE) -> str:
        self.page.wait_for_selector(f"#status .sv-status[data-kind={kind}]", timeout=1000 * seconds)
        return self.status()[1]

    def fill(self, model: str, prompt: str, tokens: int | str = 24) -> None:
        model_box = self.page.locator("#model input")
        model_box.fill(model)
        model_box.press("Enter")
        self.page.fill("#prompt textarea", prompt)
        self.page.fill("#tokens input", str(tokens))
        self.page.locator("#tokens input").press("Tab")

    def choose(self, which: str, option: str) -> None:
        self.page.click(f"{which} input")
        self.page.get_by_role("option", name=option, exact=True).click()

    def run(self) -> None:
        self.page.click("#run")

    def to_end(self, seconds: float = 2 * PATIENCE) -> str:
        """Run and wait until it has ended; the status then."""
        self.run()
        self.page.wait_for_selector("#stop", state="visible", timeout=1000 * PATIENCE)
        self.page.wait_for_selector("#stop", state="hidden", timeout=1000 * seconds)
        return self.status()[1]

    def form(self) -> tuple[str, str, str]:
        return (
            self.page.input_value("#model input").split(" · ")[0],  # behind it stand its marks
            self.page.input_value("#prompt textarea"),
            self.page.input_value("#tokens input"),
        )

    def download(self, kind: str) -> Path:
        with self.page.expect_download() as waiting:
            self.page.click(f"#takeaway button[data-kind={kind}]")
        return Path(waiting.value.path())


# Opens a tab of its own, at the page's address and a query.
Enter = Callable[..., Visitor]


@pytest.fixture
def enter(open_page: Callable[..., Page], server: tuple[str, int]) -> Enter:
    def enter(query: str = "") -> Visitor:
        return Visitor(open_page(server[0] + query, viewport={"width": 1600, "height": 900}))

    return enter


@pytest.fixture
def visitor(enter: Enter) -> Visitor:
    return enter()
