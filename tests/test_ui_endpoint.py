"""The page's endpoint for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.jobs import Job
from specviz.trace import Event
from specviz.ui.api import generate


def test_the_endpoint_gives_text_and_figures_or_one_sentence() -> None:
    run = generate(jobs.run)
    answer = run("This is the house that", model="toy", max_new_tokens=6)
    assert answer["text"] == " Jack built.\nThis is the"
    assert answer["equal"] is True and answer["decoder"]["tokens"] == 6
    assert answer["origins"] == ["target"] * 4 + ["level1", "target"]
    with pytest.raises(gr.Error, match="The prompt is empty"):
        run("  ", model="toy")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prompt": None}, "prompt has to be a text."),
        ({"prompt": ["a"]}, "prompt has to be a text."),
        ({"model": None}, "model has to be a text."),
        ({"model": {"a": 1}}, "model has to be a text."),
        ({"decoder": ["recap"]}, "decoder has to be a text."),
        ({"dtype": None}, "dtype has to be a text."),
        ({"scope": None}, "scope has to be a text."),
        ({"baseline": "no"}, "baseline has to be true or false."),
        ({"max_new_tokens": "abc"}, "max_new_tokens has to be a whole number from 1 on."),
        ({"max_new_tokens": None}, "max_new_tokens has to be a whole number from 1 on."),
        ({"max_new_tokens": 2.5}, "max_new_tokens has to be a whole number from 1 on."),
    ],
)
def test_the_endpoint_refuses_other_types_in_one_sentence(
    change: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(gr.Error) as caught:
        generate(jobs.run)(**{"prompt": "This is", "model": "toy", **change})
    assert (caught.value.message, caught.value.print_exception) == (sentence, False)


def test_a_bug_in_the_endpoint_goes_to_the_log_alone(caplog: pytest.LogCaptureFixture) -> None:
    def decode(job: Job) -> Iterator[Event]:
        raise RuntimeError("a secret detail")

    with pytest.raises(gr.Error) as caught:
        generate(decode)("This is", model="toy")
    assert caught.value.message == "Something went wrong inside specviz; the log has the details."
    assert "a secret detail" in caplog.text
