"""Charts and words of a drafter head, with numbers counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from specviz.audit import audit
from specviz.evidence import WindowEvidence
from specviz.trace import Header, Step, StoredEvent, Trace
from specviz.views import candidates, card, charts, rejects, report, report_words, sight, window
from specviz.views.kinds import KINDS
from specviz.windows import MODES, Bounds
from tests.window_traces import SMALL, every_mode, small_window, unpaid_window, window_trace


def test_milliseconds_per_token_beside_plain_decoding() -> None:
    """Steps of 30 ms emit 3, 2 and 1 tokens; plain decoding takes 21 ms for each."""
    verify, draft, rest, plain, even = window.ms_per_token(small_window()).data
    assert verify.x == (17.5, 20.0, 21.5) and verify.width == (3, 2, 1)
    assert verify.y == (6.667, 10.0, 20.0)
    assert draft.y == (1.333, 2.5, 6.0)
    assert rest.y == (2.0, 2.5, 4.0)
    assert plain.y == (21.0, 21.0, 21.0)
    assert (even.name, even.y) == ("break-even, 21.0 ms", (21.0, 21.0))
    assert verify.hovertext[0] == (
        "tokens 16 to 18: 10.0 ms per token<br>"
        "drafting 1.3, verifying 6.7; plain decoding there 21.0"
    )


def test_cost_and_gain_of_a_draft_along_the_text() -> None:
    cost, gain = window.draft_cost(small_window()).data
    assert cost.y == (4.0, 5.0, 6.0) and gain.y == (2.0, 1.0, 0.0)
    assert gain.hovertext[0] == "tokens 16 to 18: 2.00 guesses accepted (1 step)"
    assert (cost.yaxis, gain.yaxis) == ("y2", "y")


def mark(trace: Trace) -> tuple[Any, str]:
    """Where the mark of the trained range stands (None: nowhere), and what it says."""
    chart = window.cache_size(trace)
    (note,) = chart.layout.annotations
    return (chart.layout.shapes[0].x0 if chart.layout.shapes else None), note.text.strip()


def test_the_trained_range_is_marked_where_it_ends_or_on_its_side() -> None:
    assert mark(window_trace("full", 200, 40)) == (256, "trained range ends: 256")
    assert mark(window_trace("full", 400, 3)) == (None, "← trained range ended at 256")
    assert mark(window_trace("full", 100, 3)) == (None, "trained range ends at 256 →")


def test_right_guesses_by_level() -> None:
    (bars,) = window.accepted_by_level(small_window()).data
    assert bars.x == ("level 1<br>2 of 3", "level 2<br>1 of 1", "level 3<br>0 of 1")
    assert bars.y == (66.67, 100.0, 0.0)


def test_the_cache_stays_and_everything_would_grow() -> None:
    """8 entries of 1 536 bytes, out of 16, 19 and 21."""
    every, seen = window.cache_size(small_window()).data
    assert seen.y == (12.288, 12.288, 12.288)
    assert every.y == (24.576, 29.184, 32.256)
    assert seen.hovertext[2] == "8 of 21 entries seen: 12 kB"


@pytest.mark.parametrize("name", window.WINDOW_CHARTS)
def test_charts_exist_for_every_prefix_and_repeat(name: str, trace: Trace) -> None:
    draw = window.WINDOW_CHARTS[name]
    whole = small_window()
    assert draw(whole).to_json() == draw(Trace(tuple(list(whole.events)))).to_json()
    for end in range(len(whole.events)):
        assert '"data"' in draw(Trace(whole.events[:end])).to_json()
    none = draw(trace).layout.annotations[0].text
    assert none == "No drafter head guessed in this run."
    assert (window.has_windows(whole), window.has_windows(trace)) == (True, False)
    assert [kind for kind, (has, _) in KINDS.items() if has(whole)] == ["window"]


def test_points_of_a_long_run_are_few() -> None:
    trace = window_trace("slot", 8000, 200)
    assert all(len(d.x) <= 50 for draw in window.WINDOW_CHARTS.values() for d in draw(trace).data)


def test_origins_name_the_head() -> None:
    (bars,) = charts.origins(small_window()).data
    kept = dict(zip(bars.y, bars.x, strict=True))
    assert kept["the drafter head<br>3 kept of 7 guessed"] == 3


def test_rejects_tell_what_the_head_offered_and_how_far_it_looked() -> None:
    rows = rejects.rejects(small_window())
    assert [(r.step, r.guess, r.wanted, r.known, r.rank, r.wanted_share, r.cut) for r in rows] == [
        (1, "␣in", "␣every", True, 3, 0.1, "budget"), (3, "␣he", "␣said", False, None, None, ""),
        (3, "␣the", "␣said", False, None, None, ""),
    ]  # fmt: skip
    assert [(r.share, r.distance, r.trained) for r in rows] == [
        (0.6, 9.0, 12), (0.4, 7.0, 12), (0.3, 7.0, 12),
    ]  # fmt: skip
    titles, cells = rejects.table(rows)
    assert titles[7:] == [
        "head's p(guess)", "head offered it", "rank", "head's p(wanted)", "cut because", "distance",
    ]  # fmt: skip
    assert cells[0][7:] == [0.6, "yes", 3, 0.1, "tree was full", "9 of 12"]
    assert rejects.select(rows, "budget") == rejects.select(rows, "known") == rows[:1]
    assert rejects.select(rows, "unknown", source="head") == rows[1:]
    assert rejects.to_csv(small_window()).splitlines()[1].endswith(",9.0,12,,,")


def test_a_report_counts_what_was_offered_and_what_was_not() -> None:
    (group,) = report.report([("one", small_window())])
    assert [o.fact for o in group.outcomes] == ["budget", "nothing", "unoffered"]
    said = [cells[0] for cells in report_words.table(group, "fact")[1]]
    assert said == [
        "known, tree was full", "the head offered others",
        "no guess was drafted, no reason recorded",
    ]  # fmt: skip
    assert report_words.unknown(group) == "most often wanted and unknown: ␣said ×1"


def test_what_did_not_pay_is_told_so_everywhere() -> None:
    """The head's first choice was right, and nothing was drafted: a fact about costs."""
    trace = unpaid_window()
    assert audit(trace) == ()
    (group,) = report.report([("one", trace)])
    assert [o.fact for o in group.outcomes] == ["cost", "nothing"]
    (right,) = candidates.select(candidates.candidates(trace), "right")
    assert (right.candidate, right.probability, right.cut) == ("␣keeper", 0.3, "cost")
    assert candidates.table([right])[1][0][7] == "would not have paid"
    assert ",would" not in candidates.to_csv(trace) and ",cost," in candidates.to_csv(trace)
    assert [r.cut for r in rejects.rejects(small_window(cut="cost"))] == ["cost", "", ""]


