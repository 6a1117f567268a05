"""The command line: what it prints, what it leaves behind, how it refuses."""

from __future__ import annotations

import csv
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from specviz import cli, jobs
from specviz.drafters.memory import Snapshot
from specviz.models.base import InputError
from specviz.recorder import Meter
from specviz.trace import Event, Step, Trace
from specviz.tracefile import load
from tests.made_pdf import pdf

ROOT = Path(__file__).parent.parent
LINE = " that Jack built.\nThis is the house"

STAGES = ("loading the model", "turning the text into tokens")


def run(*arguments: object) -> int:
    return cli.main([str(a) for a in arguments])


def toy(*arguments: object) -> int:
    return run("run", "--model", "toy", *arguments)


@pytest.fixture
def trace_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "t.jsonl.gz"
    assert toy("--prompt", "This is the house", "--max-new-tokens", 8, "-o", path) == 0
    capsys.readouterr()
    return path


def test_run_prints_one_json_object(capsys: pytest.CaptureFixture[str]) -> None:
    code = toy(
        "--prompt", "This is the house", "--decoder", "prompt_lookup",
        "--max-new-tokens", 16, "--baseline", "--json",
    )  # fmt: skip
    printed = capsys.readouterr()
    assert code == 0
    found = json.loads(printed.out)
    assert list(found)[:20] == [
        "decoder", "model", "device", "dtype", "packed", "prompt_tokens", "tokens",
        "target_passes", "tau", "rows_per_pass", "ceiling", "acceptance", "recycled_hits",
        "seconds", "baseline", "speedup_decode", "speedup_total", "equal", "margin", "ties",
    ]  # fmt: skip
    assert found["text"] == LINE + LINE
    assert len(found["origins"]) == 16 and set(found["origins"]) == {"target", "lookup"}
    assert found["origins"][:5] == ["target"] * 5
    assert (found["decoder"], found["model"]) == ("prompt_lookup", "toy")
    assert (found["device"], found["dtype"]) == ("cpu", "float64")
    assert (found["prompt_tokens"], found["tokens"]) == (4, 16)
    assert found["baseline"]["tokens"] == 16
    assert found["equal"] is True and found["first_difference"] is None
    assert found["finish"] == "length"
    assert found["tau"] == 15 / found["target_passes"]
    assert set(found["seconds"]) == {"prefill", "draft", "verify", "commit", "total"}
    assert found["seconds"]["total"] >= found["seconds"]["prefill"] > 0
    assert found["speedup_decode"] > 0 and found["speedup_total"] > 0
    assert "decoding: token 1 of 16" in printed.err


