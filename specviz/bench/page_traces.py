"""Traces as long as the page has to bear, made from recorded steps, so that they are real ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from specviz.trace import Finish, Header, Prefill, Run, Step, StoredEvent, Trace
from specviz.tracefile import load

EXAMPLES = Path(__file__).parents[2] / "examples"
REPEATED = "tea"  # RECAP: trees of some twenty guesses, with what every memory level answered
DOCUMENT = "head-7000"  # a drafter head behind a document of 6 904 tokens
LENGTHS = (50, 500, 2_000)


@dataclass(frozen=True)
class LongTrace:
    """A trace to show; ``name`` is also what its figures are called."""

    name: str
    trace: Trace

    @property
    def steps(self) -> int:
        """Steps of the decoder."""
        run = self.trace.run("decoder")
        return len(run.steps) if run else 0

    @property
    def context(self) -> int:
        """Tokens of the prompt."""
        run = self.trace.run("decoder")
        return len(run.header.tokens) if run else 0


def page_traces(folder: Path = EXAMPLES) -> tuple[LongTrace, ...]:
    """The traces of the suite, each made anew with the same bytes; raises TraceError."""
    source = load(folder / f"{REPEATED}.jsonl.gz")
    made = [LongTrace(f"{n} steps", prolonged(source, n)) for n in LENGTHS]
    return (*made, LongTrace("document", load(folder / f"{DOCUMENT}.jsonl.gz")))


def prolonged(trace: Trace, steps: int) -> Trace:
    """``trace`` with its steps told again and again until there are ``steps`` of them.

    Both runs end with the same number of tokens as far as whole passes of the baseline allow. What
    only holds for the recorded run, its check and its probes, is left out.
    """
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    if decoder is None or not decoder.steps:
        return trace
    told = _told(decoder, steps)
    events = told
    if baseline is not None and baseline.steps:
        count = sum(len(e.emitted) for e in told if isinstance(e, Step))
        events = [*told, *_told(baseline, count)]
    return Trace(tuple(events))


def _told(run: Run, steps: int) -> list[StoredEvent]:
    """Header, prefill, ``steps`` steps and the end of a run that repeats those of ``run``."""
    made: list[Step] = []
    length = run.steps[0].cache_length - len(run.steps[0].emitted)
    for step in islice(cycle(run.steps), steps):
        length += len(step.emitted)
        here: dict[str, Any] = {"index": len(made), "cache_length": length}
        if len(made) >= len(run.steps):  # a token's bytes are told once
            here |= {"pieces": {}, "specials": ()}
        made.append(step.model_copy(update=here))
    seconds = sum(step.seconds.total for step in made)
    tokens = 1 + sum(len(step.emitted) for step in made)
    header = run.header.model_copy(update={"max_new_tokens": tokens})
    end = Finish(role=run.header.role, reason="length", tokens=tokens, seconds=seconds)
    first: list[Header | Prefill] = [header]
    if run.prefill is not None:
        first.append(run.prefill)
    return [*first, *made, end]
