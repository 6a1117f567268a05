"""Does a trace obey the rules of the decoding loop? Facts against facts, no model."""

from __future__ import annotations

from collections.abc import Iterator

from specviz.trace import Run, Step, Trace


def audit(trace: Trace) -> tuple[str, ...]:
    """What in ``trace`` cannot have happened, one sentence each; empty for a sound trace."""
    found: list[str] = []
    for role in ("decoder", "baseline"):
        run = trace.run(role)
        if run is not None:
            found += (f"The {role}'s {finding}" for finding in _run(run))
    unnamed = sorted({t for run in _runs(trace) for t in run.tokens} - trace.pieces.keys())
    if unnamed:
        found.append(f"The bytes of token {unnamed[0]} are missing.")
    return tuple(found)


def _runs(trace: Trace) -> Iterator[Run]:
    for role in ("decoder", "baseline"):
        run = trace.run(role)
        if run is not None:
            yield run


def _run(run: Run) -> Iterator[str]:
    if run.prefill is None:
        if run.steps:
            yield "steps come before its prompt was read."
        return
    emitted = 1
    last = run.prefill.token
    for index, step in enumerate(run.steps):
        if step.index != index:
            yield f"step {step.index} stands where step {index} belongs."
        if step.nodes[0].token != last:
            yield f"step {index} does not start from the last emitted token."
        yield from _walk(step, final=index == len(run.steps) - 1)
        emitted += len(step.emitted)
        last = step.emitted[-1] if step.emitted else last
        if step.cache_length != len(run.header.tokens) + emitted - 1:
            yield f"step {index} leaves {step.cache_length} tokens in the cache, not one less."
    if emitted > run.header.max_new_tokens:
        yield f"run emits {emitted} tokens, its limit is {run.header.max_new_tokens}."
    if run.finish is not None and run.finish.tokens != emitted:
        yield f"end counts {run.finish.tokens} tokens, its steps emit {emitted}."
    limited = run.finish is not None and run.finish.reason == "length"
    if limited and emitted != run.header.max_new_tokens:
        yield f"run stops at its limit of {run.header.max_new_tokens} with {emitted} tokens."


def _walk(step: Step, final: bool) -> Iterator[str]:
    at = 0
    for node in step.walk:
        if step.nodes[node].parent != at or step.nodes[node].token != step.nodes[at].pick:
            yield f"step {step.index} accepts node {node}, which the target did not pick."
            return
        at = node
    pick = step.nodes[at].pick
    if any(node.parent == at and node.token == pick for node in step.nodes):
        yield f"step {step.index} stops before a guess that the target picked."
    whole = (*(step.nodes[n].token for n in step.walk), pick)
    if not step.emitted or step.emitted != whole[: len(step.emitted)]:
        yield f"step {step.index} emits other tokens than it accepted."
    elif len(step.emitted) < len(whole) and not final:
        yield f"step {step.index} is cut short although the run goes on."
