"""The trace: typed events that say what happened, in order, and nothing else.

A trace is JSON Lines (gzip when the name ends in ``.gz``). Every prefix of a trace is a valid
trace, so the same code reads a finished file, a cut file and a run that is still going on.
Tokens are ids; the bytes behind them travel in ``pieces`` of the first event that names the id,
one latin-1 character per byte.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, TypeAdapter, model_validator

from specviz.evidence import Evidence, Index, Number, Record, Token, tokens_in
from specviz.request import Costs as Costs
from specviz.request import Shown as Shown
from specviz.request import Turn as Turn
from specviz.request import UsedHead as UsedHead
from specviz.request import UsedPicture as UsedPicture

SCHEMA = 2
READABLE = (1, 2)  # what schema 1 lacks has a default

Elapsed = Annotated[float, Field(ge=0, le=1e7)]
LogProb = Annotated[float, Field(le=0.001)]  # rounding may lift a certain token above zero
Piece = Annotated[str, Field(pattern=r"^[\x00-\xff]*$")]
Role = Literal["decoder", "baseline"]
Reason = Literal["eos", "length", "stopped", "error"]
Stage = Literal["queue", "load", "measure", "encode", "prefill", "check", "probe"]


class TraceError(ValueError):
    """A trace cannot be read; the message is one sentence for a person."""


class _Event(Record):
    role: Role = "decoder"
    pieces: dict[Token, Piece] = Field(default_factory=dict)
    specials: tuple[Token, ...] = ()


class Progress(_Event):
    """A sign of life while something long goes on. Streamed live, never stored."""

    type: Literal["progress"] = "progress"
    stage: Stage
    done: int
    total: int


class Header(_Event):
    """What was about to run.

    ``tokens`` is the encoded prompt, ``knobs`` every knob's value, ``machine`` the processor or GPU
    with its cores or threads; ``packed`` whether weights were laid out for it; ``costs`` what a
    pass costs there, where that was measured; ``memory_rows`` what a lasting memory brought along;
    ``depth`` the core iterations of one pass, where the model is a recurrent-depth one; ``head``
    the drafter head, where one was used; ``document`` the first of the ``tokens`` that hold the
    document a question was asked about, and the one behind the last;
    ``pictures``: those of all ``messages``, in order; ``blocked_ids``: tokens that are never
    guessed and never keys of a memory, such as the placeholders of pictures.
    """

    type: Literal["header"] = "header"
    trace_schema: int = SCHEMA
    run: str
    decoder: str
    knobs: dict[str, int | float | bool | str]
    model: str
    digest: str
    device: str
    dtype: str
    machine: str
    packed: bool = False
    costs: Costs | None = None
    versions: dict[str, str]
    messages: tuple[Turn, ...]
    tokens: tuple[Token, ...]
    eos_ids: tuple[Token, ...]
    blocked_ids: tuple[Token, ...] = ()
    max_new_tokens: Index
    vocab_size: Index
    notes: tuple[str, ...] = ()
    scope: str | None = None
    memory_rows: Index = 0
    depth: Index | None = None
    head: UsedHead | None = None
    document: tuple[Index, Index] | None = None
    pictures: tuple[UsedPicture, ...] = ()
    reused: bool = False

    @model_validator(mode="after")
    def _holds_its_document(self) -> Header:
        if self.document is not None:
            first, end = self.document
            if not first < end <= len(self.tokens):
                raise ValueError("a document stands among the tokens of its prompt")
        return self

    @model_validator(mode="after")
    def _holds_its_pictures(self) -> Header:
        if sum(turn.pictures for turn in self.messages) != len(self.pictures):
            raise ValueError("every picture belongs to one message")
        if any(not a < b <= len(self.tokens) for a, b in (p.span for p in self.pictures)):
            raise ValueError("a picture stands among the tokens of its prompt")
        if self.role == "decoder" and any(p.seen is None for p in self.pictures):
            raise ValueError("what the model saw of a picture is recorded with the decoder")
        return self


class Rows(Record):
    """Predictions read off the prompt: ``ids[i]``/``logps[i]`` follow prompt position i's token."""

    positions: tuple[Index, ...] = ()
    ids: tuple[tuple[Token, ...], ...] = ()
    logps: tuple[tuple[LogProb, ...], ...] = ()
    entropies: tuple[float, ...] | None = None


