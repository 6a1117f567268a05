"""Charts and facts of drafts that settle in rounds, with numbers counted by hand."""

from __future__ import annotations

import pytest

from specviz import player
from specviz.trace import Trace
from specviz.views import charts, rejects, report, report_words, wave
from specviz.views.settled import Settled, round_lines, settled
from tests.wave_traces import sequential, small_wave


def steps(trace: Trace) -> tuple:
    run = trace.run()
    assert run is not None
    return run.steps


def test_the_story_of_a_refused_guess() -> None:
    """Place 6 of step 1: the, 7, 9, 9, 9, and the model wanted 7; all read every two iterations."""
    first, second, third, _ = steps(small_wave())
    assert settled(first, 5) == Settled(confidence=0.75, age=10, since=4, had=(3,))
    # Never right: "then" from the first round on, frozen before the last one.
    assert settled(third, 0) == Settled(confidence=0.79, age=6, since=1, had=())
    assert settled(second, 7) is None, "nothing was guessed there"
    assert settled(steps(sequential())[0], 5) == Settled(confidence=0.75, age=4, since=6, had=())


def test_rejects_tell_confidence_age_and_whether_a_round_had_it_right() -> None:
    rows = rejects.rejects(small_wave())
    assert [(r.step, r.guess, r.wanted) for r in rows] == [(1, "␣9", "␣7"), (3, "␣then", "␣-")]
    assert [(r.confidence, r.age, r.since, r.had) for r in rows] == [
        (0.75, 10, 4, "3"), (0.79, 6, 1, ""),
    ]  # fmt: skip
    titles, cells = rejects.table(rows)
    assert titles[7:] == ["draft's p(guess)", "age", "since round", "right in rounds"]
    assert [row[7:] for row in cells] == [[0.75, 10, 4, "3"], [0.79, 6, 1, "–"]]
    assert cells[0][2] == "the wave"
    assert rejects.select(rows, "lost") == rows[:1]
    assert rejects.select(rows, "never") == rows[1:]
    assert rejects.select(rows, source="wave") == rows
    assert rejects.to_csv(small_wave()).splitlines()[1].endswith(",0.75,10,4,3,,,,,")


def test_a_report_counts_lost_and_never_guessed() -> None:
    (group,) = report.report([("one", small_wave())])
    assert [o.fact for o in group.outcomes] == ["lost", "nothing", "never", "nothing"]
    said = [cells[0] for cells in report_words.table(group, "fact")[1]]
    assert "an earlier round had it, lost again" in said and "no round had it" in said


def test_agreement_counts_computed_guesses_that_are_the_final_token() -> None:
    """By hand from the four grids: computed cells of age 2, and those that are right."""
    by_age = wave.agreement_by_age(small_wave()).data[0]
    made = [
        (cell.age, cell.token == token)
        for step, final in zip(steps(small_wave()), finals(small_wave()), strict=True)
        for made in step.evidence.rounds
        for i, (cell, token) in enumerate(zip(made.cells, final, strict=False))
        if i >= made.parked
    ]
    ages = sorted({age for age, _ in made})
    assert by_age.x == tuple(ages) == (2, 4, 6, 8, 10)
    for age, percent in zip(by_age.x, by_age.y, strict=True):
        cells = [right for a, right in made if a == age]
        assert percent == round(100 * sum(cells) / len(cells), 2)
    by_round, by_place = wave.agreement_by_round(small_wave()).data
    assert by_round.x == (1, 2, 3, 4, 5, 6) and by_place.x == (1, 2, 3, 4, 5, 6, 7, 8)
    # Round 6 of step 1 computed three guesses: 9 is wrong, apples and the dot are right.
    assert by_round.y[5] == 66.67
    assert by_round.hovertext[5] == "round 6: 2 of 3 guesses are the final token (67 %)"


def finals(trace: Trace) -> list[tuple[int, ...]]:
    """What every step and those after it emitted."""
    found = [s.emitted for s in steps(trace)]
    return [tuple(t for later in found[i:] for t in later) for i in range(len(found))]


def test_rounds_in_words() -> None:
    trace = small_wave()
    run = trace.run()
    assert run is not None
    lines = list(round_lines(run.steps[0], trace.pieces))
    assert lines[0] == "round 1 (2 core calls): +␣has +␣3 +␣+ +␣and"
    assert lines[2] == ("round 3 (2 core calls): ·␣has ␣3 ␣+ ␣4 ~␣= ~␣7 +␣pears +␣and")
    assert len(lines) == 6


def test_work_per_token_stands_beside_plain_decoding() -> None:
    """23 tokens of steps: 12 + 10 + 8 + 8 draft calls, 4 passes of 16; 58 + 36 + 50 + 30
    applications, 16 x (9 + 8 + 9 + 8) rows of passes."""
    draft, verify, plain, labels = wave.work_per_token(small_wave()).data
    names = ("arithmetic<br>plain decoding", "arithmetic<br>das_wave",
             "calls in a row<br>plain decoding", "calls in a row<br>das_wave")  # fmt: skip
    assert draft.y == names
    assert draft.x == (0.0, round(174 / 23, 4), 0.0, round(38 / 23, 4))
    assert verify.x == (0.0, round(16 * 34 / 23, 4), 0.0, round(64 / 23, 4))
    assert plain.x == (16.0, 0.0, 16.0, 0.0)
    assert labels.text == (" 16.0", " 31.2", " 16.0", " 4.4")


def test_endings_by_accepted_length() -> None:
    ended, rounds, budget = wave.endings(small_wave()).data
    assert (ended.name, ended.y) == ("settled (2)", (0, 0, 0, 0, 0, 1, 0, 1))
    assert (rounds.name, rounds.y) == ("rounds used up (1)", (1, 0, 0, 0, 0, 0, 0, 0))
    assert (budget.name, budget.y) == ("no more tokens wanted (1)", (0, 0, 0, 0, 0, 0, 0, 1))
    assert ended.hovertext[5] == "1 step accepted 5: settled"


@pytest.mark.parametrize("name", wave.WAVE_CHARTS)
def test_charts_exist_for_every_prefix_and_repeat(name: str, trace: Trace) -> None:
    draw = wave.WAVE_CHARTS[name]
    whole = small_wave()
    assert draw(whole).to_json() == draw(Trace(tuple(list(whole.events)))).to_json()
    assert len(draw(whole).data) > 0 and draw(whole).frames == ()
    for end in range(len(whole.events)):
        assert '"data"' in draw(Trace(whole.events[:end])).to_json()
    none = draw(trace).layout.annotations[0].text
    assert none == "This decoder's guesses do not settle in rounds."
    assert (wave.has_waves(whole), wave.has_waves(trace)) == (True, False)


def test_origins_name_the_wave() -> None:
    (bars,) = charts.origins(small_wave()).data
    kept = dict(zip(bars.y, bars.x, strict=True))
    assert kept["the wave<br>19 kept of 30 guessed"] == 19


def test_the_page_opens_at_a_lively_wave() -> None:
    assert player.interesting_step(small_wave()) == 0
