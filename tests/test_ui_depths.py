"""The tab about the recurrent-depth model."""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr
import pytest

from specviz.ui import depths
from tests.views.test_depths import FOUND

ABOUT = {"conditions": {"model": "tiny-raven", "machine": "a machine"}, "depth": 32}


def tabs(blocks: gr.Blocks) -> list[str]:
    return [b.label for b in blocks.blocks.values() if isinstance(b, gr.Tab)]


def test_charts_are_drawn_when_the_tab_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results-recurrent.json"
    path.write_text(json.dumps({**FOUND, **ABOUT}))
    monkeypatch.setattr(depths, "MEASURED", path)
    with gr.Blocks() as page, gr.Tabs():
        depths.depths_tab("en")
    assert tabs(page) == ["Depth"]
    said = [b.value for b in page.blocks.values() if isinstance(b, gr.Markdown)]
    assert "tiny-raven, 32 iterations, a machine" in str(said[0])
    places = [b for b in page.blocks.values() if isinstance(b, gr.Plot)]
    assert [b.value for b in places] == [None] * 4, "nothing is drawn before"
    (opened,) = page.fns.values()
    assert opened.outputs == places and opened.fn is not None
    agreement, accuracy, convergence, waves = opened.fn()
    assert agreement.data[3].y == (0.7, 0.9, 1.0)
    assert accuracy.data[0].name == "word problems"
    assert convergence.data[0].name == "queries"
    assert waves.layout.annotations[2].text == "521"


def test_there_is_no_tab_before_anything_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(depths, "MEASURED", tmp_path / "none.json")
    with gr.Blocks() as page, gr.Tabs():
        depths.depths_tab("en")
    assert tabs(page) == []
