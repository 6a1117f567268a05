"""What the player says of a run's speed: its ceiling, its tree and its costs, why it is slow."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

import pytest
from player_traces import bundle, step
from playwright.sync_api import Page

from specviz import metrics
from specviz.trace import Costs, Seconds, Trace

from .exported import focus, press


def test_a_slow_run_says_so_and_why(show: Callable[..., Page]) -> None:
    made = [
        step(random.Random(i), i, 16, 6, 0).model_copy(
            update={"seconds": Seconds(draft=0.03, verify=0.06, commit=0.01, total=0.1)}
        )
        for i in range(4)
    ]
    trace = bundle(made)
    speed = metrics.speedup_decode(trace)
    assert speed is not None and speed < 0.5
    page = show(trace)
    focus(page)
    press(page, "End")
    assert page.locator(".speed").inner_text() == f"{speed:.2f}×"
    why = page.locator(".caption .why").inner_text()
    found = [float(n) for n in re.findall(r"\d+\.\d+", why)]
    tau, rows, verify, rest, _, cost, shown = found
    assert why.startswith("Not faster: 1.00 tokens a pass, but a pass over 7.0 rows cost ")
    assert rows == 7.0
    assert (shown, tau) == (round(speed, 2), 1.0)
    assert abs(tau / cost - speed) < 0.01
    assert abs(verify + rest - cost) < 1e-9, "the parts add up as they are shown"
    assert abs(verify / rest - 1.5) < 0.02
    press(page, "Home")
    assert page.locator(".head .told").inner_text() == why, "told at every step"
    page.locator(".figures .term").first.focus()
    assert why in page.locator(".tip").inner_text()


COSTS = Costs(context=128, rows=(1, 2, 4, 16), seconds=(0.04, 0.05, 0.042, 0.09))


def fitted(scores: tuple[float, ...]) -> Trace:
    """One step whose tree was fitted to the costs: what memory also knew was cut for its cost."""
    made = step(random.Random(1), 0, 16, len(scores), 0)
    nodes = [
        node.model_copy(update={"score": score})
        for node, score in zip(made.nodes, (None, *scores), strict=True)
    ]
    assert made.evidence is not None and made.evidence.kind == "memory"
    lookups = [
        found.model_copy(
            update={"candidates": tuple(c._replace(cut="cost") for c in found.candidates)}
        )
        for found in made.evidence.lookups
    ]
    evidence = made.evidence.model_copy(update={"lookups": tuple(lookups)})
    trace = bundle([made.model_copy(update={"nodes": tuple(nodes), "evidence": evidence})])
    first = trace.events[0].model_copy(update={"costs": COSTS})
    return Trace((first, *trace.events[1:]))


def test_a_tree_that_fits_the_machine_says_what_more_would_have_cost(
    show: Callable[..., Page],
) -> None:
    """Six rows cost 1.05 + 2 x 0.1 = 1.25, one more 0.1; five guesses and the root promise 2.5."""
    page = show(fitted((0.6, 0.4, 0.25, 0.15, 0.1)), start_step=0)
    assert page.locator(".size p").inner_text() == (
        "A tree of 5 guesses was best here: it promised 2.50 tokens for 1.25 plain passes. "
        "One guess more would have cost 0.10 of a plain pass; none promised enough for that."
    )
    picture = page.locator(".size svg.curve")
    label = "Cost of a pass by its rows; the dot is this step: 6 rows, 1.25 plain passes"
    assert picture.get_attribute("aria-label") == label
    assert picture.locator(".timed").count() == 4 and picture.locator("circle.here").count() == 1
    told = page.locator(".caption .why").inner_text()
    assert "but a tree of 5 guesses was best here: one more would have cost more" in told
    assert "Cut: the best tree here had 5 guesses" in page.locator(".fact").inner_text()
    bare = fitted((0.6, 0.4, 0.25, 0.15, 0.1)).events
    # Five guesses that teach a tenth of a token each.
    taught = bare[0].model_copy(update={"knobs": {"lesson": 0.1}})
    page = show(Trace((taught, *bare[1:])), start_step=0)
    assert "with what it teaches it promised 3.00 tokens" in page.locator(".size p").inner_text()
    # Without a curve the reason stays, without the numbers.
    page = show(Trace((bare[0].model_copy(update={"costs": None}), *bare[1:])), start_step=0)
    assert page.locator(".size").count() == 0
    assert "a larger tree would have cost more time" in page.locator(".caption .why").inner_text()
    assert page.locator(".reason .ceiling").is_hidden()


def test_guessing_nothing_because_of_its_cost_is_not_called_an_empty_memory(
    show: Callable[..., Page],
) -> None:
    made = fitted((0.5,)).run().steps[0]  # type: ignore[union-attr]
    events = bundle([step(random.Random(1), 0, 16, 0, 0)]).events
    bare = events[2].model_copy(update={"evidence": made.evidence})
    first = events[0].model_copy(update={"costs": Costs(context=9, rows=(1, 2), seconds=(1, 1.5))})
    page = show(Trace((first, events[1], bare, *events[3:])), start_step=0)
    assert page.locator(".caption .why").inner_text() == (
        "Memory had guesses after ␣word0, but none promised enough to pay for its place in the "
        "pass."
    )
    assert page.locator(".size p").inner_text() == (
        "Guessing nothing was best here: one guess would have cost 0.50 of a plain pass; none "
        "promised enough for that."
    )


def test_the_ceiling_stands_beside_the_speed(show: Callable[..., Page]) -> None:
    trace = fitted((0.6, 0.4, 0.25, 0.15, 0.1))
    ceiling = metrics.ceiling(trace.run())  # type: ignore[arg-type]
    assert ceiling == pytest.approx(1 / 1.25)
    page = show(trace, start_step=0)
    term = page.locator(".reason .ceiling")
    assert term.inner_text() == "ceiling 0.80×"
    term.focus()
    assert "Its ceiling is 0.80×" in page.locator(".tip").inner_text()
    assert "(up to 4 are nearly free here)" in page.locator(".told").inner_text()
    focus(page)
    press(page, "End")
    assert "Its ceiling is 0.80×" in page.locator(".caption .why").inner_text()
    page.set_viewport_size({"width": 390, "height": 844})
    assert (term.is_visible(), page.locator(".told").is_visible()) == (True, False)


def test_a_speed_above_the_ceiling_is_doubted(show: Callable[..., Page]) -> None:
    events = fitted((0.6, 0.4, 0.25, 0.15, 0.1)).events
    quick = events[2].model_copy(
        update={"seconds": Seconds(draft=0.001, verify=0.004, commit=0.0, total=0.005)}
    )
    page = show(Trace((*events[:2], quick, *events[3:])), start_step=0)
    assert page.locator(".reason .ceiling").inner_text() == "above its ceiling of 0.80×"
    focus(page)
    press(page, "End")
    assert "something disturbed the plain run" in page.locator(".caption .why").inner_text()


def test_an_estimate_that_the_run_just_passed_is_not_called_its_ceiling(
    show: Callable[..., Page],
) -> None:
    events = fitted((0.6, 0.4, 0.25, 0.15, 0.1)).events
    plain = metrics.decode_seconds_per_token(Trace(events).run("baseline"))  # type: ignore[arg-type]
    assert plain is not None
    own = plain / 0.81
    quick = events[2].model_copy(
        update={"seconds": Seconds(draft=0.0, verify=own, commit=0.0, total=own)}
    )
    page = show(Trace((*events[:2], quick, *events[3:])), start_step=0)
    assert page.locator(".speed").first.inner_text() == "0.81×"
    assert page.locator(".reason .ceiling").is_hidden()
    focus(page)
    press(page, "End")
    told = page.locator(".caption .why").inner_text()
    assert "it would have been about as fast as measured" in told and "0.80" not in told


def test_the_browser_and_the_metrics_read_one_curve(show: Callable[..., Page]) -> None:
    """What the player says of a size is c*, beyond the last size measured too."""
    for guesses in (1, 3, 4, 15, 20):
        scores = tuple(0.9 - 0.04 * k for k in range(guesses))
        trace = fitted(scores)
        cost = metrics.curve(trace.run())(guesses + 1)  # type: ignore[arg-type,misc]
        told = show(trace, start_step=0).locator(".size p").inner_text()
        worth = 1 + sum(scores)
        assert f"promised {worth:.2f} tokens for {cost:.2f} plain passes" in told
