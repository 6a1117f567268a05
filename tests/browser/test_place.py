"""The address of the page follows what is shown, and leads back to it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from .test_page import LONG
from .test_page_pictures import add, hold
from .visitor import ROOT, STATE, Enter, Visitor

LOADED = 60
# Everything that the status line says now and from now on, for what it says goes away by itself.
LISTEN = """() => {
  const line = document.querySelector('#status .sv-status-text');
  window.said = [line.textContent];
  new MutationObserver(() => said.push(line.textContent)).observe(line, { childList: true });
}"""


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


def test_back_while_a_run_is_going_on_is_refused_and_the_address_put_right(
    visitor: Visitor,
) -> None:
    page = visitor.page
    page.click(".sv-card[data-name=odd]")
    visitor.wait(f"{STATE}.run === 'example-odd' && location.search.includes('trace=odd')")
    visitor.fill("slow", "This is the dog that", 2000)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-odd' && {STATE}.events > 2")
    own = visitor.state()["run"]
    for _ in range(2):
        page.evaluate(LISTEN)
        page.evaluate("history.back()")
        visitor.wait("said.includes('A run is going on: stop it first.')")
        visitor.wait("!location.search.includes('trace=')")
        events = visitor.state()["events"]
        visitor.wait(f"{STATE}.run === '{own}' && {STATE}.events > {events}")  # it goes on
    page.click("#stop")
    page.wait_for_selector("#stop", state="hidden")
    assert visitor.said("done").startswith("Stopped after ")
    # The history is what it was: the run of one's own lies behind the example, not over it.
    page.go_back()
    visitor.wait(f"{STATE}.run === 'example-odd' && location.search.includes('trace=odd')")
    page.go_forward()
    visitor.wait(f"{STATE}.run === '{own}' && !location.search.includes('trace=')")


def test_a_run_that_begins_while_back_is_put_right_takes_no_entry_of_the_history(
    visitor: Visitor,
) -> None:
    page = visitor.page
    page.click(".sv-card[data-name=odd]")
    visitor.wait(f"{STATE}.run === 'example-odd' && location.search.includes('trace=odd')")
    # A browser that is busy takes its time for the way back.
    page.evaluate("""() => {
      const go = history.go.bind(history);
      history.go = (by) => {
        window.aim = by;
        const own = () => !STATE.run.startsWith('example-') && STATE.step >= 1;
        const late = () => setTimeout(() => (own() ? go(by) : late()), 500);
        late();
      };
    }""".replace("STATE", STATE))
    visitor.fill("slow", LONG[:3000], 2000)
    visitor.run()
    visitor.said("busy")
    page.evaluate("history.back()")
    visitor.wait("window.aim === 1")
    visitor.wait(f"!{STATE}.run.startsWith('example-') && {STATE}.events > 2")
    own = visitor.state()["run"]
    visitor.wait(f"history.state.specviz === '{own}' && !location.search.includes('trace=')")
    page.click("#stop")
    page.wait_for_selector("#stop", state="hidden")
    page.go_back()
    visitor.wait(f"{STATE}.run === 'example-odd' && location.search.includes('trace=odd')")
    page.go_forward()
    visitor.wait(f"{STATE}.run === '{own}' && !location.search.includes('trace=')")


def test_back_leads_to_a_run_of_ones_own_of_which_more_is_known_by_now(enter: Enter) -> None:
    visitor = enter()
    page = visitor.page
    visitor.fill("toy-signs", "What does it say?", 20)
    add(visitor, ROOT / "examples" / "images" / "departure-board.png")
    hold(visitor, "departure-board.png")
    visitor.to_end()
    own = visitor.state()["run"]
    page.get_by_role("tab", name="What if").click()
    page.click("#whatif-run")
    visitor.wait(f"{STATE}.probe === 'blank'")
    assert visitor.state()["run"] == own
    page.click(".sv-card[data-name=odd]")
    visitor.wait(f"{STATE}.run === 'example-odd'")
    assert page.locator(".sv-card[data-name^=own-]").count() == 1
    page.go_back()
    visitor.wait(f"{STATE}.run === '{own}' && {STATE}.probe === 'blank'")


def test_back_to_a_run_that_is_not_kept_any_more_says_so(visitor: Visitor) -> None:
    page = visitor.page
    visitor.fill("quick", "one two", 8)
    visitor.to_end()
    page.click(".sv-card[data-name=odd]")
    visitor.wait(f"{STATE}.run === 'example-odd' && location.search.includes('trace=odd')")
    page.reload()  # what a tab ran lives no longer than its page
    visitor.wait(f"{STATE}.run === 'example-odd'")
    page.evaluate(LISTEN)
    page.evaluate("history.back()")
    visitor.wait("said.includes('This run is not kept any more: run it again.')")
    visitor.wait(f"{STATE}.run === 'example-rhyme' && location.search.includes('trace=rhyme')")


def test_back_from_two_runs_side_by_side_leads_to_the_first(visitor: Visitor) -> None:
    page = visitor.page
    visitor.fill("toy", "This is the house that", 12)
    visitor.to_end()
    own = visitor.state()["run"]
    page.get_by_role("tab", name="What if").click()
    page.click("#whatif-run")
    page.click("#whatif-side")
    visitor.wait(f"{STATE}.run === 'pair {own}'")
    page.go_back()
    visitor.wait(f"{STATE}.run === '{own}'")
    page.go_forward()
    page.go_back()
    visitor.wait(f"{STATE}.run === '{own}'")
