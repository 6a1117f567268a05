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
from specviz.training import vlm_look
from specviz.training.vlm_draw import draw
from specviz.training.vlm_freeform import sign as free_sign
from specviz.training.vlm_look import (
    AIMS,
    Look,
    Share,
    Tally,
    _others,
    answer,
    ask_all,
    facts_in,
    given,
    look,
    read_signs,
    report,
    words_in,
)
from specviz.training.vlm_scenes import scene


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
    assert facts_in(said, ("12:30 to Oslo from platform 1", "13:00 to Rome")) == right


def test_a_fact_that_is_due_twice_has_to_be_there_twice() -> None:
    asked = ("red ring", "red ring", "blue star")
    assert facts_in("a small red ring and a large blue star", asked) == 2
    assert facts_in("a red ring, a red ring and a red ring", asked) == 2


def test_pictures_are_mistaken_for_others_of_their_kind() -> None:
    rng = random.Random(1)
    kinds = ("chart", "shapes", "chart", "chart", "shapes")
    made = [scene(rng, "train", kind) for kind in kinds]
    assert _others(made) == [2, 4, 3, 0, 1]
    assert _others(made[:2]) == [0, 1]  # alone: nothing to be mistaken for


def test_the_answer_is_what_plain_decoding_says() -> None:
    model = registry.load("toy-signs")
    red, blue = (answer(model, "what is it", sign(colour)) for colour in ("red", "blue"))
    assert "red" in red and "blue" in blue and red != blue


def test_a_report_holds_facts_counts_and_how_sure_they_are() -> None:
    tally = Tally(
        Counter(tallest=3, smallest=1), Counter(tallest=4, smallest=4), Counter(chart=1),
        Counter(chart=4),
    )  # fmt: skip
    model = registry.load("toy-signs")
    found = json.loads(report(model, Look({"seen": tally}, {"seen": Share(0, 9)}), 7))
    assert found["facts"]["seen"]["tallest"] == {
        "right": 3, "asked": 4, "share": 0.75, "interval_95": [0.3006, 0.9544],
    }  # fmt: skip
    assert found["facts"]["seen"]["tallest and smallest"]["share"] == 0.5
    assert found["facts"]["seen"]["board lines"]["interval_95"] == [0.0, 1.0]
    assert found["counts"]["seen"]["asked"] == {"tallest": 4, "smallest": 4}
    assert found["free_lettering"]["seen"]["interval_95"] == [0.0, 0.2992]
    assert (found["seed"], found["model"], found["digest"]) == (7, "toy-signs", model.digest)


@pytest.mark.parametrize(
    ("right", "asked", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17, table I, method 3.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_intervals_are_those_of_the_literature(
    right: int, asked: int, low: float, high: float
) -> None:
    assert Share(right, asked).interval == pytest.approx((low, high), abs=6e-5)


def test_the_two_facts_of_a_chart_count_apart(monkeypatch) -> None:
    rng = random.Random(3)
    made = scene(rng, "held-out", "chart")
    fact = next(e for e in made.questions if e.kind == "tallest").facts[1]
    monkeypatch.setattr(vlm_look, "answer", lambda *_: f"The {fact}, I think.")
    tally = ask_all(registry.load("toy-signs"), [made], [given(draw(made, rng))])
    assert (tally.right, tally.asked) == (Counter(smallest=1), Counter(tallest=1, smallest=1))
    assert (tally.share(AIMS["tallest"]).share, tally.share(AIMS["smallest"]).share) == (0.0, 1.0)


def test_the_other_conditions_take_the_first_pictures_and_no_empty_ones(monkeypatch) -> None:
    asked: list[bytes] = []
    monkeypatch.setattr(vlm_look, "answer", lambda m, q, picture: asked.append(picture.png) or "")
    lines: list[str] = []
    found = look(registry.load("toy-signs"), 24, 2, lines.append, others=4, signs=2)
    of = {name: sum(tally.pictures.values()) for name, tally in found.tallies.items()}
    kinds = [each.kind for each in _scenes(24, 2)]
    kept = [kind for kind in kinds[:4] if kind != "blank"]
    alone = [kind for kind in kept if kinds.count(kind) == 1]
    assert of == {
        "seen": 24, "blank": len(kept), "shuffled": len(kept), "mistaken": len(kept) - len(alone),
    }  # fmt: skip
    assert len(set(asked[:24])) == 24 and len(set(asked[24 : 24 + len(kept)])) == 1
    assert set(asked[24 + 2 * len(kept) : -4]) <= set(asked[:24])
    assert found.signs["seen"].right == 0 and found.signs["seen"].asked >= 2
    assert lines[0] == "seen, 24 pictures:"


def _scenes(count: int, seed: int):
    rng = random.Random(seed)
    return [scene(rng, "held-out") for _ in range(count)]


def test_words_of_a_sign_count_in_any_case_and_whole() -> None:
    assert words_in("Line 1: OPEN. Line 2: coffees.", ("open", "coffee")) == 1
    assert words_in("The picture is empty.", ("open", "coffee")) == 0


def test_signs_in_free_lettering_are_read_with_and_without_the_picture(monkeypatch) -> None:
    made = [free_sign(random.Random(seed)) for seed in range(3)]
    known = {given(each.picture).png: " ".join(each.words) for each in made}
    monkeypatch.setattr(vlm_look, "answer", lambda m, q, picture: known.get(picture.png, "open"))
    found = read_signs(registry.load("toy-signs"), made, lambda _: None)
    total = sum(len(each.words) for each in made)
    assert found["seen"] == Share(total, total)
    assert found["blank"].right == sum("open" in each.words for each in made)


def test_free_lettering_is_drawn_again_and_stays_inside() -> None:
    one, again = (free_sign(random.Random(11)) for _ in range(2))
    assert one.words == again.words and one.picture.tobytes() == again.picture.tobytes()
    assert one.picture.size == (256, 256) and all(word.isalpha() for word in one.words)
    edge = np.asarray(one.picture)[:, [0, -1]].reshape(-1, 3)
    assert len(np.unique(edge, axis=0)) == 1


def test_what_is_drawn_is_handed_in_pixel_by_pixel() -> None:
    rng = random.Random(2)
    picture = draw(scene(rng, "train", "codes"), rng)
    again = np.asarray(Image.open(io.BytesIO(given(picture).png)))
    assert (again == np.asarray(picture)).all()
