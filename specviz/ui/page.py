"""The page: what stands where, and which handler answers which press."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr
from gradio import events

from specviz.catalog import LANGUAGES, sentence, text
from specviz.gallery import Example
from specviz.lessons import cards
from specviz.limits import from_environment
from specviz.ui.actions import Actions
from specviz.ui.answers import Answers
from specviz.ui.api import generate
from specviz.ui.below import ASK_ON, COLUMN_OPEN, TOGGLE_COLUMN, build_below
from specviz.ui.blocks import plain, player_stage, status_line
from specviz.ui.callers import Callers, clear_memory
from specviz.ui.device import Door, door
from specviz.ui.examples import examples
from specviz.ui.form import Form, build_form
from specviz.ui.host import DELETE_AFTER, DELETE_EVERY, duplicate_link, privacy_line
from specviz.ui.inspect import Inspect
from specviz.ui.languages import language_links, speak
from specviz.ui.memory import LONGEST_NAME, Memory
from specviz.ui.panes import wire_panes
from specviz.ui.plots import LET_GO
from specviz.ui.talk import GoOn
from specviz.ui.upload import refuse_large
from specviz.ui.visit import Desk, Visit
from specviz.ui.whatif_picture import FIRST_BLANK

QUEUE = 20  # runs that may wait; said, because on ZeroGPU Gradio would let one wait
# One run at a time on the device; everything else answers at once.
DEVICE = {"concurrency_id": "gpu", "concurrency_limit": 1}
AT_ONCE: dict[str, Any] = {
    "queue": False,
    "show_progress": "hidden",
    "api_visibility": "private",
}
# A run whose document is still being read keeps no other from the device.
WAITING: dict[str, Any] = {
    "concurrency_id": "waiting",
    "concurrency_limit": QUEUE,
    "show_progress": "hidden",
    "api_visibility": "private",
}
# The player wants the whole width of a small screen; the controls stand beside it on a large one.
OPEN_IF_WIDE = f"() => {{ if (innerWidth >= 1500 && !{COLUMN_OPEN}) {TOGGLE_COLUMN}; }}"
# Once a run has begun, which is to be watched; on a phone also after an error, which the open
# column would hide. The run before stays behind what the stage waits for.
FOLD_IF_NARROW = f"""(status) => {{
  const {{ kind, text }} = JSON.parse(status), busy = kind === 'busy';
  const narrow = innerWidth < (busy ? 1500 : 768);
  if (busy) document.querySelector('#player').dataset.opening = text;
  if (busy) document.querySelector('.sv-top').scrollIntoView({{ block: 'start' }});
  if (narrow && {COLUMN_OPEN}) {TOGGLE_COLUMN};
}}"""
TOGGLE = f"() => {{ {TOGGLE_COLUMN}; }}"
# A tab that was never opened is not there yet.
RUN_AGAIN = """async () => {
  document.querySelector('#whatif-tab-button')?.click();
  const run = () => document.querySelector('#whatif-run');
  for (let i = 0; i < 100 && !run(); i++) await new Promise((r) => setTimeout(r, 50));
  run()?.click();
}"""


@dataclass(frozen=True)
class Made:
    """What the pages of all languages share."""

    desk: Desk
    recorded: tuple[Example, ...]
    door: Door


@dataclass(frozen=True)
class Controls:
    """The left column."""

    form: Form
    run: gr.Button
    scope: gr.Textbox
    scope_line: gr.HTML
    clear: gr.Button
    upload: gr.UploadButton


def build(recorded: tuple[Example, ...] | None = None) -> gr.Blocks:
    """The page, ready to launch; loads no weights. ``recorded``: the examples to offer.

    Every language has a page of its own, English at the address itself, another one behind it:
    Gradio sends a browser the components of the page that it asks for, and no others.
    """
    made = Made(Desk(), recorded or examples(), door(from_environment()))
    with gr.Blocks(
        title=text("ui.title"), fill_width=True, analytics_enabled=False,
        delete_cache=(DELETE_EVERY, DELETE_AFTER),
    ) as page:  # fmt: skip
        actions = _page(page, made, "en")
        page.unload(actions.close_page)  # called for every page, so said once
        callers = Callers()
        events.api(
            generate(actions.decode, callers, made.door.limits), api_name="generate",
            api_description=text("ui.api"), **DEVICE,
        )  # fmt: skip
        events.api(
            clear_memory(callers), api_name="clear_memory", queue=False,
            api_description=text("ui.api.clear"),
        )  # fmt: skip
    for lang, name in LANGUAGES.items():
        if lang != "en":
            with page.route(name, lang, show_in_navbar=False):
                _page(page, made, lang)
    built: gr.Blocks = page.queue(max_size=QUEUE)
    return built


def _page(page: gr.Blocks, made: Made, lang: str) -> Actions:
    """The page of one language, put into the blocks that are open now."""
    desk, recorded = made.desk, made.recorded
    answers = Answers(desk, lang)
    # Gradio copies the description of a page for everyone who comes: of a bound method, all that it
    # is bound to.
    visit = gr.State(Visit(), delete_callback=lambda gone: desk.forget(gone))
    with gr.Sidebar(width=300, open=False, elem_id="controls"):
        controls = _controls(lang, made.door)
    actions = Actions(desk, recorded, made.door.decode, controls.form, lang)
    status, stop, more, blank, own = _head(lang)
    player = player_stage(
        answers.get_events, lang, elem_id="player", recorded=_awaited(recorded, lang)
    )
    with gr.Column(elem_classes="sv-below"):
        inspect = Inspect(desk, recorded, lang)
        below = build_below(answers, inspect, lang)
    page.load(None, js=speak(lang), **AT_ONCE)
    page.load(None, js=LET_GO, **AT_ONCE)
    page.load(None, js=refuse_large(lang, made.door.limits.file_mb), **AT_ONCE)

    shown = [player, below.gallery, below.takeaway, status]
    summaries = {
        "fn": actions.summaries, "inputs": visit,
        "outputs": [*below.summaries, controls.scope_line, status], **AT_ONCE,
    }  # fmt: skip
    again = wire_panes(inspect, below.panes, visit, actions.failed, status, below.takeaway)
    opened = page.load(actions.open_page, visit, [visit, *shown], **AT_ONCE)
    opened.then(**summaries).then(**again)
    picked = below.gallery.click(actions.pick, visit, shown, **AT_ONCE)
    picked.then(**summaries).then(**again)
    handed = controls.upload.upload(actions.upload, [visit, controls.upload], shown, **AT_ONCE)
    handed.then(**summaries).then(**again)
    own.click(None, js=TOGGLE, **AT_ONCE)
    form = controls.form
    tried = below.tries.click(
        form.pictures.tried, [visit, form.model, form.prompt],
        [form.pictures.tray, form.prompt, form.pictures.box, form.model], **AT_ONCE,
    )  # fmt: skip
    tried.success(None, js=ASK_ON, **AT_ONCE)
    GoOn(actions, controls.form.pictures).wire(
        more, blank, visit, [below.takeaway, below.facts], status, ASK_ON, AT_ONCE
    )
    asked = blank.click(lambda: FIRST_BLANK, None, below.whatif.change, **AT_ONCE)
    asked.then(None, js=RUN_AGAIN, **AT_ONCE)
    page.load(None, js=OPEN_IF_WIDE, **AT_ONCE)
    ended = _wire_run(controls, stop, actions, visit, shown)
    ended.then(**summaries).then(**again)
    _wire_form(page, controls, actions, visit)
    below.whatif.wire(
        actions, visit, [status, below.gallery, controls.run, stop, controls.upload],
        [below.takeaway, below.facts], player, again, AT_ONCE, DEVICE,
    )  # fmt: skip
    return actions


def _awaited(recorded: tuple[Example, ...], lang: str) -> list[tuple[str, str, str]]:
    """Name, title and decoder of what an address may ask for: examples, and "lesson <name>"."""
    decoders = {each.name: each.decoder for each in recorded}
    return [
        *((each.name, sentence(each.title, lang), each.decoder) for each in recorded),
        *(
            (f"lesson {card['name']}", card["title"], decoders[card["examples"][0]])
            for card in cards(lang)
            if decoders.keys() >= set(card["examples"])
        ),
    ]


def _head(lang: str) -> tuple[gr.HTML, gr.Button, gr.Button, gr.Button, gr.Button]:
    """The line on top: status, Stop, what asks on about a picture, what tries a blank one, and what
    opens the controls."""
    with gr.Row(elem_classes="sv-top"):
        gr.HTML(
            f"<h1>{text('ui.title', lang)}<small>{text('ui.subtitle', lang)}</small></h1>",
            elem_classes="sv-brand",
        )
        language_links(lang, elem_id="language")
        status = status_line(elem_id="status")
        stop = gr.Button(
            text("ui.stop", lang), visible=False, variant="stop", size="sm", elem_id="stop",
            min_width=70,
        )  # fmt: skip
        more = gr.Button(
            text("ui.more", lang), visible=False, size="sm", elem_id="ask-on", min_width=150
        )
        blank = gr.Button(
            text("ui.blank", lang), visible=False, size="sm", elem_id="blank", min_width=120
        )
        own = gr.Button(
            text("ui.own", lang), variant="primary", size="sm", elem_id="own", min_width=150
        )
    return status, stop, more, blank, own


def _controls(lang: str, door: Door) -> Controls:
    form, run = build_form(lang, door)
    with gr.Accordion(text("ui.scope", lang), open=False):
        scope = gr.Textbox(
            label=text("ui.scope.name", lang), info=text("ui.scope.info", lang),
            placeholder=text("ui.scope.default", lang), elem_id="scope", max_length=LONGEST_NAME,
        )  # fmt: skip
        line = plain(elem_id="scope-line")
        clear = gr.Button(text("ui.scope.clear", lang), size="sm", elem_id="scope-clear")
    upload = gr.UploadButton(text("ui.upload", lang), type="filepath", size="sm", elem_id="upload")
    plain(privacy_line(lang), elem_id="privacy")
    duplicate_link(lang)
    return Controls(form, run, scope, line, clear, upload)


def _wire_run(
    controls: Controls,
    stop: gr.Button,
    actions: Actions,
    visit: gr.State,
    shown: list[Any],
) -> Any:
    """What happens at Run; returns the end of a run, for more to follow."""
    status, gallery = shown[-1], shown[1]
    buttons = [controls.run, stop, controls.upload]
    outputs = [status, gallery, *buttons]
    begun = controls.run.click(
        actions.begin, [visit, *controls.form.inputs], outputs,
        trigger_mode="once", **AT_ONCE,
    )  # fmt: skip
    begun.then(None, status, js=FOLD_IF_NARROW, **AT_ONCE)
    ready = begun.then(actions.wait, visit, outputs, **WAITING)
    ended = ready.then(
        actions.run, visit, [*shown, *buttons], show_progress="hidden", api_visibility="private",
        **DEVICE,
    )  # fmt: skip
    return ended.then(actions.settle, visit, outputs, **AT_ONCE)


def _wire_form(page: gr.Blocks, controls: Controls, actions: Actions, visit: gr.State) -> None:
    form, memory = controls.form, Memory(actions.lang)
    groups = [group for _, group, _ in form.groups]
    form.decoder.change(actions.choose, form.decoder, [form.about, *groups], **AT_ONCE)
    form.document.wire(visit, form.prompt_tab, actions.lang, AT_ONCE)
    form.pictures.wire(visit, form.model, form.prompt, AT_ONCE)
    controls.scope.change(memory.cross, [visit, controls.scope], controls.scope_line, **AT_ONCE)
    for button in (controls.clear, form.forget):
        button.click(memory.clear, visit, controls.scope_line, **AT_ONCE)
    # The scope's line changes whenever its memory does.
    gr.on(
        [part.change for part in (controls.scope_line, form.decoder, form.model, form.dtype)],
        memory.next, [visit, form.decoder, form.model, form.dtype], [form.memory, form.forget],
        **AT_ONCE,
    )  # fmt: skip
    if form.door is not None and form.door.meter is not None:
        parts = (form.decoder, form.model, form.tokens, form.dtype, form.baseline)
        gr.on(
            [page.load, form.prompt.blur, form.prompt_tab.select, form.document.tab.select,
             form.document.question.blur, form.document.line.change, *(p.change for p in parts)],
            form.asks, [visit, *form.inputs], form.quota, **AT_ONCE,
        )  # fmt: skip
