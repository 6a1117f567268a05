"""Pictures and earlier turns on the command line: what is asked, printed, recorded, refused."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from specviz import cli
from specviz.models.toy_signs import sign
from specviz.tracefile import load, save


def run(*arguments: object) -> int:
    return cli.main(["run", "--max-new-tokens", "5", *map(str, arguments)])


@pytest.fixture
def red(tmp_path: Path) -> Path:
    """A photo of a red sign that lies on its side, under a name that lies."""
    exif = Image.Exif()
    exif[0x0112] = 6
    path = tmp_path / "red.png"
    Image.open(io.BytesIO(sign("red").png)).resize((90, 60)).save(path, "TIFF", exif=exif)
    return path


@pytest.fixture
def blue(tmp_path: Path) -> Path:
    path = tmp_path / "blue.png"
    path.write_bytes(sign("blue").png)
    return path


def header(path: Path) -> Any:
    found = load(path).run("decoder")
    assert found is not None
    return found.header


def test_a_picture_is_read_shown_and_recorded(
    red: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "t.jsonl.gz"
    code = run("--model", "toy-signs", "--image", red, "--prompt", "What is it?", "-o", out)
    printed = capsys.readouterr().out.splitlines()
    assert code == 0 and "The sign is red." in printed
    assert (
        "Picture 1, red.png: given 60 x 90 pixels, the model sees 64 x 64, 16 tokens. Read as "
        "TIFF, although its name ends in .png. Turned upright as its EXIF says."
    ) in printed
    (used,) = header(out).pictures
    assert (used.given.width, used.given.height) == (60, 90)


def test_several_pictures_keep_their_order(red: Path, blue: Path, tmp_path: Path) -> None:
    out = tmp_path / "t.jsonl.gz"
    assert run("--model", "toy-signs", "--image", blue, "--image", red, "--prompt", "?", "-o", out,
               "--json") == 0  # fmt: skip
    assert [p.name for p in header(out).pictures] == ["blue.png", "red.png"]
    assert [t.pictures for t in header(out).messages] == [2]


def test_a_picture_goes_with_a_document_too(red: Path, tmp_path: Path) -> None:
    (tmp_path / "d.txt").write_text("The sign says stop.")
    out = tmp_path / "t.jsonl.gz"
    assert run("--model", "toy-signs", "--image", red, "--document", tmp_path / "d.txt",
               "--question", "Does it?", "-o", out) == 0  # fmt: skip
    found = header(out)
    assert found.messages[0].text == "The sign says stop.\n\nDoes it?"
    assert found.pictures[0].span == (0, 16) and found.document[0] >= 17


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--image", "no.png"), "no.png cannot be read: No such file or directory.\n"),
        (("--image", ""), "--image is empty: give the name of a file.\n"),
        (("--image", "."), "is a folder: choose a picture in it.\n"),
        (("--model", "toy"), "The model toy reads no pictures: leave them out, or choose"),
        (("--image", "{blue}") * 8, "There are 9 pictures in this talk, and 8 are the limit"),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    arguments: tuple[str, ...], sentence: str, blue: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [a.format(blue=blue) for a in arguments]
    assert run("--model", "toy-signs", "--prompt", "?", "--image", blue, *given) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1


# A talk that goes on


@pytest.fixture
def first(red: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    out = tmp_path / "first.jsonl.gz"
    assert run("--model", "toy-signs", "--image", red, "--prompt", "What is it?", "--system", "Hi",
               "-o", out) == 0  # fmt: skip
    capsys.readouterr()
    return out


def turns(path: Path) -> list[tuple[str, str, int]]:
    return [(t.role, t.text, t.pictures) for t in header(path).messages]


FIRST = [("system", "Hi", 0), ("user", "What is it?", 1), ("assistant", "\nThe sign is red.", 0)]


def test_a_recorded_talk_goes_on_with_its_model_and_pictures(first: Path, tmp_path: Path) -> None:
    out = tmp_path / "second.jsonl.gz"
    assert run("--after", first, "--prompt", "And now?", "-o", out) == 0
    assert turns(out) == [*FIRST, ("user", "And now?", 0)]
    assert header(out).model == "toy-signs"
    assert header(out).pictures[0].digest == header(first).pictures[0].digest
    third = tmp_path / "third.jsonl.gz"
    assert run("--after", out, "--prompt", "Sure?", "-o", third) == 0
    assert turns(third)[:4] == turns(out) and turns(third)[4][0] == "assistant"
    assert turns(third)[5:] == [("user", "Sure?", 0)]


def test_a_next_turn_may_bring_a_picture_and_another_system_prompt(
    first: Path, blue: Path, tmp_path: Path
) -> None:
    out = tmp_path / "second.jsonl.gz"
    assert run("--after", first, "--prompt", "?", "--image", blue, "--system", "Yo", "-o", out) == 0
    assert turns(out) == [("system", "Yo", 0), *FIRST[1:], ("user", "?", 1)]
    assert [p.name for p in header(out).pictures] == ["red.png", "blue.png"]


def test_a_chosen_model_answers_the_next_turn(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--after", first, "--model", "toy", "--prompt", "?") == 2
    assert "The model toy reads no pictures" in capsys.readouterr().err
    plain, out = tmp_path / "plain.jsonl", tmp_path / "out.jsonl"
    assert run("--model", "toy", "--prompt", "This is the cow", "-o", plain) == 0
    assert run("--after", plain, "--model", "toy-signs", "--prompt", "?", "-o", out) == 0
    assert header(out).model == "toy-signs" and turns(out)[0] == ("user", "This is the cow", 0)


def test_a_talk_without_an_answer_or_a_file_is_refused(
    first: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "cut.jsonl", load(first).events[:1])
    assert run("--after", tmp_path / "cut.jsonl", "--prompt", "?") == 2
    assert capsys.readouterr().err == (
        "This trace holds no answer yet: choose one that goes on longer.\n"
    )
    assert run("--after", tmp_path / "no.jsonl", "--prompt", "?") == 2
    assert "cannot be read" in capsys.readouterr().err


# Elsewhere


def test_models_say_whether_they_read_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["models"]) == 0
    parts = capsys.readouterr().out.split("\ntoy-signs ")
    assert "reads pictures" in parts[1].split("\n\n")[0]
    own = [block for block in parts[0].split("\ntoy ")[1:]]
    assert own and "reads pictures" not in own[0].split("\ntoy-signs")[0]


def test_models_say_what_they_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["models"]) == 0
    blocks = f"\n{capsys.readouterr().out}".split("https://huggingface.co/Qwen/Qwen2.5-VL-7B")
    lines = [line.strip() for line in blocks[1].splitlines()]
    assert lines[2] == (
        "bfloat16 on cpu, about 17.6 GB of memory; bfloat16 on cuda, about 17.6 GB of memory; "
        "needs a GPU unless --device cpu is given"
    )
    small = [line.strip() for line in blocks[0].split("\nsmolvlm-256m")[1].splitlines()]
    assert small[3] == (
        "float32 on cpu, about 2.0 GB of memory; bfloat16 on cuda, about 1.5 GB of memory"
    )
    assert "\n                   float64 on cpu\n" in blocks[1].split("\ntoy ")[1]


def test_whatif_repeats_a_run_with_its_picture(
    first: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["whatif", str(first), "--knob", "nodes=3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["knobs"] == {"nodes": "3"} and found["control"] == []


def test_two_runs_side_by_side_are_written_with_a_warning_of_their_pictures(
    red: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b, plain = (tmp_path / f"{name}.jsonl.gz" for name in ("a", "b", "plain"))
    asked = ("--model", "toy-signs", "--image", red, "--prompt", "What is it?")
    for out, decoder in ((a, "recap"), (b, "prompt_lookup")):
        assert run(*asked, "--decoder", decoder, "-o", out) == 0
    assert run("--model", "toy", "--prompt", "This is the cow", "-o", plain) == 0
    capsys.readouterr()
    page = tmp_path / "two.html"
    warning = "The file holds the picture of the prompt, too: look before you share it."
    assert cli.main(["compare", str(a), str(b), "--html", str(page)]) == 0
    assert warning in capsys.readouterr().err.splitlines(), "one picture, though two runs have it"
    assert cli.main(["compare", str(plain), str(plain), "--html", str(page)]) == 0
    assert capsys.readouterr().err == ""