class Prefill(_Event):
    """The prompt was read; ``token`` is the first emitted token (not counted in tau)."""

    type: Literal["prefill"] = "prefill"
    seconds: Elapsed
    token: Token
    margin: Number
    top: tuple[tuple[Token, LogProb], ...]
    rows: Rows = Rows()


class Node(Record):
    """One verified node. Node 0 is the root.

    ``order``: rank in the order in which the drafter grew the tree. ``score``: the drafter's
    estimate that the whole branch up to here is right. ``logp``: the target's natural-log
    probability of ``token`` after its parent (None for the root). ``pick``: the target's greedy
    choice after this node, ``margin`` its logit lead, ``top`` the most probable tokens there with
    log-probabilities, ``tail`` the probability outside them.
    """

    token: Token
    parent: int
    source: str
    order: Index
    score: Number | None
    logp: LogProb | None
    pick: Token
    margin: Number
    top: tuple[tuple[Token, LogProb], ...]
    tail: Number
    entropy: Number | None = None


class Seconds(Record):
    """Seconds of one step. ``draft`` holds proposing and memory updates; ``total`` is all of it."""

    draft: Elapsed
    verify: Elapsed
    commit: Elapsed
    total: Elapsed


class Step(_Event):
    """One round: draft, one target pass, walk.

    ``walk``: accepted nodes below the root before clipping. ``emitted``: what was kept: the walk's
    tokens and the target's own next pick, clipped at an end token or the budget; nodes of ``walk``
    beyond ``len(emitted)`` were discarded after the end.
    """

    type: Literal["step"] = "step"
    index: Index
    nodes: Annotated[tuple[Node, ...], Field(min_length=1)]
    walk: tuple[Index, ...]
    emitted: Annotated[tuple[Token, ...], Field(min_length=1)]
    seconds: Seconds
    cache_length: int
    evidence: Evidence | None = None

    @property
    def accepted(self) -> tuple[int, ...]:
        """The accepted nodes whose tokens were kept."""
        return self.walk[: len(self.emitted)]

    @property
    def clipped(self) -> bool:
        """Whether an end token or the budget cut the walk short."""
        return len(self.emitted) <= len(self.walk)


class Finish(_Event):
    """The end of one run. ``seconds`` counts what the decoder did, not waiting for a reader."""

    type: Literal["finish"] = "finish"
    reason: Reason
    tokens: int
    seconds: Elapsed
    message: str = ""


class Check(_Event):
    """Both runs compared token by token.

    ``equal``: the same tokens, ``"tie"`` when every difference is within ``cap`` (logits) of the
    target's best, else false. ``margin``: the logit gap at the first difference; ``ties``: how
    many emitted tokens were within the cap but not the teacher-forced best.
    """

    type: Literal["check"] = "check"
    equal: bool | Literal["tie"]
    first_difference: int | None = None
    margin: Number | None = None
    cap: Number | None = None
    ties: int = 0
    complete: bool = True


class Probe(_Event):
    """The decoder's answer read back, teacher-forced, with another picture in place of one.

    ``kind``: another picture, a ``blank`` one, or its own tiles ``shuffled``; ``replaced``: which
    picture of the prompt; ``name``, ``digest`` and ``seen`` of what stood there instead. Row i
    belongs to token i of the answer (the prefill's first): ``picks`` are what the target says
    there with the other picture, ``kept`` with the recorded one; ``logps`` and ``kept_logps`` the
    natural-log probabilities of the token of the answer under each. ``device``, ``dtype`` and
    ``packed``: where it was read back, "" where an older trace does not say.
    """

    type: Literal["probe"] = "probe"
    kind: Literal["other", "blank", "shuffled"]
    replaced: Index
    name: str
    digest: str
    seen: Shown
    picks: tuple[Token, ...]
    kept: tuple[Token, ...]
    logps: tuple[LogProb, ...]
    kept_logps: tuple[LogProb, ...]
    device: str = ""
    dtype: str = ""
    packed: bool = False

    @model_validator(mode="after")
    def _rows_are_complete(self) -> Probe:
        if len({len(self.picks), len(self.kept), len(self.logps), len(self.kept_logps)}) != 1:
            raise ValueError("every row of a probe has its values")
        return self

    @property
    def changed(self) -> tuple[int, ...]:
        """The rows where the target says something else because of the picture."""
        pairs = zip(self.picks, self.kept, strict=True)
        return tuple(i for i, (now, before) in enumerate(pairs) if now != before)


