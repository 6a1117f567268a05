"""``specviz bench``: speed, measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from specviz import jobs
from specviz.bench import quick
from specviz.catalog import text
from specviz.cli.command import Decoder, Device, Dtype, Knobs, ModelName, NewTokens, command
from specviz.options import knob_settings
from specviz.recorder import record


@command.command("bench", help=text("cli.bench"))
def bench_command(
    decoder: Decoder = "recap",
    model: ModelName = "smollm2-135m",
    prompts: Annotated[Path | None, typer.Option(help=text("cli.bench.prompts"))] = None,
    max_new_tokens: NewTokens = 64,
    dtype: Dtype = "auto",
    device: Device = "auto",
    knob: Knobs = None,
) -> None:
    job = jobs.Job(
        model=model,
        decoder=decoder,
        knobs=knob_settings(knob or []),
        max_new_tokens=max_new_tokens,
        device=device,
        dtype=dtype,
    )
    chosen = quick.read_prompts(prompts) if prompts else quick.sample(quick.read_prompts())
    # The first run of a process pays for loading and for the first use of every kernel.
    record(replace(job, prompt=chosen[0].text, max_new_tokens=min(8, max_new_tokens)))
    traces = []
    for prompt in chosen:
        traces.append(record(replace(job, prompt=prompt.text)))
        typer.echo(json.dumps(quick.result(prompt, traces[-1]), ensure_ascii=False))
    typer.echo(json.dumps(quick.overall(traces), ensure_ascii=False))
