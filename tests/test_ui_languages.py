"""The page in every language: its own address, labels, cards and errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz import jobs, ui
from specviz.catalog import sentence, text
from specviz.drafters import DRAFTERS, knobs_of
from specviz.models import registry
from specviz.models.base import InputError
from specviz.trace import Trace
from specviz.tracefile import save
from specviz.ui.actions import Actions
from specviz.ui.document import read
from specviz.ui.examples import TOY_WORDS, Toy, examples
from specviz.ui.form import control, summary, whole
from specviz.ui.inspect import Inspect
from specviz.ui.pictures import PictureField
from specviz.ui.samples import samples
from specviz.ui.trust import check_model
from specviz.ui.visit import Desk, Visit
from specviz.ui.whatif_picture import OtherPicture
from specviz.views.card import card


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    rhyme = Toy("rhyme", *TOY_WORDS, "recap")
    found: dict[str, Any] = ui.build((rhyme,)).config
    return found


def shown(config: dict[str, Any], page: str, elem_id: str) -> Any:
    """The component of a page with an id; there is one."""
    ids = config["page"][page]["components"]
    (found,) = (
        each["props"] for each in config["components"]
        if each["id"] in ids and each["props"].get("elem_id") == elem_id
    )  # fmt: skip
    return found


def test_every_language_has_a_page_of_its_own(config: dict[str, Any]) -> None:
    assert [(path, visible) for path, _, visible in config["pages"]] == [("", True), ("ru", False)]
    assert shown(config, "", "run")["value"] == "Run"
    assert shown(config, "ru", "run")["value"] == "Запустить"
    knob = shown(config, "ru", "knob-recap-nodes")
    assert (knob["label"], knob["info"]) == (
        "nodes", "Догадок на шаг; 0 оставляет выбор устройству."
    )  # fmt: skip


def test_only_one_page_offers_the_endpoints(config: dict[str, Any]) -> None:
    names = [each["api_name"] for each in config["dependencies"] if each["api_name"]]
    public = [n for n in names if n.startswith(("generate", "clear_memory"))]
    assert public == ["generate", "clear_memory"]


def test_pages_link_to_each_other(config: dict[str, Any]) -> None:
    for page, other, name in (("", "ru", "Русский"), ("ru", "en", "English")):
        link = shown(config, page, "language")["html_template"]
        assert f'hreflang="{other}"' in link and f">{name}</a>" in link


def test_cards_speak_the_language_of_their_page(config: dict[str, Any]) -> None:
    rhyme = Toy("rhyme", *TOY_WORDS, "recap")
    actions = Actions(Desk(), (rhyme,), jobs.run, None, "ru")  # type: ignore[arg-type]
    (card,) = json.loads(actions.cards(Visit()))["cards"]
    assert (card["title"], card["about"]) == ("Детский стишок", summary("recap", "ru"))
    assert card["about"].startswith("Деревья черновика")
    assert rhyme.figures("ru").endswith("✓ тот же текст")
    assert rhyme.figures().endswith("✓ same text")


def test_errors_of_the_form_speak_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^Порция принимает только целое число от 1\.$"):
        whole(0, "Порция", "ru")
    monkeypatch.setenv("SPACE_ID", "a/b")
    with pytest.raises(InputError, match=r"^Эта открытая страница работает с "):
        check_model("owner/model", "ru")


def test_a_knob_that_nobody_translated_is_shown_in_english() -> None:
    knob = replace(knobs_of(DRAFTERS["recap"])[0], help="Something new.")
    assert control(knob, "k", "ru").info == "Something new."


def test_errors_from_below_the_page_speak_it_too(tmp_path: Path) -> None:
    actions = Actions(Desk(), (), jobs.run, None, "ru")  # type: ignore[arg-type]
    line = words(actions.failed(InputError("There is no decoder 'x': choose one of a, b.")))
    assert "Декодера 'x' нет: выберите один из a, b." in line
    (tmp_path / "{name}.png").write_bytes(b"GIF89a")
    wrong = PictureField(None, None, None, None, "ru", 32)._open(  # type: ignore[arg-type]
        Visit(), [str(tmp_path / "{name}.png")]
    )
    assert wrong == [
        "{name}.png начинается как GIF, но повреждён или обрезан: сохраните его заново."
    ]
    other = OtherPicture(None, None, None, None, "ru")  # type: ignore[arg-type]
    assert (
        "повреждён или обрезан"
        in json.loads(other.take(Visit(), str(tmp_path / "{name}.png")))["line"]
    )
    (tmp_path / "empty.txt").write_bytes(b"")
    assert "empty.txt пуст: выберите документ с текстом." in _read(tmp_path / "empty.txt")
    (tmp_path / "torn.jsonl").write_bytes(b"{")
    _, said, _ = Inspect(Desk(), (), "ru").add([str(tmp_path / "torn.jsonl")], {})
    assert said == (
        "torn.jsonl: Это не файл трассы, одна из строк — не JSON: "
        "выберите файл, записанный specviz."
    )


def test_notes_and_findings_speak_it_too(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes(b"one\r\ntwo\r\n")
    line = _read(tmp_path / "old.txt")
    assert "Прочитан как UTF-8. 2 конца строк CRLF заменены на LF." in line
    trace = Toy("rhyme", *TOY_WORDS, "recap").trace
    header, prefill, *rest = trace.events
    header = header.model_copy(update={"notes": (jobs.DISTURBED,)})
    shown = dict(card(Trace((header, prefill, *rest)), "ru"))
    assert shown["Примечание"].startswith(
        "В это время ещё делился на токены текст прежнего прогона"
    )
    late = [e.model_copy(update={"index": e.index + 1}) if e.type == "step" else e for e in rest]
    save(tmp_path / "odd.jsonl", (header, prefill, *late))
    actions = Actions(Desk(), (), jobs.run, None, "ru")  # type: ignore[arg-type]
    *_, said = actions.upload(Visit(), str(tmp_path / "odd.jsonl"))
    assert "не могли произойти: Прогон с черновиком: шаг 1 стоит на месте шага 0." in words(said)


def _read(path: Path) -> str:
    *_, last = read(Visit(), str(path), "ru")
    return words(last)


def words(status: str) -> str:
    """What a status line says."""
    said: str = json.loads(status)["text"]
    return said


# Two Latin words one after the other are English, unless they are one of these.
NAMES = {"Hugging Face Hub", "GPU NVIDIA", "AMD EPYC"}
ENGLISH = re.compile(r"[A-Za-z][A-Za-z'’-]{2,}(?:[ ,]+[A-Za-z][A-Za-z'’-]{2,})+")
SHOWN = ("label", "info", "value", "placeholder", "choices", "headers", "html_template")


def strings(value: Any) -> Iterator[str]:
    """All texts in a component's value, markup, scripts and commands left out."""
    if isinstance(value, str):
        bare = re.sub(r"<(style|script)\b.*?</\1>", " ", value, flags=re.DOTALL)
        yield re.sub(r"<[^>]*>|\$\{[^}]*\}|`[^`]*`", " ", bare)
    elif isinstance(value, dict | list | tuple):
        for each in value.values() if isinstance(value, dict) else value:
            yield from strings(each)


