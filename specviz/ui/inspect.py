"""The tabs that say why guesses failed: refused guesses, what was cut, the memory, many runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.catalog import text
from specviz.trace import Trace, TraceError
from specviz.tracefile import load
from specviz.ui.address import shortened
from specviz.ui.blocks import plain
from specviz.ui.examples import Example
from specviz.ui.visit import Desk, Visit
from specviz.views import candidates, inspector, rejects, report, report_words
from specviz.views.report import Group

KEEP = gr.skip()
MOST_ROWS = 500  # that a table on the page shows; the CSV files hold all
MOST_FILES = 50
BY = tuple(by for by in report.BY if by != "category")  # which a trace does not tell
WIDTHS = (70, 170, 320, 90, 150, 100, 90, 80, 110, 220)  # of the memory's columns
# From the number of a step, from 1: show it, and the player with it.
JUMP = """(step) => {
  const stage = document.querySelector('#player');
  const player = [...stage.querySelectorAll('*')].find((e) => e.specviz);
  if (!player || !step) return;
  player.specviz.seekStep(step - 1);
  const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
  stage.scrollIntoView({ block: 'start', behavior: calm ? 'auto' : 'smooth' });
}"""
Titles = tuple[list[str], list[list[str | int | float]]]


@dataclass(frozen=True)
class Pane:
    """One tab: its filters, what it shows, and from the values of the one to those of the other."""

    name: str
    tab: gr.Tab
    filters: list[Any]
    outputs: list[Any]
    fill: Callable[..., tuple[Any, ...]]


@dataclass(frozen=True)
class Inspect:
    """What the tabs show of the run on the page. ``recorded``: what the examples count up to."""

    desk: Desk
    examples: tuple[Example, ...]
    lang: str
    recorded: dict[str, list[Group]] = field(default_factory=dict)

    def trace(self, visit: Visit) -> Trace:
        """The run that the page shows; an empty trace when there is none."""
        return self.desk.trace(visit.shown) or Trace(())

    def rejects(
        self, visit: Visit, which: str, source: str, lead: float | None, find: str, more: bool
    ) -> tuple[Any, ...]:
        """Sentence and table of the refused guesses."""
        every = rejects.rejects(self.trace(visit))
        rows = rejects.select(every, which, find or "", source, lead or None)
        said = text("ui.rejects.count", self.lang, count=len(every), shown=len(rows))
        titles, cells = rejects.table(rows[:MOST_ROWS], self.lang, more)
        return self._limited(said, rows), self._table(titles, cells)

    def candidates(self, visit: Visit, which: str, find: str) -> tuple[Any, ...]:
        """Sentence and table of what memory offered."""
        every = candidates.candidates(self.trace(visit))
        rows = candidates.select(every, which, find or "")
        right = len(candidates.select(every, "right"))
        cut = len(candidates.select(every, "cut"))
        said = text("ui.candidates.count", self.lang, offered=len(every), cut=cut, count=right)
        titles, cells = candidates.table(rows[:MOST_ROWS], self.lang)
        return self._limited(said, rows), self._table(titles, cells)

    def memory(self, visit: Visit, level: int, which: str, find: str) -> tuple[Any, ...]:
        """Sentence and table of the rows that the memories held."""
        trace = self.trace(visit)
        memories = inspector.inspect(trace)
        rows = inspector.select(memories.rows, trace.pieces, find or "", level, which)
        said = inspector.sentence(memories, self.lang)
        titles, cells = inspector.table(rows[:MOST_ROWS], trace.pieces, self.lang)
        return self._limited(said, rows), self._table(titles, cells)

    def report(self, visit: Visit, by: str, added: list[Group]) -> tuple[Any, ...]:
        """Sentences, picture and table about all runs of the shown decoder."""
        run = self.trace(visit).run("decoder")
        decoder = run.header.decoder if run else ""
        groups = report.pool([*self._recorded(decoder), *self._own(visit), *added])
        mine = next((g for g in groups if g.decoder == decoder), None)
        said: list[str] = []
        for group in sorted(groups, key=lambda g: g is not mine):
            said += [report_words.heading(group, self.lang)]
            if group is mine:
                said += report_words.figures(group, self.lang)
                said += [report_words.ending(group, self.lang)]
                said += [report_words.unknown(group, self.lang)]
        picture = report_words.picture(mine, by, self.lang)
        titles, cells = ([""], []) if mine is None else report_words.table(mine, by, self.lang)
        return "\n".join(filter(None, said)), picture, self._table(titles, cells)

    def _recorded(self, decoder: str) -> list[Group]:
        found: list[Group] = []
        for example in self.examples:
            if example.decoder != decoder:
                continue
            if example.name not in self.recorded:
                try:
                    self.recorded[example.name] = report.report([(example.title, example.trace)])
                except TraceError:  # its card says so
                    self.recorded[example.name] = []
            found += self.recorded[example.name]
        return found

    def _own(self, visit: Visit) -> list[Group]:
        """The run on the page, unless it is one of the examples."""
        if visit.shown.startswith("example-"):
            return []
        return report.report([(text("ui.report.own", self.lang), self.trace(visit))])

    def add(
        self, paths: Sequence[str] | None, added: list[Group]
    ) -> tuple[list[Group], str, Any]:
        """The groups of more trace files, what is wrong with some, whether to offer Clear."""
        found, wrong = list(added), []
        for path in (paths or ())[:MOST_FILES]:
            name = shortened(Path(path).name)
            try:
                found += report.report([(name, load(path))])
            except TraceError as error:
                wrong.append(f"{name}: {error}")
        if len(paths or ()) > MOST_FILES:
            wrong.append(text("ui.report.files", self.lang, most=MOST_FILES))
        return found, "\n".join(wrong), gr.update(visible=bool(found))

    def _limited(self, said: str, rows: Sequence[Any]) -> str:
        if len(rows) <= MOST_ROWS:
            return said
        return said + " " + text("ui.table.limit", self.lang, most=MOST_ROWS, count=len(rows))

    @staticmethod
    def _table(titles: list[str], cells: list[list[str | int | float]]) -> dict[str, Any]:
        return {"headers": titles, "data": cells}


# The tabs


def inspect_tabs(inspect: Inspect) -> list[Pane]:
    """The tabs, to be called inside ``gr.Tabs``."""
    return [_rejects(inspect), _candidates(inspect), _memory(inspect), _report(inspect)]


def _choices(keys: Sequence[tuple[str, Any]], lang: str) -> list[tuple[str, Any]]:
    return [(text(key, lang), value) for key, value in keys]


def _note(key: str, lang: str) -> None:
    gr.Markdown(text(key, lang), elem_classes="sv-chart-note")


def _grid(name: str, widths: Sequence[int] | None = None) -> gr.Dataframe:
    """A table; ``widths`` of its columns in pixels, where its cells alone would not do."""
    return gr.Dataframe(
        interactive=False, max_height=420, datatype="str", elem_id=name, show_label=False,
        buttons=[], wrap=True, column_widths=None if widths is None else list(widths),
    )  # fmt: skip


def _rejects(inspect: Inspect) -> Pane:
    lang = inspect.lang
    with gr.Tab(text("ui.tab.rejects", lang)) as tab:
        _note("ui.rejects.about", lang)
        with gr.Row(elem_classes="sv-filters"):
            names = [(f"ui.rejects.{name}", name) for name in ("all", "known", "unknown")]
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
                0, label=text("ui.rejects.lead", lang), minimum=0, step=0.1, elem_id="lead"
            )
            find = gr.Textbox(label=text("ui.rejects.find", lang), elem_id="find")
            more = gr.Checkbox(False, label=text("ui.rejects.more", lang), elem_id="more")
        said, table = plain(elem_id="rejects-said"), _grid("rejects")
        _jump(table, lang, _first_cell)
    return Pane("rejects", tab, [which, source, lead, find, more], [said, table], inspect.rejects)


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
        said, table = plain(elem_id="candidates-said"), _grid("candidates")
        _jump(table, lang, _first_cell)
    return Pane("candidates", tab, [which, find], [said, table], inspect.candidates)


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
        said, table = plain(elem_id="memory-said"), _grid("memory-rows", WIDTHS)
        _jump(table, lang, _memory_cell)
    return Pane("memory", tab, [level, which, find], [said, table], inspect.memory)


def _report(inspect: Inspect) -> Pane:
    lang = inspect.lang
    with gr.Tab(text("ui.tab.report", lang)) as tab:
        _note("ui.report.about", lang)
        added = gr.State([])
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
        said = plain(elem_id="report-said")
        picture = gr.Plot(show_label=False, elem_id="chart-report")
        table = _grid("report")
    at_once: Any = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    files.upload(inspect.add, [files, added], [added, wrong, clear], **at_once)
    clear.click(
        lambda: ([], "", gr.update(visible=False)), None, [added, wrong, clear], **at_once
    )
    return Pane("report", tab, [by, added], [said, picture, table], inspect.report)


# Wiring


def wire_panes(
    inspect: Inspect,
    panes: Sequence[Pane],
    visit: gr.State,
    failed: Callable[[Exception], str],
    status: gr.HTML,
) -> dict[str, Any]:
    """Fill a tab when it is opened and when its filters change; returns the event that fills the
    open one once the page shows another run. ``failed`` makes a status of an error."""
    at_once: Any = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}

    def filling(pane: Pane) -> Callable[..., tuple[Any, ...]]:
        def fill(visit: Visit, *values: Any) -> tuple[Any, ...]:
            visit.pane = pane.name
            try:
                return *pane.fill(visit, *values), KEEP
            except Exception as error:
                return *(KEEP,) * len(pane.outputs), failed(error)

        return fill

    for pane in panes:
        inputs, outputs = [visit, *pane.filters], [*pane.outputs, status]
        pane.tab.select(filling(pane), inputs, outputs, **at_once)
        for part in pane.filters:
            part.change(filling(pane), inputs, outputs, **at_once)

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
        **at_once,
    }


# Show a step in the player


def _jump(table: gr.Dataframe, lang: str, step_of: Callable[[gr.SelectData], int]) -> None:
    """Under a table: a button that shows the step of the row that was chosen."""
    step = gr.Number(0, visible=False)
    button = gr.Button(
        text("ui.jump.none", lang), size="sm", interactive=False, elem_classes="sv-jump"
    )

    def choose(event: gr.SelectData) -> tuple[int, Any]:
        found = step_of(event)
        label = text("ui.jump", lang, step=found) if found else text("ui.jump.none", lang)
        return found, gr.update(value=label, interactive=found > 0)

    at_once: Any = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
    table.select(choose, None, [step, button], **at_once)
    button.click(None, step, js=JUMP, **at_once)


def _first_cell(event: gr.SelectData) -> int:
    """The step that a row begins with."""
    return _number((event.row_value or [""])[0])


def _memory_cell(event: gr.SelectData) -> int:
    """Where a row of the memory was asked first, when that is what was chosen, else written."""
    row = dict(zip(inspector.SHOWN, event.row_value or (), strict=False))
    asked = _number(re.split("[ ✓×]", str(row.get("steps", "")))[0])
    column = event.index[1] if isinstance(event.index, (list, tuple)) else 0
    written = _number(row.get("written", ""))
    return asked if inspector.SHOWN[column] == "steps" else written or asked


def _number(cell: object) -> int:
    try:
        return max(0, int(str(cell)))
    except ValueError:
        return 0
