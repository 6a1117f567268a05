"""The suite for recurrent-depth models, on tiny random ones; its rules on figures made by hand."""

from __future__ import annotations

import copy
import importlib.util
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from specviz import cli, jobs
from specviz.bench import questions, recurrent, recurrent_probes
from specviz.bench.plan import Plan
from specviz.bench.probed import fits, is_probe
from specviz.bench.prompts import Prompt
from specviz.bench.questions import answer_spans, documents, final_answer, tasks, taught
from specviz.bench.recurrent import Recurrent, pooled, probed
from specviz.bench.recurrent_probes import TEXTS
from specviz.bench.recurrent_rows import (
    ABLATION,
    BLOCKS,
    MAP,
    ROUNDS,
    depths,
    headline,
    least_depth,
    map_row,
    wave_map,
)
from specviz.bench.recurrent_units import UNITS
from specviz.bench.runner import Place, Runner, at_depth
from specviz.bench.sample import value
from specviz.models.base import Message
from specviz.models.raven_depths import Probe
from specviz.training.raven_documents import Document, held_out
from specviz.training.raven_tasks import Task
from tests.tiny_raven import net, write

ROOT = Path(__file__).parent.parent.parent
DEPTH = 4
SHARED = [row.name for row in headline(1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "tiny"
    return write(path, net(seed=3, depth=DEPTH, block_size=1024))


@pytest.fixture(autouse=True)
def short_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recurrent_probes, "TOKENS", 6)


def plan(folder: Path, **more: Any) -> Plan:
    asked = tuple(replace(p, tokens=9) for p in questions.prompts(1))
    return Plan(
        str(folder), "cpu", ("float64",), asked, "made here", "0", suite="recurrent", **more
    )


@pytest.fixture(scope="module")
def found(folder: Path) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recurrent_probes, "TOKENS", 6)
        patch.setattr(recurrent, "REPETITIONS", 2)
        patch.setattr(recurrent, "MAPPED_PROMPTS", 1)
        measured: dict[str, Any] = value(Recurrent(plan(folder)).measure())  # type: ignore
    return json.loads(json.dumps(measured))  # type: ignore[no-any-return]


