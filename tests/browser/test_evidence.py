"""The evidence panel of a run with memories: who proposed what, what was known, how it was weighed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

from specviz.budget import Curve
from specviz.evidence import Lookup, MemoryEvidence
from specviz.trace import Step, Trace
from specviz.tracefile import load

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
Show = Callable[..., Page]
SOURCES = {1: "the last token", 2: "the last two tokens", 3: "the last three tokens"}


def recorded(name: str, step: int) -> tuple[Trace, Step]:
    trace = load(EXAMPLES / f"{name}.jsonl.gz")
    run = trace.run("decoder")
    assert run is not None
    return trace, run.steps[step]


def asked_at(step: Step, node: int) -> Lookup:
    assert isinstance(step.evidence, MemoryEvidence)
    return next(look for look in step.evidence.lookups if look.node == node)


def knew(step: Step, node: int) -> list[tuple[int, float, float]]:
    """The levels that had the guess ``node``: level, weight, what it gave it; who brought most first."""
    token = step.nodes[node].token
    hits = [h for h in asked_at(step, step.nodes[node].parent).hits if token in h.ids]
    had = [(h.level, h.weight, h.probs[h.ids.index(token)]) for h in hits]
    return sorted(had, key=lambda each: -each[1] * each[2])


def flat(page: Page, selector: str) -> list[str]:
    said = page.locator(selector).all_inner_texts()
    return [" ".join(line.replace("␣", "").split()) for line in said]


def words(page: Page, token: int) -> str:
    found: str = page.evaluate(
        """(id) => root.querySelector(`[data-token="${id}"]`).textContent.replace('␣', '')""", token
    )
    return found


def choose(page: Page, node: int) -> None:
    page.evaluate(
        """(n) => root.querySelector(`.chip[data-node="${n}"]`)
             .dispatchEvent(new MouseEvent('click', {bubbles: true}))""",
        node,
    )


def test_a_refused_guess_is_explained_by_what_memory_knew_before_it(show: Show) -> None:
    """What was wanted is ranked where the levels shown were asked: never beside "no answer"."""
    trace, step = recorded("list", 15)
    before, behind = asked_at(step, 0), asked_at(step, 1)
    assert step.nodes[1].parent == 0 and before.hits and not behind.hits
    page = show(trace, start_step=15)
    choose(page, 1)
    guess, after = step.nodes[1].token, step.nodes[0].token
    assert flat(page, ".memory h3") == [f"What memory knew after {words(page, after)}"]
    level = {"level1": 1, "level2": 2, "level3": 3}[step.nodes[1].source]
    assert flat(page, ".memory .came") == [
        f"The refused guess {words(page, guess)} came from L{level}, memory of {SOURCES[level]}."
    ]
    rank = [c.token for c in before.candidates].index(step.nodes[0].pick) + 1
    assert (rank, len(before.candidates)) == (8, 8)
    told = page.locator(".memory").inner_text()
    assert "Memory had it at rank 8 of 8" in told and "No level" not in told
    keys = page.evaluate(
        """[...root.querySelectorAll('.memory .key')].map((k) =>
             [...k.querySelectorAll('.tok')].map((t) => +t.dataset.token))"""
    )
    assert keys == [list(h.key) for h in sorted(before.hits, key=lambda h: -h.level)]


@pytest.mark.parametrize("lang", ["en", "ru"])
def test_every_level_shows_base_sureness_and_weight_as_bars_with_numbers(
    show: Show, lang: str
) -> None:
    trace, step = recorded("tea", 51)
    page = show(trace, start_step=51, lang=lang, viewport={"width": 1280, "height": 720})
    hits = sorted(asked_at(step, step.walk[-1]).hits, key=lambda h: -h.level)
    assert len(hits) == 3
    bars: list[list[list[Any]]] = page.evaluate(
        """[...root.querySelectorAll('.memory .level')].map((level) =>
             [...level.querySelectorAll('.counts .bar')].map((bar) => {
               const [track, fill] = ['.track', '.fill'].map((s) => bar.querySelector(s).getBoundingClientRect());
               return [bar.querySelector('.bar-p').textContent, fill.width / track.width, track.height];
             }))"""
    )
    for hit, found in zip(hits, bars, strict=True):
        expected = [hit.base, 1 - hit.entropy, hit.weight]
        numbers = [f"{value:.2f}".replace(".", "," if lang == "ru" else ".") for value in expected]
        assert [said for said, _, _ in found] == numbers
        for value, (_, share, tall) in zip(expected, found, strict=True):
            assert abs(share - value) < 0.03 and tall >= 9
    # The wanted token is marked where a level knew it.
    pick = step.nodes[step.walk[-1]].pick
    knew = [pick in hit.ids[:5] for hit in hits]
    marked = page.evaluate(
        """[...root.querySelectorAll('.memory .level')].map((l) => Boolean(l.querySelector('.says .wanted .star')))"""
    )
    assert marked == knew and True in knew


def test_off_the_walk_the_wish_is_said_to_be_of_another_text(show: Show) -> None:
    trace, step = recorded("tea", 30)
    assert isinstance(step.evidence, MemoryEvidence)
    walk = (0, *step.walk)
    aside = next(
        look.node
        for look in step.evidence.lookups
        if look.node not in walk and step.nodes[look.node].parent not in walk
    )
    page = show(trace, start_step=30)
    choose(page, aside)
    wanted = words(page, step.nodes[aside].pick)
    assert flat(page, ".memory .want") == [
        f"Had this branch been the text, the model would have wanted {wanted}"
    ]
    choose(page, 0)
    own = words(page, step.nodes[0].pick)
    assert flat(page, ".memory .want") == [f"Here the model wanted {own}"]


def test_an_accepted_guess_says_which_level_it_came_from(show: Show) -> None:
    trace, step = recorded("tea", 51)
    page = show(trace, start_step=51)
    choose(page, step.walk[0])
    following = step.nodes[step.walk[1]]
    assert following.source == "level2"
    levels = [level for level, *_ in knew(step, step.walk[1]) if level != 2]
    assert levels
    also = f" Also known to {', '.join(f'L{level}' for level in levels)}."
    assert flat(page, ".memory .came") == [
        f"Accepted next: {words(page, following.token)}, from L2, memory of the last two tokens.{also}"
    ]


def test_pointing_at_a_guess_tells_its_levels_their_weights_and_its_share(show: Show) -> None:
    trace, step = recorded("tea", 51)
    page = show(trace, start_step=51)
    node = step.walk[1]
    page.locator(f'.chip[data-node="{node}"]').focus()
    told = page.locator(".tip .more").all_inner_texts()
    share = next(c.probability for c in asked_at(step, step.nodes[node].parent).candidates if c.node == node)
    levels = [
        f"L{level} gave it {p:.2f} and weighs {weight:.2f}" for level, weight, p in knew(step, node)
    ]
    assert len(levels) > 1 and all(line in told for line in levels)
    assert f"its share in the mixture of all levels: {share:.2f}" in told
    assert [line for line in told if " gave it " in line] == levels, "the one that brought most first"


def test_pointing_at_a_guess_names_the_discount_between_its_share_and_its_score(
    show: Show,
) -> None:
    trace, step = recorded("code", 45)
    given = asked_at(step, 0).candidates[0]
    assert (given.node, given.probability, step.nodes[1].score) == (1, 0.8633, 0.561141)
    page = show(trace, start_step=45)
    page.locator('.chip[data-node="1"]').focus()
    told = page.locator(".tip .more").all_inner_texts()
    at = told.index("its share in the mixture of all levels: 0.86")
    assert told[at + 1] == "discount, for how often such guesses come true: 0.65"
    assert told[at + 2].endswith("right up to here: 0.56")


@pytest.mark.parametrize(
    ("name", "index", "lang", "said"),
    [
        (
            "tea", 2, "en",
            "Its chance: share 0.0377 × score 0.33 × discount 0.65 = 0.008. With 0.04 for what it "
            "teaches it promised 0.048 tokens; one guess more cost as much time as 0.079.",
        ),
        (
            "tea", 2, "ru",
            "Шанс: доля 0,0377 × оценка 0,33 × поправка 0,65 = 0,008. С надбавкой 0,04 за то, "
            "чему учит, догадка обещала 0,048 токена; ещё одна стоила столько времени, сколько "
            "0,079.",
        ),
        (
            "head-2000", 16, "en",
            "Its chance: 0.29 × score 0.15 = 0.045. It promised as many tokens; one guess more cost "
            "as much time as 0.156.",
        ),
    ],
)  # fmt: skip
def test_what_would_not_have_paid_is_told_with_its_chance_and_what_it_had_to_bring(
    show: Show, name: str, index: int, lang: str, said: str
) -> None:
    trace, step = recorded(name, index)
    page = show(trace, start_step=index, lang=lang)
    assert flat(page, ".memory .price") == [said]
    # The same from the recorded numbers: what a token is worth, and what a row more costs.
    run = trace.run("decoder")
    assert run is not None and run.header.costs is not None
    lesson = run.header.knobs.get("lesson", 0)
    curve = Curve(tuple(run.header.costs.rows), tuple(run.header.costs.seconds))
    worth = sum((n.score or 0) + lesson for n in step.nodes[1:]) + 1
    rows = len(step.nodes)
    need = (curve(rows + 1) - curve(rows)) * worth / curve(rows)
    assert f"{need:.3f}" in said.replace(",", ".")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("lead", "ahead of the next best"),
        ("share", "all levels together give"),
        ("base", "Entropy then takes away from it."),
        ("weight", "sum to 1"),
        ("♻ step 50", "Learned in step 50, behind a guess that was refused."),
    ],
)
def test_the_words_of_the_panel_are_explained_by_key_and_by_tap(
    show: Show, word: str, said: str
) -> None:
    page = show(load(EXAMPLES / "tea.jsonl.gz"), start_step=51)
    term = page.locator(".memory .term", has_text=word).first
    term.focus()
    assert said in page.locator(".tip").inner_text()
    page.locator("section.sv").focus()
    assert page.locator(".tip").is_hidden()
    term.click()
    assert said in page.locator(".tip").inner_text()


@pytest.mark.parametrize(
    ("lang", "said", "why", "cell"),
    [
        (
            "en",
            "Cut: only the first 8 candidates were tried here.",
            "rank 12, mostly from memory of the last token, but only the first 8 candidates were"
            " tried here.",
            "cut: beyond rank 1",
        ),
        (
            "ru",
            "Отсечено: здесь пробовались только 8 первых кандидатов.",
            "(ранг 12, главный источник: память последнего токена), но здесь пробовались только"
            " 8 первых кандидатов.",
            "отсечено: ниже ранга 1",
        ),
    ],
)
def test_a_rank_that_is_not_tried_is_told_as_such(
    show: Show, lang: str, said: str, why: str, cell: str
) -> None:
    trace, step = recorded("code", 48)
    found = asked_at(step, step.walk[-1]).candidates
    assert [c.cut for c in found].index("width") == 8
    assert (found[11].token, found[11].cut) == (step.nodes[step.walk[-1]].pick, "width")
    page = show(trace, start_step=48, lang=lang)
    assert flat(page, ".memory .knew")[0].endswith(said)
    assert flat(page, ".caption .why")[0].endswith(why)
    # A fixed tree has few places: there the table of the mixture shows the cut too.
    fixed, step = recorded("slower", 9)
    assert [c.cut for c in asked_at(step, 11).candidates] == ["", *["width"] * 7]
    page = show(fixed, start_step=9, lang=lang)
    choose(page, 11)
    assert flat(page, ".memory .mixed .why-cut")[1:] == [cell] * 5


def test_a_score_below_the_limit_is_told_with_its_words_explained(show: Show) -> None:
    trace, step = recorded("list", 21)
    node = step.walk[-1]
    found = next(c for c in asked_at(step, node).candidates if c.token == step.nodes[node].pick)
    assert found.cut == "score"
    page = show(trace, start_step=21)
    told = flat(page, ".memory .knew")[0]
    assert told == (
        "Memory had it at rank 2 of 8, share below 0.01. Cut: below the limit. Its share "
        f"{found.probability:.4f} in a branch with the score {step.nodes[node].score:.2f}, "
        "discounted for how often such guesses come true, is less than 0.0020."
    )
    for place in (".memory .knew", ".caption .why"):
        page.locator(f"{place} .term", has_text="score").click()
        assert "a branch is right up to here" in page.locator(".tip").inner_text()
