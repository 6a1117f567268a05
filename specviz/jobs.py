"""The one door through which anything is decoded: a job in, a stream of events out.

``run`` is synchronous, takes and yields plain picklable data and keeps nothing between calls, so it
can run in a thread, in a forked worker (ZeroGPU) or under the CLI alike. What lasts between runs,
the persistent memory of a drafter, is handed in and rebuilt outside from the streamed events.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import threading
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import specviz
from specviz.compare import first_difference
from specviz.decoding import check_fit, decode
from specviz.drafters import Drafter, create, knob_values
from specviz.drafters.autoregressive import Autoregressive
from specviz.drafters.memory import Snapshot
from specviz.inputs import check_prompt, check_text, document_prompt
from specviz.models import registry
from specviz.models.base import InputError, Inputs, Message, Model
from specviz.trace import (
    Check,
    Event,
    Header,
    Prefill,
    Progress,
    Role,
    Run,
    Step,
    StoredEvent,
    Trace,
    Turn,
    with_pieces,
)

_locks: dict[str, threading.Lock] = {}
_locks_guard = threading.Lock()


@dataclass(frozen=True)
class Job:
    """One request, as plain data.

    ``model`` is a registry label, a hub id or a local folder. With a ``document`` the prompt is the
    question about it. ``reuse`` may hold the events of an earlier trace whose baseline is repeated
    instead of run again when model, prompt, settings and machine are the same.
    """

    model: str = "smollm2-135m"
    decoder: str = "recap"
    prompt: str = ""
    document: str | None = None
    system: str | None = None
    knobs: Mapping[str, Any] = field(default_factory=dict)
    max_new_tokens: int = 128
    device: str = "auto"
    dtype: str = "auto"
    baseline: bool = True
    reuse: tuple[StoredEvent, ...] = ()
    memory: Snapshot | None = None
    scope: str = "default"
    notes: tuple[str, ...] = ()

    def messages(self) -> tuple[Message, ...]:
        """The chat turns that this job stands for; raises InputError on a blank prompt."""
        check_prompt(self.prompt)
        for what, words in (("system prompt", self.system), ("scope", self.scope)):
            if words:
                check_text(what, words, "leave it out")
        text = self.prompt
        if self.document is not None:
            text = document_prompt(self.document, self.prompt)
        system = [Message("system", self.system)] if self.system else []
        return (*system, Message("user", text))


def run(job: Job) -> Generator[Event, None, None]:
    """Decode ``job``, then its baseline, then compare; yields events as they happen.

    Raises InputError (before the first header) when the job cannot run. Closing the generator frees
    everything; the reader marks the trace as stopped (``Recording.stop``).
    """
    drafter = create(job.decoder, job.knobs)
    messages = job.messages()
    # Loading and encoding take the device's turn too: they would disturb another job's seconds.
    lock = _device_lock(_device(job))
    while not lock.acquire(timeout=0.2):
        yield Progress(stage="queue", done=0, total=1)
    try:
        yield Progress(stage="load", done=0, total=1)
        model = registry.load(job.model, device=job.device, dtype=job.dtype)
        yield Progress(stage="encode", done=0, total=1)
        inputs = model.encode(messages)
        check_fit(model, drafter, inputs, job.max_new_tokens)
        _remember(job, drafter, model)
        recorded: list[Event] = []
        seen: set[int] = set()
        for event in _both(job, model, inputs, messages, drafter, recorded):
            event = with_pieces(event, seen, model.token_bytes, model.special_ids)
            recorded.append(event)
            yield event
    finally:
        lock.release()


def _device(job: Job) -> str:
    # A toy has a device of its own; asking for it must not import torch.
    entry = registry.find(job.model)
    if entry.kind == "toy":
        return next(iter(entry.dtypes))
    return registry.resolve_device(job.device)


def _remember(job: Job, drafter: Drafter, model: Model) -> None:
    """Give the drafter the memory that was handed in, if it is this scope's and this model's."""
    if job.memory is None or not drafter.persistent:
        return
    if job.memory.scope != job.scope:
        raise InputError(
            f"The saved memory belongs to the scope {job.memory.scope!r}, this run to "
            f"{job.scope!r}: use that scope, or another memory."
        )
    drafter.restore(job.memory, model)


def _both(
    job: Job,
    model: Model,
    inputs: Inputs,
    messages: tuple[Message, ...],
    drafter: Drafter,
    recorded: list[Event],
) -> Iterator[Event]:
    header = _header(job, model, inputs, messages, drafter, "decoder")
    yield header
    yield from decode(model, inputs, drafter, job.max_new_tokens)
    if not job.baseline:
        return
    plain = Autoregressive()
    base = _header(job, model, inputs, messages, plain, "baseline")
    reused = _reusable(job.reuse, base)
    if reused is not None:
        yield from reused
    else:
        yield base
        for event in decode(model, inputs, plain, job.max_new_tokens):
            yield event.model_copy(update={"role": "baseline"})
    trace = Trace(tuple(e for e in recorded if not isinstance(e, Progress)))
    decoder, baseline = trace.run("decoder"), trace.run("baseline")
    assert decoder is not None and baseline is not None
    verdict = yield from judge(model, inputs, decoder, baseline)
    yield verdict


def judge(
    model: Model, inputs: Inputs, decoder: Run, baseline: Run
) -> Generator[Progress, None, Check]:
    """Compare two finished runs, yielding progress.

    A difference is a tie only if every token of the decoder's text lies within an absolute cap of
    the target's best when the text is read back teacher-forced.
    """
    complete = all(r.finish is not None and r.finish.reason in ("eos", "length")
                   for r in (decoder, baseline))  # fmt: skip
    at = first_difference(decoder.tokens, baseline.tokens)
    if at is None:
        return Check(equal=True, complete=complete)
    session = model.open()
    try:
        scores = yield from session.score((*inputs.tokens, *decoder.tokens))
    finally:
        session.close()
    start = len(inputs.tokens)
    gaps, caps, ties = [], [], 0
    for i, token in enumerate(decoder.tokens, start=start):
        own = scores.own_logps[i]
        assert own is not None
        best = scores.picks[i - 1] == token
        ties += not best  # also where the record's precision hides the gap
        gaps.append(0.0 if best else scores.top_logps[i - 1][0] - own)
        caps.append(tie_cap(model.dtype, scores.peaks[i - 1]))
    # A text that ends before the other one lacks tokens: no rounding explains that.
    within = at < len(gaps) and all(g <= c for g, c in zip(gaps, caps, strict=True))
    where = min(at, len(gaps) - 1)
    equal: Literal["tie", False] = "tie" if within else False
    return Check(
        equal=equal,
        first_difference=at,
        margin=round(gaps[where], 4),
        cap=round(caps[where], 4),
        ties=ties,
        complete=complete,
    )


def tie_cap(dtype: str, logit: float) -> float:
    """The largest logit gap that rounding explains: 1e-3 in float32, two units in the last place
    of the logit in half precision, the precision of the record (1e-4) in float64."""
    if dtype == "float64":
        return 1e-4
    if dtype == "float32":
        return 1e-3
    bits = {"bfloat16": 7, "float16": 10}[dtype]
    return 2.0 * 2.0 ** (math.floor(math.log2(max(abs(logit), 1e-6))) - bits)


def _device_lock(device: str) -> threading.Lock:
    with _locks_guard:
        return _locks.setdefault(device, threading.Lock())


def _header(
    job: Job,
    model: Model,
    inputs: Inputs,
    messages: tuple[Message, ...],
    drafter: Drafter,
    role: Role,
) -> Header:
    knobs = knob_values(drafter)
    identity = [model.digest, model.dtype, drafter.name, knobs, inputs.tokens, job.max_new_tokens]
    lasting = drafter.persistent
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
        versions=_versions(),
        messages=tuple(Turn(role=m.role, text=m.text) for m in messages),
        tokens=inputs.tokens,
        eos_ids=tuple(sorted(model.eos_ids)),
        max_new_tokens=job.max_new_tokens,
        vocab_size=model.vocab_size,
        notes=(*job.notes, *inputs.notes) if role == "decoder" else (),
        scope=job.scope if lasting else None,
        memory_rows=len(drafter.snapshot() or ()) if lasting else 0,
    )


def _versions() -> dict[str, str]:
    found = {"specviz": specviz.__version__, "python": platform.python_version()}
    for name in ("torch", "transformers"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _reusable(events: tuple[StoredEvent, ...], header: Header) -> list[StoredEvent] | None:
    old = Trace(events).run("baseline")
    if old is None or old.finish is None or old.finish.reason not in ("eos", "length"):
        return None
    same = ("run", "device", "machine", "versions")
    if any(getattr(old.header, name) != getattr(header, name) for name in same):
        return None
    mine = [e for e in events if e.role == "baseline" and not isinstance(e, (Header, Check))]
    blank: dict[str, Any] = {"pieces": {}, "specials": ()}
    return [
        header.model_copy(update={"reused": True}),
        *(e.model_copy(update=blank) for e in mine),
    ]


class MemoryKeeper:
    """Rebuilds a drafter's lasting memory outside the run, event by event.

    A worker that is killed loses at most the step that it had not streamed yet.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._drafter = create(job.decoder, job.knobs)
        self._begun = False

    def add(self, event: Event) -> None:
        """Fold an event of the decoder's run; others change nothing."""
        if event.role != "decoder" or not isinstance(event, (Header, Prefill, Step)):
            return
        if isinstance(event, Header):
            self._begun = True
            if self._job.memory is not None and self._drafter.persistent:
                self._drafter.restore(self._job.memory, event)
        self._drafter.fold(event)

    def snapshot(self) -> Snapshot | None:
        """The memory as it is now, marked with the job's scope."""
        if not self._begun:
            return self._job.memory
        found: Snapshot | None = self._drafter.snapshot()
        return None if found is None else replace(found, scope=self._job.scope)


