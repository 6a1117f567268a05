"""``specviz compare`` and ``whatif``: two runs of one prompt, recorded or made by a change."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from specviz.audit import audit
from specviz.catalog import text
from specviz.changes import Change
from specviz.cli.command import TRACE_ENDINGS, AsJson, Knobs, TraceFile, command
from specviz.compare import compare
from specviz.counterfactual import (
    Outcome,
    change,
    offered,
    run_counterfactual,
)
from specviz.files import write_whole
from specviz.models.base import InputError
from specviz.options import knob_settings
from specviz.recorder import Meter, check_writable
from specviz.trace import Event, Trace, TraceError
from specviz.tracefile import load as load_trace
from specviz.tracefile import save
from specviz.views import difference, terminal
from specviz.views.tokens import show

LONGEST_NAME = 14  # of a run beside another one on a page, in characters


@command.command("compare", help=text("cli.compare"))
def compare_command(
    first: TraceFile,
    second: Annotated[Path, typer.Argument(help=text("cli.compare.trace"))],
    as_json: AsJson = False,
    page: Annotated[Path | None, typer.Option("--html", help=text("cli.compare.html"))] = None,
) -> None:
    a, b = (_loaded(path) for path in (first, second))
    check_writable(page, (".html",))
    found = compare(a, b, (str(first), str(second)))
    names = (text("compare.name.a"), text("compare.name.b"))
    if page is not None:
        from specviz.player import Pair, export_html

        called = _called(first, second) or names
        said = tuple(difference.sentences(found, called[1]))
        pair = Pair(b, called, said)
        sound = not audit(a) and not audit(b)
        write_whole(page, export_html(a, audited=sound, pair=pair).encode())
        shown = _pictures(a, b)
        if shown:
            typer.echo(text("cli.export.pictures", count=shown), err=True)
        typer.echo(text("cli.exported", path=page), err=as_json)
    if as_json:
        typer.echo(json.dumps(difference.to_object(found), ensure_ascii=False))
        return
    _print(_lines(a, b, names, names[1]))


@command.command("whatif", help=text("cli.whatif"))
def whatif_command(
    path: TraceFile,
    named: Annotated[
        list[str] | None, typer.Option("--change", help=text("cli.whatif.change"))
    ] = None,
    knob: Knobs = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=text("cli.run.output"))
    ] = None,
    as_json: AsJson = False,
    listed: Annotated[bool, typer.Option("--list", help=text("cli.whatif.list"))] = False,
    every: Annotated[bool, typer.Option("--all", help=text("cli.whatif.all"))] = False,
) -> None:
    trace = load_trace(path)
    names, knobs = tuple(named or ()), knob_settings(knob or [])
    if listed:
        if names or knobs or output or every:
            raise InputError(text("cli.whatif.list_alone"))
        _list(offered(trace), as_json)
        return
    if every:
        if names or knobs or output:
            raise InputError(text("cli.whatif.all_alone"))
        _all(trace, as_json)
        return
    if not names and not knobs:
        raise InputError(text("cli.whatif.nothing"))
    change(trace, names, knobs)  # says what is wrong before anything is written or loaded
    if output is not None and output.resolve() == path.resolve():
        raise InputError(text("cli.whatif.same_file", path=output))
    check_writable(output, TRACE_ENDINGS)
    outcome = _followed(run_counterfactual(trace, names, knobs), trace)
    if output is not None:
        save(output, outcome.after.events)
    if as_json:
        typer.echo(json.dumps(_object(outcome), ensure_ascii=False))
        return
    phrase = difference.changes(outcome.names, outcome.knobs, outcome.after)
    before = text("compare.name.control" if outcome.reasons else "compare.name.recorded")
    lead = text("whatif.lead", change=phrase)
    _print(difference.control_lines(outcome.reasons, trace))
    _print(_lines(outcome.before, outcome.after, (before, text("compare.name.changed")), lead,
                  phrase))  # fmt: skip
    if output is not None:
        typer.echo(text("cli.saved", path=output))


def _loaded(path: Path) -> Trace:
    """A trace; of two files a refusal has to say which."""
    try:
        return load_trace(path)
    except TraceError as error:
        raise TraceError(f"{path}: {error}") from error


def _called(*paths: Path) -> tuple[str, str] | None:
    """The names of two files where there is room for them and they tell the runs apart."""
    a, b = (path.name.removesuffix(".gz").removesuffix(".jsonl") for path in paths)
    short = all(0 < len(name) <= LONGEST_NAME and name.isprintable() for name in (a, b))
    return (a, b) if short and a != b else None


def _pictures(*traces: Trace) -> int:
    """How many different pictures the runs hold."""
    runs = [trace.run("decoder") for trace in traces]
    return len({used.digest for run in runs if run is not None for used in run.header.pictures})


def _print(lines: Iterator[str]) -> None:
    for line in lines:
        typer.echo(terminal.literal(line))


def _lines(
    a: Trace, b: Trace, names: tuple[str, str], lead: str, phrase: str = ""
) -> Iterator[str]:
    found = compare(a, b)
    for side, name in zip((found.a, found.b), names, strict=True):
        yield difference.side_line(side, name)
    yield from difference.sentences(found, lead)
    titles, rows = difference.table(found, {**b.pieces, **a.pieces}, names, phrase)
    if rows:
        yield ""
        yield from _columns([titles, *rows])


def _columns(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()


def _list(found: Sequence[Change], as_json: bool) -> None:
    questions = {c.name: text(f"whatif.{c.name}") for c in found}
    if as_json:
        typer.echo(json.dumps(questions, ensure_ascii=False))
        return
    _print(_columns(list(questions.items())) if questions else iter(()))


def _followed(events: Generator[Event, None, Any], trace: Trace, label: str = "") -> Any:
    """What a generator of events returns, its progress told on stderr; where that is no terminal,
    in the one line ``label`` if there is one."""
    run = trace.run("decoder")
    meter = Meter(run.header.max_new_tokens if run else 0)
    if label and not meter.live:
        typer.echo(label, err=True)
    try:
        with closing(events):
            while True:
                try:
                    event = next(events)
                    if meter.live or not label:
                        meter.add(event)
                except StopIteration as done:
                    return done.value
    finally:
        meter.clear()


def _object(outcome: Outcome) -> dict[str, Any]:
    return {
        "changes": list(outcome.names),
        "knobs": outcome.knobs,
        "control": list(outcome.reasons),
        **difference.to_object(outcome.comparison),
    }


def _all(trace: Trace, as_json: bool) -> None:
    """Every change by itself, by how many passes it saves; then what would have had the refused."""
    change(trace)  # says what is wrong where nothing is offered
    control, outcomes, why = None, [], ()
    fitting = offered(trace)
    for i, each in enumerate(fitting, 1):
        label = text("cli.whatif.trying", done=i, total=len(fitting), name=each.name)
        events = run_counterfactual(trace, (each.name,), control=control)
        outcome = _followed(events, trace, label)
        outcomes.append(outcome)
        if outcome.reasons:  # the first one made the control run, which serves them all
            control, why = outcome.before, outcome.reasons
    outcomes.sort(key=lambda o: (o.comparison.b.passes, o.names))
    if as_json:
        typer.echo(json.dumps([_object(o) for o in outcomes], ensure_ascii=False))
        return
    _print(difference.control_lines(why, trace))
    _print(_columns(list(_effects(control or trace, outcomes))))
    typer.echo("")
    _print(_causes(control or trace, outcomes))


def _effects(before: Trace, outcomes: Sequence[Outcome]) -> Iterator[list[str]]:
    yield [text(f"compare.table.{name}") for name in ("change", "passes", "tau", "gained", "lost")]
    side = compare(before, before).a
    yield [text("compare.table.none"), str(side.passes), f"{side.tau or 0:.2f}", "", ""]
    for outcome in outcomes:
        found = outcome.comparison
        yield [
            outcome.names[0], str(found.b.passes), f"{found.b.tau or 0:.2f}",
            str(len(found.gained)), str(len(found.lost)),
        ]  # fmt: skip


def _causes(before: Trace, outcomes: Sequence[Outcome]) -> Iterator[str]:
    """For every refused position the changes that had it right; nothing else is called a cause."""
    mended: dict[int, list[str]] = {}
    for outcome in outcomes:
        for position in outcome.comparison.mended:
            mended.setdefault(position.index, []).append(outcome.names[0])
    refused = [p for p in compare(before, before).positions if p.a.outcome == "refused"]
    yield text("compare.causes")
    for p in refused:
        if p.index in mended:
            yield text(
                "compare.cause", position=p.index + 1, token=show(before.pieces.get(p.token)),
                step=p.a.step + 1, changes=", ".join(mended[p.index]),
            )  # fmt: skip
    left = sum(p.index not in mended for p in refused)
    if left:
        yield text("compare.cause.none", count=left)
