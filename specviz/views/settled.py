"""How a draft settled in rounds, in words: facts that its evidence holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from specviz.catalog import text
from specviz.evidence import WaveEvidence
from specviz.trace import Step
from specviz.views.tokens import show

MARKS = {"new": "+", "changed": "~", "same": "", "frozen": "·"}


@dataclass(frozen=True)
class Settled:
    """The last guess at one place of a block. Rounds count from 1.

    ``confidence``: the draft's probability of it in the last round, read from a state of ``age``
    core iterations; ``since`` which round it stood; ``had``: the earlier rounds whose guess there
    was the token that the model picked.
    """

    confidence: float
    age: int
    since: int
    had: tuple[int, ...]


def settled(step: Step, place: int) -> Settled | None:
    """The guess below node ``place`` of a step (0: the first one); None where there is none."""
    wave = step.evidence
    if not isinstance(wave, WaveEvidence) or not wave.rounds:
        return None
    if place + 1 >= len(step.nodes) or place >= len(wave.rounds[-1].cells):
        return None
    last = wave.rounds[-1].cells[place]
    guesses = [r.cells[place].token if place < len(r.cells) else None for r in wave.rounds]
    since = len(guesses)
    while since > 1 and guesses[since - 2] == last.token:
        since -= 1
    pick = step.nodes[place].pick
    had = tuple(k for k, guess in enumerate(guesses, start=1) if guess == pick)
    return Settled(last.probability, last.age, since, had)


def round_lines(step: Step, pieces: Mapping[int, bytes]) -> Iterator[str]:
    """Every round of a draft in one line: ``+`` new, ``~`` changed, ``·`` no longer computed."""
    wave = step.evidence
    if not isinstance(wave, WaveEvidence):
        return
    for number, part in enumerate(wave.rounds, start=1):
        guesses = " ".join(MARKS[c.state] + show(pieces.get(c.token)) for c in part.cells)
        yield text("view.wave.round", number=number, count=part.iterations, guesses=guesses)