StoredEvent = Header | Prefill | Step | Finish | Check | Probe
Event = StoredEvent | Progress
E = TypeVar("E", bound=_Event)
ADAPTER: TypeAdapter[StoredEvent] = TypeAdapter(Annotated[StoredEvent, Field(discriminator="type")])


@dataclass(frozen=True)
class Run:
    """The events of one role: a header, and as much as has happened since."""

    header: Header
    prefill: Prefill | None
    steps: tuple[Step, ...]
    finish: Finish | None

    @property
    def tokens(self) -> tuple[int, ...]:
        """All emitted tokens, the prefill's own first."""
        first = () if self.prefill is None else (self.prefill.token,)
        return first + tuple(t for step in self.steps for t in step.emitted)


@dataclass(frozen=True)
class Trace:
    """A decoder's run, its baseline's if there was one, and their comparison."""

    events: tuple[StoredEvent, ...]

    def run(self, role: Role = "decoder") -> Run | None:
        """The run of ``role``, None before its header."""
        mine = [e for e in self.events if e.role == role]
        header = next((e for e in mine if isinstance(e, Header)), None)
        if header is None:
            return None
        return Run(
            header,
            next((e for e in mine if isinstance(e, Prefill)), None),
            tuple(e for e in mine if isinstance(e, Step)),
            next((e for e in mine if isinstance(e, Finish)), None),
        )

    @property
    def check(self) -> Check | None:
        """The comparison of the two runs, if it was made."""
        return next((e for e in self.events if isinstance(e, Check)), None)

    @property
    def probes(self) -> tuple[Probe, ...]:
        """What was found out about the pictures afterwards, in order."""
        return tuple(e for e in self.events if isinstance(e, Probe))

    @property
    def pieces(self) -> dict[int, bytes]:
        """The raw bytes of every token that the trace names."""
        return {i: p.encode("latin-1") for e in self.events for i, p in e.pieces.items()}


def token_ids(event: _Event) -> Iterator[int]:
    """Every token id that ``event`` names, repeats included."""
    match event:
        case Header():
            yield from event.tokens
        case Prefill():
            yield event.token
            yield from (t for t, _ in event.top)
        case Step():
            yield from event.emitted
            for node in event.nodes:
                yield from (node.token, node.pick)
                yield from (t for t, _ in node.top)
            if event.evidence is not None:
                yield from tokens_in(event.evidence)
        case Probe():
            yield from event.picks
            yield from event.kept


def with_pieces(
    event: E, seen: set[int], token_bytes: Callable[[int], bytes], special_ids: frozenset[int]
) -> E:
    """``event`` carrying the bytes of the ids that are not in ``seen`` yet; extends ``seen``."""
    new = dict.fromkeys(t for t in token_ids(event) if t not in seen)
    if not new:
        return event
    seen.update(new)
    return event.model_copy(
        update={
            "pieces": {t: token_bytes(t).decode("latin-1") for t in new},
            "specials": tuple(t for t in new if t in special_ids),
        }
    )


class Recording:
    """Collects a stream of events, live, and can close what a Stop left open."""

    def __init__(self) -> None:
        self.events: list[StoredEvent] = []

    def add(self, event: Event) -> None:
        """Append ``event`` unless it is mere progress."""
        if not isinstance(event, Progress):
            self.events.append(event)

    def stop(self, reason: Literal["stopped", "error"] = "stopped", message: str = "") -> None:
        """Mark the run that is still open, if any, as ended here by its reader."""
        trace = self.trace
        for role in ("decoder", "baseline"):
            run = trace.run(role)
            if run is not None and run.finish is None:
                spent = (run.prefill.seconds if run.prefill else 0.0) + sum(
                    s.seconds.total for s in run.steps
                )
                self.events.append(
                    Finish(
                        role=role,
                        reason=reason,
                        tokens=len(run.tokens),
                        seconds=spent,
                        message=message,
                    )
                )

    @property
    def trace(self) -> Trace:
        """What has been recorded so far."""
        return Trace(tuple(self.events))


def schema() -> dict[str, Any]:
    """The JSON Schema of one line of a trace file."""
    found: dict[str, Any] = ADAPTER.json_schema()
    return found
