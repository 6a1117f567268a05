"""The part of the tab "What if" that is about pictures: what may stand in the place of one."""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import gradio as gr
from PIL import Image

from specviz.catalog import text
from specviz.jobs import ProbeJob
from specviz.models.base import InputError, Picture
from specviz.pictures import open_picture
from specviz.probes import Kind, associations, readings
from specviz.trace import Probe, Trace
from specviz.ui.blocks import plain
from specviz.ui.visit import Visit
from specviz.views import image_effect
from specviz.views.image_strip import strip

LOG = logging.getLogger(__name__)
KINDS: tuple[Kind, ...] = ("blank", "shuffled", "other")
CHOICE = re.compile(r"picture:(blank|shuffled|other):([0-9]{1,6})")


def choices(trace: Trace, lang: str) -> list[tuple[str, str]]:
    """The questions about the pictures of a run, and the values that stand for them."""
    run = trace.run("decoder")
    if run is None or not run.tokens:
        return []
    count = len(run.header.pictures)
    suffix = ".number" if count > 1 else ""
    return [
        (text(f"whatif.picture.{kind}{suffix}", lang, number=i + 1), f"picture:{kind}:{i}")
        for i in range(count)
        for kind in KINDS
    ]


def asks_for_other(choice: str | None) -> bool:
    """Whether a picture has to be given beside this choice."""
    return (choice or "").startswith("picture:other:")


def probe_job(trace: Trace, choice: str, visit: Visit, lang: str) -> ProbeJob | None:
    """The probe that a choice stands for, None for any other change; raises InputError or
    TraceError for what cannot be probed."""
    found = CHOICE.fullmatch(choice)
    if found is None:
        return None
    if asks_for_other(choice) and visit.other is None:
        raise InputError(text("ui.whatif.picture.none", lang))
    other = visit.other if asks_for_other(choice) else None
    job = ProbeJob(trace.events, cast(Kind, found[1]), int(found[2]), other)
    job.check()
    return job


def results(trace: Trace, probe: Probe, lang: str) -> tuple[Any, ...]:
    """Sentences, chart, table of tokens and 2x2 table of a probe."""
    titles, rows = image_effect.token_table(trace, probe, lang)
    found = associations(readings(image_effect.alone(trace, probe)))
    heads, cells = image_effect.cross_table(found[0].cross, lang) if found else ([], [])
    return (
        "\n".join(image_effect.sentences(trace, probe, lang)),
        gr.update(value=strip(trace, probe, lang), visible=True),
        gr.update(value={"headers": titles, "data": rows}, visible=bool(rows)),
        gr.update(value={"headers": heads, "data": cells}, visible=bool(cells)),
    )


def start_step(trace: Trace, probe: Probe) -> int | None:
    """The first step that begins where the picture decides, None where none does."""
    found = readings(image_effect.alone(trace, probe))
    return next((p.step for r in found for p in r.places if p.depends), None)


@dataclass(frozen=True)
class OtherPicture:
    """What is shown while another picture is asked for. It is kept in the visit."""

    box: gr.Column
    add: gr.UploadButton
    line: gr.HTML
    image: gr.Image
    lang: str

    def wire(self, visit: gr.State, change: gr.Dropdown, at_once: dict[str, Any]) -> None:
        """Show the field when it is needed, open what is handed in at once."""
        change.change(
            lambda choice: gr.update(visible=asks_for_other(choice)), change, self.box, **at_once
        )
        self.add.upload(self.take, [visit, self.add], [self.line, self.image], **at_once)

    def take(self, visit: Visit, path: str | None) -> tuple[Any, Any]:
        """line, image after a file was handed in; one that cannot be read changes nothing else."""
        if path is None:
            return gr.skip(), gr.skip()
        try:
            visit.other = open_picture(Path(path))
        except InputError as error:
            return str(error), gr.skip()
        except Exception as error:
            LOG.error("a picture could not be opened", exc_info=error)
            return text("ui.error.bug", self.lang), gr.skip()
        return self.shown(visit.other)

    def shown(self, picture: Picture) -> tuple[Any, Any]:
        """line, image of a picture that was understood."""
        line = text(
            "ui.whatif.picture.given", self.lang, name=picture.name, width=picture.width,
            height=picture.height, notes=" ".join(picture.notes),
        ).strip()  # fmt: skip
        image = Image.open(io.BytesIO(picture.png))
        return line, gr.update(value=image, visible=True)


def other_picture(lang: str) -> OtherPicture:
    """Put the field where one is open now."""
    with gr.Column(visible=False, elem_id="whatif-other") as box:
        add = gr.UploadButton(
            text("ui.whatif.picture", lang), type="filepath", size="sm", elem_id="whatif-picture"
        )
        line = plain(elem_id="whatif-picture-said")
        image = gr.Image(
            visible=False, interactive=False, show_label=False, height=140, width=220, buttons=[],
            elem_id="whatif-picture-shown",
        )  # fmt: skip
    return OtherPicture(box, add, line, image, lang)
