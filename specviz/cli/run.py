"""``specviz run``: one run, recorded."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from specviz import jobs
from specviz.catalog import text
from specviz.cli.command import (
    TRACE_ENDINGS,
    AsJson,
    Decoder,
    Device,
    Dtype,
    Knobs,
    ModelName,
    NewTokens,
    Refused,
    command,
)
from specviz.options import (
    knob_settings,
    refuse_sampling,
    with_cut,
    with_memory,
    with_pictures,
    with_prompt,
    with_talk,
)
from specviz.recorder import Meter, check_writable, record
from specviz.trace import Trace
from specviz.views import terminal


@command.command("run", help=text("cli.run"))
def run_command(
    options: typer.Context,
    decoder: Decoder = "recap",
    model: ModelName = "smollm2-135m",
    prompt: Annotated[str | None, typer.Option(help=text("cli.run.prompt"))] = None,
    document: Annotated[Path | None, typer.Option(help=text("cli.run.document"))] = None,
    question: Annotated[str | None, typer.Option(help=text("cli.run.question"))] = None,
    image: Annotated[list[str] | None, typer.Option(help=text("cli.run.image"))] = None,
    after: Annotated[Path | None, typer.Option(help=text("cli.run.after"))] = None,
    cut: Annotated[str | None, typer.Option(help=text("cli.run.cut"))] = None,
    context: Annotated[int | None, typer.Option(help=text("cli.run.context"))] = None,
    system: Annotated[str | None, typer.Option(help=text("cli.run.system"))] = None,
    max_new_tokens: NewTokens = 128,
    dtype: Dtype = "auto",
    device: Device = "auto",
    knob: Knobs = None,
    packed: Annotated[bool | None, typer.Option(help=text("cli.run.packed"))] = None,
    memory: Annotated[Path | None, typer.Option(help=text("cli.run.memory"))] = None,
    scope: Annotated[str, typer.Option(help=text("cli.run.scope"))] = "default",
    baseline: Annotated[bool, typer.Option(help=text("cli.run.baseline"))] = True,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=text("cli.run.output"))
    ] = None,
    as_json: AsJson = False,
    temperature: Refused = None,
    top_p: Refused = None,
    top_k: Refused = None,
    seed: Refused = None,
) -> None:
    refuse_sampling(temperature=temperature, top_p=top_p, top_k=top_k, seed=seed)
    job = jobs.Job(
        model=model, decoder=decoder, system=system, knobs=knob_settings(knob or []),
        max_new_tokens=max_new_tokens, device=device, dtype=dtype, packed=packed,
        baseline=baseline, scope=scope,
    )  # fmt: skip
    job = with_cut(_asked(job, prompt, document, question), cut, context)
    job = with_pictures(job, image or ())
    if after is not None:
        job = with_talk(job, after, model if _chosen(options, "model") else None)
    if memory is not None:
        job = with_memory(job, memory)
    for path, endings in ((output, TRACE_ENDINGS), (memory, ())):
        check_writable(path, endings)
    trace = record(job, output, memory)
    if as_json:
        typer.echo(json.dumps(terminal.run_object(trace), ensure_ascii=False))
        return
    _show(trace, output)


def _chosen(options: typer.Context, name: str) -> bool:
    """Whether somebody gave an option, be it with its default."""
    source = options.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _asked(
    job: jobs.Job, prompt: str | None, document: Path | None, question: str | None
) -> jobs.Job:
    """``job`` with its prompt, or with a question about a document, whose pages are counted."""
    meter = Meter(job.max_new_tokens)
    try:
        return with_prompt(job, prompt, document, question, partial(meter.show, "pages"))
    finally:
        meter.clear()


def _show(trace: Trace, output: Path | None) -> None:
    """What was decoded, what was done to the prompt, the figures, and where the trace is."""
    run = trace.run("decoder")
    assert run is not None
    for line in (terminal.heading(run.header), "", terminal.answer(trace, run), ""):
        typer.echo(line)
    for line in (*terminal.pictures(run.header), *run.header.notes):
        typer.echo(terminal.literal(line))
    for line in terminal.figures(trace):
        typer.echo(line)
    if output is not None:
        typer.echo(text("cli.saved", path=output))
