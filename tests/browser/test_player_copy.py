"""What is copied out of the player is what the model wrote, without the marks that show it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from player_traces import PIECES, hostile_trace
from playwright.sync_api import Page

from specviz import player
from specviz.trace import Trace

OVERRIDE = "\u202e"  # shown by its name and never let into the page, so not copied either
SELECTED = """(name) => {
  const find = (root) => root.querySelector(name) ?? [...root.querySelectorAll('*')]
    .map((e) => e.shadowRoot && find(e.shadowRoot)).find(Boolean);
  const selection = getSelection();
  selection.selectAllChildren(find(document));
  return selection.toString();
}"""


def written(trace: Trace, steps: int) -> str:
    """The raw text of the first ``steps`` steps."""
    run = trace.run("decoder")
    assert run is not None and run.prefill is not None
    tokens = [run.prefill.token, *(t for s in run.steps[:steps] for t in s.emitted)]
    return b"".join(PIECES[t] for t in tokens).decode().replace(OVERRIDE, "")


def test_copying_gives_the_raw_text(open_page: Callable[..., Page], tmp_path: Path) -> None:
    trace = hostile_trace()
    path = tmp_path / "run.html"
    path.write_text(player.export_html(trace, start_step=4), "utf-8")
    page = open_page(path.as_uri(), offline=True)
    page.locator(".chip").first.wait_for()
    page.locator("section.sv").focus()
    page.keyboard.press("End")
    copied = page.evaluate(SELECTED, ".flow")
    run = trace.run("decoder")
    assert run is not None
    assert copied == written(trace, len(run.steps))
    for raw in ("&lt; the", "<end>\n\n\t <end>", "`\\u", "</script>", "\U0001f44d\U0001f3fd word1"):
        assert raw in copied
    assert not set("␠↵⇥") & set(copied)


def test_only_what_is_shown_is_copied(open_page: Callable[..., Page], tmp_path: Path) -> None:
    trace = hostile_trace()
    path = tmp_path / "run.html"
    path.write_text(player.export_html(trace, start_step=1), "utf-8")
    page = open_page(path.as_uri(), offline=True)
    page.locator(".chip").first.wait_for()
    assert page.locator(".step-of").inner_text().startswith("step 2 of")
    assert page.evaluate(SELECTED, ".flow") == written(trace, 2)
