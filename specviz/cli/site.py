"""``specviz site``: the player with all recorded examples as a folder for any file server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from specviz import lessons, site
from specviz.catalog import LANGUAGES, text
from specviz.cli.command import command
from specviz.gallery import FOLDER, listed
from specviz.models.base import InputError


@command.command("site", help=text("cli.site"))
def site_command(
    out: Annotated[Path, typer.Option("--out", "-o", help=text("cli.site.out"))],
) -> None:
    try:
        recorded = listed()
        for example in recorded:
            _ = example.trace
    except FileNotFoundError as error:
        raise InputError(text("cli.error.site.examples", folder=FOLDER)) from error
    try:
        taught = {lang: lessons.plain(lang) for lang in LANGUAGES}
        files, size = site.build(out, recorded, taught)
    except OSError as error:
        raise InputError(text("cli.error.site.out", path=out, reason=error.strerror)) from error
    typer.echo(text("cli.site.built", path=out, count=files, size=f"{size / 2**20:.1f}"))
