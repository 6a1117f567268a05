"""Two lanes over the emitted tokens: blocks are steps, marks are origins, texts are literal."""

from __future__ import annotations

import pytest

from specviz.compare import compare
from specviz.trace import Step, Trace
from specviz.views import difference
from specviz.views.comparison import lanes
from tests.views.conftest import PIECES, header, node, prefill, seconds


def steps(*each: tuple[int, ...]) -> tuple[Step, ...]:
    """Steps of plain decoding, or with one right guess before the model's own token."""
    found = []
    for i, emitted in enumerate(each):
        nodes = [node(1, -1, "root", 0)]
        nodes += [node(t, n, "level1", 0) for n, t in enumerate(emitted[:-1])]
        found.append(
            Step(index=i, nodes=tuple(nodes), walk=tuple(range(1, len(emitted))), emitted=emitted,
                 seconds=seconds(0, 0, 0, 0), cache_length=9)
        )  # fmt: skip
    return tuple(found)


@pytest.fixture
def other(trace: Trace) -> Trace:
    """The tokens of ``trace``, 1 2 4 5 1, guessed elsewhere: 2 4 in one step of the last token."""
    begin = header("decoder", "recap")
    return Trace((begin, prefill("decoder"), *steps((2,), (4, 5), (1,))))


NAMES = ("one <b>", "two %{x}")


def test_blocks_marks_and_lines_stand_at_the_tokens(trace: Trace, other: Trace) -> None:
    found = compare(trace, other)
    assert [p.token for p in found.positions] == [1, 2, 4, 5, 1]
    above, below, lost, gained, *marks = lanes(trace, other, found, NAMES).data
    assert (above.base, above.x) == ((1.56, 3.56, 4.56), (1.88, 0.88, 0.88))
    assert (below.base, below.x) == ((1.56, 2.56, 4.56), (0.88, 1.88, 0.88))
    assert (set(above.y), set(below.y)) == ({1.0}, {0.0})
    assert lost.x == (2, 2, None, 5, 5, None) and gained.x == (3, 3, None)
    assert (lost.line.dash, gained.line.dash) == ("dot", "solid")
    shown = {m.name: (m.x, m.y, m.marker.symbol) for m in marks}
    assert shown == {
        "memory, last two": ((2, 5), (1.0, 1.0), "square"),
        "memory, last token": ((3,), (0.0,), "triangle-up"),
        "the model's own, guesses refused": ((3, 4), (1.0, 1.0), "x-thin"),
        "the model's own, nothing guessed": ((1, 1, 2, 4, 5), (1.0, 0.0, 0.0, 0.0, 0.0),
                                             "circle-open"),
    }  # fmt: skip


def test_every_text_is_literal_and_the_bytes_are_the_same(trace: Trace, other: Trace) -> None:
    found = compare(trace, other)
    chart = lanes(trace, other, found, NAMES)
    assert chart.to_json() == lanes(trace, other, compare(trace, other), NAMES).to_json()
    hovers = [h for part in chart.data for h in part.hovertext or ()]
    assert "one &#60;b&#62;, token 3: &#60;/script&#62;<br>step 1, refused" in hovers
    assert "one &#60;b&#62;, step 1, 4 guesses: ␣&#60;b&#62; &#60;/script&#62;" in hovers
    assert "two &#37;&#123;x&#125;, token 1: ␣the<br>step –, not guessed" in hovers
    assert not any("<b>" in h or "</script>" in h for h in hovers)
    assert chart.layout.yaxis.ticktext == ("one &#60;b&#62;", "two &#37;&#123;x&#125;")


def test_the_table_names_a_cause_only_where_something_was_changed(
    trace: Trace, other: Trace
) -> None:
    found = compare(trace, other)
    pieces = {i: p.encode("latin-1") for i, p in PIECES.items()}
    titles, rows = difference.table(found, pieces, ("A", "B"), "level 2 off")
    assert titles == ["no.", "token", "A", "B", "difference"]
    assert rows == [
        [2, "␣<b>", "step 1, right: memory, last two", "step 1, not guessed",
         "lost with level 2 off"],
        [3, "</script>", "step 1, refused", "step 2, right: memory, last token",
         "guessed right with level 2 off, in a step that began elsewhere"],
        [5, "␣the", "step 3, right: memory, last two", "step 3, not guessed",
         "lost with level 2 off"],
    ]  # fmt: skip
    plain = difference.table(found, pieces, ("A", "B"))[1]
    assert [row[-1] for row in plain] == ["lost", "gained, in a step that began elsewhere", "lost"]


def test_the_sentences_give_passes_refused_positions_and_what_was_lost(
    trace: Trace, other: Trace
) -> None:
    assert list(difference.sentences(compare(trace, other), "With level 2 off")) == [
        "With level 2 off: 3 passes instead of 3; 1 of 2 refused positions guessed right, "
        "2 that had been right were lost.",
        "Gained: 1 × memory, last token. Lost: 2 × memory, last two.",
    ]
    assert list(difference.sentences(compare(trace, trace), "B")) == [
        "B: the same 3 passes, and the same positions guessed right."
    ]
    cut = Trace(other.events[:4])
    assert list(difference.sentences(compare(trace, cut), "B"))[-1] == (
        "Compared are the first 4 tokens, which both runs have."
    )
