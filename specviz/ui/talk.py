"""A talk that goes on: another question after a run that saw a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz import recorded
from specviz.catalog import text
from specviz.models import registry
from specviz.trace import Trace, TraceError
from specviz.ui.actions import Actions
from specviz.ui.blocks import status
from specviz.ui.given import Talk, given
from specviz.ui.pictures import PictureField
from specviz.ui.samples import samples
from specviz.ui.visit import Live, Visit


def can_go_on(trace: Trace, live: Live | None = None) -> bool:
    """Whether another question can be asked after the run of ``trace``: it saw pictures that are
    recorded, or still known to ``live``, and its answer has ended."""
    run = trace.run("decoder")
    if run is None or run.finish is None or run.finish.reason == "error":
        return False
    there = live is not None or recorded.whole(run.header)
    return bool(run.header.pictures and run.tokens and there)


def talk_of(trace: Trace, live: Live | None) -> Talk:
    """The talk that the next question goes on with. ``live``: the press of Run that ``trace`` came
    from, whose pictures need not be read back from it. Raises TraceError where they cannot be."""
    system, turns = recorded.talk(trace, None if live is None else live.job.messages())
    pictures = [picture for message in turns for picture in message.pictures]
    return Talk(turns, system, tuple(given(p) for p in pictures))


def pressed(visit: Visit) -> Live | None:
    """The press of Run that the run which is shown came from, None where that is gone."""
    return visit.live if visit.live and visit.live.run_id == visit.shown else None


@dataclass(frozen=True)
class GoOn:
    """The button that asks another question about the pictures of the run that is shown."""

    actions: Actions
    field: PictureField

    def wire(
        self,
        button: gr.Button,
        blank: gr.Button,
        visit: gr.State,
        shown: list[Any],
        status: gr.HTML,
        opens: str,
        at_once: dict[str, Any],
    ) -> None:
        """Offer it, and to try a ``blank`` picture, whenever one of ``shown`` changes; ``opens``:
        the script that then shows the form."""
        form = self.actions.form
        gr.on([part.change for part in shown], self.offer, visit, [button, blank], **at_once)
        outputs = [self.field.tray, form.prompt, form.model, self.field.box, status]
        click = button.click(self.begin, [visit, form.prompt, form.model], outputs, **at_once)
        click.success(None, js=opens, **at_once)

    def offer(self, visit: Visit) -> tuple[Any, ...]:
        """Whether both buttons show: after a run that saw a picture, once it has ended."""
        trace = self.actions.desk.trace(visit.shown)
        free = trace is not None and not visit.busy
        return tuple(
            gr.update(visible=trace is not None and free and can_go_on(trace, live))
            for live in (pressed(visit), None)
        )

    def begin(self, visit: Visit, prompt: str | None, model: Any) -> tuple[Any, ...]:
        """tray, prompt, model, box, status: the form asks on about the run that is shown."""
        nothing = (gr.skip(),) * 4
        try:
            trace = self.actions.desk.trace(visit.shown)
            run = trace.run("decoder") if trace is not None else None
            live = pressed(visit)
            if trace is None or run is None or not can_go_on(trace, live):
                raise TraceError(text("ui.error.talk", self.actions.lang))
            visit.talk = talk_of(trace, live)
        except Exception as error:
            return *nothing, self.actions.failed(error)
        visit.pictures, visit.replacing, visit.mode = (), None, "prompt"
        # The same model goes on, where it is one that everybody here may choose.
        labels = [entry.label for entry in registry.entries()]
        name = run.header.model if run.header.model in labels else model
        # What was asked already is not asked again; what somebody has typed since stays.
        asked = {text("ui.form.prompt.example", self.actions.lang)}
        asked |= {m.text for m in visit.talk.history} | {s.question for s in samples()}
        new = "" if (prompt or "") in asked else gr.skip()
        tray = self.field.value(visit, name)
        return tray, new, name, gr.update(open=True), status()
