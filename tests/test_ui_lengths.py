"""The tab about drafter heads on long texts."""

from __future__ import annotations

import json
from pathlib import Path

import gradio as gr
import pytest

from specviz.ui import lengths
from tests.window_figures import FOUND


def tabs(blocks: gr.Blocks) -> list[str]:
    return [b.label for b in blocks.blocks.values() if isinstance(b, gr.Tab)]


def test_charts_are_drawn_when_the_tab_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "results-window.json"
    path.write_text(json.dumps(FOUND))
    monkeypatch.setattr(lengths, "MEASURED", path)
    with gr.Blocks() as page, gr.Tabs():
        lengths.lengths_tab("en")
    assert tabs(page) == ["Length"]
    said = str(next(b.value for b in page.blocks.values() if isinstance(b, gr.Markdown)))
    assert "tiny with the head tiny-head, trained for 256 positions, a machine" in said
    assert "slower than plain decoding at: 8\u202f000." in said
    places = [b for b in page.blocks.values() if isinstance(b, gr.Plot)]
    assert [b.value for b in places] == [None] * 7, "nothing is drawn before"
    (opened,) = page.fns.values()
    assert opened.outputs == places and opened.fn is not None
    drawn = dict(zip(lengths.CHARTS, opened.fn(), strict=True))
    assert drawn["speed"].data[1].y == (1.3, 1.3, 0.9)
    assert drawn["alone"].data[0].name == "shift"
    assert drawn["windows"].data[1].x == (32, 246, 500)


def test_there_is_no_tab_before_anything_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lengths, "MEASURED", tmp_path / "none.json")
    with gr.Blocks() as page, gr.Tabs():
        lengths.lengths_tab("en")
    assert tabs(page) == []
