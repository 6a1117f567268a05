"""``specviz models``: the labels that can be named."""

from __future__ import annotations

import logging

import typer

from specviz.catalog import text
from specviz.cli.command import command
from specviz.models import heads, registry
from specviz.models.registry import Entry
from specviz.views.offered import marks
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
        found = marks(entry.supports, entry.state(), entry.download)
        typer.echo(f"{'':18} {'. '.join(filter(None, [found, entry.problem()]))}")
        typer.echo(f"{'':18} {_needs(entry)}")
        for line in badge(registry.results(entry.label), entry.digest(), entry.dtypes):
            typer.echo(f"{'':18} {literal(line)}")
        if head := heads.own(entry.label):
            typer.echo(f"{'':18} {text('cli.model.head', head=_head(head))}")
    typer.echo()
    typer.echo(text("cli.model.heads"))
    for head in heads.HEADS.values():
        typer.echo(f"  {_head(head)}")
        for target in head.targets:
            typer.echo(f"    {target}")


def _needs(entry: Entry) -> str:
    """The number format on each device and the memory that it takes, as far as that is known, and
    whether a CPU has to be asked for."""
    found = []
    for device, dtype in entry.dtypes.items():
        need = registry.needed(entry, dtype)
        key = "cli.model.memory" if need else "cli.model.dtype"
        found.append(text(key, device=device, dtype=dtype, need=f"{need:.1f}"))
    return "; ".join([*found, *([text("cli.model.slow")] if entry.slow else [])])


def _head(head: heads.Head) -> str:
    """Its label, where it comes from, and its licence as far as that is known."""
    embedded = head.label == heads.EMBEDDED  # whose folder is another one on every machine
    place = "assets/models" if embedded else f"https://huggingface.co/{head.place}"
    licence = head.licence or text("cli.model.licence")
    return text("cli.model.head.value", label=head.label, place=place, licence=licence)
