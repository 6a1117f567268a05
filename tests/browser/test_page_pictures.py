"""Pictures on the page in a real browser: handed in, understood, asked about, and asked on about."""

from __future__ import annotations

import base64
import json
import urllib.request
from pathlib import Path

import pytest

from specviz.models.toy_signs import sign
from specviz.tracefile import load

from .visitor import STATE, Enter, Visitor

FIELD = "#pictures-add-row input[type=file]"
EXAMPLE = "Write a short story about a lighthouse keeper."


@pytest.fixture
def red(tmp_path: Path) -> Path:
    return picture(tmp_path, "red")


def picture(folder: Path, colour: str) -> Path:
    path = folder / f"{colour}.png"
    path.write_bytes(sign(colour).png)
    return path


def open_field(visit: Visitor) -> None:
    if not visit.page.locator(FIELD).count():
        visit.page.locator("#pictures button").first.click()
    visit.page.locator(FIELD).wait_for(state="attached")


def add(visit: Visitor, *files: Path) -> None:
    open_field(visit)
    visit.page.set_input_files(FIELD, [str(f) for f in files])


def thumbs(visit: Visitor) -> list[str]:
    found: list[str] = visit.page.locator(".sv-thumbs b").all_inner_texts()
    return found


def hold(visit: Visitor, *names: str) -> None:
    visit.wait(
        f"[...document.querySelectorAll('.sv-thumbs b')].map((b) => b.textContent).join() === "
        f"'{','.join(names)}'"
    )


def said(visit: Visitor) -> str:
    return visit.page.locator(".sv-tray-said").inner_text()


def told(visit: Visitor, words: str) -> None:
    visit.page.locator(".sv-tray-said", has_text=words).wait_for()


def drop(visit: Visitor, path: Path, kind: str, how: str) -> None:
    """Drop a file on the prompt, or paste it there."""
    visit.page.evaluate(
        """([data, name, kind, how]) => {
          const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
          const held = new DataTransfer();
          held.items.add(new File([bytes], name, { type: kind }));
          const box = document.querySelector('#prompt textarea');
          const options = { bubbles: true, cancelable: true };
          box.dispatchEvent(how === 'drop'
            ? new DragEvent('drop', { ...options, dataTransfer: held })
            : new ClipboardEvent('paste', { ...options, clipboardData: held }));
        }""",
        [base64.b64encode(path.read_bytes()).decode(), path.name, kind, how],
    )


def ask(visit: Visitor, question: str = "What does it say?") -> None:
    visit.fill("toy-signs", question, 40)


def test_a_picture_is_understood_at_once_and_the_run_shows_it(visitor: Visitor, red: Path) -> None:
    visitor.fill("toy-signs", "What does it say?", 40)
    add(visitor, red)
    hold(visitor, "red.png")
    words = visitor.page.locator(".sv-thumb-words span").all_inner_texts()
    assert words == ["given 96 × 96 pixels; toy-signs sees 64 × 64"]
    image = visitor.page.locator(".sv-thumbs img")
    assert image.get_attribute("alt") == "red.png, 96 × 96 pixels"
    assert visitor.page.evaluate(
        "document.querySelector('.sv-thumbs img').naturalWidth"
    ) == 96
    assert visitor.to_end().startswith("40 tokens in ")
    assert visitor.page.locator(".pictures img").count() == 1
    assert "picture 1 · 16 tokens" in visitor.page.locator(".prompt").inner_text()
    assert "The sign is red." in visitor.page.locator(".flow").inner_text()
    trace = load(visitor.download("trace"))
    run = trace.run("decoder")
    assert run is not None
    assert [(p.name, p.given.data if p.given else None) for p in run.header.pictures] == [
        ("red.png", base64.b64encode(sign("red").png).decode())
    ]
    assert visitor.form()[1] == "What does it say?" and thumbs(visitor) == ["red.png"]


