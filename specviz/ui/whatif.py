"""The tab "What if": repeat the shown run with one thing changed, or set a second trace beside it.

What is shown in the player stays; the device, Stop and the status line are shared with Run.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

import gradio as gr

from specviz.catalog import text
from specviz.compare import compare
from specviz.counterfactual import Outcome, change, offered, run_counterfactual
from specviz.models.base import InputError
from specviz.trace import Event, Trace, TraceError
from specviz.tracefile import load
from specviz.ui.actions import KEEP, Actions
from specviz.ui.address import shortened
from specviz.ui.blocks import plain, said, status
from specviz.ui.lines import stage_line
from specviz.ui.live import INTERVAL, Stage, stage_of
from specviz.ui.trust import check_trusted
from specviz.ui.visit import Live, Visit
from specviz.views import difference
from specviz.views.comparison import lanes

TABLE_ROWS = 2000


@dataclass
class Again(Live):
    """A run of the shown trace with something changed."""

    trace: Trace = field(default_factory=lambda: Trace(()))
    change: str = ""


@dataclass(frozen=True)
class Tab:
    """What stands in the tab."""

    change: gr.Dropdown
    run: gr.Button
    stop: gr.Button
    file: gr.UploadButton
    said: gr.HTML
    plot: gr.Plot
    table: gr.Dataframe

    @property
    def results(self) -> list[Any]:
        """Outputs of a comparison."""
        return [self.said, self.plot, self.table]

    def wire(
        self,
        actions: Actions,
        visit: gr.State,
        busy: list[Any],
        shown: list[Any],
        at_once: dict[str, Any],
        device: dict[str, Any],
    ) -> None:
        """Connect the tab. ``busy``: status, gallery, Run, Stop, Open a trace file; ``shown``: one
        of them changes whenever another run is shown, or that run has ended."""
        handlers = WhatIf(actions)
        gr.on(
            [part.change for part in shown], handlers.offer, visit,
            [self.change, *self.results], **at_once,
        )  # fmt: skip
        outputs = [*busy, self.run, self.stop, self.file]
        begun = self.run.click(
            handlers.begin, [visit, self.change, actions.form.model, actions.form.head],
            [*outputs, *self.results],
            trigger_mode="once", **at_once,
        )  # fmt: skip
        # The Stop on top, too: either ends whatever waits or runs.
        gr.on([self.stop.click, busy[3].click], actions.stop, visit, busy, **at_once).then(
            handlers.stopped, visit, [self.run, self.stop, self.file, self.said], **at_once
        )
        begun.then(
            handlers.run, visit, [*outputs, *self.results], show_progress="hidden",
            api_visibility="private", **device,
        ).then(handlers.settle, visit, outputs, **at_once)  # fmt: skip
        self.file.upload(handlers.beside, [visit, self.file], [busy[0], *self.results], **at_once)


def build_tab(lang: str) -> Tab:
    """Put the tab's contents where one is open now."""
    gr.Markdown(text("ui.whatif.about", lang), elem_classes="sv-chart-note")
    with gr.Row(equal_height=True):
        chosen = gr.Dropdown(
            [], value=None, label=text("ui.whatif.change", lang), scale=4, elem_id="whatif-change"
        )
        run = gr.Button(
            text("ui.whatif.run", lang), variant="primary", min_width=120, elem_id="whatif-run"
        )
        stop = gr.Button(
            text("ui.stop", lang), variant="stop", visible=False, min_width=80,
            elem_id="whatif-stop",
        )  # fmt: skip
        file = gr.UploadButton(
            text("ui.whatif.file", lang), type="filepath", min_width=160, elem_id="whatif-file"
        )
    said = plain(elem_id="whatif-said")
    plot = gr.Plot(show_label=False, visible=False, elem_id="whatif-lanes")
    table = gr.Dataframe(
        interactive=False, max_height=420, datatype="str", elem_id="whatif-table",
        show_label=False, buttons=[], wrap=True, visible=False,
        column_widths=["56px", "110px", "22%", "22%", "40%"],
    )  # fmt: skip
    return Tab(chosen, run, stop, file, said, plot, table)


