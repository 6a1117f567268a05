"""The page with a run of a drafter head: its charts, its refused guesses, its run card."""

from __future__ import annotations

from pathlib import Path

from specviz.tracefile import save
from tests.window_traces import small_window

from .visitor import STATE, Visitor


def test_a_run_of_a_head_shows_charts_refusals_and_its_head(
    visitor: Visitor, tmp_path: Path
) -> None:
    page = visitor.page
    path = tmp_path / "window.jsonl.gz"
    save(path, small_window().events)
    with page.expect_file_chooser() as asked:
        page.get_by_role("button", name="Open a trace file").click()
    asked.value.set_files(path)
    page.wait_for_selector("#charts-window #chart-window-cache .plotly", state="visible")
    assert page.locator("#charts-wave").is_hidden()
    said = page.locator("#chart-window-levels").text_content() or ""
    assert "2 of 3" in said and "67 %" in said
    assert "break-even, 21.0 ms" in (page.locator("#chart-window-ms").text_content() or "")
    page.get_by_role("tab", name="Refused guesses").click()
    visitor.wait("document.querySelector('#rejects').innerText.includes('9 of 12')")
    heads = " ".join(page.locator("#rejects th").all_inner_texts())
    assert "head offered it" in heads and "memory knew" not in heads
    visitor.choose("#which", "tree was full")
    visitor.wait("document.querySelector('#rejects-said').innerText.includes('1 of 3')")
    page.get_by_role("tab", name="Run card").click()
    card = page.locator("#card").inner_text()
    assert "tiny-head: 1,234 weights" in card and "Greatest distance 9, within the 12" in card


def test_the_caption_of_a_head_is_in_view_in_a_low_window(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    page.set_viewport_size({"width": 1100, "height": 700})
    path = tmp_path / "window.jsonl.gz"
    save(path, small_window().events)
    with page.expect_file_chooser() as asked:
        page.evaluate("document.querySelector('#upload').click()")
    asked.value.set_files(path)
    visitor.wait(f"{STATE}.events === {len(small_window().events)}")
    page.evaluate("scrollTo(0, 0)")
    visitor.wait(
        """(() => {
          const host = [...document.querySelectorAll('#player *')].find((e) => e.shadowRoot);
          const [said, bar] = ['.caption', '.transport'].map((s) =>
            host.shadowRoot.querySelector(s).getBoundingClientRect());
          return said.bottom <= bar.top && bar.bottom <= innerHeight; })()"""
    )
