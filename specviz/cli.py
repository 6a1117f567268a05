"""The command line: ``python -m specviz``. Options to jobs, events to files and lines.

Exit codes: 0; 2 with one sentence on stderr for what a person can change; 1 with a traceback for a
bug; 130 when interrupted, 143 when terminated (what was recorded until then is kept).
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal

import typer

from specviz import jobs
from specviz.audit import audit
from specviz.bench import quick
from specviz.catalog import text
from specviz.drafters import DRAFTERS
from specviz.drafters.memory import Snapshot
from specviz.files import write_whole
from specviz.models import registry
from specviz.models.base import InputError
from specviz.options import knob_settings, refuse_sampling, with_memory, with_prompt
from specviz.recorder import check_writable, record
from specviz.trace import TraceError
from specviz.tracefile import load as load_trace
from specviz.views import rejects, steps, terminal

APP = Path(__file__).parent.parent / "app.py"
TRACE_ENDINGS = (".jsonl", ".jsonl.gz")
EXPORT_ENDINGS = (".html", ".csv")

command = typer.Typer(
    help=text("cli.about"),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
Decoder = Annotated[str, typer.Option(help=text("cli.run.decoder", names=", ".join(DRAFTERS)))]
ModelName = Annotated[str, typer.Option(help=text("cli.run.model"))]
NewTokens = Annotated[int, typer.Option(help=text("cli.run.max_new_tokens"))]
Dtype = Annotated[str, typer.Option(help=text("cli.run.dtype"))]
Device = Annotated[str, typer.Option(help=text("cli.run.device"))]
Knobs = Annotated[list[str] | None, typer.Option("--knob", help=text("cli.run.knob"))]
AsJson = Annotated[bool, typer.Option("--json", help=text("cli.run.json"))]
# Known by name only to be refused with a reason.
Refused = Annotated[str | None, typer.Option(hidden=True)]
TraceFile = Annotated[Path, typer.Argument(help=text("cli.replay.trace"))]


@contextmanager
def gentle_termination() -> Iterator[threading.Event]:
    """Let SIGTERM end what goes on like an interrupt, so that files are left whole; yields whether
    that happened."""
    terminated = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield terminated  # only the main thread may say what a signal does
        return

    def leave(number: int, frame: FrameType | None) -> None:
        terminated.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield terminated
    finally:
        signal.signal(signal.SIGTERM, before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    with gentle_termination() as terminated:
        code = _main(arguments)
    return 143 if terminated.is_set() else code


def _main(arguments: Sequence[str] | None) -> int:
    try:
        code = typer.main.get_command(command).main(
            list(arguments) if arguments is not None else None,
            prog_name="specviz",
            standalone_mode=False,
        )
        return code if isinstance(code, int) else 0
    except (InputError, TraceError) as error:
        typer.echo(terminal.literal(str(error)), err=True)
        return 2
    except typer.TyperException as error:
        typer.echo(terminal.literal(error.format_message()), err=True)
        return error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        # The reader of our output has gone, which typer takes for a failure; Python would
        # complain once more when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:
        traceback.print_exc()
        return 1


@command.command("app", help=text("cli.app"))
def app_command(
    host: Annotated[str, typer.Option(help=text("cli.app.host"))] = "127.0.0.1",
    port: Annotated[int, typer.Option(help=text("cli.app.port"), min=1, max=65535)] = 7860,
) -> None:
    os.environ.update(GRADIO_SERVER_NAME=host, GRADIO_SERVER_PORT=str(port))
    sys.path.insert(0, str(APP.parent))
    runpy.run_path(str(APP), run_name="__main__")


@command.command("run", help=text("cli.run"))
def run_command(
    decoder: Decoder = "recap",
    model: ModelName = "smollm2-135m",
    prompt: Annotated[str | None, typer.Option(help=text("cli.run.prompt"))] = None,
    document: Annotated[Path | None, typer.Option(help=text("cli.run.document"))] = None,
    question: Annotated[str | None, typer.Option(help=text("cli.run.question"))] = None,
    system: Annotated[str | None, typer.Option(help=text("cli.run.system"))] = None,
    max_new_tokens: NewTokens = 128,
    dtype: Dtype = "auto",
    device: Device = "auto",
    knob: Knobs = None,
    memory: Annotated[Path | None, typer.Option(help=text("cli.run.memory"))] = None,
    scope: Annotated[str, typer.Option(help=text("cli.run.scope"))] = "default",
    baseline: Annotated[bool, typer.Option(help=text("cli.run.baseline"))] = True,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=text("cli.run.output"))
    ] = None,
    as_json: AsJson = False,
    temperature: Refused = None,
    top_p: Refused = None,
    top_k: Refused = None,
    seed: Refused = None,
) -> None:
    refuse_sampling(temperature=temperature, top_p=top_p, top_k=top_k, seed=seed)
    job = jobs.Job(
        model=model,
        decoder=decoder,
        system=system,
        knobs=knob_settings(knob or []),
        max_new_tokens=max_new_tokens,
        device=device,
        dtype=dtype,
        baseline=baseline,
        scope=scope,
    )
    job = with_prompt(job, prompt, document, question)
    if memory is not None:
        job = with_memory(job, memory)
    for path, endings in ((output, TRACE_ENDINGS), (memory, ())):
        check_writable(path, endings)
    trace = record(job, output, memory)
    if as_json:
        typer.echo(json.dumps(terminal.run_object(trace), ensure_ascii=False))
        return
    run = trace.run("decoder")
    assert run is not None
    for line in (terminal.heading(run.header), "", terminal.answer(trace, run), ""):
        typer.echo(line)
    for note in run.header.notes:
        typer.echo(terminal.literal(note))
    for line in terminal.figures(trace):
        typer.echo(line)
    if output is not None:
        typer.echo(text("cli.saved", path=output))


@command.command("replay", help=text("cli.replay"))
def replay_command(
    path: TraceFile,
    step: Annotated[int | None, typer.Option(help=text("cli.replay.step"))] = None,
    as_json: Annotated[bool, typer.Option("--json", help=text("cli.replay.json"))] = False,
) -> None:
    trace = load_trace(path)
    run = trace.run("decoder")
    if run is None:
        raise TraceError(text("cli.error.no_steps"))
    if as_json:
        typer.echo(json.dumps(terminal.run_object(trace), ensure_ascii=False))
        return
    typer.echo(terminal.heading(run.header))
    if step is not None:
        if not run.steps:
            raise TraceError(text("cli.error.no_steps"))
        if not 1 <= step <= len(run.steps):
            raise InputError(text("cli.error.step", step=step, last=len(run.steps)))
        chosen = run.steps[step - 1]
        lines = [terminal.step_line(chosen, trace.pieces)]
        lines += terminal.tree_lines(chosen, trace.pieces)
    else:
        lines = [*terminal.steps(run, trace.pieces), "", terminal.answer(trace, run), ""]
        lines += terminal.figures(trace)
    for line in lines:
        typer.echo(line)


@command.command("check", help=text("cli.check"))
def check_command(
    paths: Annotated[list[Path], typer.Argument(help=text("cli.check.traces"))],
) -> None:
    sound = True
    for path in paths:
        try:
            trace = load_trace(path)
            findings = audit(trace)
        except TraceError as error:
            findings = (str(error),)
        sound = sound and not findings
        for finding in findings:
            typer.echo(terminal.literal(f"{path}: {finding}"), err=True)
        if not findings:
            typer.echo(terminal.valid_line(path, trace))
    if not sound:
        raise typer.Exit(2)


@command.command("export", help=text("cli.export"))
def export_command(
    path: TraceFile,
    output: Annotated[Path, typer.Option("--output", "-o", help=text("cli.export.output"))],
    table: Annotated[
        Literal["rejects", "steps"], typer.Option(help=text("cli.export.table"))
    ] = "rejects",
) -> None:
    trace = load_trace(path)
    check_writable(output, EXPORT_ENDINGS)
    if output.name.endswith(".html"):
        from specviz.player import export_html

        content = export_html(trace, audited=not audit(trace))
    else:
        content = (rejects if table == "rejects" else steps).to_csv(trace)
    write_whole(output, content.encode())
    typer.echo(text("cli.exported", path=output))


@command.command("bench", help=text("cli.bench"))
def bench_command(
    decoder: Decoder = "recap",
    model: ModelName = "smollm2-135m",
    prompts: Annotated[Path | None, typer.Option(help=text("cli.bench.prompts"))] = None,
    max_new_tokens: NewTokens = 64,
    dtype: Dtype = "auto",
    device: Device = "auto",
    knob: Knobs = None,
) -> None:
    job = jobs.Job(
        model=model,
        decoder=decoder,
        knobs=knob_settings(knob or []),
        max_new_tokens=max_new_tokens,
        device=device,
        dtype=dtype,
    )
    chosen = quick.read_prompts(prompts) if prompts else quick.sample(quick.read_prompts())
    # The first run of a process pays for loading and for the first use of every kernel.
    record(replace(job, prompt=chosen[0].text, max_new_tokens=min(8, max_new_tokens)))
    traces = []
    for prompt in chosen:
        traces.append(record(replace(job, prompt=prompt.text)))
        typer.echo(json.dumps(quick.result(prompt, traces[-1]), ensure_ascii=False))
    typer.echo(json.dumps(quick.overall(traces), ensure_ascii=False))


@command.command("memory", help=text("cli.memory"))
def memory_command(
    path: Annotated[Path, typer.Argument(help=text("cli.memory.file"))],
    clear: Annotated[bool, typer.Option("--clear", help=text("cli.memory.clear"))] = False,
) -> None:
    # Only what is a memory is deleted: a mistyped name must not cost another file.
    memory = Snapshot.load(path)
    if clear:
        path.unlink()
        typer.echo(text("cli.memory.cleared", path=path))
        return
    for line in terminal.memory_lines(len(memory), memory.nbytes, memory.model, memory.scope):
        typer.echo(line)


@command.command("models", help=text("cli.models"))
def models_command() -> None:
    for entry in registry.entries():
        typer.echo(f"{entry.label:18} {entry.licence:12} {entry.size}")
        typer.echo(f"{'':18} {entry.source}")
        state = "cli.model.hub" if entry.source.startswith("https:") else "cli.model.here"
        typer.echo(f"{'':18} {entry.problem() or text(state)}")
