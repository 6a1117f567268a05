"""What the options of a command line ask for: prompts, documents, pictures, earlier turns, knobs
and memory files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from specviz import jobs, pdf
from specviz.catalog import text
from specviz.cut import check_cut
from specviz.drafters import DRAFTERS
from specviz.drafters.memory import Snapshot
from specviz.inputs import open_document
from specviz.models.base import InputError, Picture
from specviz.pictures import open_picture
from specviz.recorded import talk
from specviz.tracefile import load


def refuse_sampling(**options: str | None) -> None:
    """Raise InputError for any sampling option: the output of a greedy run is all there is."""
    for name, value in options.items():
        if value is not None:
            raise InputError(text("cli.error.sampling", option="--" + name.replace("_", "-")))


def knob_settings(settings: Sequence[str]) -> dict[str, str]:
    """``name=value`` settings as a dict; the drafter checks names and values."""
    pairs = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise InputError(text("cli.error.knob", knob=repr(setting)))
        pairs[name.strip().replace("-", "_")] = value.strip()
    return pairs


def with_prompt(
    job: jobs.Job,
    prompt: str | None,
    document: Path | None,
    question: str | None,
    progress: pdf.Pages | None = None,
) -> jobs.Job:
    """``job`` with what it asks; raises InputError for what does not go together.

    ``progress(done, pages)`` is told how far a PDF has been read.
    """
    if document is not None:
        if prompt is not None:
            raise InputError(text("cli.error.prompt_and_document"))
        if question is None:
            raise InputError(text("cli.error.question"))
        opened = open_document(document, progress=progress)
        return replace(job, prompt=question, document=opened.text, notes=opened.notes)
    if question is not None:
        raise InputError(text("cli.error.no_document"))
    if prompt is None:
        raise InputError(text("cli.error.nothing"))
    if prompt == "-":
        piped = open_document(sys.stdin.buffer.read(pdf.BYTES + 1), "standard input")
        return replace(job, prompt=piped.text, notes=piped.notes)
    return replace(job, prompt=prompt)


def with_pictures(job: jobs.Job, paths: Sequence[str]) -> jobs.Job:
    """``job`` with the pictures in these files; raises InputError."""
    return replace(job, pictures=tuple(picture_at(path, "--image") for path in paths))


def picture_at(path: str, option: str) -> Picture:
    """The picture in the file that an ``option`` names; raises InputError."""
    if not path.strip():  # as a path that would be the folder of this process
        raise InputError(text("cli.error.no_file", option=option))
    return open_picture(Path(path))


def with_talk(job: jobs.Job, path: Path, model: str | None = None) -> jobs.Job:
    """``job`` as the next turn of the talk recorded in a trace file, on its model unless ``model``
    is given and with its system prompt unless the job has one; raises TraceError."""
    trace = load(path)
    system, history = talk(trace)
    run = trace.run("decoder")
    assert run is not None  # it holds an answer
    job = replace(job, model=model or run.header.model, history=history)
    return replace(job, system=job.system or system)


def with_cut(job: jobs.Job, cut: str | None, context: int | None) -> jobs.Job:
    """``job`` with what to do about a document that is too long; InputError without one."""
    for option, value in (("--cut", cut), ("--context", context)):
        if value is not None and job.document is None:
            raise InputError(text("cli.error.cut", option=option))
    check_cut(cut or job.cut, context)
    return replace(job, cut=cut or job.cut, context=context)


def with_memory(job: jobs.Job, path: Path) -> jobs.Job:
    """``job`` with the lasting memory of a file, if the file is there already."""
    if job.decoder in DRAFTERS and not DRAFTERS[job.decoder].persistent:
        raise InputError(text("cli.error.memory", decoder=job.decoder))
    return replace(job, memory=Snapshot.load(path)) if path.exists() else job
