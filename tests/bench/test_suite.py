"""The suite from end to end, on a toy."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from specviz import cli, jobs
from specviz.bench import recap
from specviz.bench.ledger import Ledger
from specviz.bench.plan import Plan
from specviz.bench.prompts import Prompt
from specviz.bench.recap import Suite
from specviz.bench.rows import ABLATIONS, HEADLINE, Row
from specviz.bench.runner import Place, Runner
from specviz.bench.sample import Sample, run_ours
from specviz.models import registry
from specviz.models.base import InputError
from specviz.trace import Costs, Progress, Run

ROOT = Path(__file__).parent.parent.parent
OWN = [row.name for row in HEADLINE if not row.peer]
TEXTS = ("This is the cat", "This is the dog")


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    path = tmp_path / "rhyme.jsonl"
    lines = [
        {"id": f"{kind}-{i}", "category": kind, "prompt": f"{text} that", "tokens": 24}
        for i, text in enumerate(TEXTS)
        for kind in ("one", "two")
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def suite(*arguments: object) -> int:
    return cli.main(["bench", "--suite", "recap", "--model", "toy", *map(str, arguments)])


def no_long_prompt(*arguments: object) -> Prompt:
    raise InputError("Too long for a test.")


@pytest.fixture(scope="module")
def results() -> ModuleType:
    spec = importlib.util.spec_from_file_location("results", ROOT / "docs" / "results.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_full_measurement_of_a_toy(
    prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    results: ModuleType,
) -> None:
    monkeypatch.setattr(recap, "long_prompt", no_long_prompt)
    output = tmp_path / "r.json"
    assert suite("--prompts", prompts, "--json", output) == 0
    assert capsys.readouterr().out == ""
    found = json.loads(output.read_text())
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "rhyme.jsonl"]
    assert found["left_out"] == {
        "long": "Too long for a test.",
        "peers": "transformers has no model toy: choose a model with weights.",
    }
    rows = {(r["part"], r["name"]): r for r in found["rows"]}
    assert [name for part, name in rows if part == "headline"] == OWN
    assert [n for part, n in rows if part == "ablation"] == [row.name for row in ABLATIONS]
    for (_, name), row in rows.items():
        assert (row["prompts"], row["tokens"], row["dtype"]) == (4, 96, "float64")
        assert row["mismatches"] == row["ties"] == 0
        assert row["identical"] == (0 if name == "ours" else 4)
        assert set(row["by_category"]) == {"one", "two"}
        assert row["by_length"]["up to 32"]["prompts"] == 4
    assert rows["headline", "ours"]["tau"] == rows["ablation", "ours, stock weights"]["tau"] == 1
    assert rows["ablation", "recap_cold"]["speedup_decode"] == 1
    assert rows["headline", "recap_warm"]["tau"] > rows["headline", "recap_cold"]["tau"]
    assert found["prompts"]["shares"] == {"one": 0.5, "two": 0.5}
    assert found["prompts"]["repetition"]["all"] == 0.0714  # 6 of 84
    assert found["conditions"]["model"] == "toy" and found["repetitions"]["headline"] == 3
    page = results.page([found, found])
    assert "| RECAP, empty memory |" in page and "## Other prompts: rhyme.jsonl" in page
    assert "None" not in page


def test_quick_takes_a_prompt_of_each_category_and_prints(
    prompts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suite("--prompts", prompts, "--quick", "--max-new-tokens", 5) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(r["part"], r["name"]) for r in found["rows"]] == [("headline", n) for n in OWN]
    assert {(r["prompts"], r["tokens"]) for r in found["rows"]} == {(2, 10)}
    assert (found["quick"], found["repetitions"]) == (True, {"headline": 1})
    assert set(found["overhead"]) == {"ours", "recap_cold"}


def test_the_headline_alone_has_all_repetitions(
    prompts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert suite("--prompts", prompts, "--headline", "--max-new-tokens", 4) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(r["part"], r["name"]) for r in found["rows"]] == [("headline", n) for n in OWN]
    assert (found["repetitions"], found["left_out"].keys()) == ({"headline": 3}, {"peers"})
    assert found["conditions"]["packed"] == {"float64": False}


def test_an_interrupted_measurement_is_resumed_where_it_stopped(
    prompts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output, whole = tmp_path / "r.json", Runner.unit
    asked: list[str] = []

    def unit(
        self: Runner, part: str, rows: Sequence[Row], prompt: Prompt, check: bool
    ) -> tuple[list[Sample], Run]:
        if len(asked) == 3:
            raise KeyboardInterrupt
        asked.append(prompt.id)
        return whole(self, part, rows, prompt, check)

    monkeypatch.setattr(Runner, "unit", unit)
    quick = ("--prompts", prompts, "--quick", "--sample", 2, "--json", output)
    assert suite(*quick) == 130
    partial = tmp_path / "r.json.partial.jsonl"
    assert f"what was measured is kept in {partial}" in capsys.readouterr().err
    assert not output.exists()
    first, asked[:] = list(asked), []
    assert first == ["one-0", "two-0", "one-1"]
    assert suite(*quick) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "r.json.partial.jsonl holds an interrupted measurement: add --resume to go on with it, or "
        "delete it."
    )
    assert suite(*quick, "--resume", "--max-new-tokens", 7) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "r.json.partial.jsonl was measured with another prompts: delete it to begin anew."
    )
    assert suite(*quick, "--resume") == 0
    assert asked == ["two-1"] and not partial.exists()
    assert {r["prompts"] for r in json.loads(output.read_text())["rows"]} == {4}


def test_a_memory_is_filled_by_other_prompts_only(
    prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taught: list[tuple[str, bool]] = []
    whole = jobs.run

    def noted(job: jobs.Job) -> object:
        taught.append((job.prompt, job.memory is not None))
        return whole(job)

    runner = Runner(Place("toy", "auto", "auto"))
    marks = ("@", "#", "%", "&")  # the toy never says these by itself
    four = tuple(Prompt(f"This is the {mark}", "x", mark, 6) for mark in marks)
    monkeypatch.setattr(jobs, "run", noted)
    warm = next(row for row in HEADLINE if row.warm)
    assert list(runner.fill_memories(warm, four)) == [0, 0, 1, 1]
    order = (("@", False), ("%", True), ("#", False), ("&", True))
    assert taught == [(f"This is the {mark}", given) for mark, given in order]
    memories = [runner.memory(warm, prompt) for prompt in four]
    assert memories[0] is memories[2] and memories[1] is memories[3]
    first, second, third, fourth = (runner.inputs(prompt).tokens[-1] for prompt in four)
    known = [set(memory.tokens.tolist()) for memory in memories if memory is not None]
    assert {second, fourth} <= known[0] and {first, third} <= known[1]
    assert not {first, third} & known[0] and not {second, fourth} & known[1]
    assert list(runner.fill_memories(warm, four)) == [], "kept"


class Curved:
    """A model whose passes cost what its kind of weights and the context say."""

    max_context = 3000

    def __init__(self, one: float) -> None:
        self.one = one
        self.asked: list[tuple[int, bool]] = []

    def measure(self, context: int, fresh: bool = False) -> Iterator[Progress]:
        self.asked.append((context, fresh))
        yield Progress(stage="measure", done=1, total=1)
        return Costs(context=context - 1, rows=(1, 4), seconds=(self.one, self.one + context))


def test_both_kinds_of_weights_are_measured_once_per_rough_context(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed, stock = Curved(1.0), Curved(2.0)
    lengths = {"a": 100, "b": 140, "c": 2100, "d": 2900}
    runner = Runner(Place("toy", "auto", "auto"))
    runner._weights, runner.model = True, packed  # type: ignore[assignment]
    monkeypatch.setattr(registry, "load", lambda *place, packed: stock)
    monkeypatch.setattr(runner, "length", lambda prompt: lengths[prompt.id])
    kept = Costs(context=2047, rows=(1, 4), seconds=(5.0, 6.0))
    told = list(runner.measure_costs(list(lengths.values()), {2048: kept}))
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert packed.asked == [(128, True)] and list(runner.known_costs()) == [128, 2048]
    assert list(runner.measure_costs(list(lengths.values()), {}, stock=True)) == told
    assert stock.asked == [(128, True), (2048, True)]
    jobs_of = {
        (row.packed, name): runner.job(row, Prompt("x", "", name, 4)).costs
        for row in (Row("r", "recap"), Row("s", "recap", packed=False))
        for name in lengths
    }
    assert {k: costs and costs.seconds[0] for k, costs in jobs_of.items()} == {
        (None, "a"): 1.0, (None, "b"): 1.0, (None, "c"): 5.0, (None, "d"): 5.0,
        (False, "a"): 2.0, (False, "b"): 2.0, (False, "c"): 2.0, (False, "d"): 2.0,
    }  # fmt: skip


def test_what_passes_cost_is_kept_for_going_on(tmp_path: Path) -> None:
    plan = Plan("toy", "auto", ("auto",), (), "p.jsonl", "0", output=tmp_path / "r.json")
    first, model = Suite(plan), Curved(1.0)
    first.ledger = Ledger(plan.output, {}, resume=False)
    for expected in ([(128, True), (512, True)], []):
        runner = Runner(Place("toy", "auto", "auto"))
        runner._weights, runner.model = True, model  # type: ignore[assignment]
        model.dtype = "float32"  # type: ignore[attr-defined]
        model.asked = []
        stages = list(first._costs(runner, [100, 130, 500]))
        assert [(s.what, s.done, s.total) for s in stages] == [
            ("measure", 0, 2), ("measure", 1, 2), ("measure", 2, 2),
        ]  # fmt: skip
        assert model.asked == expected
        first.ledger = Ledger(plan.output, {}, resume=True)
        assert first.ledger.units["costs/float32"]["rough"] == [128, 512]


def test_a_run_that_measures_by_itself_has_a_ceiling_too(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = Costs(context=128, rows=(1, 64), seconds=(1.0, 2.0))

    def measure(self: object, context: int, fresh: bool = False) -> Iterator[Progress]:
        yield Progress(stage="measure", done=1, total=1)
        return costs

    monkeypatch.setattr(type(registry.load("toy")), "measure", measure)
    job = jobs.Job(model="toy", prompt="This is the cat", max_new_tokens=8, baseline=False)
    run, spent = run_ours(job)
    assert run.header.costs == costs
    assert spent.cost > spent.passes > 0


def test_prompts_that_do_not_fit_are_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.jsonl"
    long = json.dumps({"prompt": "x" * 9000, "category": "long"})
    path.write_text(f'{long}\n{{"prompt": "This is"}}\n')
    assert suite("--prompts", path, "--quick", "--max-new-tokens", 4) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["prompts"]["count"], found["prompts"]["skipped"]) == (1, 1)
    path.write_text(long + "\n")
    assert suite("--prompts", path) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "No prompt of p.jsonl fits into the 8192 tokens of toy: shorten them or choose another "
        "file."
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--suite", "eagle"],
         "There is no suite 'eagle': choose recap, recurrent, window, vlm, page."),
        (["--quick"], "--quick, --headline, --resume, --sample, --json and several --dtype "
                      "belong to a suite: add --suite recap, recurrent, window, vlm or page."),
        (["--suite", "recap", "--knob", "nodes=3"],
         "A suite has its own decoders and knobs: leave out --decoder and --knob (but for --knob "
         "head=… with the suite window), or leave out --suite."),
        (["--suite", "recap", "--resume"],
         "--resume needs the file that the figures go to: add --json FILE."),
        (["--suite", "recap", "--max-new-tokens", "1"],
         "A suite measures what comes after the first token: ask for at least 2 new tokens."),
        (["--suite", "recap", "--json", "r.txt"],
         "r.txt has an unknown ending: choose a name that ends in .json."),
        (["--suite", "recap", "--json", "nowhere/r.json"],
         "r.json cannot be written: there is no folder nowhere."),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_said(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--model", "toy", *arguments]) == 2
    assert capsys.readouterr().err == sentence + "\n"


def test_the_results_page_is_what_the_generator_makes_of_the_committed_figures(
    results: ModuleType,
) -> None:
    measured = [json.loads(f.read_text("utf-8")) for f in results.COMMITTED if f.exists()]
    assert (ROOT / "docs" / "results.md").read_text("utf-8") == results.page(measured), (
        "run docs/results.py with the JSON files and --write"
    )


def test_a_failing_step_leaves_no_frozen_garbage(
    prompts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gc

    def broken(*arguments: object, **named: object) -> None:
        raise RuntimeError

    monkeypatch.setattr(Suite, "_overhead", broken)
    gc.unfreeze()
    assert suite("--prompts", prompts, "--quick", "--max-new-tokens", 3) == 1
    assert gc.get_freeze_count() == 0
