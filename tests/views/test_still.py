"""Charts stand still: hosts drop Plotly's frames, so nothing may be told by them alone."""

from __future__ import annotations

import json
from collections.abc import Callable

import plotly.graph_objects as go
import pytest

from specviz.trace import Trace
from specviz.views import charts

CHARTS = [charts.accepted_per_step, charts.speed, charts.origins, charts.cost, charts.levels]


@pytest.mark.parametrize("draw", CHARTS, ids=lambda draw: draw.__name__)
def test_a_chart_has_no_frames_sliders_or_buttons(
    draw: Callable[[Trace], go.Figure], trace: Trace
) -> None:
    for shown in (trace, Trace(trace.events[:2])):
        figure = draw(shown)
        assert figure.frames == ()
        assert not json.loads(figure.to_json()).get("frames")
        assert figure.layout.sliders == () and figure.layout.updatemenus == ()
    assert len(draw(trace).data) > 0
