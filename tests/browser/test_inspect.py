"""The tabs that say why guesses failed, on the real page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError

from specviz.trace import Trace
from specviz.tracefile import load, save
from specviz.views import candidates, inspector, memory_table, rejects, report, report_words

from .patience import PATIENCE
from .visitor import STATE, Enter, Visitor

TEA = Path(__file__).parents[2] / "examples" / "tea.jsonl.gz"


def tab(visitor: Visitor, name: str) -> None:
    visitor.page.get_by_role("tab", name=name, exact=True).click()


def cells(visitor: Visitor, table: str) -> list[list[str]]:
    """The texts of a table's rows that are on the page now."""
    visitor.wait(f"document.querySelector('{table} [role=gridcell]')?.innerText.trim()")
    rows = visitor.page.locator(f"{table} [role=row]:has([role=gridcell]):visible").all()
    found = [[c.strip() for c in r.locator("[role=gridcell]").all_inner_texts()] for r in rows]
    return [row for row in found if any(row)]


def until(visitor: Visitor, table: str, text: str, column: int) -> None:
    """Wait until the first row shows ``text``."""
    cell = f"document.querySelectorAll('{table} [role=gridcell]')[{column}]"
    visitor.wait(f"{cell}?.innerText.trim() === {text!r}")


def hand_in(visitor: Visitor, button: str, *files: Path) -> None:
    with visitor.page.expect_file_chooser() as chooser:
        visitor.page.click(button)
    chooser.value.set_files(files)


def show_step(visitor: Visitor, table: str, column: int, step: int) -> None:
    """Choose the first row by a cell of it, and show its step in the player.

    A table that is filled anew just then loses what was chosen in it, so it is chosen again; a cell
    that is chosen already says nothing more, so the one before it comes first.
    """
    places = visitor.page.locator(f"{table} [role=gridcell]:visible")
    button = visitor.page.get_by_role("button", name=f"Show step {step} in the player")
    for patience in (5, 10, 20, PATIENCE):
        places.nth(column - 1).click()
        places.nth(column).click()
        try:
            button.wait_for(timeout=1000 * patience)
            break
        except TimeoutError:
            continue
    button.click()
    visitor.wait(f"{step} === {state_step()}")


@pytest.fixture
def recorded(visitor: Visitor) -> Trace:
    """A recorded run with something to refuse, on the page."""
    hand_in(visitor, "#upload", TEA)
    visitor.said("done")
    return load(TEA)


