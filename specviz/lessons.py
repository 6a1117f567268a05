"""Lessons: recorded runs with stops that ask for a prediction before the recording answers.

A lesson is data; its stops name a recorded example, a rule that finds the step there, and a
question whose right answer is computed from the recording. ``plain`` gives what the player runs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from specviz import lesson_pictures as pictures
from specviz import lesson_questions as ask
from specviz import lesson_rules as at
from specviz import lesson_waves as waves
from specviz import metrics
from specviz.catalog import text
from specviz.gallery import example
from specviz.lesson_sentences import Question, say
from specviz.trace import Trace

# Where the player stands: before the step, its guesses made, after a round, the step over, the end.
Beat = Literal["before", "guesses", "round", "whole", "finish"]
# What would give the answer away, and is covered until it is given.
Veil = Literal["memory", "sight", "head"]


@dataclass(frozen=True)
class Stop:
    """One question. From ``asked`` the recording plays on to ``told``; ``rounds`` ahead in a wave.

    ``probe``: which other picture's effect is shown when the answer is told.
    """

    example: str
    rule: Any  # Callable[[Trace], Spot]; a dataclass would take a bare function for a method
    question: Question
    asked: Beat = "guesses"
    told: Beat = "whole"
    veils: tuple[Veil, ...] = ()
    rounds: int = 1
    probed: bool = False


@dataclass(frozen=True)
class Lesson:
    """Stops in order; its words are ``lesson.<name>.title``, ``.about`` and ``.<n>.say``."""

    name: str
    stops: tuple[Stop, ...]
    minutes: int


# The player looks at the very node that these are about.
ABOUT_A_NODE = (ask.accept, ask.level, ask.weight, ask.cut, ask.learned)
ENDS: dict[str, Any] = {"asked": "finish", "told": "finish", "veils": ("head",)}

LESSONS = (
    Lesson("speculation", (
        Stop("list", at.all_refused, ask.accept),
        Stop("list", at.one_right, ask.want),
        Stop("list", at.branch_in_tree, ask.count),
        Stop("list", at.all_right, ask.written),
        Stop("list", at.closing, ask.equal, **ENDS),
        Stop("list", at.closing, ask.faster, **ENDS),
    ), minutes=4),
    Lesson("memories", (
        Stop("tea", at.nothing_known, ask.answered, "before", "whole", ("memory",)),
        Stop("tea", at.memories_disagree, ask.level),
        Stop("tea", at.unsure_outweighed, ask.weight, veils=("memory",)),
        Stop("list", at.known_but_cut, ask.cut, "whole", "whole", ("memory",)),
        Stop("list", at.recycled, ask.learned, "guesses", "whole", ("memory",)),
        Stop("list", at.longest, ask.count),
    ), minutes=5),
    Lesson("window", (
        Stop("head-7000", at.first_look, ask.seen, "before", "guesses", ("sight", "memory")),
        Stop("head-7000", at.first_look, ask.position, "before", "guesses", ("sight", "memory")),
        Stop("head-7000", at.two_right, ask.count),
        Stop("head-7000", at.offered_not_drafted, ask.offered, "whole", "whole", ("memory",)),
        Stop("head-true", at.first_look, ask.position, "before", "guesses", ("sight", "memory")),
        Stop("head-full", at.closing, ask.faster, **ENDS),
    ), minutes=5),
    Lesson("wave", (
        Stop("stones", waves.second_round, waves.changes, "round", "round"),
        Stop("stones", waves.before_freezing, waves.freezes, "round", "round"),
        Stop("stones", waves.slowest_place, waves.settles, "round", "round", rounds=0),
        Stop("stones", at.opening, waves.calls, "guesses", "whole", ("memory",)),
        Stop("cups", waves.wave_refused, ask.count),
        Stop("cups", at.closing, ask.faster, **ENDS),
    ), minutes=5),
    Lesson("pictures", (
        Stop("sign", pictures.most_dependent, pictures.depends, "before", "whole", probed=True),
        Stop("sign", pictures.independent, pictures.depends, "before", "whole", probed=True),
        Stop("sign", at.two_right, ask.count),
        Stop("sign", pictures.reading_guessed, ask.accept),
        Stop("sign", pictures.changed_by_some, pictures.depends, "before", "whole", probed=True),
        Stop("sign", pictures.probed_end, pictures.tally, "finish", "finish", probed=True),
    ), minutes=5),
    Lesson("losing", (
        Stop("slower", at.all_refused, ask.count),
        Stop("slower", at.opening, ask.pass_cost, **ENDS),
        Stop("slower", at.closing, ask.faster, **ENDS),
        Stop("overdone", at.opening, ask.count),
        Stop("overdone", at.closing, ask.dearest, **ENDS),
        Stop("head-full", at.closing, ask.faster, **ENDS),
    ), minutes=4),
)  # fmt: skip


def named(name: str) -> Lesson | None:
    """The lesson of a name, None where there is none."""
    return next((lesson for lesson in LESSONS if lesson.name == name), None)


def examples_of(lesson: Lesson) -> list[str]:
    """The recorded runs of a lesson, in the order in which they are needed."""
    return list(dict.fromkeys(stop.example for stop in lesson.stops))


def cards(lang: str = "en") -> list[dict[str, Any]]:
    """What there is to learn, without reading a recording: {name, title, about, stops, minutes,
    examples}."""
    return [
        {
            "name": lesson.name,
            "title": text(f"lesson.{lesson.name}.title", lang),
            "about": text(f"lesson.{lesson.name}.about", lang),
            "stops": len(lesson.stops),
            "minutes": lesson.minutes,
            "examples": examples_of(lesson),
        }
        for lesson in LESSONS
    ]


def plain(lang: str = "en", only: str | None = None) -> list[dict[str, Any]]:
    """All lessons (or ``only`` one) as JSON for ``player.startLesson``: ``cards`` with every stop
    resolved in ``at``. But for title and about nothing depends on ``lang``: sentences are keys.

    Raises LookupError where a recording has no step that a rule fits.
    """
    return [
        {**card, **json.loads(_resolved(card["name"]))}
        for card in cards(lang)
        if only is None or card["name"] == only
    ]


@cache
def _resolved(name: str) -> str:
    # As text: whoever gets the data may change it.
    return json.dumps(next(resolved(lesson) for lesson in LESSONS if lesson.name == name))


def resolved(lesson: Lesson) -> dict[str, Any]:
    """The stops of a lesson as plain data, and how often its drafters guessed right."""
    traces = {name: example(name).trace for name in examples_of(lesson)}
    stops = [
        _stop(stop, traces[stop.example], f"{lesson.name}.{n}")
        for n, stop in enumerate(lesson.stops, 1)
    ]
    return {"at": stops, "drafter": _drafter(list(traces.values()))}


def _stop(stop: Stop, trace: Trace, name: str) -> dict[str, Any]:
    spot: at.Spot = stop.rule(trace)
    asked = stop.question(trace, spot)
    until = _until(stop, spot, trace)
    covered = {"probe": None} if stop.probed else {}
    shown = {"probe": spot.probe} if stop.probed else {}
    return {
        "example": stop.example,
        "spot": asdict(spot),
        "asked": {"beat": stop.asked, "step": spot.step, "round": spot.round, **covered},
        "told": {"beat": stop.told, "step": spot.step, "round": until, **shown},
        "node": spot.node if stop.question in ABOUT_A_NODE else None,
        "veils": list(stop.veils),
        "say": say(f"{name}.say"),
        "question": asked.question,
        "answers": list(asked.answers),
        "right": asked.right,
        "because": asked.told,
    }


def _until(stop: Stop, spot: at.Spot, trace: Trace) -> int:
    """The round that tells the answer: the next one, or the one in which a place settles."""
    wave = at.decoder(trace).steps[spot.step].evidence
    if stop.rounds or getattr(wave, "kind", "") != "wave":
        return spot.round + stop.rounds
    return waves.settling(wave, spot.place)[1]  # type: ignore[arg-type]


def _drafter(traces: Sequence[Trace]) -> dict[str, int]:
    """Guesses that were put to the test in these runs, and those that were right."""
    steps = [step for trace in traces for step in at.decoder(trace).steps]
    tested = sum(map(metrics.tested, steps))
    return {"right": sum(len(step.accepted) for step in steps), "tested": tested}
