"""Pictures of the next prompt: opened as soon as they are there, and said what became of them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import gradio as gr

from specviz.catalog import sentence, text
from specviz.models import registry
from specviz.models.base import MOST_PICTURES, InputError
from specviz.pictures import open_picture
from specviz.ui.address import shortened
from specviz.ui.given import Given, given
from specviz.ui.samples import Sample, samples
from specviz.ui.tray import catcher, contents, tray
from specviz.ui.tray import samples as sample_cards
from specviz.ui.visit import Visit

LOG = logging.getLogger(__name__)
MOST = 4  # pictures of one question
KEEP = gr.skip()
# Pictures that may be opened at once, for all visitors: each takes a core and its pixels.
OPENING: dict[str, Any] = {
    "concurrency_id": "pictures",
    "concurrency_limit": 2,
    "show_progress": "hidden",
    "api_visibility": "private",
    "trigger_mode": "multiple",
}


def sees(model: Any) -> bool | None:
    """Whether a model may be shown pictures; None where only loading it tells."""
    label = str(model or "").strip()
    known = next((e for e in registry.entries() if e.label == label), None)
    return None if known is None else "image" in known.supports


def seeing() -> list[str]:
    """Labels of at most two models that see and can run right here, the real one first."""
    here = [
        e for e in registry.entries() if "image" in e.supports and e.digest() and not e.problem()
    ]
    return [e.label for e in sorted(here, key=lambda e: e.kind == "toy")][:2]


def _readers() -> str:
    """Labels of hub models that read photos, and that nobody needs a GPU for."""
    image = [e for e in registry.entries() if e.kind == "image" and not e.slow]
    return ", ".join(e.label for e in image if e.label != registry.BOARDS)


def check_sees(visit: Visit, model: str, lang: str = "en") -> None:
    """Raises InputError when the next prompt takes pictures along and ``model`` cannot see."""
    if _shown(visit) and sees(model) is False:
        labels = ", ".join(seeing())
        raise InputError(text("ui.pictures.blind", lang, model=model, labels=labels))


def check_opened(visit: Visit, lang: str = "en") -> None:
    """Raises InputError while pictures are still being opened: the question would go without."""
    if visit.opening:
        raise InputError(text("ui.pictures.awaited", lang))


def _files(paths: list[str] | str | None) -> list[str]:
    return [paths] if isinstance(paths, str) else list(paths or [])


def _shown(visit: Visit) -> list[Given]:
    """The pictures of the next prompt, those of earlier turns first."""
    return [*(visit.talk.thumbs if visit.talk else ()), *visit.pictures]


@dataclass(frozen=True)
class PictureField:
    """The components. What was given is kept in the visit, so it is no value of theirs."""

    box: gr.Accordion
    tray: gr.HTML
    add: gr.UploadButton
    samples: gr.HTML
    lang: str
    most: int  # MB of a file

    def wire(
        self, visit: gr.State, model: gr.Dropdown, prompt: gr.Textbox, at_once: dict[str, Any]
    ) -> None:
        """Open what is handed in at once; say it when the chosen model cannot see."""
        # Before a place in the queue is free, too, Run knows of what will be there.
        coming = self.add.upload(self.coming, [visit, self.add], None, **at_once)
        taken = coming.then(self.take, [visit, self.add, model], [self.tray, self.box], **OPENING)
        # A full queue turns it away: then nothing is awaited any more.
        taken.failure(self.lost, visit, None, **at_once)
        self.tray.click(self.act, [visit, model], [self.tray, model], **at_once)
        self.samples.click(
            self.sample, [visit, model, prompt], [self.tray, prompt, self.box], **at_once
        )
        model.change(self.chosen, [visit, model], [self.tray, self.box], **at_once)

    def value(self, visit: Visit, model: Any, wrong: str = "", busy: str = "") -> str:
        """The value of the tray; ``wrong``: what could not be opened."""
        name = str(model or "").strip()
        blind = sees(name) is False
        labels = seeing() if blind else []
        said, kind = wrong, "error" if wrong else ""
        if busy:
            said, kind, labels = busy, "busy", []
        elif blind and _shown(visit):
            line = text("ui.pictures.blind", self.lang, model=name, labels=", ".join(labels))
            said, kind = f"{wrong} {line}".strip(), "error"
        elif blind and not wrong:
            said = text("ui.pictures.text_only", self.lang, model=name)
        elif not wrong and not visit.pictures and not visit.talk:
            said = text("ui.pictures.hint", self.lang)
        if name == registry.BOARDS and not busy and not wrong:
            said = f"{said} {text('ui.pictures.photos', self.lang, model=name, labels=_readers())}"
        offers = [(label, text("ui.pictures.use", self.lang, model=label)) for label in labels]
        earlier = len(visit.talk.thumbs) if visit.talk else 0
        side = _sight(name)
        shown = [_card(g, i < earlier, name, side, self.lang) for i, g in enumerate(_shown(visit))]
        talk = "" if visit.talk is None else text("ui.talk", self.lang, count=visit.talk.turns)
        return contents(shown, said.strip(), kind, offers, talk, monotonic())

    @staticmethod
    def coming(visit: Visit, paths: list[str] | str | None) -> None:
        """Files were handed in: a run waits for them."""
        visit.opening += _files(paths)

    @staticmethod
    def lost(visit: Visit) -> None:
        """They could not even be taken: no run waits for them."""
        visit.opening.clear()

    def take(
        self, visit: Visit, paths: list[str] | str | None, model: Any
    ) -> Iterator[tuple[Any, ...]]:
        """tray, box while files are opened, and after."""
        files = _files(paths)
        if not files:
            yield KEEP, KEEP
            return
        if not set(files) <= set(visit.opening):
            self.coming(visit, paths)
        busy = text("ui.pictures.opening", self.lang, count=len(files))
        try:
            yield self.value(visit, model, busy=busy), gr.update(open=True)
            wrong = self._open(visit, files)
        finally:  # a tab that is closed ends this anywhere
            visit.opening[:] = [path for path in visit.opening if path not in files]
        refused, visit.refused = [visit.refused] if visit.refused else [], ""
        yield self.value(visit, model, " ".join([*refused, *wrong])), KEEP

    def _open(self, visit: Visit, files: list[str]) -> list[str]:
        """What is wrong with some of ``files``; the others become pictures of the next prompt."""
        wrong = []
        earlier = len(visit.talk.thumbs) if visit.talk else 0
        most = max(0, min(MOST, MOST_PICTURES - earlier))
        for at, path in enumerate(files):
            # A picture that takes another's place needs no room of its own.
            if visit.replacing is None and len(visit.pictures) >= most:
                count = len(files) - at
                wrong.append(text("ui.pictures.left_out", self.lang, count=count, most=most))
                break
            try:
                self._put(visit, given(open_picture(Path(path))))
            except InputError as error:
                wrong.append(sentence(str(error), self.lang))
            except Exception as error:
                LOG.error("a picture could not be opened", exc_info=error)
                wrong.append(text("ui.error.bug", self.lang))
        visit.replacing = None
        return wrong

    @staticmethod
    def _put(visit: Visit, new: Given) -> None:
        at, visit.replacing = visit.replacing, None
        have = list(visit.pictures)
        if at is not None and at < len(have):
            have[at] = new
        else:
            have.append(new)
        visit.pictures = tuple(have)

    def act(self, visit: Visit, model: Any, event: gr.EventData) -> tuple[Any, ...]:
        """tray, model after a button in the tray was pressed."""
        asked, which = event._data.get("act"), event._data.get("which")
        earlier = len(visit.talk.thumbs) if visit.talk else 0
        at = which - earlier if type(which) is int else -1
        if asked == "use" and which in seeing():
            return self.value(visit, which), which
        if asked == "large":  # told here, because these files never arrive
            name = shortened(str(event._data.get("name")))
            visit.refused = text("ui.pictures.large", self.lang, name=name, most=self.most)
            wrong, visit.refused = visit.refused, visit.refused if which else ""
            return self.value(visit, model, wrong), KEEP
        if asked == "anew":
            visit.talk = None
        elif asked == "keep":
            visit.replacing = None
        elif asked == "replace" and 0 <= at < len(visit.pictures):
            visit.replacing = at
            return KEEP, KEEP
        elif asked == "remove" and 0 <= at < len(visit.pictures):
            visit.replacing = None
            visit.pictures = visit.pictures[:at] + visit.pictures[at + 1 :]
        else:
            return KEEP, KEEP
        return self.value(visit, model), KEEP

    def sample(
        self, visit: Visit, model: Any, prompt: str | None, event: gr.EventData
    ) -> tuple[Any, ...]:
        """tray, prompt, box after an example picture was chosen: it takes the place of others, its
        question that of a prompt that nobody wrote."""
        every = samples(lang=self.lang)
        card = next((s for s in every if s.file == event._data.get("file")), None)
        if card is None:
            return KEEP, KEEP, KEEP
        visit.pictures, visit.talk, visit.replacing = (card.given,), None, None
        theirs = {"", text("ui.form.prompt.example", self.lang), *(s.question for s in every)}
        question = card.question if (prompt or "").strip() in theirs else KEEP
        return self.value(visit, model), question, gr.update(open=True)

    def tried(
        self, visit: Visit, model: Any, prompt: str | None, event: gr.EventData
    ) -> tuple[Any, ...]:
        """tray, prompt, box, model after an example picture beside the recorded runs was chosen:
        a model that sees it is chosen with it, where the one of the form cannot."""
        here = seeing()
        seer = here[0] if sees(model) is False and here else model
        return *self.sample(visit, seer, prompt, event), KEEP if seer == model else seer

    def chosen(self, visit: Visit, model: Any) -> tuple[Any, ...]:
        """tray, box once another model is chosen."""
        opened = gr.update(open=True) if sees(model) or _shown(visit) else KEEP
        return self.value(visit, model), opened


def picture_field(model: str, lang: str, most: int) -> PictureField:
    """Put the field into the tab that is open now; ``most``: MB of a file."""
    labels = {name: text(f"ui.pictures.{name}", lang) for name in ("remove", "replace", "anew")}
    catcher("pictures-catcher", most)
    with gr.Accordion(
        text("ui.pictures", lang), open=bool(sees(model)), elem_id="pictures"
    ) as box:
        held = tray("{}", labels, elem_id="pictures-tray")
        with gr.Row(elem_id="pictures-add-row"):
            add = gr.UploadButton(
                text("ui.pictures.add", lang), type="filepath", file_count="multiple", size="sm",
                elem_id="pictures-add",
            )  # fmt: skip
        row = sample_row(lang, "samples")
    field = PictureField(box, held, add, row, lang, most)
    held.value = field.value(Visit(), model)
    return field


def sample_row(lang: str, elem_id: str, opens: str = "{}") -> gr.HTML:
    """The example pictures, to be chosen with one click; ``opens``: see ``tray.samples``."""
    return sample_cards([_sample(card, lang) for card in samples(lang=lang)], lang, elem_id, opens)


def _sight(model: str) -> int:
    """The side of the square that a model's pictures become; 0 where only loading it tells."""
    return next((e.sight for e in registry.entries() if e.label == model), 0)


def _card(given: Given, fixed: bool, model: str, side: int, lang: str) -> dict[str, Any]:
    picture = given.picture
    words: dict[str, Any] = {"width": picture.width, "height": picture.height}
    size = text("ui.pictures.size", lang, **words)
    if side and (picture.width, picture.height) != (side, side):
        size = text("ui.pictures.size.fitted", lang, model=model, side=side, **words)
    return {
        "url": given.url,
        "name": picture.name,
        "alt": text("ui.pictures.alt", lang, name=picture.name, **words),
        "size": size,
        "notes": [sentence(note, lang) for note in picture.notes],
        "fixed": fixed,
    }


def _sample(card: Sample, lang: str) -> dict[str, str]:
    return {
        "file": card.file,
        "title": sentence(card.title, lang),
        "question": card.question,
        "url": card.given.url,
    }
