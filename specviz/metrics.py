"""Pure functions of traces. Every figure that specviz shows is defined here, once; those of
recurrent depth in waves.py."""

from __future__ import annotations

from typing import Any

from specviz.budget import Curve
from specviz.evidence import Candidate, Hit, Lookup, MemoryEvidence
from specviz.trace import Run, Step, Trace
from specviz.waves import applications, core_calls

NOISE = 1.1  # a run may come out a tenth above its ceiling: both were timed on a living machine
NEARLY_FREE = 1.1  # passes of one row: up to there a wider pass hardly costs more


def tested(step: Step) -> int:
    """Drafted positions whose guess was put to the test: the accepted ones, and one more where
    the walk stopped at a node that had children."""
    accepted = len(step.accepted)
    if step.clipped:
        return accepted
    end = step.walk[-1] if step.walk else 0
    return accepted + any(node.parent == end for node in step.nodes)


def tau(run: Run) -> float | None:
    """Tokens emitted by steps, after clipping, per step; the prefill's own token is not counted."""
    if not run.steps:
        return None
    return sum(len(s.emitted) for s in run.steps) / len(run.steps)


def acceptance(run: Run) -> float | None:
    """Accepted drafts per tested position; None when nothing was tested."""
    total = sum(map(tested, run.steps))
    return sum(len(s.accepted) for s in run.steps) / total if total else None


def seconds(run: Run) -> dict[str, float]:
    """Seconds by kind of work; ``decode`` is everything after prefill, ``total`` all of it."""
    prefill = run.prefill.seconds if run.prefill else 0.0
    decode = sum(s.seconds.total for s in run.steps)
    return {
        "prefill": prefill,
        "draft": sum(s.seconds.draft for s in run.steps),
        "verify": sum(s.seconds.verify for s in run.steps),
        "commit": sum(s.seconds.commit for s in run.steps),
        "decode": decode,
        "total": prefill + decode,
    }


def decode_seconds_per_token(run: Run) -> float | None:
    """Seconds after prefill per token emitted by steps."""
    tokens = sum(len(s.emitted) for s in run.steps)
    return seconds(run)["decode"] / tokens if tokens else None


def _ratio(baseline: float | None, decoder: float | None) -> float | None:
    return baseline / decoder if baseline and decoder else None


def speedup_decode(trace: Trace) -> float | None:
    """The baseline's decode seconds per token over the decoder's, prefill excluded.

    None before the baseline has ended: its first tokens alone would give a verdict that changes.
    """
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    if decoder is None or baseline is None or baseline.finish is None:
        return None
    return _ratio(decode_seconds_per_token(baseline), decode_seconds_per_token(decoder))


def speedup_total(trace: Trace) -> float | None:
    """The same with prefill, per emitted token."""
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    if decoder is None or baseline is None or not decoder.tokens or baseline.finish is None:
        return None
    if not baseline.tokens:
        return None
    return _ratio(
        seconds(baseline)["total"] / len(baseline.tokens),
        seconds(decoder)["total"] / len(decoder.tokens),
    )


def curve(run: Run) -> Curve | None:
    """c*(n), measured before the run in units of a single-row pass; None where it was not."""
    costs = run.header.costs
    return None if costs is None else Curve(costs.rows, costs.seconds)


def rows_per_pass(run: Run) -> float | None:
    """Mean rows of a verification pass: the last emitted token and all guesses below it."""
    return sum(len(s.nodes) for s in run.steps) / len(run.steps) if run.steps else None


def curve_cost(run: Run) -> float | None:
    """Mean of c*(rows) over the passes of a run: what they should cost in single-row passes."""
    costs = curve(run)
    if costs is None or not run.steps:
        return None
    return sum(costs(len(s.nodes)) for s in run.steps) / len(run.steps)


def ceiling(run: Run) -> float | None:
    """The speed-up had guessing and upkeep been free and every pass cost what the curve says.

    Tokens emitted by steps / sum of c*(rows of the step), prefill excluded; None without a curve.
    """
    tokens, cost = tau(run), curve_cost(run)
    return tokens / cost if tokens and cost else None


def free_rows(run: Run) -> int | None:
    """The most rows measured whose pass is at most a tenth dearer than that of one row."""
    costs = curve(run)
    if costs is None:
        return None
    return max(n for n, c in zip(costs.rows, costs.costs, strict=True) if c <= NEARLY_FREE)


