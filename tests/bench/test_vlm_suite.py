"""The suite for pictures from end to end on a toy that sees, and its rules on figures by hand."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from specviz import cli
from specviz.bench import recap, vlm, vlm_probes, vlm_prompts
from specviz.bench.kept import fitting
from specviz.bench.plan import Part, Plan
from specviz.bench.probed import fits
from specviz.bench.prompts import Prompt, halves
from specviz.bench.rows import Row
from specviz.bench.runner import Place, Runner
from specviz.bench.sample import value
from specviz.bench.vlm import Pictures, paired
from specviz.bench.vlm_off import CELL, odd_pictures
from specviz.bench.vlm_probes import answered, others
from specviz.bench.vlm_prompts import KINDS, OFF, first_questions, held_out, prompts, sets
from specviz.bench.vlm_rows import ABLATIONS, FLAT, HEADLINE
from specviz.bench.vlm_units import UNITS, Read, readings
from specviz.models.base import Picture
from specviz.models.toy_signs import sign
from specviz.pixels import picture_of
from specviz.probes import Place as Stand
from specviz.probes import Reading
from specviz.training.vlm_scenes import scene

OWN = [row.name for row in HEADLINE if not row.peer]
RED = "The sign on the road is red, so stop."


def flag(colour: str) -> Picture:
    """A sign with a grey corner, so that shuffling it changes something."""
    plain = sign(colour)
    image = Image.open(io.BytesIO(plain.png))
    image.paste((128, 128, 128), (72, 72, 96, 96))
    return picture_of(image, plain.name)


ASKED = (
    Prompt("Name the colour.", "boards", "a-1", 12, (flag("red"),), RED),
    Prompt("What now?", "boards", "a-2", 12, (flag("red"),), "Something else."),
    Prompt("Name the colour.", "boards", "b-1", 12, (flag("blue"),), RED),
    Prompt("Name the colour.", "signs", "c-1", 12, (flag("green"),), ""),
    Prompt("And this?", OFF, "off-d", 10, (flag("black"),)),
    Prompt("And that?", OFF, "off-e", 10, (flag("white"),)),
)


def plan(**more: Any) -> Plan:
    return Plan("toy-signs", "auto", ("auto",), ASKED, "made here", "0", suite="vlm", **more)


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vlm, "REPETITIONS", 2)
        patch.setattr(vlm, "ABLATED", {"template": 2, "off": 1})
        measured: dict[str, Any] = value(Pictures(plan()).measure())  # type: ignore[arg-type]
    return json.loads(json.dumps(measured))  # type: ignore[no-any-return]


def rows_of(found: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    return {r["name"]: r for r in found["rows"] if r["part"] == part}


def test_every_row_gives_the_tokens_of_plain_decoding(found: dict[str, Any]) -> None:
    assert (found["suite"], found["quick"]) == ("vlm", False)
    assert found["repetitions"] == {"template": 2, "off": 2, "ablation": 1}
    for part, names, count, tokens in (
        ("template", OWN, 4, 48), ("off", OWN, 2, 20),
        ("ablation", [r.name for r in ABLATIONS], 3, 34),
    ):  # fmt: skip
        rows = rows_of(found, part)
        assert list(rows) == names
        for name, row in rows.items():
            assert (row["prompts"], row["tokens"]) == (count, tokens)
            compared = count if name != "ours" else 0
            assert (row["identical"], row["ties"], row["mismatches"]) == (compared, 0, 0)
    assert found["left_out"] == {
        "peers": "transformers has no model toy-signs: choose a model with weights."
    }


def test_both_sets_tell_their_pictures_and_how_much_they_repeat(found: dict[str, Any]) -> None:
    template, off = found["sets"]["template"], found["sets"]["off"]
    assert (template["prompts"], template["pictures"], template["most"]) == (4, 3, 12)
    assert template["shares"] == {"boards": 0.75, "signs": 0.25}
    assert (off["prompts"], off["pictures"], off["lengths"]) == (2, 2, [10, 10.0, 10])
    # "The sign is red.\nA red sign tells you": none of its 4-grams came before.
    assert template["repetition"] == {"all": 0.0, "by_category": {"boards": 0.0, "signs": 0.0}}


def test_pictures_are_handed_to_the_model_and_its_answers_are_read(found: dict[str, Any]) -> None:
    runner = Runner(Place("toy-signs", "auto", "auto"))
    row = HEADLINE[0]
    said = [vlm_probes.text(runner.model, runner.run(row, p)[0]) for p in ASKED[:3]]  # type: ignore
    assert said == [
        RED, "The sign is red.\nA red sign tells you to stop",
        "The sign on the road is blue, so park.",
    ]  # fmt: skip
    assert runner.inputs(ASKED[0]) is runner.inputs(ASKED[0]), "a picture is read once"
    # One question a picture was read again; of two with a known answer the first has it.
    assert found["right"] == {"answers": 2, "exact": 1}
    assert {t["runs"] for t in found["pictures"]["template"]} == {3}
    assert {t["runs"] for t in found["pictures"]["off"]} == {2}
    assert {t["runs"] for t in found["pictures"]["all"]} == {5}


def test_an_answer_is_read_with_another_picture() -> None:
    runner = Runner(Place("toy-signs", "auto", "auto"))
    unit = answered(runner, ASKED[0], flag("blue"))
    other, blank, shuffled = readings(unit.plain())
    assert (other.kind, blank.kind, shuffled.kind) == ("other", "blank", "shuffled")
    # " red" and " stop" are what the picture decides; its own tiles leave them as they are.
    assert [(r.tokens, r.changed) for r in (other, blank, shuffled)] == [(12, 2), (12, 2), (12, 0)]
    assert [(p.position, p.rejected, p.depends) for p in other.places] == [
        (4, False, False), (6, False, True), (10, False, False),
    ]  # fmt: skip
    assert [p.depends for p in shuffled.places] == [False] * 3
    assert unit.right is True
    assert answered(runner, ASKED[4], flag("white")).right is None


def test_another_picture_is_the_next_one_of_its_kind() -> None:
    stand = others(ASKED)
    assert [stand[p.id].name for p in ASKED] == [
        "blue.png", "blue.png", "red.png", "black.png", "white.png", "black.png",
    ]  # fmt: skip


def test_a_memory_never_saw_the_picture() -> None:
    half = halves(ASKED)
    assert half["a-1"] == half["a-2"] != half["b-1"]
    assert half["off-d"] != half["off-e"]
    both = [[p.pictures for p in prompts() if halves(prompts())[p.id] == h] for h in (0, 1)]
    assert set(both[0]).isdisjoint(both[1]) and len(both[0]) + len(both[1]) == 60


def test_changes_are_counted_prompt_by_prompt() -> None:
    spent = {"tokens": 11, "first": 1, "prefill": 1.0}
    units = {
        f"ablation/float32/0/{prompt}": {"samples": [
            {"part": "ablation", "dtype": "float32", "row": row, "prompt": prompt, "equal": True,
             "timing": {**spent, "decode": seconds, "passes": passes}}
            for row, seconds, passes in rows
        ]}
        for prompt, rows in {
            "a": ((ABLATIONS[0].name, 2.0, 5), (FLAT, 4.0, 8), ("ours", 5.0, 10)),
            "b": ((ABLATIONS[0].name, 3.0, 6), (FLAT, 3.0, 6), ("ours", 5.0, 10)),
            "c": ((ABLATIONS[0].name, 3.0, 9), (FLAT, 1.0, 6), ("ours", 5.0, 10)),
        }.items()
    }  # fmt: skip
    assert paired({**units, "template/float32/0/a": {"samples": []}}) == [
        {"name": FLAT, "prompts": 3, "passes": [20, 20], "tau": [1.5, 1.5], "fewer": 1,
         "same": 1, "more": 1, "speed": 1.0}
    ]  # fmt: skip


def test_transformers_own_rows_run_in_the_first_repetition_only() -> None:
    part = Part("template", "float64", HEADLINE, ASKED, 3)
    assert [r.name for r in part.at(HEADLINE, 0)] == [r.name for r in HEADLINE]
    assert [r.name for r in part.at(HEADLINE, 1)] == OWN
    timing = {"tokens": 8, "first": 1, "prefill": 0.0, "decode": 1.5, "draft": 0.0, "verify": 0.0,
              "commit": 0.0, "passes": 7, "rows": 9, "cost": 0.0, "accepted": 0, "tested": 2,
              "drafted": 3, "top_right": 1, "any_right": 2, "calls": 0,
              "applications": 0}  # fmt: skip

    def unit(names: list[str], repetition: int) -> dict[str, Any]:
        return {"repeated": [0, 5], "samples": [
            {"part": "template", "dtype": "float64", "row": name, "prompt": "a-1",
             "timing": timing, "equal": None if name == "ours" or repetition else True}
            for name in names
        ]}  # fmt: skip

    fit, every = fitting([part]), [row.name for row in HEADLINE]
    assert fit("template/float64/0/a-1", unit(every, 0)) and fit(
        "template/float64/0/a-1", unit(OWN, 0)
    )
    assert fit("template/float64/1/a-1", unit(OWN, 1))
    assert not fit("template/float64/1/a-1", unit(every, 1))


def test_held_out_pictures_stay_the_same_and_were_kept_from_training() -> None:
    asked = prompts()
    assert {k: len(v) for k, v in sets(asked).items()} == {"template": 48, "off": 12}
    template = sets(asked)["template"]
    kinds = {kind: sum(p.category == kind for p in template) for kind in KINDS}
    assert kinds == {kind: 2 * count for kind, count in KINDS.items()}
    assert sum(KINDS.values()) == 24
    assert len({p.pictures[0].digest for p in template}) == 24 == len(first_questions(template))
    for (name, seen, about), pair in zip(held_out(), zip(*[iter(template)] * 2, strict=True),
                                         strict=True):  # fmt: skip
        assert [p.pictures for p in pair] == [(seen,), (seen,)]
        known = {(x.question, x.answer) for x in about.questions}
        assert {(p.text, p.answer) for p in pair} <= known and pair[0].id.startswith(f"{name}-")
        assert pair[0].text != pair[1].text or pair[0].answer != pair[1].answer
    trained = [scene(rng, "train") for rng in map(random.Random, range(300))]
    lines = {s.symbols for s in trained}
    assert lines.isdisjoint({about.symbols for _, _, about in held_out()})
    prompts.cache_clear()
    assert vlm_prompts.digest(prompts()) == vlm_prompts.digest(asked)
    assert vlm_prompts.digest(asked[1:]) != vlm_prompts.digest(asked)
    other = Picture("x", sign("red").png, 96, 96)
    changed = (Prompt(asked[0].text, "", asked[0].id, 9, (other,)), *asked[1:])
    assert vlm_prompts.digest(changed) != vlm_prompts.digest(asked)


def test_other_pictures_fill_cells_and_their_questions_are_nobody_elses() -> None:
    drawn = odd_pictures()
    assert [odd.name for odd in drawn] == [
        "menu", "shop", "match", "thermometer", "shapes", "arrows", "calendar", "ticket",
        "receipt", "crossword", "lengths", "lights",
    ]  # fmt: skip
    assert {(odd.image.mode, odd.image.size) for odd in drawn} == {("RGB", (256, 256))}
    known = {x.question for _, _, about in held_out() for x in about.questions}
    assert known.isdisjoint({odd.question for odd in drawn})
    assert [o.image.tobytes() for o in odd_pictures()] == [o.image.tobytes() for o in drawn]
    shop = next(odd for odd in drawn if odd.name == "shop").image
    box = (6 * CELL, 5 * CELL, 7 * CELL, 6 * CELL)
    assert shop.crop(box).getcolors(256) and len(shop.crop(box).getcolors(256)) > 2  # the O of OPEN
    assert len(shop.crop((0, 0, CELL, CELL)).getcolors(256)) == 1
    png = picture_of(shop, "shop.png").png
    assert Image.open(io.BytesIO(png)).tobytes() == shop.tobytes() and b"tEXt" not in png


UNIT: dict[str, Any] = {
    "right": True,
    "readings": [{"kind": "blank", "tokens": 9, "changed": 1, "shift": 0.5, "undrafted": 2,
                  "undrafted_dependent": 1,
                  "places": [{"step": 1, "position": 3, "rejected": True, "depends": False,
                              "shift": 0.25}]}],
}  # fmt: skip
DAMAGE: list[Callable[[Any], object]] = [
    lambda u: u.update(right="yes"),
    lambda u: u.pop("readings"),
    lambda u: u["readings"][0].update(kind="none"),
    lambda u: u["readings"][0].update(shift=-1.0),
    lambda u: u["readings"][0]["places"][0].update(position=1.5),
    lambda u: u["readings"][0]["places"][0].update(more=1),
]


def test_a_kept_reading_comes_back_and_a_damaged_one_does_not_fit() -> None:
    assert set(Read.model_fields) == {field.name for field in dataclasses.fields(Reading)}
    assert fits(UNITS, "pictures/a", UNIT)
    assert readings(UNIT) == (Reading("blank", 9, 1, 0.5, (Stand(1, 3, True, False, 0.25),), 2, 1),)
    for damage in DAMAGE:
        broken = copy.deepcopy(UNIT)
        damage(broken)
        assert not fits(UNITS, "pictures/a", broken), broken


def test_an_interrupted_measurement_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = vlm_probes.answered

    def once(runner: Runner, prompt: Prompt, other: Picture) -> Any:
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(prompt.id)
        return whole(runner, prompt, other)

    monkeypatch.setattr(vlm, "REPETITIONS", 1)
    monkeypatch.setattr(vlm, "ABLATED", {"template": 1, "off": 0})
    monkeypatch.setattr(vlm_probes, "answered", once)
    output = tmp_path / "v.json"
    with pytest.raises(KeyboardInterrupt):
        value(Pictures(plan(output=output)).measure())  # type: ignore[arg-type]
    assert read == ["a-1", "b-1"]
    read.clear()
    monkeypatch.setattr(Runner, "unit", None)

    def rest(runner: Runner, prompt: Prompt, other: Picture) -> Any:
        read.append(prompt.id)
        return whole(runner, prompt, other)

    monkeypatch.setattr(vlm_probes, "answered", rest)
    again = Pictures(plan(output=output, resume=True))
    found: dict[str, Any] = value(again.measure())  # type: ignore[arg-type]
    assert (again.ledger.again, read) == (0, ["c-1", "off-d", "off-e"])
    assert {t["runs"] for t in found["pictures"]["all"]} == {5}


def test_a_headline_times_every_repetition_and_reads_nothing_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vlm, "REPETITIONS", 2)
    found: dict[str, Any] = value(Pictures(plan(headline=True)).measure())  # type: ignore
    assert found["repetitions"] == {"template": 2, "off": 2}
    assert (found["paired"], found["pictures"]) == ([], {})
    assert recap.REPETITIONS == 3


def test_quick_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", "toy-signs", "--quick", "--max-new-tokens", "5"]
    assert cli.main(["bench", "--suite", "vlm", *arguments]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert [(r["part"], r["name"], r["prompts"], r["tokens"]) for r in found["rows"]] == [
        *(("template", name, 6, 30) for name in OWN),
        *(("off", name, 1, 5) for name in OWN),
    ]
    assert found["prompts"]["file"] == (
        "held-out pictures of the generator, seed 2026, and pictures off its templates"
    )
    assert [r["speedup"] for r in found["reported"]] == [1.66, 1.51, 1.56, 1.37]
    assert "questions about held-out pictures (float64): 0 of 6" in told.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "toy"],
         "The suite vlm asks about pictures, and toy sees none: choose an image-text model, such "
         "as smol-boards."),
        (["--model", "toy-signs", "--prompts", "p.jsonl"],
         "The suite vlm has its own prompts and measures one number format: leave out --prompts, "
         "and give --dtype once."),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_said(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--suite", "vlm", *arguments]) == 2
    assert capsys.readouterr().err == sentence + "\n"


def test_rows_are_those_that_were_promised() -> None:
    assert [(r.name, r.once) for r in HEADLINE if r.once] == [
        ("generate", True), ("hf_prompt_lookup", True),
    ]  # fmt: skip
    changed = [dict(r.knobs) for r in ABLATIONS if isinstance(r, Row) and r.knobs]
    assert changed == [
        {"levels": "23"}, {"levels": "13"}, {"levels": "12"}, {"gamma": 0.0},
        {"longest_wins": True}, {"copy": "off"},
    ]  # fmt: skip
