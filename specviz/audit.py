"""Does a trace obey the rules of the decoding loop? Facts against facts, no model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from specviz import audit_head, audit_pictures
from specviz.compare import first_difference
from specviz.evidence import Cell, Round, WaveEvidence, WindowEvidence
from specviz.trace import Run, Step, Trace


def audit(trace: Trace) -> tuple[str, ...]:
    """What in ``trace`` cannot have happened, one sentence each; empty for a sound trace."""
    found: list[str] = []
    for role in ("decoder", "baseline"):
        run = trace.run(role)
        if run is not None:
            found += (f"The {role}'s {finding}" for finding in _run(run))
    found += _comparison(trace)
    found += _probes(trace)
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
    yield from audit_pictures.pictures(run.header)
    if run.prefill is None:
        if run.steps:
            yield "steps come before its prompt was read."
        return
    ends = set(run.header.eos_ids)
    emitted = 1
    last = run.prefill.token
    for index, step in enumerate(run.steps):
        if step.index != index:
            yield f"step {step.index} stands where step {index} belongs."
        if last in ends:
            yield f"step {index} comes after an end token."
        if step.nodes[0].token != last:
            yield f"step {index} does not start from the last emitted token."
        yield from _walk(step)
        if isinstance(step.evidence, WaveEvidence):
            found: Iterable[str] = (
                *_wave(step, step.evidence),
                *_cells(step.evidence, run.header.depth),
            )
            yield from (f"step {index} {finding}" for finding in found)
        if isinstance(step.evidence, WindowEvidence):
            there = len(run.header.tokens) + emitted - 1
            found = audit_head.step(run.header, step, step.evidence, there)
            yield from (f"step {index} {finding}" for finding in found)
        emitted += len(step.emitted)
        last = step.emitted[-1]
        if ends & set(step.emitted[:-1]):
            yield f"step {index} emits tokens after an end token."
        ended = last in ends or emitted >= run.header.max_new_tokens
        if step.emitted != _whole(step) and not ended:
            yield f"step {index} is cut short although the run goes on."
        if step.cache_length != len(run.header.tokens) + emitted - 1:
            yield f"step {index} leaves {step.cache_length} tokens in the cache, not one less."
    if emitted > run.header.max_new_tokens:
        yield f"run emits {emitted} tokens, its limit is {run.header.max_new_tokens}."
    yield from audit_head.cache(run)
    yield from _end(run, emitted, last in ends)


def _end(run: Run, emitted: int, ended: bool) -> Iterator[str]:
    if run.finish is None:
        return
    if run.finish.tokens != emitted:
        yield f"end counts {run.finish.tokens} tokens, its steps emit {emitted}."
    limit = run.header.max_new_tokens
    if run.finish.reason == "length" and emitted != limit:
        yield f"run stops at its limit of {limit} with {emitted} tokens."
    if run.finish.reason == "eos" and not ended:
        yield "run ends as if by an end token, its last token is none."
    if run.finish.reason == "length" and ended:
        yield "run ends as if at its limit, its last token is an end token."


def _walk(step: Step) -> Iterator[str]:
    at = 0
    for node in step.walk:
        if step.nodes[node].parent != at or step.nodes[node].token != step.nodes[at].pick:
            yield f"step {step.index} accepts node {node}, which the model did not pick."
            return
        at = node
    pick = step.nodes[at].pick
    if any(node.parent == at and node.token == pick for node in step.nodes):
        yield f"step {step.index} stops before a guess that the model picked."
    if step.emitted != _whole(step)[: len(step.emitted)]:
        yield f"step {step.index} emits other tokens than it accepted."


def _wave(step: Step, wave: WaveEvidence) -> Iterator[str]:
    """Whether the rounds, the draft and the ledger of a wave tell the same story."""
    calls = applications = readouts = 0
    before: tuple[int, ...] = ()
    for number, made in enumerate(wave.rounds, start=1):
        tokens = tuple(cell.token for cell in made.cells)
        if not len(before) <= len(tokens) or not made.parked <= len(before):
            yield f"loses or parks positions in round {number} that it does not have."
            return
        if tokens[: made.parked] != before[: made.parked]:
            yield f"changes guesses in round {number} that it did not compute."
        calls += made.iterations
        applications += made.iterations * (len(tokens) - made.parked)
        readouts += len(tokens) - made.parked
        before = tokens
    if (calls, applications, readouts) != (wave.calls, wave.applications, wave.readouts):
        yield "counts other work than its rounds took."
    drafted = tuple(node.token for node in step.nodes[1:])
    if drafted != before[: len(drafted)]:
        yield "verifies other guesses than those of its last round."


def _cells(wave: WaveEvidence, depth: int | None) -> Iterator[str]:
    """Whether a wave's depths and the ages and states of its cells can be; one finding of each."""
    if wave.depth < 1 or depth not in (None, wave.depth):
        yield f"drafts with a model of {wave.depth} iterations, the run has {depth}."
    for name, read in (("keys", wave.keys), ("values", wave.values)):
        if read > wave.depth:
            yield f"reads {name} of iteration {read}, the full pass has {wave.depth}."
    before: tuple[Cell, ...] = ()
    for number, made in enumerate(wave.rounds, start=1):
        for at, cell in enumerate(made.cells):
            if not 0 <= cell.probability <= 1.001:
                yield f"gives a guess in round {number} a probability of {cell.probability:g}."
                return
            known = before[at] if at < len(before) else None
            if (cell.age, cell.state) != _expected(wave, made, at, cell.token, known):
                yield f"tells guess {at + 1} in round {number} another age or state than it has."
                return
        before = made.cells


