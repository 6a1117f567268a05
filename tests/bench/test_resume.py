"""Going on with a measurement whose file anything may have happened to."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specviz import cli
from specviz.bench.alone import alone
from specviz.bench.kept import fitting
from specviz.bench.ledger import Ledger
from specviz.bench.plan import Part
from specviz.bench.prompts import Prompt
from specviz.bench.recap import Suite
from specviz.bench.rows import ABLATIONS, HEADLINE
from specviz.models.base import InputError

NAME = "r.json.partial.jsonl"


def suite(*arguments: object) -> int:
    return cli.main(["bench", "--suite", "recap", "--model", "toy", *map(str, arguments)])


@pytest.fixture
def quick(tmp_path: Path) -> tuple[object, ...]:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "a", "prompt": "This is the cat that"}\n'
                    '{"id": "b", "prompt": "This is the dog that"}\n')  # fmt: skip
    return ("--prompts", path, "--quick", "--sample", 2, "--max-new-tokens", 8,
            "--json", tmp_path / "r.json")  # fmt: skip


@pytest.fixture
def kept(
    quick: tuple[object, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[dict[str, Any]]:  # fmt: skip
    """The lines of a measurement that was interrupted before its last unit of work."""

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Suite, "_overhead", interrupted)
        assert suite(*quick) == 130
    capsys.readouterr()
    lines = [json.loads(line) for line in (tmp_path / NAME).read_text().splitlines()]
    keys = ["headline/float64/0/a", "headline/float64/0/b"]
    assert [line.get("key") for line in lines] == [None, *keys]
    return lines


@pytest.mark.parametrize(
    "first", ['{"identity": "abc"}', "{}", "5", "null", "[1]", '"x"', "[" * 5000, "", "NaN"]
)
@pytest.mark.parametrize("rest", ["", '{"key": "a", "unit": {}}\n'])
def test_a_file_that_begins_otherwise_is_no_measurement(
    first: str, rest: str, tmp_path: Path
) -> None:
    raw = f"{first}\n{rest}"
    (tmp_path / NAME).write_text(raw)
    with pytest.raises(InputError) as error:
        Ledger(tmp_path / "r.json", {"machine": "x"}, resume=True)
    assert str(error.value) == (
        f"{NAME} holds no interrupted measurement: delete it to begin anew."
    )
    assert (tmp_path / NAME).read_text() == raw


def test_a_folder_in_the_place_of_the_file_is_said(
    quick: tuple[object, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / NAME).mkdir()
    for more in ((), ("--resume",)):
        assert suite(*quick, *more) == 2
        assert capsys.readouterr().err.splitlines()[-1] == (
            f"{NAME} is a folder: delete it, or choose another file."
        )


def test_what_differs_is_named_twice_at_most(tmp_path: Path) -> None:
    Ledger(tmp_path / "r.json", dict.fromkeys("abcd", 1), resume=False)
    for other, told in (
        ({"a": 2, "b": 1, "c": 1, "d": 1}, "another a"),
        ({"a": 2, "b": 2, "c": 1, "d": 1}, "another a and another b"),
        ({"a": 2, "b": 2, "c": 2, "d": 1}, "another a, another b and 1 more"),
        ({}, "another a, another b and 2 more"),
    ):
        with pytest.raises(InputError) as error:
            Ledger(tmp_path / "r.json", other, resume=True)
        assert str(error.value) == f"{NAME} was measured with {told}: delete it to begin anew."


LINES = [
    *("5", "null", "[1]", "{}", "nonsense", "[" * 5000, '{"key": "headline/float64/0/b", "un'),
    '{"key": "headline/float64/0/b", "unit": 5}', '{"key": "headline/float64/0/b", "unit": {}}',
    '{"key": ["a"], "unit": {}}', '{"key": "foreign", "unit": {"samples": []}}',
    '{"key": "overhead", "unit": {"overhead": {}}}',
]  # fmt: skip


@pytest.mark.parametrize("line", LINES)
def test_a_damaged_line_is_measured_again(
    line: str, quick: tuple[object, ...], kept: list[dict[str, Any]], tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    head, first = map(json.dumps, kept[:2])
    (tmp_path / NAME).write_text("\n".join((head, line, first)) + "\n")
    assert suite(*quick, "--resume") == 0
    told = capsys.readouterr().err.splitlines()
    assert "1 kept line is damaged or does not fit: what it held is measured again" in told
    found = json.loads((tmp_path / "r.json").read_text())
    own = [row.name for row in HEADLINE if not row.peer]
    assert [(r["name"], r["prompts"], r["tokens"]) for r in found["rows"]] == [
        (name, 2, 16) for name in own
    ]
    assert set(found["overhead"]) == {"ours", "recap_cold"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.jsonl", "r.json"]


def test_whole_lines_are_believed(
    quick: tuple[object, ...], kept: list[dict[str, Any]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("specviz.bench.runner.Runner.unit", None)
    assert suite(*quick, "--resume") == 0
    assert "kept line" not in capsys.readouterr().err
    samples = kept[1]["unit"]["samples"] + kept[2]["unit"]["samples"]
    rows = {r["name"]: r for r in json.loads((tmp_path / "r.json").read_text())["rows"]}
    ours = [s["timing"] for s in samples if s["row"] == "ours"]
    rate = sum(t["tokens"] - 1 for t in ours) / sum(t["decode"] for t in ours)
    assert rows["ours"]["tokens_per_s"] == pytest.approx(rate, rel=1e-3)


def change(*path: Any) -> Callable[[Any], None]:
    """Put the last of ``path`` at the place that the others name."""
    *way, last, value = path

    def apply(unit: Any) -> None:
        for step in way:
            unit = unit[step]
        unit[last] = value

    return apply


def timing(name: str, value: object) -> Callable[[Any], None]:
    return change("samples", 0, "timing", name, value)


DAMAGE: dict[str, Callable[[Any], object]] = {
    "repeated is text": change("repeated", "ab"),
    "repeated is three": change("repeated", [1, 2, 3]),
    "repeated more than there are": change("repeated", [3, 2]),
    "repeated in parts": change("repeated", [0.5, 1]),
    "no samples": change("samples", []),
    "samples is a number": change("samples", 5),
    "a sample is a number": change("samples", 0, 5),
    "a sample less": lambda unit: unit["samples"].pop(),
    "a sample twice": lambda unit: unit["samples"].append(unit["samples"][0]),
    "another key": change("more", 1),
    "another key of a sample": change("samples", 0, "more", 1),
    "a foreign row": change("samples", 0, "row", "foreign"),
    "a row that is a list": change("samples", 0, "row", ["ours"]),
    "another part": change("samples", 0, "part", "long"),
    "another dtype": change("samples", 0, "dtype", "float32"),
    "another prompt": change("samples", 0, "prompt", "b"),
    "an equality that was not asked": change("samples", 0, "equal", True),
    "no equality": change("samples", 1, "equal", None),
    "an equality of another kind": change("samples", 1, "equal", "yes"),
    "an equality that is a number": change("samples", 1, "equal", 1),
    "no timing": change("samples", 0, "timing", None),
    "a timing less": lambda unit: unit["samples"][0]["timing"].pop("verify"),
    "tokens is text": timing("tokens", "8"),
    "tokens is true": timing("tokens", True),
    "tokens is a fraction": timing("tokens", 7.5),
    "tokens beyond the budget": timing("tokens", 9),
    "no tokens": timing("tokens", 0),
    "more first ones than tokens": timing("first", 9),
    "decode is NaN": timing("decode", float("nan")),
    "decode is infinite": timing("decode", float("inf")),
    "decode is huge": timing("decode", 10**400),
    "decode is 0": timing("decode", 0),
    "decode is negative": timing("decode", -1.0),
    "decode is text": timing("decode", "1"),
    "prefill is null": timing("prefill", None),
    "passes is a fraction": timing("passes", 1.5),
    "rows is negative": timing("rows", -1),
}  # fmt: skip

PROMPT = Prompt("x", "c", "a", 8)
PART = Part("headline", "float64", HEADLINE, (PROMPT,), 2)


def unit(rows: list[str], part: str = "headline", repetition: int = 0) -> dict[str, Any]:
    spent = {"tokens": 8, "first": 1, "prefill": 0.0, "decode": 1.5, "draft": 0.25, "verify": 1.0,
             "commit": 0.25, "passes": 7, "rows": 9, "cost": 8.5, "accepted": 0,
             "tested": 2, "drafted": 3, "top_right": 1, "any_right": 2, "calls": 0,
             "applications": 0}  # fmt: skip
    samples = [
        {"part": part, "dtype": "float64", "row": row, "prompt": "a", "timing": dict(spent),
         "equal": None if row == "ours" or repetition else "tie"}
        for row in rows
    ]  # fmt: skip
    return {"samples": samples, "repeated": [1, 5]}


ALL = [row.name for row in HEADLINE]


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_unit_that_cannot_have_been_measured_does_not_fit(damage: str) -> None:
    fits, whole = fitting([PART]), unit(ALL)
    assert fits("headline/float64/0/a", whole)
    broken = copy.deepcopy(whole)
    DAMAGE[damage](broken)
    assert not fits("headline/float64/0/a", broken)


def test_what_was_honestly_measured_fits() -> None:
    fits = fitting([PART, Part("ablation", "float64", ABLATIONS, (PROMPT,), 1, ABLATIONS[0])])
    own = [row.name for row in HEADLINE if not row.peer]
    assert fits("headline/float64/0/a", unit(own)), "transformers cannot run every model"
    assert fits("headline/float64/1/a", unit(ALL[::-1], repetition=1))
    assert not fits("headline/float64/1/a", unit(ALL))
    assert not fits("headline/float64/2/a", unit(ALL, repetition=1)), "no such repetition"
    ended = unit(ALL)
    ended["samples"][1]["timing"].update(tokens=1, first=1, decode=0.0)
    assert fits("headline/float64/0/a", ended), "the first token was the end"
    names = [row.name for row in ABLATIONS]
    assert not fits("ablation/float64/0/a", unit(names, "ablation"))
    times = names[:1] * 4  # once more after every six of the 22 others
    assert fits("ablation/float64/0/a", unit([*names, *times], "ablation"))


def test_costs_and_overhead_are_looked_at_too() -> None:
    fits = fitting([PART])
    curve = {"context": 100, "rows": [1, 4], "seconds": [0.5, 0.75]}
    costs = {"rough": [128], "costs": [curve]}
    assert fits("costs/float64", costs) and fits("costs/float64, stock weights", costs)
    assert not fits("costs/bfloat16", costs)
    for broken in (
        5, {}, {**costs, "rough": []}, {**costs, "rough": ["128"]}, {**costs, "rough": [-1]},
        {"rough": [128, 128], "costs": [curve, curve]}, {**costs, "costs": [5]},
        {**costs, "costs": [{**curve, "seconds": [0.5, float("nan")]}]},
        {**costs, "costs": [{**curve, "seconds": [0.5, "0.75"]}]},
        {**costs, "costs": [{**curve, "rows": [1, 1]}]}, {**costs, "more": 1},
    ):  # fmt: skip
        assert not fits("costs/float64", broken), broken
    row = {"step": 0.1, "recorded": None, "recording": -0.01, "pairs": 12}
    assert fits("overhead", {"overhead": {"ours": row, "recap_cold": row}})
    for other in (5, {**row, "pairs": 0}, {**row, "step": float("nan")}, {**row, "step": "x"},
                  {**row, "recording": None}, {}):  # fmt: skip
        assert not fits("overhead", {"overhead": {"ours": row, "recap_cold": other}}), other
    assert not fits("overhead", {"overhead": {"ours": row}})


def test_a_second_measurement_for_the_same_file_is_refused(
    quick: tuple[object, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with alone(tmp_path / "r.json"):
        for more in ((), ("--resume",)):
            assert suite(*quick, *more) == 2
            assert capsys.readouterr().err == (
                "Another process is measuring for r.json: wait for its end or choose another "
                "file.\n"
            )
        with alone(tmp_path / "other.json"), alone(None):
            pass
    assert [p.name for p in tmp_path.iterdir()] == ["p.jsonl"]
    assert suite(*quick) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no such locks")
def test_a_process_that_was_killed_stops_nobody(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path; from specviz.bench.alone import alone\n"
        "with alone(Path(sys.argv[1])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    result = tmp_path / "r.json"
    done = subprocess.run([sys.executable, "-c", code, result], env=dict(os.environ), check=False)
    assert done.returncode == -9 and (tmp_path / "r.json.lock").exists()
    with alone(result), pytest.raises(InputError), alone(result):
        pass
    assert list(tmp_path.iterdir()) == []
