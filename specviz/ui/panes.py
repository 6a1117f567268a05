"""The tabs that say why guesses failed: guesses refused, guesses offered, memory, many runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.catalog import text
from specviz.ui.blocks import plain, said
from specviz.ui.inspect import KEEP, Inspect
from specviz.ui.visit import Visit
from specviz.views import memory_table, rejects, report

AT_ONCE: dict[str, Any] = {
    "queue": False,
    "show_progress": "hidden",
    "api_visibility": "private",
}
BY = tuple(by for by in report.BY if by != "category")  # which a trace does not tell
# Of columns, in pixels, so that a title is not broken inside a word.
WIDTHS = {
    "rejects": (
        64, 130, 140, 96, 140, 110, 86, 116, 66, 70, 166,
        96, 80, 120, 100, 170, 170, 90, 180, 110,
    ),
    "candidates": (80, 90, 170, 170, 90, 140, 140, 200, 136),
    "memory-rows": (70, 150, 290, 86, 140, 90, 80, 76, 104, 130),
}  # fmt: skip
# From the number of a step, from 1: show it, and the player with it.
JUMP = """(step) => {
  const stage = document.querySelector('#player');
  const player = [...stage.querySelectorAll('*')].find((e) => e.specviz);
  if (!player || !step) return;
  player.specviz.seekStep(step - 1);
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  stage.scrollIntoView({ block: 'start', behavior: calm ? 'auto' : 'smooth' });
}"""


@dataclass(frozen=True)
class Pane:
    """One tab: its filters, what it shows, and from the values of the one to those of the other.

    ``after``: what else has to have happened for it to be filled anew. ``jump``: the step that was
    chosen in its table, and the button that shows it.
    """

    name: str
    tab: gr.Tab
    filters: list[Any]
    outputs: list[Any]
    fill: Callable[..., tuple[Any, ...]]
    after: tuple[Any, ...] = ()
    jump: tuple[Any, ...] = ()


def inspect_tabs(inspect: Inspect) -> list[Pane]:
    """The tabs, to be called inside ``gr.Tabs``."""
    return [_rejects(inspect), _candidates(inspect), _memory(inspect), _report(inspect)]


def _choices(keys: Sequence[tuple[str, Any]], lang: str) -> list[tuple[str, Any]]:
    return [(text(key, lang), value) for key, value in keys]


def _note(key: str, lang: str) -> None:
    gr.Markdown(text(key, lang), elem_classes="sv-chart-note")


def _grid(name: str) -> gr.Dataframe:
    return gr.Dataframe(
        interactive=False, max_height=420, datatype="str", elem_id=name, show_label=False,
        buttons=[], wrap=True, column_widths=list(WIDTHS.get(name, ())) or None,
    )  # fmt: skip


def _rejects(inspect: Inspect) -> Pane:
    lang = inspect.lang
    with gr.Tab(text("ui.tab.rejects", lang)) as tab:
        _note("ui.rejects.about", lang)
        with gr.Row(elem_classes="sv-filters"):
            kinds = ("all", "known", "unknown", "lost", "never", "depends", "independent")
            names = [(f"ui.rejects.{name}", name) for name in kinds]
            names += [(f"view.cut.{name}", name) for name in rejects.CUTS]
            which = gr.Dropdown(
                _choices(names, lang), value="all", label=text("ui.rejects.which", lang),
                elem_id="which",
            )  # fmt: skip
            sources = [(text("ui.filter.any", lang), "all")]
            sources += [(rejects.source_name(s, lang), s) for s in rejects.SOURCES]
            source = gr.Dropdown(
                sources, value="all", label=text("ui.rejects.source", lang), elem_id="source"
            )
            lead = gr.Number(
                0, label=text("ui.rejects.lead", lang), step=0.1, elem_id="lead"
            )
            find = gr.Textbox(label=text("ui.rejects.find", lang), elem_id="find")
            more = gr.Checkbox(False, label=text("ui.rejects.more", lang), elem_id="more")
        words, table = plain(elem_id="rejects-said"), _grid("rejects")
        jump = _jump(table, lang, _first_cell)
    filters = [which, source, lead, find, more]
    return Pane("rejects", tab, filters, [words, table], inspect.rejects, jump=jump)


def _candidates(inspect: Inspect) -> Pane:
    lang = inspect.lang
    with gr.Tab(text("ui.tab.candidates", lang)) as tab:
        _note("ui.candidates.about", lang)
        with gr.Row(elem_classes="sv-filters"):
            names = [(f"ui.candidates.{name}", name) for name in ("right", "cut", "all")]
            which = gr.Dropdown(
                _choices(names, lang), value="right", label=text("ui.rejects.which", lang),
                elem_id="candidates-which",
            )  # fmt: skip
            find = gr.Textbox(label=text("ui.rejects.find", lang), elem_id="candidates-find")
        words, table = plain(elem_id="candidates-said"), _grid("candidates")
        jump = _jump(table, lang, _first_cell)
    return Pane(
        "candidates", tab, [which, find], [words, table], inspect.candidates, jump=jump
    )


def _memory(inspect: Inspect) -> Pane:
    lang = inspect.lang
    with gr.Tab(text("ui.tab.memory", lang)) as tab:
        _note("ui.memory.about", lang)
        with gr.Row(elem_classes="sv-filters"):
            levels = [(text("ui.filter.any", lang), 0), ("L3", 3), ("L2", 2), ("L1", 1)]
            level = gr.Dropdown(
                levels, value=0, label=text("ui.memory.level", lang), elem_id="memory-level"
            )
            names = [(f"ui.memory.{n}", n) for n in ("all", "used", "recycled", "idle")]
            which = gr.Dropdown(
                _choices(names, lang), value="all", label=text("ui.rejects.which", lang),
                elem_id="memory-which",
            )  # fmt: skip
            find = gr.Textbox(label=text("ui.rejects.find", lang), elem_id="memory-find")
        words, table = plain(elem_id="memory-said"), _grid("memory-rows")
        jump = _jump(table, lang, _memory_cell)
    return Pane("memory", tab, [level, which, find], [words, table], inspect.memory, jump=jump)


def _report(inspect: Inspect) -> Pane:
    lang = inspect.lang
    with gr.Tab(text("ui.tab.report", lang)) as tab:
        _note("ui.report.about", lang)
        added = gr.State({})
        with gr.Row(elem_classes="sv-filters"):
            by = gr.Dropdown(
                [(text(f"ui.report.by.{name}", lang), name) for name in BY], value="fact",
                label=text("ui.report.by", lang), elem_id="report-by",
            )  # fmt: skip
            files = gr.UploadButton(
                text("ui.report.add", lang), type="filepath", file_count="multiple", size="sm",
                elem_id="report-add",
            )  # fmt: skip
            clear = gr.Button(
                text("ui.report.clear", lang), size="sm", visible=False, elem_id="report-clear"
            )
        wrong = plain(elem_id="report-wrong")
        words = plain(elem_id="report-said")
        picture = gr.Plot(show_label=False, elem_id="chart-report")
        table = _grid("report")
    handed = files.upload(inspect.add, [files, added], [added, wrong, clear], **AT_ONCE)
    cleared = clear.click(
        lambda: ({}, "", gr.update(visible=False)), None, [added, wrong, clear], **AT_ONCE
    )
    return Pane(
        "report", tab, [by, added], [words, picture, table], inspect.report, (handed, cleared)
    )


# Wiring


def wire_panes(
    inspect: Inspect,
    panes: Sequence[Pane],
    visit: gr.State,
    failed: Callable[[Exception], str],
    status: gr.HTML,
    shown: gr.HTML,
) -> dict[str, Any]:
    """Fill a tab when it is opened and when its filters change; returns the event that fills the
    open one once the page shows another run. ``failed`` makes a status of an error; ``shown``
    changes whenever another run is shown."""
    def filling(pane: Pane) -> Callable[..., tuple[Any, ...]]:
        def fill(visit: Visit, *values: Any) -> tuple[Any, ...]:
            visit.pane = pane.name
            try:
                return *pane.fill(visit, *values), KEEP
            except Exception as error:
                line = failed(error)
                return *emptied(pane.outputs, said(line)), line

        return fill

    for pane in panes:
        inputs, outputs = [visit, *pane.filters], [*pane.outputs, status]
        pane.tab.select(filling(pane), inputs, outputs, **AT_ONCE)
        for event in pane.after:
            event.then(filling(pane), inputs, outputs, **AT_ONCE)
        for part in pane.filters:
            if isinstance(part, gr.State):
                continue
            part.change(filling(pane), inputs, outputs, **AT_ONCE)

    jumps = [part for pane in panes for part in pane.jump]
    shown.change(
        lambda: [value for pane in panes if pane.jump for value in nowhere(inspect.lang)],
        None, jumps, **AT_ONCE,
    )  # fmt: skip

    def refresh(visit: Visit, *values: Any) -> tuple[Any, ...]:
        shown: list[Any] = []
        line, at = KEEP, 0
        for pane in panes:
            mine = values[at : at + len(pane.filters)]
            at += len(mine)
            if pane.name == visit.pane:
                *found, line = filling(pane)(visit, *mine)
                shown += found
            else:
                shown += (KEEP,) * len(pane.outputs)
        return *shown, line

    return {
        "fn": refresh,
        "inputs": [visit, *(part for pane in panes for part in pane.filters)],
        "outputs": [*(part for pane in panes for part in pane.outputs), status],
        **AT_ONCE,
    }


def emptied(outputs: Sequence[Any], words: str) -> tuple[Any, ...]:
    """What a tab shows when it could not be made: ``words``, and nothing of the run before."""
    return tuple(
        words if isinstance(part, gr.HTML)
        else None if isinstance(part, gr.Plot)
        else {"headers": [""], "data": []}
        for part in outputs
    )  # fmt: skip


# Show a step in the player


def nowhere(lang: str) -> tuple[int, Any]:
    """The values of ``Pane.jump`` while no row is chosen."""
    return 0, gr.update(value=text("ui.jump.none", lang), interactive=False)


def _jump(
    table: gr.Dataframe, lang: str, step_of: Callable[[gr.SelectData], int]
) -> tuple[Any, ...]:
    """Under a table: a button that shows the step of the row that was chosen."""
    step = gr.Number(0, visible=False)
    button = gr.Button(
        text("ui.jump.none", lang), size="sm", interactive=False, elem_classes="sv-jump"
    )

    def choose(event: gr.SelectData) -> tuple[int, Any]:
        found = step_of(event)
        if not found:
            return nowhere(lang)
        return found, gr.update(value=text("ui.jump", lang, step=found), interactive=True)

    table.select(choose, None, [step, button], **AT_ONCE)
    button.click(None, step, js=JUMP, **AT_ONCE)
    return step, button


def _first_cell(event: gr.SelectData) -> int:
    """The step that a row begins with."""
    return _number((event.row_value or [""])[0])


def _memory_cell(event: gr.SelectData) -> int:
    """Where a row of the memory was asked first, when that is what was chosen, else written."""
    row = dict(zip(memory_table.SHOWN, event.row_value or (), strict=False))
    asked = _number(re.split("[ ✓×]", str(row.get("steps", "")))[0])
    column = event.index[1] if isinstance(event.index, (list, tuple)) else 0
    written = _number(row.get("written", ""))
    return asked if memory_table.SHOWN[column] == "steps" else written or asked


def _number(cell: object) -> int:
    try:
        return max(0, int(str(cell)))
    except ValueError:
        return 0
