"""The counterfactual engine: repeat a recorded run with something changed, and compare.

A cause is named only where a second run showed it. The second run has the recorded prompt, model,
settings and pass costs, so that nothing differs but what was changed and what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import specviz
from specviz import jobs
from specviz.changes import CHANGES, Change, Knobs
from specviz.compare import Comparison, compare
from specviz.drafters import DRAFTERS, create, knob_values, knobs_of
from specviz.models import registry
from specviz.models.base import InputError
from specviz.recorded import messages, moved, whole
from specviz.trace import SCHEMA, Event, Header, Recording, Run, Trace, TraceError

Decode = Callable[[jobs.Job], Iterator[Event]]
# Why a recording cannot be compared with directly, so that a control run is made.
Reason = Literal["memory", "device", "costs", "knobs", "version", "machine"]
HALF = ("bfloat16", "float16")  # whose rounding is another one where the arithmetic differs


@dataclass(frozen=True)
class Outcome:
    """What a change did. ``before``: the recording, or the control run that was made because of
    ``reasons``; ``after``: the run with the changes ``names`` and ``knobs``."""

    before: Trace
    after: Trace
    names: tuple[str, ...]
    knobs: dict[str, Any]
    reasons: tuple[Reason, ...]

    @cached_property
    def comparison(self) -> Comparison:
        """``before`` and ``after``, aligned."""
        return compare(self.before, self.after)


def offered(trace: Trace) -> tuple[Change, ...]:
    """The named changes that would change this run, in the order of the registry."""
    run = trace.run("decoder")
    if run is None or run.header.decoder not in DRAFTERS or not whole(run.header):
        return ()
    knobs = _knobs(run.header)
    return tuple(c for c in CHANGES.get(run.header.decoder, ()) if c.settings(knobs, run))


def change(
    trace: Trace, names: Sequence[str] = (), knobs: Mapping[str, Any] | None = None
) -> jobs.Job:
    """The job of a recorded run with named changes, applied in order, and knobs set to values.

    Without any it is the recorded job again. Raises TraceError for a trace that cannot be repeated
    and InputError for a change that does not exist, does not fit, that the run had already, or of
    which a later one leaves nothing.
    """
    run = _repeatable(trace)
    header = run.header
    knobs = knobs or {}
    before = _knobs(header)
    after = _applied(run, names, before)
    checked = knob_values(create(header.decoder, {**after, **knobs}))
    since = {k: checked[k] for k in knobs if checked[k] != after[k]}
    for name in names:
        if _named(header.decoder, name).undone(since, checked, run):
            settings = " and ".join(f"{k}={v}" for k, v in since.items())
            raise InputError(f"Nothing is left of {name} beside {settings}: leave one out.")
    if (names or knobs) and checked == before:
        given = " and ".join([*names, *(f"{k}={v}" for k, v in knobs.items())])
        raise InputError(f"This run had {given} already: choose another change.")
    return _job(header, checked)


def reasons(trace: Trace) -> tuple[Reason, ...]:
    """Why the recording cannot be compared with a run made now, as far as it can be told before
    one was made (``elsewhere`` tells afterwards); none: it can."""
    header = _repeatable(trace).header
    found: list[Reason] = []
    if header.memory_rows > 0:
        found.append("memory")
    if moved(header):
        found.append("device")
    elif _unpriced(header):
        found.append("costs")
    if gone(header):
        found.append("knobs")
    elif header.versions.get("specviz") != specviz.__version__:
        found.append("version")
    return tuple(found)


def elsewhere(recorded: Header, now: Header) -> bool:
    """Whether a run that began with ``now`` may round otherwise than the recorded one, so that an
    answer or a guess could differ for no other reason."""
    if now.dtype not in HALF:
        return False
    same = all(getattr(recorded, n) == getattr(now, n) for n in ("device", "machine", "packed"))
    software = ("torch", "transformers")
    return not same or any(recorded.versions.get(n) != now.versions.get(n) for n in software)


def run_counterfactual(
    trace: Trace,
    names: Sequence[str] = (),
    knobs: Mapping[str, Any] | None = None,
    *,
    control: Trace | None = None,
    decode: Decode = jobs.run,
) -> Generator[Event, None, Outcome]:
    """Repeat a recorded run with something changed; yields both runs' events, returns the outcome.

    Where ``reasons`` says so, the run is first repeated unchanged, with an empty memory, and where
    the changed run turned out to be made ``elsewhere``, afterwards; unless that ``control`` is
    given. Raises what ``change`` and ``jobs.run`` raise, and InputError as soon
    as the model turns out to be another or to read the prompt differently.
    """
    job = change(trace, names, knobs)
    why = reasons(trace)
    if why:
        if control is None:
            control = yield from repeat(trace, change(trace), decode)
        job = replace(job, costs=_header(control).costs)
    after = yield from repeat(trace, job, decode)
    # Only the run's own header says where it was made, the model being loaded by then.
    if "device" not in why and elsewhere(_header(trace), _header(after)):
        why = (*why, "machine")
        if control is None:
            control = yield from repeat(trace, change(trace), decode)
    before = trace if control is None or not why else control
    return Outcome(before, after, tuple(names), dict(knobs or {}), why)


def repeat(trace: Trace, job: jobs.Job, decode: Decode = jobs.run) -> Generator[Event, None, Trace]:
    """Run ``job``, which has to have the recorded model and prompt; returns the new trace."""
    header = _repeatable(trace).header
    recording = Recording()
    with closing(decode(job)) as events:  # type: ignore[type-var]
        for event in events:
            if isinstance(event, Header):
                _check_same(header, event)
                # The job has the prompt as one text; its document stands where it stood.
                event = event.model_copy(update={"document": header.document})
            recording.add(event)
            yield event
    return recording.trace


def _header(trace: Trace) -> Header:
    run = trace.run("decoder")
    assert run is not None  # it was repeatable, or repeated
    return run.header


def _check_same(recorded: Header, now: Header) -> None:
    if recorded.digest != now.digest:
        raise InputError(
            f"The weights of {now.model} here ({now.digest[:8]}) are not those of the recording "
            f"({recorded.digest[:8]}): only a run of the same weights can be repeated."
        )
    if recorded.tokens != now.tokens:
        raise InputError(
            f"The prompt of the recording is not the same tokens to {now.model} here "
            f"({len(recorded.tokens)} recorded, {len(now.tokens)} now): record the run again first."
        )


def _repeatable(trace: Trace) -> Run:
    run = trace.run("decoder")
    if run is None or not run.steps:
        raise TraceError("This trace has no steps to repeat: choose one that goes on longer.")
    header = run.header
    if header.decoder not in DRAFTERS:
        raise TraceError(
            f"This trace is of the decoder {header.decoder!r}, which does not exist here: "
            f"choose one of {', '.join(DRAFTERS)}."
        )
    roles = [turn.role for turn in header.messages]
    told = roles[roles[:1] == ["system"] :]
    if told != ["user", *["assistant", "user"] * (len(told) // 2)]:
        raise TraceError(
            "This trace does not hold its prompt as questions of a user and answers in turn, so it "
            "cannot be repeated: choose another one."
        )
    return run


def _applied(run: Run, names: Sequence[str], before: Knobs) -> Knobs:
    """``before`` with named changes in order; raises InputError as ``change`` does."""
    after, done = dict(before), list[Change]()
    for name in names:
        each = _named(run.header.decoder, name)
        settings = each.settings(after, run)
        if not settings and each.settings(before, run):
            others = " and ".join(c.name for c in done)
            raise InputError(f"{name} changes nothing beside {others}: leave one out.")
        if not settings:
            raise InputError(
                f"This run cannot be changed by {name}, because that is how it ran or as far as "
                f"its knobs go: choose another change."
            )
        after.update(settings)
        for earlier in done:
            if earlier.undone(settings, after, run):
                raise InputError(f"{earlier.name} and {name} contradict each other: leave one out.")
        done.append(each)
    return after


def _named(decoder: str, name: str) -> Change:
    known = {c.name: c for c in CHANGES.get(decoder, ())}
    if name not in known:
        names = ", ".join(known) or "none"
        raise InputError(f"There is no change {name!r} for {decoder}; its changes are: {names}.")
    return known[name]


def gone(header: Header) -> tuple[str, ...]:
    """Recorded knobs that the decoder has no more, or that may no longer have that value."""
    known = {k.name: k for k in knobs_of(DRAFTERS[header.decoder])}
    found = []
    for name, value in header.knobs.items():
        try:
            known[name].check(value)
        except (KeyError, InputError):
            found.append(name)
    return tuple(found)


def _knobs(header: Header) -> Knobs:
    """The recorded knobs; what is gone, or what an older recording lacks, has its default."""
    lost = gone(header)
    kept = {name: value for name, value in header.knobs.items() if name not in lost}
    return knob_values(create(header.decoder, kept))


def _job(header: Header, knobs: Knobs) -> jobs.Job:
    try:
        registry.find(header.model)
    except InputError as error:
        raise InputError(
            f"The model {header.model[:80]!r} of this trace is not here: only a run of a model "
            "that can be loaded can be repeated."
        ) from error
    *before, user = messages(header)
    system = [turn.text for turn in before if turn.role == "system"]
    old = header.trace_schema < SCHEMA  # knew nothing of packed weights
    away = moved(header)
    return jobs.Job(
        model=header.model,
        decoder=header.decoder,
        prompt=user.text,
        system=system[0] if system else None,
        knobs=knobs,
        max_new_tokens=header.max_new_tokens,
        device="auto" if away else header.device,
        dtype="auto" if away else header.dtype,
        packed=None if old or away else header.packed,
        costs=None if away else header.costs,
        baseline=False,
        scope=header.scope or "default",
        pictures=user.pictures,
        history=tuple(before[len(system) :]),
    )


def _unpriced(header: Header) -> bool:
    """Whether drafts would get other sizes now, because the recording does not say what passes
    cost. Models whose passes cost nothing worth measuring never say it."""
    if header.costs is not None or registry.find(header.model).kind == "toy":
        return False
    knobs = _knobs(header)
    fitted_tree = knobs.get("nodes") == 0 and knobs.get("tree") != "static"
    return fitted_tree or bool(knobs.get("auto"))
