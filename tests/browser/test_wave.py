"""The wave panel in a real browser: rounds, the pass, ledgers, rulers, words for those who listen."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from player_traces import HOSTILE
from playwright.sync_api import Page
from wave_traces import WORDS, sequential, small_wave, wide_wave

from specviz import player, waves
from specviz.trace import Trace
from specviz.tracefile import load

from .exported import wait

EXAMPLES = Path(__file__).parents[2] / "examples"

Opener = Callable[..., Page]
Show = Callable[..., Page]


@pytest.fixture
def show(show: Show) -> Show:
    """Traces of waves are opened at their first step."""
    return partial(show, start_step=0)


def caption(page: Page) -> list[str]:
    words = page.locator(".caption .main, .caption .why").all_inner_texts()
    return [" ".join(line.replace("␣", "").split()) for line in words]


def rows(page: Page) -> list[str]:
    """The tokens and states of every round in view: "has:new 3:new …"."""
    found: list[str] = page.evaluate(
        """() => [...root.querySelectorAll('.wave .round:not(.off)')].map((row) =>
             [...row.querySelectorAll('.c')].map((c) =>
               c.querySelector('.ct').textContent.replace('␣', '') + ':' +
               c.className.replace('c ', '').replace(' slim', '')).join(' '))"""
    )
    return found


def verdicts(page: Page) -> list[str]:
    found: list[str] = page.evaluate(
        """() => [...root.querySelectorAll('.pass_row .v:not(.off)')].map((v) =>
             v.textContent.replace('␣', '') + ':' + v.className.split(' ')[1])"""
    )
    return found


def ledgers(page: Page) -> list[str]:
    texts = page.locator(".ledger tbody tr").all_inner_texts()
    return [" ".join(line.split()) for line in texts]


def test_rounds_appear_one_by_one_then_the_pass_then_the_walk(show: Show) -> None:
    page = show(small_wave())
    page.evaluate("it.seek(1)")
    assert rows(page) == ["has:new 3:new +:new and:new"]
    assert caption(page)[0] == "Round 1: first guesses has 3 + and."
    assert page.evaluate("it.state().phase") == "draft"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert rows(page)[2] == (
        "has:frozen 3:same +:same 4:same =:changed 7:changed pears:new and:new"
    )
    assert caption(page) == [
        "Round 3: and became = at 5, the became 7 at 6; 4 of 8 guesses did not change.",
        "2 core calls over 7 places, ages 2 to 6; the text so far is read at the last iteration "
        "(16). 1 is frozen and costs nothing more.",
    ]
    assert verdicts(page) == []
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert caption(page)[0] == "Round 6: nothing changed, all 8 guesses stand."
    assert caption(page)[1].endswith("Settled: no guess moves any more.")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("it.state().phase") == "verify"
    assert caption(page)[0].startswith("One full pass of 16 iterations checks all 8 guesses")
    assert {v.split(":")[1] for v in verdicts(page)} == {"drafted"}
    assert ledgers(page)[1:3] == ["calls in a row 28 –", "arithmetic 202 –"]
    page.evaluate("it.seek(6.5)")
    assert ledgers(page)[1:3] == ["calls in a row 20 –", "arithmetic 130 –"], "half of the pass"
    page.evaluate("it.seek(7)")
    page.keyboard.press("ArrowRight")
    assert verdicts(page)[:2] == ["has✓:accepted", "3:drafted"]
    assert caption(page)[1].startswith("The wave stood at it since round 1;")


def test_a_refused_guess_says_that_an_earlier_round_had_it_right(show: Show) -> None:
    page = show(small_wave())
    assert verdicts(page) == [
        "has✓:accepted", "3✓:accepted", "+✓:accepted", "4✓:accepted", "=✓:accepted", "9✗:refused",
        "apples:unreached", ".:unreached",
    ]  # fmt: skip
    assert page.locator(".wave .star").get_attribute("data-at") == "5"
    assert page.locator(".wave .star").inner_text().replace("\n", "") == "★␣7"
    assert caption(page) == [
        "The full pass confirmed 5 of 8; it wanted 7 where the draft had 9.",
        "Round 3 had 7 there and lost it again: 9 stood since round 4 (0.75 at age 10). "
        "2 guesses behind it are right all the same, but were not reached.",
    ]
    fact = page.locator(".memory .fact").inner_text()
    assert " ".join(fact.replace("␣", "").split()).startswith("The model wanted 7, not 9 Prob")
    assert page.locator(".story > .quiet").inner_text() == "Round 3 had it right and lost it again."
    story = [" ".join(t.split()) for t in page.locator(".story li").all_inner_texts()]
    assert story == [
        "␣the 0.28 age 2", "␣7 0.36 age 4", "␣9 0.49 age 6", "␣9 0.62 age 8", "␣9 0.75 age 10",
    ]  # fmt: skip


def test_cells_that_are_the_final_token_are_marked_when_it_is_revealed(show: Show) -> None:
    page = show(small_wave())
    marks = """(k) => [...root.querySelectorAll(`.c[data-round="${k}"]`)]
      .map((c) => c.dataset.agrees)"""
    assert page.evaluate(marks, 2) == ["true"] * 6 + ["false"] * 2
    assert page.evaluate(marks, 5) == ["true"] * 5 + ["false", "true", "true"]
    assert page.locator(".wave.revealed").count() == 1
    page.evaluate("it.seek(3)")
    assert page.locator(".wave.revealed").count() == 0
    # Behind the end of what was written nothing is known.
    page = show(Trace(small_wave().events[:3]))
    assert page.evaluate(marks, 5) == ["true"] * 5 + ["false", None, None]


def test_both_ledgers_stand_side_by_side(show: Show) -> None:
    """Step 1: 6 rounds of 2 calls and 16 of the pass; 58 + 16 x 9 applications; plain 6 x 16."""
    page = show(small_wave())
    assert ledgers(page)[:3] == [
        "Step: 6 tokens here plain", "calls in a row 28 96 3.4× fewer",
        "arithmetic 202 96 2.1× more",
    ]  # fmt: skip
    page.evaluate("it.seekStep(3)")
    run = small_wave().run()
    assert run is not None
    calls, applications = waves.core_calls(run), waves.applications(run)
    assert calls is not None and applications is not None
    plain = 16 * calls.tokens
    assert ledgers(page)[3:] == [
        f"Run so far: {calls.tokens} tokens",
        f"calls in a row {calls.total} {plain} {plain / calls.total:.1f}× fewer",
        f"arithmetic {applications.total} {plain} {applications.total / plain:.1f}× more",
    ]
    page.evaluate("it.seek(2)")
    assert ledgers(page) == [
        "This step here plain", "calls in a row 4 –", "arithmetic 20 –",
        "Run so far", "calls in a row 0 –", "arithmetic 0 –",
    ]  # fmt: skip


def test_the_run_so_far_counts_work_and_tokens_of_the_same_steps(show: Show) -> None:
    page = show(load(EXAMPLES / "stones.jsonl.gz"), start_step=0)
    first = ["Run so far: 21 tokens", "calls in a row 52 672 13× fewer"]
    whole = ledgers(page)[3:]
    page.evaluate("it.seekStep(1)")
    after = ledgers(page)[3:]
    page.locator("section.sv").focus()
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("it.state().phase") != "emit"
    assert ledgers(page)[3:] == whole != after
    assert whole[:2] == first


def test_the_rulers_say_where_the_prefix_is_read(show: Show) -> None:
    page = show(small_wave())
    label = page.locator(".depths").get_attribute("aria-label")
    assert label == (
        "The draft has had 4 to 10 core iterations. Of the text so far it reads the keys of the "
        "last iteration, 16 and the values of the last iteration, 16."
    )
    where = "(s) => +root.querySelector(s).getAttribute('d').match(/^M([\\d.]+)/)[1]"
    deep = page.evaluate(where, ".ruler.keys .point")
    page.evaluate("it.seek(1)")
    assert page.evaluate(where, ".ruler.keys .point") == deep
    # Coupled keys go with the draft's own age.
    page = show(sequential())
    page.evaluate("it.seek(1)")
    assert page.locator(".ruler.keys.coupled").count() == 1
    assert page.evaluate(where, ".ruler.keys .point") < deep / 2
    assert (
        "reads keys of its own age, values of the last iteration, 16"
        in page.locator(".depth-map").inner_text()
    )


def test_a_screen_reader_and_the_arrows_go_from_cell_to_cell(show: Show) -> None:
    page = show(small_wave())
    cell = page.locator(".c[data-round='3'][data-at='5']")
    assert cell.get_attribute("aria-label") == (
        "round 4, position 6: token ␣9, probability 0.49, age 6 core iterations, changed from ␣7"
    )
    assert page.locator(".wave").get_attribute("role") == "grid"
    assert page.locator(".v.refused").get_attribute("aria-label") == (
        "full pass, position 6: token ␣9, refused"
    )
    assert page.locator(".wave [tabindex='0']").count() == 1, "one stop for Tab"
    page.locator(".c[data-round='0'][data-at='0']").focus()
    before = page.evaluate("it.state().beat")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    at = page.evaluate("[root.activeElement.dataset.round, root.activeElement.dataset.at]")
    assert (at, page.evaluate("it.state().beat")) == (["1", "1"], before)
    assert "finally written here" in page.locator(".tip").inner_text()
    page.keyboard.press("Enter")
    assert page.evaluate("it.state().focus") == 2
    assert page.locator(".wave .place.at").inner_text() == "2"


def test_sequential_drafting_is_a_staircase(show: Show) -> None:
    page = show(sequential())
    page.evaluate("it.seek(3)")
    assert rows(page) == ["has:new", "has:frozen 3:new", "has:frozen 3:frozen +:new"]
    assert caption(page) == [
        "Guess 3 of 6: +, read off after 4 core iterations with probability 0.59.",
        "4 core calls for this one guess; of the text so far it reads keys at the draft's own age, "
        "values at the last iteration (16).",
    ]
    assert page.locator(".title").inner_text() == "DAS"


def test_pause_before_reveal_hides_what_the_pass_says(show: Show) -> None:
    page = show(small_wave())
    page.evaluate("it.set('reveal', true); it.seekStep(1)")
    assert page.evaluate("it.state().phase") == "draft"
    assert len(rows(page)) == 5 and verdicts(page) == []
    assert page.locator(".wave.revealed").count() == 0
    assert page.locator(".wave .star.off").count() == 1


@pytest.mark.parametrize("width", [390, 900, 1280, 1920])
def test_the_grid_scrolls_inside_its_panel_only(show: Show, width: int) -> None:
    page = show(wide_wave(32, 12), viewport={"width": width, "height": 900})
    for projector in (False, True):
        page.evaluate("(on) => it.set('projector', on)", projector)
        page.wait_for_timeout(60)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        inside = page.evaluate(
            """() => [...root.querySelectorAll('.panel, .caption')].filter((e) => e.offsetParent
              && e.getBoundingClientRect().right > innerWidth + 1).map((e) => e.className)"""
        )
        assert inside == []
    seen = """() => { const box = root.querySelector('.wave-box').getBoundingClientRect();
      const star = root.querySelector('.wave .star').getBoundingClientRect();
      return star.left >= box.left && star.right <= box.right + 1
        && star.bottom <= box.bottom + 1; }"""
    assert page.evaluate(seen), "where the walk stopped is in view"


@pytest.mark.parametrize(("width", "least"), [(390, 44), (1280, 18)])
def test_rows_are_high_enough(show: Show, width: int, least: int) -> None:
    page = show(wide_wave(12, 8), viewport={"width": width, "height": 844})
    tall = page.evaluate("root.querySelector('.c').getBoundingClientRect().height")
    assert tall >= least
    if width == 1280:
        clashes = page.evaluate(
            """() => { const box = root.querySelector('.wave-box');
              return [box.scrollWidth - box.clientWidth, box.scrollHeight - box.clientHeight]; }"""
        )
        assert clashes == [0, 0], "8 rounds of 12 guesses need no scrolling"


# Tokens of the pass that are cut; columns wholly in view, by their number; the one that is marked.
READ = """() => {
  const cells = [...root.querySelectorAll('.pass_row .v')];
  const box = root.querySelector('.wave-box').getBoundingClientRect();
  const from = root.querySelector('.wave tbody th').getBoundingClientRect().right;
  const within = (e) => e.left >= from - 1 && e.right <= box.right + 1;
  const cut = (e) => e.scrollWidth > e.clientWidth;
  const heads = [...root.querySelectorAll('.wave .place')];
  return {
    cut: cells.map((c) => c.querySelector('.ct')).filter(cut).map((c) => c.textContent),
    seen: heads.filter((e) => within(e.getBoundingClientRect())).map((e) => +e.textContent),
    at: +(root.querySelector('.wave .place.at')?.textContent ?? 0),
  };
}"""


def test_a_wide_wave_is_panned_along_so_that_its_tokens_can_be_read(show: Show) -> None:
    page = show(wide_wave(32, 12), viewport={"width": 1280, "height": 720})
    there = page.evaluate(READ)
    assert there["cut"] == [] and there["at"] in there["seen"]
    assert 6 < len(there["seen"]) < 31, "not all of them fit"
    # The first rounds open the first places, a later one is where the guesses still move.
    page.evaluate("it.seek(1)")
    assert page.evaluate(READ)["seen"][0] == 1
    page.evaluate("it.seek(9)")
    moving = page.evaluate(
        """() => +root.querySelector('.round.now .c.changed, .round.now .c.new').dataset.at + 1"""
    )
    assert moving > 8 and moving in page.evaluate(READ)["seen"]


def test_hostile_tokens_stay_texts(show: Show) -> None:
    words = [*WORDS[:1], *HOSTILE, *WORDS[len(HOSTILE) + 1 :]]
    page = show(small_wave(words))
    seen = ""
    for step in range(4):
        page.evaluate("(i) => it.seekStep(i)", step)
        seen += page.locator("section.sv").inner_text()
        assert "player." not in page.locator("section.sv").text_content()  # type: ignore[operator]
    tags = "() => ['img', 'script', 'b'].map((t) => root.querySelectorAll(t).length)"
    assert page.evaluate(tags) == [0, 0, 0]
    assert "<img src=x" in seen and "${alert(1)}" in seen
    assert "\u202e" not in seen


def test_every_word_of_every_moment_is_in_the_catalogue(show: Show) -> None:
    for trace in (small_wave(), sequential()):
        page = show(trace)
        page.evaluate("it.set('expert', true)")
        last = page.evaluate("SpecvizPlayer.lastTime(data.payload)")
        for beat in range(last + 1):
            page.evaluate("(t) => it.seek(t)", beat)
            words = page.locator("section.sv").text_content()
            labels = page.evaluate(
                "[...root.querySelectorAll('[aria-label]')].map((e) => e.ariaLabel).join(' ')"
            )
            assert "player." not in words + labels and "{" not in words + labels  # type: ignore[operator]


def test_a_live_wave_ends_as_a_loaded_one(show: Show) -> None:
    trace = small_wave()
    page = show(trace)
    look = """() => root.querySelector('.wave').outerHTML.replaceAll(' style=""', '')
      + root.querySelector('.memory').innerText"""
    page.evaluate("it.seekStep(1)")
    whole = page.evaluate(look)
    cuts = [0, 2, 3, 4, 5, len(trace.events)]
    for first, end in pairwise(cuts):
        update = player.update(trace.events[:end], "live", first, live=end < len(trace.events))
        page.evaluate("(u) => it.push(u)", update)
    page.evaluate("it.seekStep(1)")
    assert page.evaluate(look) == whole


def test_reduced_motion_goes_round_by_round(show: Show) -> None:
    page = show(small_wave(), reduced_motion="reduce")
    page.evaluate("it.seek(0); it.set('speed', '8'); it.play()")
    wait(page, "it.state().beat >= 3")
    page.evaluate("it.pause()")
    time = page.evaluate("it.state().time")
    assert time == int(time) >= 3


def test_the_scene_of_a_wave_is_a_pure_function(show: Show) -> None:
    page = show(small_wave())
    assert page.evaluate(
        """() => {
          const last = SpecvizPlayer.lastTime(data.payload);
          const at = (t) => JSON.stringify(SpecvizPlayer.scene(data.payload, t));
          const all = () => Array.from({length: 4 * last + 1}, (_, t) => at(t / 4));
          const one = all(), two = all().map((_, i, a) => at((a.length - 1 - i) / 4)).reverse();
          return one.every((s, i) => s === two[i]);
        }"""
    )


def test_seeking_waves_is_fast(show: Show) -> None:
    page = show(wide_wave(16, 8, steps=60))
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def spent() -> float:
        values = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
        kinds = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration")
        return 1000 * sum(values[kind] for kind in kinds)

    times = []
    for k in range(90):
        before = spent()
        page.evaluate(
            "(i) => { it.seekStep(i); root.querySelector('.sv').offsetHeight; }", 7 * k % 60
        )
        times.append(spent() - before)
    times = sorted(times[20:])
    assert times[round(0.95 * len(times)) - 1] < 66, "on the slowest machine"
