"""The page in a real browser: first seconds, a live run, Stop, errors, isolation, hostile text."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from specviz.trace import load
from specviz.views.rejects import rejects
from specviz.views.tokens import show

from .serve import HOSTILE

ROOT = Path(__file__).parents[2]
# The player hangs on one of the elements that Gradio puts around it.
PLAYER = "[...document.querySelectorAll('#player *')].find((e) => e.specviz)?.specviz"
STATE = f"({PLAYER}?.state() ?? {{}})"
LONG = "This is the rat that ate the malt that lay in the house that Jack built.\n" * 240


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, int]]:
    """Address and process id of a page with the toys of serve.py."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("serve.py")), str(port)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert process.stdout is not None and process.stdin is not None
    address = process.stdout.readline().strip()
    assert address.startswith("http"), "the page did not start"
    yield address, process.pid
    process.stdin.close()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()


class Visitor:
    """One tab, and what a person does in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.wait(f"{STATE}.events > 0")

    def wait(self, condition: str, seconds: float = 15) -> None:
        self.page.wait_for_function(f"() => {condition}", timeout=1000 * seconds)

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.evaluate(f"() => {STATE}")
        return found

    def status(self) -> tuple[str, str]:
        line = self.page.locator("#status .sv-status")
        return line.get_attribute("data-kind") or "", line.inner_text().strip()

    def said(self, kind: str, seconds: float = 15) -> str:
        self.page.wait_for_selector(f"#status .sv-status[data-kind={kind}]", timeout=1000 * seconds)
        return self.status()[1]

    def fill(self, model: str, prompt: str, tokens: int | str = 24) -> None:
        model_box = self.page.locator("#model input")
        model_box.fill(model)
        model_box.press("Enter")
        self.page.fill("#prompt textarea", prompt)
        self.page.fill("#tokens input", str(tokens))
        self.page.locator("#tokens input").press("Tab")

    def choose(self, which: str, option: str) -> None:
        self.page.click(f"{which} input")
        self.page.get_by_role("option", name=option, exact=True).click()

    def run(self) -> None:
        self.page.click("#run")

    def to_end(self, seconds: float = 30) -> str:
        """Run and wait until it has ended; the status then."""
        self.run()
        self.page.wait_for_selector("#stop", state="visible", timeout=10_000)
        self.page.wait_for_selector("#stop", state="hidden", timeout=1000 * seconds)
        return self.status()[1]

    def form(self) -> tuple[str, str, str]:
        return (
            self.page.input_value("#model input"),
            self.page.input_value("#prompt textarea"),
            self.page.input_value("#tokens input"),
        )

    def download(self, kind: str) -> Path:
        with self.page.expect_download() as waiting:
            self.page.click(f"#takeaway button[data-kind={kind}]")
        return Path(waiting.value.path())


# Opens a tab of its own, at the page's address and a query.
Enter = Callable[..., Visitor]


@pytest.fixture
def enter(open_page: Callable[..., Page], server: tuple[str, int]) -> Enter:
    def enter(query: str = "") -> Visitor:
        return Visitor(open_page(server[0] + query, viewport={"width": 1600, "height": 900}))

    return enter


@pytest.fixture
def visitor(enter: Enter) -> Visitor:
    return enter()


# The first seconds


def test_the_page_opens_on_a_paused_recorded_run_without_weights(
    browser: Browser, server: tuple[str, int]
) -> None:
    limit = float(os.environ.get("SPECVIZ_OPEN_S", "2"))
    spent = []
    for _ in range(3):  # the first visit of a cold server also warms the browser's cache
        context = browser.new_context(viewport={"width": 1280, "height": 720})
        before = time.monotonic()
        page = context.new_page()
        page.goto(server[0])
        visit = Visitor(page)
        spent.append(time.monotonic() - before)
        state = visit.state()
        assert (state["run"], state["playing"]) == ("example-rhyme", False)
        assert state["step"] == state["drawn"] > 0
        assert visit.page.get_by_role("button", name="Play").is_visible()
        assert visit.page.evaluate("document.documentElement.scrollWidth") == 1280
        context.close()
    assert min(spent) < limit
    maps = Path(f"/proc/{server[1]}/maps").read_text()
    assert "numpy" in maps and "libtorch" not in maps


def test_the_address_names_a_run_and_a_step(enter: Enter) -> None:
    visit = enter("?trace=odd&step=5")
    assert (visit.state()["run"], visit.state()["step"]) == ("example-odd", 4)
    unknown = enter("?trace=<b>none</b>&step=x")
    assert unknown.state()["run"] == "example-rhyme"
    assert unknown.said("error") == (
        "There is no recorded run called <b>none</b>: here is the first one."
    )


def test_an_example_is_clicked_and_plays_without_weights(
    visitor: Visitor, server: tuple[str, int]
) -> None:
    card = visitor.page.locator(".sv-card[data-name=odd]")
    assert card.locator(".sv-card-title").inner_text() == "<b>${alert(1)}</b> `"
    assert card.locator(".sv-card-description").inner_text() == "{{x}} &lt; </script>"
    card.click()
    visitor.wait(f"{STATE}.run === 'example-odd'")
    before = visitor.state()["time"]
    visitor.page.get_by_role("button", name="Play").click()
    visitor.wait(f"{STATE}.time > {before + 1}")
    assert card.get_attribute("aria-pressed") == "true"
    visitor.page.click(".sv-card[data-name=gone]")
    assert visitor.said("error") == "This is not a trace file: a line is not JSON."
    assert visitor.state()["run"] == "example-odd"
    assert "libtorch" not in Path(f"/proc/{server[1]}/maps").read_text()


# A run


def test_a_run_grows_on_the_page_and_ends_beside_its_baseline(visitor: Visitor) -> None:
    visitor.fill("slow", "This is the house that", 30)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-rhyme' && {STATE}.events > 3")
    seen = {visitor.state()["events"]}
    while visitor.page.locator("#stop").is_visible():
        seen.add(visitor.state()["events"])
        visitor.page.wait_for_timeout(100)
    assert len(seen) > 5
    assert re.fullmatch(r"30 tokens in \d+ target passes", visitor.said("done"))
    visitor.wait("document.querySelectorAll('.js-plotly-plot').length === 5")
    visitor.page.get_by_role("tab", name="Run card").click()
    card = visitor.page.locator("#card")
    assert "measured after this run: 30 tokens" in card.inner_text()
    trace = load(visitor.download("trace"))
    assert trace.check is not None and trace.check.equal is True
    assert len(trace.events) == visitor.state()["events"]


@pytest.mark.parametrize("part", ["prefill", "decode", "baseline"])
def test_stop_ends_a_run_within_a_step_and_the_next_run_starts(
    visitor: Visitor, part: str
) -> None:
    said = {"prefill": "reading the prompt", "decode": "decoding:", "baseline": "plain decoding:"}
    visitor.fill("slow", LONG if part == "prefill" else "This is the dog that", 40)
    visitor.run()
    visitor.page.wait_for_function(
        "(t) => document.querySelector('#status').innerText.includes(t)", arg=said[part]
    )
    visitor.page.click("#stop")
    before = time.monotonic()
    visitor.page.wait_for_selector("#stop", state="hidden")
    assert time.monotonic() - before < 1.5
    assert visitor.said("done").startswith("Stopped after ")
    trace = load(visitor.download("trace"))
    run = trace.run("baseline" if part == "baseline" else "decoder")
    assert run is not None and run.finish is not None
    assert run.finish.reason == "stopped"
    assert (run.prefill is None) == (part == "prefill")
    assert len(run.tokens) == run.finish.tokens < 40
    visitor.fill("quick", "go w1", 8)
    assert visitor.to_end().startswith("8 tokens in ")


def test_a_run_that_waits_for_the_device_can_be_stopped(
    enter: Enter, visitor: Visitor
) -> None:
    visitor.fill("slow", "This is the cat that", 300)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-rhyme'")
    other = enter()
    other.fill("quick", "go w1", 8)
    other.run()
    assert other.said("busy") == "waiting for the device"
    other.page.click("#stop")
    other.page.wait_for_selector("#stop", state="hidden")
    assert other.status()[1] == "Stopped before it began."
    assert other.state()["run"] == "example-rhyme"
    visitor.page.click("#stop")
    visitor.page.wait_for_selector("#stop", state="hidden")
    assert other.to_end().startswith("8 tokens in ")


def test_a_reload_stops_the_run_and_leaves_a_fresh_page(visitor: Visitor) -> None:
    visitor.fill("slow", "This is the cow with", 300)
    visitor.run()
    visitor.wait(f"{STATE}.run !== 'example-rhyme'")
    visitor.page.reload()
    visitor.wait(f"{STATE}.run === 'example-rhyme'")
    visitor.fill("quick", "go w1", 8)
    # The old run held the device for half a minute, had the reload not ended it.
    assert visitor.to_end(seconds=12).startswith("8 tokens in ")


def test_quick_rounds_lose_no_event_and_update_at_most_ten_times_a_second(
    visitor: Visitor,
) -> None:
    visitor.choose("#decoder", "autoregressive")
    visitor.fill("quick", "go w1", 260)
    visitor.page.evaluate(
        f"""() => {{
          const stage = {PLAYER}, push = stage.push;
          window.pushed = [];
          stage.push = (u) => {{ window.pushed.push(performance.now()); return push(u); }};
        }}"""
    )
    assert visitor.to_end() == "260 tokens in 259 target passes"
    trace = load(visitor.download("trace"))
    total = visitor.state()["events"]
    assert total == len(trace.events) == 2 * (2 + 259) + 3  # two runs with all parts, one check
    assert trace.check is not None and trace.check.equal is True
    times = visitor.page.evaluate("window.pushed")
    # The last update follows its predecessor at once.
    assert len(times) - 1 <= 10 * (times[-1] - times[0]) / 1000 + 1


def test_missing_events_are_fetched_from_the_server(visitor: Visitor) -> None:
    visitor.fill("quick", "go w1", 20)
    visitor.to_end()
    before = visitor.state()
    run, total = before["run"], before["events"]
    lost = {"version": 1, "run_id": run, "first": total, "events": [], "total": total,
            "live": False, "stage": None, "summary": None}  # fmt: skip
    visitor.page.evaluate(
        f"""(lost) => {{
          const stage = {PLAYER};
          stage.load({{ ...lost, events: [], total: 0 }});
          stage.push(lost);
        }}""",
        lost,
    )
    visitor.wait(f"{STATE}.events === {total}")


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
        assert visitor.page.locator("#run").is_enabled()
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
    assert visitor.said("error") == "There is no document: choose a text file."
    visitor.page.set_input_files("#document input[type=file]", binary)
    visitor.page.wait_for_selector("#document .file-preview")
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
        (newer, "This trace has schema 99, this version reads schema 1: open it with the specviz "
                "version that wrote it."),
    ):  # fmt: skip
        with visitor.page.expect_file_chooser() as asked:
            visitor.page.click("#upload")
        asked.value.set_files(path)
        visitor.page.wait_for_function(
            "(s) => document.querySelector('#status').innerText.includes(s)", arg=sentence[:30]
        )
        assert visitor.status() == ("error", sentence)
        assert visitor.state()["run"] == kept


# Text that people, documents and models made


def test_hostile_tokens_are_literal_everywhere(visitor: Visitor) -> None:
    visitor.fill("hostile", "".join(HOSTILE), 90)
    visitor.to_end()
    page = visitor.page
    bars = page.locator("#chart-accepted .trace.bars").nth(1).locator(".point")
    bars.first.wait_for()
    said = ""
    for bar in bars.all():
        bar.hover(force=True)
        page.wait_for_timeout(60)
        said += page.locator("#chart-accepted .hoverlayer").text_content() or ""
    trace = load(visitor.download("trace"))
    run = trace.run("decoder")
    assert run is not None
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
    visitor.page.click("#scope-clear")
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
    deadline = time.monotonic() + 10
    while visitor.page.evaluate(fetch, run) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert visitor.page.evaluate(fetch, run) == 0
    assert visitor.page.evaluate(fetch, "example-rhyme") > 0
    assert visitor.page.evaluate(fetch, json.dumps({"x": 1})) == 0


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
