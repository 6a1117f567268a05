"""The one door through which anything is decoded: a job in, a stream of events out.

``run`` is synchronous, takes and yields plain picklable data and keeps nothing between calls, so it
can run in a thread, in a forked worker (ZeroGPU) or under the CLI alike. What lasts between runs,
the persistent memory of a drafter, is handed in and rebuilt outside from the streamed events.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import specviz
from specviz.aside import Late, Works, aside, ended
from specviz.budget import Curve
from specviz.cut import fitted, room_for
from specviz.decoding import check_abilities, check_fit, decode
from specviz.drafters import Drafter, create, knob_values
from specviz.drafters.autoregressive import Autoregressive
from specviz.equality import judge
from specviz.job import Job as Job
from specviz.models import registry
from specviz.models.base import InputError, Inputs, Message, Model, Unsupported
from specviz.probing import ProbeJob as ProbeJob
from specviz.probing import probe
from specviz.recorded import used_pictures
from specviz.trace import (
    Check,
    Costs,
    Event,
    Header,
    Progress,
    Role,
    StoredEvent,
    Trace,
    Turn,
    UsedHead,
    with_pieces,
)
from specviz.turns import ENCODE_SECONDS, LOADING, QUEUE, place, taken, turn

DISTURBED = (
    "The text of an earlier run was still being turned into tokens meanwhile, so this run may have "
    "taken longer than it needs."
)


def run(job: Job | ProbeJob) -> Generator[Event, None, None]:
    """Decode ``job``, then its baseline, then compare; yields events as they happen. A ``ProbeJob``
    decodes nothing: it yields progress, then one ``Probe``.

    Raises InputError (before the first header) when the job cannot run. Closing the generator frees
    everything; the reader marks the trace as stopped (``Recording.stop``).
    """
    if isinstance(job, ProbeJob):
        yield from probe(job)
        return
    drafter = create(job.decoder, job.knobs)
    job.messages()  # says what is wrong with the text before anything waits
    entry = registry.find(job.model)
    check_abilities(entry.label, entry.supports, drafter)  # before weights are loaded in vain
    check_sight(entry.label, entry.supports, job)
    # Loading and encoding take the device's turn too: they would disturb another job's seconds.
    lock, left = turn(place(entry, job.device))
    yield from taken(lock)
    try:
        if not (yield from ended(left, lambda: QUEUE, ENCODE_SECONDS)):
            job = replace(job, notes=(*job.notes, DISTURBED))
        load = Progress(stage="load", done=0, total=1)
        model = yield from aside(lambda: load, lambda: _loaded(job, drafter))
        messages, inputs = yield from _tokens(job, model, left)
        check_fit(model, drafter, inputs, job.max_new_tokens)
        _remember(job, drafter, model)
        costs = job.costs
        if costs is None and drafter.needs:
            costs = yield from model.measure(len(inputs.tokens) + job.max_new_tokens)
        recorded: list[Event] = []
        seen: set[int] = set()
        # Closed before the device is given to the next one, not when it is collected.
        with closing(_both(job, model, inputs, messages, drafter, costs, recorded)) as events:
            for event in events:
                event = with_pieces(event, seen, model.token_bytes, model.special_ids)
                recorded.append(event)
                yield event
    finally:
        lock.release()


def _loaded(job: Job, drafter: Drafter) -> Model:
    """The model, and beside it what the drafter needs of it: a head."""
    with LOADING:
        model = registry.load(job.model, device=job.device, dtype=job.dtype, packed=job.packed)
        check_abilities(model.label, model.supports, drafter)
        check_sight(model.label, model.supports, job)
        drafter.check(model)
        return model


def check_sight(label: str, supports: frozenset[str], job: Job) -> None:
    """Raise Unsupported when ``job`` has pictures and a model with these abilities reads none."""
    if "image" in supports or not job.all_pictures:
        return
    seeing = ", ".join(e.label for e in registry.entries() if "image" in e.supports)
    raise Unsupported(
        f"The model {label} reads no pictures: leave them out, or choose a model that does "
        f"({seeing})."
    )


def _tokens(
    job: Job, model: Model, left: Works
) -> Generator[Progress, None, tuple[tuple[Message, ...], Inputs]]:
    """What ``_encoded`` makes, in its time; raises InputError after it."""
    busy = Progress(stage="encode", done=0, total=0)  # the tokenizer does not say how far it is
    try:
        return (yield from aside(lambda: busy, lambda: _encoded(job, model), ENCODE_SECONDS, left))
    except Late:
        raise InputError(
            f"The tokenizer of {model.label} needs more than {ENCODE_SECONDS:g} s for this text: "
            "give a shorter one, the part that matters."
        ) from None


def _encoded(job: Job, model: Model) -> tuple[tuple[Message, ...], Inputs]:
    """The chat turns as the model gets them, a document that is too long cut, and their tokens."""
    if job.document is None:
        messages = job.messages()
        inputs = model.encode(messages)
        job.limits.check_prompt(len(inputs.tokens))
        return messages, inputs
    context = job.limits.room(job.context, job.max_new_tokens, model.max_context)
    room = room_for(model, context, job.max_new_tokens)
    return fitted(model, job.about, job.document, room, job.cut)


def _remember(job: Job, drafter: Drafter, model: Model) -> None:
    """Give the drafter the memory that was handed in, if it is this scope's and this model's."""
    memory = job.carried()
    if memory is None or not drafter.persistent:
        return
    if memory.scope != job.scope:
        raise InputError(
            f"The saved memory belongs to the scope {memory.scope!r}, this run to "
            f"{job.scope!r}: use that scope, or another memory."
        )
    drafter.restore(memory, model)


def _both(
    job: Job,
    model: Model,
    inputs: Inputs,
    messages: tuple[Message, ...],
    drafter: Drafter,
    costs: Costs | None,
    recorded: list[Event],
) -> Generator[Event, None, None]:
    header = _header(job, model, inputs, messages, drafter, "decoder")
    yield header.model_copy(update={"costs": costs})
    curve = None if costs is None else Curve(costs.rows, costs.seconds)
    yield from decode(model, inputs, drafter, job.max_new_tokens, curve)
    if not job.baseline:
        return
    plain = Autoregressive()
    base = _header(job, model, inputs, messages, plain, "baseline")
    reused = _reusable(job.reuse, base)
    if reused is not None:
        yield from reused
    else:
        yield base
        with closing(decode(model, inputs, plain, job.max_new_tokens)) as events:
            for event in events:
                yield event.model_copy(update={"role": "baseline"})
    trace = Trace(tuple(e for e in recorded if not isinstance(e, Progress)))
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    assert decoder is not None and baseline is not None
    verdict = yield from judge(model, inputs, decoder, baseline)
    yield verdict


def _header(
    job: Job,
    model: Model,
    inputs: Inputs,
    messages: tuple[Message, ...],
    drafter: Drafter,
    role: Role,
) -> Header:
    knobs = knob_values(drafter)
    identity: list[Any] = [
        model.digest, model.dtype, drafter.name, knobs, inputs.tokens, job.max_new_tokens,
    ]  # fmt: skip
    identity += [seen.picture.digest for seen in inputs.pictures]
    lasting = drafter.persistent
    reach = len(inputs.tokens) + job.max_new_tokens
    notes = (*job.notes, *inputs.notes, *drafter.remarks(reach))
    used = drafter.used_head()
    if used is not None:
        identity.append(used.digest)
    return Header(
        role=role,
        run=hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:12],
        decoder=drafter.name,
        knobs=knobs,
        model=model.label,
        digest=model.digest,
        device=model.device,
        dtype=model.dtype,
        machine=model.hardware,
        packed=model.packed,
        depth=model.depth,
        versions=versions(),
        messages=tuple(
            Turn(role=m.role, text=m.text, pictures=len(m.pictures)) for m in messages
        ),
        tokens=inputs.tokens,
        eos_ids=tuple(sorted(model.eos_ids)),
        blocked_ids=tuple(sorted(model.blocked_ids)),
        max_new_tokens=job.max_new_tokens,
        vocab_size=model.vocab_size,
        notes=notes if role == "decoder" else (),
        head=UsedHead(**asdict(used)) if used else None,
        document=inputs.document,
        pictures=tuple(used_pictures(inputs.pictures, role)),
        scope=job.scope if lasting else None,
        memory_rows=len(drafter.snapshot() or ()) if lasting else 0,
    )


def versions(packages: Sequence[str] = ("torch", "transformers")) -> dict[str, str]:
    """Versions of this program, of Python and of those ``packages`` that are installed."""
    found = {"specviz": specviz.__version__, "python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _reusable(events: tuple[StoredEvent, ...], header: Header) -> list[StoredEvent] | None:
    old = Trace(events).run("baseline")
    if old is None or old.finish is None or old.finish.reason not in ("eos", "length"):
        return None
    same = ("run", "device", "machine", "packed", "versions")
    if any(getattr(old.header, name) != getattr(header, name) for name in same):
        return None
    mine = [e for e in events if e.role == "baseline" and not isinstance(e, (Header, Check))]
    blank: dict[str, Any] = {"pieces": {}, "specials": ()}
    return [
        header.model_copy(update={"reused": True}),
        *(e.model_copy(update=blank) for e in mine),
    ]
