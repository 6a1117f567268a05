"""What if, in a real browser: a changed run beside the shown one, Stop, and a second file."""

from __future__ import annotations

import json
import re
from pathlib import Path

from .patience import PATIENCE
from .visitor import STATE, Enter, Visitor


def opened(visit: Visitor) -> Visitor:
    visit.page.get_by_role("tab", name="What if").click()
    visit.page.wait_for_selector("#whatif-change input", state="visible")
    return visit


def ask(visit: Visitor, question: str) -> None:
    visit.choose("#whatif-change", question)
    visit.page.click("#whatif-run")


def said(visit: Visitor, begins: str, seconds: float = PATIENCE) -> str:
    line = "document.querySelector('#whatif-said .sv-plain').textContent"
    visit.wait(f"{line}.startsWith({json.dumps(begins)})", seconds)
    found: str = visit.page.evaluate(line)
    return found


def hand_in(visit: Visitor, path: Path, button: str = "#whatif-file") -> None:
    with visit.page.expect_file_chooser() as asked:
        visit.page.click(button)
    asked.value.set_files(path)


EXAMPLES = Path(__file__).parents[2] / "examples"
LEVEL3 = "What did level 3, the memory of the last three tokens, bring?"
COPIES = "Were the copies cut too short?"
LEVEL1 = "What did level 1, the memory of the last token, bring?"


def test_a_changed_run_stands_beside_the_shown_one_which_stays(visitor: Visitor) -> None:
    visit = opened(visitor)
    before = visit.state()
    ask(visit, LEVEL1)
    line = said(visit, "With level 1 off: ")
    assert re.match(
        r"With level 1 off: \d+ passes instead of \d+; .+ had been right w.+ lost\.", line
    )
    visit.page.wait_for_selector("#whatif-lanes .bars", state="attached")
    visit.page.wait_for_selector("#whatif-table td", state="attached")
    assert "lost with level 1 off" in visit.page.locator("#whatif-table").inner_text()
    assert visit.status() == ("done", "Both runs are aligned under What if.")
    assert visit.state() == before
    assert visit.page.locator("#whatif-stop").is_hidden()
    assert visit.page.locator("#run").is_enabled()
    # Another run: nothing that was said about the first one is left.
    visit.page.click(".sv-card[data-name=odd]")
    visit.wait(f"{STATE}.run === 'example-odd'")
    said(visit, "")
    visit.page.wait_for_selector("#whatif-lanes .bars", state="detached")


def test_the_changed_run_can_be_set_beside_the_shown_one_in_the_player(visitor: Visitor) -> None:
    visit = opened(visitor)
    side = visit.page.locator("#whatif-side")
    assert side.is_hidden()
    run = visit.state()["run"]
    ask(visit, LEVEL1)
    line = said(visit, "With level 1 off: ")
    side.click()
    visit.page.wait_for_selector("#player .token-said", state="visible")
    assert visit.state()["run"] == f"pair {run}"
    names = visit.page.locator("#player .lane-name").all_inner_texts()
    assert names == ["recorded", "changed"]
    assert visit.page.locator("#player .beside-bar .quiet").text_content() == line
    before = visit.state()["step"]
    for _ in range(3):
        visit.page.get_by_role("button", name="Next step in “changed”").click()
    assert visit.state()["step"] > before
    visit.page.click(".sv-card[data-name=odd]")
    visit.wait(f"{STATE}.run === 'example-odd'")
    visit.page.wait_for_selector("#player .beside-bar", state="hidden")
    visit.page.wait_for_selector("#whatif-side", state="hidden")


def chosen(visit: Visitor, question: str) -> None:
    value = "document.querySelector('#whatif-change input').value"
    visit.wait(f"{value} === {json.dumps(question)}")


def test_a_fitting_change_is_chosen_whatever_run_comes_to_be_shown(
    enter: Enter, tmp_path: Path
) -> None:
    visit = opened(enter())
    chosen(visit, LEVEL3)
    visit.choose("#whatif-change", LEVEL1)
    own = tmp_path / "own.jsonl.gz"
    own.write_bytes(visit.download("trace").read_bytes())
    for path, question in ((own, LEVEL3), (EXAMPLES / "lookup.jsonl.gz", COPIES)):
        hand_in(visit, path, "#upload")
        visit.wait(f"document.querySelector('#status').textContent.includes('{path.name}')")
        chosen(visit, question)
    visit.page.click(".sv-card[data-name=odd]")
    visit.wait(f"{STATE}.run === 'example-odd'")
    chosen(visit, LEVEL3)


def test_stop_ends_the_changed_run_and_loses_nothing(visitor: Visitor) -> None:
    visitor.fill("slow", "This is the house", 40)
    visitor.page.locator("#baseline input").uncheck()
    visitor.to_end()
    run = visitor.state()["run"]
    visit = opened(visitor)
    ask(visit, LEVEL1)
    said(visit, "decoding: token ")
    assert visit.page.locator(".sv-card[data-name=odd]").is_disabled()
    visit.page.click("#whatif-stop")
    assert said(visit, "Stopped") == "Stopped: nothing was compared."
    line = visit.page.locator("#status .sv-status")
    assert line.inner_text().strip() == "Stopped: nothing was compared."
    assert line.get_attribute("data-kind") == "done"
    visit.page.wait_for_selector("#whatif-stop", state="hidden")
    assert visit.state()["run"] == run
    assert visit.page.locator(".sv-card[data-name=odd]").is_enabled()
    visit.choose("#whatif-change", "What did copied continuations bring?")
    visit.page.click("#whatif-run")
    said(visit, "With copied continuations off: ")


def test_a_second_file_is_compared_or_refused_in_a_sentence(enter: Enter, tmp_path: Path) -> None:
    visit = opened(enter())
    odd = tmp_path / "<b>odd.jsonl.gz"
    odd.write_bytes(visit.download("trace").read_bytes())
    hand_in(visit, odd)
    visit.wait("document.querySelector('#whatif-said .sv-plain').textContent.includes('the same')")
    line = visit.page.locator("#whatif-said").inner_text()
    assert re.search(r"odd.jsonl.gz: the same \d+ passes, and the same positions guessed right\.", line)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text("{")
    hand_in(visit, damaged)
    assert visit.said("error").startswith("This is not a trace file, a line is not JSON")
    hand_in(visit, EXAMPLES / "tea.jsonl.gz")
    assert said(visit, "These are runs of different weights or depths, toy (")


def test_stop_while_it_waits_for_the_device_frees_the_tab_at_once(
    enter: Enter, visitor: Visitor
) -> None:
    visitor.fill("slow", "This is the cat that", 300)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-rhyme'")
    visit = opened(enter())
    chosen(visit, LEVEL3)
    ask(visit, LEVEL1)
    said(visit, "waiting for the device")
    visit.page.wait_for_timeout(1500)
    assert visit.page.locator("#whatif-said").inner_text().strip() == "waiting for the device"
    visit.page.click("#whatif-stop")
    visit.page.wait_for_selector("#whatif-stop", state="hidden")
    assert visit.page.locator("#whatif-run").is_enabled()
    assert said(visit, "Stopped") == "Stopped: nothing was compared."
    visitor.page.click("#stop")
