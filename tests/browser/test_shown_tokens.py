"""Every token of the answer in the language that it is in, with where it came from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from player_traces import random_trace
from playwright.sync_api import Page

from specviz.models.toy import ToyModel
from specviz.trace import Trace
from tests.adversaries import Chain, oracle

from .patience import until
from .test_states import traced

# The last letter of "ďábelské" came as two tokens of a byte each.
WORDS = ["Привет", " мир", "Καλημέρα", "你好", "שלום"]
PIECES = [b"<end>", *(w.encode() for w in WORDS), b"\xc4", b"\x8f"]

OWN = ("own", "bonus")  # in a step without guesses, after guesses


def around() -> Trace:
    """A model that says its words one after the other, and a drafter that knows half of them."""
    n = len(PIECES)

    def logits(context: tuple[int, ...]) -> np.ndarray:
        row = np.full(n, -5.0)
        row[context[-1] % (n - 1) + 1] = 5.0
        return row

    model = ToyModel(logits, PIECES, eos_ids=frozenset({0}))
    return traced(model, Chain(oracle(model, (1, 2), 40), 2, 3), 15)


def origins(trace: Trace) -> list[str]:
    """What the trace says of every token: guessed, or the model's own."""
    run = trace.run("decoder")
    assert run is not None
    found = ["prefill"]
    for step in run.steps:
        for place in range(len(step.emitted)):
            guessed = place < len(step.walk)
            found.append(step.nodes[step.walk[place]].source if guessed else OWN[len(step.nodes) > 1])
    return found


def test_tokens_are_words_and_never_entries_of_a_vocabulary(show: Callable[..., Page]) -> None:
    page = show(around(), reduced_motion="reduce")
    page.locator("section.sv").focus()
    page.keyboard.press("End")
    said = page.locator(".flow").inner_text().replace("\n", "")
    for word in (*WORDS, "ď"):
        assert word.strip() in said
    everything: str = page.evaluate("root.querySelector('.sv').innerText")
    # Letters that stand for bytes in vocabularies, and those of a wrong decoding.
    assert not [c for c in "ĠĊÐÑ�" if c in everything]


def test_every_token_shows_where_it_came_from(show: Callable[..., Page]) -> None:
    trace = around()
    page = show(trace, reduced_motion="reduce")
    expected = origins(trace)
    assert {"bonus"} < set(expected), "guessed ones and own ones"
    classes = page.evaluate(
        "[...root.querySelectorAll('.flow .t')].map((t) => t.className.match(/o-(\\S+)/)[1])"
    )
    assert classes[1:] == expected[1:]


# How many elements of the text a seek to a step has changed, and the tokens that are shown.
SEEK = """(step) => {
  const flow = root.querySelector('.flow');
  const watch = new MutationObserver(() => {});
  watch.observe(flow, {subtree: true, attributes: true, attributeFilter: ['class']});
  it.seekStep(step);
  return [new Set(watch.takeRecords().map((r) => r.target)).size, it.state().tokens];
}"""
SEEN = """() => [...root.querySelectorAll('.flow .t')]
  .filter((t) => getComputedStyle(t).visibility === 'visible').map((t) => +t.dataset.i)"""


def test_a_far_seek_shows_the_tokens_up_to_there_and_touches_few_of_them(
    show: Callable[..., Page],
) -> None:
    page = show(random_trace(11, 240, 4), start_step=0, reduced_motion="reduce")
    total = page.locator(".flow .t").count()
    assert total > 400
    ends = set()
    for step in (239, 0, 120, 121, 119, 30, 31, 32, 33, 200, 1, 239):
        touched, tokens = page.evaluate(SEEK, step)
        assert touched < 150, step
        until(page, lambda: page.evaluate(SEEN), list(range(tokens)))  # out of sight at rest
        ends.add(tokens)
    assert len(ends) == 11 and max(ends) == total
