"""The controls of a run: made from the registries, read back into a Job."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gradio as gr

from specviz.catalog import sentence, text
from specviz.drafters import DRAFTERS, Knob, create, knobs_of
from specviz.jobs import Job
from specviz.limits import NONE
from specviz.models import registry
from specviz.models.base import InputError
from specviz.ui.blocks import plain
from specviz.ui.device import Door
from specviz.ui.document import DocumentTab, about, document_tab, opened
from specviz.ui.host import hardware_line
from specviz.ui.memory import room
from specviz.ui.pictures import PictureField, check_opened, check_sees, picture_field
from specviz.ui.trust import HEAD, check_head, check_model, only_labels
from specviz.ui.visit import Visit
from specviz.views.offered import marks
from specviz.views.verified import badge

FIXED = 10  # values of ``Form.inputs`` before those of knobs
SLIDER = 100_000  # a longer range cannot be set by dragging
LONGEST_NAME = 300  # characters of a name or path


@dataclass(frozen=True)
class Form:
    """The components of the form; ``inputs`` is the order in which ``job`` gets their values.

    ``knobs``: (decoder, knob, component). ``groups``: (decoder, group, whether it holds a knob).
    ``quota``: says what of a lent GPU the next run asks for; ``door``: through which it goes.
    """

    decoder: gr.Dropdown
    model: gr.Dropdown
    prompt: gr.Textbox
    prompt_tab: gr.Tab
    pictures: PictureField
    document: DocumentTab
    tokens: gr.Number
    dtype: gr.Dropdown
    baseline: gr.Checkbox
    knobs: tuple[tuple[str, Knob, Any], ...]
    groups: tuple[tuple[str, gr.Group, bool], ...]
    about: gr.Markdown
    memory: gr.HTML
    forget: gr.Button
    quota: gr.HTML
    door: Door | None = None
    lang: str = "en"

    @property
    def inputs(self) -> list[Any]:
        """All value components, knobs last."""
        fixed = [
            self.decoder, self.model, self.prompt, *self.document.inputs,
            self.tokens, self.dtype, self.baseline,
        ]  # fmt: skip
        return [*fixed, *(component for _, _, component in self.knobs)]

    @property
    def head(self) -> Any:
        """The component of the knob that names a drafter head."""
        return next(component for _, knob, component in self.knobs if knob.name == HEAD)

    def job(self, visit: Visit, values: Sequence[Any]) -> Job:
        """The job that the form describes; without a document while that is still being read.
        Raises InputError, also while pictures are still being opened."""
        decoder, model, prompt, document, question, cut, context, *rest = values[:FIXED]
        tokens, dtype, baseline = rest
        create(str(decoder or ""))  # a field that was emptied is told what there is
        knobs = {
            knob.name: value
            for (owner, knob, _), value in zip(self.knobs, values[FIXED:], strict=True)
            if owner == decoder
        }
        common = {
            "model": str(model or "").strip(),
            "decoder": decoder,
            "knobs": {k.name: k.check(knobs[k.name]) for k in knobs_of(DRAFTERS[decoder])},
            "max_new_tokens": whole(tokens, text("ui.form.tokens", self.lang), self.lang),
            "dtype": dtype or "auto",
            "baseline": bool(baseline),
            "scope": room(visit, self.lang),
        }
        check_model(common["model"], self.lang)
        check_head(common["knobs"].get(HEAD, ""), self.lang)
        if visit.mode == "document":
            found = opened(visit, document, self.lang)
            # 0, or an emptied field: all that the model holds.
            name = text("ui.form.context", self.lang)
            context = whole(context, name, self.lang) if context else None
            job = Job(prompt=question or "", cut=cut, context=context, **common)
            if found is not None:  # else the run waits for it, as ``begin`` sees
                job = about(job, found)
        else:
            check_opened(visit, self.lang)
            check_sees(visit, common["model"], self.lang)
            talk = visit.talk
            job = Job(
                prompt=prompt or "",
                pictures=tuple(each.picture for each in visit.pictures),
                history=talk.history if talk else (),
                system=talk.system if talk else None,
                **common,
            )
        if self.door is not None:
            job = replace(job, limits=self.door.limits)
        job.messages()  # says what is wrong with the text before anything waits or loads
        if self.door is not None and self.door.meter is not None:
            self.door.meter.check(job)
        return job

    def asks(self, visit: Visit, *values: Any) -> str:
        """What stands beside Run where a GPU is lent: what the run that the form describes asks
        for, or why it cannot be run."""
        if self.door is None or self.door.meter is None:
            return ""
        try:
            return self.door.meter.line(self.job(visit, values), self.lang)
        except InputError as error:
            return sentence(str(error), self.lang)


def first_model() -> str:
    """The model that the form begins with.

    A Gradio Space cannot install the packaged weights, so there it is one that can run; elsewhere
    it is the packaged one, whose absence Run answers with the command that mends it.
    """
    entries = registry.entries()
    if only_labels():
        return next((e.label for e in entries if e.problem() is None), entries[0].label)
    return entries[0].label


def model_choices(lang: str = "en") -> list[tuple[str, str]]:
    """Every label behind what can be said of its model in few words."""
    return [
        (f"{e.label} · {marks(e.supports, e.state(), e.download, lang)}", e.label)
        for e in registry.entries()
    ]


def about_model(name: Any, lang: str = "en") -> str:
    """What was verified of a label or hub id; empty for anything else, about which the disk is not
    asked."""
    label = str(name or "").strip()
    known = next((e for e in registry.entries() if e.label == label), None)
    results = registry.results(label)
    if known is None:
        return "\n".join(badge(results, "", (), lang))
    return "\n".join(badge(results, known.digest(), known.dtypes, lang))


def whole(value: Any, name: str, lang: str = "en") -> int:
    """``value`` as a whole number of at least 1; raises InputError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value:
        raise InputError(text("ui.error.whole", lang, name=name))
    if value < 1 or value != int(min(value, 1e9)):
        raise InputError(text("ui.error.whole", lang, name=name))
    return int(value)


