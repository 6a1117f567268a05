"""What the stage says while it waits, and runs that are opened again."""

from __future__ import annotations

from .visitor import STATE, Visitor

OPENING = "document.querySelector('#player').dataset.opening"
# Answers of the page come this much later, in milliseconds, from when ``__late`` is set.
LATE = """() => {
  const ask = window.fetch;
  window.fetch = async (...given) => {
    if (window.__late) await new Promise((done) => setTimeout(done, window.__late));
    return ask(...given);
  };
}"""


def faint(visitor: Visitor) -> bool:
    return visitor.page.evaluate(
        "() => parseFloat(getComputedStyle(document.querySelector('#player .sv-stage')).opacity) < 1"
    )


def test_a_card_that_is_being_opened_says_so_until_its_run_is_there(visitor: Visitor) -> None:
    visitor.page.evaluate(LATE)
    visitor.page.evaluate("window.__late = 1500")
    visitor.page.click(".sv-card[data-name=odd]")
    words = "opening “<b>${alert(1)}</b> `” …"
    visitor.wait(f"{OPENING} === {words!r}")
    assert (visitor.status()[1], faint(visitor)) == (words, True)
    visitor.wait(f"{STATE}.run === 'example-odd'")
    assert visitor.page.evaluate(f"() => {OPENING}") is None
    assert not faint(visitor)
    visitor.page.click(".sv-card[data-name=gone]")
    visitor.said("error")
    visitor.wait(f"!{OPENING}")
    assert visitor.state()["run"] == "example-odd" and not faint(visitor)


def test_the_run_before_fades_until_the_next_begins(visitor: Visitor) -> None:
    visitor.page.evaluate(LATE)
    visitor.fill("slow", "This is the dog that", 200)
    visitor.page.evaluate("window.__late = 700")
    visitor.run()
    visitor.wait(f"{OPENING} === 'waiting for the device'")
    assert faint(visitor) and visitor.state()["run"] == "example-rhyme"
    visitor.page.evaluate("window.__late = 0")
    visitor.wait(f"{STATE}.run !== 'example-rhyme'")
    visitor.wait(f"!{OPENING}")
    assert not faint(visitor)
    visitor.page.click("#stop")
    visitor.page.wait_for_selector("#stop", state="hidden")
    assert not faint(visitor)


def test_a_run_that_fails_at_once_leaves_the_one_before_as_it_was(visitor: Visitor) -> None:
    visitor.fill("broken", "This is", 20)
    visitor.run()
    visitor.said("error")
    visitor.wait(f"!{OPENING}")
    assert not faint(visitor)


def test_an_earlier_run_of_the_tab_is_opened_again(visitor: Visitor) -> None:
    assert visitor.page.locator(".sv-card[data-name^=own-]").count() == 0
    visitor.fill("quick", "First question", 8)
    assert visitor.to_end().startswith("8 tokens in ")
    first = visitor.state()["run"]
    assert visitor.page.locator(".sv-card[data-name^=own-]").count() == 0, "it is the one shown"
    visitor.page.click(".sv-card[data-name=odd]")
    visitor.wait(f"{STATE}.run === 'example-odd'")
    card = visitor.page.locator(".sv-card[data-name^=own-]")
    assert card.locator(".sv-card-title").inner_text() == "First question"
    card.click()
    visitor.wait(f"{STATE}.run === {first!r}")


def test_the_list_of_models_marks_what_they_can_do(visitor: Visitor) -> None:
    visitor.page.click("#model input")
    options = visitor.page.get_by_role("option")
    shown = [text.strip().removeprefix("✓").strip() for text in options.all_inner_texts()]
    assert "tiny-raven · recurrent depth · ready" in shown
    assert "toy-signs · reads pictures · ready" in shown
    assert "huginn-0125 · recurrent depth · not here, downloads are off" in shown
    visitor.page.keyboard.press("Escape")
    said = visitor.page.inner_text("#hardware")
    assert said.startswith(("Processor: ", "This machine has a GPU: "))
    assert visitor.page.locator("#quota").is_hidden()
    assert visitor.page.locator("#duplicate").count() == 0
