"""What counts as right in an answer, and what a look writes down."""

import io
import json
import random
from collections import Counter

import numpy as np
import pytest
from PIL import Image

from specviz.models import registry
from specviz.models.toy_signs import sign
from specviz.training.vlm_draw import draw
from specviz.training.vlm_look import Tally, _others, answer, facts_in, given, report
from specviz.training.vlm_scenes import Exchange, scene


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("The 12:30 to Oslo from platform 1. The 13:00 to Rome.", 2),
        ("The 12:30 to Oslo from platform 12. The 13:00 to Rome.", 1),
        ("The 12:30 to Oslo from platform 1, late. The 113:00 to Rome.", 1),
        ("", 0),
    ],
)
def test_a_fact_counts_as_a_whole(said: str, right: int) -> None:
    asked = Exchange("?", "", "lines", ("12:30 to Oslo from platform 1", "13:00 to Rome"))
    assert facts_in(said, asked) == right


def test_a_fact_that_is_due_twice_has_to_be_there_twice() -> None:
    asked = Exchange("?", "", "shapes", ("red ring", "red ring", "blue star"))
    assert facts_in("a small red ring and a large blue star", asked) == 2
    assert facts_in("a red ring, a red ring and a red ring", asked) == 2


def test_pictures_are_mistaken_for_others_of_their_kind() -> None:
    rng = random.Random(1)
    kinds = ("chart", "shapes", "chart", "chart", "shapes")
    made = [scene(rng, "train", kind) for kind in kinds]
    drawn = [given(draw(each, rng)) for each in made]
    found = _others(made, drawn)
    assert [drawn.index(each) for each in found] == [2, 4, 3, 0, 1]


def test_the_answer_is_what_plain_decoding_says() -> None:
    model = registry.load("toy-signs")
    red, blue = (answer(model, "what is it", sign(colour)) for colour in ("red", "blue"))
    assert "red" in red and "blue" in blue and red != blue


def test_a_report_holds_shares_and_counts() -> None:
    tally = Tally(Counter(chart=3), Counter(chart=4), Counter(chart=1), Counter(chart=2))
    found = json.loads(report(registry.load("toy-signs"), {"seen": tally}, 7))
    assert found["shares"] == {
        "seen": {"board lines": 0.0, "shapes and colours": 0.0, "tallest and smallest": 0.75}
    }
    assert found["counts"]["seen"]["asked"] == {"chart": 4}
    assert (found["seed"], found["model"]) == (7, "toy-signs")


def test_what_is_drawn_is_handed_in_pixel_by_pixel() -> None:
    rng = random.Random(2)
    picture = draw(scene(rng, "train", "codes"), rng)
    again = np.asarray(Image.open(io.BytesIO(given(picture).png)))
    assert (again == np.asarray(picture)).all()
