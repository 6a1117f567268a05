"""Charts of a drafter head on texts of all lengths: the bench's figures in lines and bars."""

from __future__ import annotations

import copy
from math import log10
from typing import Any

import pytest

from specviz.views import lengths
from tests.window_figures import FOUND


@pytest.fixture
def told() -> dict[str, Any]:
    return copy.deepcopy(FOUND)


def notes(chart: Any) -> dict[str, Any]:
    return {note.text: note for note in chart.layout.annotations}


def test_speed_by_context_can_show_the_window_losing() -> None:
    chart = lengths.speed(FOUND)
    lines = {line.name: line for line in chart.data}
    assert list(lines) == ["shift", "slot", "full", "window_abs", "reindex_only"]
    assert lines["slot"].x == (256, 512, 8_000)
    assert lines["slot"].y == (1.3, 1.3, 0.9)  # of all kinds together, not of one
    assert lines["full"].y == (1.4, 1.4, 1.0)
    assert lines["slot"].hovertext[2] == "slot, 8\u202f000 tokens: 0.90 (1 prompts)"
    assert [s.y0 for s in chart.layout.shapes if s.y0 == s.y1] == [1]
    even, mark = notes(chart)["plain decoding"], notes(chart)["trained for 256"]
    assert (even.yanchor, even.y) == ("top", 1)  # below its line, at the bottom of the chart
    assert (mark.yanchor, mark.y) == ("top", 1) and mark.yref == "paper"  # at its top
    assert len({(line.line.dash, line.marker.symbol) for line in chart.data}) == 5


def test_tau_by_context_marks_where_the_trained_range_ends(told: dict[str, Any]) -> None:
    chart = lengths.tau(FOUND)
    lines = {line.name: line.y for line in chart.data}
    assert lines["slot"] == (2.0, 2.0, 1.8) and lines["full"] == (2.0, 2.0, 1.05)
    mark = notes(chart)["trained for 256"]
    assert mark.x == round(log10(256), 6)
    assert chart.layout.shapes[0].x0 == 256
    told["head"]["trained"] = 20_000  # beyond all that is drawn
    assert notes(lengths.tau(told)) == {}


def test_a_token_beside_plain_decoding() -> None:
    lines = {line.name: line.y for line in lengths.token(FOUND).data}
    assert lines == {
        "plain decoding": (30.0, 30.0, 45.0), "slot": (25.0, 25.0, 50.0),
        "full": (25.0, 25.0, 50.0),
    }  # fmt: skip
    assert {line.name: line.y for line in lengths.draft(FOUND).data}["slot"] == (5.0, 5.0, 6.0)


def test_windows_of_all_sizes_at_two_contexts() -> None:
    near, far = lengths.windows(FOUND).data
    assert (near.name, near.x, near.y) == ("512 tokens", (32, 246, 500), (1.3, 1.4, 1.1))
    assert (far.name, far.y) == ("2\u202f000 tokens", (1.0, 1.1, 0.8))
    assert far.marker.symbol == ("circle", "circle", "triangle-up")
    assert far.hovertext[2] == "window of 500 (window_abs), 2\u202f000 tokens: 0.80x, tau 1.50"
    assert near.line.dash != far.line.dash


def test_each_mechanism_off_at_one_context() -> None:
    (bars,) = lengths.mechanisms(FOUND).data
    assert dict(zip(bars.y, bars.x, strict=True)) == {
        "slot": 2.0,
        "no sinks": 1.6,
        "old positions": 2.0,
        "no window": 2.0,
        "neither (full)": 2.0,
        "narrow features": 1.3,
    }
    assert bars.hovertext[1] == "no sinks, 512 tokens: tau 1.60, 0.95x"


def test_the_head_alone_ends_where_memory_does(told: dict[str, Any]) -> None:
    chart = lengths.alone(FOUND)
    lines = {line.name: line for line in chart.data}
    assert (lines["slot"].x, lines["slot"].y) == ((4_000, 2_000_000), (5.0, 5.0))
    assert (lines["full"].x, lines["full"].y) == ((4_000,), (30.0,))
    assert lines["full"].hovertext == ("full, 4\u202f000 faked positions: 30.00 ms, 6.00 MiB seen",)
    assert list(notes(chart)) == ["modelled:<br>full stops paying<br>at 3\u202f000"]
    told["paying"] = None
    assert notes(lengths.alone(told)) == {}
    told["alone"] = []
    assert lengths.alone(told).layout.annotations[0].text == (
        "The head was not timed alone in this measurement."
    )


def test_the_verdict_counts_wins_and_losses(told: dict[str, Any]) -> None:
    assert lengths.verdict(FOUND) == (
        "Of 3 contexts measured, the window (slot) was slower than plain decoding at: "
        "8\u202f000. It was slower than a head that sees everything (full) at: "
        "256, 512, 8\u202f000."
    )
    for cell in told["cells"]:
        if cell["row"] == "slot":
            cell["speedup_decode"] = 2.0
    assert lengths.verdict(told).count(": none.") == 2


def test_figures_that_look_equal_are_not_told_apart(told: dict[str, Any]) -> None:
    speeds = {"slot": 1.3109, "full": 1.3117}
    for each in told["cells"]:
        each["speedup_decode"] = speeds.get(each["row"], 1.0)
    assert lengths.verdict(told).endswith("everything (full) at: none.")
    for each in told["cells"]:
        each["speedup_decode"] = {"slot": 0.996, "full": 1.01}.get(each["row"], 1.0)
    assert "plain decoding at: none." in lengths.verdict(told)
    assert lengths.verdict(told).endswith("everything (full) at: 256, 512, 8\u202f000.")


def test_what_was_not_measured_is_not_drawn(told: dict[str, Any]) -> None:
    told["cells"] = []
    for chart in (lengths.speed, lengths.tau, lengths.windows, lengths.mechanisms):
        drawn = chart(told)
        assert not drawn.data
        assert drawn.layout.annotations[0].text == "This was not looked at in this measurement."
    assert lengths.verdict(told) == "This was not looked at in this measurement."


def test_the_same_figures_give_the_same_bytes() -> None:
    assert lengths.speed(FOUND).to_json() == lengths.speed(copy.deepcopy(FOUND)).to_json()
