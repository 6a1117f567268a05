"""Which head a model takes, and what becomes of a name that leads to none."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from specviz.files import named_folder
from specviz.jobs import Job, run
from specviz.models import heads, registry
from specviz.models.base import InputError
from specviz.models.eagle_heads import Heads
from specviz.models.entries import BUILT_IN, SMOLLM2_HUB, Entry
from specviz.trace import Progress
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
        ("y" * 5000, "A drafter head's name has at most 300 characters: give a shorter."),
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


def test_loading_a_head_is_a_stage_that_can_be_left_and_comes_before_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))  # no costs are known
    target, let_go, begun, encoded = model(), threading.Event(), threading.Event(), []
    read, encode = Heads._read, target.encode

    def slow(self: Heads, head: heads.Head) -> Any:
        begun.set()
        assert let_go.wait(20)
        return read(self, head)

    monkeypatch.setattr(Heads, "_read", slow)
    monkeypatch.setattr(target, "encode", lambda given: encoded.append(1) or encode(given))
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    registry.register(Entry(label="tiny", title="tiny", load=lambda device, kind: target))
    knobs = {"head": str(head_folder(tmp_path / "head"))}
    job = Job("tiny", "window", "The house", knobs=knobs, dtype="float64", max_new_tokens=6)
    load = Progress(stage="load", done=0, total=1)
    left = run(job)
    assert [next(left) for _ in range(4)] == [load] * 4
    assert begun.wait(5) and encoded == []
    left.close()
    # Loading goes on, and the next run has to wait for it, also one of another model: it changes
    # settings of the whole process.
    other = run(Job("toy", prompt="This is", max_new_tokens=4))
    assert [next(other) for _ in range(3)] == [load] * 3
    other.close()
    later = run(job)
    assert [next(later) for _ in range(3)] == [load] * 3
    let_go.set()
    stages = [e.stage if isinstance(e, Progress) else e.type for e in later]
    assert [s for s in dict.fromkeys(stages) if s != "load"][:4] == [
        "encode", "measure", "header", "prefill",
    ]  # fmt: skip
    assert encoded == [1]


def test_what_a_head_cannot_do_is_said_before_the_text_is_encoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = model()
    monkeypatch.setattr(target, "encode", lambda given: pytest.fail("encoded in vain"))
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    registry.register(Entry(label="tiny", title="tiny", load=lambda device, kind: target))
    knobs = {"head": str(head_folder(tmp_path / "head")), "window": 60}
    job = Job("tiny", "window", "The house", knobs=knobs, dtype="float64")
    with pytest.raises(
        InputError, match=r"^4 sinks, a window of 60 and 4 levels take 69 positions"
    ):
        list(run(job))
