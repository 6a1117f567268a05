"""Lessons on pictures: where in a recording a stop is, what it asks, and the right answer there."""

from __future__ import annotations

import math

from specviz.lesson_rules import Spot, children, closing, decoder, first
from specviz.lesson_sentences import Asked, numbers, part, say, token, yes_or_no
from specviz.trace import Probe, Run, Trace


def probes(trace: Trace) -> tuple[Probe, ...]:
    """What other pictures would have changed, in recorded order."""
    return tuple(e for e in trace.events if isinstance(e, Probe))


# Where


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
    return first(
        Spot(s.index, token=firsts[s.index])
        for s in run.steps
        if found and len(s.accepted) >= 2 and firsts[s.index] not in changed
    )


def reading_guessed(trace: Trace) -> Spot:
    """A step with guesses for a token that some other picture changes, at the foremost of them."""
    run = decoder(trace)
    steps, changed = _written_at(run), {i for p in probes(trace) for i in p.changed}
    return first(
        Spot(s.index, children(s, 0)[0], token=steps.index(s.index))
        for s in run.steps
        if children(s, 0) and not s.clipped and steps.index(s.index) in changed
    )


def changed_by_some(trace: Trace) -> Spot:
    """A token that one other picture changes and another does not: the one that does not."""
    found, steps = probes(trace), _written_at(decoder(trace))
    return first(
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


# What


def depends(trace: Trace, spot: Spot) -> Asked:
    """With another picture in its place, would the model still say this?"""
    probe = probes(trace)[spot.probe]
    same = probe.picks[spot.token] == probe.kept[spot.token]
    words = {
        "token": token(decoder(trace).tokens[spot.token]),
        "instead": part(f"part.{probe.kind}"),
        "pick": token(probe.picks[spot.token]),
        "before": {"probability": math.exp(min(0.0, probe.kept_logps[spot.token]))},
        "after": {"probability": math.exp(min(0.0, probe.logps[spot.token]))},
    }
    told = say(f"told.depends.{'no' if same else 'yes'}", **words)
    return Asked(say("ask.depends", **words), *yes_or_no(same), told)


def tally(trace: Trace, spot: Spot) -> Asked:
    """How many tokens of the answer depend on the picture?"""
    probe = probes(trace)[spot.probe]
    right, of = len(probe.changed), len(probe.picks)
    words = {"right": right, "of": of, "instead": part(f"part.{probe.kind}")}
    answers = numbers(right, (of, 0, of // 2))
    return Asked(say("ask.tally", **words), *answers, say("told.tally", **words))