def test_offers_are_candidates_and_one_that_was_not_drafted_would_have_been_right() -> None:
    rows = candidates.candidates(small_window())
    (right,) = candidates.select(rows, "right")
    assert (right.step, right.depth, right.after, right.candidate) == (1, 3, "␣wrote", "␣every")
    assert (right.probability, right.score, right.cut) == (0.1, 0.04, "budget")
    titles, cells = candidates.table([right])
    assert titles[5] == "head's p(guess)"
    assert cells[0][4] == "the drafter head"
    assert sum(r.became is not None for r in rows) == 7


def test_a_step_in_words() -> None:
    trace = small_window()
    run = trace.run()
    assert run is not None
    assert list(sight.step_lines(run, run.steps[0], trace.pieces)) == [
        "The head saw 8 of 16 tokens in the mode slot (0 to 1 told as 0 to 1, 10 to 15 told as "
        "2 to 7), 12 kB of keys and values.",
        "Greatest distance 9, within the 12 that it was trained for.",
        "offers behind ␣the: +␣keeper 0.80 ·␣house 0.10",
        "offers behind ␣keeper: +␣wrote 0.50 +␣said 0.30",
        "offers behind ␣wrote: +␣in 0.60 ·␣no 0.20 ·␣every 0.10",
    ]


def test_the_run_card_names_the_head_and_the_farthest_look() -> None:
    rows = dict(card.card(every_mode(400, 2)["full"]))
    assert rows["Drafter head"].startswith("tiny-head: 9,600,000 weights, trained for 256 ")
    assert rows["Farthest look"] == "Greatest distance 403, beyond the 256 that it was trained for."
    told = dict(card.card(every_mode(400, 2)["truncated"]))["Farthest look"]
    assert told.endswith("It drafted from a target that read only as much as the head did.")


def forged(trace: Trace, **values: Any) -> tuple[str, ...]:
    """What an audit finds when the first step's evidence says something else."""

    def change(event: StoredEvent) -> StoredEvent:
        if not isinstance(event, Step) or event.index or event.role != "decoder":
            return event
        seen = event.evidence
        assert isinstance(seen, WindowEvidence)
        return event.model_copy(update={"evidence": seen.model_copy(update=values)})

    return audit(Trace(tuple(change(e) for e in trace.events)))


SEES_OTHER = "sees other entries than slot keeps of 16, or at other positions"


