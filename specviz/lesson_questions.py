"""What lessons ask: a question, its answers and the right one, computed from what was recorded.

A sentence is ``{"key", "params"}`` with tokens as ids, so that the player can say it in its
language. Every question takes a trace and a place in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from specviz import metrics, sights
from specviz.evidence import WaveEvidence, WindowEvidence
from specviz.lesson_rules import (
    Spot,
    children,
    decoder,
    hits,
    lookup,
    probes,
    settling,
)
from specviz.trace import Step, Trace

Said = dict[str, Any]
MOST = 4


@dataclass(frozen=True)
class Asked:
    """``right`` is the index of the right one of ``answers``; ``told`` says why it is right."""

    question: Said
    answers: tuple[Said, ...]
    right: int
    told: Said


Question = Callable[[Trace, Spot], Asked]


def say(key: str, **params: Any) -> Said:
    """A sentence of the catalogue; ``key`` without its ``lesson.``."""
    return {"key": f"lesson.{key}", "params": params}


def token(number: int) -> Said:
    """A token as the player shows it."""
    return {"token": number}


def decimals(value: float, digits: int = 2) -> Said:
    """A number in the reader's language."""
    return {"number": value, "digits": digits}


def part(key: str, **params: Any) -> Said:
    """A sentence within another one."""
    return {"say": f"lesson.{key}", "params": params}


def listed(parts: Iterable[Any], between: str = ", ") -> list[Any]:
    """Parts of a sentence with commas between them."""
    found = list(parts)
    return [x for i, each in enumerate(found) for x in ((between, each) if i else (each,))]


def step_of(trace: Trace, spot: Spot) -> Step:
    """The step that a place is in."""
    return decoder(trace).steps[spot.step]


def numbers(right: int, others: Iterable[int]) -> tuple[tuple[Said, ...], int]:
    """Whole numbers as answers, sorted, at most four, the right one among them."""
    chosen = [right]
    for other in others:
        if other >= 0 and other not in chosen and len(chosen) < MOST:
            chosen.append(other)
    chosen.sort()
    return tuple(say("answer.number", x=x) for x in chosen), chosen.index(right)


def yes_or_no(right: bool) -> tuple[tuple[Said, ...], int]:
    """Yes and no as answers."""
    return (say("answer.yes"), say("answer.no")), 0 if right else 1


def choice(keys: Iterable[str], right: str) -> tuple[tuple[Said, ...], int]:
    """Answers with a sentence of their own each."""
    known = list(keys)
    return tuple(say(f"answer.{key}") for key in known), known.index(right)


# Any drafter


def accept(trace: Trace, spot: Spot) -> Asked:
    """Will this guess be accepted?"""
    step = step_of(trace, spot)
    guess = step.nodes[spot.node]
    right = spot.node in step.accepted
    words = {
        "guess": token(guess.token),
        "after": token(step.nodes[guess.parent].token),
        "wanted": token(step.nodes[guess.parent].pick),
    }
    told = say(f"told.accept.{'yes' if right else 'no'}", **words)
    return Asked(say("ask.accept", **words), *yes_or_no(right), told)


def want(trace: Trace, spot: Spot) -> Asked:
    """Which token will the model want next?"""
    step = step_of(trace, spot)
    root, pick = step.nodes[0], step.nodes[0].pick
    guessed = [step.nodes[n].token for n in children(step, 0)]
    rivals = [t for t in (*guessed, *(t for t, _ in root.top)) if t != pick]
    chosen = sorted({pick, *list(dict.fromkeys(rivals))[: MOST - 1]})
    told = say(f"told.want.{'guessed' if pick in guessed else 'missed'}", wanted=token(pick))
    answers = tuple(say("answer.token", token=token(t)) for t in chosen)
    return Asked(say("ask.want", after=token(root.token)), answers, chosen.index(pick), told)


