"""Lessons in a real browser: predicted by key, answered by the recording, linked to by stop."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from specviz import lessons, player
from specviz.gallery import example

from .exported import wait
from .visitor import STATE, Visitor, serve

Opener = Callable[..., Page]
LOADED = 30  # seconds for a page with all its recordings

HOST = """
const data = JSON.parse(document.getElementById('data').textContent);
window.opened = [];
window.it = SpecvizPlayer.mount(document.getElementById('player'), {
  strings: data.strings.en, lang: 'en',
  onOpen: (name) => {
    if (window.busy) return false;
    opened.push(name);
    setTimeout(() => it.load(data.runs[name]), 50);
  },
  onLesson: (place) => { window.told = place; },
});
window.root = document.getElementById('player').shadowRoot;
it.load(data.runs[data.first]);
"""


@pytest.fixture
def host(open_page: Opener, tmp_path: Path) -> Callable[..., Page]:
    """A page of its own with a player, a lesson and all its runs; it opens the first of them."""

    def host_(name: str, **options: Any) -> Page:
        plan = lessons.plain("en", name)[0]
        runs = {
            each: player.payload(example(each).trace, run_id=f"example-{each}")
            for each in plan["examples"]
        }
        data = {
            "lesson": plan, "runs": runs, "first": plan["examples"][0],
            "strings": {lang: player.player_strings(lang) for lang in ("en", "ru")},
        }  # fmt: skip
        path = tmp_path / f"{name}.html"
        path.write_text(
            '<!doctype html><html lang="en"><meta charset="utf-8"><title>t</title>'
            f'<div id="player"></div><script type="application/json" id="data">'
            f"{player.script_json(data)}</script><script>{player.bundle_js()}</script>"
            f"<script>{HOST}</script>",
            "utf-8",
        )
        return open_page(path.as_uri(), **options)

    return host_


def plan(name: str) -> dict[str, Any]:
    return lessons.plain("en", name)[0]


def phase(page: Page) -> str:
    found: str = page.locator(".lesson").get_attribute("data-phase") or ""
    return found


def until(page: Page, wanted: str) -> None:
    wait(page, f"root.querySelector('.lesson').dataset.phase === '{wanted}'")


def test_a_lesson_is_walked_through_by_keys_alone(host: Callable[..., Page]) -> None:
    page = host("speculation")
    page.evaluate("it.startLesson(data.lesson)")
    stops = plan("speculation")["at"]
    for n, stop in enumerate(stops, 1):
        assert page.evaluate("told") == {"lesson": "speculation", "stop": n}
        assert phase(page) == "ask"
        page.keyboard.press("Enter")  # gives no answer away
        assert phase(page) == "ask"
        # The first stop is predicted wrong, the others right.
        page.keyboard.press(str((1 - stop["right"] if n == 1 else stop["right"]) + 1))
        until(page, "told")
        state = page.evaluate("it.state()")
        assert (state["run"], state["step"]) == ("example-list", stop["spot"]["step"])
        assert state["phase"] == ("finish" if stop["told"]["beat"] == "finish" else "emit")
        said = page.locator(".lesson .told").inner_text()
        assert said.startswith("✗ It came out otherwise." if n == 1 else "✓ Right.")
        page.keyboard.press("Enter")
    until(page, "score")
    drafter = plan("speculation")["drafter"]
    assert page.locator(".lesson .told").inner_text() == (
        f"Predicted: 5 of 6. In these recordings the drafter itself was right in "
        f"{drafter['right']} of {drafter['tested']} tested guesses."
    )
    page.keyboard.press("Escape")
    assert page.locator(".lesson").is_hidden()
    assert page.evaluate("told") is None


def test_the_recording_answers_with_its_own_tokens(host: Callable[..., Page]) -> None:
    page = host("speculation")
    page.evaluate("it.startLesson(data.lesson, 1)")
    assert page.locator(".question").inner_text() == "Will the guess aked after ␣B be accepted?"
    # Nothing on the screen tells the answer: neither marks nor what the whole run came to.
    assert not page.locator(".overview").is_visible()
    assert page.locator("#sv-whole").text_content() == ""
    assert not page.locator(".head .verdict").is_visible()
    assert page.locator(".chip.refused").count() == 0
    page.keyboard.press("2")
    until(page, "told")
    assert page.locator(".chip.refused").count() > 0
    told = "After ␣B the model wanted rie, not aked. So rie is written"
    assert told in page.locator(".lesson .told").inner_text()
    assert page.locator(".choice.right span").inner_text() == "No"
    assert page.locator(".choice.wrong").count() == 0


def test_it_plays_the_beats_between_question_and_answer(host: Callable[..., Page]) -> None:
    page = host("speculation")
    page.evaluate("it.startLesson(data.lesson, 3)")
    page.evaluate(
        """() => {
          window.phases = new Set();
          const look = () => { phases.add(it.state().phase); requestAnimationFrame(look); };
          look();
        }"""
    )
    before = page.evaluate("it.state()")
    assert before["phase"] == "draft"
    page.keyboard.press("1")
    assert page.evaluate("it.state().playing")
    until(page, "told")
    assert page.evaluate("[...phases]") == ["draft", "verify", "walk", "emit"]
    assert page.evaluate("it.state().playing") is False


def test_who_wants_less_motion_sees_the_answer_at_once(host: Callable[..., Page]) -> None:
    page = host("speculation", reduced_motion="reduce")
    page.evaluate("it.startLesson(data.lesson, 3)")
    page.keyboard.press("1")
    assert phase(page) == "told"
    assert page.evaluate("it.state().phase") == "emit"


def test_leaving_leaves_the_player_where_it_is_and_as_it_was(host: Callable[..., Page]) -> None:
    page = host("speculation")
    page.evaluate("it.set('reveal', true); it.set('loop', true)")
    page.evaluate("it.startLesson(data.lesson, 2)")
    there = page.evaluate("it.state().time")
    page.keyboard.press("Escape")
    assert page.evaluate("it.state().time") == there
    for name in ("reveal", "loop"):
        assert page.locator(f"[data-act={name}]").get_attribute("aria-pressed") == "true"
    assert page.locator(".lanes").is_visible()
    assert page.locator(".caption").is_visible()
    assert page.evaluate("it.state().lesson") is None


def test_a_stop_on_another_recording_opens_it(host: Callable[..., Page]) -> None:
    page = host("memories", reduced_motion="reduce")
    page.evaluate("it.startLesson(data.lesson, 3)")
    assert phase(page) == "ask"
    page.keyboard.press("1")
    page.keyboard.press("Enter")
    until(page, "ask")
    assert page.evaluate("opened") == ["list"]
    stop = plan("memories")["at"][3]
    state = page.evaluate("it.state()")
    assert (state["run"], state["step"]) == ("example-list", stop["spot"]["step"])
    assert state["lesson"] == {"lesson": "memories", "stop": 4}
    # A run that a person chooses ends the lesson.
    page.evaluate("it.load(data.runs.tea)")
    assert page.evaluate("it.state().lesson") is None


def test_a_recording_that_cannot_be_opened_now_is_said_and_asked_for_again(
    host: Callable[..., Page],
) -> None:
    page = host("memories", reduced_motion="reduce")
    page.evaluate("window.busy = true; it.startLesson(data.lesson, 4)")
    assert phase(page) == "away"
    assert page.locator(".lesson .told").inner_text() == (
        "The recording of this stop cannot be opened while a run is under way. "
        "Wait until it ends, or stop it."
    )
    page.evaluate("window.busy = false")
    page.get_by_role("button", name="Try again").click()
    until(page, "ask")
    assert page.evaluate("opened") == ["list"]


def test_another_language_keeps_the_stop_and_the_prediction(host: Callable[..., Page]) -> None:
    page = host("speculation", reduced_motion="reduce")
    page.evaluate("it.startLesson(data.lesson, 4)")
    page.keyboard.press("1")
    page.evaluate("it.setStrings(data.strings.ru, 'ru')")
    assert page.evaluate("it.state().lesson") == {"lesson": "speculation", "stop": 4}
    assert phase(page) == "told"
    assert (
        page.locator(".lesson .told").inner_text().startswith("✗ Вышло иначе. Принято догадок: 9")
    )
    assert page.locator(".choice[aria-pressed=true] span").inner_text() == "1"
    assert "lang=ru" in (page.locator(".lesson .link").get_attribute("href") or "")


def test_a_screen_reader_hears_question_and_result(host: Callable[..., Page]) -> None:
    page = host("speculation", reduced_motion="reduce")
    page.evaluate("it.startLesson(data.lesson, 3)")
    voice = "root.querySelector('.lesson .voice').textContent"
    wait(page, f"{voice}.includes('15 guesses: how many will be accepted? 1: 0. 2: 4.')")
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.className") == "lesson"
    page.keyboard.press("2")
    wait(page, f"{voice}.startsWith('✓ Right. Guesses accepted: 4 of 15.')")
    assert page.evaluate("document.activeElement.shadowRoot.activeElement.className") == "go"
    # The player's own caption would talk over it.
    assert page.evaluate("root.querySelectorAll('.voice')[1].textContent").find("4 of 15") < 0


def test_pictures_show_what_they_change_only_when_it_is_told(host: Callable[..., Page]) -> None:
    page = host("pictures", reduced_motion="reduce")
    page.evaluate("it.startLesson(data.lesson, 1)")
    assert page.evaluate("it.state().probe") is None
    page.keyboard.press("2")
    assert page.evaluate("it.state().probe") == "blank"


def test_it_fits_a_phone_and_the_largest_type(host: Callable[..., Page]) -> None:
    page = host("memories", viewport={"width": 390, "height": 844})
    page.evaluate("it.startLesson(data.lesson, 3)")
    wide = "document.documentElement.scrollWidth"
    assert page.evaluate(wide) == 390
    for button in page.locator(".lesson button").all():
        box = button.bounding_box()
        assert box is not None and box["height"] >= 44
    page.set_viewport_size({"width": 1280, "height": 720})
    page.evaluate("it.set('projector', true)")
    assert page.evaluate(wide) == 1280


def test_the_exported_file_begins_at_the_stop_that_is_asked_for(
    open_page: Opener, tmp_path: Path
) -> None:
    path = tmp_path / "lesson.html"
    trace = example("list").trace
    path.write_text(player.export_html(trace, lesson=plan("speculation")), "utf-8")
    page = open_page(path.as_uri() + "?stop=3&__sign=secret", offline=True)
    assert page.locator(".question").inner_text() == "15 guesses: how many will be accepted?"
    assert page.locator(".dot[aria-current=step]").inner_text() == "3"
    link = page.locator(".lesson .link").get_attribute("href") or ""
    assert link.endswith("lesson.html?stop=3&lesson=speculation&lang=en")


# On the page


@pytest.fixture(scope="module")
def gallery() -> Iterator[str]:
    """The address of a page with the real recordings."""
    yield from (address for address, _ in serve("examples"))


@pytest.fixture
def visit(open_page: Opener, gallery: str) -> Callable[[str], Visitor]:
    def visit_(path: str = "") -> Visitor:
        return Visitor(open_page(gallery + path, viewport={"width": 1400, "height": 900}))

    return visit_


def lesson_is(visitor: Visitor, name: str, stop: int) -> None:
    place = f'{{"lesson":"{name}","stop":{stop}}}'
    visitor.wait(f"JSON.stringify({STATE}.lesson) === '{place}'", LOADED)


def test_an_address_leads_to_a_stop_in_its_language(visit: Callable[[str], Visitor]) -> None:
    visitor = visit("?lesson=memories&stop=5&lang=ru")
    lesson_is(visitor, "memories", 5)
    assert visitor.page.evaluate("location.pathname") == "/ru"
    assert visitor.state()["run"] == "example-list"
    assert "Где её выучили?" in visitor.page.locator(".question").inner_text()
    # The other language keeps the stop.
    visitor.page.click("#language a")
    visitor.page.wait_for_url("**/?**")
    lesson_is(visitor, "memories", 5)
    assert "Where was it learned?" in visitor.page.locator(".question").inner_text()


def test_a_card_begins_a_lesson_and_its_stops_open_their_runs(
    visit: Callable[[str], Visitor],
) -> None:
    visitor = visit("?trace=stones")
    assert visitor.page.locator("#lessons .sv-card").count() == 6
    visitor.page.click("#lessons [data-lesson=memories]")
    lesson_is(visitor, "memories", 1)
    visitor.wait("[...document.querySelectorAll('#player *')].some((e) => "
                 "e.shadowRoot?.querySelector('.lesson')?.dataset.phase === 'ask')")  # fmt: skip
    assert visitor.state()["run"] == "example-tea"
    assert visitor.page.evaluate("location.search") == "?lesson=memories&stop=1"
    assert visitor.page.locator("#gallery .sv-card[aria-pressed=true]").get_attribute(
        "data-name"
    ) == "tea"  # fmt: skip
    visitor.page.keyboard.press("Escape")
    visitor.wait("location.search.startsWith('?trace=tea&step=')")


def test_back_from_a_picked_card_leads_into_the_lesson_and_out_of_it(
    visit: Callable[[str], Visitor],
) -> None:
    visitor = visit("?trace=stones&__sign=secret")
    page = visitor.page
    page.click(".sv-card[data-name=lookup]")
    visitor.wait("location.search.includes('trace=lookup')")
    page.click("#lessons [data-lesson=memories]")
    lesson_is(visitor, "memories", 1)
    visitor.wait(f"{STATE}.run === 'example-tea'")
    page.locator(".lesson .dot").nth(2).click()
    visitor.wait("location.search.includes('lesson=memories&stop=3')")
    link = page.locator(".lesson .link").get_attribute("href") or ""
    assert link.endswith("/?lesson=memories&stop=3")
    page.click(".sv-card[data-name=sign]")
    visitor.wait("location.search.includes('trace=sign') && !location.search.includes('lesson')")
    page.go_back()
    lesson_is(visitor, "memories", 3)
    visitor.wait(f"{STATE}.run === 'example-tea' && location.search.includes('stop=3')")
    page.go_back()
    visitor.wait(f"{STATE}.run === 'example-stones' && {STATE}.lesson === null")
    assert "trace=stones" in page.url


def test_an_unknown_lesson_is_said(visit: Callable[[str], Visitor]) -> None:
    visitor = visit("?lesson=nobody")
    assert visitor.said("error").startswith('There is no lesson called "nobody"')
    assert visitor.state()["run"] == "example-tea"


def test_a_run_that_begins_while_a_stop_plays_is_shown_from_its_start(
    host: Callable[..., Page],
) -> None:
    page = host("speculation")
    page.evaluate("it.startLesson(data.lesson, 3)")
    page.keyboard.press("1")
    assert page.evaluate("it.state().playing")
    page.evaluate("""() => it.load({
      ...data.runs.list, run_id: 'own-1', live: true, start_step: null,
      events: data.runs.list.events.slice(0, 2),
    })""")
    state = page.evaluate("it.state()")
    assert (state["run"], state["follow"], state["step"]) == ("own-1", True, -1)
    assert page.locator(".lesson").is_hidden() and page.evaluate("told") is None
