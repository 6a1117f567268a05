"""The tab "What if": repeat the shown run with one thing changed, read its answer back with another
picture, or set a second trace beside it.

The run that is shown stays; the device, Stop and the status line are shared with Run.
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
from specviz.jobs import Job, ProbeJob
from specviz.models.base import InputError
from specviz.player import Pair
from specviz.probing import found_by, with_probe
from specviz.trace import Event, Probe, Trace, TraceError
from specviz.tracefile import load
from specviz.ui.actions import Actions
from specviz.ui.address import shortened
from specviz.ui.blocks import said, status
from specviz.ui.lines import stage_line
from specviz.ui.live import INTERVAL, Stage, stage_of
from specviz.ui.opening import KEEP
from specviz.ui.trust import check_trusted
from specviz.ui.visit import Live, Visit
from specviz.ui.whatif_picture import (
    choices,
    done_line,
    end_step,
    probe_job,
    results,
)
from specviz.views import difference
from specviz.views.comparison import lanes

TABLE_ROWS = 2000


@dataclass
class Again(Live):
    """A run of the shown trace with something changed; with a ``probe`` its answer is read back."""

    trace: Trace = field(default_factory=lambda: Trace(()))
    change: str = ""
    probe: ProbeJob | None = None


@dataclass(frozen=True)
class WhatIf:
    """The handlers of the tab. ``busy`` in what they return stands for status, gallery, Run, Stop,
    Open, Run again, its Stop, Compare; ``results`` for the sentences, the picture and both tables.
    """

    actions: Actions

    @property
    def lang(self) -> str:
        """The language of the page."""
        return self.actions.lang

    def offer(self, visit: Visit) -> tuple[Any, ...]:
        """The changes that fit the run that is shown now, the first of them chosen, and no results:
        those were another's."""
        if visit.shown and visit.shown == visit.probed:
            return (KEEP,) * 5  # the same run, only that its marks are shown now
        visit.pair = None
        trace = self.actions.desk.trace(visit.shown) or Trace(())
        found = choices(trace, self.lang)
        found += [(text(f"whatif.{c.name}", self.lang), c.name) for c in offered(trace)]
        first = found[0][1] if found else None  # an empty field does not say what it is for
        return gr.update(choices=found, value=first), *self._nothing()

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
            probe = probe_job(trace, name, visit, self.lang)
            job = _named(trace) if probe is not None else change(trace, (name,))
        except Exception as error:
            line = self.actions.failed(error)
            return line, *(KEEP,) * 7, *self._nothing(line)
        visit.pair = None
        visit.live = Again(job, trace=trace, change=name, probe=probe)
        line = stage_line(Stage("queue"), job.model, self.lang)
        return line, *self._buttons(visit, running=True), *self._nothing(line)

    def run(self, visit: Visit) -> Iterator[tuple[Any, ...]]:
        """busy, results, player, downloads while the run goes on and when it has ended."""
        live = visit.live
        if not isinstance(live, Again) or live.started or live.ended:
            yield (KEEP,) * 14
            return
        live.started = True
        player: tuple[Any, Any] = (KEEP, KEEP)
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
                    yield shown, *(KEEP,) * 7, said(shown), *(KEEP,) * 5
            # Only now: a line counts from when it was made, and those of stages came before.
            if outcome is None:
                line = status(text("ui.whatif.stopped", self.lang), "done")
                found = self._nothing(line)
            elif isinstance(outcome, Probe):
                trace = with_probe(live.trace, outcome)
                found = results(trace, outcome, self.lang)
                player = self.actions.retell(visit, trace, end_step(trace))
                line = status(done_line(outcome, self.lang), "done")
            else:
                found = self._results(visit, outcome, live.trace)
                line = status(text("ui.whatif.done", self.lang), "done")
        except Exception as error:
            line = self.actions.failed(error)
            found = self._nothing(line)
        finally:
            live.ended = True
        yield line, *self._buttons(visit, running=False), *found, *player

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
            return (KEEP,) * 5
        visit.pair = None
        try:
            shown, other = self._shown(visit), load(path)
            name = shortened(Path(path).name)
            names = (text("compare.name.shown", self.lang), name)
            found = self._compared(visit, shown, other, names, name, "")
        except Exception as error:
            line = self.actions.failed(error)
            return line, *self._nothing(line)
        return status(text("ui.whatif.done", self.lang), "done"), *found

    def paired(self, visit: Visit) -> Any:
        """The button Compare side by side: there while there is something to compare."""
        return gr.update(visible=visit.pair is not None)

    def side_by_side(self, visit: Visit) -> tuple[Any, Any]:
        """player, status: both runs in the player, held at the same token."""
        if visit.pair is None or visit.busy:
            return KEEP, KEEP
        try:
            message = self.actions.packed_pair(visit, *visit.pair)
        except Exception as error:
            return KEEP, self.actions.failed(error)
        return message, status(text("ui.whatif.beside", self.lang), "done")

    def _follow(self, live: Again) -> Generator[Stage, None, Outcome | Probe | None]:
        """The stages of a probe or of both runs, at most eight a second; returns None when Stop
        ended them."""
        stage, last = Stage("load"), -INTERVAL
        events: Generator[Event, None, Outcome | Probe]
        if live.probe is not None:
            events = found_by(live.probe, self.actions.decode)
        else:
            events = run_counterfactual(live.trace, (live.change,), decode=self.actions.decode)
        with closing(events):
            while not live.halted():
                try:
                    event: Event = next(events)
                except StopIteration as done:
                    found: Outcome | Probe = done.value
                    return found
                stage = stage_of(event, stage, live.job.max_new_tokens)
                now = monotonic()
                if now - last >= INTERVAL:
                    yield stage
                    last = now
        return None

    def _results(self, visit: Visit, outcome: Outcome, trace: Trace) -> tuple[Any, ...]:
        phrase = difference.changes(outcome.names, outcome.knobs, outcome.after, self.lang)
        before = "compare.name.control" if outcome.reasons else "compare.name.recorded"
        names = (text(before, self.lang), text("compare.name.changed", self.lang))
        notes = difference.control_lines(outcome.reasons, trace, self.lang)
        lead = text("whatif.lead", self.lang, change=phrase)
        line, *rest = self._compared(
            visit, outcome.before, outcome.after, names, lead, phrase
        )
        return " ".join([line, *notes]), *rest

    def _compared(
        self, visit: Visit, a: Trace, b: Trace, names: difference.Names, lead: str, phrase: str
    ) -> tuple[Any, ...]:
        found = compare(a, b, names)
        sentences = tuple(difference.sentences(found, lead, self.lang))
        visit.pair = (a, Pair(b, names, sentences))
        pieces = {**b.pieces, **a.pieces}
        titles, rows = difference.table(found, pieces, names, phrase, self.lang)
        return (
            " ".join(sentences),
            gr.update(value=lanes(a, b, found, names, self.lang), visible=True),
            gr.update(value={"headers": titles, "data": rows[:TABLE_ROWS]}, visible=bool(rows)),
            gr.update(visible=False),
        )

    @staticmethod
    def _nothing(line: str = "") -> tuple[Any, ...]:
        """results when there are none: a status's words, and no picture of an earlier run."""
        hidden = gr.update(visible=False)
        return said(line) if line else "", hidden, hidden, hidden

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


def _named(trace: Trace) -> Job:
    """What the status line says of a probe: its model, and how long the answer is."""
    run = trace.run("decoder")
    assert run is not None  # it was found fit for a probe
    return Job(model=run.header.model, max_new_tokens=len(run.tokens))
