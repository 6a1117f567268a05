"""What is on the page without a model: recorded runs, files that are handed in, earlier runs."""

from __future__ import annotations

import base64
import gzip
import json
import logging
from pathlib import Path
from typing import Any

import gradio as gr

from specviz import player
from specviz.audit import audit
from specviz.catalog import sentence, text
from specviz.gallery import Example
from specviz.models.base import InputError
from specviz.trace import Trace, TraceError
from specviz.tracefile import load
from specviz.ui.address import preset_of, shortened, step_of
from specviz.ui.blocks import status
from specviz.ui.form import summary
from specviz.ui.history import PREFIX, earlier
from specviz.ui.lessons import example_of
from specviz.ui.visit import Desk, Visit

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


class Opening:
    """The handlers that show a run which is there already; those of a press of Run follow in
    ``Actions``.

    ``shown`` in what they return stands for player, gallery, downloads and status.
    """

    desk: Desk
    examples: tuple[Example, ...]
    lang: str

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
            line = self.error(self._unknown(name, bool(lesson)))
        return visit, *self._show_example(visit, first)[:-1], line

    def _unknown(self, name: str, lesson: bool) -> str:
        """What to say of an address that names no lesson, or no recording."""
        if lesson:
            return text("ui.error.lesson", self.lang, name=shortened(name))
        return text("ui.error.example", self.lang, name=shortened(name))

    def pick(self, visit: Visit, event: gr.EventData) -> tuple[Any, ...]:
        """shown after a click on a card."""
        if visit.busy:
            return same(self.error(text("ui.error.busy", self.lang)))
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
            message = self.packed(trace, run_id, start)
        except Exception as error:
            return same(self.failed(error))
        self.desk.publish(run_id, trace)
        return self.shown(visit, message, run_id, self.error(wrong) if wrong else status())

    def _show_own(self, visit: Visit, run_id: str) -> tuple[Any, ...]:
        trace = self.desk.trace(run_id) if run_id in visit.own else None
        if trace is None:
            return same(self.error(text("ui.error.earlier", self.lang)))
        try:
            message = self.packed(trace, run_id, audited=not audit(trace))
        except Exception as error:
            return same(self.failed(error))
        return self.shown(visit, message, run_id, status())

    def upload(self, visit: Visit, path: str | None) -> tuple[Any, ...]:
        """shown after a trace file was handed in."""
        if path is None:
            return same()
        if visit.busy:
            return same(self.error(text("ui.error.busy", self.lang)))
        try:
            trace = load(path)
            run_id, trace = self.desk.again(visit, trace)
            findings = audit(trace)
            message = self.packed(trace, run_id, audited=not findings)
        except Exception as error:
            return same(self.failed(error))
        self.desk.keep(visit, run_id, trace)
        name = shortened(Path(path).name)
        line = status(text("ui.uploaded", self.lang, name=name), "done")
        if findings:
            first = sentence(findings[0], self.lang)
            line = self.error(
                text("ui.unsound", self.lang, name=name, count=len(findings), first=first)
            )
        return self.shown(visit, message, run_id, line)

    def cards(self, visit: Visit) -> str:
        """The value of the gallery."""
        cards = [
            {**e.card(self.lang), "about": summary(e.decoder, self.lang)} for e in self.examples
        ]
        cards = [*earlier(self.desk, visit, self.lang), *cards]
        locked = text("ui.error.busy", self.lang) if visit.busy else ""
        current = visit.shown.removeprefix("example-")
        return json.dumps({"cards": cards, "current": current, "locked": locked})

    def packed(
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

    def shown(self, visit: Visit, message: str, run_id: str, line: Any) -> tuple[Any, ...]:
        visit.shown, visit.probed = run_id, ""
        return message, self.cards(visit), run_id, line

    def retell(self, visit: Visit, trace: Trace, start: int | None) -> tuple[str, str]:
        """player, downloads once more is known about the run that is shown: ``trace`` is all of it,
        to be shown at step ``start``. An example stays as it is for everybody else."""
        run_id, trace = self.desk.again(visit, trace)
        message = self.packed(trace, run_id, start, audited=not audit(trace))
        self.desk.keep(visit, run_id, trace)
        if preset_of(visit.shown) is not None:
            visit.copied[run_id] = visit.shown
        if visit.reusable == visit.shown:
            visit.reusable = run_id
        visit.shown = visit.probed = run_id
        return message, run_id

    # What went wrong

    def failed(self, error: Exception) -> str:
        """The status for an error: its sentence, or for a bug where to find the traceback."""
        if isinstance(error, (InputError, TraceError)):
            return self.error(sentence(str(error), self.lang))
        LOG.error("a handler failed", exc_info=error)
        return self.error(text("ui.error.bug", self.lang))

    @staticmethod
    def error(line: str) -> str:
        return status(line, "error")
