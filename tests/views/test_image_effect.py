"""What a picture decided: sentences and tables by hand, the chart, the refused guesses."""

from __future__ import annotations

import pytest

from specviz.probes import associations, readings
from specviz.trace import Probe, Shown, Trace, Turn, UsedPicture
from specviz.views import image_effect
from specviz.views.image_effect import association_lines, cross_table, sentences, token_table
from specviz.views.image_strip import strip
from specviz.views.rejects import rejects, select, table

SHOWN = Shown(width=4, height=4, data="")


def probe(*changed: int, kind: str = "blank", shift: float = -1.0) -> Probe:
    """The answer is tokens 1 2 4 5 1; what changes becomes token 8."""
    kept = (1, 2, 4, 5, 1)
    return Probe(
        kind=kind, replaced=0, name="<b>cat</b>.png", digest="c", seen=SHOWN, kept=kept,
        picks=tuple(8 if i in changed else t for i, t in enumerate(kept)),
        kept_logps=(-0.1,) * 5,
        logps=tuple(round(-0.1 + (shift if i in changed else -0.25), 4) for i in range(5)),
    )  # fmt: skip


@pytest.fixture
def pictured(trace: Trace) -> Trace:
    """The run of ``trace``, asked about a picture: its second step is fully rejected."""
    used = UsedPicture(name="${x}", digest="g", given=None, seen=SHOWN, span=(0, 1))
    header = trace.events[0].model_copy(
        update={"messages": (Turn(role="user", text="?", pictures=1),), "pictures": (used,)}
    )
    return Trace((header, *trace.events[1:]))


def test_sentences_say_it_in_numbers(pictured: Trace) -> None:
    found = probe(1, 3)
    assert list(sentences(Trace((*pictured.events, found)), found)) == [
        "With a blank picture in place of ${x}, the model would have said something else at 2 of 5 "
        "tokens (40 %); the answer itself was only read back.",
        "Of 1 fully rejected steps, 1 stood where the picture decides the token (100 %); of 2 "
        "steps with a right guess, 1 (50 %); of all of them, 67 %: the base rate.",
        "The other picture moved the log-probability of the token by 1.00 nats on average at fully "
        "rejected steps, by 0.63 at those with a right guess.",
        "One run is a count, not a correlation.",
    ]
    same = probe(kind="other")
    assert next(sentences(pictured, same)) == (
        "With <b>cat</b>.png in place of ${x}, the model would have said the same at 5 of 5 tokens."
    )
    assert next(sentences(pictured, probe(kind="shuffled"))).startswith("With the tiles of ${x}")


def test_it_says_where_it_was_read_back_and_what_that_alone_changes(pictured: Trace) -> None:
    header = pictured.events[0]
    place = {n: getattr(header, n) for n in ("device", "dtype", "packed")}
    there = probe(1).model_copy(update=place)
    plain = list(sentences(pictured, probe(1)))
    assert list(sentences(pictured, there)) == plain
    away = there.model_copy(
        update={"device": "cuda", "dtype": "bfloat16", "packed": True, "kept": (1, 2, 4, 7, 1)}
    )
    said = list(sentences(pictured, away))
    assert said[1:3] == [
        "It was read back on cuda bfloat16 packed, the answer was made on "
        f"{place['device']} {place['dtype']}.",
        "Read back with its own picture, the model says something else than the answer at 1 of 5 "
        "tokens, so that many may come from rounding.",
    ]


def test_many_runs_have_an_interval_and_are_called_a_correlation(pictured: Trace) -> None:
    one = readings(Trace((*pictured.events, probe(3))))
    two = readings(Trace((*pictured.events, probe(1))))
    (many,) = associations([*one * 6, *two * 4])
    assert list(association_lines(many))[-1] == (
        "The share of fully rejected steps less that of the others: +40 percentage points, 95 % "
        "interval -5 to +85 (10 runs drawn again). Odds ratio 6.00, within runs 3.00; a "
        "correlation, which does not say why drafts failed."
    )
    (few,) = associations([*one, *two])
    assert list(association_lines(few))[-1] == (
        "Odds ratio 3.00, within runs 2.00; a correlation, which does not say why drafts failed. "
        "An interval needs more than these 2 runs with steps of both rows."
    )


