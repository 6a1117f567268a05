"""Where the stops of lessons are: rules on what was recorded, so that a new recording moves them.

Every rule takes a trace and gives the first place that fits; LookupError where there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from specviz import metrics, sights
from specviz.evidence import Hit, Lookup, MemoryEvidence, WaveEvidence
from specviz.trace import Probe, Run, Step, Trace


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


def probes(trace: Trace) -> tuple[Probe, ...]:
    """What other pictures would have changed, in recorded order."""
    return tuple(e for e in trace.events if isinstance(e, Probe))


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


def _steps(trace: Trace) -> tuple[Step, ...]:
    return decoder(trace).steps


def _first(found: Iterator[Spot]) -> Spot:
    for spot in found:
        return spot
    raise LookupError("no step of the recording fits")


# Any drafter


def opening(trace: Trace) -> Spot:
    """The first step."""
    return _first(Spot(step.index) for step in _steps(trace))


def closing(trace: Trace) -> Spot:
    """The last step."""
    return _first(Spot(step.index) for step in reversed(_steps(trace)))


def all_refused(trace: Trace) -> Spot:
    """A step whose guesses are all refused, at the foremost of them, which is a word."""
    ends = {t for event in trace.events for t in event.specials}
    return _first(
        Spot(s.index, n)
        for s in _steps(trace)
        if refused(s) and not s.walk and s.nodes[n := children(s, 0)[0]].token not in ends
    )


def one_right(trace: Trace) -> Spot:
    """A step with several guesses for the next token, of which one is right."""
    return _first(Spot(s.index) for s in _steps(trace) if s.accepted and len(children(s, 0)) >= 3)


def branch_in_tree(trace: Trace) -> Spot:
    """A tree in which a branch of three or more guesses holds and others do not."""
    return _first(
        Spot(s.index)
        for s in _steps(trace)
        if len(s.accepted) >= 3 and len(s.nodes) - 1 > len(s.walk) + 1 and not s.clipped
    )


def all_right(trace: Trace) -> Spot:
    """A chain of five or more guesses, all of them accepted."""
    return _first(
        Spot(s.index)
        for s in _steps(trace)
        if len(s.walk) >= 5 and len(s.walk) == len(s.nodes) - 1 and not s.clipped
    )


def two_right(trace: Trace) -> Spot:
    """A step with two or more accepted guesses and some that are not."""
    return _first(
        Spot(s.index)
        for s in _steps(trace)
        if 2 <= len(s.accepted) < len(s.nodes) - 1 and not s.clipped
    )


# Memories


def nothing_known(trace: Trace) -> Spot:
    """A step, not the first, before which no memory knows what stands there."""
    return _first(
        Spot(s.index)
        for s in _steps(trace)[1:]
        if (look := lookup(s, 0)) is not None and not look.hits and len(s.nodes) == 1
    )


def memories_disagree(trace: Trace) -> Spot:
    """An accepted place at which three memories say three things, one of them the right one."""
    return _first(
        Spot(s.index, node)
        for s in _steps(trace)
        for node in (0, *s.accepted)
        if len(said := [h.ids[0] for h in hits(s, node)]) == 3
        and len(set(said)) == 3
        and s.nodes[node].pick in said
    )


def unsure_outweighed(trace: Trace) -> Spot:
    """A place where all three memories answer and the longest key does not weigh most."""
    return _first(
        Spot(s.index, node)
        for s in _steps(trace)
        for node in range(len(s.nodes))
        if len(found := hits(s, node)) == 3
        and (look := lookup(s, node)) is not None
        and look.expanded
        and max(found, key=lambda h: h.weight).level < 3
    )


def known_but_cut(trace: Trace) -> Spot:
    """A refused step whose wanted token memory had among its first three candidates, but cut."""
    return _first(
        Spot(s.index, end(s))
        for s in _steps(trace)
        if refused(s)
        and (look := lookup(s, end(s))) is not None
        and any(c.token == s.nodes[end(s)].pick and c.cut for c in look.candidates[:3])
    )


def recycled(trace: Trace) -> Spot:
    """An accepted guess that a memory learned from a refused branch."""
    return _first(Spot(s.index, node) for s in _steps(trace) for node in metrics.recycled(s))


def longest(trace: Trace) -> Spot:
    """The step with the most accepted guesses."""
    return Spot(max(_steps(trace), key=lambda s: len(s.accepted)).index)


# Drafter heads


def first_look(trace: Trace) -> Spot:
    """The first step in which the head drafted."""
    return _first(Spot(seen.step.index) for seen in sights.looks(decoder(trace)))


def offered_not_drafted(trace: Trace) -> Spot:
    """A refused step whose wanted token the head had offered, and it was left out."""
    return _first(
        Spot(s.index, end(s))
        for s in _steps(trace)
        if refused(s)
        and (found := sights.rank(s, end(s), s.nodes[end(s)].pick)) is not None
        and found.cut
    )


# Waves


def _waves(trace: Trace) -> Iterator[tuple[Step, WaveEvidence]]:
    return ((s, s.evidence) for s in _steps(trace) if isinstance(s.evidence, WaveEvidence))


def second_round(trace: Trace) -> Spot:
    """A wave after its second round, with guesses that the third one changes."""
    return _first(
        Spot(s.index, round=2)
        for s, wave in _waves(trace)
        if len(wave.rounds) > 2 and any(c.state == "changed" for c in wave.rounds[2].cells)
    )


def before_freezing(trace: Trace) -> Spot:
    """The round before the one in which the first guess is no longer computed."""
    return _first(
        Spot(s.index, round=k)
        for s, wave in _waves(trace)
        for k in range(1, len(wave.rounds))
        if wave.rounds[k].cells[0].state == "frozen"
    )


def slowest_place(trace: Trace) -> Spot:
    """The place that takes the most rounds from its opening to its last guess."""
    found = [
        (stood - opened, -s.index, -place, opened)
        for s, wave in _waves(trace)
        for place in range(len(wave.rounds[-1].cells))
        for opened, stood in [settling(wave, place)]
    ]
    if not found:
        raise LookupError("no wave in the recording")
    _, step, place, opened = max(found)
    return Spot(-step, round=opened, place=-place)


def settling(wave: WaveEvidence, place: int) -> tuple[int, int]:
    """The rounds, from 1, in which a place opened and from which on its last guess stood."""
    guesses = [r.cells[place].token if place < len(r.cells) else None for r in wave.rounds]
    opened = next(k for k, token in enumerate(guesses, 1) if token is not None)
    stood = len(guesses)
    while stood > opened and guesses[stood - 2] == guesses[-1]:
        stood -= 1
    return opened, stood


def wave_refused(trace: Trace) -> Spot:
    """A wave of which the model confirms a part."""
    return _first(Spot(s.index) for s, _ in _waves(trace) if s.accepted and refused(s))


# Pictures


def _written_at(run: Run) -> list[int]:
    """The step that wrote every token of the answer; -1 for the prefill's."""
    return [-1, *(s.index for s in run.steps for _ in s.emitted)]