def test_refused_guesses_are_filtered_sorted_and_shown_in_the_player(
    visitor: Visitor, recorded: Trace
) -> None:
    page = visitor.page
    facts = rejects.rejects(recorded)
    tab(visitor, "Refused guesses")
    until(visitor, "#rejects", facts[0].guess, 1)
    said = f"{len(facts)} of {len(facts)} refused guesses."
    visitor.until(lambda: page.inner_text("#rejects-said").strip(), said)
    visitor.choose("#source", "L1")
    level1 = rejects.select(facts, source="level1")
    assert 0 < len(level1) < len(facts)
    said = f"{len(level1)} of {len(facts)} refused guesses."
    visitor.wait(f"document.querySelector('#rejects-said').innerText.trim() === {said!r}")
    visitor.until(lambda: {row[2] for row in cells(visitor, "#rejects")}, {"L1"})
    page.check("#more input")
    visitor.wait("document.querySelector('#rejects').innerText.includes('row written by')")
    bound = sorted(r.margin for r in level1)[len(level1) // 2]
    page.fill("#lead input", str(bound))
    few = rejects.select(level1, hesitant=bound)
    said = f"{len(few)} of {len(facts)} refused guesses."
    visitor.wait(f"document.querySelector('#rejects-said').innerText.trim() === {said!r}")
    visitor.until(
        lambda: cells(visitor, "#rejects")[0][:2], [str(few[0].step), few[0].guess]
    )
    # Sorted by the step, the last first, whatever the server sent.
    steps = sorted({r.step for r in few}, reverse=True)
    title = page.locator("#rejects [role=columnheader]:visible").first
    title.hover()
    title.locator(".cell-menu-button").click()
    page.get_by_role("menuitem", name="Sort descending").click()
    until(visitor, "#rejects", str(steps[0]), 0)
    wanted = sorted((r.step for r in few), reverse=True)

    def sorted_rows() -> bool:
        shown = [int(row[0]) for row in cells(visitor, "#rejects")]
        return bool(shown) and shown == wanted[: len(shown)]

    visitor.until(sorted_rows, True)
    show_step(visitor, "#rejects", 1, steps[0])


def state_step() -> str:
    return f"({STATE}.step + 1)"


def test_what_memory_offered_and_would_have_been_right(visitor: Visitor, recorded: Trace) -> None:
    offers = candidates.candidates(recorded)
    right, cut = candidates.select(offers), candidates.select(offers, "cut")
    tab(visitor, "What memory offered")
    until(visitor, "#candidates", str(right[0].step), 0)
    visitor.until(
        lambda: [(row[3], row[7], row[8]) for row in cells(visitor, "#candidates")[: len(right)]],
        [(r.candidate, candidates.table([r])[1][0][7], "yes") for r in right],
    )
    said = (
        f"{len(offers)} candidates were offered, {len(cut)} of them cut; {len(right)} of those "
        "would have been right."
    )
    visitor.until(lambda: visitor.page.inner_text("#candidates-said").strip()[: len(said)], said)


def test_the_memory_shows_the_rows_that_refused_branches_wrote(
    visitor: Visitor, recorded: Trace
) -> None:
    memories = inspector.inspect(recorded)
    rows = memory_table.select(memories.rows, recorded.pieces, which="recycled")
    assert rows
    tab(visitor, "Memory")
    said = memory_table.sentence(memories)
    visitor.wait(f"document.querySelector('#memory-said').innerText.includes({said!r})")
    visitor.choose("#memory-which", "that a refused branch wrote, and that were right")
    expected = [[str(c) for c in row] for row in memory_table.table(rows, recorded.pieces)[1]]
    until(visitor, "#memory-rows", expected[0][1], 1)

    def first_rows() -> bool:  # what lies further down is drawn when scrolled to
        shown = cells(visitor, "#memory-rows")
        return len(shown) > 5 and shown == expected[: len(shown)]

    visitor.until(first_rows, True)
    # The column of the steps in which a row was asked leads to the first of those.
    show_step(visitor, "#memory-rows", 9, rows[0].uses[0].step + 1)


def test_the_report_counts_the_recorded_runs_and_own_files(
    visitor: Visitor, recorded: Trace, tmp_path: Path
) -> None:
    trace, page = recorded, visitor.page
    tab(visitor, "Many runs")
    heading = "recap on smollm2-135m, toy: 3 runs"  # two examples of the toy
    visitor.wait(f"document.querySelector('#report-said').innerText.startsWith({heading!r})")
    titles = visitor.page.locator("#report [role=columnheader]:visible").all_inner_texts()
    titles = [title.split("\n")[0] for title in titles]
    assert titles == ["the token that the model wanted", "walks", "share"]
    shown = {row[0]: int(row[1]) for row in cells(visitor, "#report")}
    (group,) = report.report([("tea", trace)])
    facts = report.buckets(group, "fact")[0].facts
    assert all(
        shown[report_words.fact_name(name)] >= n for name, n in facts.items()
    ), "the toy's runs come on top"
    hostile = tmp_path / "<b>${alert(1)}.jsonl"
    save(hostile, trace.events)
    broken = tmp_path / "broken.jsonl"
    broken.write_text("no trace")
    hand_in(visitor, "#report-add", hostile, broken)
    heading = "recap on smollm2-135m, toy: 4 runs"
    visitor.wait(f"document.querySelector('#report-said').innerText.startsWith({heading!r})")
    assert page.inner_text("#report-wrong").strip() == (
        "broken.jsonl: This is not a trace file, a line is not JSON: choose a file that specviz "
        "wrote."
    )
    visitor.choose("#report-by", "run")
    visitor.wait("document.querySelector('#report').innerText.includes('alert(1)')")
    assert page.locator("#report b, #chart-report b").count() == 0
    page.click("#report-clear")
    heading = "recap on smollm2-135m, toy: 3 runs"
    visitor.wait(f"document.querySelector('#report-said').innerText.startsWith({heading!r})")


def test_the_open_tab_follows_the_run_on_the_page(enter: Enter) -> None:
    visitor = enter()
    tab(visitor, "Memory")
    visitor.wait("document.querySelector('#memory-said').innerText.includes('rows were written')")
    visitor.fill("quick", "one two three", 12)
    visitor.choose("#decoder", "prompt_lookup")
    visitor.to_end()
    said = "This decoder keeps no memory, or nothing has been recorded yet."
    visitor.wait(f"document.querySelector('#memory-said').innerText.trim() === {said!r}")


def test_a_chosen_step_is_forgotten_when_another_run_is_shown(
    visitor: Visitor, recorded: Trace
) -> None:
    tab(visitor, "Refused guesses")
    cells(visitor, "#rejects")
    visitor.page.locator("#rejects [role=gridcell]").first.click()
    jump = visitor.page.locator(".sv-jump:visible")
    visitor.page.wait_for_selector(".sv-jump:visible:not([disabled])")
    visitor.page.click(".sv-card[data-name=odd]")
    visitor.wait(f"{STATE}.run === 'example-odd'")
    visitor.page.wait_for_selector(".sv-jump[disabled]:visible")
    assert jump.is_disabled()
