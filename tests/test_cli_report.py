"""``specviz report`` and the tables of ``export`` that say why guesses failed."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from specviz.cli import main
from specviz.tracefile import load, save
from specviz.views import candidates, inspector, memory_table, rejects

EXAMPLES = Path(__file__).parent.parent / "examples"
TEA, CODE = EXAMPLES / "tea.jsonl.gz", EXAMPLES / "code.jsonl.gz"
RECYCLING = EXAMPLES / "recycling.jsonl.gz"


def run(*arguments: object) -> int:
    return main([str(a) for a in arguments])


def test_a_report_over_files_groups_by_decoder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", TEA, CODE, RECYCLING) == 0
    out = capsys.readouterr().out
    heads = [line for line in out.splitlines() if " runs, " in line or " run, " in line]
    tea, code, other = (load(p).run() for p in (TEA, CODE, RECYCLING))
    assert tea is not None and code is not None and other is not None
    tokens, steps = len(tea.tokens) + len(code.tokens), len(tea.steps) + len(code.steps)
    assert heads == [
        f"recap on smollm2-135m: 2 runs, {tokens} tokens in {steps} steps",
        f"token_recycling on smollm2-135m: 1 run, {len(other.tokens)} tokens in "
        f"{len(other.steps)} steps",
    ]


def test_a_damaged_file_is_said_and_the_others_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, missing = tmp_path / "broken\x1b.jsonl", tmp_path / "missing.jsonl"
    broken.write_text("no trace")
    assert run("report", broken, TEA, missing, "--json") == 2
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert [g["runs"] for g in found["groups"]] == [1]
    assert [d["file"] for d in found["damaged"]] == [str(broken), str(missing)]
    lines = said.err.splitlines()
    assert lines == [
        f"{tmp_path}/broken\\x1b.jsonl: This is not a trace file, a line is not JSON: choose a "
        "file that specviz wrote.",
        f"{missing}: The trace file missing.jsonl cannot be read: No such file or directory.",
    ]
    facts = found["groups"][0]["by"]["fact"][0]
    assert sum(facts["facts"].values()) == facts["ends"] == found["groups"][0]["ends"]


def test_prompts_have_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = load(TEA).run().header.messages[-1].text  # type: ignore[union-attr]
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"prompt": asked, "category": "kitchen"}) + "\n")
    assert run("report", TEA, CODE, "--prompts", prompts, "--by", "category") == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [row[0] for row in rows if row[0] in ("category", "kitchen", "–")] == [
        "category", "kitchen", "–",
    ]  # fmt: skip


def test_every_count_goes_to_a_csv_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "report.csv"
    assert run("report", TEA, "--csv", sheet) == 0
    rows = list(csv.DictReader(io.StringIO(sheet.read_text("utf-8"))))
    assert {r["by"] for r in rows} == {
        "fact", "level", "rank", "position", "depth", "step", "category", "run",
    }  # fmt: skip
    assert run("report", TEA, "--csv", tmp_path / "report.txt") == 2
    assert capsys.readouterr().err == (
        "report.txt has an unknown ending: choose a name that ends in .csv.\n"
    )


def test_runs_of_different_models_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = load(RECYCLING)
    other = tmp_path / "other.jsonl"
    first = trace.events[0].model_copy(update={"model": "other"})
    save(other, (first, *trace.events[1:]))
    assert run("report", RECYCLING, other) == 0
    assert "these runs are of 2 different models: compare with care" in capsys.readouterr().out
    assert run("report", TEA, other) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[-1] == "these runs are of 2 different models: compare with care"


@pytest.mark.parametrize(
    ("table", "view"), [("rejects", rejects), ("candidates", candidates), ("memory", memory_table)]
)
def test_export_writes_the_tables_of_the_page(tmp_path: Path, table: str, view) -> None:
    sheet = tmp_path / "t.csv"
    assert run("export", TEA, "--table", table, "-o", sheet) == 0
    text = sheet.read_text("utf-8")
    assert text == view.to_csv(load(TEA)) and tuple(text.split("\n")[0].split(",")) == view.COLUMNS


def test_the_figures_name_the_recycled_hits(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("replay", TEA, "--json") == 0
    hits = json.loads(capsys.readouterr().out)["recycled_hits"]
    assert hits == sum(row.recycled for row in inspector.inspect(load(TEA)).rows) == 26
    assert run("replay", TEA) == 0
    line = "26 accepted guesses came from memory rows that refused branches had written"
    assert line in capsys.readouterr().out.splitlines()


def test_one_trace_given_twice_counts_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("report", TEA, "--json") == 0
    once = capsys.readouterr().out
    assert run("report", TEA, TEA, "--json") == 0
    found = capsys.readouterr()
    assert found.out == once
    assert found.err == f"{TEA}: the same trace as {TEA}, so it is counted once.\n"


def test_a_table_is_not_chosen_for_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", TEA, "-o", tmp_path / "x.html", "--table", "steps") == 2
    assert capsys.readouterr().err.startswith("--table chooses what a CSV holds")
    assert not (tmp_path / "x.html").exists()
