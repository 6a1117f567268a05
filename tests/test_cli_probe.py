"""``specviz probe``, and what ``report`` and ``export`` make of it."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz import jobs
from specviz.cli import main
from specviz.jobs import Job
from specviz.models.toy_signs import sign
from specviz.trace import Progress
from specviz.tracefile import load, save

JOB = Job(
    model="toy-signs", prompt="What does the sign say?", pictures=(sign("red"),),
    max_new_tokens=60, baseline=False, knobs={"calibration": "none"},
)  # fmt: skip
CHANGED = [3, 6, 11, 17, 23, 50, 53]


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


def recorded(path: Path, job: Job = JOB) -> Path:
    save(path, (e for e in jobs.run(job) if not isinstance(e, Progress)))
    return path


@pytest.fixture
def sign_trace(tmp_path: Path) -> Path:
    return recorded(tmp_path / "red.jsonl.gz")


def test_probes_are_told_and_appended_and_the_run_stays(
    sign_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = load(sign_trace)
    other = tmp_path / "blue.png"
    other.write_bytes(sign("blue").png)
    given = ("--picture", "blank", "--picture", other)
    assert run("probe", sign_trace, *given, "-o", sign_trace) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == (
        "With a blank picture in place of red.png, the model would have said something else at 7 "
        "of 56 tokens (12 %); the answer itself was only read back."
    )
    assert lines[4] == "One run is a count, not a correlation."
    assert lines[6:10] == [
        "steps              picture decides  it does not  together  share",
        "fully rejected     0                3            3         0 %",
        "a guess was right  3                10           13        23 %",
        "all (base rate)    3                13           16        19 %",
    ]
    assert lines[12] == (
        "4    ␣red   ␣white                  0.911 → 0.009             step 2, not guessed"
    )
    assert lines[-1] == f"trace written to {sign_trace}"
    assert "reading the answer back: token 0 of 178" in said.err
    after = load(sign_trace)
    assert after.events[:-2] == before.events
    assert [(p.kind, p.name, list(p.changed)) for p in after.probes] == [
        ("blank", "red.png", CHANGED), ("other", "blue.png", CHANGED),
    ]  # fmt: skip
    assert run("check", sign_trace) == 0
    # Once more: the same probe is no second one.
    assert run("probe", sign_trace, "--picture", "blank", "-o", sign_trace) == 0
    assert [p.kind for p in load(sign_trace).probes] == ["other", "blank"]


def test_an_interrupted_second_probe_leaves_the_first(
    sign_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    real, out = jobs.run, tmp_path / "out.jsonl.gz"
    other = tmp_path / "blue.png"
    other.write_bytes(sign("blue").png)

    def once(job: jobs.ProbeJob):
        if job.kind == "other":
            raise KeyboardInterrupt
        return real(job)

    monkeypatch.setattr(jobs, "run", once)
    assert run("probe", sign_trace, "--picture", "blank", "--picture", other, "-o", out) == 130
    assert [p.kind for p in load(out).probes] == ["blank"]
    assert "With a blank picture in place of red.png" in capsys.readouterr().out


def test_a_replay_names_pictures_and_what_stood_there(
    sign_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "blue.png"
    other.write_bytes(sign("blue").png)
    assert run("probe", sign_trace, "--picture", other, "-o", sign_trace) == 0
    capsys.readouterr()
    assert run("replay", sign_trace) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == (
        "Picture 1, red.png: given 96 x 96 pixels, the model sees 64 x 64, 16 tokens."
    )
    assert "blue.png in place of red.png" in lines[2] and "7 of 56 tokens" in lines[2]


def test_a_probe_as_json(sign_trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("probe", sign_trace, "--picture", "blank", "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["changed_positions"] == CHANGED and found["replaced"] == 1
    counts = ("rejected_dependent", "rejected_free", "held_dependent", "held_free", "undrafted")
    assert [found[name] for name in counts] == [0, 3, 3, 10, 9]
    assert load(sign_trace).probes == ()


def test_what_is_wrong_is_said_before_anything_is_done(
    sign_trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*arguments: object) -> str:
        assert run("probe", sign_trace, *arguments) == 2
        said = capsys.readouterr()
        assert said.out == "" and len(said.err.splitlines()) == 1
        return said.err.strip()

    out = tmp_path / "out.jsonl"
    assert refused("--picture", "blank", "--replace", 2, "-o", out) == (
        "This run has no picture 2: choose one from 1 to 1."
    )
    assert refused("--picture", "blank", "--picture", "shuffled", "-o", out) == (
        "Nothing would change, because 'red.png' looks the same when its tiles are shuffled: "
        "choose another picture."
    )
    assert refused("--picture", tmp_path / "none.png") == (
        "none.png cannot be read: No such file or directory."
    )
    assert refused("--picture", "blank", "-o", tmp_path / "out.txt") == (
        "out.txt has an unknown ending: choose a name that ends in .jsonl or .jsonl.gz."
    )
    assert not out.exists()
    recorded(sign_trace, replace(JOB, pictures=(), model="toy"))
    assert refused("--picture", "blank") == (
        "This run was asked without a picture, so none can be replaced: choose another run."
    )


def test_a_report_counts_over_runs_and_an_export_has_every_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = []
    for colour in ("red", "blue"):
        path = recorded(tmp_path / f"{colour}.jsonl", replace(JOB, pictures=(sign(colour),)))
        assert run("probe", path, "--picture", "blank", "-o", path) == 0
        paths.append(path)
    capsys.readouterr()
    assert run("report", *paths) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-5:] == [
        "Blank pictures, 2 runs: 14 of 112 tokens depend on the picture (12 %).",
        "Of 6 fully rejected steps, 0 stood where the picture decides the token (0 %); of 26 steps "
        "with a right guess, 6 (23 %); of all of them, 19 %: the base rate.",
        "18 steps guessed nothing and are in neither row; 4 of 18 stood where the picture decides.",
        "The other picture moved the log-probability of the token by 0.00 nats on average at fully "
        "rejected steps, by 1.07 at those with a right guess.",
        "Odds ratio 0.00, within runs 0.00; a correlation, which does not say why drafts failed. "
        "An interval needs more than these 2 runs with steps of both rows.",
    ]
    assert run("report", *paths, "--json") == 0
    (group,) = json.loads(capsys.readouterr().out)["groups"]
    assert [(p["kind"], p["runs"], p["held_dependent"]) for p in group["pictures"]] == [
        ("blank", 2, 6)
    ]
    sheet = tmp_path / "tokens.csv"
    assert run("export", paths[0], "--table", "pictures", "-o", sheet) == 0
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8"))))
    assert [int(r["position"]) for r in rows if r["changed"] == "True"] == CHANGED
    assert rows[3] | {"outcome": ""} == {
        "probe": "1", "kind": "blank", "replaced": "1", "name": "red.png", "position": "3",
        "token": "␣red", "recorded_pick": "␣red", "other_pick": "␣white", "changed": "True",
        "recorded_logp": "-0.0932", "other_logp": "-4.7083", "shift": "-4.6151",
        "step": "2", "outcome": "", "fully_rejected": "False",
    }  # fmt: skip
    capsys.readouterr()
    recorded(paths[0])
    assert run("export", paths[0], "--table", "pictures", "-o", sheet) == 0
    assert capsys.readouterr().err == (
        "This trace holds no probe of a picture, so the table has titles only: make one with "
        "probe.\n"
    )
