"""Runs a job to its end, says how far it is, and leaves files behind whatever happens."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from time import monotonic

import typer

from specviz import jobs, memories
from specviz.catalog import text
from specviz.files import try_writing
from specviz.models.base import InputError
from specviz.trace import Event, Header, Prefill, Progress, Recording, Step, Trace
from specviz.tracefile import save


def record(job: jobs.Job, output: Path | None = None, memory: Path | None = None) -> Trace:
    """Run ``job`` to its end; whatever ends it, files get what was recorded until then."""
    recording, keeper, meter = Recording(), memories.MemoryKeeper(job), Meter(job.max_new_tokens)
    try:
        with closing(jobs.run(job)) as stream:
            for event in stream:
                recording.add(event)
                keeper.add(event)
                meter.add(event)
    except InputError as error:
        recording.stop("error", str(error))
        raise
    except Exception:
        recording.stop("error", text("cli.error.bug"))
        raise
    finally:
        meter.clear()
        # Nothing is open any more unless somebody interrupted the run.
        recording.stop()
        snapshot = keeper.snapshot()
        if memory is not None and snapshot is not None and recording.events:
            snapshot.save(memory)
        # Last, because a run may turn out too large for a file.
        if output is not None and recording.events:
            save(output, recording.events)
    return recording.trace


class Meter:
    """Progress on stderr: one line that is rewritten on a terminal, few lines elsewhere."""

    def __init__(self, budget: int) -> None:
        self.budget = budget
        self.tokens = 0
        self.live = sys.stderr.isatty()
        self.last_key = self.last_line = ""
        self.last_time = 0.0
        self.width = 0

    def add(self, event: Event) -> None:
        """Say how far the run is, at most five times a second (elsewhere every ten)."""
        if isinstance(event, Header):
            self.tokens = 0
            return
        if isinstance(event, Prefill):
            self.tokens = 1
        elif isinstance(event, Step):
            self.tokens += len(event.emitted)
        if isinstance(event, Progress):
            self.show(event.stage, event.done, event.total)
        elif isinstance(event, (Prefill, Step)):
            self.show(event.role, self.tokens, self.budget)

    def show(self, key: str, done: int, total: int) -> None:
        now = monotonic()
        if key == self.last_key and now - self.last_time < (0.2 if self.live else 10):
            return
        self.last_key, self.last_time = key, now
        line = text(f"cli.progress.{key}", done=done, total=total)
        if self.live:
            typer.echo("\r" + line.ljust(self.width), nl=False, err=True)
            self.width = len(line)
        elif line != self.last_line:  # a sign of life tells nothing new in a log
            typer.echo(line, err=True)
        self.last_line = line

    def clear(self) -> None:
        """Leave a clean line."""
        if self.live and self.width:
            typer.echo("\r" + " " * self.width + "\r", nl=False, err=True)


def check_writable(path: Path | None, endings: tuple[str, ...]) -> None:
    """Raise InputError before any work when ``path`` could not be written in the end."""
    if path is None:
        return
    if endings and not path.name.endswith(endings):
        allowed = " or ".join(endings)
        raise InputError(text("cli.error.output_kind", path=path.name, endings=allowed))
    folder = path.parent
    reason = None
    if not folder.is_dir():
        reason = f"there is no folder {folder}"
    elif path.is_dir():
        reason = "it is a folder"
    else:
        # Asking for permission is not enough: a full or virtual file system says yes, then no.
        try:
            try_writing(path)
        except OSError as error:
            reason = f"{error.strerror or error} in the folder {folder}"
    if reason:
        raise InputError(text("cli.error.output", path=path.name, reason=reason))
