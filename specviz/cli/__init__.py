"""The command line: ``python -m specviz``. Options to jobs, events to files and lines.

Exit codes: 0; 2 with one sentence on stderr for what a person can change; 3 when ``verify`` ran and
something did not hold; 1 with a traceback for a bug; 130 when interrupted, 143 when terminated
(what was recorded until then is kept).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import typer

from specviz.cli import (  # noqa: F401 (order of help)
    app,
    bench,
    compare,
    memory,
    models,
    probe,
    report,
    run,
    site,
    traces,
    verify,
)
from specviz.cli.command import command
from specviz.models.base import InputError
from specviz.trace import TraceError
from specviz.views import terminal


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
