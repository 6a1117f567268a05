"""``specviz bench``: speed, measured."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from specviz import jobs
from specviz.bench import quick as first_look
from specviz.bench.alone import alone
from specviz.bench.plan import Plan, Stage, budgeted
from specviz.bench.prompts import PROMPTS, Prompt, first_of_each, read_prompts
from specviz.catalog import text
from specviz.cli.command import Device, Knobs, command
from specviz.files import file_sha256, write_whole
from specviz.models import registry
from specviz.models.base import InputError
from specviz.options import knob_settings
from specviz.recorder import check_writable, record

if TYPE_CHECKING:
    from specviz.bench.page import PageSuite
    from specviz.bench.recap import Suite

SUITES = ("recap", "recurrent", "window", "vlm", "page")
ONE_DTYPE = ("recurrent", "window", "vlm", "page")
OWN_PROMPTS = ("recurrent", "vlm")
MODELS = {"vlm": "smol-boards"}  # that a suite is for; the others measure the first label
SUITE_DTYPES = ("float32", "bfloat16")
FIRST_LOOK_TOKENS = 64
Budget = Annotated[int | None, typer.Option(help=text("cli.bench.max_new_tokens"))]


@command.command("bench", help=text("cli.bench"))
def bench_command(
    decoder: Annotated[str | None, typer.Option(help=text("cli.bench.decoder"))] = None,
    model: Annotated[str | None, typer.Option(help=text("cli.bench.model"))] = None,
    prompts: Annotated[Path | None, typer.Option(help=text("cli.bench.prompts"))] = None,
    max_new_tokens: Budget = None,
    dtype: Annotated[list[str] | None, typer.Option(help=text("cli.bench.dtype"))] = None,
    device: Device = "auto",
    knob: Knobs = None,
    suite: Annotated[str | None, typer.Option(help=text("cli.bench.suite"))] = None,
    quick: Annotated[bool, typer.Option("--quick", help=text("cli.bench.quick"))] = False,
    headline: Annotated[bool, typer.Option("--headline", help=text("cli.bench.headline"))] = False,
    resume: Annotated[bool, typer.Option("--resume", help=text("cli.bench.resume"))] = False,
    sample: Annotated[int | None, typer.Option(help=text("cli.bench.sample"), min=1)] = None,
    output: Annotated[Path | None, typer.Option("--json", help=text("cli.bench.json"))] = None,
) -> None:
    if suite is None:
        if any((quick, headline, resume, sample, output, len(dtype or ()) > 1)):
            raise InputError(text("cli.error.no_suite"))
        job = jobs.Job(
            model=model or jobs.Job.model,
            decoder=decoder or "recap",
            knobs=knob_settings(knob or []),
            max_new_tokens=FIRST_LOOK_TOKENS if max_new_tokens is None else max_new_tokens,
            device=device,
            dtype=dtype[0] if dtype else "auto",
        )
        return _look(job, prompts)
    _check_suite(suite, decoder is not None, max_new_tokens)
    model = model or MODELS.get(suite, jobs.Job.model)
    _check_given(suite, prompts, dtype or [])
    if resume and output is None:
        raise InputError(text("cli.error.resume"))
    check_writable(output, (".json",))
    chosen, name, digest = _asked(suite, prompts or PROMPTS, sample or int(quick))
    plan = Plan(
        model=model,
        device=device,
        dtypes=tuple(dict.fromkeys(dtype or _dtypes(model, quick or suite in ONE_DTYPE))),
        prompts=budgeted(chosen, max_new_tokens, quick),
        file=name,
        sha256=digest,
        quick=quick,
        headline=headline,
        resume=resume,
        output=output,
        suite=suite,
        head=_head(suite, knob or []),
    )
    with alone(output):
        _measure(plan)


def _asked(suite: str, path: Path, sample: int) -> tuple[tuple[Prompt, ...], str, str]:
    """The first ``sample`` prompts of each kind (0: all) of a suite, a name and a digest of all;
    ``path`` is a file for suites that have no questions of their own."""
    if suite == "recurrent":
        from specviz.bench import questions

        every, name = questions.prompts(), questions.NAME
        digest = questions.digest(every)
    elif suite == "vlm":
        from specviz.bench import vlm_prompts

        every, name = vlm_prompts.prompts(), vlm_prompts.NAME
        digest = vlm_prompts.digest(every)
    else:
        every, name, digest = read_prompts(path), path.name, file_sha256(path)
    return first_of_each(every, sample) if sample else every, name, digest


def _head(suite: str, knobs: list[str]) -> str:
    """The head that the suite window is to measure; raises InputError for any other knob."""
    settings = knob_settings(knobs)
    if settings and (suite != "window" or set(settings) != {"head"}):
        raise InputError(text("cli.error.suite_rows"))
    return str(settings.get("head", ""))


def _check_suite(suite: str, rows: bool, max_new_tokens: int | None) -> None:
    """Raises InputError; ``rows``: a decoder was named."""
    if suite not in SUITES:
        raise InputError(text("cli.error.suite", suite=repr(suite[:40]), suites=", ".join(SUITES)))
    if rows:
        raise InputError(text("cli.error.suite_rows"))
    if max_new_tokens is not None and max_new_tokens < 2:
        raise InputError(text("cli.error.suite_tokens"))


def _check_given(suite: str, prompts: Path | None, dtypes: list[str]) -> None:
    """Raises InputError for prompts or dtypes that the suite does not measure."""
    if suite in OWN_PROMPTS and (prompts is not None or len(dtypes) > 1):
        raise InputError(text("cli.error.suite_own_prompts", suite=suite))
    if suite in ONE_DTYPE and len(dtypes) > 1:
        raise InputError(text("cli.error.suite_dtype", suite=suite))


def _look(job: jobs.Job, prompts: Path | None) -> None:
    """A first look: one decoder on a few prompts, one JSON object a line."""
    chosen = read_prompts(prompts) if prompts else first_look.sample(read_prompts())
    # The first run of a process pays for loading and for the first use of every kernel.
    record(replace(job, prompt=chosen[0].text, max_new_tokens=min(8, job.max_new_tokens)))
    traces = []
    for prompt in chosen:
        traces.append(record(replace(job, prompt=prompt.text)))
        typer.echo(json.dumps(first_look.result(prompt, traces[-1]), ensure_ascii=False))
    typer.echo(json.dumps(first_look.overall(traces), ensure_ascii=False))


def _dtypes(model: str, quick: bool) -> tuple[str, ...]:
    if registry.find(model).kind == "toy":
        return ("auto",)
    return SUITE_DTYPES[:1] if quick else SUITE_DTYPES


def _measure(plan: Plan) -> None:
    """Measure; the figures go to the plan's output or to standard output."""
    suite, meter, told = _suite(plan), _Meter(), False
    stages = suite.measure()
    try:
        while True:
            stage = next(stages)
            if suite.ledger.again and not told:
                told = True
                meter.clear()
                typer.echo(text("cli.bench.again", count=suite.ledger.again), err=True)
            meter.show(stage)
    except StopIteration as done:
        found = done.value
    except KeyboardInterrupt:
        if suite.ledger.path is not None:
            typer.echo(text("cli.bench.kept", path=suite.ledger.path), err=True)
        raise
    finally:
        meter.clear()
    lines = json.dumps(found, ensure_ascii=False, indent=1) + "\n"
    if plan.output is None:
        typer.echo(lines, nl=False)
    else:
        write_whole(plan.output, lines.encode())
        typer.echo(text("cli.bench.saved", path=plan.output), err=True)
    suite.ledger.remove()


