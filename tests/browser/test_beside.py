"""Two runs of one prompt beside each other in the player, held at the same emitted token."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from playwright.sync_api import Page

from specviz.compare import Comparison, compare
from specviz.models.toy import ToyModel, random_logits
from specviz.player import Pair
from specviz.trace import Trace
from tests.adversaries import Chain, RandomTree, oracle

from .test_states import traced

SHOWN = """() => {
  const [a, b] = document.querySelector('div').shadowRoot.querySelectorAll('svg.tree');
  return [+a.dataset.step, +b.dataset.step];
}"""


@cache
def runs() -> tuple[Trace, Trace, Comparison]:
    pieces = [b"<end>", b" a", b" b", b" c", b" d"]
    model = ToyModel(random_logits(5, len(pieces)), pieces, eos_ids=frozenset())
    a = traced(model, RandomTree(3, len(pieces), 14), 40)
    b = traced(model, Chain(oracle(model, (1, 2), 60), 2, 5), 40)
    return a, b, compare(a, b)


def opened(show: Callable[..., Page], **options: Any) -> Page:
    a, b, _ = runs()
    return show(a, pair=Pair(b, ("first", "second"), ("They differ.",)), **options)


def test_both_runs_show_the_step_that_wrote_the_same_token(show: Callable[..., Page]) -> None:
    page = opened(show)
    _, _, found = runs()
    differs = [p for p in found.positions if p.gained or p.lost]
    assert len(differs) > 3
    # It opens where the runs first differ.
    first = next(p for p in differs if p.a.step >= 0)
    assert page.evaluate("it.state().step") == first.a.step
    for index in range(len({p.a.step for p in found.positions}) - 1):
        page.evaluate("(i) => it.seekStep(i)", index)
        begins = next(p for p in found.positions if p.a.step == index)
        assert page.evaluate(SHOWN) == [index, begins.b.step]
    assert page.locator(".tree-panel h3").all_inner_texts() == [
        f"first: step {index + 1}", f"second: step {begins.b.step + 1}",
    ]  # fmt: skip


def test_a_step_of_the_other_run_moves_this_one(show: Callable[..., Page]) -> None:
    page = opened(show)
    _, _, found = runs()
    page.evaluate("it.seekStep(0)")
    begin = page.evaluate(SHOWN)[1]
    forward = page.get_by_role("button", name="Next step in “second”")
    for index in range(begin + 1, begin + 5):
        forward.click()
        begins = next(p for p in found.positions if p.b.step == index)
        assert page.evaluate(SHOWN) == [begins.a.step, index]
    page.get_by_role("button", name="Step back in “second”").click()
    assert page.evaluate(SHOWN)[1] == begin + 3


def test_the_next_difference_is_said_in_words(show: Callable[..., Page]) -> None:
    page = opened(show)
    a, b, found = runs()
    page.evaluate("it.seek(0)")
    page.locator("section.sv").focus()
    pieces = {**a.pieces, **b.pieces}
    words = {"right": "guessed right", "refused": "the model's own", "unguessed": "the model's own"}
    for p in [p for p in found.positions if p.gained or p.lost][:5]:
        page.keyboard.press("d")
        said = page.locator(".token-said").inner_text()
        assert said.startswith(f"Token {p.index + 1} ")
        assert pieces[p.token].decode().strip() in said.split(".")[0]
        assert f"first: {words[p.a.outcome]} in step {p.a.step + 1}" in said
        assert f"second: {words[p.b.outcome]} in step {p.b.step + 1}" in said
        kind = "gained" if p.gained else "lost"
        assert page.locator(".beside-bar").get_attribute("data-differs") == kind
        assert page.evaluate(SHOWN) == [p.a.step, p.b.step]


def test_the_second_run_can_be_put_away(show: Callable[..., Page]) -> None:
    page = opened(show)
    page.locator("section.sv").focus()
    assert page.locator(".memory").is_hidden() and page.locator(".lane-name").nth(1).is_visible()
    names = page.locator(".lane-name").all_inner_texts()
    assert names == ["first: random", "second: chain"]
    page.keyboard.press("c")
    assert page.locator(".memory").is_visible()
    assert page.locator(".beside-bar").is_hidden()
    assert page.locator(".lane-name").nth(1).inner_text() == "plain"
    page.keyboard.press("c")
    assert page.locator(".beside-bar").is_visible()


def test_phases_go_together_and_a_phone_has_room(show: Callable[..., Page]) -> None:
    page = opened(show, viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    phases = page.evaluate(
        """() => {
          const found = [];
          const root = document.querySelector('div').shadowRoot;
          for (let t = 1.5; t < 40; t += 0.5) {
            it.seek(t);
            found.push([...root.querySelectorAll('svg.tree')].map((s) => s.dataset.phase));
          }
          return found;
        }"""
    )
    # A step without guesses has no drafting: the other one waits at its pass.
    assert {tuple(p) for p in phases if p[0] != p[1]} <= {("draft", "verify")}
