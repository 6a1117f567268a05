"""What a drafter records of how its guesses came about: memories, copied spans, waves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

# Bounds that no honest trace comes near: what lies beyond them breaks sums, charts or JSON.
Token = Annotated[int, Field(ge=0, lt=2**31)]
Index = Annotated[int, Field(ge=0, lt=2**31)]
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Order = Annotated[int, Field(ge=1, le=3)]


class Record(BaseModel):
    """A part of a trace: frozen, with no fields but its own and no infinities."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Written(NamedTuple):
    """Who wrote a memory row: step (-1: read off the prompt, -2: an earlier request), the node (or
    prompt position) there, and whether that node's branch was accepted (also then)."""

    step: Annotated[int, Field(ge=-2, lt=2**31)]
    node: Index
    accepted: bool


class Hit(Record):
    """One memory level had an answer for one context.

    ``weight`` = base x max(1 - entropy, floor) ** gamma, normalised over the levels that hit;
    ``entropy`` in [0, 1] : truncated, the tail as one symbol, over ln(k + 1).
    """

    level: Order
    key: tuple[Token, ...]
    ids: tuple[Token, ...]
    probs: tuple[Number, ...]
    base: Number
    entropy: Number
    weight: Number
    written: Written


Cut = Literal["", "cost", "budget", "width", "depth", "end", "score", "blocked", "repeat"]


class Candidate(NamedTuple):
    """A mixed candidate before the cut: token, mixed probability, level (or 0 for a copied
    continuation) that gave most of it, the node it became (-1: none) and why not ("cost": a larger
    tree would have cost more than it brings; "end": the answer could not have been that long)."""

    token: Token
    probability: Number
    level: Annotated[int, Field(ge=-2, le=3)]
    node: int
    cut: Cut


class Lookup(Record):
    """What memory answered at ``node``; ``expanded`` is false when the tree did not ask there and
    the question was put afterwards, to learn what memory knew."""

    node: Index
    expanded: bool
    hits: tuple[Hit, ...]
    candidates: tuple[Candidate, ...]


class Tally(NamedTuple):
    """For one memory level along the committed path: positions asked, answered, answered right
    (its most probable token was the target's pick)."""

    asked: Index
    answered: Index
    right: Index


class Span(Record):
    """A continuation copied from the text so far: ``length`` last tokens equal those ending before
    position ``start`` (in prompt + answer), ``tokens`` follow there; ``nodes`` they became."""

    kind: Literal["span"]
    length: int
    start: int
    tokens: tuple[Token, ...]
    nodes: tuple[Index, ...]


class MemoryEvidence(Record):
    """Everything the memories said in one step, before they were updated by it."""

    kind: Literal["memory"]
    lookups: tuple[Lookup, ...]
    tallies: dict[Order, Tally]
    sizes: dict[Order, Index]
    copied: Span | None = None


class Cell(NamedTuple):
    """The guess for one position after one round: its token, the draft's probability of it, how
    many core iterations the state that it was read from has had, and what became of it: guessed
    for the first time, changed, unchanged, or no longer computed."""

    token: Token
    probability: Number
    age: Index
    state: Literal["new", "changed", "same", "frozen"]


class Round(Record):
    """One refinement. ``cells[i]`` is the guess for the token ``i + 1`` places after the root; the
    first ``parked`` of them were not computed again. ``iterations``: core calls made for it."""

    iterations: Index
    parked: Index
    cells: Annotated[tuple[Cell, ...], Field(min_length=1)]


class WaveEvidence(Record):
    """How a draft of a recurrent-depth model came about.

    ``depth``: the target's own iterations. ``keys``, ``values``: the iteration of the full pass
    whose keys and values of the prefix were read (1 to ``depth``; 0: as deep as the draft itself).
    ``carry``: states went on from round to round. ``end``: why the last round was the last.
    Work of drafting: ``calls`` of the core one after the other, ``applications`` = the sum of
    positions over these calls, ``readouts`` = positions through coda and head.
    """

    kind: Literal["wave"]
    depth: Index
    keys: Index
    values: Index
    carry: bool
    rounds: tuple[Round, ...]
    end: Literal["settled", "rounds", "budget"]
    calls: Index
    applications: Index
    readouts: Index


class Entries(NamedTuple):
    """``length`` entries in a row that the drafter saw, the first of them number ``first`` in
    prompt + answer: entry ``first + i`` was seen at position ``at + i * step``."""

    first: Index
    length: Index
    at: Number
    step: Number


Unkept = Literal["", "budget", "cost", "blocked"]


class Offer(NamedTuple):
    """What the drafter expected next, how probable it held that to be, the node it became (-1:
    none) and why not ("budget": there was no room beside likelier ones; "cost": a larger tree
    would have cost more than it brings; "blocked")."""

    token: Token
    probability: Number
    node: Annotated[int, Field(ge=-1, lt=2**31)]
    cut: Unkept


class Expansion(Record):
    """The drafter's most probable tokens behind ``node``."""

    node: Index
    offers: tuple[Offer, ...]


class WindowEvidence(Record):
    """What a drafter head saw of the text in one step, and what it expected.

    ``entries``: the sinks, then the window (or everything). The root's pair stood at ``tip``, a
    guess d levels below at ``tip + d * spacing``. ``distance``: the greatest one between a guess
    and an entry; the head was trained for positions below ``trained``. ``bytes`` of the keys and
    values that it saw. ``truncated``: it drafted from a target that read only as much as it did.
    ``levels``: passes of the head, one after the other. ``considered``: guesses before the cut.
    """

    kind: Literal["window"]
    mode: Literal["full", "window_abs", "slot", "shift", "reindex_only"]
    trained: Index
    entries: tuple[Entries, ...]
    tip: Number
    spacing: Number
    distance: Number
    bytes: Annotated[int, Field(ge=0, lt=2**40)]
    truncated: bool
    levels: Index
    considered: Index
    expansions: tuple[Expansion, ...]


Evidence = Annotated[
    MemoryEvidence | Span | WaveEvidence | WindowEvidence, Field(discriminator="kind")
]


def tokens_in(evidence: MemoryEvidence | Span | WaveEvidence | WindowEvidence) -> Iterator[int]:
    """Every token id that it names, in order."""
    if isinstance(evidence, MemoryEvidence):
        for lookup in evidence.lookups:
            yield from (c.token for c in lookup.candidates)
            for hit in lookup.hits:
                yield from hit.key
                yield from hit.ids
        if evidence.copied is not None:
            yield from evidence.copied.tokens
    elif isinstance(evidence, Span):
        yield from evidence.tokens
    elif isinstance(evidence, WaveEvidence):
        yield from (c.token for r in evidence.rounds for c in r.cells)
    elif isinstance(evidence, WindowEvidence):
        yield from (offer.token for e in evidence.expansions for offer in e.offers)
