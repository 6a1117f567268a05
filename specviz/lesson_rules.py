"""Where the stops of lessons are: rules on what was recorded, so that a new recording moves them.

Every rule takes a trace and gives the first place that fits; LookupError where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from specviz import metrics, sights
from specviz.evidence import Hit, Lookup, MemoryEvidence
from specviz.trace import Run, Step, Trace

E = TypeVar("E")


@dataclass(frozen=True)
class Spot:
    """A place in a run: a step, and what of it is asked about.

    ``node`` of its tree; ``round`` of its wave, counted from 1, and ``place`` there, from 0;
    ``token`` of the answer, the prefill's own being 0; ``probe``: which of the trace's.
    """

    step: int
    node: int = 0
    round: int = 0
    place: int = 0
    token: int = 0
    probe: int = 0


def decoder(trace: Trace) -> Run:
    """The decoder's run, which every recorded example has."""
    run = trace.run("decoder")
    if run is None:
        raise LookupError("a trace without a run")
    return run


def end(step: Step) -> int:
    """The node that the walk stopped at."""
    return step.walk[-1] if step.walk else 0


def children(step: Step, node: int) -> list[int]:
    """The guesses behind ``node``, in the order in which they grew."""
    found = [n for n in range(1, len(step.nodes)) if step.nodes[n].parent == node]
    return sorted(found, key=lambda n: (step.nodes[n].order, n))


def refused(step: Step) -> bool:
    """Whether the model wanted something else than the guesses where the walk stopped."""
    return not step.clipped and bool(children(step, end(step)))


def hits(step: Step, node: int) -> tuple[Hit, ...]:
    """What the memories answered at ``node``, the longest key first."""
    look = lookup(step, node)
    return tuple(sorted(look.hits, key=lambda h: -h.level)) if look else ()


def lookup(step: Step, node: int) -> Lookup | None:
    """The question that was put to the memories at ``node``."""
    if not isinstance(step.evidence, MemoryEvidence):
        return None
    return next((look for look in step.evidence.lookups if look.node == node), None)


def step_of(trace: Trace, spot: Spot) -> Step:
    """The step that a place is in."""
    return decoder(trace).steps[spot.step]


def evidence_of(trace: Trace, spot: Spot, kind: type[E]) -> E:
    """The evidence of that step; LookupError where it is none of this kind."""
    found = step_of(trace, spot).evidence
    if not isinstance(found, kind):
        raise LookupError(f"no {kind.__name__} here")
    return found


def steps(trace: Trace) -> tuple[Step, ...]:
    """The steps of the decoder's run."""
    return decoder(trace).steps


def first(found: Iterator[Spot]) -> Spot:
    """The first place that fits."""
    for spot in found:
        return spot
    raise LookupError("no step of the recording fits")


# Any drafter


def opening(trace: Trace) -> Spot:
    """The first step."""
    return first(Spot(step.index) for step in steps(trace))


def closing(trace: Trace) -> Spot:
    """The last step."""
    return first(Spot(step.index) for step in reversed(steps(trace)))


def all_refused(trace: Trace) -> Spot:
    """A step whose guesses are all refused, at the foremost of them, which is a word."""
    ends = {t for event in trace.events for t in event.specials}
    return first(
        Spot(s.index, n)
        for s in steps(trace)
        if refused(s) and not s.walk and s.nodes[n := children(s, 0)[0]].token not in ends
    )


def one_right(trace: Trace) -> Spot:
    """A step with several guesses for the next token, of which one is right."""
    return first(Spot(s.index) for s in steps(trace) if s.accepted and len(children(s, 0)) >= 3)


def branch_in_tree(trace: Trace) -> Spot:
    """A tree in which a branch of three or more guesses holds and others do not."""
    return first(
        Spot(s.index)
        for s in steps(trace)
        if len(s.accepted) >= 3 and len(s.nodes) - 1 > len(s.walk) + 1 and not s.clipped
    )


def all_right(trace: Trace) -> Spot:
    """A chain of five or more guesses, all of them accepted."""
    return first(
        Spot(s.index)
        for s in steps(trace)
        if len(s.walk) >= 5 and len(s.walk) == len(s.nodes) - 1 and not s.clipped
    )


def two_right(trace: Trace) -> Spot:
    """A step with two or more accepted guesses and some that are not."""
    return first(
        Spot(s.index)
        for s in steps(trace)
        if 2 <= len(s.accepted) < len(s.nodes) - 1 and not s.clipped
    )


# Memories


def nothing_known(trace: Trace) -> Spot:
    """A step, not the first, before which no memory knows what stands there."""
    return first(
        Spot(s.index)
        for s in steps(trace)[1:]
        if (look := lookup(s, 0)) is not None and not look.hits and len(s.nodes) == 1
    )


def memories_disagree(trace: Trace) -> Spot:
    """An accepted place at which three memories say three things, one of them the right one."""
    return first(
        Spot(s.index, node)
        for s in steps(trace)
        for node in (0, *s.accepted)
        if len(said := [h.ids[0] for h in hits(s, node)]) == 3
        and len(set(said)) == 3
        and s.nodes[node].pick in said
    )


def unsure_outweighed(trace: Trace) -> Spot:
    """A place where all three memories answer and the longest key does not weigh most."""
    return first(
        Spot(s.index, node)
        for s in steps(trace)
        for node in range(len(s.nodes))
        if len(found := hits(s, node)) == 3
        and (look := lookup(s, node)) is not None
        and look.expanded
        and max(found, key=lambda h: h.weight).level < 3
    )


def known_but_cut(trace: Trace) -> Spot:
    """A refused step whose wanted token memory had among its first three candidates, but cut."""
    return first(
        Spot(s.index, end(s))
        for s in steps(trace)
        if refused(s)
        and (look := lookup(s, end(s))) is not None
        and any(c.token == s.nodes[end(s)].pick and c.cut for c in look.candidates[:3])
    )


def recycled(trace: Trace) -> Spot:
    """An accepted guess that a memory learned from a refused branch."""
    return first(Spot(s.index, node) for s in steps(trace) for node in metrics.recycled(s))


def longest(trace: Trace) -> Spot:
    """The step with the most accepted guesses."""
    return Spot(max(steps(trace), key=lambda s: len(s.accepted)).index)


# Drafter heads


def first_look(trace: Trace) -> Spot:
    """The first step in which the head drafted."""
    return first(Spot(seen.step.index) for seen in sights.looks(decoder(trace)))


def offered_not_drafted(trace: Trace) -> Spot:
    """A refused step whose wanted token the head had offered, and it was left out."""
    return first(
        Spot(s.index, end(s))
        for s in steps(trace)
        if refused(s)
        and (found := sights.rank(s, end(s), s.nodes[end(s)].pick)) is not None
        and found.cut
    )
