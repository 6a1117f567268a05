"""The part of the tab "What if" that is about pictures: what may stand in the place of one."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import gradio as gr

from specviz.catalog import sentence, text
from specviz.jobs import ProbeJob
from specviz.models.base import InputError, Picture
from specviz.pictures import open_picture
from specviz.probes import Kind, associations, readings
from specviz.recorded import whole
from specviz.trace import Probe, Trace
from specviz.ui.blocks import script
from specviz.ui.given import given
from specviz.ui.pictures import OPENING
from specviz.ui.samples import samples
from specviz.ui.tray import samples as sample_cards
from specviz.ui.visit import Visit
from specviz.views import image_effect
from specviz.views.image_strip import strip

LOG = logging.getLogger(__name__)
KINDS: tuple[Kind, ...] = ("blank", "shuffled", "other")
FIRST_BLANK = "picture:blank:0"  # the value of the choice to try a blank first picture
CHOICE = re.compile(r"picture:(blank|shuffled|other):([0-9]{1,6})")


def choices(trace: Trace, lang: str) -> list[tuple[str, str]]:
    """The questions about the pictures of a run, and the values that stand for them."""
    run = trace.run("decoder")
    if run is None or not run.tokens or not whole(run.header):
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


def reads_back(choice: str | None) -> bool:
    """Whether the answer is only read back with this choice: nothing is run."""
    return CHOICE.fullmatch(choice or "") is not None


def press(choice: str | None, lang: str) -> str:
    """What the button beside this choice says."""
    return text("ui.whatif.read" if reads_back(choice) else "ui.whatif.run", lang)


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


def end_step(trace: Trace) -> int | None:
    """The last step: the whole answer is shown with every mark in it."""
    run = trace.run("decoder")
    return run.steps[-1].index if run is not None and run.steps else None


def done_line(probe: Probe, lang: str) -> str:
    """What the status line says of a probe, in one line."""
    changed, count = len(probe.changed), len(probe.picks)
    return text("ui.whatif.picture.done", lang, changed=changed, count=count)


@dataclass(frozen=True)
class OtherPicture:
    """What is shown while another picture is asked for. It is kept in the visit."""

    box: gr.Column
    add: gr.UploadButton
    thumb: gr.HTML
    samples: gr.HTML
    lang: str

    def wire(
        self, visit: gr.State, change: gr.Dropdown, run: gr.Button, at_once: dict[str, Any]
    ) -> None:
        """Show the field when it is needed and let ``run`` say what a press does; open what is
        handed in at once."""
        change.change(self.chosen, change, [self.box, run], **at_once)
        self.add.upload(self.take, [visit, self.add], self.thumb, **OPENING)
        self.samples.click(self.sample, visit, self.thumb, **at_once)

    def chosen(self, choice: str | None) -> tuple[Any, Any]:
        """The field and the button for a choice."""
        return gr.update(visible=asks_for_other(choice)), gr.update(value=press(choice, self.lang))

    def take(self, visit: Visit, path: str | None) -> Any:
        """What is shown after a file was handed in; one that cannot be read changes nothing."""
        if path is None:
            return gr.skip()
        try:
            visit.other = open_picture(Path(path))
        except InputError as error:
            return thumb(sentence(str(error), self.lang), visit.other)
        except Exception as error:
            LOG.error("a picture could not be opened", exc_info=error)
            return thumb(text("ui.error.bug", self.lang), visit.other)
        return self.shown(visit.other)

    def sample(self, visit: Visit, event: gr.EventData) -> Any:
        """What is shown after an example picture was chosen."""
        every = samples(lang=self.lang)
        card = next((s for s in every if s.file == event._data.get("file")), None)
        if card is None:
            return gr.skip()
        visit.other = card.given.picture
        return self.shown(visit.other)

    def shown(self, picture: Picture) -> str:
        """What is shown of a picture that was understood."""
        notes = " ".join(sentence(note, self.lang) for note in picture.notes)
        line = text(
            "ui.whatif.picture.given", self.lang, name=picture.name, width=picture.width,
            height=picture.height, notes=notes,
        ).strip()  # fmt: skip
        return thumb(line, picture)


def thumb(line: str, picture: Picture | None) -> str:
    """The value of the element that shows a picture and a line of literal text."""
    return json.dumps({"line": line, "url": given(picture).url if picture else ""})


def other_picture(lang: str) -> OtherPicture:
    """Put the field where one is open now."""
    with gr.Column(visible=False, elem_id="whatif-other") as box:
        # Not for their questions here: any of them may stand in the place of any other.
        cards = [
            {"file": s.file, "title": title, "question": title, "url": s.given.url}
            for s in samples(lang=lang)
            for title in [sentence(s.title, lang)]
        ]
        row = sample_cards(cards, lang, elem_id="whatif-samples")
        with gr.Row(equal_height=False):
            add = gr.UploadButton(
                text("ui.whatif.picture", lang), type="filepath", size="sm", scale=0,
                min_width=180, elem_id="whatif-picture",
            )  # fmt: skip
            shown = gr.HTML(
                thumb("", None),
                html_template=(
                    '<div class="sv-given"><img alt="" hidden>'
                    '<p class="sv-plain" role="status"></p></div>'
                ),
                js_on_load=script("""
                    const show = () => {
                      const { line, url } = JSON.parse(props.value);
                      const image = element.querySelector('img');
                      element.querySelector('p').textContent = line;
                      image.hidden = !url;
                      if (url) image.src = url;
                    };
                """),
                elem_id="whatif-picture-shown",
            )
    return OtherPicture(box, add, shown, row, lang)