def build_form(lang: str, door: Door | None = None) -> tuple[Form, gr.Button]:
    """Put the controls and Run into the column that is open now."""
    default = next(iter(DRAFTERS))
    decoder = gr.Dropdown(
        list(DRAFTERS), value=default, label=text("ui.form.decoder", lang), elem_id="decoder"
    )
    about = gr.Markdown(summary(default, lang), elem_classes="sv-about")
    model = _model(lang)
    with gr.Tabs():
        prompt_tab, prompt, pictures = _prompt(lang, (door.limits if door else NONE).file_mb)
        document = document_tab(lang)
    run = gr.Button(text("ui.run", lang), variant="primary", elem_id="run")
    quota = plain(elem_id="quota")
    with gr.Row(elem_classes="sv-memory"):
        memory = plain(elem_id="memory-next")
        forget = gr.Button(
            text("ui.scope.next.clear", lang), size="sm", min_width=64, elem_id="memory-clear"
        )
    knobs, groups = [], []
    for name in DRAFTERS:
        own, group = _knobs(name, lang, advanced=False, visible=name == default)
        knobs += own
        groups.append((name, group, bool(own)))
    with gr.Row():
        tokens = gr.Number(
            _first_budget(door), label=text("ui.form.tokens", lang), min_width=90, elem_id="tokens"
        )
        dtype = gr.Dropdown(
            ["auto", *registry.DTYPES], value="auto", label=text("ui.form.dtype", lang),
            min_width=110, elem_id="dtype",
        )  # fmt: skip
    baseline = gr.Checkbox(
        True, label=text("ui.form.baseline", lang), info=text("ui.form.baseline.info", lang),
        elem_id="baseline",
    )  # fmt: skip
    with gr.Accordion(text("ui.form.more", lang), open=False):
        for name in DRAFTERS:
            own, group = _knobs(name, lang, advanced=True, visible=name == default)
            knobs += own
            groups.append((name, group, bool(own)))
    form = Form(
        decoder, model, prompt, prompt_tab, pictures, document, tokens, dtype, baseline,
        tuple(knobs), tuple(groups), about, memory, forget, quota, door, lang,
    )  # fmt: skip
    return form, run


