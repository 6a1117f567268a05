"""What happens when somebody presses something: from values of components to values."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import gradio as gr

from specviz import metrics, player
from specviz.audit import audit
from specviz.catalog import sentence, text
from specviz.models.base import InputError
from specviz.trace import Trace, TraceError
from specviz.tracefile import load
from specviz.ui.address import preset_of, shortened, step_of
from specviz.ui.blocks import facts, status
from specviz.ui.document import awaited
from specviz.ui.examples import Example
from specviz.ui.form import Form, summary
from specviz.ui.history import PREFIX, earlier
from specviz.ui.lessons import example_of
from specviz.ui.lines import ended_line, stage_line
from specviz.ui.live import Decode, Stage, Tick, follow
from specviz.ui.memory import Memory
from specviz.ui.visit import Desk, Live, Visit, new_run_id
from specviz.views.card import card
from specviz.views.charts import CHARTS
from specviz.views.kinds import KINDS
from specviz.views.style import localized

LOG = logging.getLogger(__name__)
KEEP = gr.skip()


def same(line: Any = KEEP) -> tuple[Any, ...]:
    """The values of what shows a run (player, gallery, downloads, status): only the status new."""
    return KEEP, KEEP, KEEP, line


def _message(payload: dict[str, Any]) -> str:
    """What the player is told to load; ValueError when a number in it is none."""
    # A long run is megabytes of JSON, and a value travels as it is.
    plain = json.dumps(payload, allow_nan=False).encode()
    packed = gzip.compress(plain, compresslevel=5, mtime=0)
    return json.dumps({"load": base64.b64encode(packed).decode()})


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
        first = self.examples[0].name
        name, step = asked.get("trace") or first, asked.get("step", "")
        if lesson := asked.get("lesson", ""):
            name, step = example_of(lesson, asked.get("stop", "")) or lesson, ""
        if name in [e.name for e in self.examples]:
            shown = self._show_example(visit, name, step)
            if shown[0] is not KEEP or name == first:
                return visit, *shown
            line = shown[-1]  # a damaged example: say so, beside one that can be shown
        else:
            line = self._error(self._unknown(name, bool(lesson)))
        return visit, *self._show_example(visit, first)[:-1], line

    def _unknown(self, name: str, lesson: bool) -> str:
        """What to say of an address that names no lesson, or no recording."""
        if lesson:
            return text("ui.error.lesson", self.lang, name=shortened(name))
        return text("ui.error.example", self.lang, name=shortened(name))

    def close_page(self, request: gr.Request) -> None:
        """The tab was closed, or lost its connection: its run stops."""
        self.desk.leave(request.session_hash)

    def pick(self, visit: Visit, event: gr.EventData) -> tuple[Any, ...]:
        """shown after a click on a card."""
        if visit.busy:
            return same(self._error(text("ui.error.busy", self.lang)))
        name = str(event._data.get("name"))
        if name.startswith(PREFIX):
            return self._show_own(visit, name.removeprefix(PREFIX))
        if name not in [e.name for e in self.examples]:
            return same()
        return self._show_example(visit, name)

    def _show_example(self, visit: Visit, name: str, step: str = "") -> tuple[Any, ...]:
        example = next(e for e in self.examples if e.name == name)
        run_id = f"example-{name}"
        try:
            trace = example.trace
            start, wrong = step_of(step, trace, self.lang)
            message = self._packed(trace, run_id, start)
        except Exception as error:
            return same(self.failed(error))
        self.desk.publish(run_id, trace)
        return self._shown(visit, message, run_id, self._error(wrong) if wrong else status())

    def _show_own(self, visit: Visit, run_id: str) -> tuple[Any, ...]:
        trace = self.desk.trace(run_id) if run_id in visit.own else None
        if trace is None:
            return same(self._error(text("ui.error.earlier", self.lang)))
        try:
            message = self._packed(trace, run_id, audited=not audit(trace))
        except Exception as error:
            return same(self.failed(error))
        return self._shown(visit, message, run_id, status())

    def upload(self, visit: Visit, path: str | None) -> tuple[Any, ...]:
        """shown after a trace file was handed in."""
        if path is None:
            return same()
        if visit.busy:
            return same(self._error(text("ui.error.busy", self.lang)))
        try:
            trace = load(path)
            findings = audit(trace)
            run_id = new_run_id()
            message = self._packed(trace, run_id, audited=not findings)
        except Exception as error:
            return same(self.failed(error))
        self.desk.keep(visit, run_id, trace)
        name = shortened(Path(path).name)
        line = status(text("ui.uploaded", self.lang, name=name), "done")
        if findings:
            line = self._error(
                text("ui.unsound", self.lang, name=name, count=len(findings), first=findings[0])
            )
        return self._shown(visit, message, run_id, line)

    def cards(self, visit: Visit) -> str:
        """The value of the gallery."""
        cards = [
            {"name": e.name, "title": sentence(e.title, self.lang),
             "description": sentence(e.description, self.lang), "decoder": e.decoder,
             "about": summary(e.decoder, self.lang), "figures": e.figures(self.lang)}
            for e in self.examples
        ]  # fmt: skip
        cards = [*earlier(self.desk, visit, self.lang), *cards]
        locked = text("ui.error.busy", self.lang) if visit.busy else ""
        current = visit.shown.removeprefix("example-")
        return json.dumps({"cards": cards, "current": current, "locked": locked})

    def _packed(
        self, trace: Trace, run_id: str, start: int | None = None, audited: bool = True
    ) -> str:
        """The player's message for a whole trace; ValueError when a number in it is none."""
        payload = player.payload(
            trace, lang=self.lang, start_step=start, run_id=run_id, audited=audited,
            preset=preset_of(run_id),
        )  # fmt: skip
        return _message(payload)

    def packed_pair(self, visit: Visit, trace: Trace, pair: player.Pair) -> str:
        """The player's message for two runs side by side, which together are no recorded run."""
        payload = player.payload(
            trace, lang=self.lang, run_id=f"pair {visit.shown}", audited=not audit(trace), pair=pair
        )
        return _message(payload)

    def _shown(self, visit: Visit, message: str, run_id: str, line: Any) -> tuple[Any, ...]:
        visit.shown = run_id
        return message, self.cards(visit), run_id, line

    def retell(self, visit: Visit, trace: Trace, start: int | None) -> tuple[str, str]:
        """player, downloads once more is known about the run that is shown: ``trace`` is all of it,
        to be shown at step ``start``. An example stays as it is for everybody else."""
        run_id = new_run_id()
        message = self._packed(trace, run_id, start, audited=not audit(trace))
        self.desk.keep(visit, run_id, trace)
        if visit.reusable == visit.shown:
            visit.reusable = run_id
        if visit.shown != visit.probed:
            visit.copied = visit.shown
        visit.shown = visit.probed = run_id
        return message, run_id

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
        line = self._error(text("ui.error.full", self.lang))
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
                message = self._packed(live.recording.trace, live.run_id)
                return self._shown(visit, message, live.run_id, line)
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
            return self._shown(visit, message, live.run_id, line)
        return message, KEEP, KEEP, line

    def _blank(self, visit: Visit, live: Live, tick: Tick) -> Any:
        """The player before a run has events: an empty stage; the old run if it ends so."""
        if tick.stage.name == "queue":
            return KEEP
        if tick.live:
            update = player.update((), live.run_id, 0, stage=asdict(tick.stage))
            return json.dumps(update, allow_nan=False)
        before = self.desk.trace(visit.shown)
        return KEEP if before is None else self._packed(before, visit.shown)

    @staticmethod
    def buttons(running: bool) -> tuple[Any, Any, Any]:
        """Run, Stop, Open a trace file."""
        free = gr.update(interactive=not running)
        return free, gr.update(visible=running, interactive=True), free

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
