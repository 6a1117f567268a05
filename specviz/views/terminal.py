"""A trace as plain lines for a terminal: the text, the figures, one step's tree."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from specviz import sights
from specviz.catalog import text
from specviz.metrics import origins, summary, written
from specviz.trace import Header, Run, Step, Trace
from specviz.views import image_effect, sight
from specviz.views.steps import State, depths, node_states
from specviz.views.tokens import show

# A terminal obeys these; line feed and tab alone are harmless.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
MOST_REFUSED = 3  # guesses that a step's line names
MARKS: dict[State, str] = {
    "root": "•", "accepted": "✓", "rejected": "✗", "duplicate": "=", "discarded": "○",
    "not reached": "·",
}  # fmt: skip


def literal(raw: str) -> str:
    """Text that a model or a person made, with no power over the terminal."""
    return OBEYED.sub(lambda match: f"\\x{ord(match[0]):02x}", raw)


def answer(trace: Trace, run: Run) -> str:
    """What a run wrote, control tokens left out."""
    return literal(written(trace, run))


def heading(header: Header) -> str:
    """Decoder, model and machine in one line."""
    return text(
        "cli.heading",
        decoder=literal(header.decoder),
        model=literal(header.model),
        device=literal(header.device),
        dtype=literal(header.dtype),
        count=len(header.tokens),
    )


def figures(trace: Trace) -> Iterator[str]:
    """The figures of a trace, one sentence a line; those that do not exist are left out."""
    facts = summary(trace)
    mine, base = facts["decoder"], facts["baseline"]
    if mine is None:
        return
    yield text(
        "cli.tokens",
        tokens=text("view.tokens", count=mine["tokens"]),
        passes=text("view.passes", count=mine["target_passes"]),
    )
    if mine["tau"] is not None:
        yield text("cli.tau", tau=f"{mine['tau']:.2f}")
    if mine["acceptance"] is not None:
        yield text("cli.acceptance", percent=f"{100 * mine['acceptance']:.0f}")
    if mine["recycled_hits"] is not None:
        yield text("view.recycled", count=mine["recycled_hits"])
    if mine["calls_per_token"] is not None:
        yield text(
            "cli.ledger",
            calls=f"{mine['calls_per_token']:.1f}",
            depth=mine["depth"],
            applications=f"{mine['applications_per_token']:.1f}",
        )
    run = trace.run("decoder")
    assert run is not None
    yield from (literal(value) for _, value in sight.facts(run))
    seconds = {key: f"{value:.2f}" for key, value in mine["seconds"].items()}
    yield text("cli.seconds", **seconds)
    if base is not None:
        yield text("cli.baseline", count=base["tokens"], total=f"{base['seconds']['total']:.2f}")
    if facts["speedup_decode"] is not None and facts["speedup_total"] is not None:
        yield text(
            "cli.speedup",
            decode=f"{facts['speedup_decode']:.2f}",
            total=f"{facts['speedup_total']:.2f}",
        )
    yield from why(facts)
    yield from equality(trace)
    yield text(f"cli.finish.{mine['finish'] or 'open'}")


def pictures(header: Header) -> Iterator[str]:
    """Every picture of the prompt as the model got it, and what was done to it; one a line."""
    for number, used in enumerate(header.pictures, start=1):
        (width, height), given = used.size, used.given
        words: dict[str, Any] = {
            "number": number, "name": used.name, "width": width, "height": height,
            "count": used.span[1] - used.span[0],
        }  # fmt: skip
        if given is None or (given.width, given.height) == (width, height):
            line = text("cli.picture", **words)
        else:
            line = text("cli.picture.fitted", given=f"{given.width} x {given.height}", **words)
        yield " ".join((line, *used.remarks))


def probes(trace: Trace) -> Iterator[str]:
    """What was asked about the pictures afterwards, one line for each."""
    for probe in trace.probes:
        yield next(image_effect.lines(trace, probe))


def why(facts: dict[str, Any]) -> Iterator[str]:
    """Why a run was faster or slower, and how fast it could have been; measured sums only."""
    mine, parts = facts["decoder"], facts["breakdown"]
    if parts is not None:
        # Rounded so that the parts add up as they are printed.
        cost, verify = round(parts["cost"], 2), round(parts["pass"], 2)
        speed, tau = round(parts["speed"], 2), round(parts["tau"], 2)
        key = "cli.speed.why_faster" if parts["speed"] >= 1.005 else "cli.speed.why_slower"
        yield text(
            key,
            tau=f"{tau:.2f}",
            rows=f"{mine['rows_per_pass']:.1f}",
            verify=f"{verify:.2f}",
            rest=f"{cost - verify:.2f}",
            cost=f"{cost:.2f}",
            sign="=" if cost and round(tau / cost, 2) == speed else "≈",
            speed=f"{speed:.2f}",
        )
    if mine["ceiling"] is not None:
        near = parts is not None and round(parts["speed"], 2) > round(mine["ceiling"], 2)
        cost_told = {"cost": f"{mine['curve_cost']:.2f}", "count": mine["free_rows"]}
        # An estimate that the run itself just passed bounds nothing.
        if near and not facts["above_ceiling"]:
            yield text("cli.ceiling.at", **cost_told)
        else:
            yield text("cli.ceiling", ceiling=f"{mine['ceiling']:.2f}", **cost_told)
    if facts["above_ceiling"]:
        yield text("cli.ceiling.above")


def equality(trace: Trace) -> Iterator[str]:
    """How the two runs compare, in one sentence, when they were compared."""
    check = trace.check
    if check is None:
        return
    if check.equal is True:
        yield text("cli.equal.true")
    elif check.equal == "tie":
        yield text(
            "cli.equal.tie", at=check.first_difference, margin=check.margin, count=check.ties
        )
    else:
        yield text("cli.equal.false", at=check.first_difference, margin=check.margin)


def step_line(step: Step, pieces: Mapping[int, bytes]) -> str:
    """One step: how much was drafted and accepted, what it emitted, what the model refused."""
    accepted = [show(pieces.get(step.nodes[n].token)) for n in step.accepted]
    emitted = [show(pieces.get(t)) for t in step.emitted[len(accepted) :]]
    shown = " ".join([*(f"✓{t}" for t in accepted), *(f"★{t}" for t in emitted)])
    line = f"{step.index + 1:4}  {len(accepted)}/{len(step.nodes) - 1:<3} {shown}"
    return f"{line}  {refused}" if (refused := _refused(step, pieces)) else line


def _refused(step: Step, pieces: Mapping[int, bytes]) -> str:
    """What the model wanted where the walk of a step ended at refused guesses."""
    end = step.walk[-1] if step.walk else 0
    below = sorted((n for n in step.nodes if n.parent == end), key=lambda n: n.order)
    if step.clipped or not below:
        return ""
    guesses = [show(pieces.get(n.token)) for n in below[:MOST_REFUSED]]
    guesses += ["…"] * (len(below) > MOST_REFUSED)
    wanted = show(pieces.get(step.nodes[end].pick))
    return text("cli.step.refused", wanted=wanted, guesses=", ".join(guesses))


def tree_lines(step: Step, pieces: Mapping[int, bytes]) -> Iterator[str]:
    """The draft tree of a step, children under their parents in order of growth."""
    states, deep = node_states(step), depths(step)
    below: dict[int, list[int]] = {}
    for i, node in enumerate(step.nodes[1:], start=1):
        below.setdefault(node.parent, []).append(i)
    pending = [0]
    while pending:
        i = pending.pop()
        node = step.nodes[i]
        beside = (
            states[i] == "rejected"
            and states[node.parent] in ("root", "accepted")
            and any(states[n] == "accepted" for n in below[node.parent])
        )
        mark = "–" if beside else MARKS[states[i]]  # another guess there was right
        line = f"{'  ' * deep[i]}{mark} {show(pieces.get(node.token))}"
        if i:
            line += f"  {node.source}"
        if node.logp is not None:
            line += f"  p={math.exp(node.logp):.3f}"
        wanted = show(pieces.get(node.pick))
        yield line + (f"  → {wanted}" if states[i] in ("root", "accepted") else "")
        pending += sorted(below.get(i, []), key=lambda n: step.nodes[n].order, reverse=True)


def steps(run: Run, pieces: Mapping[int, bytes]) -> Iterable[str]:
    """Every step of a run in one line each."""
    return (step_line(step, pieces) for step in run.steps)


def run_object(trace: Trace) -> dict[str, Any]:
    """The figures of a trace as one flat object; ``docs/tour.md`` explains every key."""
    facts = summary(trace)
    run, mine, base = trace.run("decoder"), facts["decoder"], facts["baseline"]
    check = trace.check
    assert run is not None
    costs = run.header.costs
    equal: bool | Literal["tie"] | None = facts["equal"]
    return {
        "decoder": run.header.decoder,
        "model": run.header.model,
        "device": run.header.device,
        "dtype": run.header.dtype,
        "packed": run.header.packed,
        "prompt_tokens": mine["prompt_tokens"],
        "tokens": mine["tokens"],
        "target_passes": mine["target_passes"],
        "tau": mine["tau"],
        "rows_per_pass": mine["rows_per_pass"],
        "ceiling": mine["ceiling"],
        "acceptance": mine["acceptance"],
        "recycled_hits": mine["recycled_hits"],
        "seconds": {
            k: round(mine["seconds"][k], 6)
            for k in ("prefill", "draft", "verify", "commit", "total")
        },
        "baseline": base
        and {"tokens": base["tokens"], "seconds": round(base["seconds"]["total"], 6)},
        "speedup_decode": facts["speedup_decode"],
        "speedup_total": facts["speedup_total"],
        "equal": equal,
        "margin": facts["margin"],
        "ties": check.ties if check else None,
        "first_difference": facts["first_difference"],
        "finish": mine["finish"],
        "depth": mine["depth"],
        "calls_per_token": mine["calls_per_token"],
        "applications_per_token": mine["applications_per_token"],
        "head": run.header.head and run.header.head.model_dump(mode="json"),
        "sight": sights.overview(run),
        "knobs": run.header.knobs,
        "costs": costs and costs.model_dump(mode="json"),
        "notes": run.header.notes,
        "text": written(trace, run),
        "origins": origins(run),
    }


def memory_lines(rows: int, size: int, model: str, scope: str, deeper: int = 0) -> Iterator[str]:
    """What a saved memory holds and whom it belongs to, one fact a line; ``deeper`` of its rows
    are for the next turn of one talk."""
    yield text("cli.memory.rows", count=rows, bytes=size)
    if deeper:
        yield text("cli.memory.deeper", count=deeper)
    yield text("cli.memory.model", model=literal(model))
    yield text("cli.memory.scope", scope=literal(scope) or "–")


def valid_line(path: Path, trace: Trace) -> str:
    """What a sound trace holds, in one line."""
    run = trace.run("decoder")
    assert run is not None
    return text(
        "cli.valid",
        path=path,
        decoder=run.header.decoder,
        model=literal(run.header.model),
        tokens=text("view.tokens", count=len(run.tokens)),
        steps=text("view.steps", count=len(run.steps)),
        finish=text(f"cli.finish.{run.finish.reason if run.finish else 'open'}"),
    )