def most_dependent(trace: Trace) -> Spot:
    """The token that every other picture changes, where the first of them shifts it most."""
    found, steps = probes(trace), _written_at(decoder(trace))
    common = set.intersection(*(set(p.changed) for p in found)) if found else set()
    places = [i for i in common if steps[i] >= 0]
    if not places:
        raise LookupError("no token depends on the picture")
    token = min(places, key=lambda i: (found[0].logps[i] - found[0].kept_logps[i], i))
    return Spot(steps[token], token=token)


def independent(trace: Trace) -> Spot:
    """A token that an accepted guess became and that no other picture changes."""
    found, run = probes(trace), decoder(trace)
    changed = {i for p in found for i in p.changed}
    steps = _written_at(run)
    firsts = {s.index: steps.index(s.index) for s in run.steps}
    return _first(
        Spot(s.index, token=firsts[s.index])
        for s in run.steps
        if found and len(s.accepted) >= 2 and firsts[s.index] not in changed
    )


def reading_guessed(trace: Trace) -> Spot:
    """A step with guesses for a token that some other picture changes, at the foremost of them."""
    run = decoder(trace)
    steps, changed = _written_at(run), {i for p in probes(trace) for i in p.changed}
    return _first(
        Spot(s.index, children(s, 0)[0], token=steps.index(s.index))
        for s in run.steps
        if children(s, 0) and not s.clipped and steps.index(s.index) in changed
    )


def changed_by_some(trace: Trace) -> Spot:
    """A token that one other picture changes and another does not: the one that does not."""
    found, steps = probes(trace), _written_at(decoder(trace))
    return _first(
        Spot(steps[i], token=i, probe=k)
        for i in range(1, len(steps))
        for k, probe in enumerate(found)
        if i not in probe.changed and any(i in p.changed for p in found)
    )


def probed_end(trace: Trace) -> Spot:
    """The last step of a run whose answer was read back with another picture."""
    if not probes(trace):
        raise LookupError("the answer was not read back")
    return closing(trace)