def count(trace: Trace, spot: Spot) -> Asked:
    """How many guesses will be accepted?"""
    step = step_of(trace, spot)
    right, of = len(step.accepted), len(step.nodes) - 1
    answers = numbers(right, (of, 0, of // 2, 1, 2))
    how = "ended" if step.clipped else "whole"
    told = say(f"told.count.{how}", right=right, of=of, written=len(step.emitted))
    return Asked(say("ask.count", of=of), *answers, told)


def written(trace: Trace, spot: Spot) -> Asked:
    """How many tokens will this one pass write?"""
    step = step_of(trace, spot)
    right, guesses = len(step.emitted), len(step.walk)
    told = say("told.written", guesses=guesses, right=right, own=token(step.emitted[-1]))
    return Asked(say("ask.written"), *numbers(right, (1, guesses, guesses // 2)), told)


def equal(trace: Trace, spot: Spot) -> Asked:
    """Is the text the one that the model writes alone?"""
    right = trace.check is not None and trace.check.equal is True
    told = say(f"told.equal.{'yes' if right else 'no'}", tokens=len(decoder(trace).tokens))
    return Asked(say("ask.equal"), *yes_or_no(right), told)


# Memories


def answered(trace: Trace, spot: Spot) -> Asked:
    """How many of the three memories know what stands here?"""
    step = step_of(trace, spot)
    right, root = len(hits(step, 0)), token(step.nodes[0].token)
    told = say(f"told.answered.{'some' if right else 'none'}", right=right, root=root)
    return Asked(say("ask.answered", root=root), *numbers(right, (0, 1, 2, 3)), told)


def level(trace: Trace, spot: Spot) -> Asked:
    """Which memory knew the token that the model wants?"""
    step, pick = step_of(trace, spot), step_of(trace, spot).nodes[spot.node].pick
    found = hits(step, spot.node)
    right = next(i for i, hit in enumerate(found) if hit.ids[0] == pick)
    answers = tuple(say(f"answer.level{h.level}", token=token(h.ids[0])) for h in found)
    told = say(
        "told.level", wanted=token(pick), level=part(f"part.level{found[right].level}"),
        weight=decimals(found[right].weight),
    )  # fmt: skip
    question = say("ask.level", after=token(step.nodes[spot.node].token))
    return Asked(question, answers, right, told)


def weight(trace: Trace, spot: Spot) -> Asked:
    """Which memory weighs most here?"""
    found = hits(step := step_of(trace, spot), spot.node)
    right = max(range(len(found)), key=lambda i: found[i].weight)
    answers = tuple(say(f"answer.level{h.level}", token=token(h.ids[0])) for h in found)
    weights = [
        part(
            "part.weight", level=part(f"part.level{h.level}"), weight=decimals(h.weight),
            base=decimals(h.base, 1), entropy=decimals(h.entropy),
        )
        for h in found
    ]  # fmt: skip
    question = say("ask.weight", after=token(step.nodes[spot.node].token))
    return Asked(question, answers, right, say("told.weight", weights=listed(weights, "; ")))


CUTS = ("cost", "score", "depth")


def cut(trace: Trace, spot: Spot) -> Asked:
    """Why was the wanted token no guess?"""
    step, wanted = step_of(trace, spot), step_of(trace, spot).nodes[spot.node].pick
    look = lookup(step, spot.node)
    known = look.candidates if look else ()
    at, one = next((i, c) for i, c in enumerate(known, 1) if c.token == wanted)
    keys = dict.fromkeys((one.cut, *CUTS))
    answers = choice(("unknown", *(f"cut.{k}" for k in list(keys)[:3])), f"cut.{one.cut}")
    told = say(
        "told.cut", wanted=token(wanted), rank=at, of=len(known), why=part(f"part.cut.{one.cut}"),
        share={"probability": one.probability},
    )  # fmt: skip
    return Asked(say("ask.cut", wanted=token(wanted)), *answers, told)


def learned(trace: Trace, spot: Spot) -> Asked:
    """Did the memory learn this from accepted or from refused guesses?"""
    look, candidate = metrics.given(step := step_of(trace, spot))[spot.node]
    row = metrics.foremost(look, candidate)
    if row is None:
        raise LookupError("a copied guess comes from no memory row")
    right = "accepted" if row.written.accepted else "refused"
    answers = choice(("learned.accepted", "learned.refused"), f"learned.{right}")
    guess = token(step.nodes[spot.node].token)
    told = say(f"told.learned.{right}", guess=guess, step=row.written.step + 1)
    question = say("ask.learned", guess=guess, level=part(f"part.level{row.level}"))
    return Asked(question, *answers, told)


# Drafter heads


def _sight(trace: Trace, spot: Spot) -> WindowEvidence:
    found = step_of(trace, spot).evidence
    if not isinstance(found, WindowEvidence):
        raise LookupError("no head drafted here")
    return found


def _entries(trace: Trace, spot: Spot) -> int:
    """Entries that there were for the head at the root of a step."""
    return next(s.entries for s in sights.looks(decoder(trace)) if s.step.index == spot.step)


def seen(trace: Trace, spot: Spot) -> Asked:
    """How much of the text does the head see?"""
    sight, entries = _sight(trace, spot), _entries(trace, spot)
    kept, last = sights.kept(sight), sight.entries[-1].length
    told = say(
        f"told.seen.{'part' if kept < entries else 'all'}",
        kept=kept, sinks=kept - last, window=last, all=entries, trained=sight.trained,
    )  # fmt: skip
    return Asked(say("ask.seen", all=entries), *numbers(kept, (entries, 4, entries // 2)), told)


def position(trace: Trace, spot: Spot) -> Asked:
    """Which position is the last entry told?"""
    sight, entries = _sight(trace, spot), _entries(trace, spot)
    last = sight.entries[-1]
    true, told_at = last.first + last.length - 1, round(last.at + (last.length - 1) * last.step)
    told = say(
        f"told.position.{'new' if told_at != true else 'true'}",
        true=true, told=told_at, trained=sight.trained, distance=round(sight.distance),
    )  # fmt: skip
    answers = numbers(told_at, (true, sight.trained + 1000, round(sights.kept(sight)) - 1))
    return Asked(say("ask.position", true=true, all=entries), *answers, told)


def offered(trace: Trace, spot: Spot) -> Asked:
    """Had the head thought of the wanted token?"""
    step = step_of(trace, spot)
    wanted = step.nodes[spot.node].pick
    found = sights.rank(step, spot.node, wanted)
    right = "unknown" if found is None else "left_out" if found.cut else "drafted"
    answers = choice((f"offered.{k}" for k in ("drafted", "left_out", "unknown")),
                     f"offered.{right}")  # fmt: skip
    words: dict[str, Any] = {"wanted": token(wanted)}
    if found is not None:
        words |= {"rank": found.rank, "share": {"probability": found.probability}}
    question = say("ask.offered", after=token(step.nodes[spot.node].token))
    return Asked(question, *answers, say(f"told.offered.{right}", **words))


# Waves


def _wave(trace: Trace, spot: Spot) -> WaveEvidence:
    found = step_of(trace, spot).evidence
    if not isinstance(found, WaveEvidence):
        raise LookupError("no wave here")
    return found


def changes(trace: Trace, spot: Spot) -> Asked:
    """How many guesses will the next round change?"""
    rounds = _wave(trace, spot).rounds
    before, after = rounds[spot.round - 1].cells, rounds[spot.round].cells
    pairs = [(a.token, b.token) for a, b in zip(before, after, strict=False)
             if b.state == "changed"]  # fmt: skip
    shown = [part("part.change", old=token(a), new=token(b)) for a, b in pairs]
    told = say("told.changes", round=spot.round + 1, right=len(pairs), changes=listed(shown))
    answers = numbers(len(pairs), (0, len(before), 1, 2))
    return Asked(say("ask.changes", round=spot.round + 1, of=len(before)), *answers, told)


def freezes(trace: Trace, spot: Spot) -> Asked:
    """What will the next round do with the first guess?"""
    cell = _wave(trace, spot).rounds[spot.round].cells[spot.place]
    answers = choice((f"state.{k}" for k in ("changed", "same", "frozen")), f"state.{cell.state}")
    told = say(f"told.state.{cell.state}", guess=token(cell.token), age=cell.age)
    return Asked(say("ask.state", guess=token(cell.token), round=spot.round + 1), *answers, told)


def settles(trace: Trace, spot: Spot) -> Asked:
    """In which round will this place have its last guess?"""
    wave = _wave(trace, spot)
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
    step, wave = step_of(trace, spot), _wave(trace, spot)
    right, plain = wave.calls + wave.depth, len(step.emitted) * wave.depth
    told = say(
        "told.calls", draft=wave.calls, depth=wave.depth, right=right, tokens=len(step.emitted),
        plain=plain, work=wave.applications + wave.depth * len(step.nodes),
    )  # fmt: skip
    question = say("ask.calls", depth=wave.depth, tokens=len(step.emitted))
    return Asked(question, *numbers(right, (plain, wave.depth, wave.calls)), told)


# Pictures


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


# Costs


def _costs(trace: Trace) -> dict[str, float]:
    found = metrics.breakdown(trace)
    if found is None:
        raise LookupError("the run has no measured baseline")
    return found


def faster(trace: Trace, spot: Spot) -> Asked:
    """Was this run faster than plain decoding?"""
    costs = {name: round(value, 2) for name, value in _costs(trace).items()}
    right = "faster" if costs["speed"] > 1 else "slower"
    told = say(
        f"told.{right}",
        **{name: decimals(costs[name]) for name in ("tau", "cost", "pass", "speed")},
        rest=decimals(costs["cost"] - costs["pass"]),
        sign="=" if round(costs["tau"] / costs["cost"], 2) == costs["speed"] else "≈",
    )
    answers = choice(("faster", "slower"), right)
    return Asked(say("ask.faster", tau=decimals(costs["tau"])), *answers, told)


def pass_cost(trace: Trace, spot: Spot) -> Asked:
    """What does one pass over so many rows cost, in plain passes?"""
    rows, right = len(step_of(trace, spot).nodes), _costs(trace)["pass"]
    near = sorted({1.0, round(right, 1), float(rows)})
    answers = tuple(say("answer.times", x=decimals(x, 0 if x == int(x) else 1)) for x in near)
    told = say("told.pass_cost", rows=rows, right=decimals(right))
    return Asked(say("ask.pass_cost", rows=rows), answers, near.index(round(right, 1)), told)


def dearest(trace: Trace, spot: Spot) -> Asked:
    """What takes more of a step's time: guessing or verifying?"""
    costs = _costs(trace)
    right = "dear.draft" if costs["draft"] > costs["pass"] else "dear.pass"
    told = say(f"told.{right}", draft=decimals(costs["draft"], 1), check=decimals(costs["pass"], 1))
    return Asked(say("ask.dear"), *choice(("dear.draft", "dear.pass"), right), told)
