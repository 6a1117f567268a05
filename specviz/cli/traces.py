"""``specviz replay``, ``check`` and ``export``: what can be done with a recorded trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from specviz.audit import audit
from specviz.catalog import text
from specviz.cli.command import TraceFile, command
from specviz.files import write_whole
from specviz.models.base import InputError
from specviz.recorder import check_writable
from specviz.trace import TraceError
from specviz.tracefile import load as load_trace
from specviz.views import candidates, image_effect, memory_table, rejects, steps, terminal
from specviz.views.inspector import inspect
from specviz.views.settled import round_lines
from specviz.views.sight import step_lines

EXPORT_ENDINGS = (".html", ".csv", ".json")
TABLES = {
    "rejects": rejects, "steps": steps, "candidates": candidates, "memory": memory_table,
    "pictures": image_effect,
}  # fmt: skip


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
    for line in (*terminal.pictures(run.header), *terminal.probes(trace)):
        typer.echo(terminal.literal(line))
    if step is not None:
        if not run.steps:
            raise TraceError(text("cli.error.no_steps"))
        if not 1 <= step <= len(run.steps):
            raise InputError(text("cli.error.step", step=step, last=len(run.steps)))
        chosen = run.steps[step - 1]
        lines = [terminal.step_line(chosen, trace.pieces)]
        lines += [*round_lines(chosen, trace.pieces), *step_lines(run, chosen, trace.pieces)]
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
        Literal["rejects", "steps", "candidates", "memory", "pictures"] | None,
        typer.Option(help=text("cli.export.table")),
    ] = None,
) -> None:
    trace = load_trace(path)
    check_writable(output, EXPORT_ENDINGS)
    if output.name.endswith(".html"):
        if table is not None:
            raise InputError(text("cli.error.table"))
        from specviz.player import export_html

        content = export_html(trace, audited=not audit(trace))
        run = trace.run("decoder")
        if run is not None and run.header.pictures:
            typer.echo(text("cli.export.pictures", count=len(run.header.pictures)), err=True)
    elif output.name.endswith(".json"):
        if table not in (None, "rejects"):
            raise InputError(text("cli.error.table.json"))
        content = rejects.to_json(trace)
    else:
        content = TABLES[table or "rejects"].to_csv(trace)
        if table == "memory" and not inspect(trace).rows:
            run = trace.run("decoder")
            decoder = terminal.literal(run.header.decoder) if run else ""
            typer.echo(text("cli.export.no_memory", decoder=decoder), err=True)
        if table == "pictures" and not trace.probes:
            typer.echo(text("cli.export.no_probe"), err=True)
    write_whole(output, content.encode())
    typer.echo(text("cli.exported", path=output))
