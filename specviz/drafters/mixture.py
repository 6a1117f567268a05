"""How stored predictions of several levels become one list of candidates.

Longer keys weigh more to begin with, then certainty counts: the preprint names the entropy factor
in words only, its formula here is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specviz.drafters.base import knob
from specviz.drafters.growth import COPIED, Answer, Option, Source
from specviz.drafters.memory import Row
from specviz.drafters.spans import Match

BASE = {3: 0.70, 2: 0.20, 1: 0.10}
BY_RANK = (0.70, 0.20, 0.10)
LEVEL_SETS = ("1", "2", "3", "12", "13", "23", "123")
FLOOR = 0.05

Found = tuple[int, tuple[int, ...], Row]  # level, key, row


@dataclass
class Settings:
    """What can be chosen about recycling; every field is a knob of RECAP."""

    nodes: int = knob(0, "Guesses per step; 0 lets the device choose.", 0, 96, advanced=False)
    levels: str = knob(
        "123",
        "Memory levels in use; 3 alone is level 3 without fallback.",
        choices=LEVEL_SETS,
        advanced=False,
    )
    gamma: float = knob(
        1.0, "How strongly an uncertain prediction loses weight; 0: not.", 0, 4, advanced=False
    )
    base: str = knob(
        "level", "Base weights fixed by level or by rank among hits.", choices=("level", "rank")
    )
    longest_wins: bool = knob(False, "Only the longest key that hits counts.")
    entropy: str = knob("top", "Entropy over top-k and tail, or full.", choices=("top", "full"))
    lesson: float = knob(
        0.04, "Tokens that a guess is worth by what it teaches, where costs set the size.", 0, 1
    )
    width: int = knob(8, "Children kept per node.", 1, 8)
    depth: int = knob(10, "Deepest guess.", 1, 16)
    least_score: float = knob(0.002, "Branches less probable than this are not grown.", 0, 0.5)
    calibration: str = knob(
        "level",
        "Discount by the longest key that hit, by depth (a table, or learned), or none.",
        choices=("level", "depth", "learned", "none"),
    )
    copy: str = knob(
        "merged",
        "Copied continuations compete for the budget, get extra nodes, or are off.",
        choices=("merged", "reserve", "off"),
    )
    seed: str = knob(
        "level1",
        "Predictions read off the prompt: into level 1, into all levels, or none.",
        choices=("none", "level1", "all"),
    )
    rejected: bool = knob(True, "Refused branches update the memory too.")
    turns: bool = knob(False, "Levels 2 and 3 stay over the turns of one talk.")
    repeats: int = knob(2, "How often one edge may repeat on a branch; 0: no limit.", 0, 8)


def mix(found: Sequence[Found], settings: Settings, copied: Option | None) -> Answer:
    """Candidates by q(t) = sum of w p(t) over the levels that hit, the largest first.

    ``found``: the levels that hit, the most specific first. The top-k of a row is not renormalised,
    so q stays an estimate of a probability. Among equals the first seen comes first.
    """
    weights = weights_of(found, settings)
    options: dict[int, Option] = {}
    share: dict[int, float] = {}
    for (level, _, row), weight in zip(found, weights, strict=True):
        if weight == 0.0:
            continue
        for token, probability in zip(row.ids, row.probs, strict=True):
            part = weight * probability
            option = options.setdefault(token, Option(token, 0.0, level))
            option.probability += part
            if part > share.get(token, 0.0):
                share[token], option.level = part, level
    if copied is not None:
        option = options.setdefault(copied.token, copied)
        if copied.probability > option.probability:
            option.probability, option.level = copied.probability, COPIED
    sources = tuple(
        Source(level, key, row, base_of(level, rank, settings), weight)
        for rank, ((level, key, row), weight) in enumerate(zip(found, weights, strict=True))
    )
    return Answer(sources, sorted(options.values(), key=lambda o: -o.probability))


def base_of(level: int, rank: int, settings: Settings) -> float:
    """The weight before certainty counts: by level, or by rank among the hits."""
    return BASE[level] if settings.base == "level" else BY_RANK[rank]


def weights_of(found: Sequence[Found], settings: Settings) -> list[float]:
    """w = b x max(1 - h, 0.05) ** gamma, normalised over the levels that hit."""
    if settings.longest_wins:
        return [1.0 if rank == 0 else 0.0 for rank in range(len(found))]
    raw = [
        base_of(level, rank, settings) * max(1.0 - row.entropy, FLOOR) ** settings.gamma
        for rank, (level, _, row) in enumerate(found)
    ]
    return [w / sum(raw) for w in raw]


def copied_option(match: Match, branch: tuple[int, ...]) -> Option | None:
    """The copied continuation's token after ``branch``, None where the branch has left it.

    It is believed with 1 - 1 / (n + 1), at most 0.9, for n equal tokens before it.
    """
    if len(branch) >= len(match.tokens) or match.tokens[: len(branch)] != branch:
        return None
    belief = min(0.9, 1.0 - 1.0 / (match.length + len(branch) + 1))
    return Option(match.tokens[len(branch)], belief, COPIED)