def test_run_without_baseline_claims_nothing_about_speed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert toy("--prompt", "This", "--max-new-tokens", 4, "--no-baseline", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    claims = ("baseline", "speedup_decode", "speedup_total", "equal", "first_difference")
    assert [found[name] for name in claims] == [None] * 5


def test_run_prints_text_and_figures(capsys: pytest.CaptureFixture[str]) -> None:
    assert toy("--prompt", "This is the house", "--max-new-tokens", 8) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "recap on toy (cpu, float64), a prompt of 4 tokens"
    assert "\n".join(lines[2:4]) == LINE
    assert "the same tokens as plain decoding" in lines
    assert lines[-1] == "ended at the limit of new tokens"


def test_the_trace_is_written_and_says_the_same(trace_file: Path) -> None:
    trace = load(trace_file)
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    assert decoder is not None and baseline is not None
    assert decoder.tokens == baseline.tokens
    assert b"".join(trace.pieces[t] for t in decoder.tokens).decode() == LINE
    assert trace.check is not None and trace.check.equal is True
    assert run("check", trace_file) == 0


def test_a_document_with_a_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "rhyme.txt"
    document.write_bytes(b"\xef\xbb\xbfThis is the malt\r\n")
    out = tmp_path / "t.jsonl"
    code = toy("--document", document, "--question", "This is", "--max-new-tokens", 2, "-o", out)
    assert code == 0
    header = load(out).run().header  # type: ignore[union-attr]
    assert header.messages[-1].text == "This is the malt\n\nThis is"
    notes = ("Read as UTF-8, as its byte order mark says.", "1 CRLF line end turned into LF.")
    assert header.notes == notes
    assert all(note in capsys.readouterr().out for note in notes[:1])


def test_a_document_beyond_the_context_is_cut_and_that_is_said_or_refused_with_both_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document, out = tmp_path / "long.txt", tmp_path / "t.jsonl"
    document.write_text("a " * 9000)
    asked = ("--document", document, "--question", "Why", "--max-new-tokens", 8, "-o", out)
    assert toy(*asked, "--cut", "refuse") == 2
    said = [x for x in capsys.readouterr().err.splitlines() if x not in STAGES]
    assert said == [
        "The document has 17999 tokens, and beside the question and 8 new tokens there is room "
        "for 8179: let it be cut (middle, head or tail), give the part that matters, or ask for "
        "fewer new tokens."
    ]
    assert not out.exists()
    note = (
        "Kept the last 79 of the 17999 tokens of the document: prompt and answer have room for "
        "92 together."
    )
    assert toy(*asked, "--cut", "tail", "--context", 92, "--no-baseline") == 0
    assert note in capsys.readouterr().out.splitlines()
    run = load(out).run("decoder")
    assert run is not None
    assert run.header.messages[0].text == "a " * 39 + "a\n\nWhy"
    assert run.header.notes == ("Read as UTF-8.", note)
    assert len(run.header.tokens) == 84


def test_a_pdf_is_read_and_its_pages_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = tmp_path / "house.pdf"
    document.write_bytes(pdf(["This is the house", "that Jack built.", None]))
    asked = ("--document", document, "--question", "This is", "--max-new-tokens", 3, "--json")
    assert toy(*asked, "--no-baseline") == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["text"] == " the house that"
    assert found["notes"] == ["3 pages read from the PDF.", "1 page without text left out."]
    assert "reading the document: page 0 of 3" in printed.err.splitlines()
    document.write_bytes(pdf([None]))
    assert toy(*asked) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        "house.pdf has no text layer, its pages are pictures: run text recognition (OCR) over it "
        "first."
    )


def test_a_prompt_from_standard_input() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "specviz", "run", "--model", "toy", "--prompt", "-",
         "--max-new-tokens", "8", "--no-baseline", "--json"],
        input=b"This is the house", capture_output=True, cwd=ROOT, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["text"] == LINE


