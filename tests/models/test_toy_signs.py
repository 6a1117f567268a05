"""The toy that sees: what depends on its picture, and that every drafter gives what it says."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from specviz.jobs import Job, run
from specviz.models import registry
from specviz.models.base import Capture, Message, Picture, finish
from specviz.models.session import chain
from specviz.models.toy_signs import PATCHES, SignsModel, patch_colours, sign
from specviz.trace import Progress, Trace
from tests.adversaries import drafters, every_drafter
from tests.test_losslessness import decoded_inputs

MODEL = SignsModel()
QUESTION = "What does the sign say?"
RED = (
    "\nThe sign is red.\nA red sign tells you to stop.\nSee the sign and stop, see the sign and "
    "stop.\nThe road goes up, the road goes down, the road goes round the old market town.\nThe "
    "sign on the road is red, so stop.<end>"
)


def asked(*pictures: Picture, text: str = QUESTION) -> tuple[Message, ...]:
    return (Message("user", text, pictures),)


def plain(inputs) -> tuple[int, ...]:
    """Greedy without any cache: the whole text is scored anew for every token."""
    session = MODEL.open()
    output: list[int] = []
    while len(output) < 80 and not (output and output[-1] in MODEL.eos_ids):
        scores = finish(session.score((*inputs.tokens, *output), inputs.pixels))
        output.append(scores.picks[-1])
    return tuple(output)


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
    inputs = MODEL.encode(asked(*map(sign, pictures)))
    answer = plain(inputs)
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