class Scopes:
    """Lasting memories by isolation scope: what one scope learned is never seen in another.

    Owned by whoever owns the isolation boundary (one browser session, one CLI call).
    """

    def __init__(self) -> None:
        self._memories: dict[tuple[str, str, str, str], Snapshot] = {}
        self._cleared: dict[str, int] = {}

    @staticmethod
    def _key(job: Job) -> tuple[str, str, str, str]:
        return (job.scope, job.decoder, job.model, job.dtype)

    def get(self, job: Job) -> Snapshot | None:
        """The memory that a job of this scope, decoder, model and dtype may see."""
        return self._memories.get(self._key(job))

    def generation(self, scope: str) -> int:
        """How often a scope was cleared; a job that begins takes it down for ``put``."""
        return self._cleared.get(scope, 0)

    def put(self, job: Job, snapshot: Snapshot | None, begun: int | None = None) -> None:
        """Keep what a job left behind, unless its scope was cleared since it began.

        ``begun``: the scope's generation then. What the job learned holds what it was given, so
        keeping it would bring back what somebody cleared meanwhile.
        """
        if snapshot is not None and begun in (None, self.generation(job.scope)):
            self._memories[self._key(job)] = snapshot

    def clear(self, scope: str | None = None) -> None:
        """Forget one scope, or all of them."""
        for name in [scope] if scope is not None else {*self.names(), *self._cleared}:
            self._cleared[name] = self.generation(name) + 1
        for key in [k for k in self._memories if scope in (None, k[0])]:
            del self._memories[key]

    def names(self) -> set[str]:
        """The scopes that hold something."""
        return {key[0] for key in self._memories}

    def size(self, scope: str) -> tuple[int, int]:
        """Rows and bytes that a scope holds."""
        mine = [s for k, s in self._memories.items() if k[0] == scope]
        return sum(map(len, mine)), sum(s.nbytes for s in mine)
