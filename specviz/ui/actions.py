"""What happens when somebody presses something: from values of components to values."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr

from specviz import metrics, player
from specviz.catalog import text
from specviz.models.base import InputError
from specviz.trace import Trace, TraceError
from specviz.tracefile import load
from specviz.ui.blocks import facts, status
from specviz.ui.examples import Example
from specviz.ui.form import Form, summary
from specviz.ui.live import Decode, Stage, Tick, follow
from specviz.ui.visit import Desk, Live, Visit, new_run_id
from specviz.views.card import card
from specviz.views.charts import CHARTS
from specviz.views.rejects import rejects, select, table

LOG = logging.getLogger(__name__)
KEEP = gr.skip()


def same(line: Any = KEEP) -> tuple[Any, ...]:
    """The values of what shows a run (player, gallery, downloads, status): only the status new."""
    return KEEP, KEEP, KEEP, line


@dataclass(frozen=True)
class Actions:
    """The handlers of one page; they share nothing but what ``desk`` keeps per visit.

    ``shown`` in what they return stands for player, gallery, downloads and status.
    """

    desk: Desk
    examples: tuple[Example, ...]
    decode: Decode
    form: Form
    lang: str

    # Recorded runs

    def open_page(self, visit: Visit, request: gr.Request) -> tuple[Any, ...]:
        """visit, shown: the example that the address names, or the first."""
        self.desk.enter(request.session_hash, visit)
        asked = dict(request.query_params or {})
        name = asked.get("trace", self.examples[0].name)
        step = asked.get("step", "")
        start = max(0, int(step) - 1) if step.isascii() and step.isdecimal() else None
        known = [e.name for e in self.examples]
        if name in known:
            return visit, *self._show_example(visit, name, start)
        line = self._error(text("ui.error.example", self.lang, name=name))
        return visit, *self._show_example(visit, known[0], None)[:-1], line

    def close_page(self, request: gr.Request) -> None:
        """The tab was closed, or lost its connection: its run stops."""
        self.desk.leave(request.session_hash)

    def pick(self, visit: Visit, event: gr.EventData) -> tuple[Any, ...]:
        """shown after a click on a card."""
        if visit.busy:
            return same(self._error(text("ui.error.busy", self.lang)))
        name = str(event._data.get("name"))
        if name not in [e.name for e in self.examples]:
            return same()
        return self._show_example(visit, name, None)

    def _show_example(self, visit: Visit, name: str, start: int | None) -> tuple[Any, ...]:
        example = next(e for e in self.examples if e.name == name)
        run_id = f"example-{name}"
        try:
            trace = example.trace
        except TraceError as error:
            return same(self._error(str(error)))
        self.desk.publish(run_id, trace)
        return self._load(visit, trace, run_id, start, status())

    def upload(self, visit: Visit, path: str | None) -> tuple[Any, ...]:
        """shown after a trace file was handed in."""
        if path is None:
            return same()
        if visit.busy:
            return same(self._error(text("ui.error.busy", self.lang)))
        try:
            trace = load(path)
        except TraceError as error:
            return same(self._error(str(error)))
        run_id = new_run_id()
        self.desk.keep(visit, run_id, trace)
        line = status(text("ui.uploaded", self.lang, name=Path(path).name), "done")
        return self._load(visit, trace, run_id, None, line)

    def cards(self, visit: Visit) -> str:
        """The value of the gallery."""
        cards = [
            {"name": e.name, "title": e.title, "description": e.description, "decoder": e.decoder}
            for e in self.examples
        ]
        return json.dumps({"cards": cards, "current": visit.shown.removeprefix("example-")})

    def _load(
        self, visit: Visit, trace: Trace, run_id: str, start: int | None, line: Any
    ) -> tuple[Any, ...]:
        visit.shown = run_id
        if start is None:
            start = player.interesting_step(trace)
        payload = player.payload(trace, lang=self.lang, start_step=start, run_id=run_id)
        # A long run is megabytes of JSON, and a value travels as it is.
        packed = gzip.compress(json.dumps(payload).encode(), compresslevel=5, mtime=0)
        message = json.dumps({"load": base64.b64encode(packed).decode()})
        return message, self.cards(visit), run_id, line

    # A run

    def begin(self, visit: Visit, request: gr.Request, *values: Any) -> tuple[Any, ...]:
        """status, run, stop after Run was pressed: check everything that needs no model."""
        # Again, because a tab that lost its connection for a moment counts as having left.
        self.desk.enter(request.session_hash, visit)
        if visit.busy:
            return KEEP, KEEP, KEEP
        try:
            job = self.form.job(visit, values)
        except Exception as error:
            return self.failed(error), KEEP, KEEP
        before = self.desk.trace(visit.reusable)
        job = replace(
            job, memory=visit.scopes.get(job), reuse=before.events if before is not None else ()
        )
        visit.live = Live(job)
        visit.reusable = visit.live.run_id
        return self._stage(Stage("queue"), job.model), *self._buttons(running=True)

    def run(self, visit: Visit) -> Iterator[tuple[Any, ...]]:
        """shown, run, stop while the job goes on."""
        live = visit.live
        if live is None or live.started or live.ended:
            yield *same(), KEEP, KEEP
            return
        live.started = True
        try:
            with closing(follow(live, self.decode, visit.scopes)) as ticks:
                for tick in ticks:
                    line = self._stage(tick.stage, live.job.model) if tick.live else KEEP
                    yield *self._pushed(visit, live, tick, line), KEEP, KEEP
            yield *same(self._ended(live)), *self._buttons(running=False)
        except Exception as error:
            tick = Tick(0, Stage("error"), live=False)
            shown = self._pushed(visit, live, tick, self.failed(error))
            yield *shown, *self._buttons(running=False)

    def settle(self, visit: Visit) -> tuple[Any, ...]:
        """status, run, stop after a run is over, or was refused because too many wait."""
        live = visit.live
        if live is None or live.started or live.ended:
            return KEEP, KEEP, KEEP
        live.ended = True
        return self._error(text("ui.error.full", self.lang)), *self._buttons(running=False)

    def stop(self, visit: Visit) -> tuple[Any, ...]:
        """status, run, stop after Stop was pressed."""
        if not visit.busy:
            return KEEP, *self._buttons(running=False)
        if visit.stop():
            line = status(text("ui.stage.stopping", self.lang), "busy")
            return line, KEEP, gr.update(interactive=False)
        return status(text("ui.stage.stopped", self.lang)), *self._buttons(running=False)

    def _pushed(self, visit: Visit, live: Live, tick: Tick, line: Any) -> tuple[Any, ...]:
        events = live.recording.events
        if not events:
            return same(line)
        first_time = visit.shown != live.run_id
        if first_time:
            self.desk.keep(visit, live.run_id, live.recording)
            visit.shown = live.run_id
            if not tick.live:  # over before anybody could watch it grow: pause where it is good
                return self._load(visit, live.recording.trace, live.run_id, None, line)
        stage = tick.stage
        update = player.update(
            events,
            live.run_id,
            tick.first,
            live=tick.live,
            stage={"name": stage.name, "done": stage.done, "total": stage.total}
            if tick.live else None,
            summary=metrics.summary(live.recording.trace),
        )  # fmt: skip
        if first_time:
            return json.dumps(update), self.cards(visit), live.run_id, line
        return json.dumps(update), KEEP, KEEP, line

    def _stage(self, stage: Stage, model: str) -> str:
        line = text(
            f"ui.stage.{stage.name}", self.lang, done=stage.done, total=stage.total, model=model
        )
        return status(line, "busy", stage.done, stage.total)

    def _ended(self, live: Live) -> str:
        run = live.recording.trace.run("decoder")
        tokens = len(run.tokens) if run else 0
        passes = len(run.steps) if run else 0
        key = "ui.stage.stopped.at" if live.stopped else "ui.stage.done"
        return status(text(key, self.lang, tokens=tokens, passes=passes), "done")

    @staticmethod
    def _buttons(running: bool) -> tuple[Any, Any]:
        return gr.update(interactive=not running), gr.update(visible=running, interactive=True)

    # What went wrong

    def failed(self, error: Exception) -> str:
        """The status for an error: its sentence, or for a bug where to find the traceback."""
        if isinstance(error, (InputError, TraceError)):
            return self._error(str(error))
        LOG.error("a handler failed", exc_info=error)
        return self._error(text("ui.error.bug", self.lang))

    @staticmethod
    def _error(line: str) -> str:
        return status(line, "error")

    # Below the player

    def summaries(self, visit: Visit) -> tuple[Any, ...]:
        """charts, table, run card, scope line for what the page shows now."""
        trace = self.desk.trace(visit.shown) or Trace(())
        charts = [draw(trace, self.lang) for draw in CHARTS.values()]
        rows = self._table(trace, "all", "")
        return *charts, rows, facts(card(trace, self.lang)), self.scope_line(visit)

    def filter(self, visit: Visit, which: str, find: str) -> Any:
        """The table of refused guesses, filtered."""
        return self._table(self.desk.trace(visit.shown) or Trace(()), which, find or "")

    def _table(self, trace: Trace, which: str, find: str) -> dict[str, Any]:
        titles, cells = table(select(rejects(trace), which, find), self.lang)
        return {"headers": titles, "data": cells}

    def choose(self, decoder: str) -> list[Any]:
        """Description, then every group of knobs: only the chosen decoder's are visible."""
        return [
            summary(decoder),
            *(
                gr.update(visible=name == decoder and filled)
                for name, _, filled in self.form.groups
            ),
        ]

    def ask_prompt(self, visit: Visit) -> None:
        """The prompt tab is open: its text is what Run takes."""
        visit.mode = "prompt"

    def ask_document(self, visit: Visit) -> None:
        """The document tab is open: its file and question are what Run takes."""
        visit.mode = "document"

    def cross(self, visit: Visit, scope: str) -> str:
        """The scope line after another name was given; runs of the old scope stay behind."""
        visit.scope = scope.strip()
        visit.reusable = ""
        return self.scope_line(visit)

    def clear(self, visit: Visit) -> str:
        """The scope line after Clear."""
        visit.scopes.clear(self._scope(visit))
        return self.scope_line(visit)

    def scope_line(self, visit: Visit) -> str:
        """Name and size of the memory that the next run may see."""
        scope = self._scope(visit)
        rows, size = visit.scopes.size(scope)
        return text(
            "ui.scope.size", self.lang, scope=scope, rows=rows, kb=f"{size / 1000:.0f}"
        )

    def _scope(self, visit: Visit) -> str:
        return visit.scope or text("ui.scope.default", self.lang)
