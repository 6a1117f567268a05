"""The image counterfactual: a recorded answer read back with another picture in place of one.

The answer is not decoded again: prompt and answer go through the model teacher-forced, once with
each picture, so that every difference is the picture's. What the earlier tokens of the answer give
away stays known to the model: a token counts only for what the picture itself still decides there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from specviz.aside import Late, Works, aside, ended
from specviz.limits import NONE, Limits
from specviz.models import registry
from specviz.models.base import InputError, Inputs, Message, Model, Picture, Scores, Unsupported
from specviz.probes import Kind
from specviz.recorded import messages, moved, recorded_sight
from specviz.substitutes import replacement
from specviz.trace import (
    Event,
    Header,
    Probe,
    Progress,
    Run,
    StoredEvent,
    Trace,
    TraceError,
    with_pieces,
)
from specviz.turns import ENCODE_SECONDS, LOADING, QUEUE, place, taken, turn


@dataclass(frozen=True)
class ProbeJob:
    """One probe of the recorded decoder's run in ``events``, as plain data.

    ``replaced``: which picture of its prompt, from 0; ``other``: what stands there instead, where
    ``kind`` is "other". ``limits``: what a page allows its visitors.
    """

    events: tuple[StoredEvent, ...]
    kind: Kind = "blank"
    replaced: int = 0
    other: Picture | None = None
    limits: Limits = NONE

    def run(self) -> Run:
        """The run to read back; raises TraceError or InputError where there is nothing to ask."""
        run = Trace(self.events).run("decoder")
        if run is None or not run.tokens:
            raise TraceError("This trace holds no answer yet: choose one that goes on longer.")
        count = len(run.header.pictures)
        if not count:
            raise InputError(
                "This run was asked without a picture, so none can be replaced: choose another run."
            )
        if not 0 <= self.replaced < count:
            raise InputError(
                f"This run has no picture {self.replaced + 1}: choose one from 1 to {count}."
            )
        return run

    def check(self) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """What ``asked`` finds; raises what is wrong and can be told without the model."""
        run = self.run()
        header = run.header
        self.limits.check(len(run.tokens), len(header.pictures))
        self.limits.check_prompt(len(header.tokens))
        entry = registry.find(header.model)
        if "image" not in entry.supports:
            raise _blind(entry.label)
        return self.asked(header)

    def asked(self, header: Header) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
        """The turns of the prompt as recorded, and with the picture replaced; raises TraceError
        or InputError where the recording lacks a picture or nothing would change."""
        before = messages(header)
        pictures = [p for message in before for p in message.pictures]
        new = replacement(self.kind, pictures[self.replaced], self.other)
        after, at = [], 0
        for message in before:
            mine = tuple(
                new if at + i == self.replaced else p for i, p in enumerate(message.pictures)
            )
            at += len(mine)
            after.append(replace(message, pictures=mine))
        return before, tuple(after)


def probe(job: ProbeJob) -> Generator[Event, None, None]:
    """Read the answer of ``job`` back with both pictures; yields progress, then one Probe.

    Raises InputError or TraceError when the recording cannot be probed here: it lacks a picture,
    its model cannot see or has other weights.
    """
    run, both = job.run(), job.check()
    away = moved(run.header)
    lock, left = turn(place(registry.find(run.header.model), "auto" if away else run.header.device))
    yield from taken(lock)
    try:
        yield from ended(left, lambda: QUEUE, ENCODE_SECONDS)
        load = Progress(stage="load", done=0, total=1)
        model = yield from aside(lambda: load, lambda: _loaded(run.header, away))
        inputs = yield from _tokens(model, both, left)
        _check_same(run.header, inputs)
        found = yield from _read(model, run, inputs)
        seen = inputs[1].pictures[job.replaced]
        event = Probe(
            kind=job.kind,
            replaced=job.replaced,
            name=seen.picture.name,
            digest=seen.picture.digest,
            seen=recorded_sight(seen)[0],
            device=model.device,
            dtype=model.dtype,
            packed=model.packed,
            **found,
        )
        named = set(Trace(job.events).pieces)
        yield with_pieces(event, named, model.token_bytes, model.special_ids)
    finally:
        lock.release()


def found_by(
    job: ProbeJob, decode: Callable[[ProbeJob], Iterator[Event]]
) -> Generator[Event, None, Probe]:
    """The events of ``job``, made by ``decode`` (``jobs.run``); returns the Probe among them."""
    found: Probe | None = None
    with closing(decode(job)) as events:  # type: ignore[type-var]
        for event in events:
            if isinstance(event, Probe):
                found = event
            yield event
    assert found is not None  # it ends with one, or raises
    return found


def with_probe(trace: Trace, probe: Probe) -> Trace:
    """``trace`` with ``probe`` at its end, in place of an earlier one of the same pictures."""

    def same(event: StoredEvent) -> bool:
        return isinstance(event, Probe) and (event.kind, event.replaced, event.digest) == (
            probe.kind, probe.replaced, probe.digest,
        )  # fmt: skip

    gone = {t: p for e in trace.events if same(e) for t, p in e.pieces.items()}
    probe = probe.model_copy(update={"pieces": {**gone, **probe.pieces}})
    return Trace((*(e for e in trace.events if not same(e)), probe))


def _loaded(header: Header, away: bool) -> Model:
    """The recorded model, on the recorded device where that can be had."""
    with LOADING:
        model = registry.load(
            header.model,
            device="auto" if away else header.device,
            dtype="auto" if away else header.dtype,
            packed=None if away else header.packed,
        )
    if "image" not in model.supports:
        raise _blind(model.label)
    if model.digest != header.digest:
        raise InputError(
            f"The weights of {model.label} here ({model.digest[:8]}) are not those of the "
            f"recording ({header.digest[:8]}): only a run of the same weights can be probed."
        )
    return model


def _blind(label: str) -> Unsupported:
    return Unsupported(
        f"The model {label} sees no pictures: choose a run of a model that supports image."
    )


def _tokens(
    model: Model, both: tuple[tuple[Message, ...], tuple[Message, ...]], left: Works
) -> Generator[Progress, None, tuple[Inputs, Inputs]]:
    busy = Progress(stage="encode", done=0, total=0)
    try:
        before, after = yield from aside(
            lambda: busy, lambda: tuple(map(model.encode, both)), ENCODE_SECONDS, left
        )
    except Late:
        raise InputError(
            f"{model.label} needs more than {ENCODE_SECONDS:g} s to encode this prompt: choose a "
            "run with a shorter one."
        ) from None
    return before, after


def _check_same(header: Header, inputs: tuple[Inputs, Inputs]) -> None:
    before, after = inputs
    if before.tokens != header.tokens:
        raise InputError(
            f"The prompt of the recording is not the same tokens here ({len(header.tokens)} "
            f"recorded, {len(before.tokens)} now): record the run again first."
        )
    if after.tokens != before.tokens:
        raise InputError(
            f"With the other picture the prompt has {len(after.tokens)} tokens instead of "
            f"{len(before.tokens)}, so the answers cannot be compared: choose another picture."
        )


def _read(
    model: Model, run: Run, inputs: tuple[Inputs, Inputs]
) -> Generator[Progress, None, dict[str, Any]]:
    """The columns of a Probe."""
    start, end = len(run.header.tokens), len(run.header.tokens) + len(run.tokens)
    found: list[Scores] = []
    session = model.open()
    try:
        for number, each in enumerate(inputs):
            tokens = (*each.tokens, *run.tokens)
            with closing(session.score(tokens, each.pixels)) as steps:
                found.append((yield from _counted(steps, number * end, 2 * end)))
    finally:
        session.close()
    before, after = found

    def own(scores: Scores) -> tuple[float, ...]:
        logps = scores.own_logps[start:end]
        assert None not in logps  # only the first token of all has none
        return tuple(logp for logp in logps if logp is not None)

    return {
        "picks": after.picks[start - 1 : end - 1],
        "kept": before.picks[start - 1 : end - 1],
        "logps": own(after),
        "kept_logps": own(before),
    }


def _counted(
    steps: Generator[Progress, None, Scores], done: int, total: int
) -> Generator[Progress, None, Scores]:
    """``steps`` of one reading as part of all of them."""
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            scores: Scores = end.value
            return scores
        yield Progress(stage="probe", done=done + step.done, total=total)
