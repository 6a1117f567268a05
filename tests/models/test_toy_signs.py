"""The toy that sees: what depends on its picture, and that every drafter gives what it says."""

from __future__ import annotations

import io
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from PIL import Image

from specviz.decoding import decode
from specviz.drafters import create
from specviz.drafters.memory import make_row, model_key
from specviz.evidence import Written
from specviz.jobs import Job, run
from specviz.models import registry
from specviz.models.base import Capture, Inputs, Message, Picture, finish
from specviz.models.session import chain
from specviz.models.toy_signs import PATCHES, SignsModel, patch_colours, sign
from specviz.trace import Header, Prefill, Progress, Step, Trace
from tests.adversaries import drafters, every_drafter
from tests.test_losslessness import decoded_inputs

MODEL = SignsModel()
ROW = make_row((5, 6), (-0.5, -1.0), Written(0, 0, True))
QUESTION = "What does the sign say?"
RED = (
    "\nThe sign is red.\nA red sign tells you to stop.\nSee the sign and stop, see the sign and "
    "stop.\nThe road goes up, the road goes down, the road goes round the old market town.\nThe "
    "sign on the road is red, so stop.<end>"
)


def asked(*pictures: Picture, text: str = QUESTION) -> tuple[Message, ...]:
    return (Message("user", text, pictures),)


def plain(inputs) -> tuple[int, ...]:
    """Greedy without any cache: the whole text is read anew for every token."""
    seen = list(inputs.tokens)
    for patches in inputs.pixels or ():
        seen[patches.start : patches.start + PATCHES] = [-1 - c for c in patches.colours]
    output: list[int] = []
    while len(output) < 80 and not (output and output[-1] in MODEL.eos_ids):
        output.append(int(np.argmax(MODEL.logits((*seen, *output)))))
    return tuple(output)


@cache
def answered(names: tuple[str, ...]) -> tuple[Inputs, tuple[int, ...]]:
    inputs = MODEL.encode(asked(*map(sign, names)))
    return inputs, plain(inputs)


def said(*pictures: Picture) -> str:
    return b"".join(map(MODEL.token_bytes, plain(MODEL.encode(asked(*pictures))))).decode()


def test_the_picture_decides_its_words_and_no_others():
    assert said(sign("red")) == RED
    assert said(sign("green")) == RED.replace("red", "green").replace("stop", "walk")
    assert said() == RED.replace("red", "hidden").replace("stop", "guess")
    assert said(sign("green"), sign("black")) == (
        RED.replace("is red.", "is green.", 1)
        .replace("A red", "A black")
        .replace("so stop", "so walk")
        .replace("on the road is red", "on the road is green")
        .replace("stop", "return")
    )


def test_a_picture_is_its_placeholders_before_the_text_and_typed_ones_are_text():
    inputs = MODEL.encode(asked(sign("red"), text="<image>"))
    assert inputs.tokens[:17] == (MODEL.placeholder,) * PATCHES + MODEL.tokenize("\n")
    assert inputs.tokens[17:] == tuple(1 + byte for byte in b"<image>")
    assert inputs.pictures[0].span == (0, 16)
    assert MODEL.blocked_ids == {MODEL.placeholder}
    again = MODEL.encode(
        (*asked(sign("red")), Message("assistant", "stop"), *asked(sign("blue"), text="And now?"))
    )
    assert [seen.span for seen in again.pictures] == [(0, 16), (39, 55)]
    assert [patches.colours for patches in again.pixels] == [(0,) * 16, (4,) * 16]


def test_the_picture_is_shown_as_it_was_read():
    half = np.zeros((100, 200, 3), dtype=np.uint8)
    half[:, 100:] = (214, 40, 40)
    out = io.BytesIO()
    Image.fromarray(half).save(out, "PNG")
    picture = Picture("half.png", out.getvalue(), 200, 100)
    (seen,) = MODEL.encode(asked(picture)).pictures
    assert Image.open(io.BytesIO(seen.png)).size == (64, 64) == (seen.width, seen.height)
    assert patch_colours(seen.png) == (8, 8, 0, 0) * 4
    assert seen.notes == ("Shown to the model at 64 x 64 pixels.",)


