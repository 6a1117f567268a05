"""``specviz probe``: which tokens of a recorded answer depend on its picture."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from specviz import jobs
from specviz.catalog import text
from specviz.cli.command import TRACE_ENDINGS, AsJson, TraceFile, command
from specviz.options import picture_at
from specviz.probes import associations, readings
from specviz.probing import found_by, with_probe
from specviz.recorder import Meter, check_writable
from specviz.trace import Probe, Trace
from specviz.tracefile import load as load_trace
from specviz.tracefile import save
from specviz.views import image_effect, terminal


@command.command("probe", help=text("cli.probe"))
def probe_command(
    path: TraceFile,
    picture: Annotated[list[str], typer.Option(help=text("cli.probe.picture"))],
    replace: Annotated[int, typer.Option(help=text("cli.probe.replace"))] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=text("cli.probe.output"))
    ] = None,
    as_json: AsJson = False,
) -> None:
    trace = load_trace(path)
    check_writable(output, TRACE_ENDINGS)
    asked = [_job(trace, each, replace - 1) for each in picture]
    for job in asked:
        job.check()  # says what is wrong with any of them before the model is loaded
    probes, found = list[Probe](), trace
    for job in asked:
        probe = _probed(job)
        found = with_probe(found, probe)
        # Each may take minutes: where the next is interrupted, this one is told and kept.
        if output is not None:
            save(output, found.events)
        if not as_json:
            _tell(found, probe, first=not probes)
        probes.append(probe)
    if as_json:
        typer.echo(json.dumps([_plain(found, p) for p in probes], ensure_ascii=False))
    elif output is not None:
        typer.echo(text("cli.saved", path=output))


def _tell(trace: Trace, probe: Probe, first: bool) -> None:
    if not first:
        typer.echo("")
    for line in image_effect.lines(trace, probe):
        typer.echo(terminal.literal(line))


def _job(trace: Trace, picture: str, replaced: int) -> jobs.ProbeJob:
    """The probe that ``--picture`` asks for; a file named like a kind is given as ./blank."""
    if picture == "blank":
        return jobs.ProbeJob(trace.events, "blank", replaced)
    if picture == "shuffled":
        return jobs.ProbeJob(trace.events, "shuffled", replaced)
    return jobs.ProbeJob(trace.events, "other", replaced, picture_at(picture, "--picture"))


def _probed(job: jobs.ProbeJob) -> Probe:
    """Run the probe, its progress told on stderr."""
    meter = Meter(0)
    try:
        with closing(found_by(job, jobs.run)) as events:
            while True:
                try:
                    meter.add(next(events))
                except StopIteration as done:
                    probe: Probe = done.value
                    return probe
    finally:
        meter.clear()


def _plain(trace: Trace, probe: Probe) -> dict[str, object]:
    (mine,) = associations(readings(image_effect.alone(trace, probe)))
    return {
        "kind": probe.kind,
        "replaced": probe.replaced + 1,
        "name": probe.name,
        "changed_positions": list(probe.changed),
        "picks": [probe.picks[i] for i in probe.changed],
        **{k: v for k, v in image_effect.plain(mine).items() if k not in ("kind", "runs")},
    }
