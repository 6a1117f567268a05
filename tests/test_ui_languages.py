"""The page in every language: its own address, labels, cards and errors."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from specviz import jobs, ui
from specviz.drafters import DRAFTERS, knobs_of
from specviz.models.base import InputError
from specviz.ui.actions import Actions
from specviz.ui.examples import TOY_WORDS, Toy
from specviz.ui.form import control, summary, whole
from specviz.ui.trust import check_model
from specviz.ui.visit import Desk, Visit


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
