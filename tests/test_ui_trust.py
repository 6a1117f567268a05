"""Which models and heads a page loads, and for whom."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from specviz import jobs
from specviz.models import registry
from specviz.models.base import InputError
from specviz.trace import Trace
from specviz.ui.api import generate
from specviz.ui.form import build_form, first_model
from specviz.ui.trust import check_model, check_trusted
from specviz.ui.visit import Visit
from tests.page_parts import toy_trace


def test_the_model_that_a_trace_names_is_not_loaded_unless_somebody_chose_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def named(model: str) -> Trace:
        first, *rest = toy_trace().events
        return Trace((first.model_copy(update={"model": model}), *rest))

    folder = str(tmp_path)
    for model in ("evil/model", folder):
        with pytest.raises(InputError, match=f"^This trace names the model {model}: choose it"):
            check_trusted(named(model), "toy", "")
        check_trusted(named(model), model, "")
        monkeypatch.setitem(registry._loaded, (model, "cpu", "float32", False), object())
        check_trusted(named(model), "toy", "")
        monkeypatch.setenv("SPACE_ID", "a/b")  # where only labels run, whatever is chosen
        with pytest.raises(InputError, match=r"^This public page runs "):
            check_trusted(named(model), model, "")
        monkeypatch.delenv("SPACE_ID")
    check_trusted(toy_trace(), "", "")


def test_the_head_that_a_trace_names_is_not_loaded_unless_somebody_chose_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def named(head: str) -> Trace:
        first, *rest = toy_trace().events
        return Trace((first.model_copy(update={"knobs": {**first.knobs, "head": head}}), *rest))

    for head in ("evil/head", str(tmp_path)):
        with pytest.raises(InputError, match=f"^This trace names the drafter head {head}: give"):
            check_trusted(named(head), "toy", "")
        check_trusted(named(head), "toy", head)
        with monkeypatch.context() as public:
            public.setenv("SPACE_ID", "a/b")
            with pytest.raises(InputError, match=r"^This public page has the heads smollm2-eagle,"):
                check_trusted(named(head), "toy", head)
    check_trusted(named("smollm2-eagle"), "toy", "")
    check_trusted(named(""), "toy", "evil/head")


def test_a_public_page_takes_labels_of_heads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with gr.Blocks():
        form, _ = build_form("en")
    values = [c.value for c in form.inputs]
    values[form.inputs.index(form.decoder)] = "window"
    values[form.inputs.index(form.model)] = "toy"
    values[form.inputs.index(form.head)] = "owner/head"
    assert form.job(Visit(), values).knobs["head"] == "owner/head"
    monkeypatch.setenv("SPACE_ID", "someone/specviz")
    with pytest.raises(InputError, match=r"^This public page has the heads smollm2-eagle, "):
        form.job(Visit(), values)
    values[form.inputs.index(form.head)] = "smollm2-eagle"
    assert form.job(Visit(), values).knobs["head"] == "smollm2-eagle"


@pytest.mark.parametrize("name", ["owner/model", "/", "..", "no-such"])
def test_a_public_page_runs_labels_only(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.delenv("SPECVIZ_MODELS", raising=False)
    monkeypatch.setenv("SPACE_ID", "someone/specviz")
    with pytest.raises(InputError) as caught:
        check_model(name)
    labels = ", ".join(entry.label for entry in registry.entries())
    assert str(caught.value) == (
        f"This public page runs {labels}: choose one of them, or run specviz yourself for other "
        "models."
    )
    with pytest.raises(gr.Error, match="This public page runs"):
        generate(jobs.run)("This is", model=name)
    check_model("toy")
    monkeypatch.setenv("SPECVIZ_MODELS", "any")
    check_model("owner/model")
    monkeypatch.delenv("SPACE_ID")
    monkeypatch.delenv("SPECVIZ_MODELS")
    check_model("owner/model")


def test_the_form_asks_whether_the_model_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPACE_ID", "someone/specviz")
    with gr.Blocks():
        form, _ = build_form("en")
    values = [c.value for c in form.inputs]
    at = form.inputs.index(form.model)
    values[at] = "toy"
    assert form.job(Visit(), values).model == "toy"
    values[at] = "owner/model"
    with pytest.raises(InputError, match="This public page runs"):
        form.job(Visit(), values)
    assert form.model.allow_custom_value is False


def test_a_space_without_the_packaged_weights_begins_with_a_model_that_can_run(monkeypatch) -> None:
    assert first_model() == "smollm2-135m"
    absent = replace(registry.find("smollm2-135m"), problem=lambda: "not installed")
    monkeypatch.setitem(registry._entries, "smollm2-135m", absent)
    assert first_model() == "smollm2-135m"
    monkeypatch.setenv("SPACE_ID", "somebody/specviz")
    assert first_model() == "smollm2-135m-hub"
