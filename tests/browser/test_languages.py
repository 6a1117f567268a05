"""The page and the player in Russian, and the way from one language to the other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from player_traces import random_trace
from playwright.sync_api import Page

from specviz import catalog, player

from .visitor import STATE, Enter, Visitor

# Another page is a whole page to load, not an answer to wait for.
LOADED = 60


def place(visitor: Visitor) -> tuple[str, dict[str, list[str]]]:
    """Path and query of the address."""
    parts = urlsplit(visitor.page.url)
    return parts.path, parse_qs(parts.query)


def labels(visitor: Visitor) -> tuple[str, str, str]:
    page = visitor.page
    spoken = page.evaluate("document.documentElement.lang")
    return spoken, page.locator("#own").inner_text(), page.locator("#language").inner_text()


def test_an_address_that_asks_for_a_language_gets_it_with_run_and_step(enter: Enter) -> None:
    russian = enter("?lang=ru&trace=odd&step=3")
    assert place(russian) == ("/ru", {"trace": ["odd"], "step": ["3"]})
    assert (russian.state()["run"], russian.state()["step"]) == ("example-odd", 2)
    russian.wait("document.documentElement.lang === 'ru'")
    assert labels(russian) == ("ru", "Спросить своё: текст или картинку", "English")
    figures = russian.page.locator("#gallery .sv-card-figures").first
    assert figures.inner_text().endswith("✓ тот же текст")


def test_the_link_before_the_first_step_names_the_first(enter: Enter) -> None:
    visitor = enter("?trace=odd&step=4")
    visitor.page.locator("section.sv").press("Home")
    visitor.wait(f"{STATE}.step === -1")
    link = visitor.page.locator("#language a")
    link.dispatch_event("pointerdown")
    assert (link.get_attribute("href") or "").endswith("/ru?trace=odd&step=1")


def test_the_link_switches_mid_play_and_keeps_run_and_step(enter: Enter) -> None:
    visitor = enter("?trace=odd&step=4")
    assert labels(visitor)[1:] == ("Ask your own: text or picture", "Русский")
    visitor.page.locator("section.sv").press("Space")
    visitor.wait(f"{STATE}.playing && {STATE}.step >= 3")
    visitor.page.click("#language a")
    visitor.page.wait_for_url("**/ru?**")
    visitor.wait(f"{STATE}.events > 0", LOADED)
    path, query = place(visitor)
    assert path == "/ru" and query["trace"] == ["odd"]
    visitor.until(lambda: visitor.state()["step"] + 1, int(query["step"][0]))
    state = visitor.state()
    assert state["run"] == "example-odd"
    assert state["step"] >= 3 and not state["playing"]
    visitor.page.go_back()
    visitor.wait("document.documentElement.lang === 'en'", LOADED)
    visitor.page.go_forward()
    visitor.wait("document.documentElement.lang === 'ru'", LOADED)
    visitor.wait(f"{STATE}.events > 0", LOADED)  # a link leads to the run that is shown
    visitor.page.click("#language a")
    visitor.page.wait_for_url("**/?**")
    visitor.wait(f"{STATE}.events > 0", LOADED)
    visitor.until(lambda: visitor.state()["step"], state["step"])


def test_a_run_of_ones_own_stays_in_its_tab(visitor: Visitor) -> None:
    visitor.fill("quick", "one two", 8)
    visitor.to_end()
    run = visitor.state()["run"]
    with visitor.page.context.expect_page() as opened:
        visitor.page.click("#language a")
    other = Visitor(opened.value)
    assert place(other) == ("/ru", {})
    assert visitor.state()["run"] == run and not run.startswith("example-")


def test_an_unknown_language_is_ignored(enter: Enter) -> None:
    visitor = enter("?lang=xx&trace=odd")
    assert place(visitor)[0] == "/" and visitor.state()["run"] == "example-odd"


def test_the_exported_file_speaks_and_counts_in_russian(
    open_page: Callable[..., Page], tmp_path: Path
) -> None:
    path = tmp_path / "run.html"
    path.write_text(player.export_html(random_trace(4, 12, 10), "ru", start_step=7), "utf-8")
    page = open_page(path.as_uri(), offline=True)
    assert page.evaluate("document.documentElement.lang") == "ru"
    assert page.locator(".step-of").inner_text() == "шаг 8 из 12"
    assert "тот же текст, что обычно" in page.locator(".head .badge").inner_text()
    page.evaluate(
        """() => {
          const data = JSON.parse(document.getElementById('run').textContent);
          const fresh = document.createElement('div');
          document.getElementById('player').replaceWith(fresh);
          window.it = SpecvizPlayer.mount(fresh, data.options);
          it.load(data.payload);
        }"""
    )
    said = []
    for step in range(12):
        page.evaluate("(step) => it.seekStep(step)", step)
        tokens = page.evaluate("it.state().tokens")
        count = catalog.text("player.count", "ru", n=tokens, count=tokens)
        assert count in page.locator(".lanes").text_content()  # type: ignore[operator]
        said.append(count.split()[1])
    assert set(said) == {"токен", "токена", "токенов"}


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_page_and_player_write_numbers_alike(open_page: Callable[..., Page], lang: str) -> None:
    page = open_page("about:blank")
    for value in (0.5, 1.005, 1.828, 2.675, 99.95, 1234.5, -0.25, 12_345_678.0):
        for digits in (0, 1, 2, 3):
            written = page.evaluate(
                """([lang, value, digits]) => new Intl.NumberFormat(lang, {
                  minimumFractionDigits: digits, maximumFractionDigits: digits }).format(value)""",
                [lang, value, digits],
            )
            assert catalog.number(value, digits, lang) == written
