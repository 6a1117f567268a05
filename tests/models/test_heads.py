"""Which head a model takes, and what becomes of a name that leads to none."""

from __future__ import annotations

from pathlib import Path

import pytest

from specviz.files import named_folder
from specviz.models import heads
from specviz.models.base import InputError
from specviz.models.entries import BUILT_IN, SMOLLM2_HUB
from tests.models.tiny import model
from tests.tiny_head import head_folder


@pytest.mark.parametrize("target", ["smollm2-135m", "smollm2-135m-hub", SMOLLM2_HUB])
def test_smollm2_takes_the_embedded_head_under_all_its_names(target: str) -> None:
    head = heads.own(target)
    assert head is not None and head.label == "smollm2-eagle"


def test_labels_that_are_ready_for_heads() -> None:
    ready = [entry.label for entry in BUILT_IN.values() if "head" in entry.ready]
    assert ready == ["smollm2-135m", "smollm2-135m-hub"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("~nobody-here/x", "There is no folder ~nobody-here/x: give one with an EAGLE-3 head."),
        ("~/no-such-head", "There is no folder ~/no-such-head: give one with an EAGLE-3 head."),
        ("./no-such-head", "There is no folder ./no-such-head: give one with an EAGLE-3 head."),
        ("y" * 5000, "The hub "),
        ("a\0b", "The hub "),
    ],
)
def test_a_name_that_leads_to_no_head_is_one_sentence(name: str, sentence: str) -> None:
    with pytest.raises(InputError) as refused:
        model().head(name)
    assert str(refused.value).startswith(sentence)


def test_a_folder_of_ones_own_is_found_from_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = head_folder(tmp_path / "mine")
    assert named_folder("~/mine") == folder
    assert heads.named("~/mine").folder == folder
    assert model().head("~/mine").label == "mine"
    assert named_folder("") is None
