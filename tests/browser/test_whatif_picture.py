"""What if, about pictures, in a real browser: blank, another one, a wrong file, Stop's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from specviz import jobs
from specviz.jobs import Job
from specviz.models.toy_signs import sign
from specviz.trace import Progress
from specviz.tracefile import load, save

from .test_inspect import cells
from .test_whatif import ask, chosen, hand_in, opened, said
from .visitor import STATE, Enter, Visitor

BLANK = "What if the picture were blank?"
OTHER = "What if it were another picture?"
LINE = "document.querySelector('#whatif-picture-shown p').textContent"


@pytest.fixture
def sign_run(enter: Enter, tmp_path: Path) -> Visitor:
    """A page that shows a recorded run about a red sign."""
    job = Job(
        model="toy-signs", prompt="What does the sign say?", pictures=(sign("red"),),
        max_new_tokens=60, knobs={"calibration": "none"},
    )  # fmt: skip
    save(tmp_path / "red.jsonl", (e for e in jobs.run(job) if not isinstance(e, Progress)))
    visit = enter()
    hand_in(visit, tmp_path / "red.jsonl", "#upload")
    visit.wait("document.querySelector('#status').textContent.includes('red.jsonl')")
    return opened(visit)


def changed_tokens(visit: Visitor) -> list[str]:
    return [row[2] for row in cells(visit, "#whatif-table")]


def test_a_blank_picture_marks_the_words_that_it_decides(sign_run: Visitor) -> None:
    visit = sign_run
    chosen(visit, BLANK)
    visit.wait("document.querySelector('#whatif-run').innerText === 'Read it back'")
    before = visit.state()["run"]
    visit.page.click("#whatif-run")
    line = said(visit, "With a blank picture in place of red.png, ")
    assert "something else at 7 of 56 tokens (12 %)" in line
    visit.page.wait_for_selector("#whatif-lanes .bars", state="attached")
    assert cells(visit, "#whatif-cross") == [
        ["fully rejected", "0", "3", "3", "0 %"], ["a guess was right", "3", "10", "13", "23 %"],
        ["all (base rate)", "3", "13", "16", "19 %"],
    ]
    assert changed_tokens(visit)[:3] == ["␣white", "␣white", "␣turn"]
    visit.wait(f"{STATE}.step === 24")
    assert visit.state()["run"] == before, "one run, of which more is known"
    top = visit.page.locator("#status .sv-status-text")
    assert top.inner_text() == "7 of 56 tokens depend on the picture"
    size = top.evaluate("(t) => [t.scrollWidth - t.clientWidth, t.clientHeight, t.clientWidth]")
    assert size[0] <= 0 and size[1] < 30, size
    assert visit.state()["step"] == 24 and visit.state()["tokens"] == 56, "all marks are seen"
    # The trace that can be taken away holds the probe; the results stay beside it.
    (probe,) = load(visit.download("trace")).probes
    assert probe.changed == (3, 6, 11, 17, 23, 50, 53)
    assert said(visit, "With a blank picture").count("\n") == 4
    assert visit.page.locator("#run").is_enabled()
    assert visit.page.locator("#whatif-stop").is_hidden()
    # Another run: what was said about this one is gone.
    visit.page.click(".sv-card[data-name=odd]")
    visit.wait(f"{STATE}.run === 'example-odd'")
    said(visit, "")
    visit.page.wait_for_selector("#whatif-cross", state="hidden")


def test_another_picture_is_given_or_refused_beside_its_button(
    sign_run: Visitor, tmp_path: Path
) -> None:
    visit = sign_run
    assert visit.page.locator("#whatif-other").is_hidden()
    ask(visit, OTHER)
    assert said(visit, "Choose the other") == "Choose the other picture first."
    visit.page.wait_for_selector("#whatif-picture", state="visible")
    (tmp_path / "<b>.png").write_text("no picture at all")
    hand_in(visit, tmp_path / "<b>.png", "#whatif-picture")
    visit.wait(f"{LINE}.startsWith('<b>.png is ') || {LINE}.startsWith('b.png is ')")
    (tmp_path / "blue.png").write_bytes(sign("blue").png)
    hand_in(visit, tmp_path / "blue.png", "#whatif-picture")
    visit.wait(f"{LINE} === 'blue.png, 96 x 96 pixels.'")
    visit.page.wait_for_selector("#whatif-picture-shown img", state="visible")
    visit.page.click("#whatif-run")
    said(visit, "With blue.png in place of red.png, ")
    assert changed_tokens(visit)[:3] == ["␣blue", "␣blue", "␣park"]
    visit.page.locator("#whatif-samples button").first.click()
    visit.wait(f"!{LINE}.startsWith('blue.png')")
    visit.choose("#whatif-change", BLANK)
    visit.page.wait_for_selector("#whatif-other", state="hidden")


def test_the_table_of_refused_guesses_says_where_the_picture_decides(sign_run: Visitor) -> None:
    visit = sign_run
    visit.page.get_by_role("tab", name="Refused guesses").click()
    assert len(cells(visit, "#rejects")[0]) == 11
    opened(visit)
    visit.page.click("#whatif-run")
    said(visit, "With a blank picture")
    visit.page.get_by_role("tab", name="Refused guesses").click()
    visit.wait("document.querySelector('#rejects').innerText.includes('picture decides')")
    visit.choose("#which", "where another picture would have changed the wanted token")
    visit.wait("document.querySelector('#rejects-said').innerText.startsWith('0 of 10 refused')")
