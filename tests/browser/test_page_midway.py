"""What happens in the middle of something: Stop and Clear during a run, and a picture on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page

from specviz.tracefile import load

from .test_page import LONG
from .test_page_pictures import add, hold, picture, thumbs
from .visitor import STATE, Visitor


def test_stop_while_a_picture_is_read_keeps_the_form_and_the_next_run_starts(
    visitor: Visitor, tmp_path: Path
) -> None:
    visitor.fill("slow-signs", LONG[:6000], 40)
    add(visitor, picture(tmp_path, "red"))
    hold(visitor, "red.png")
    visitor.run()
    visitor.page.wait_for_function(
        "() => document.querySelector('#status').innerText.includes('reading the prompt')"
    )
    visitor.page.click("#stop")
    visitor.page.wait_for_selector("#stop", state="hidden")
    said = visitor.said("done")
    assert said == "Stopped after 0 tokens; what was recorded can be replayed."
    run = load(visitor.download("trace")).run("decoder")
    assert run is not None and run.prefill is None and run.finish is not None
    assert run.finish.reason == "stopped"
    assert visitor.form() == ("slow-signs", LONG[:6000], "40") and thumbs(visitor) == ["red.png"]
    visitor.fill("toy-signs", "What does it say?", 40)
    hold(visitor, "red.png")
    assert visitor.to_end().startswith("40 tokens in ")
    assert "The sign is red." in visitor.page.locator(".flow").inner_text()


def scope(visit: Visitor) -> str:
    return visit.page.locator("#scope-line .sv-plain").inner_text()


def test_what_is_cleared_during_a_run_stays_cleared(visitor: Visitor) -> None:
    page = visitor.page
    page.get_by_role("button", name="Memory between runs").click()
    visitor.fill("quick", "go w1", 12)
    assert visitor.to_end().startswith("12 tokens in ")
    empty = "Scope “default” holds 0 rows, 0 kB."
    visitor.wait("/holds [1-9][0-9]* rows/.test("
                 "document.querySelector('#scope-line .sv-plain').textContent)")
    first = visitor.state()["run"]
    visitor.fill("slow", "This is the dog that", 400)
    visitor.run()
    visitor.wait(f"{STATE}.run !== {first!r} && {STATE}.step >= 2")
    page.click("#scope-clear")
    page.locator("#scope-line", has_text=empty).wait_for()
    step = visitor.state()["step"]
    visitor.wait(f"{STATE}.step > {step}")  # the run goes on with what it holds
    page.click("#stop")
    page.wait_for_selector("#stop", state="hidden")
    visitor.said("done")
    page.wait_for_timeout(300)
    assert scope(visitor) == empty, "the end of the run brought nothing back"


def test_a_phone_uploads_a_picture_and_its_exported_run_opens_offline(
    open_page: Callable[..., Page], server: tuple[str, int], tmp_path: Path
) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
    visit = Visitor(open_page(server[0], **phone))
    visit.page.tap("#own")
    visit.wait("document.querySelector('#controls').classList.contains('open')")
    visit.fill("toy-signs", "What does it say?", 40)
    add(visit, picture(tmp_path, "green"))
    hold(visit, "green.png")
    assert visit.to_end().startswith("40 tokens in ")
    check_phone(visit.page)
    path = tmp_path / "run.html"
    path.write_bytes(visit.download("html").read_bytes())
    alone = open_page(path.as_uri(), offline=True, **phone)
    alone.wait_for_selector("#player .pictures img")
    check_phone(alone)


def check_phone(page: Page) -> None:
    """The picture, what was said of it, and nothing wider than the screen."""
    image = page.locator("#player .pictures img")
    assert image.get_attribute("alt") == (
        "Picture 1 of the prompt, green.png, as the model saw it: 64 × 64 pixels"
    )
    assert image.evaluate("(i) => i.complete && i.naturalWidth") == 64
    box = image.bounding_box()
    assert box is not None and box["x"] >= 0 and box["x"] + box["width"] <= 390
    assert "The sign is green." in page.locator("#player .flow").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
