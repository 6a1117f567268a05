"""Pure functions of traces. Every figure that specviz shows is defined here, once."""

from __future__ import annotations

from typing import Any

from specviz.trace import Run, Step, Trace


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
    """The baseline's decode seconds per token over the decoder's, prefill excluded."""
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    if decoder is None or baseline is None:
        return None
    return _ratio(decode_seconds_per_token(baseline), decode_seconds_per_token(decoder))


def speedup_total(trace: Trace) -> float | None:
    """The same with prefill, per emitted token."""
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    if decoder is None or baseline is None or not decoder.tokens or not baseline.tokens:
        return None
    return _ratio(
        seconds(baseline)["total"] / len(baseline.tokens),
        seconds(decoder)["total"] / len(decoder.tokens),
    )


def origins(run: Run) -> list[str]:
    """Where every emitted token came from: the source of the accepted guess, or ``target``."""
    found = [] if run.prefill is None else ["target"]
    for step in run.steps:
        found += (step.nodes[n].source for n in step.accepted)
        found += ["target"] * (len(step.emitted) - len(step.accepted))
    return found


def run_summary(run: Run) -> dict[str, Any]:
    """The figures of one run as plain data."""
    per_token = decode_seconds_per_token(run)
    return {
        "decoder": run.header.decoder,
        "prompt_tokens": len(run.header.tokens),
        "tokens": len(run.tokens),
        "target_passes": len(run.steps),
        "tau": tau(run),
        "acceptance": acceptance(run),
        "nodes_verified": sum(len(s.nodes) - 1 for s in run.steps),
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
        "passes_saved": saved,
        "equal": check.equal if check else None,
        "first_difference": check.first_difference if check else None,
        "margin": check.margin if check else None,
    }
