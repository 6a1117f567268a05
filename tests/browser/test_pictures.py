"""Pictures in the player, and what another picture would have changed."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Page

from specviz import player
from specviz.jobs import Job, ProbeJob, run
from specviz.models.base import Message, Picture
from specviz.models.toy_signs import sign
from specviz.trace import Header, Progress, Shown, Trace, UsedPicture

from .exported import wait

HOSTILE = '<img src=x onerror=alert(1)>${alert(1)}`.png'


def wide(name: str = "wide.png", notes: tuple[str, ...] = ()) -> Picture:
    out = io.BytesIO()
    Image.new("RGB", (192, 96), (214, 40, 40)).save(out, "PNG")
    return Picture(name, out.getvalue(), 192, 96, notes)


def made(*probes: tuple[str, int, Picture | None], **job: Any) -> Trace:
    """A run of the toy that sees, and its answer read back with other pictures."""
    job = {"model": "toy-signs", "prompt": "What does it say?", "max_new_tokens": 60, **job}
    events = [e for e in run(Job(**job)) if not isinstance(e, Progress)]
    for kind, replaced, other in probes:
        asked = ProbeJob(tuple(events), kind, replaced, other)  # type: ignore[arg-type]
        events += [e for e in run(asked) if not isinstance(e, Progress)]
    return Trace(tuple(events))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def seen() -> Trace:
    notes = ("Turned upright as its EXIF says.",)
    return made(("blank", 0, None), ("other", 0, sign("green")), pictures=(wide(notes=notes),))


def framed(page: Page) -> list[int]:
    found: list[int] = page.evaluate(
        "[...root.querySelectorAll('.flow .t.depends')].map((t) => +t.dataset.i)"
    )
    return found


def sources(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        "[...root.querySelectorAll('.pictures img')].map((i) => i.src)"
    )
    return found


def url(shown: Shown) -> str:
    return f"data:image/png;base64,{shown.data}"


def header(trace: Trace) -> Header:
    return trace.run("decoder").header  # type: ignore[union-attr]


def test_the_picture_stands_beside_the_lanes_as_the_model_saw_it_or_as_it_was_given(
    show: Callable[..., Page],
) -> None:
    trace = made(pictures=(wide(notes=("Turned upright as its EXIF says.",)),))
    used = header(trace).pictures[0]
    page = show(trace)
    image = page.locator(".pictures img")
    assert sources(page) == [url(used.seen)]
    assert image.get_attribute("alt") == (
        "Picture 1 of the prompt, wide.png, as the model saw it: 64 × 64 pixels"
    )
    assert page.evaluate("root.querySelector('.pictures img').naturalWidth") == 64
    assert page.locator(".pictures .line").inner_text().split("\n") == [
        "wide.png", "given 192 × 96 pixels, the model sees 64 × 64: 16 tokens",
    ]  # fmt: skip
    assert page.locator(".pictures .notes").inner_text() == "Turned upright as its EXIF says."
    russian = "Повёрнута прямо, как говорит её EXIF."
    page.evaluate("(words) => it.setStrings(words, 'ru')", player.player_strings("ru"))
    assert page.locator(".pictures .notes").inner_text() == russian
    page.locator(".photo").first.click()
    assert page.locator(".lightbox .notes li").all_inner_texts() == [russian]
    page.keyboard.press("Escape")
    page.evaluate("(words) => it.setStrings(words, 'en')", player.player_strings("en"))
    assert page.locator(".pictures .notes").inner_text() == "Turned upright as its EXIF says."
    page.get_by_role("button", name="given", exact=True).click()
    assert used.given is not None and sources(page) == [url(used.given)]
    assert image.get_attribute("alt") == (
        "Picture 1 of the prompt, wide.png, as it was given: 192 × 96 pixels"
    )
    assert page.get_by_role("button", name="given", exact=True).evaluate("(b) => b.matches(':focus')")
    assert page.locator(".pictures .picks .seg").count() == 2, "nothing to compare with"
    assert framed(page) == []


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (1920, 1080), (820, 1000), (390, 844)])
def test_the_picture_is_in_view_with_the_lanes_and_the_tree(
    show: Callable[..., Page], seen: Trace, width: int, height: int
) -> None:
    page = show(seen, viewport={"width": width, "height": height})
    boxes = {
        name: page.locator(name).first.bounding_box()
        for name in (".pictures", ".pictures img", ".blocks", ".stage", ".scrub-row")
    }
    picture, image, lanes, stage, transport = (box for box in boxes.values())
    assert image is not None and picture is not None and lanes is not None
    assert stage is not None and transport is not None
    assert image["y"] >= 0 and image["height"] >= 60 and image["width"] >= 60
    assert image["y"] + image["height"] <= picture["y"] + picture["height"] + 1
    assert stage["y"] < height - 100, "the tree is not pushed out"
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width >= 1061:
        assert picture["x"] + picture["width"] <= lanes["x"], "beside the lanes"
        assert picture["y"] + picture["height"] <= stage["y"]
        assert transport["y"] + transport["height"] <= height - 30
        assert stage["height"] > 200
    else:
        assert picture["y"] + picture["height"] <= lanes["y"], "a strip above them"
        assert picture["height"] < 290


@pytest.mark.parametrize(
    ("width", "height", "least"), [(1280, 720, 88), (1920, 1080, 130), (390, 844, 88)]
)
def test_compared_pictures_are_whole(
    show: Callable[..., Page], seen: Trace, width: int, height: int, least: int
) -> None:
    page = show(seen, viewport={"width": width, "height": height})
    for i in range(2):
        image = page.locator(".pictures img").nth(i).bounding_box()
        frame = page.locator(".photo").nth(i).bounding_box()
        assert image is not None and frame is not None
        assert image["width"] >= least and image["height"] >= least
        assert image["y"] >= frame["y"] and image["x"] >= frame["x"]
        assert image["y"] + image["height"] <= frame["y"] + frame["height"]
        assert image["x"] + image["width"] <= frame["x"] + frame["width"]
    tally = page.locator(".pictures [data-probe]").bounding_box()
    panel = page.locator(".pictures").bounding_box()
    assert tally is not None and panel is not None
    assert tally["y"] + tally["height"] <= panel["y"] + panel["height"]
    buttons = page.locator(".button-row").bounding_box()
    assert buttons is not None
    assert buttons["y"] + buttons["height"] <= height or width < 1061, "the buttons stay in view"


def test_what_memory_carried_over_is_one_line_beside_a_picture(
    show: Callable[..., Page], seen: Trace
) -> None:
    more = {"memory_rows": 58, "scope": "default", "model": "smol-boards-of-a-long-name"}
    events = tuple(
        e.model_copy(update=more) if isinstance(e, Header) else e
        for e in seen.events if e.type != "probe"
    )  # fmt: skip
    size = {"width": 1280, "height": 720}
    page = show(Trace(events), viewport=size)
    term = page.locator(".who .term")
    box, caption = term.bounding_box(), page.locator(".caption").bounding_box()
    stage = page.locator(".tree-panel").bounding_box()
    assert box is not None and caption is not None and stage is not None
    assert box["height"] < 20, "one line"
    assert stage["y"] + stage["height"] <= caption["y"], "the caption covers no legend"
    term.hover()
    assert "memory: 58 rows from earlier runs, scope default" in page.locator(".tip").inner_text()
    where = page.locator(".where")
    assert where.evaluate("(w) => w.scrollHeight <= w.clientHeight"), "nothing is cut"
    assert page.locator(".pictures .line b").evaluate("(b) => b.scrollWidth <= b.clientWidth")


def test_without_pictures_nothing_changes(show: Callable[..., Page]) -> None:
    page = show(made(model="toy", prompt="This is the house"))
    assert page.locator(".pictures").is_hidden()
    assert page.locator(".prompt .picture").count() == 0
    page.locator("section.sv").focus()
    page.keyboard.press("i")
    assert page.locator(".lightbox").is_hidden()


def test_placeholders_are_one_chip_before_the_question(show: Callable[..., Page]) -> None:
    page = show(made(pictures=(sign("red"),)))
    assert page.locator(".prompt").inner_text() == "picture 1 · 16 tokens What does it say?"
    page = show(made(pictures=(sign("red"), sign("blue"))))
    assert page.locator(".prompt").inner_text() == "pictures 1 to 2 · 32 tokens What does it say?"
    history = (
        Message("user", "Which sign?", (sign("red"),)), Message("assistant", "The red one."),
    )  # fmt: skip
    page = show(made(history=history))
    assert page.locator(".prompt").inner_text() == (
        "after one earlier turn picture 1 · 16 tokens from before: What does it say?"
    )
    page.locator(".prompt .term").focus()
    tip = page.locator(".tip").inner_text()
    assert "Asked: Which sign?" in tip and "It answered: The red one." in tip


def test_tokens_that_depend_on_the_picture_are_framed_and_say_what_would_stand_there(
    show: Callable[..., Page], seen: Trace
) -> None:
    blank, other = seen.probes
    page = show(seen)
    page.evaluate("it.seek(Infinity)")
    assert page.evaluate("it.state().probe") == "other", "the newest one"
    assert framed(page) == list(other.changed) and len(other.changed) > 3
    assert page.locator(".k-depends").inner_text().strip().endswith(
        f"{len(other.changed)} of {len(other.picks)} would differ with green.png"
    )
    page.get_by_role("button", name="blank", exact=True).click()
    assert framed(page) == list(blank.changed)
    changed = len(blank.changed)
    assert page.locator(".k-depends").inner_text().strip().endswith(
        f"{changed} of {len(blank.picks)} would differ with a blank picture"
    )
    assert page.locator(".pictures [data-probe]").inner_text() == (
        f"{changed} of {len(blank.picks)} tokens depend on it"
    )
    at = blank.changed[0]
    page.locator(f".flow .t[data-i='{at}']").hover()
    told = page.locator(".tip").inner_text()
    assert "With a blank picture the model would say ␣white here, not ␣red." in told
    shift = blank.logps[at] - blank.kept_logps[at]
    assert shift < -1 and f"log-probability −{abs(shift):.2f}." in told
    assert re.search(r"Probability of ␣red: 0\.\d\d → <?0\.0\d", told)
    page.locator(".flow .t[data-i='1']").hover()
    assert "With a blank picture the model would say the same here." in (
        page.locator(".tip").inner_text()
    )
    page.get_by_role("button", name="off", exact=True).click()
    assert (framed(page), page.evaluate("it.state().probe")) == ([], None)
    page.locator(f".flow .t[data-i='{at}']").hover()
    assert "would say" not in page.locator(".tip").inner_text()
    assert page.locator(".k-depends").count() == 0


def test_a_click_on_a_framed_token_shows_its_step_and_keeps_the_words(
    show: Callable[..., Page], seen: Trace
) -> None:
    page = show(seen)
    page.evaluate("it.seek(Infinity)")
    page.get_by_role("button", name="blank", exact=True).click()
    at = seen.probes[0].changed[2]
    token = page.locator(f".flow .t[data-i='{at}']")
    token.click()
    step = page.evaluate("it.state().step")
    run = seen.run("decoder")
    assert run is not None
    before = 1 + sum(len(s.emitted) for s in run.steps[:step])
    assert before <= at < before + len(run.steps[step].emitted)
    assert "With a blank picture the model would say" in page.locator(".tip").inner_text()


def test_the_caption_says_when_a_step_begins_where_the_picture_matters(
    show: Callable[..., Page], seen: Trace
) -> None:
    run = seen.run("decoder")
    assert run is not None
    probe = seen.probes[-1]
    firsts, at = {}, 1
    for step in run.steps:
        firsts[step.index] = at
        at += len(step.emitted)
    page = show(seen)
    said = set()
    for step, first in firsts.items():
        page.evaluate(f"it.seekStep({step})")
        words = page.locator(".caption .why").inner_text()
        depends = "This step begins where the picture matters: with green.png" in words
        assert depends == (first in probe.changed), step
        said.add(depends)
    assert said == {True, False}
    step = next(s for s, first in firsts.items() if first in probe.changed)
    page.evaluate(f"it.seekStep({step})")
    assert page.locator(".caption .why .tok").last.inner_text() == "␣" + (
        seen.pieces[probe.kept[firsts[step]]].decode().strip()
    )
    page.get_by_role("button", name="off", exact=True).click()
    assert "picture matters" not in page.locator(".caption .why").inner_text()


def test_what_stood_there_instead_is_shown_beside_it(
    show: Callable[..., Page], seen: Trace
) -> None:
    used = header(seen).pictures[0]
    page = show(seen)
    assert sources(page) == [url(used.seen), url(seen.probes[1].seen)]
    assert page.locator(".pictures figcaption").all_inner_texts() == ["as recorded", "green.png"]
    page.get_by_role("button", name="blank", exact=True).click()
    assert sources(page) == [url(used.seen), url(seen.probes[0].seen)]
    assert page.locator(".instead img").get_attribute("alt") == (
        "What stood there instead: a blank picture, 64 × 64 pixels"
    )
    page.get_by_role("button", name="off", exact=True).click()
    assert sources(page) == [url(used.seen)]


def test_a_picture_is_enlarged_by_click_or_key_and_escape_gives_the_focus_back(
    show: Callable[..., Page], seen: Trace
) -> None:
    page = show(seen)
    box = page.locator(".lightbox")
    page.locator(".photo").first.click()
    assert box.is_visible()
    assert box.locator("h3").inner_text() == "The picture: wide.png"
    assert box.locator("img").count() == 2
    assert box.locator(".line").inner_text() == (
        "given 192 × 96 pixels, the model sees 64 × 64: 16 tokens"
    )
    assert box.locator(".notes li").all_inner_texts() == ["Turned upright as its EXIF says."]
    size = box.locator("img").first.bounding_box()
    assert size is not None and size["width"] > 300
    box.get_by_role("button", name="as given").click()
    given = header(seen).pictures[0].given
    assert given is not None
    assert box.locator("img").first.get_attribute("src") == url(given)
    assert page.locator(".lightbox .seg[aria-pressed=true]:focus").inner_text() == "as given"
    box.get_by_role("button", name="off", exact=True).click()
    assert box.locator("img").count() == 1
    page.keyboard.press("Escape")
    assert box.is_hidden()
    page.locator("section.sv").focus()
    page.keyboard.press("i")
    assert box.is_visible()
    page.keyboard.press("i")
    assert box.is_hidden()
    page.locator(".photo").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    wait(page, "root.activeElement.matches('.photo')")


def test_of_several_pictures_one_is_looked_at_and_a_probe_names_its_own(
    show: Callable[..., Page],
) -> None:
    trace = made(("other", 1, sign("blue")), pictures=(wide(), sign("green")))
    used = header(trace).pictures
    page = show(trace)
    assert page.locator(".pictures .line b").inner_text() == "green.png", "the one that was probed"
    assert sources(page) == [url(used[0].seen), url(used[1].seen), url(trace.probes[0].seen)]
    assert "in place of picture 2" in page.locator(".k-depends").inner_text()
    page.get_by_role("button", name="Look at picture 1").click()
    assert page.locator(".pictures .line b").inner_text() == "wide.png"
    assert sources(page) == [url(used[0].seen), url(used[1].seen)]
    page.get_by_role("button", name="off", exact=True).click()
    page.get_by_role("button", name="blue.png", exact=True).click()
    assert page.locator(".pictures .line b").inner_text() == "green.png"
    page.keyboard.press("i")
    page.locator(".lightbox").get_by_role("button", name="picture 1").click()
    assert page.locator(".lightbox h3").inner_text() == "Picture 1 of 2: wide.png"


def test_names_are_literal_and_data_that_is_no_picture_is_not_shown(
    show: Callable[..., Page],
) -> None:
    trace = made(pictures=(wide(HOSTILE), sign("red")))
    first = header(trace)
    used = first.pictures

    def with_seen(shown: Shown) -> Trace:
        changed: tuple[UsedPicture, ...] = (
            used[0].model_copy(update={"seen": shown, "given": None}), used[1],
        )  # fmt: skip
        event = first.model_copy(update={"pictures": changed})
        return Trace((event, *trace.events[1:]))

    page = show(trace)
    assert page.locator(".pictures .line b").inner_text() == HOSTILE
    png = base64.b64decode(used[0].seen.data)
    bomb = png[:16] + (90_000).to_bytes(4, "big") * 2 + png[24:]
    for shown in (
        Shown(width=64, height=64, data=base64.b64encode(b"<svg onload=alert(1)>" * 4).decode()),
        Shown(width=9, height=9, data=used[0].seen.data),
        Shown(width=90_000, height=90_000, data=base64.b64encode(bomb).decode()),
        Shown(width=64, height=64, data="A="),
    ):
        page = show(with_seen(shown))
        assert sources(page) == [url(used[1].seen)]
        assert page.locator(".broken").inner_text().startswith("This picture cannot be shown")


def test_pictures_come_with_the_header_of_a_run_that_streams_and_probes_after_it(
    show: Callable[..., Page], seen: Trace
) -> None:
    page = show(made(model="toy", prompt="This is the house"))
    page.evaluate("(u) => it.push(u)", player.update(seen.events[:1], "next", 0))
    assert len(sources(page)) == 1
    count = len(seen.events)
    page.evaluate("(u) => it.push(u)", player.update(seen.events[: count - 2], "next", 1))
    assert page.locator(".pictures .picks .seg").count() == 2
    page.evaluate("(u) => it.push(u)", player.update(seen, "next", count - 2, live=False))
    page.get_by_role("button", name="blank", exact=True).click()
    page.evaluate("it.seek(Infinity)")
    assert framed(page) == list(seen.probes[0].changed)


def test_the_memory_of_every_level_stays_in_view_beside_a_picture(
    show: Callable[..., Page], seen: Trace
) -> None:
    page = show(seen)
    page.evaluate("it.seekStep(12)")
    assert page.locator(".memory .level, .memory table").first.is_visible()
    tallies = page.locator(".memory").inner_text()
    assert all(level in tallies for level in ("L1", "L2", "L3"))