def breakdown(trace: Trace) -> dict[str, float] | None:
    """Why a run was as fast as it was: ``tau`` / ``cost`` = ``speed``, measured seconds only.

    Costs are those of one step in plain tokens, the baseline's decode seconds per token: ``cost`` =
    ``pass`` (verifying) + ``draft`` (guessing, memory updates) + ``upkeep`` (keeping rows, the
    loop). ``prefill`` is the share of reading the prompt in the decoder's seconds, which ``speed``
    (``speedup_decode``) leaves out. None while there is no baseline to compare with.
    """
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    if decoder is None or baseline is None or baseline.finish is None:
        return None
    tokens, plain = tau(decoder), decode_seconds_per_token(baseline)
    spent = seconds(decoder)
    if not tokens or not plain or not spent["decode"]:
        return None
    unit = plain * len(decoder.steps)
    return {
        "speed": tokens * unit / spent["decode"],
        "tau": tokens,
        "cost": spent["decode"] / unit,
        "pass": spent["verify"] / unit,
        "draft": spent["draft"] / unit,
        "upkeep": (spent["decode"] - spent["verify"] - spent["draft"]) / unit,
        "prefill": spent["prefill"] / spent["total"],
    }


def above_ceiling(trace: Trace) -> bool:
    """Whether the decode speed-up lies more than a tenth above the ceiling: then something
    disturbed the plain run, or the measuring of what a pass costs."""
    run, speed = trace.run("decoder"), speedup_decode(trace)
    most = ceiling(run) if run is not None else None
    return speed is not None and most is not None and speed > NOISE * most


def origins(run: Run) -> list[str]:
    """Where every emitted token came from: the source of the accepted guess, or ``target``."""
    found = [] if run.prefill is None else ["target"]
    for step in run.steps:
        found += (step.nodes[n].source for n in step.accepted)
        found += ["target"] * (len(step.emitted) - len(step.accepted))
    return found


def given(step: Step) -> dict[int, tuple[Lookup, Candidate]]:
    """For every node that a memory's mixed answer became: the answer, and its candidate there."""
    if not isinstance(step.evidence, MemoryEvidence):
        return {}
    return {
        candidate.node: (lookup, candidate)
        for lookup in step.evidence.lookups
        if lookup.expanded
        for candidate in lookup.candidates
        if candidate.node > 0
    }


def foremost(lookup: Lookup, candidate: Candidate) -> Hit | None:
    """The row that gave most of a candidate's probability; None for a copied continuation."""
    return next((h for h in lookup.hits if h.level == candidate.level), None)


def recycled(step: Step) -> tuple[int, ...]:
    """Accepted nodes that a refused branch had foretold: the row that gave most of the guess was
    written by a node that the walk of its step did not reach or accept."""
    answers = given(step)
    found = []
    for node in step.accepted:
        row = foremost(*answers[node]) if node in answers else None
        if row is not None and not row.written.accepted:
            found.append(node)
    return tuple(found)


def recycled_hits(run: Run) -> int | None:
    """Accepted guesses whose foremost memory row a refused branch had written, in this run or (a
    lasting memory) an earlier one; None for a decoder that keeps no memory."""
    if not any(isinstance(s.evidence, MemoryEvidence) for s in run.steps):
        return None
    return sum(len(recycled(s)) for s in run.steps)


def run_summary(run: Run) -> dict[str, Any]:
    """The figures of one run as plain data."""
    per_token = decode_seconds_per_token(run)
    calls, work = core_calls(run), applications(run)
    return {
        "decoder": run.header.decoder,
        "prompt_tokens": len(run.header.tokens),
        "tokens": len(run.tokens),
        "target_passes": len(run.steps),
        "tau": tau(run),
        "acceptance": acceptance(run),
        "nodes_verified": sum(len(s.nodes) - 1 for s in run.steps),
        "rows_per_pass": rows_per_pass(run),
        "curve_cost": curve_cost(run),
        "free_rows": free_rows(run),
        "ceiling": ceiling(run),
        "recycled_hits": recycled_hits(run),
        "depth": run.header.depth,
        "calls_per_token": calls and calls.per_token,
        "applications_per_token": work and work.per_token,
        "ms_per_token": None if per_token is None else 1000 * per_token,
        "seconds": seconds(run),
        "finish": run.finish.reason if run.finish else None,
    }


def summary(trace: Trace) -> dict[str, Any]:
    """The figures of a trace as plain data: the decoder's, the baseline's, and their ratio."""
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    check = trace.check
    saved = None
    if decoder is not None and baseline is not None and decoder.finish and baseline.finish:
        saved = len(baseline.steps) - len(decoder.steps)
    return {
        "decoder": run_summary(decoder) if decoder else None,
        "baseline": run_summary(baseline) if baseline else None,
        "speedup_decode": speedup_decode(trace),
        "speedup_total": speedup_total(trace),
        "breakdown": breakdown(trace),
        "above_ceiling": above_ceiling(trace),
        "passes_saved": saved,
        "equal": check.equal if check else None,
        "first_difference": check.first_difference if check else None,
        "margin": check.margin if check else None,
    }


def written(trace: Trace, run: Run) -> str:
    """The raw text of a run, control tokens left out, broken bytes replaced."""
    special = {t for event in trace.events for t in event.specials}
    raw = b"".join(trace.pieces.get(t, b"") for t in run.tokens if t not in special)
    return raw.decode("utf-8", "replace")
