"""What happens when somebody presses something: from values of components to values."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

import gradio as gr

from specviz import metrics, player
from specviz.catalog import text
from specviz.gallery import Example
from specviz.trace import Trace
from specviz.ui.blocks import facts, status
from specviz.ui.document import awaited
from specviz.ui.form import Form, summary
from specviz.ui.lines import ended_line, stage_line
from specviz.ui.live import Decode, Stage, Tick, follow
from specviz.ui.memory import Memory
from specviz.ui.opening import KEEP, Opening, same
from specviz.ui.visit import Desk, Live, Visit
from specviz.views.card import card
from specviz.views.charts import CHARTS
from specviz.views.kinds import KINDS
from specviz.views.style import localized

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Actions(Opening):
    """The handlers of one page; they share nothing but what ``desk`` keeps per visit.

    ``shown`` in what they return stands for player, gallery, downloads and status.
    """

    desk: Desk
    examples: tuple[Example, ...]
    decode: Decode
    form: Form
    lang: str

    def close_page(self, request: gr.Request) -> None:
        """The tab was closed, or lost its connection: its run stops."""
        self.desk.leave(request.session_hash)

    # A run

    def begin(self, visit: Visit, request: gr.Request, *values: Any) -> tuple[Any, ...]:
        """status, gallery, buttons after Run was pressed: check what needs no model."""
        # Again, because a tab that lost its connection for a moment counts as having left.
        self.desk.enter(request.session_hash, visit)
        if visit.busy:
            return (KEEP,) * 5
        try:
            job = self.form.job(visit, values)
        except Exception as error:
            return self.failed(error), *(KEEP,) * 4
        before = self.desk.trace(visit.reusable)
        job = replace(job, reuse=before.events if before is not None else ())
        waits = visit.mode == "document" and job.document is None
        visit.live = Live(job, visit.reading if waits else None)
        visit.reusable = visit.live.run_id
        line = stage_line(Stage("queue"), job.model, self.lang)
        return line, self.cards(visit), *self.buttons(running=True)

    def wait(self, visit: Visit) -> Iterator[tuple[Any, ...]]:
        """status, gallery, buttons while the document of a run is still being read."""
        yield (KEEP,) * 5
        live = visit.live
        if live is None or live.reading is None or live.ended:
            return
        try:
            for line in awaited(live, self.lang):
                yield line, *(KEEP,) * 4
            if live.halted() and visit.live is live:  # this line may come after that of Stop
                yield status(text("ui.stage.stopped", self.lang)), *(KEEP,) * 4
        except Exception as error:
            live.ended = True
            yield self.failed(error), self.cards(visit), *self.buttons(running=False)

    def run(self, visit: Visit) -> Iterator[tuple[Any, ...]]:
        """shown, buttons while the job goes on."""
        live = visit.live
        # A press that ``begin`` ignored comes here, too: what waits may be a What-if run.
        ready = type(live) is Live and live.reading is None
        if live is None or not ready or live.started or live.ended:
            yield *same(), *(KEEP,) * 3
            return
        live.started = True
        try:
            with closing(follow(live, self.decode, visit.scopes)) as ticks:
                for tick in ticks:
                    line = KEEP
                    if tick.live:
                        line = stage_line(tick.stage, live.job.model, self.lang)
                    yield *self._pushed(visit, live, tick, line), *(KEEP,) * 3
            line = ended_line(live, self.lang)
        except Exception as error:
            live.ended = True
            line = self.failed(error)
            try:
                tick = Tick(0, Stage("error"), live=False)
                yield *self._pushed(visit, live, tick, line), *(KEEP,) * 3
            except ValueError as unshowable:  # the buttons have to come back all the same
                LOG.error("a run cannot be shown", exc_info=unshowable)
        yield KEEP, self.cards(visit), KEEP, line, *self.buttons(running=False)

    def settle(self, visit: Visit, kind: type[Live] = Live) -> tuple[Any, ...]:
        """status, gallery, buttons after a run of ``kind``, also one refused because too many
        wait."""
        live = visit.live
        if live is None or type(live) is not kind or live.started or live.ended:
            return (KEEP,) * 5
        live.ended = True
        line = self.error(text("ui.error.full", self.lang))
        return line, self.cards(visit), *self.buttons(running=False)

    def stop(self, visit: Visit) -> tuple[Any, ...]:
        """status, gallery, buttons after Stop was pressed."""
        if not visit.busy:
            return KEEP, KEEP, *self.buttons(running=False)
        if visit.stop():
            line = status(text("ui.stage.stopping", self.lang), "busy")
            return line, KEEP, KEEP, gr.update(interactive=False), KEEP
        line = status(text("ui.stage.stopped", self.lang))
        return line, self.cards(visit), *self.buttons(running=False)

    def _pushed(self, visit: Visit, live: Live, tick: Tick, line: Any) -> tuple[Any, ...]:
        events = live.recording.events
        if not events:
            return self._blank(visit, live, tick), KEEP, KEEP, line
        first_time = visit.shown != live.run_id
        if first_time:
            self.desk.keep(visit, live.run_id, live.recording)
            if not tick.live:  # over before anybody could watch it grow: pause where it is good
                message = self.packed(live.recording.trace, live.run_id)
                return self.shown(visit, message, live.run_id, line)
        update = player.update(
            events,
            live.run_id,
            tick.first,
            live=tick.live,
            stage=asdict(tick.stage) if tick.live else None,
            summary=metrics.summary(live.recording.trace),
        )  # fmt: skip
        message = json.dumps(update, allow_nan=False)
        if first_time:
            return self.shown(visit, message, live.run_id, line)
        return message, KEEP, KEEP, line

    def _blank(self, visit: Visit, live: Live, tick: Tick) -> Any:
        """The player before a run has events: an empty stage; the old run if it ends so."""
        if tick.stage.name == "queue":
            return KEEP
        if tick.live:
            update = player.update((), live.run_id, 0, stage=asdict(tick.stage))
            return json.dumps(update, allow_nan=False)
        before = self.desk.trace(visit.shown)
        return KEEP if before is None else self.packed(before, visit.shown)

    @staticmethod
    def buttons(running: bool) -> tuple[Any, Any, Any]:
        """Run, Stop, Open a trace file."""
        free = gr.update(interactive=not running)
        return free, gr.update(visible=running, interactive=True), free

    # Below the player

    def summaries(self, visit: Visit) -> tuple[Any, ...]:
        """charts, then those of some kinds and whether they show, run card, scope line, status for
        what the page shows now."""
        try:
            trace = self.desk.trace(visit.shown) or Trace(())
            charts = [localized(draw(trace, self.lang), self.lang) for draw in CHARTS.values()]
            shows = [has(trace) for has, _ in KINDS.values()]
            for there, (_, more) in zip(shows, KINDS.values(), strict=True):
                charts += [
                    localized(draw(trace, self.lang), self.lang) if there else None
                    for draw in more.values()
                ]
            columns = [gr.update(visible=there) for there in shows]
            shown = facts(card(trace, self.lang))
            return *charts, *columns, shown, Memory(self.lang).line(visit), KEEP
        except Exception as error:
            # Not those of the run before: empty, and the status says why.
            none = (None,) * (len(CHARTS) + sum(len(more) for _, more in KINDS.values()))
            hidden = (gr.update(visible=False),) * len(KINDS)
            return *none, *hidden, facts([]), KEEP, self.failed(error)

    def choose(self, decoder: str) -> list[Any]:
        """Description, then every group of knobs: only the chosen decoder's are visible."""
        return [
            summary(decoder, self.lang),
            *(
                gr.update(visible=name == decoder and filled)
                for name, _, filled in self.form.groups
            ),
        ]
