"""What the suite compares: headline rows, ablations, and in which order they run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeVar

from specviz.drafters.base import KnobValue

T = TypeVar("T")
OURS, RECAP = "ours", "recap_cold"
LOOKUP_TOKENS = 10
DEFAULT_EVERY = 6


@dataclass(frozen=True)
class Row:
    """One way of decoding. ``lookup`` None: our loop with ``decoder`` and ``knobs``; else
    transformers' ``generate`` with so many tokens of prompt lookup (0: none).

    ``warm``: with a memory that other prompts filled. ``packed`` False: stock weights in our loop.
    ``depth``: a recurrent-depth model run with so many iterations, which says other things.
    ``against``: the row of the same part that this one is a ratio to. ``once``: run in the first
    repetition only.
    """

    name: str
    decoder: str = ""
    knobs: Mapping[str, KnobValue] = field(default_factory=lambda: MappingProxyType({}))
    warm: bool = False
    packed: bool | None = None
    lookup: int | None = None
    depth: int | None = None
    against: str = OURS
    once: bool = False

    @property
    def peer(self) -> bool:
        """Whether transformers runs it."""
        return self.lookup is not None

    @property
    def compared(self) -> bool:
        """Whether its tokens have to be those of our plain loop."""
        return self.name != OURS and self.depth is None


_STATIC = MappingProxyType({"tree": "static"})
_BEST_FIRST = MappingProxyType({"tree": "best_first"})
HEADLINE = (
    Row(OURS, "autoregressive"),
    Row("generate", lookup=0),
    Row("hf_prompt_lookup", lookup=LOOKUP_TOKENS),
    Row("prompt_lookup", "prompt_lookup"),
    Row("tr_static", "token_recycling", _STATIC),
    Row("tr_best_first", "token_recycling", _BEST_FIRST),
    Row(RECAP, "recap"),
    Row("recap_warm", "recap", warm=True),
)
LONG = tuple(r for r in HEADLINE if r.name in (OURS, "generate", "prompt_lookup",
                                               "tr_best_first", RECAP))  # fmt: skip


def _recap(name: str, **knobs: KnobValue) -> Row:
    return Row(name, "recap", MappingProxyType(knobs), against=RECAP)


ABLATIONS = (
    _recap(RECAP),
    _recap("levels 1", levels="1"),
    _recap("levels 1 and 2", levels="12"),
    _recap("levels 2 and 3", levels="23"),
    _recap("level 3 alone", levels="3"),
    _recap("no entropy (gamma 0)", gamma=0.0),
    _recap("longest key wins", longest_wins=True),
    _recap("no copying", copy="off"),
    _recap("copies in reserve", copy="reserve"),
    _recap("no seeding", seed="none"),
    _recap("all levels seeded", seed="all"),
    _recap("accepted branches only", rejected=False),
    _recap("no calibration", calibration="none"),
    _recap("learned calibration", calibration="learned"),
    _recap("7 nodes", nodes=7),
    _recap("15 nodes", nodes=15),
    _recap("31 nodes", nodes=31),
    Row("stock weights", "recap", packed=False, against=RECAP),
    Row("warm", "recap", warm=True, against=RECAP),
    Row("Token Recycling, best-first", "token_recycling", _BEST_FIRST, against=RECAP),
    Row("Token Recycling, best-first, warm", "token_recycling", _BEST_FIRST, True, against=RECAP),
    Row(OURS, "autoregressive"),
    Row("ours, stock weights", "autoregressive", packed=False, against=OURS),
)


def rotated(rows: Sequence[T], prompt: int, repetition: int) -> tuple[T, ...]:
    """``rows`` beginning with another one for every prompt and repetition, every other repetition
    backwards: drift of the machine and heat of the caches fall on no row in particular."""
    shift = (prompt + repetition) % len(rows)
    turned = (*rows[shift:], *rows[:shift])
    return turned[::-1] if repetition % 2 else turned


def interleaved(rows: Sequence[Row], default: Row, every: int = DEFAULT_EVERY) -> tuple[Row, ...]:
    """``rows`` without ``default``, which is put before the first and after every ``every``."""
    others = [row for row in rows if row != default]
    order = [default]
    for i, row in enumerate(others, start=1):
        order.append(row)
        if i % every == 0 or i == len(others):
            order.append(default)
    return tuple(order)