def test_forged_sights_are_found_out() -> None:
    seen = small_window().events[2].evidence  # type: ignore[union-attr]
    assert isinstance(seen, WindowEvidence)
    assert audit(small_window()) == () and SMALL.needed == 12
    sinks, last = seen.entries
    first, *rest = seen.expansions
    keeper, house = first.offers

    def offering(*offers: Any) -> dict[str, Any]:
        return {"expansions": (first.model_copy(update={"offers": offers}), *rest)}

    for values, finding in (
        ({"entries": (last, sinks)}, SEES_OTHER),
        ({"entries": (sinks,)}, SEES_OTHER),
        ({"entries": ()}, SEES_OTHER),
        ({"entries": (sinks, last._replace(at=10.0)), "tip": 15.0}, SEES_OTHER),
        ({"tip": 8.0}, SEES_OTHER),
        ({"spacing": 0.5}, SEES_OTHER),
        ({"mode": "full"}, "sees in the mode full, its run has slot"),
        ({"trained": 9999}, "sees in a trained range of 9999, its run has 12"),
        ({"truncated": True}, "drafts from the states of another target than its run says"),
        ({"bytes": 0}, "tells another size of its cache than its entries take"),
        ({"bytes": 8 * 1537}, ""),  # and then the second step differs from the first
        ({"levels": 4}, "looks 4 levels deep, its run allows 3"),
        ({"distance": 5.0}, "tells a distance of 5, its positions make 9"),
        ({"expansions": tuple(rest)}, "drafts node 1, which its head did not offer"),
        (offering(keeper._replace(token=9), house), "drafts node 1, which its head did not offer"),
        (
            offering(keeper._replace(probability=0.7), house),
            "scores node 1 otherwise than its branch is probable",
        ),
        (offering(keeper, house._replace(cut="")), "does not tell what became of an offer"),
        (offering(keeper, house._replace(node=2)), "does not tell what became of an offer"),
        (offering(keeper, house._replace(node=1, cut="")), "does not tell what became of an offer"),
        (
            offering(keeper, house._replace(node=9, cut="")),
            "names a guess that it does not have among its offers",
        ),
    ):
        found = forged(small_window(), **values)
        if finding:
            assert f"The decoder's step 0 {finding}." in found, values
        else:
            other = "The decoder's step 1 tells another size of its cache than its entries take."
            assert other in found


def relabelled(trace: Trace, knobs: dict[str, Any], **values: Any) -> tuple[str, ...]:
    """What an audit finds when all steps and the header say something else."""
    events = []
    for event in trace.events:
        if isinstance(event, Header) and event.head is not None:
            event = event.model_copy(update={"knobs": {**event.knobs, **knobs}})
        elif isinstance(event, Step) and event.evidence is not None:
            event = event.model_copy(update={"evidence": event.evidence.model_copy(update=values)})
        events.append(event)
    return audit(Trace(tuple(events)))


def test_a_run_relabelled_as_another_mode_is_found_out() -> None:
    """Header and steps agree, but the positions are those of the mode that it really had."""
    for mode in MODES:
        trace = window_trace(mode, 400, 2)
        assert audit(trace) == ()
        for other in MODES:
            # The same positions by another name cannot be told apart.
            one, two = (Bounds(m, 4, 247, 4, 256).sight(400) for m in (mode, other))
            found = relabelled(trace, {"mode": other}, mode=other)
            assert (found == ()) == (one == two), (mode, other)
    assert relabelled(window_trace("full", 400, 1), {}, mode="slot") == (
        "The decoder's step 0 sees in the mode slot, its run has full.",
    )


@pytest.mark.parametrize(
    "knobs",
    [{"mode": "none"}, {"sinks": -1}, {"window": "6"}, {"depth": 0}, {"depth": 2**70},
     {"sinks": 300}, {"trained": 255}],
)  # fmt: skip
def test_bounds_that_cannot_be_are_found_out(knobs: dict[str, Any]) -> None:
    found = relabelled(window_trace("slot", 400, 1), knobs)
    assert found == ("The decoder's step 0 sees with a head whose bounds its run does not tell.",)


def test_the_default_window_is_the_widest_that_fits() -> None:
    """The knob 0 stands for 247 of 256: 4 sinks, 4 levels and the root take the rest."""
    trace = window_trace("slot", 400, 1)
    assert audit(trace) == () and relabelled(trace, {"window": 247}) == ()
    assert relabelled(trace, {"window": 246}) == (
        "The decoder's step 0 sees other entries than slot keeps of 400, or at other positions.",
    )
