"""``specviz app``: the page."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path
from typing import Annotated

import typer

from specviz.catalog import text
from specviz.cli.command import command

APP = Path(__file__).parent.parent.parent / "app.py"


@command.command("app", help=text("cli.app"))
def app_command(
    host: Annotated[str, typer.Option(help=text("cli.app.host"))] = "127.0.0.1",
    port: Annotated[int, typer.Option(help=text("cli.app.port"), min=1, max=65535)] = 7860,
) -> None:
    os.environ.update(GRADIO_SERVER_NAME=host, GRADIO_SERVER_PORT=str(port))
    sys.path.insert(0, str(APP.parent))
    runpy.run_path(str(APP), run_name="__main__")
