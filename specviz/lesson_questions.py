"""What lessons ask: a question, its answers and the right one, computed from what was recorded.

Every question takes a trace and a place in it.
"""

from __future__ import annotations

from typing import Any

from specviz import metrics, sights
from specviz.evidence import WindowEvidence
from specviz.lesson_rules import Spot, children, decoder, evidence_of, hits, lookup, step_of
from specviz.lesson_sentences import (
    MOST,
    Asked,
    choice,
    decimals,
    listed,
    numbers,
    part,
    say,
    token,
    yes_or_no,
)
from specviz.trace import Trace

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

LEVELS = 3


def answered(trace: Trace, spot: Spot) -> Asked:
    """How many of the three memories have an answer to how the text ends?"""
    right = len(hits(step_of(trace, spot), 0))
    run = decoder(trace)
    before = sum(len(step.emitted) for step in run.steps[: spot.step]) + 1
    ending = [*run.header.tokens, *run.tokens[:before]][-LEVELS:]
    told = say(f"told.answered.{'some' if right else 'none'}", right=right)
    question = say("ask.answered", step=spot.step, ending=listed(map(token, ending), " "))
    return Asked(question, *numbers(right, (0, 1, 2, 3)), told)


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
            base=decimals(h.base, 1), sure=decimals(1 - h.entropy),
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


def _entries(trace: Trace, spot: Spot) -> int:
    """Entries that there were for the head at the root of a step."""
    return next(s.entries for s in sights.looks(decoder(trace)) if s.step.index == spot.step)


def seen(trace: Trace, spot: Spot) -> Asked:
    """How much of the text does the head see?"""
    sight, entries = evidence_of(trace, spot, WindowEvidence), _entries(trace, spot)
    kept, last = sights.kept(sight), sight.entries[-1].length
    told = say(
        f"told.seen.{'part' if kept < entries else 'all'}",
        kept=kept, sinks=kept - last, window=last, all=entries, trained=sight.trained,
    )  # fmt: skip
    return Asked(say("ask.seen", all=entries), *numbers(kept, (entries, 4, entries // 2)), told)


def position(trace: Trace, spot: Spot) -> Asked:
    """Which position is the last entry told?"""
    sight, entries = evidence_of(trace, spot, WindowEvidence), _entries(trace, spot)
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