def test_the_tables_name_steps_and_tokens(pictured: Trace) -> None:
    found = probe(0, 2, 3)
    (reading,) = associations(readings(Trace((*pictured.events, found))))
    titles, cells = cross_table(reading.cross)
    assert titles == ["steps", "picture decides", "it does not", "together", "share"]
    assert cells == [
        ["fully rejected", 1, 0, 1, "100 %"], ["a guess was right", 0, 2, 2, "0 %"],
        ["all (base rate)", 1, 2, 3, "33 %"],
    ]  # fmt: skip
    titles, cells = token_table(pictured, found)
    assert titles == [
        "no.", "token", "with the other picture", "probability of the token", "how it came",
    ]  # fmt: skip
    assert cells == [
        [1, "␣the", "%{y}", "0.905 → 0.333", "read off the prompt"],
        [3, "</script>", "%{y}", "0.905 → 0.333", "step 1, refused"],
        [4, "‹E2 80›", "%{y}", "0.905 → 0.333", "step 2, fully rejected"],
    ]
    assert image_effect.rate(None) == "–" and image_effect.rate(0.0) == "0 %"


def test_the_chart_tells_changed_tokens_by_more_than_colour(pictured: Trace) -> None:
    chart = strip(pictured, probe(1, 3))
    kept, changed, diamonds, crosses = chart.data
    assert (list(kept.x), list(changed.x)) == ([1, 3, 5], [2, 4])
    assert (list(kept.y), list(changed.y)) == ([-0.25] * 3, [-1.0, -1.0])
    assert (kept.marker.pattern.shape, changed.marker.pattern.shape) == ("", "/")
    assert (list(diamonds.x), diamonds.marker.symbol) == ([2, 4], "diamond")
    assert (list(crosses.x), crosses.marker.symbol) == ([4], "x-thin")
    assert [diamonds.y[0], crosses.y[0], kept.width, changed.width] == [0.1, 0.2, 0.8, 0.8]
    # Plotly reads templates and tags: token 8 is %{y}, token 4 is </script>.
    assert changed.hovertext[0] == (
        "token 2: ␣&#60;b&#62;<br>with the other picture: &#37;&#123;y&#125;<br>log-probability "
        "-1.00 nats<br>step 1, right: memory, last two"
    )
    assert chart.layout.xaxis.ticktext[2] == "&#60;/script&#62;"
    assert len(strip(pictured, probe()).data) == 2
    assert strip(Trace(()), probe()).layout.annotations[0].text


def test_a_refused_guess_says_whether_another_picture_would_have_changed_the_wanted_token(
    pictured: Trace,
) -> None:
    rows = rejects(Trace((*pictured.events, probe(1), probe(3, kind="other"))))
    # The first step wanted token 3 of the answer, the second token 4.
    assert [(r.step, r.position, r.depends, r.instead) for r in rows] == [
        (1, 3, False, ""), (1, 3, False, ""), (2, 4, True, "%{y}"),
    ]  # fmt: skip
    assert select(rows, "depends") == rows[2:] and select(rows, "independent") == rows[:2]
    titles, cells = table(rows)
    assert titles[-2:] == ["picture decides", "other picture: wanted"]
    assert [row[-2:] for row in cells] == [["no", "–"], ["no", "–"], ["yes", "%{y}"]]
    plain = rejects(pictured)
    assert [r.depends for r in plain] == [None] * 3
    assert select(plain, "depends") == select(plain, "independent") == []
    assert "picture decides" not in table(plain)[0]