def test_the_russian_page_is_russian_but_for_names_and_what_models_are_asked(
    config: dict[str, Any],
) -> None:
    ids = config["page"]["ru"]["components"]
    asked = {text("ui.form.prompt.example", "ru"), *(s.question for s in samples(lang="ru"))}
    labels = [entry.label for entry in registry.entries()]
    knobs = {k.name.replace("_", " ") for d in DRAFTERS.values() for k in knobs_of(d)}
    left = set()
    for each in config["components"]:
        if each["id"] not in ids:
            continue
        for said in strings([each["props"].get(name) for name in SHOWN]):
            for known in sorted({*asked, *labels, *knobs}, key=len, reverse=True):
                said = said.replace(known, "·").replace(json.dumps(known)[1:-1], "·")
            left |= {*ENGLISH.findall(said)}
    assert left - NAMES == set()
    assert text("ui.form.prompt.language", "ru") == shown(config, "ru", "prompt-language")["value"]


def test_what_recorded_runs_say_of_themselves_is_russian() -> None:
    said: set[str] = set()
    for example in examples():
        for event in example.trace.events:
            if event.type == "header":
                said |= {*event.notes, event.machine, *(n for p in event.pictures for n in p.said)}
            if event.type == "finish" and event.message:
                said.add(event.message)
    left = {s for s in said if not re.search("[а-яё]", sentence(s, "ru"))}
    assert left == set()
    assert len(said) > 3, "there is something that had to be translated"