@pytest.mark.parametrize("which", range(len(every_drafter())))
@pytest.mark.parametrize("pictures", [(), ("red",), ("blue", "white")])
def test_every_drafter_says_what_plain_scoring_says(which: int, pictures: tuple[str, ...]):
    inputs, answer = answered(pictures)
    drafter = drafters(which, MODEL, inputs.tokens, answer, which)
    assert decoded_inputs(MODEL, inputs, drafter, 80) == answer


def test_a_session_after_commits_equals_one_that_read_everything():
    inputs = MODEL.encode(asked(sign("purple")))
    answer = plain(inputs)
    session = MODEL.open(Capture(top_k=4))
    finish(session.prefill(inputs))
    session.verify(chain(answer[:10]))
    session.commit(range(10))
    longer = replace(inputs, tokens=(*inputs.tokens, *answer[:10]))
    fresh = MODEL.open(Capture(top_k=4))
    finish(fresh.prefill(longer))
    tree = chain(answer[10:20])
    assert session.verify(tree) == fresh.verify(tree)


def test_another_picture_changes_the_scores_of_its_words_alone():
    """The same answer read with another picture, as the counterfactual does."""
    inputs, answer = answered(("red",))
    other = MODEL.encode(asked(sign("blue")))
    begin = len(inputs.tokens)
    own, swapped = (
        finish(MODEL.open().score((*inputs.tokens, *answer), pixels)).picks[begin - 1 : -1]
        for pixels in (inputs.pixels, other.pixels)
    )
    assert own == answer
    changed = [MODEL.token_bytes(a) for a, b in zip(own, swapped, strict=True) if a != b]
    assert changed == [b" red", b" red", b" stop", b" stop", b" stop", b" red", b" stop"]


def test_a_recorded_run_holds_its_pictures_and_the_next_one_none():
    def trace(*pictures: Picture) -> Trace:
        job = Job(model="toy-signs", prompt=QUESTION, pictures=pictures)
        return Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))

    first, second = trace(sign("red")), trace()
    assert first.check is not None and first.check.equal is True
    model = registry.load("toy-signs")
    words = [b"".join(map(model.token_bytes, t.run().tokens)).decode() for t in (first, second)]
    assert words == [RED, RED.replace("red", "hidden").replace("stop", "guess")]
    assert [p.name for p in first.run().header.pictures] == ["red.png"]
    assert second.run().header.pictures == ()


@pytest.mark.parametrize("seed", ["level1", "all"])
def test_no_placeholder_becomes_a_key_of_a_memory(seed: str):
    """What stands behind a placeholder depends on the picture, and all of them are one token."""
    job = Job(model="toy-signs", prompt=QUESTION, pictures=(sign("red"),), knobs={"seed": seed})
    events = [e for e in run(job) if not isinstance(e, Progress)]
    drafter, folded = create("recap", {"seed": seed}), create("recap", {"seed": seed})
    inputs = MODEL.encode(asked(sign("red")))
    list(decode(MODEL, inputs, drafter, 128))
    for event in events:
        if event.role == "decoder" and isinstance(event, (Header, Prefill, Step)):
            folded.fold(event)
    levels = drafter.memory._levels
    assert len(levels[1]) > 40 and len(levels[3]) > 40
    keys = {token for level in levels.values() for key in level.rows for token in key}
    assert MODEL.placeholder not in keys and MODEL.placeholder in inputs.tokens
    assert folded.snapshot().tokens.tolist() == drafter.snapshot().tokens.tolist()
    assert folded.snapshot().ids.tolist() == drafter.snapshot().ids.tolist()


def test_a_memory_that_was_saved_with_a_placeholder_comes_back_without():
    drafter = create("recap", {})
    rows = drafter.memory._levels[1]
    rows.write([((MODEL.placeholder,), ROW), ((300,), ROW)])
    saved = rows.snapshot(model_key(MODEL, "top"))
    assert saved.tokens.tolist() == [MODEL.placeholder, 300]
    drafter = create("recap", {})
    drafter.restore(saved, MODEL)
    assert drafter.snapshot().tokens.tolist() == [300]