def test_a_wrong_file_is_one_sentence_beside_the_field_and_nothing_is_lost(
    visitor: Visitor, red: Path, tmp_path: Path
) -> None:
    visitor.fill("toy-signs", "My own words", 40)
    add(visitor, red)
    hold(visitor, "red.png")
    bad = tmp_path / "notes.png"
    bad.write_text("<b>no picture</b>", "utf-8")
    add(visitor, bad)
    told(visitor, "notes.png")
    assert visitor.page.locator(".sv-tray").get_attribute("data-kind") == "error"
    assert visitor.page.locator(".sv-tray-said").get_attribute("role") == "alert"
    assert said(visitor).count(".") == 2, "one sentence, and the ending of the name"
    assert thumbs(visitor) == ["red.png"] and visitor.form()[1] == "My own words"
    assert visitor.to_end().startswith("40 tokens in ")


def test_pictures_are_replaced_and_removed(visitor: Visitor, red: Path, tmp_path: Path) -> None:
    ask(visitor)
    add(visitor, red, picture(tmp_path, "green"))
    hold(visitor, "red.png", "green.png")
    with visitor.page.expect_file_chooser() as chooser:
        visitor.page.get_by_role("button", name="Replace: red.png").click()
    chooser.value.set_files(str(picture(tmp_path, "blue")))
    hold(visitor, "blue.png", "green.png")
    visitor.page.get_by_role("button", name="Remove: blue.png").click()
    hold(visitor, "green.png")
    assert "The sign is green." in (visitor.to_end(), visitor.page.inner_text(".flow"))[1]
    visitor.page.get_by_role("button", name="Remove: green.png").click()
    told(visitor, "Add a picture, paste one, or drop one on the prompt.")
    visitor.to_end()
    visitor.wait(f"{STATE}.events > 0 && !document.querySelector('#ask-on')")
    assert visitor.page.locator(".pictures").is_hidden()
    assert "The sign is hidden." in visitor.page.inner_text(".flow")


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_a_picture_is_dropped_on_the_prompt_or_pasted_into_it(
    visitor: Visitor, red: Path, tmp_path: Path, how: str
) -> None:
    assert visitor.page.locator(FIELD).count() == 0, "folded away for a model that reads text"
    drop(visitor, red, "image/png", how)
    hold(visitor, "red.png")
    told(visitor, "smollm2-135m cannot see pictures")
    bad = tmp_path / "notes.txt"
    bad.write_text("words", "utf-8")
    drop(visitor, bad, "text/plain", how)
    if how == "drop":
        told(visitor, "notes.txt")
    assert thumbs(visitor) == ["red.png"]
    assert visitor.form()[1] == EXAMPLE


def test_switching_to_a_model_that_cannot_see_offers_the_way_back(
    visitor: Visitor, red: Path
) -> None:
    ask(visitor, "Keep these words")
    add(visitor, red)
    hold(visitor, "red.png")
    visitor.fill("quick", "Keep these words", 40)
    told(visitor, "quick cannot see pictures: choose a model that can, such as ")
    visitor.run()
    assert visitor.said("error").startswith("quick cannot see pictures: ")
    assert visitor.page.locator("#stop").is_hidden()
    visitor.page.get_by_role("button", name="Use toy-signs").click()
    visitor.wait("document.querySelector('#model input').value.startsWith('toy-signs · ')")
    visitor.wait("document.querySelector('.sv-tray').dataset.kind === ''")
    assert (thumbs(visitor), visitor.form()[1]) == (["red.png"], "Keep these words")
    assert visitor.to_end().startswith("40 tokens in ")


def test_an_example_picture_brings_its_question_and_is_one_click(visitor: Visitor) -> None:
    ask(visitor, "")
    open_field(visitor)
    cards = visitor.page.locator("#samples button")
    assert cards.count() >= 3
    name, question = cards.first.get_attribute("data-file"), cards.first.get_attribute("title")
    cards.first.click()
    hold(visitor, str(name))
    visitor.wait(f"document.querySelector('#prompt textarea').value === {question!r}")
    visitor.page.fill("#prompt textarea", "What I want to know")
    cards.nth(1).click()
    hold(visitor, str(cards.nth(1).get_attribute("data-file")))
    assert visitor.form()[1] == "What I want to know"


