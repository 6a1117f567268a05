"""``specviz models``: the labels that can be named."""

from __future__ import annotations

import logging

import typer

from specviz.catalog import text
from specviz.cli.command import command
from specviz.models import registry
from specviz.views.terminal import literal
from specviz.views.verified import badge


@command.command("models", help=text("cli.models"))
def models_command() -> None:
    said: set[str] = set()

    def new(record: logging.LogRecord) -> bool:
        """Every model looks at every adopted result, so a damaged one is met again and again."""
        before = len(said)
        said.add(record.getMessage())
        return len(said) > before

    registry.log.addFilter(new)
    try:
        _list()
    finally:
        registry.log.removeFilter(new)


def _list() -> None:
    for entry in registry.entries():
        typer.echo(f"{entry.label:18} {entry.licence:12} {entry.size}")
        typer.echo(f"{'':18} {entry.source}")
        state = "cli.model.hub" if entry.source.startswith("https:") else "cli.model.here"
        typer.echo(f"{'':18} {entry.problem() or text(state)}")
        for line in badge(registry.results(entry.label), entry.digest(), entry.dtypes):
            typer.echo(f"{'':18} {literal(line)}")