def _suite(plan: Plan) -> Suite | PageSuite:
    # With the loop and its drafters: not for a first look.
    if plan.suite == "recurrent":
        from specviz.bench.recurrent import Recurrent

        return Recurrent(plan)
    if plan.suite == "window":
        from specviz.bench.window import WindowSuite

        return WindowSuite(plan)
    if plan.suite == "vlm":
        from specviz.bench.vlm import Pictures

        return Pictures(plan)
    if plan.suite == "page":
        from specviz.bench.page import PageSuite

        return PageSuite(plan)
    from specviz.bench.recap import Suite

    return Suite(plan)


class _Meter:
    """Where the suite is, on stderr: one line that is rewritten on a terminal, few elsewhere."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.last: tuple[str, str] | None = None
        self.time = 0.0
        self.width = 0

    def show(self, stage: Stage) -> None:
        """Say ``stage``; not on a terminal at most every ten seconds, but always a new part."""
        now, part = monotonic(), (stage.what, stage.dtype)
        if not self.live and part == self.last and now - self.time < 10:
            return
        self.last, self.time = part, now
        what = text(f"cli.bench.part.{stage.what}", dtype=stage.dtype)
        line = text("cli.bench.stage", what=what, done=stage.done, total=stage.total)
        if stage.left is not None:
            line += ", " + text("cli.bench.left", minutes=f"{stage.left / 60:.0f}")
        if not self.live:
            typer.echo(line, err=True)
            return
        typer.echo("\r" + line.ljust(self.width), nl=False, err=True)
        self.width = len(line)

    def clear(self) -> None:
        """Leave a clean line."""
        if self.live and self.width:
            typer.echo("\r" + " " * self.width + "\r", nl=False, err=True)
