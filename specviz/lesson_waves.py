"""Lessons on waves: where in a recording a stop is, what it asks, and the right answer there."""

from __future__ import annotations

from collections.abc import Iterator

from specviz.evidence import WaveEvidence
from specviz.lesson_rules import Spot, evidence_of, first, refused, step_of, steps
from specviz.lesson_sentences import Asked, choice, listed, numbers, part, say, token
from specviz.trace import Step, Trace

# Where


def _waves(trace: Trace) -> Iterator[tuple[Step, WaveEvidence]]:
    return ((s, s.evidence) for s in steps(trace) if isinstance(s.evidence, WaveEvidence))


def second_round(trace: Trace) -> Spot:
    """A wave after its second round, with guesses that the third one changes."""
    return first(
        Spot(s.index, round=2)
        for s, wave in _waves(trace)
        if len(wave.rounds) > 2 and any(c.state == "changed" for c in wave.rounds[2].cells)
    )


def before_freezing(trace: Trace) -> Spot:
    """The round before the one in which the first guess is no longer computed."""
    return first(
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
    return first(Spot(s.index) for s, _ in _waves(trace) if s.accepted and refused(s))


# What


def changes(trace: Trace, spot: Spot) -> Asked:
    """How many guesses will the next round change?"""
    rounds = evidence_of(trace, spot, WaveEvidence).rounds
    before, after = rounds[spot.round - 1].cells, rounds[spot.round].cells
    pairs = [(a.token, b.token) for a, b in zip(before, after, strict=False)
             if b.state == "changed"]  # fmt: skip
    shown = [part("part.change", old=token(a), new=token(b)) for a, b in pairs]
    told = say("told.changes", round=spot.round + 1, right=len(pairs), changes=listed(shown))
    answers = numbers(len(pairs), (0, len(before), 1, 2))
    return Asked(say("ask.changes", round=spot.round + 1, of=len(before)), *answers, told)


def freezes(trace: Trace, spot: Spot) -> Asked:
    """What will the next round do with the first guess?"""
    cell = evidence_of(trace, spot, WaveEvidence).rounds[spot.round].cells[spot.place]
    answers = choice((f"state.{k}" for k in ("changed", "same", "frozen")), f"state.{cell.state}")
    told = say(f"told.state.{cell.state}", guess=token(cell.token), age=cell.age)
    return Asked(say("ask.state", guess=token(cell.token), round=spot.round + 1), *answers, told)


def settles(trace: Trace, spot: Spot) -> Asked:
    """In which round will this place have its last guess?"""
    wave = evidence_of(trace, spot, WaveEvidence)
    opened, stood = settling(wave, spot.place)
    cell = wave.rounds[-1].cells[spot.place]
    told = say(
        "told.settles", place=spot.place + 1, guess=token(cell.token), opened=opened, stood=stood,
        age=cell.age, depth=wave.depth,
    )  # fmt: skip
    answers = numbers(stood, (opened, opened + 2, len(wave.rounds), opened + 4))
    first = token(wave.rounds[opened - 1].cells[spot.place].token)
    return Asked(say("ask.settles", place=spot.place + 1, guess=first), *answers, told)


def calls(trace: Trace, spot: Spot) -> Asked:
    """How many core calls in a row does the step take?"""
    step, wave = step_of(trace, spot), evidence_of(trace, spot, WaveEvidence)
    right, plain = wave.calls + wave.depth, len(step.emitted) * wave.depth
    told = say(
        "told.calls", draft=wave.calls, depth=wave.depth, right=right, tokens=len(step.emitted),
        plain=plain, work=wave.applications + wave.depth * len(step.nodes),
    )  # fmt: skip
    question = say("ask.calls", depth=wave.depth, tokens=len(step.emitted))
    return Asked(question, *numbers(right, (plain, wave.depth, wave.calls)), told)