@dataclass(frozen=True)
class WhatIf:
    """The handlers of the tab. ``busy`` in what they return stands for status, gallery, Run, Stop,
    Open, Run again, its Stop, Compare; ``results`` for the sentences, the picture and the table."""

    actions: Actions

    @property
    def lang(self) -> str:
        """The language of the page."""
        return self.actions.lang

    def offer(self, visit: Visit) -> tuple[Any, ...]:
        """The changes that fit the run that is shown now, the first of them chosen, and no results:
        those were another's."""
        trace = self.actions.desk.trace(visit.shown) or Trace(())
        choices = [(text(f"whatif.{c.name}", self.lang), c.name) for c in offered(trace)]
        first = choices[0][1] if choices else None  # an empty field does not say what it is for
        return gr.update(choices=choices, value=first), *self._nothing()

    def begin(
        self, visit: Visit, name: str | None, model: Any, head: Any, request: gr.Request
    ) -> tuple[Any, ...]:
        """busy, results after Run again was pressed: check what needs no model. ``model`` and
        ``head``: what the form has chosen."""
        self.actions.desk.enter(request.session_hash, visit)
        if visit.busy:
            line = status(text("ui.error.busy", self.lang), "error")
            return line, *(KEEP,) * 7, *self._nothing(line)
        try:
            trace = self._shown(visit)
            if not name:
                some = "ui.whatif.none" if offered(trace) else "ui.whatif.plain"
                raise InputError(text(some, self.lang))
            # First of all: what a stranger's trace names must not even be looked for on the disk.
            check_trusted(trace, model, head, self.lang)
            job = change(trace, (name,))
        except Exception as error:
            line = self.actions.failed(error)
            return line, *(KEEP,) * 7, *self._nothing(line)
        visit.live = Again(job, trace=trace, change=name)
        line = stage_line(Stage("queue"), job.model, self.lang)
        return line, *self._buttons(visit, running=True), *self._nothing(line)

    def run(self, visit: Visit) -> Iterator[tuple[Any, ...]]:
        """busy, results while the run goes on and when it has ended."""
        live = visit.live
        if not isinstance(live, Again) or live.started or live.ended:
            yield (KEEP,) * 11
            return
        live.started = True
        try:
            stages = self._follow(live)
            with closing(stages):
                while True:
                    try:
                        stage = next(stages)
                    except StopIteration as done:
                        outcome = done.value
                        break
                    shown = stage_line(stage, live.job.model, self.lang)
                    yield shown, *(KEEP,) * 7, said(shown), KEEP, KEEP
            # Only now: a line counts from when it was made, and those of stages came before.
            if outcome is None:
                line = status(text("ui.whatif.stopped", self.lang), "done")
                results = self._nothing(line)
            else:
                results = self._results(outcome, live.trace)
                line = status(text("ui.whatif.done", self.lang), "done")
        except Exception as error:
            line = self.actions.failed(error)
            results = self._nothing(line)
        finally:
            live.ended = True
        yield line, *self._buttons(visit, running=False), *results

    def stopped(self, visit: Visit) -> tuple[Any, ...]:
        """Run again, its Stop, Compare, sentences after Stop: what only waited has ended at
        once, and nobody else would say so before its turn came."""
        live = visit.live
        if not isinstance(live, Again) or live.started or not live.ended:
            return (KEEP,) * 4
        return *self._own(running=False), text("ui.whatif.stopped", self.lang)

    def settle(self, visit: Visit) -> tuple[Any, ...]:
        """busy after a run, also one refused because too many wait."""
        settled = self.actions.settle(visit, Again)
        own = self._own(running=False) if not visit.busy else (KEEP,) * 3
        return *settled, *own

    def beside(self, visit: Visit, path: str | None) -> tuple[Any, ...]:
        """status, results after a second trace file was handed in."""
        if path is None:
            return (KEEP,) * 4
        try:
            shown, other = self._shown(visit), load(path)
            name = shortened(Path(path).name)
            names = (text("compare.name.shown", self.lang), name)
            results = self._compared(shown, other, names, name, "")
        except Exception as error:
            line = self.actions.failed(error)
            return line, *self._nothing(line)
        return status(text("ui.whatif.done", self.lang), "done"), *results

    def _follow(self, live: Again) -> Generator[Stage, None, Outcome | None]:
        """The stages of both runs, at most eight a second; returns None when Stop ended them."""
        stage, last = Stage("load"), -INTERVAL
        events = run_counterfactual(live.trace, (live.change,), decode=self.actions.decode)
        with closing(events):
            while not live.halted():
                try:
                    event: Event = next(events)
                except StopIteration as done:
                    found: Outcome = done.value
                    return found
                stage = stage_of(event, stage, live.job.max_new_tokens)
                now = monotonic()
                if now - last >= INTERVAL:
                    yield stage
                    last = now
        return None

    def _results(self, outcome: Outcome, trace: Trace) -> tuple[Any, ...]:
        phrase = difference.changes(outcome.names, outcome.knobs, outcome.after, self.lang)
        before = "compare.name.control" if outcome.reasons else "compare.name.recorded"
        names = (text(before, self.lang), text("compare.name.changed", self.lang))
        notes = difference.control_lines(outcome.reasons, trace, self.lang)
        lead = text("whatif.lead", self.lang, change=phrase)
        line, *rest = self._compared(outcome.before, outcome.after, names, lead, phrase)
        return " ".join([line, *notes]), *rest

    def _compared(
        self, a: Trace, b: Trace, names: difference.Names, lead: str, phrase: str
    ) -> tuple[Any, ...]:
        found = compare(a, b, names)
        pieces = {**b.pieces, **a.pieces}
        titles, rows = difference.table(found, pieces, names, phrase, self.lang)
        return (
            " ".join(difference.sentences(found, lead, self.lang)),
            gr.update(value=lanes(a, b, found, names, self.lang), visible=True),
            gr.update(value={"headers": titles, "data": rows[:TABLE_ROWS]}, visible=bool(rows)),
        )

    @staticmethod
    def _nothing(line: str = "") -> tuple[Any, ...]:
        """results when there are none: a status's words, and no picture of an earlier run."""
        hidden = gr.update(visible=False)
        return said(line) if line else "", hidden, hidden

    def _shown(self, visit: Visit) -> Trace:
        trace = self.actions.desk.trace(visit.shown)
        if trace is None:
            raise TraceError(text("ui.whatif.gone", self.lang))
        return trace

    def _buttons(self, visit: Visit, running: bool) -> tuple[Any, ...]:
        """gallery, Run, Stop, Open, Run again, its Stop, Compare."""
        shared = self.actions.buttons(running)
        return self.actions.cards(visit), *shared, *self._own(running)

    @staticmethod
    def _own(running: bool) -> tuple[Any, Any, Any]:
        free = gr.update(interactive=not running)
        return free, gr.update(visible=running, interactive=True), free
