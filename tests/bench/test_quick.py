"""The first look: one decoder on a few prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from specviz import cli, jobs
from specviz.trace import Event


def run(*arguments: object) -> int:
    return cli.main(["bench", *map(str, arguments[1:])])


def test_bench_prints_a_line_per_prompt_and_medians(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text('{"prompt": "This is"}\n\n{"prompt": "This is the cat"}\n')
    code = run("bench", "--model", "toy", "--prompts", prompts, "--max-new-tokens", 8)
    assert code == 0
    first, second, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["prompt"], second["prompt"]) == ("This is", "This is the cat")
    assert (last["prompts"], last["tokens"], last["equal"]) == (2, 16, [True, True])
    taus = sorted([first["decoder"]["tau"], second["decoder"]["tau"]])
    assert last["spread"]["tau"] == pytest.approx([taus[0], sum(taus) / 2, taus[1]], abs=1e-4)
    pace = [
        sum(r[role]["seconds"]["total"] for r in (first, second)) / 16
        for role in ("baseline", "decoder")
    ]
    assert last["speedup_total"] == pytest.approx(pace[0] / pace[1], abs=1e-3)
    assert (last["conditions"]["model"], last["conditions"]["max_new_tokens"]) == ("toy", 8)
    assert set(last["conditions"]["versions"]) >= {"specviz", "python"}
    assert len(last["conditions"]["digest"]) == 16 and last["conditions"]["machine"]
    prompts.write_text('{"prompt": 1}\n')
    assert run("bench", "--model", "toy", "--prompts", prompts) == 2
    assert capsys.readouterr().err == (
        "Line 1 of prompts.jsonl is not a JSON object with the key prompt or turns.\n"
    )


def test_bench_asks_prompts_of_four_kinds_after_a_run_that_does_not_count(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, int]] = []
    whole = jobs.run

    def noted(job: jobs.Job) -> Iterator[Event]:
        asked.append((job.prompt, job.max_new_tokens))
        return whole(job)

    monkeypatch.setattr(jobs, "run", noted)
    assert run("bench", "--model", "toy", "--max-new-tokens", 9) == 0
    *rows, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert [r["category"] for r in rows] == ["chat", "reasoning", "code", "summarising"]
    assert asked == [(rows[0]["prompt"], 8), *((r["prompt"], 9) for r in rows)]
    assert (last["prompts"], last["equal"]) == (4, [True] * 4)
