"""``specviz verify``: does a model decode here as it should?"""

from __future__ import annotations

import re
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Annotated

import typer

from specviz import verdict as verdicts
from specviz.bench.verify import Plan, unanswered, verify
from specviz.catalog import text
from specviz.cli.command import Device, ModelName, command
from specviz.files import write_whole
from specviz.models import registry
from specviz.models.base import InputError
from specviz.recorder import check_writable
from specviz.verdict import Row, Verdict
from specviz.views import verified
from specviz.views.terminal import literal

RESULT, PAGE = "verify.json", "verify.md"
DID_NOT_HOLD = 3
Several = Annotated[list[str] | None, typer.Option("--decoder", help=text("cli.verify.decoder"))]
Dtypes = Annotated[list[str] | None, typer.Option("--dtype", help=text("cli.verify.dtype"))]


@command.command("verify", help=text("cli.verify"))
def verify_command(
    model: ModelName = "smollm2-135m",
    decoder: Several = None,
    dtype: Dtypes = None,
    device: Device = "auto",
    out: Annotated[Path | None, typer.Option(help=text("cli.verify.out"))] = None,
    quick: Annotated[bool, typer.Option("--quick", help=text("cli.verify.quick"))] = False,
    adopt: Annotated[Path | None, typer.Option(help=text("cli.verify.adopt"))] = None,
) -> None:
    if adopt is not None:
        typer.echo(text("cli.verify.adopted", path=adopt_result(adopt)))
        return
    registry.find(model)  # a name that leads nowhere leaves no folder behind
    folder, made = prepared(out or Path(f"verify-{slug(Path(model).name)}"))
    plan = Plan(model, folder, tuple(decoder or ()), tuple(dtype or ()), device, quick)
    last: Verdict | None = None
    try:
        with closing(verify(plan)) as stream:
            for found in stream:
                if last is not None:
                    _tell(last.rows, found.rows)
                last = found
                _keep(folder / RESULT, verdicts.dumps(found))
    except KeyboardInterrupt:
        if last is None:  # the model was being loaded
            last = unanswered(plan)
            _keep(folder / RESULT, verdicts.dumps(last))
        raise
    finally:
        if last is not None:
            _keep(folder / PAGE, verified.markdown(last).encode())
            for line in (*verified.table(last), text("cli.verify.saved", path=folder / RESULT)):
                typer.echo(literal(line))
        elif made:
            folder.rmdir()
    if last is None or not last.held:
        raise typer.Exit(DID_NOT_HOLD)


def _keep(path: Path, content: bytes) -> None:
    try:
        write_whole(path, content)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    return InputError(text("cli.verify.error.out", path=path, reason=reason))


def _tell(before: tuple[Row, ...], after: tuple[Row, ...]) -> None:
    """Say on stderr which rows have just been answered."""
    for i, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        if old != new:
            line = text("cli.verify.progress", done=i, total=len(after), line=verified.line(new))
            typer.echo(literal(line), err=True)


def prepared(folder: Path) -> tuple[Path, bool]:
    """``folder``, made where it is missing, and whether it was; raises InputError when it could not
    be written."""
    if folder.exists() and not folder.is_dir():
        raise InputError(text("cli.verify.error.file", path=folder))
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error
    check_writable(folder / RESULT, ())
    return folder, made


def slug(name: str) -> str:
    """``name`` as a part of a file name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "model"


def adopt_result(path: Path) -> Path:
    """Put a result where the registry finds it; returns where that is. Raises InputError."""
    try:
        verdict = verdicts.load(path)
    except verdicts.VerdictError as error:
        raise InputError(str(error)) from error
    if not verdict.complete:
        raise InputError(text("cli.verify.error.open", path=path.name))
    machine = sha256(f"{verdict.machine} {verdict.device}".encode()).hexdigest()[:8]
    place = registry.adopted() / f"{slug(verdict.model)}-{machine}.json"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, verdicts.dumps(verdict))
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(
            text("cli.verify.error.cache", path=place.parent, reason=reason)
        ) from error
    return place
