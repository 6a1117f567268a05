"""What stands in the tab "What if", and which handler answers which press."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.catalog import text
from specviz.ui.actions import Actions
from specviz.ui.blocks import plain
from specviz.ui.whatif import WhatIf
from specviz.ui.whatif_picture import OtherPicture, other_picture

TO_PLAYER = "(visit) => { document.querySelector('#player').scrollIntoView(); return visit; }"


@dataclass(frozen=True)
class Tab:
    """What stands in the tab."""

    change: gr.Dropdown
    run: gr.Button
    stop: gr.Button
    file: gr.UploadButton
    side: gr.Button
    said: gr.HTML
    plot: gr.Plot
    table: gr.Dataframe
    cross: gr.Dataframe
    other: OtherPicture

    @property
    def results(self) -> list[Any]:
        """Outputs of a comparison or a probe."""
        return [self.said, self.plot, self.table, self.cross]

    def wire(
        self,
        actions: Actions,
        visit: gr.State,
        busy: list[Any],
        shown: list[Any],
        player: gr.HTML,
        again: dict[str, Any],
        at_once: dict[str, Any],
        device: dict[str, Any],
    ) -> None:
        """Connect the tab. ``busy``: status, gallery, Run, Stop, Open a trace file; ``shown``: one
        of them changes whenever another run is shown, or that run has ended, the first names the
        run; ``again`` fills the other open tab once a probe has found something."""
        handlers = WhatIf(actions)
        gr.on(
            [part.change for part in shown], handlers.offer, visit,
            [self.change, *self.results], **at_once,
        ).then(handlers.paired, visit, self.side, **at_once)  # fmt: skip
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
        self.other.wire(visit, self.change, self.run, at_once)
        begun.then(handlers.paired, visit, self.side, **at_once)
        begun.then(
            handlers.run, visit, [*outputs, *self.results, player, shown[0]],
            show_progress="hidden", api_visibility="private", **device,
        ).then(handlers.settle, visit, outputs, **at_once).then(**again).then(
            handlers.paired, visit, self.side, **at_once
        )  # fmt: skip
        self.file.upload(
            handlers.beside, [visit, self.file], [busy[0], *self.results], **at_once
        ).then(handlers.paired, visit, self.side, **at_once)
        self.side.click(
            handlers.side_by_side, visit, [player, busy[0]], js=TO_PLAYER, **at_once
        )


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
    other = other_picture(lang)
    said = plain(elem_id="whatif-said")
    side = gr.Button(
        text("ui.whatif.side", lang), visible=False, size="sm", elem_id="whatif-side"
    )
    cross = gr.Dataframe(
        interactive=False, datatype="str", elem_id="whatif-cross", show_label=False, buttons=[],
        wrap=True, visible=False,
    )  # fmt: skip
    plot = gr.Plot(show_label=False, visible=False, elem_id="whatif-lanes")
    table = gr.Dataframe(
        interactive=False, max_height=420, datatype="str", elem_id="whatif-table",
        show_label=False, buttons=[], wrap=True, visible=False,
        column_widths=["56px", "110px", "22%", "22%", "40%"],
    )  # fmt: skip
    return Tab(chosen, run, stop, file, side, said, plot, table, cross, other)
