"""``specviz memory``: what a saved memory holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specviz.catalog import text
from specviz.cli.command import command
from specviz.drafters.memory import Snapshot
from specviz.views import terminal


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
    deeper = sum(len(part) for part in memory.deeper)
    facts = (len(memory), memory.nbytes, memory.model, memory.scope, deeper)
    for line in terminal.memory_lines(*facts):
        typer.echo(line)
