"""The command that everything hangs on, and the options that several subcommands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specviz.catalog import text
from specviz.drafters import DRAFTERS

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
TRACE_ENDINGS = (".jsonl", ".jsonl.gz")
TraceFile = Annotated[Path, typer.Argument(help=text("cli.replay.trace"))]
