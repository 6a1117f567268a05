"""The page with drafts that settle in rounds: knobs, refusals, charts, the table of refused."""

from __future__ import annotations

from pathlib import Path

from specviz.tracefile import save
from tests.wave_traces import small_wave

from .visitor import Visitor

FIRST_KNOBS = """(d) => [...document.querySelectorAll(`[id^="knob-${d}-"]`)]
  .filter((e) => e.offsetParent).map((e) => e.id.split('-').pop())"""


def test_the_three_most_useful_knobs_show_first(visitor: Visitor) -> None:
    for decoder, knobs in (
        ("das_wave", ["block", "rounds", "inner"]),
        ("das", ["tokens", "draft", "values"]),
    ):
        visitor.choose("#decoder", decoder)
        visitor.page.wait_for_selector(f"#knob-{decoder}-{knobs[0]}", state="visible")
        assert visitor.page.evaluate(FIRST_KNOBS, decoder) == knobs


def test_a_model_without_depths_is_refused_in_one_sentence_and_the_form_stays(
    visitor: Visitor,
) -> None:
    visitor.choose("#decoder", "das_wave")
    visitor.fill("toy", "This is the house", 24)
    before = visitor.form()
    line = visitor.to_end()
    assert line == (
        "The decoder das_wave guesses with fewer iterations of a shared block, and toy has none, "
        "its layers run once each: choose a recurrent-depth model."
    )
    assert visitor.form() == before
    assert visitor.page.input_value("#decoder input") == "das_wave"
    assert visitor.page.locator("#run").is_enabled()


def test_charts_of_waves_show_with_a_run_that_has_them(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    assert page.locator("#charts-wave").is_hidden()
    path = tmp_path / "wave.jsonl.gz"
    save(path, small_wave().events)
    with page.expect_file_chooser() as asked:
        page.get_by_role("button", name="Open a trace file").click()
    asked.value.set_files(path)
    page.wait_for_selector("#charts-wave #chart-wave-ends .plotly", state="visible")
    said = page.locator("#chart-wave-work").text_content() or ""
    assert "arithmetic" in said and " 31.2" in said
    assert "settled (2)" in (page.locator("#chart-wave-ends").text_content() or "")
    page.get_by_role("tab", name="Refused guesses").click()
    visitor.wait("document.querySelector('#rejects').innerText.includes('the wave')")
    heads = page.locator("#rejects th").all_inner_texts()
    assert "right in rounds" in " ".join(heads) and "memory knew" not in " ".join(heads)
    visitor.choose("#which", "an earlier round had it right")
    visitor.wait("document.querySelector('#rejects-said').innerText.includes('1 of 2')")
    page.locator("#gallery button").first.click()
    page.wait_for_selector("#charts-wave", state="hidden")
