"""Charts: recorded numbers in the bars, literal text in the labels, the same bytes each time."""

from __future__ import annotations

import pytest

from specviz.evidence import Tally
from specviz.trace import Costs, Recording, Trace
from specviz.views import charts
from specviz.views.card import card
from specviz.views.tokens import for_plotly, show


def test_accepted_per_step_stacks_guesses_and_the_targets_own(trace: Trace) -> None:
    chart = charts.accepted_per_step(trace)
    guessed, own, tau = chart.data
    assert guessed.x == (1, 2, 3)
    assert guessed.y == (1, 0, 1)
    assert own.y == (1, 1, 0)
    assert tau.y == (pytest.approx(4 / 3), pytest.approx(4 / 3)) and tau.name == "tau 1.33"


def test_speed_draws_both_runs_on_one_clock(trace: Trace) -> None:
    decoder, baseline = charts.speed(trace).data
    assert (decoder.name, baseline.name) == ("recap", "plain decoding")
    assert decoder.x == (0.5, 1.5, 2.3, 2.5)
    assert decoder.y == (1, 3, 4, 5)
    assert baseline.x == (0.5, 1.0, 1.5, 2.0, 2.5)
    assert baseline.y == (1, 2, 3, 4, 5)


def test_origins_count_kept_tokens_and_spent_guesses(trace: Trace) -> None:
    (bars,) = charts.origins(trace).data
    assert dict(zip(bars.y, bars.x, strict=True)) == {
        "memory, last two<br>2 kept of 2 guessed": 2,
        "memory, last token<br>0 kept of 3 guessed": 0,
        "copied continuation<br>0 kept of 1 guessed": 0,
        "the model itself<br>3, one per pass": 3,
    }
    assert sum(bars.x) == 5  # every emitted token once


def test_cost_splits_the_measured_seconds(trace: Trace) -> None:
    chart = charts.cost(trace)
    spent = {bar.name: bar.x for bar in chart.data}
    assert chart.data[0].y == ("plain decoding", "recap")
    assert spent == {
        "prompt": (0.5, 0.5),
        "the model's passes": (2.0, 1.3),
        "drafting": (0.0, 0.3),
        "keeping rows": (0.0, 0.1),
        "loop": (0.0, pytest.approx(0.3)),
    }
    assert chart.data[1].hovertext[1] == (
        "the model's passes: 1.300 s, 52.0 % of this run<br>500.0 ms per token after the prompt"
    )


def test_levels_show_coverage_and_precision(trace: Trace) -> None:
    assert charts.tally(trace) == {1: Tally(3, 3, 1), 2: Tally(2, 1, 1)}
    chart = charts.levels(trace)
    coverage, answered, precision, right = chart.data
    ticks = chart.layout.yaxis
    assert ticks.tickvals == (0, 1)
    assert ticks.ticktext == ("memory,<br>last token", "memory,<br>last two")
    assert (coverage.x, answered.text) == ((100.0, 50.0), ("3 of 3", "1 of 2"))
    assert (precision.x, right.text) == ((33.33, 100.0), ("1 of 3", "1 of 1"))
    assert coverage.y == answered.y == (0.2, 1.2) and precision.y == right.y == (-0.2, 0.8)
    # In the margin, where no bar shrinks it and no axis cuts it off.
    assert {p for t in (answered, right) for p in t.x} == {100} and chart.layout.margin.r == 96
    assert answered.cliponaxis is right.cliponaxis is False


COSTS = Costs(context=128, rows=(1, 2, 4, 16, 32), seconds=(0.04, 0.05, 0.042, 0.09, 0.2))


def with_costs(trace: Trace, **update: object) -> Trace:
    first = trace.events[0].model_copy(update={"costs": COSTS, **update})
    return Trace((first, *trace.events[1:]))


def test_the_cost_of_a_pass_shows_what_was_timed_and_what_the_run_used(trace: Trace) -> None:
    """Steps of 5, 2 and 2 rows, 4 tokens: tau 1.33; a step cost 2 s / 3 in plain tokens of 0.5."""
    chart = charts.pass_cost(with_costs(trace))
    sizes, line, timed, tau, mean = chart.data
    assert (sizes.x, sizes.y, sizes.text) == ((2, 5), (2, 1), ("2", "1"))
    assert (timed.x, timed.y) == ((1, 2, 4, 16), (1.0, 1.25, 1.05, 2.25))
    assert line.x == tuple(range(1, 17))
    assert line.y[:5] == (1.0, 1.05, 1.05, 1.05, 1.15)
    assert tau.y == (pytest.approx(4 / 3), pytest.approx(4 / 3))
    assert tau.name == "tau 1.33"
    assert (mean.x, mean.y) == ((3.0,), (1.3333,))
    assert mean.hovertext == ("this run: 3.0 rows, 1.33 plain passes a step",)
    assert timed.hovertext[1] == "2 rows: 50.0 ms" and sizes.hovertext[0] == "2 passes had 2 rows"
    # No bar is as tall as the cost of one row.
    assert chart.layout.yaxis.range[1] == pytest.approx(1.08 * 2.25)
    assert 2 / chart.layout.yaxis2.range[1] == pytest.approx(0.7 / (1.08 * 2.25))
    without = charts.pass_cost(trace).layout.annotations[0].text
    assert without.startswith("No curve was recorded")


def test_the_card_says_in_words_what_was_measured(trace: Trace) -> None:
    rows = dict(card(with_costs(trace, packed=True)))
    assert rows["CPU weights"] == "packed for this processor"
    assert rows["Cost of a pass"] == (
        "measured behind 128 tokens: one row 40.0 ms, nearly the same up to 4 rows, "
        "5.00 times as much for 32 rows"
    )
    plain = dict(card(trace))
    assert (plain["CPU weights"], plain["Cost of a pass"]) == ("not packed", "not measured")


@pytest.mark.parametrize("name", charts.CHARTS)
def test_a_chart_has_the_same_bytes_each_time_and_exists_for_every_prefix(
    trace: Trace, name: str
) -> None:
    draw = charts.CHARTS[name]
    assert draw(trace).to_json() == draw(Trace(tuple(list(trace.events)))).to_json()
    recording = Recording()
    for event in trace.events:
        recording.add(event)
        assert '"data"' in draw(recording.trace).to_json()
    assert draw(Trace(())).layout.annotations[0].text in (
        "Nothing has been recorded yet.",
        "This decoder keeps no memory levels.",
    )


def test_tokens_are_literal_in_hover_texts(trace: Trace) -> None:
    hover = charts.accepted_per_step(trace).data[0].hovertext
    assert hover[0] == (
        "step 1: 1 of 4 guesses accepted<br>␣&#60;b&#62; &#60;/script&#62;"
    )
    assert hover[1].endswith("<br>‹E2 80›")


@pytest.mark.parametrize(
    ("piece", "seen"),
    [
        (b" the\n", "␣the↵"),
        (b"\t", "⇥"),
        (b"\x07", "‹U+0007›"),
        ("\u202e".encode(), "‹U+202E›"),
        (b"\xe2\x80", "‹E2 80›"),
        ("家".encode(), "家"),
        (None, "?"),
    ],
)
def test_a_token_is_shown_visibly(piece: bytes | None, seen: str) -> None:
    assert show(piece) == seen


def test_plotly_gets_no_markup_no_entity_no_template_no_tex() -> None:
    assert for_plotly("<br>&lt;%{y}$x$") == (
        "&#60;br&#62;&#38;lt;&#37;&#123;y&#125;&#36;x&#36;"
    )
