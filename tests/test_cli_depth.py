"""The command line on runs of recurrent depth: the ledger's line, and every command after it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from specviz import cli, load, waves
from specviz.audit import audit
from specviz.evidence import WaveEvidence
from specviz.models.toy import ToyModel
from specviz.trace import Step, Trace
from tests.fake_depth import deep_rhyme


def test_two_runs_are_written_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    recorded("toy", "recap", a)
    second = recorded("toy", "prompt_lookup", b).run()
    capsys.readouterr()
    page = tmp_path / "two.html"
    assert cli.main(["compare", str(a), str(b), "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"written to {page}\n")
    found = re.search(r'<script type="application/json" id="run">(.*?)</script>', page.read_text())
    assert found is not None and second is not None
    other = json.loads(found[1])["payload"]["other"]
    assert (other["mine"], other["name"]) == ("a", "b"), "what the files are called"
    assert [e["emitted"] for e in other["events"] if e["type"] == "step"] == [
        list(step.emitted) for step in second.steps
    ]
    assert other["said"][0].startswith("b: ") and other["said"][0][1:] in printed
    for long in (tmp_path / "a name that has no room.jsonl", tmp_path / "sub" / "a.jsonl.gz"):
        long.parent.mkdir(exist_ok=True)
        recorded("toy", "prompt_lookup", long)
        assert cli.main(["compare", str(a), str(long), "--html", str(page)]) == 0
        assert '"mine": "A", "name": "B"' in page.read_text().replace('":"', '": "').replace(
            '","', '", "'
        )
    assert cli.main(["compare", str(a), str(b), "--html", str(tmp_path / "two.txt")]) == 2
    assert ".html" in capsys.readouterr().err


@pytest.mark.parametrize("unsound", [None, 0, 1])
def test_two_runs_are_audited_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unsound: int | None
) -> None:
    decoders = ("recap", "prompt_lookup")
    paths = [tmp_path / f"{name}.jsonl" for name in decoders]
    runs = [recorded("toy", name, path) for name, path in zip(decoders, paths, strict=True)]
    wrong = None if unsound is None else runs[unsound].events
    monkeypatch.setattr(
        "specviz.cli.compare.audit", lambda trace: ("wrong",) if trace.events == wrong else ()
    )
    page = tmp_path / "two.html"
    assert cli.main(["compare", *map(str, paths), "--html", str(page)]) == 0
    found = re.search(r'<script type="application/json" id="run">(.*?)</script>', page.read_text())
    assert found is not None
    assert json.loads(found[1])["payload"]["audited"] is (unsound is None)


@pytest.fixture
def label(known: Callable[[ToyModel], str]) -> str:
    return known(deep_rhyme())


def recorded(label: str, decoder: str, path: Path, *more: str) -> Trace:
    command = ["run", "--model", label, "--prompt", "This is the cow", "--max-new-tokens", "40"]
    assert cli.main([*command, "--decoder", decoder, "-o", str(path), *more]) == 0
    return load(path)


@pytest.mark.parametrize("decoder", ["das", "das_wave", "recap"])
def test_a_run_prints_its_ledger(
    decoder: str, label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ("--knob", "tokens=2", "--knob", "draft=2") if decoder == "das" else ()
    trace = recorded(label, decoder, tmp_path / "a.jsonl", *few)
    run = trace.run()
    assert run is not None and trace.check is not None and trace.check.equal is True
    calls, spent = waves.core_calls(run), waves.applications(run)
    assert calls is not None and spent is not None
    assert calls.per_token < 8 < spent.per_token
    lines = capsys.readouterr().out.splitlines()
    (line,) = [x for x in lines if "core calls" in x]
    assert line == (
        f"{calls.per_token:.1f} sequential core calls per token, where plain decoding needs 8; "
        f"{spent.per_token:.1f} core applications per token, where it needs 8"
    )
    plain = trace.run("baseline")
    assert plain is not None and waves.core_calls(plain).per_token == 8
    assert audit(trace) == ()


def test_the_object_of_a_run_has_its_ledger(
    label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = recorded(label, "das", tmp_path / "a.jsonl", "--json").run()
    found = json.loads(capsys.readouterr().out)
    assert found["depth"] == 8
    assert found["calls_per_token"] == waves.core_calls(run).per_token
    assert found["applications_per_token"] == waves.applications(run).per_token


def test_an_ordinary_run_has_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recorded("toy", "recap", tmp_path / "a.jsonl")
    assert "core calls" not in capsys.readouterr().out


def test_waves_can_be_reported_compared_replayed_and_changed(
    label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wave, das = tmp_path / "wave.jsonl", tmp_path / "das.jsonl"
    recorded(label, "das_wave", wave)
    recorded(label, "das", das)
    capsys.readouterr()

    def said(*arguments: object) -> str:
        assert cli.main([str(a) for a in arguments]) == 0
        return capsys.readouterr().out

    groups = json.loads(said("report", wave, das, "--json"))["groups"]
    assert [g["decoder"] for g in groups] == ["das_wave", "das"]
    passes = [len(load(path).run().steps) for path in (wave, das)]
    assert [g["steps"] for g in groups] == passes
    compared = json.loads(said("compare", wave, das, "--json"))
    assert [compared["a"]["passes"], compared["b"]["passes"]] == passes
    assert "wave" in said("replay", wave, "--step", "1")
    listed = said("whatif", wave, "--list")
    assert [x.split("  ")[0] for x in listed.splitlines()][:4] == [
        "coupled", "mature-v", "deep-keys", "no-carry",
    ]  # fmt: skip
    changed = said("whatif", wave, "--change", "no-carry", "--change", "smaller-block")
    assert "With no states carried from round to round and blocks of up to 10 positions" in changed


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"calls": 1}, "counts other work than its rounds took."),
        ({"rounds": 0}, "verifies other guesses than those of its last round."),
        ({"rounds": 1}, "changes guesses in round 2 that it did not compute."),
    ],
)
def test_a_forged_wave_is_found_out(change: dict, finding: str, label: str, tmp_path: Path) -> None:
    trace = recorded(label, "das", tmp_path / "a.jsonl")
    at = next(
        i for i, e in enumerate(trace.events)
        if isinstance(e, Step) and isinstance(e.evidence, WaveEvidence) and len(e.nodes) > 2
    )  # fmt: skip
    step = trace.events[at]
    rounds = list(step.evidence.rounds)
    if "rounds" in change:  # another token in the last round's last cell, or the first round's
        which = -1 if change["rounds"] == 0 else 0
        cells = list(rounds[which].cells)
        cells[-1] = cells[-1]._replace(token=(cells[-1].token + 1) % 50)
        rounds[which] = rounds[which].model_copy(update={"cells": tuple(cells)})
        change = {"rounds": tuple(rounds)}
    forged = step.model_copy(update={"evidence": step.evidence.model_copy(update=change)})
    events = (*trace.events[:at], forged, *trace.events[at + 1 :])
    assert f"The decoder's step {step.index} {finding}" in audit(Trace(events))


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"depth": 9}, "drafts with a model of 9 iterations, the run has 8."),
        ({"keys": 99}, "reads keys of iteration 99, the full pass has 8."),
        ({"values": 9}, "reads values of iteration 9, the full pass has 8."),
        ({"probability": 5.0}, "gives a guess in round 1 a probability of 5."),
        ({"age": 7}, "tells guess 1 in round 1 another age or state than it has."),
        ({"state": "frozen"}, "tells guess 1 in round 1 another age or state than it has."),
        ({"carry": False}, "tells guess 1 in round 2 another age or state than it has."),
    ],
)
def test_a_wave_that_cannot_have_been_is_found_out(
    change: dict, finding: str, label: str, tmp_path: Path
) -> None:
    trace = recorded(label, "das_wave", tmp_path / "a.jsonl")
    at = next(
        i for i, e in enumerate(trace.events)
        if isinstance(e, Step) and isinstance(e.evidence, WaveEvidence)
        and len(e.evidence.rounds) > 1
    )  # fmt: skip
    step = trace.events[at]
    if not change.keys() & {"depth", "keys", "values", "carry"}:  # of the first cell
        first, *later = step.evidence.rounds
        cells = (first.cells[0]._replace(**change), *first.cells[1:])
        change = {"rounds": (first.model_copy(update={"cells": cells}), *later)}
    forged = step.model_copy(update={"evidence": step.evidence.model_copy(update=change)})
    events = (*trace.events[:at], forged, *trace.events[at + 1 :])
    assert audit(Trace(events)) == (f"The decoder's step {step.index} {finding}",)
