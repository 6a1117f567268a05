"""The exported file of a trace in a real browser, and a player in it that tests can ask."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from specviz import player
from specviz.trace import Trace

from .patience import PATIENCE

Opener = Callable[..., Page]


@pytest.fixture
def show(open_page: Opener, tmp_path: Path) -> Callable[..., Page]:
    """Open the exported file of a trace; ``window.it`` is its player, ``window.root`` its root."""

    def show_(
        trace: Trace,
        start_step: int | None = None,
        lang: str = "en",
        pair: player.Pair | None = None,
        **options: Any,
    ) -> Page:
        # The page keeps its own player to itself; the tests mount another one on the same data.
        path = tmp_path / "run.html"
        made = player.export_html(trace, lang, start_step=start_step, pair=pair)
        path.write_text(made, "utf-8")
        page = open_page(path.as_uri(), **options)
        page.evaluate(
            """() => {
              const data = JSON.parse(document.getElementById('run').textContent);
              const fresh = document.createElement('div');
              document.getElementById('player').replaceWith(fresh);
              window.data = data;
              window.states = [];
              const onState = (s) => states.push(s);
              window.it = SpecvizPlayer.mount(fresh, {...data.options, onState});
              it.load(data.payload);
              window.root = fresh.shadowRoot;
            }"""
        )
        wait(page, "root.childElementCount > 0")
        page.wait_for_timeout(80)  # styles and sizes settle
        return page

    return show_


def wait(page: Page, condition: str) -> None:
    """Poll from outside: the exported page's policy forbids evaluating strings inside it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if page.evaluate(condition):
            return
        page.wait_for_timeout(25)
    pytest.fail(f"never became true: {condition}")


def state(page: Page) -> dict[str, Any]:
    """What that player says of itself."""
    found: dict[str, Any] = page.evaluate("it.state()")
    return found


def focus(page: Page) -> None:
    """Give the player the focus, as a press of Tab would."""
    page.locator("section.sv").focus()


def press(page: Page, *keys: str) -> dict[str, Any]:
    """Press keys one after the other; what the player says of itself then."""
    for key in keys:
        page.keyboard.press(key)
    return state(page)


def drawn(page: Page) -> Any:
    """All texts of the player and the state of every chip."""
    return page.evaluate(
        """() => {
          const root = document.querySelector('div').shadowRoot;
          const view = (s) => [...root.querySelectorAll(s)].map((e) => e.textContent);
          return {
            texts: ['.head', '.lanes', '.flow', '.tree', '.memory', '.caption'].map(view),
            chips: [...root.querySelectorAll('.chip')].map((c) => c.getAttribute('class')),
            shown: root.querySelectorAll('.t:not(.off, .off .t)').length,
            blocks: [...root.querySelectorAll('.rest path')].map((p) => p.getAttribute('d')),
          };
        }"""
    )