def _first_budget(door: Door | None) -> int:
    """The new tokens that the form begins with."""
    most = door.limits.new_tokens if door is not None else None
    return min(128, most or 128)


def _model(lang: str) -> gr.Dropdown:
    """The choice of a model, with what was verified of it."""
    model = gr.Dropdown(
        model_choices(lang),
        value=first_model(),
        label=text("ui.form.model", lang),
        info=None if only_labels() else text("ui.form.model.info", lang),
        allow_custom_value=not only_labels(),
        elem_id="model",
    )
    plain(hardware_line(lang), elem_id="hardware")
    verified = plain(about_model(first_model(), lang), elem_id="model-verified")
    model.change(
        partial(about_model, lang=lang), model, verified,
        show_progress="hidden", queue=False, api_visibility="private",
    )  # fmt: skip
    return model


def _prompt(lang: str, most: int) -> tuple[gr.Tab, gr.Textbox, PictureField]:
    """Put the tab of a prompt, and of pictures with it, into the tabs that are open now."""
    with gr.Tab(text("ui.form.prompt", lang), elem_id="prompt-tab") as tab:
        prompt = gr.Textbox(
            value=text("ui.form.prompt.example", lang),
            label=text("ui.form.prompt", lang),
            show_label=False,
            lines=4,
            max_lines=12,
            placeholder=text("ui.form.prompt.hint", lang),
            elem_id="prompt",
        )
        if lang != "en":  # the example and the pictures' questions are not in the page's language
            note = text("ui.form.prompt.language", lang)
            gr.Markdown(note, elem_id="prompt-language", elem_classes="sv-chart-note")
        pictures = picture_field(first_model(), lang, most)
    return tab, prompt, pictures


def _knobs(
    decoder: str, lang: str, advanced: bool, visible: bool
) -> tuple[list[tuple[str, Knob, Any]], gr.Group]:
    mine = [k for k in knobs_of(DRAFTERS[decoder]) if k.advanced == advanced]
    with gr.Group(visible=visible and bool(mine)) as group:
        made = [
            (decoder, knob, control(knob, f"knob-{decoder}-{knob.name}", lang)) for knob in mine
        ]
    return made, group


def control(knob: Knob, elem_id: str, lang: str = "en") -> Any:
    """The component for one knob, by its type and limits."""
    common: dict[str, Any] = {
        "label": knob.name.replace("_", " "), "info": sentence(knob.help, lang),
        "elem_id": elem_id,
    }  # fmt: skip
    if isinstance(knob.default, bool):
        return gr.Checkbox(knob.default, **common)
    if knob.choices is not None:
        return gr.Dropdown(list(knob.choices), value=knob.default, **common)
    if isinstance(knob.default, str):
        return gr.Textbox(knob.default, max_length=LONGEST_NAME, **common)
    assert knob.low is not None and knob.high is not None
    if knob.high > SLIDER:
        number = gr.Number(knob.default, precision=0, **common)
        number.preprocess = _as_given  # type: ignore[method-assign,assignment]
        return number
    step = 1.0 if isinstance(knob.default, int) else 0.001 if knob.high < 1 else 0.05
    slider = gr.Slider(knob.low, knob.high, value=float(knob.default), step=step, **common)
    # The knob checks its own limits, with a sentence that names the way out.
    slider.preprocess = _as_given  # type: ignore[method-assign]
    return slider


def _as_given(payload: float) -> float:
    return payload


def summary(decoder: str, lang: str = "en") -> str:
    """The first sentence of a drafter's documentation."""
    first = (inspect.getdoc(DRAFTERS[decoder]) or "").split("\n\n")[0].replace("\n", " ")
    return sentence(first, lang)