def test_another_question_keeps_the_picture_and_what_was_said(visitor: Visitor, red: Path) -> None:
    ask(visitor)
    add(visitor, red)
    hold(visitor, "red.png")
    assert visitor.page.locator("#ask-on").count() == 0
    visitor.to_end()
    visitor.page.click("#ask-on")
    visitor.page.get_by_text("Goes on after one question and its answer.").wait_for()
    assert visitor.form()[1] == "" and thumbs(visitor) == ["red.png"]
    assert visitor.page.get_by_role("button", name="Remove: red.png").count() == 0
    visitor.wait("document.activeElement.matches('#prompt textarea')")
    visitor.page.fill("#prompt textarea", "And what shall I do?")
    visitor.to_end()
    trace = load(visitor.download("trace"))
    run = trace.run("decoder")
    assert run is not None
    turns = [(turn.role, turn.pictures) for turn in run.header.messages]
    assert turns == [("user", 1), ("assistant", 0), ("user", 0)]
    assert run.header.messages[1].text.startswith("\nThe sign is red.\nA red sign tells you to")
    assert "after one earlier turn" in visitor.page.inner_text(".prompt")
    visitor.page.click("#ask-on")
    visitor.page.get_by_text("Goes on after 2 questions and their answers.").wait_for()
    visitor.page.get_by_role("button", name="Start anew").click()
    visitor.wait("document.querySelector('.sv-talk').hidden")
    assert thumbs(visitor) == []


def test_one_click_blanks_the_picture_and_frames_what_depended_on_it(
    visitor: Visitor, red: Path
) -> None:
    ask(visitor)
    add(visitor, red)
    hold(visitor, "red.png")
    visitor.to_end()
    visitor.page.click("#blank")
    visitor.wait(f"{STATE}.probe === 'blank'")
    visitor.page.keyboard.press("Escape")
    framed = visitor.page.locator(".flow .t.depends").all_inner_texts()
    assert [word.strip() for word in framed][:3] == ["red", "red", "stop"]
    assert visitor.page.locator(".pictures .instead img").is_visible()
    visitor.wait("document.querySelector('#ask-on') !== null")
    visitor.page.click("#ask-on")
    visitor.page.get_by_text("Goes on after one question and its answer.").wait_for()


def test_two_tabs_do_not_see_each_others_pictures_and_a_reload_begins_anew(
    enter: Enter, red: Path, tmp_path: Path
) -> None:
    one, two = enter(), enter()
    ask(one)
    ask(two)
    add(one, red)
    hold(one, "red.png")
    add(two, picture(tmp_path, "green"))
    hold(two, "green.png")
    assert thumbs(one) == ["red.png"]
    two.to_end()
    one.to_end()
    assert "The sign is red." in one.page.inner_text(".flow")
    assert "The sign is green." in two.page.inner_text(".flow")
    one.page.click("#ask-on")
    one.page.get_by_text("Goes on after one question").wait_for()
    assert two.page.locator(".sv-talk:not([hidden])").count() == 0
    one.page.reload()
    again = Visitor(one.page)
    open_field(again)
    assert thumbs(again) == [] and thumbs(two) == ["green.png"]
    assert again.form()[1] == EXAMPLE


def test_the_endpoint_of_the_server_takes_a_picture(server: tuple[str, int]) -> None:
    data = base64.b64encode(sign("blue").png).decode()
    call = f"{server[0].rstrip('/')}/gradio_api/call/generate"
    values = ["What does it say?", "recap", "toy-signs", 8, "auto", True, [data], ""]
    asked = urllib.request.Request(
        call, json.dumps({"data": values}).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(asked, timeout=30) as answer:
        event = json.load(answer)["event_id"]
    with urllib.request.urlopen(f"{call}/{event}", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    assert "event: complete" in lines, lines
    found = json.loads(next(line for line in lines if line.startswith("data: ["))[6:])[0]
    assert found["text"] == "\nThe sign is blue.\nA blue sign"
    assert found["pictures"][0]["tokens"] == 16