def _expected(
    wave: WaveEvidence, made: Round, at: int, token: int, known: Cell | None
) -> tuple[int, str]:
    """Age and state of position ``at``, which had ``known`` in the round before."""
    if known is None:
        return made.iterations, "new"
    if at < made.parked:
        return known.age, "frozen"
    carried = known.age if wave.carry else 0
    return carried + made.iterations, "same" if token == known.token else "changed"


def _whole(step: Step) -> tuple[int, ...]:
    """What a step emits where nothing cuts it: the walk and the pick after it."""
    end = step.walk[-1] if step.walk else 0
    return (*(step.nodes[n].token for n in step.walk), step.nodes[end].pick)


def _probes(trace: Trace) -> Iterator[str]:
    """Whether what was read back is this answer, with a picture that the prompt has."""
    run = trace.run("decoder")
    for number, probe in enumerate(trace.probes, start=1):
        if run is None or len(probe.picks) != len(run.tokens):
            tokens = len(run.tokens) if run else 0
            yield f"Probe {number} reads back {len(probe.picks)} tokens, the answer has {tokens}."
            continue
        recorded = run.header.pictures[probe.replaced]
        if probe.digest == recorded.digest:
            yield f"Probe {number} replaces a picture by itself."
        seen = recorded.seen
        if seen is None or (probe.seen.width, probe.seen.height) != (seen.width, seen.height):
            yield f"Probe {number} shows the model a picture of another size."
        yield from (f"The picture of probe {number} {f}" for f in audit_pictures.png(probe.seen))
        unnamed = sorted({*probe.picks, *probe.kept} - trace.pieces.keys())
        if unnamed:
            yield f"The bytes of token {unnamed[0]} are missing."


def _comparison(trace: Trace) -> Iterator[str]:
    decoder, baseline, check = trace.run("decoder"), trace.run("baseline"), trace.check
    if decoder is not None and baseline is not None:
        for name in ("tokens", "digest", "dtype", "max_new_tokens", "eos_ids"):
            if getattr(decoder.header, name) != getattr(baseline.header, name):
                yield f"The two runs cannot be compared: their headers differ in {name}."
        mine, other = ([p.digest for p in r.header.pictures] for r in (decoder, baseline))
        if mine != other:
            yield "The two runs cannot be compared: they had other pictures."
    if check is None:
        return
    if decoder is None or baseline is None:
        yield "The comparison stands without two runs."
        return
    at = first_difference(decoder.tokens, baseline.tokens)
    if check.first_difference != at:
        yield f"The comparison finds a difference at {check.first_difference}, it is at {at}."
    if (check.equal is True) != (at is None):
        told = {True: "equal", "tie": "tied", False: "unequal"}[check.equal]
        yield f"The comparison calls {'other' if at is not None else 'the same'} tokens {told}."
    if check.equal == "tie" and (
        check.margin is None or check.cap is None or not 0 <= check.margin <= check.cap
    ):
        yield f"The comparison calls a margin of {check.margin} a tie, its cap is {check.cap}."
    if check.equal == "tie" and at is not None and at >= len(decoder.tokens):
        yield "The comparison calls a text that ends too early a tie."
    ended = all(r.finish and r.finish.reason in ("eos", "length") for r in (decoder, baseline))
    if check.complete != ended:
        yield f"The comparison says {'whole' if check.complete else 'cut'} runs, they are not."