def rows_of(found: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    return {r["name"]: r for r in found["rows"] if r["part"] == part}


def test_every_decoder_gives_the_tokens_of_plain_decoding(found: dict[str, Any]) -> None:
    assert (found["suite"], found["depth"], found["quick"]) == ("recurrent", DEPTH, False)
    assert found["repetitions"] == {"headline": 2, "ablation": 1, "map": 1}
    for part, names, prompts in (
        ("headline", SHARED, 2),
        ("ablation", [r.name for r in ABLATION], 2),
        ("map", [r.name for r in MAP], 1),
    ):
        rows = rows_of(found, part)
        assert list(rows) == names
        for name, row in rows.items():
            assert (row["suite"], row["prompts"]) == ("recurrent", prompts)
            compared = prompts if name not in ("ours", "shallow") else 0
            assert (row["identical"], row["ties"], row["mismatches"]) == (compared, 0, 0)
            assert row["speedup_decode"] > 0 and row["speedup_total"] > 0


def test_calls_and_applications_are_counted_per_token(found: dict[str, Any]) -> None:
    rows = rows_of(found, "headline")
    assert rows["ours"]["tau"] == 1
    assert rows["ours"]["calls_per_token"] == rows["ours"]["applications_per_token"] == DEPTH
    assert rows["shallow"]["calls_per_token"] == found["shallow"]
    # A step of RECAP makes no more calls than a plain pass, over all rows of its tree.
    recap = rows["recap"]
    assert recap["calls_per_token"] == pytest.approx(DEPTH / recap["tau"], abs=1e-3)
    assert recap["applications_per_token"] == pytest.approx(
        DEPTH * recap["rows_per_pass"] / recap["tau"], abs=1e-3
    )
    for name in ("coupled", "mature_v", "deep", "wave"):
        assert rows[name]["calls_per_token"] > DEPTH / rows[name]["tau"]
        assert rows[name]["applications_per_token"] > rows[name]["calls_per_token"]


def test_the_map_holds_the_figures_of_its_rows(found: dict[str, Any]) -> None:
    rows, shown = rows_of(found, "map"), found["map"]
    assert (shown["blocks"], shown["rounds"]) == (list(BLOCKS), list(ROUNDS))
    for i, block in enumerate(BLOCKS):
        for j, rounds in enumerate(ROUNDS):
            row = rows[f"block {block}, rounds {rounds}"]
            for key in ("accepted", "tau", "tokens_per_s"):
                assert shown[key][i][j] == row[key]
    assert wave_map([]) is None


def test_probes_are_kept_with_their_counts(found: dict[str, Any], folder: Path) -> None:
    probes = found["probes"]
    assert probes["accuracy"] == {"depths": [1, 2, 3, 4], "problems": 1, "right": [0, 0, 0, 0]}
    assert found["shallow"] == 1, "nothing is right at any depth"
    runner = Runner(Place(str(folder), "cpu", "float64"))
    (document,) = documents("code", 1)
    tokens, begin = taught(runner.model, document.user, document.reply)
    probe, code = Probe(runner.model, tokens), probes["agreement"]["code"]
    assert code["positions"] == len(tokens) - begin + 1
    for prefix in ("coupled", "keys", "values", "both"):
        picks = probe.picks(prefix, (1, 2, 3, 4))  # type: ignore[arg-type]
        assert code["same"][prefix] == [
            sum(a == b for a, b in zip(p[begin - 1 :], probe.final[begin - 1 :], strict=True))
            for p in picks
        ]
    assert code["same"]["coupled"][-1] == code["positions"]
    assert list(probes["agreement"]) == [*TEXTS, "overall"]
    overall = probes["agreement"]["overall"]
    assert overall["positions"] == sum(probes["agreement"][k]["positions"] for k in TEXTS)
    (words,) = documents("words", 1)
    long, _ = taught(runner.model, words.user, words.reply)
    assert probes["convergence"]["positions"] == len(long)
    settling = Probe(runner.model, long).settling()
    for name in ("queries", "keys", "values"):
        assert probes["convergence"]["cosine"][name] == pytest.approx(
            settling[name].cosine, abs=1e-5
        )
        assert probes["convergence"]["distance"][name][-1] == 0
    assert probes["core"]["costs"]["rows"][:3] == [1, 2, 4]
    assert 0 < probes["loop"]["products"] < probes["loop"]["seconds"]
    # 2 (keys and values) x (2 prelude + 4 x 2 core + 2 coda) x 32 channels x 8 bytes
    assert found["cache_bytes"] == {"float64": 2 * 12 * 32 * 8}


@pytest.fixture(scope="module")
def results() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results", ROOT / "docs" / "results_recurrent.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_tells_the_figures(found: dict[str, Any], results: ModuleType) -> None:
    page = results.page([found])
    assert "None" not in page and "nan" not in page
    rows = rows_of(found, "headline")
    wave, plain = rows["wave"], rows["ours"]
    more = wave["applications_per_token"] / plain["applications_per_token"]
    assert (
        f"| {wave['tau']:.2f} | {wave['calls_per_token']:.1f} "
        f"| {wave['applications_per_token']:.1f} | {more:.2f}x | 2 of 2 |"
    ) in page
    assert f"| our plain loop, fewer iterations ({found['shallow']}) |" in page
    coupled = found["probes"]["agreement"]["code"]
    shares = " | ".join(
        f"{100 * n / coupled['positions']:.1f} %" for n in coupled["same"]["coupled"]
    )
    assert f"| code | coupled | {shares} |" in page
    accepted = " | ".join(f"{v:.2f}" for v in found["map"]["accepted"][1])
    assert f"| 8 | {accepted} |" in page
    both = rows_of(found, "ablation")["both"]
    assert f"| carried on | deep | {both['speedup_decode']:.2f}x |" in page
    sums = found["probes"]["composed"]["sums"]
    share = 100 * sum(r[1] for r in sums["right"]) / sum(sums["asked"])
    line = next(x for x in page.splitlines() if x.startswith("| chained sums | 1"))
    assert line.split(" | ")[4] == f"{share:.0f} %"
    assert "4.11x: Huginn on GSM8K" in page
    assert "| right final answers of word problems | >= 60 % | 0 % | **missed** |" in page
    composed = found["probes"]["composed"].values()
    late = sum(row[-1] for part in composed for row in part["right"])
    share = 100 * late / sum(sum(part["asked"]) for part in composed)
    assert f"| composed tasks, after 4 and 4 | +30 points | {share:.0f} %, {share:.0f} % |" in page


def test_what_was_wanted_of_the_weights(results: ModuleType) -> None:
    same = {"coupled": [30, 70, 75], "values": [40, 70, 75], "keys": [0] * 3, "both": [0] * 3}
    probes = {
        "accuracy": {"problems": 5, "right": [0, 3]},
        "agreement": {"overall": {"depths": [2, 8, 12], "positions": 80, "same": same}},
        "composed": {"sums": {"depths": [4, 32], "asked": [4, 6], "right": [[2, 4], [0, 2]]}},
    }
    assert results.wanted(probes).splitlines()[2:] == [
        "| right final answers of word problems | >= 60 % | 60 % | reached |",
        "| coupled agreement after 2 iterations | < 85 % | 37.5 % | reached |",
        "| coupled agreement, after 8 and 12 | rises | 87.5 %, 93.8 % | reached |",
        "| agreement after 2, coupled and Mature-V | rises | 37.5 %, 50.0 % | reached |",
        "| composed tasks, after 4 and 32 | +30 points | 20 %, 60 % | reached |",
    ]


def test_the_page_is_what_the_generator_makes_of_the_committed_figures(
    results: ModuleType,
) -> None:
    assert results.PAGE.read_text("utf-8") == results.page(results.committed()), (
        "run docs/results.py docs/results-recurrent.json --write"
    )


def test_composed_answers_are_counted_by_their_steps(found: dict[str, Any], folder: Path) -> None:
    runner = Runner(Place(str(folder), "cpu", "float64"))
    for kind in ("cups", "sums"):
        composed = found["probes"]["composed"][kind]
        (task,) = tasks(kind, 1)
        counts = Counter(task.depths)
        assert composed["depths"] == [1, 2, 3, 4] and composed["skipped"] == 0
        assert dict(zip(composed["steps"], composed["asked"], strict=True)) == counts
        tokens, begin = taught(runner.model, task.question, task.reply)
        spans = answer_spans(task, tokens, begin, runner.model.token_bytes)
        assert spans is not None
        picks = Probe(runner.model, tokens).shallow((1, 2, 3, 4))
        for steps, right in zip(composed["steps"], composed["right"], strict=True):
            assert right == [
                sum(
                    all(p[at - 1] == tokens[at] for at in span)
                    for taken, span in zip(task.depths, spans, strict=True)
                    if taken == steps
                )
                for p in picks
            ]


def test_the_smallest_depth_within_one_point() -> None:
    shares = {1: 0.2, 2: 0.55, 4: 0.69, 8: 0.7, 16: 0.72, 32: 0.7}
    assert least_depth(shares) == 4
    assert least_depth({**shares, 4: 0.68}) == 8
    assert least_depth({**shares, 32: 0.9}) == 32
    assert least_depth({1: 0.0, 32: 0.0}) == 1
    assert depths(32) == (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    assert depths(20) == (1, 2, 3, 4, 6, 8, 12, 16, 20) and depths(1) == (1,)


@pytest.mark.parametrize(
    ("model", "label"),
    [
        ("tiny-raven", "tiny-raven@8"),
        ("tiny-raven@16", "tiny-raven@8"),
        ("tiny-raven@16-seeded", "tiny-raven@8-seeded"),
        ("/tmp/me@home/model", "/tmp/me@home/model@8"),
    ],
)
def test_the_label_of_another_depth(model: str, label: str) -> None:
    assert at_depth(model, 8) == label


def test_a_row_of_another_depth_runs_there_and_is_compared_with_nothing(folder: Path) -> None:
    runner = Runner(Place(str(folder), "cpu", "float64"))
    shallow = headline(2)[1]
    prompt = Prompt("abc", "words", "a", 5)
    assert runner.job(shallow, prompt).model == f"{folder}@2"
    samples, plain = runner.unit("headline", headline(2)[:3], prompt, check=True)
    assert [(s.row, s.equal) for s in samples] == [("ours", None), ("shallow", None),
                                                   ("coupled", True)]  # fmt: skip
    assert plain.header.depth == DEPTH
    _, timing = runner.run(shallow, prompt)
    assert (timing.calls, timing.applications) == (2 * 4, 2 * 4)


def test_every_wave_of_the_map_is_full_after_half_of_its_rounds() -> None:
    for block in BLOCKS:
        for rounds in ROUNDS:
            knobs = map_row(block, rounds).knobs
            half = 1 + max(1, rounds // 2)
            assert knobs["first"] + (half - 1) * knobs["widen"] >= block  # type: ignore[operator]
            assert (knobs["block"], knobs["rounds"]) == (block, rounds)


def test_questions_were_kept_from_training_and_stay_the_same() -> None:
    asked = questions.prompts(12)
    assert [p.id for p in asked[11:13]] == ["words-12", "code-1"]
    assert all(held_out(p.text) and p.tokens == 128 for p in asked)
    assert len({p.text for p in asked}) == 24
    assert documents("words", 3) == documents("words", 12)[:3]
    assert all(held_out(task.question) for task in tasks("cups", 5))
    assert questions.digest(asked) != questions.digest(asked[1:])


def test_final_answers_and_where_answers_stand() -> None:
    assert final_answer("It is 3 + 4 = 7.\n#### 7") == "7"
    assert final_answer("####  -12 and more") == "-12"
    assert final_answer("7") is final_answer("#### seven") is None
    task = Task("sums", "?", ("d=", ";ab="), ("7", "10"), (2, 1))
    spelled = {0: b"?", 1: b"d", 2: b"=", 3: b"7", 4: b";a", 5: b"b=", 6: b"1", 7: b"0", 8: b"b=1"}
    by = spelled.__getitem__
    assert answer_spans(task, (0, 1, 2, 3, 4, 5, 6, 7), 1, by) == [range(3, 4), range(6, 8)]
    assert answer_spans(task, (0, 1, 2, 3, 4, 8, 7), 1, by) is None


def test_word_problems_are_right_when_the_number_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Place(str(folder), "cpu", "float64")
    runner, asked = Runner(place), list[jobs.Job]()
    said = {"one": "1 + 1 = 2\n#### 2", "two": "#### 3", "three": "so 2"}

    def run(job: jobs.Job) -> tuple[Any, None]:
        asked.append(job)
        codes = runner.model.encode((Message("assistant", said[job.prompt]),)).tokens
        return SimpleNamespace(tokens=codes), None

    monkeypatch.setattr(recurrent_probes, "run_ours", run)
    problems = [Document("words", name, "#### 2") for name in said]
    found = recurrent_probes.accuracy(place, runner, problems, 2)
    assert found.right == (True, False, False)
    assert {(j.model, j.decoder, j.baseline) for j in asked} == {
        (f"{folder}@2", "autoregressive", False)
    }


def test_an_interrupted_measurement_goes_on_where_it_stopped(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    whole = recurrent_probes.accuracy

    def accuracy(place: Place, runner: Runner, problems: Any, depth: int) -> Any:
        if len(asked) == 2:
            raise KeyboardInterrupt
        asked.append(depth)
        return whole(place, runner, problems, depth)

    monkeypatch.setattr(recurrent_probes, "accuracy", accuracy)
    output = tmp_path / "r.json"
    with pytest.raises(KeyboardInterrupt):
        value(Recurrent(plan(folder, headline=True, output=output)).measure())  # type: ignore
    assert asked == [1, 2]
    asked.clear()
    monkeypatch.setattr(recurrent, "REPETITIONS", 1)
    again = Recurrent(plan(folder, headline=True, resume=True, output=output))
    found: dict[str, Any] = value(again.measure())  # type: ignore[arg-type]
    assert asked == [3, 4] and again.ledger.again == 0
    assert {r["part"] for r in found["rows"]} == {"headline"}
    assert list(found["probes"]) == ["accuracy"] and found["map"] is None
    third = Recurrent(plan(folder, headline=True, resume=True, output=output))
    monkeypatch.setattr(Runner, "unit", None)
    assert value(third.measure())["rows"] == found["rows"]  # type: ignore[arg-type]


UNIT: dict[str, dict[str, Any]] = {
    "accuracy/4": {"right": [True, False]},
    "agreement/words": {"depths": [1, 2], "positions": 5, "same": {"coupled": [3, 5]}},
    "composed/sums": {"depths": [1, 2], "steps": [0, 3], "asked": [4, 1],
                       "right": [[4, 4], [0, 1]], "skipped": 0},
    "convergence": {"positions": 9, "cosine": {"keys": [0.5, 1.0]}, "distance": {"keys": [0.7, 0]}},
    "core": {"costs": {"context": 9, "rows": [1, 2], "seconds": [0.1, 0.2]}},
    "loop": {"seconds": 0.1, "products": 0.05},
}  # fmt: skip
DAMAGE: list[tuple[str, Callable[[Any], object]]] = [
    ("accuracy/4", lambda u: u.update(right=[1, 0])),
    ("accuracy/4", lambda u: u.update(more=1)),
    ("agreement/words", lambda u: u["same"].update(coupled=[3, 6])),
    ("agreement/words", lambda u: u["same"].update(coupled=[3])),
    ("agreement/words", lambda u: u.update(positions=-1)),
    ("composed/sums", lambda u: u["right"][1].append(0)),
    ("composed/sums", lambda u: u.update(asked=[3, 1])),
    ("composed/sums", lambda u: u.update(steps=[0])),
    ("convergence", lambda u: u["cosine"].update(keys=[float("nan"), 1.0])),
    ("core", lambda u: u["costs"].update(rows=[2, 1])),
    ("loop", lambda u: u.update(products=0)),
    ("loop", lambda u: u.pop("seconds")),
]


def test_a_kept_answer_that_cannot_have_been_measured_does_not_fit() -> None:
    assert {key.partition("/")[0] for key in UNIT} == set(UNITS)
    for key, unit in UNIT.items():
        assert is_probe(UNITS, key) and fits(UNITS, key, unit), key
    for key, damage in DAMAGE:
        broken = copy.deepcopy(UNIT[key])
        damage(broken)
        assert not fits(UNITS, key, broken), (key, broken)
    assert not fits(UNITS, "core", 5) and not is_probe(UNITS, "headline/float32/0/words-1")


def test_agreement_over_all_texts_counts_positions() -> None:
    same = {"coupled": [1, 4]}
    one = {"depths": [1, 2], "positions": 4, "same": same}
    two = {"depths": [1, 2], "positions": 10, "same": {"coupled": [6, 10]}}
    assert pooled([one, two]) == {"depths": [1, 2], "positions": 14, "same": {"coupled": [7, 14]}}
    units = {"accuracy/1": {"right": [True, False]}, "accuracy/2": {"right": [True, True]}}
    assert probed(units, (1, 2)) == {"accuracy": {"depths": [1, 2], "problems": 2, "right": [1, 2]}}


def test_quick_from_the_command_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", str(folder), "--dtype", "float64", "--quick", "--max-new-tokens", "5"]
    assert cli.main(["bench", "--suite", "recurrent", *arguments]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert [(r["part"], r["name"], r["tokens"]) for r in found["rows"]] == [
        ("headline", name, 10) for name in SHARED
    ]
    assert (found["quick"], found["repetitions"]) == (True, {"headline": 1})
    assert found["prompts"]["file"] == "held-out questions of the generators, seed 2026"
    assert set(found["probes"]["agreement"]) == {*TEXTS, "overall"} and found["map"] is None
    assert found["reported"][2]["speedup"] == 4.11
    assert "answering word problems at every depth (float64): 0 of 4" in told.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "toy"],
         "The suite recurrent looks at depths, and toy has none, because no shared block is "
         "applied many times in it: choose a recurrent-depth model, or the suite recap."),
        (["--model", "toy", "--prompts", "p.jsonl"],
         "The suite recurrent has its own prompts and measures one number format: leave out "
         "--prompts, and give --dtype once."),
        (["--model", "toy", "--dtype", "float32", "--dtype", "bfloat16"],
         "The suite recurrent has its own prompts and measures one number format: leave out "
         "--prompts, and give --dtype once."),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_said(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--suite", "recurrent", *arguments]) == 2
    assert capsys.readouterr().err == sentence + "\n"
