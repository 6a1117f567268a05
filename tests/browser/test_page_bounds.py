"""What the page refuses, shows literally, and keeps apart."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from specviz.tracefile import load
from specviz.views.rejects import rejects
from specviz.views.tokens import show
from tests.made_pdf import pdf

from .patience import PATIENCE
from .serve import HOSTILE
from .visitor import Enter, Visitor

# What the player's fetchEvents does, without the player.
FETCH = """((run) => {
  const { components } = window.gradio_config;
  const id = components.find((c) => c.props.elem_id === 'player').id;
  return fetch(new URL('gradio_api/component_server', location.href), {
    method: 'POST', headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ session_hash: 'test', component_id: id, fn_name: 'get_events',
      data: [run, 0] }),
  }).then((r) => r.json());
})"""


# Errors


def test_what_cannot_run_is_said_in_one_sentence_and_the_form_stays(visitor: Visitor) -> None:
    cases: list[tuple[str, str, int | str, str]] = [
        ("toy", "   ", 24, "The prompt is empty: write something to continue."),
        ("no-such", "hello", 24, "There is no model 'no-such': choose "),
        ("toy", "This is", 0, "Max new tokens has to be a whole number from 1 on."),
        ("toy", "This is", 1.5, "Max new tokens has to be a whole number from 1 on."),
        ("small", "This is the house that Jack built. " * 9, 24, "The prompt has "),
        ("<b>x</b>${alert(1)}`", "hello", 24, "There is no model '<b>x</b>${alert(1)}`': choose "),
        ("broken", "hello", 24,
         "Something went wrong inside specviz; the log has the details."),
    ]  # fmt: skip
    for model, prompt, tokens, sentence in cases:
        visitor.fill(model, prompt, tokens)
        before = visitor.form()
        visitor.run()
        visitor.page.wait_for_function(
            "(s) => document.querySelector('#status').innerText.includes(s)", arg=sentence
        )
        kind, line = visitor.status()
        assert kind == "error" and line.startswith(sentence) and "\n" not in line
        assert visitor.form() == before == (model, prompt, str(tokens))
        visitor.page.wait_for_selector("#run:enabled")
        assert visitor.page.locator("#stop").is_hidden()
        assert visitor.state()["run"] == "example-rhyme"
    assert visitor.page.locator("#status b").count() == 0


def test_a_knob_out_of_range_is_said(visitor: Visitor) -> None:
    visitor.fill("toy", "This is", 24)
    box = visitor.page.locator("#knob-recap-nodes input[type=number]")
    box.fill("500")
    visitor.page.evaluate("document.querySelector('#run').click()")  # before the box corrects it
    assert visitor.said("error") == (
        "nodes cannot be 500: give a whole number from 0 to 96."
    )


def test_documents_and_traces_that_cannot_be_read_are_said(
    visitor: Visitor, tmp_path: Path
) -> None:
    binary, text, damaged, newer = (
        tmp_path / n for n in ("a<b>.bin", "tea.txt", "cut.jsonl.gz", "new.jsonl")
    )
    binary.write_bytes(bytes(range(256)) * 40)
    text.write_text("This is the house that Jack built.\n", "utf-8")
    damaged.write_bytes(b"\x1f\x8b" + b"nonsense" * 20)
    newer.write_text('{"type": "header", "trace_schema": 99}\n', "utf-8")
    visitor.fill("toy", "unused", 12)
    visitor.page.get_by_role("tab", name="Document").click()
    visitor.page.fill("#question textarea", "This is")
    visitor.run()
    assert visitor.said("error") == "There is no document: choose a text or PDF file."
    visitor.page.set_input_files("#document input[type=file]", binary)
    visitor.page.wait_for_selector("#document .file-preview")
    # Said beside the field as soon as it is there, and once more when it is to be run.
    beside = visitor.page.locator("#document-line .sv-status[data-kind=error]")
    beside.wait_for()
    assert "holds NUL bytes, so it is binary" in beside.inner_text()
    visitor.run()
    visitor.page.wait_for_function(
        "() => document.querySelector('#status').innerText.includes('NUL')"
    )
    assert visitor.status()[1].endswith(
        "holds NUL bytes, so it is binary or UTF-16 without its mark: save it as UTF-8 text."
    )
    assert visitor.page.input_value("#question textarea") == "This is"
    visitor.page.get_by_label("Clear").first.click()
    visitor.page.set_input_files("#document input[type=file]", text)
    visitor.page.wait_for_selector("#document .file-preview")
    assert visitor.to_end().startswith("12 tokens in ")
    kept = visitor.state()["run"]
    for path, sentence in (
        (damaged, "This trace file is damaged: it cannot be decompressed."),
        (newer, "This trace has schema 99, this version reads schemas 1 and 2: open it with the "
                "specviz version that wrote it."),
    ):  # fmt: skip
        with visitor.page.expect_file_chooser() as asked:
            visitor.page.click("#upload")
        asked.value.set_files(path)
        visitor.page.wait_for_function(
            "(s) => document.querySelector('#status').innerText.includes(s)", arg=sentence[:30]
        )
        assert visitor.status() == ("error", sentence)
        assert visitor.state()["run"] == kept


def test_a_pdf_is_read_when_it_is_dropped_and_what_was_cut_is_said(
    visitor: Visitor, tmp_path: Path
) -> None:
    scan, house = tmp_path / "scan.pdf", tmp_path / "house.pdf"
    scan.write_bytes(pdf([None]))
    house.write_bytes(pdf(["QWERTZ" * 9] * 30 + ["This is the house that Jack built."]))
    visitor.fill("toy", "unused", 12)
    visitor.page.get_by_role("tab", name="Document").click()
    visitor.page.fill("#question textarea", "This is")
    line = visitor.page.locator("#document-line .sv-status")
    assert not line.is_visible()
    for path, kind, said in (
        (scan, "error", "scan.pdf has no text layer, its pages are pictures: run text recognition "
                        "(OCR) over it first."),
        (house, "done", "house.pdf: 1714 characters. 31 pages read from the PDF."),
    ):  # fmt: skip
        visitor.page.set_input_files("#document input[type=file]", path)
        visitor.page.wait_for_selector(f"#document-line .sv-status[data-kind={kind}]")
        assert line.inner_text().strip() == said
        if kind == "error":
            visitor.page.get_by_label("Clear").first.click()
            line.wait_for(state="hidden")
    assert visitor.page.input_value("#question textarea") == "This is"
    visitor.page.get_by_text("If it is too long").click()
    visitor.choose("#cut", "the end")
    visitor.page.fill("#context input", "60")
    visitor.page.locator("#context input").press("Tab")
    assert visitor.to_end().endswith(
        "Kept the last 44 of the 1688 tokens of the document: prompt and answer have room for 60 "
        "together."
    )


# Text that people, documents and models made


HOVER = "document.querySelector('#chart-accepted .hoverlayer').textContent"


def test_hostile_tokens_are_literal_everywhere(visitor: Visitor) -> None:
    visitor.fill("hostile", "".join(HOSTILE), 90)
    visitor.to_end()
    page = visitor.page
    trace = load(visitor.download("trace"))
    run = trace.run("decoder")
    assert run is not None
    own = "#chart-accepted .trace.bars:nth-child(2) .point"
    visitor.wait(f"document.querySelectorAll('{own}').length === {len(run.steps)}")
    said = ""
    for bar in page.locator(f"{own}:visible").all():
        page.mouse.move(0, 0)
        visitor.wait(f"{HOVER} === ''")
        bar.hover(force=True)
        visitor.wait(f"{HOVER} !== ''")
        said += page.evaluate(HOVER)
    emitted = {show(trace.pieces[t]) for t in run.tokens[1:]}
    assert {"${alert(1)}", "</script>", "`", "\\u", "&lt;", "<b>bold</b>"} <= emitted
    assert [w for w in emitted if w not in said] == []
    expected = rejects(trace)
    assert {"`", "{{x}}", "<b>bold</b>", "&lt;"} <= {r.guess for r in expected}
    page.get_by_role("tab", name="Refused guesses").click()
    row = page.locator("#rejects [role=row]:has([role=gridcell]):visible")
    row.filter(has_text=expected[0].wanted).first.wait_for()
    shown = [r.locator("[role=gridcell]").all_inner_texts() for r in row.all()]
    for cells, fact in zip(shown, expected, strict=False):
        assert [cells[1].strip(), cells[4].strip()] == [fact.guess, fact.wanted]
    page.fill("#find textarea, #find input", "<b>bold</b>")
    row.filter(has_text="{{x}}").filter(has_not_text="<b>bold</b>").first.wait_for(state="hidden")
    assert row.count() > 0
    assert [r for r in row.all_inner_texts() if "<b>bold</b>" not in r] == []
    assert page.locator("img[src=x], #rejects b, #card b, .hoverlayer b").count() == 0
    html = visitor.download("html").read_text("utf-8")
    assert "<img src=x" not in html and "\\u003cimg src=x onerror=alert(1)\\u003e" in html
    csv = visitor.download("csv").read_text("utf-8-sig")
    assert "<b>bold</b>" in csv and "\n=" not in csv and ",=" not in csv


# Two tabs


def test_two_tabs_see_neither_memory_nor_runs_of_each_other(
    enter: Enter, visitor: Visitor
) -> None:
    other = enter()
    for visit in (visitor, other):
        visit.page.get_by_text("Memory between runs").click()
        visit.page.wait_for_selector("#scope-line")
    empty = "Scope “default” holds 0 rows, 0 kB."
    visitor.fill("toy", "This is the house that Jack built.\nThis is", 40)
    visitor.to_end()
    visitor.wait("!document.querySelector('#scope-line').innerText.includes(' 0 rows')")
    held = visitor.page.inner_text("#scope-line")
    assert re.fullmatch(r"Scope “default” holds [1-9]\d* rows, \d+ kB\.", held)
    assert other.page.inner_text("#scope-line") == empty
    near = f"Memory: {re.findall(r'[0-9]+', held)[0]} rows of scope “default”"
    visitor.wait(f"document.querySelector('#memory-next').innerText === {near!r}")
    assert other.page.inner_text("#memory-next") == "Memory: 0 rows of scope “default”"

    other.fill("toy", "This is the house that Jack built.\nThis is", 40)
    other.to_end()
    for visit, rows in ((other, 0), (visitor, 0)):
        header = load(visit.download("trace")).run("decoder")
        assert header is not None and header.header.memory_rows == rows
    visitor.to_end()
    again = load(visitor.download("trace")).run("decoder")
    assert again is not None and again.header.memory_rows > 0

    mine, theirs = visitor.state()["run"], other.state()["run"]
    assert mine != theirs and len(mine) > 20
    visitor.page.fill("#scope input, #scope textarea", "<i>second</i>")
    visitor.wait("document.querySelector('#scope-line').innerText.includes('second')")
    assert visitor.page.inner_text("#scope-line") == "Scope “<i>second</i>” holds 0 rows, 0 kB."
    visitor.page.fill("#scope input, #scope textarea", "")
    visitor.wait("document.querySelector('#scope-line').innerText.includes('default')")
    assert visitor.page.inner_text("#scope-line") != empty
    visitor.page.click("#memory-clear")
    visitor.wait("document.querySelector('#scope-line').innerText.includes(' 0 rows')")


def test_a_closed_tab_leaves_no_trace_behind(
    enter: Enter, visitor: Visitor
) -> None:
    other = enter()
    other.fill("quick", "go w1", 12)
    other.to_end()
    run = other.state()["run"]
    fetch = f"async (run) => (await {FETCH}(run)).length"
    assert other.page.evaluate(fetch, run) == other.state()["events"]
    other.page.close()
    deadline = time.monotonic() + PATIENCE
    while visitor.page.evaluate(fetch, run) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert visitor.page.evaluate(fetch, run) == 0
    assert visitor.page.evaluate(fetch, "example-rhyme") > 0
    assert visitor.page.evaluate(fetch, json.dumps({"x": 1})) == 0


@pytest.mark.parametrize("lang", ["", "ru"])
def test_a_file_that_is_too_large_is_refused_before_it_travels(
    enter: Enter, tmp_path: Path, lang: str
) -> None:
    visitor = enter(lang)
    page = visitor.page
    words = {
        "": "huge.jsonl is larger than the limit of 32 MB: choose a smaller file.",
        "ru": "huge.jsonl: файл больше предельных 32 МБ. Выберите файл меньше.",
    }[lang]
    huge = tmp_path / "huge.jsonl"
    with huge.open("wb") as file:
        file.truncate((32 << 20) + 1)
    sent: list[str] = []
    page.on("request", lambda asked: sent.append(asked.url) if "/upload" in asked.url else None)
    kept = visitor.state()["run"]
    with page.expect_file_chooser() as asked:
        page.click("#upload")
    asked.value.set_files(huge)
    visitor.until(visitor.status, ("error", words))
    page.locator("#controls [role=tab]").nth(1).click()
    page.set_input_files("#document input[type=file]", tmp_path / "huge.jsonl")
    visitor.until(visitor.status, ("error", words))
    dropped = page.evaluate(
        """(size) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(size)], 'dropped.txt'));
          const zone = document.querySelector('#document input[type=file]').parentElement;
          const event = { bubbles: true, cancelable: true, dataTransfer: data };
          return zone.dispatchEvent(new DragEvent('drop', event));
        }""",
        (32 << 20) + 1,
    )
    assert dropped is False, "the browser must not open it"
    visitor.until(visitor.status, ("error", words.replace("huge.jsonl", "dropped.txt")))
    assert sent == [] and visitor.state()["run"] == kept
    assert page.locator("#document .file-preview").count() == 0
