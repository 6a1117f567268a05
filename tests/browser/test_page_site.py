"""The static site, served by nothing but a file server, and opened from its folder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route

from specviz import catalog, gallery, site

EXAMPLES = Path(__file__).parents[2] / "examples"
STATE = "(document.getElementById('player').specviz?.state() ?? {})"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    named = {p.name: p for p in gallery.listed()}
    site.build(out, [named[name] for name in ("lookup", "stones", "sign")])
    return out


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()


def shows(page: Page, run: str, step: int | None = None) -> None:
    at = "" if step is None else f" && {STATE}.step === {step - 1}"
    page.wait_for_function(f"() => {STATE}.run === 'example-{run}'{at}")


def query(page: Page) -> str:
    return page.evaluate("location.search + location.hash")


def test_gallery_deep_link_back_and_reload(open_page: Callable[..., Page], address: str) -> None:
    page = open_page(address + "?trace=stones&step=2&lang=en")
    shows(page, "stones", 2)
    cards = page.locator("#gallery .card")
    assert cards.count() == 3
    assert page.locator("#gallery .card[aria-current]").get_attribute("data-name") == "stones"
    page.wait_for_function("() => [...document.querySelectorAll('#gallery img')].slice(0, 1)"
                           ".every((i) => i.naturalWidth === 320)")  # fmt: skip
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_function("() => location.search === '?trace=stones&step=3&lang=en'")
    page.locator("#gallery .card[data-name=lookup]").click()
    shows(page, "lookup")
    assert query(page).startswith("?trace=lookup&step=")
    page.go_back()
    shows(page, "stones", 3)
    page.reload()
    shows(page, "stones", 3)


def test_the_slower_file_of_an_earlier_click_is_not_shown(
    open_page: Callable[..., Page], address: str
) -> None:
    page = open_page(address + "?trace=sign&step=2&lang=en")
    shows(page, "sign", 2)
    held: list[Route] = []
    page.route("**/traces/stones.js", lambda route: held.append(route))
    page.locator("#gallery .card[data-name=stones]").click()
    page.locator("#gallery .card[data-name=lookup]").click()
    shows(page, "lookup")
    with page.expect_event("requestfinished"):
        held[0].continue_()
    page.wait_for_timeout(300)
    shows(page, "lookup")
    assert query(page).startswith("?trace=lookup&step=")
    assert page.locator("#gallery .card[aria-current]").get_attribute("data-name") == "lookup"


def test_the_language_changes_and_the_place_stays(
    open_page: Callable[..., Page], address: str
) -> None:
    page = open_page(address + "?trace=sign&step=3&lang=en", color_scheme="dark")
    shows(page, "sign", 3)
    page.locator("#languages [data-lang=ru]").click()
    page.wait_for_function("() => document.documentElement.lang === 'ru'")
    assert query(page) == "?trace=sign&step=3&lang=ru"
    assert page.locator("#subtitle").inner_text() == catalog.text("site.subtitle", "ru")
    assert "токен" in page.evaluate("document.getElementById('player').shadowRoot.textContent")
    assert page.evaluate(f"{STATE}.step") == 2
    page.evaluate("document.getElementById('player').shadowRoot.querySelector('[data-act=share]').click()")
    linked = page.evaluate(
        "document.getElementById('player').shadowRoot.querySelector('.share').textContent"
    )
    assert f"{address}?trace=sign&step=3&lang=ru" in linked


def test_what_is_not_there_is_said_and_something_else_shown(
    open_page: Callable[..., Page], address: str
) -> None:
    page = open_page(address + "?trace=%3Cb%3Enobody&lang=en")
    shows(page, "lookup")
    assert page.locator("#said").inner_text() == (
        "There is no recorded run “<b>nobody” here: choose one from the gallery."
    )
    page.goto(address + "?trace=stones&step=99&lang=en")
    shows(page, "stones", 3)
    said = page.locator("#said").inner_text()
    assert said == "This run has 3 steps and no step 99: the last one is shown."


def test_it_works_from_its_folder_and_on_a_phone(
    open_page: Callable[..., Page], folder: Path
) -> None:
    url = (folder / "index.html").as_uri() + "?trace=stones&step=2&lang=ru"
    page = open_page(url, viewport={"width": 390, "height": 800})
    shows(page, "stones", 2)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#gallery .card[data-name=lookup]").click()
    shows(page, "lookup")
    page.wait_for_function("() => (location.search + location.hash).includes('trace=lookup')")