def test_knobs_reach_the_decoder(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("--prompt", "This", "--max-new-tokens", 2, "--no-baseline", "--json")
    assert toy(*arguments, "--decoder", "prompt_lookup", "--knob", "tokens=3") == 0
    assert json.loads(capsys.readouterr().out)["knobs"]["tokens"] == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "There is nothing to ask: give --prompt, or --document with --question."),
        (["--prompt", " \n"], "The prompt is empty: write something to continue."),
        (
            ["--prompt", "a", "--temperature", "0.7"],
            "specviz decodes greedily only: leave out --temperature.",
        ),
        (["--prompt", "a", "--top-p", "1"], "specviz decodes greedily only: leave out --top-p."),
        (
            ["--prompt", "a", "--knob", "nodes"],
            "'nodes' is not a knob setting: write it as name=value.",
        ),
        (
            ["--prompt", "a", "--decoder", "prompt_lookup", "--knob", "tokens=99"],
            "tokens cannot be 99: give a whole number from 1 to 32.",
        ),
        (
            ["--prompt", "a", "--decoder", "magic"],
            "There is no decoder 'magic': choose one of recap, token_recycling, prompt_lookup, "
            "window, das_wave, das, autoregressive.",
        ),
        (
            ["--prompt", "a", "--model", "magic"],
            "There is no model 'magic': choose smollm2-135m, smollm2-135m-hub, tiny-raven, "
            "smol-boards, huginn-0125, smolvlm-256m, smolvlm-500m, smolvlm-2.2b, qwen2.5-vl-3b, "
            "qwen2.5-vl-7b, llava-1.6-mistral-7b, llava-1.6-vicuna-7b, toy, toy-signs, "
            "a folder with a saved model, or a hub id "
            "such as owner/name.",
        ),
        (["--prompt", "a", "--max-new-tokens", "0"], "max new tokens must be at least 1."),
        (
            ["--prompt", "a " * 9000],
            "The prompt has 18000 tokens, the context of toy ends at 8192: shorten the prompt.",
        ),
        (
            ["--prompt", "a", "--document", "README.md"],
            "Give --prompt, or --document with --question, not both.",
        ),
        (["--document", "README.md"], "A document needs a question: add --question."),
        (
            ["--document", "nowhere.txt", "--question", "a"],
            "nowhere.txt cannot be read: No such file or directory.",
        ),
        (
            ["--question", "a"],
            "--question asks about a document: add --document, or use --prompt.",
        ),
        (
            ["--prompt", "a", "-o", "trace.txt"],
            "trace.txt has an unknown ending: choose a name that ends in .jsonl or .jsonl.gz.",
        ),
        (
            ["--prompt", "a", "-o", "nowhere/t.jsonl"],
            "t.jsonl cannot be written: there is no folder nowhere.",
        ),
        (
            ["--prompt", "a", "--decoder", "prompt_lookup", "--memory", "m.npz"],
            "The decoder prompt_lookup keeps no lasting memory: leave out --memory.",
        ),
        (["--prompt", "a", "--wobble", "red"], "No such option: --wobble"),
        (
            ["--prompt", "a", "--cut", "head"],
            "--cut is about documents: add --document, or leave it out.",
        ),
        (
            ["--prompt", "a", "--context", "99"],
            "--context is about documents: add --document, or leave it out.",
        ),
        (
            ["--document", "README.md", "--question", "a", "--cut", "left"],
            "cut cannot be 'left': give one of middle, head, tail, refuse.",
        ),
        (
            ["--document", "README.md", "--question", "a", "--context", "9000"],
            "context cannot be 9000: toy holds 8192 tokens.",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert toy(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    said = [x for x in printed.err.splitlines() if x not in STAGES]
    assert said == [sentence]


def test_a_newer_a_damaged_and_a_foreign_trace_are_refused(
    tmp_path: Path, trace_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newer, damaged = tmp_path / "newer.jsonl", tmp_path / "damaged.jsonl.gz"
    first = gzip.decompress(trace_file.read_bytes()).splitlines()[0]
    newer.write_text(json.dumps({**json.loads(first), "trace_schema": 99}) + "\n")
    damaged.write_bytes(trace_file.read_bytes()[:10] + b"\xff" * 40)
    for path, sentence in (
        (newer, "This trace has schema 99, this version reads schemas 1 and 2: open it with the "
         "specviz version that wrote it."),
        (damaged, "This trace file is damaged: it cannot be decompressed."),
        (ROOT / "README.md", "This is not a trace file, a line is not JSON: "
         "choose a file that specviz wrote."),
    ):  # fmt: skip
        assert run("replay", path) == 2
        assert capsys.readouterr() == ("", sentence + "\n")
        assert run("check", path) == 2
        assert capsys.readouterr() == ("", f"{path}: {sentence}\n")


def test_check_finds_what_cannot_have_happened(
    tmp_path: Path, trace_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = gzip.decompress(trace_file.read_bytes()).splitlines()
    events = [json.loads(line) for line in lines]
    last = max(i for i, e in enumerate(events) if e["type"] == "step" and "role" not in e)
    events[last]["cache_length"] += 1
    forged = tmp_path / "forged.jsonl"
    forged.write_text("".join(json.dumps(e) + "\n" for e in events))
    assert run("check", trace_file, forged) == 2
    printed = capsys.readouterr()
    assert printed.out.startswith(f"{trace_file}: valid, recap on toy, 8 tokens in ")
    assert printed.err.startswith(f"{forged}: The decoder's step {events[last]['index']} leaves")


def test_replay_needs_no_model(trace_file: Path) -> None:
    code = (
        "import sys; from specviz.cli import main; assert main(sys.argv[1:]) == 0; "
        "assert not {'torch', 'transformers', 'gradio', 'plotly'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "replay", str(trace_file)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert LINE in done.stdout
    assert done.stdout.splitlines()[0] == "recap on toy (cpu, float64), a prompt of 4 tokens"


def test_replay_shows_one_step_as_a_tree(
    trace_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("replay", trace_file, "--step", 1) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("   1  ")
    assert lines[2] == "• ␣that  → ␣Jack"
    steps = len(load(trace_file).run().steps)  # type: ignore[union-attr]
    for wrong in (0, steps + 1):
        assert run("replay", trace_file, "--step", wrong) == 2
        assert capsys.readouterr().err == (
            f"This trace has no step {wrong}: its steps count from 1 to {steps}.\n"
        )


def test_replay_gives_the_same_object_as_the_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.jsonl"
    assert toy("--prompt", "This is", "--max-new-tokens", 6, "--json", "-o", path) == 0
    live = json.loads(capsys.readouterr().out)
    assert run("replay", path, "--json") == 0
    assert json.loads(capsys.readouterr().out) == live


def test_export_believes_no_comparison_that_the_tokens_contradict(
    tmp_path: Path, trace_file: Path
) -> None:
    page = tmp_path / "t.html"
    lines = gzip.decompress(trace_file.read_bytes()).decode().splitlines()
    assert run("export", trace_file, "-o", page) == 0
    assert '"audited":true' in page.read_text("utf-8")
    check = json.loads(lines[-1])
    assert check["type"] == "check"
    lines[-1] = json.dumps({**check, "complete": False})
    trace_file.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))
    assert run("export", trace_file, "-o", page) == 0
    assert '"audited":false' in page.read_text("utf-8")


def test_export_writes_tables(
    tmp_path: Path, trace_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps, rejects = tmp_path / "steps.csv", tmp_path / "rejects.csv"
    assert run("export", trace_file, "--table", "steps", "-o", steps) == 0
    assert run("export", trace_file, "-o", rejects) == 0
    lines = steps.read_text("utf-8").splitlines()
    assert lines[0].startswith("step,drafted,accepted,emitted,tokens,clipped,cache_length,draft_s")
    assert lines[1].startswith("1,0,0,1,␣Jack,False,5,")
    assert rejects.read_text("utf-8").startswith("step,node,guess,source,score,probability,wanted")
    assert run("export", trace_file, "-o", tmp_path / "t.pdf") == 2
    assert capsys.readouterr().err == (
        "t.pdf has an unknown ending: choose a name that ends in .html or .csv or .json.\n"
    )
    told = tmp_path / "rejects.json"
    assert run("export", trace_file, "-o", told) == 0
    found = json.loads(told.read_text("utf-8"))
    header = load(trace_file).events[0]
    assert (found["model"], found["decoder"]) == ("toy", "recap")
    assert found["run"] == getattr(header, "run", "") and "specviz" in found["versions"]
    with rejects.open(encoding="utf-8", newline="") as table:
        assert len(found["rejects"]) == sum(1 for _ in csv.reader(table)) - 1
    capsys.readouterr()
    assert run("export", trace_file, "--table", "steps", "-o", told) == 2
    assert capsys.readouterr().err.startswith("Only the refused guesses can be written as JSON")


def test_a_table_of_memory_rows_says_why_it_is_empty(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, head = tmp_path / "rows.csv", ROOT / "examples" / "head-400.jsonl.gz"
    assert run("export", head, "--table", "memory", "-o", table) == 0
    assert table.read_text("utf-8").startswith("level,key,answers,")
    assert table.read_text("utf-8").count("\n") == 1
    assert capsys.readouterr().err == (
        "There are no memory rows in this trace of the decoder window, so the table has titles "
        "only.\n"
    )
    tea = ROOT / "examples" / "tea.jsonl.gz"
    assert run("export", tea, "--table", "memory", "-o", table) == 0
    assert capsys.readouterr().err == ""


def test_export_writes_one_html_file(tmp_path: Path, trace_file: Path) -> None:
    out = tmp_path / "t.html"
    assert run("export", trace_file, "-o", out) == 0
    html = out.read_text("utf-8")
    assert html.lstrip().lower().startswith("<!doctype html>")
    assert not list(tmp_path.glob("*.part"))


def test_memory_lasts_from_call_to_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory, out = tmp_path / "memory.npz", tmp_path / "t.jsonl"
    arguments = ("--prompt", "This is the", "--max-new-tokens", 12, "--memory", memory, "-o", out)
    rows = []
    for _ in range(2):
        assert toy(*arguments, "--scope", "mine") == 0
        header = load(out).run().header  # type: ignore[union-attr]
        rows.append(header.memory_rows)
        assert header.scope == "mine"
    assert rows[0] == 0 and rows[1] > 0
    memory.write_bytes(b"not a memory")
    capsys.readouterr()
    assert toy(*arguments) == 2
    assert capsys.readouterr().err.startswith("memory.npz is not a saved memory: ")


def test_a_memory_of_another_scope_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    memory = tmp_path / "m.npz"
    arguments = ("--prompt", "This is the", "--max-new-tokens", 12, "--memory", memory)
    assert toy(*arguments, "--scope", "alice") == 0
    kept = memory.read_bytes()
    capsys.readouterr()
    assert toy(*arguments, "--scope", "bob") == 2
    said = [x for x in capsys.readouterr().err.splitlines() if x not in STAGES]
    assert said == [
        "The saved memory belongs to the scope 'alice', this run to 'bob': use that scope, or "
        "another memory."
    ]
    assert memory.read_bytes() == kept
    assert toy(*arguments, "--scope", "alice") == 0


def test_a_memory_is_shown_and_deleted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.npz", tmp_path / "t.jsonl"
    toy("--prompt", "This is the", "--max-new-tokens", 12, "--memory", path, "--scope", "alice",
        "-o", out)  # fmt: skip
    header = load(out).run().header  # type: ignore[union-attr]
    memory = Snapshot.load(path)
    capsys.readouterr()
    assert run("memory", path) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{len(memory)} rows, {memory.nbytes} bytes",
        f"model {header.digest}/float64/top",
        "scope alice",
    ]
    assert len(memory) > 3 and path.exists()
    assert run("memory", path, "--clear") == 0
    assert capsys.readouterr().out == f"{path} deleted\n" and not path.exists()
    assert run("memory", out, "--clear") == 2 and out.exists()
    assert capsys.readouterr().err == (
        "t.jsonl is not a saved memory: choose a file that specviz wrote, or none to start empty.\n"
    )


SLOW = """
import sys, time
from specviz import cli, jobs
whole = jobs.run
def slow(job):
    for event in whole(job):
        yield event
        if event.type == "step" and event.index == 1:
            print("now", flush=True)
            time.sleep(60)
jobs.run = slow
sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_terminated_run_leaves_its_trace_marked_as_stopped(tmp_path: Path) -> None:
    out, memory = tmp_path / "t.jsonl.gz", tmp_path / "m.npz"
    command = [sys.executable, "-c", SLOW, "run", "--model", "toy", "--prompt", "This is the house",
               "-o", str(out), "--memory", str(memory)]  # fmt: skip
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"now\n"
        run.terminate()
        assert run.wait(60) == 143
    found = load(out).run()
    assert found is not None and found.finish is not None
    assert (len(found.steps), found.finish.reason) == (2, "stopped")
    assert memory.exists()


def broken_after(
    steps: int, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = jobs.run

    def cut(job: jobs.Job) -> Iterator[Event]:
        seen = 0
        for event in whole(job):
            yield event
            seen += isinstance(event, Step)
            if seen == steps:
                raise error

    monkeypatch.setattr(jobs, "run", cut)


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (KeyboardInterrupt(), 130, "stopped"),
        (RuntimeError("a bug"), 1, "error"),
        (InputError("Change something."), 2, "error"),
    ],
)
def test_what_was_recorded_survives_every_end(
    error: BaseException, code: int, reason: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    broken_after(2, error, monkeypatch)
    out, memory = tmp_path / "t.jsonl.gz", tmp_path / "m.npz"
    assert toy("--prompt", "This is the house", "-o", out, "--memory", memory) == code
    trace: Trace = load(out)
    found = trace.run()
    assert found is not None and found.finish is not None
    assert len(found.steps) == 2
    assert found.finish.reason == reason
    assert memory.exists()
    printed = capsys.readouterr().err
    assert ("Traceback" in printed) == (code == 1)
    if code == 2:
        assert printed.endswith("Change something.\n")


def test_models_names_every_label(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("models") == 0
    printed = capsys.readouterr().out
    models, heads = printed.split("\n\n")
    labels = [line.split()[0] for line in models.splitlines() if not line.startswith(" ")]
    assert labels == [
        "smollm2-135m", "smollm2-135m-hub", "tiny-raven", "smol-boards", "huginn-0125",
        "smolvlm-256m", "smolvlm-500m", "smolvlm-2.2b", "qwen2.5-vl-3b", "qwen2.5-vl-7b",
        "llava-1.6-mistral-7b", "llava-1.6-vicuna-7b", "toy", "toy-signs",
    ]  # fmt: skip
    assert "Apache-2.0" in printed
    told = [line.strip() for line in models.splitlines() if "drafter head" in line]
    embedded = "smollm2-eagle (assets/models), licence Apache-2.0"
    assert told == [f"drafter head: {embedded}"] * 2  # of both labels of one model
    assert heads.splitlines()[1:3] == [f"  {embedded}", "    smollm2-135m"]
    assert heads.splitlines()[-2:] == [
        "  eagle3-qwen3-8b (https://huggingface.co/RedHatAI/Qwen3-8B-speculator.eagle3), "
        "licence as its page says",
        "    Qwen/Qwen3-8B",
    ]


def test_the_module_passes_the_exit_code_on() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "specviz", "run", "--prompt", " "],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == "The prompt is empty: write something to continue.\n"


@pytest.mark.parametrize("name", ["typer", "pydantic"])
def test_a_missing_package_is_one_sentence(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text(f"raise ModuleNotFoundError('gone', name='{name}')\n")
    done = subprocess.run(
        [sys.executable, "-m", "specviz", "models"], cwd=ROOT, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        f"The package {name} is missing: run make demo, then .venv/bin/python -m specviz with the "
        "same arguments.\n"
    )


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="needs a folder that only says yes")
def test_a_place_that_cannot_be_written_is_found_out_before_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert toy("--prompt", "This is", "-o", "/proc/t.jsonl") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"t\.jsonl cannot be written: .+ in the folder /proc\.\n", printed.err)


def test_a_port_beyond_the_last_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("app", "--port", 99999999) == 2
    assert "--port" in (said := capsys.readouterr().err) and "65535" in said


def test_a_reader_that_leaves_early_is_no_failure(trace_file: Path) -> None:
    """Like ``replay … | head``: the pipe is closed before anything is written."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        done = subprocess.run(
            [sys.executable, "-m", "specviz", "replay", str(trace_file)],
            stdout=gone, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_a_log_gets_no_line_of_progress_twice_in_a_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 11))
    monkeypatch.setattr("specviz.recorder.monotonic", lambda: next(clock))
    meter = Meter(9)
    for key, done in (("load", 0), ("load", 0), ("load", 0), ("prefill", 1), ("prefill", 2)):
        meter.show(key, done, 2)
    assert capsys.readouterr().err.splitlines() == [
        "loading the model", "reading the prompt: token 1 of 2", "reading the prompt: token 2 of 2",
    ]  # fmt: skip
