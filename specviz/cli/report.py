"""``specviz report``: why guesses failed, over many runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from specviz.bench.prompts import PROMPTS, read_prompts
from specviz.catalog import text
from specviz.cli.command import command
from specviz.files import write_whole
from specviz.recorder import check_writable
from specviz.trace import Trace, TraceError
from specviz.tracefile import load as load_trace
from specviz.views import report, report_words, terminal

By = Literal["fact", "level", "rank", "position", "depth", "step", "category", "run"]


@command.command("report", help=text("cli.report"))
def report_command(
    paths: Annotated[list[Path], typer.Argument(help=text("cli.check.traces"))],
    by: Annotated[By, typer.Option(help=text("cli.report.by"))] = "fact",
    as_json: Annotated[bool, typer.Option("--json", help=text("cli.report.json"))] = False,
    sheet: Annotated[
        Path | None, typer.Option("--csv", help=text("cli.report.csv"))
    ] = None,
    prompts: Annotated[Path | None, typer.Option(help=text("cli.report.prompts"))] = None,
) -> None:
    check_writable(sheet, (".csv",))
    categories = _categories(prompts)
    traces, damaged = _read(paths)
    groups = report.report(traces, categories)
    if sheet is not None:
        write_whole(sheet, report.to_csv(groups).encode())
    if as_json:
        found = {"groups": [report.plain(g) for g in groups], "damaged": damaged}
        typer.echo(json.dumps(found, ensure_ascii=False))
    else:
        for line in report_words.lines(groups, by):
            typer.echo(line)
        models = {m for g in groups for m in g.models}
        if len(models) > 1 and len(groups) > 1:
            typer.echo(text("view.report.models", count=len(models)))
        if sheet is not None:
            typer.echo(text("cli.exported", path=sheet))
    if damaged:
        raise typer.Exit(2)


def _read(paths: list[Path]) -> tuple[list[tuple[str, Trace]], list[dict[str, str]]]:
    """The traces that could be read, and what is wrong with the others, said at once."""
    traces: list[tuple[str, Trace]] = []
    damaged: list[dict[str, str]] = []
    for path in paths:
        try:
            trace = load_trace(path)
            first = next((name for name, known in traces if known == trace), None)
            if first is None:
                traces.append((str(path), trace))
            else:
                line = text("cli.report.twice", path=path, first=first)
                typer.echo(terminal.literal(line), err=True)
        except TraceError as error:
            damaged.append({"file": str(path), "message": str(error)})
            typer.echo(terminal.literal(f"{path}: {error}"), err=True)
    return traces, damaged


def _categories(prompts: Path | None) -> dict[str, str]:
    """Prompt -> category, from the file that is named, or from the prompts that come along."""
    if prompts is None and not PROMPTS.is_file():
        return {}
    return {p.text.strip(): p.category for p in read_prompts(prompts or PROMPTS)}
