"""The address of the page follows what is shown, and leads back to it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from .visitor import STATE, Enter, Visitor

LOADED = 60


def asked(visitor: Visitor) -> dict[str, list[str]]:
    return parse_qs(urlsplit(visitor.page.url).query)


def test_reload_and_back_keep_the_place(enter: Enter) -> None:
    visitor = enter("?trace=odd&step=2&__theme=light")
    page = visitor.page
    page.locator("section.sv").press("Shift+ArrowRight")
    visitor.wait("location.search.includes('step=3')")
    assert asked(visitor) == {"trace": ["odd"], "step": ["3"], "__theme": ["light"]}
    other = page.locator("#gallery button:not([data-name=odd])").first
    name = other.get_attribute("data-name")
    other.click()
    visitor.wait(f"{STATE}.run === 'example-{name}' && location.search.includes('trace={name}')")
    page.locator("section.sv").press("Home")
    page.locator("section.sv").press("Shift+ArrowRight")
    visitor.wait("location.search.includes('step=1')")
    page.go_back()
    visitor.wait(f"{STATE}.run === 'example-odd' && {STATE}.step === 2")
    assert asked(visitor)["step"] == ["3"]
    page.go_forward()
    visitor.wait(f"{STATE}.run === 'example-{name}' && {STATE}.step === 0")
    page.reload()
    visitor.wait(f"{STATE}.events > 0", LOADED)
    assert (visitor.state()["run"], visitor.state()["step"]) == (f"example-{name}", 0)


def test_a_run_of_ones_own_has_no_address(visitor: Visitor) -> None:
    visitor.fill("quick", "one two", 8)
    visitor.to_end()
    visitor.wait("!location.search.includes('trace=')")
    page = visitor.page
    page.locator("section.sv").press("s")
    menu = page.locator(".share")
    assert "lives only in this page" in menu.inner_text()
    assert menu.locator(".warning").inner_text().startswith("This run holds a text that is not")
    with page.expect_download() as download:
        menu.locator("[data-act=html]").click()
    assert download.value.suggested_filename.endswith(".html")
    with page.expect_download() as download:
        menu.locator("[data-act=json]").click()
    assert download.value.suggested_filename.endswith("-rejects.json")


def test_back_leads_over_a_run_of_ones_own(visitor: Visitor) -> None:
    page = visitor.page
    visitor.fill("quick", "one two", 8)
    visitor.to_end()
    own = visitor.state()["run"]
    assert "trace" not in asked(visitor)
    # The first page says nothing in its address; the newest card is then the run of one's own.
    page.go_back()
    visitor.wait(f"{STATE}.run === 'example-rhyme'")
    visitor.wait(f"document.querySelector('#gallery button').dataset.name === 'own-{own}'")
    page.go_forward()
    visitor.wait(f"{STATE}.run === '{own}'")
    page.click(".sv-card[data-name=odd]")
    visitor.wait(f"{STATE}.run === 'example-odd' && location.search.includes('trace=odd')")
    page.go_back()
    visitor.wait(f"{STATE}.run === '{own}'")
    assert "trace" not in asked(visitor)
