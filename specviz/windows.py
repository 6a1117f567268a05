"""Which entries of a drafter's cache stay, and at which positions it sees them.

An entry stands for one token of the text and keeps its number, which is its true position. What the
drafter is told may be another position: a head that was trained on short texts has never seen a
distance, or a position, beyond them. Source: algorithm of the bounded drafter (Jafari and others),
sinks after arXiv 2309.17453.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

Mode = Literal["full", "window_abs", "slot", "shift", "reindex_only"]
MODES: tuple[Mode, ...] = get_args(Mode)
BOUNDED: tuple[Mode, ...] = ("window_abs", "slot", "shift")
STANDING: tuple[Mode, ...] = ("full", "window_abs", "shift")


class Stretch(NamedTuple):
    """``length`` entries in a row, the first of them number ``first``. Entry ``first + i`` is seen
    at position ``at + i * step``."""

    first: int
    length: int
    at: float
    step: float


@dataclass(frozen=True)
class Sight:
    """What the drafter sees in one round: ``stretches`` of entries in order, the first sinks.

    ``tip``: the position of the last entry, which the root is guessed behind; a node of the draft
    ``d`` levels below the root stands at ``tip + d * step``.
    """

    stretches: tuple[Stretch, ...]
    tip: float
    step: float

    @property
    def entries(self) -> int:
        """How many there are."""
        return sum(s.length for s in self.stretches)

    def farthest(self, depth: int) -> float:
        """The greatest position at ``depth`` levels below the root."""
        return self.tip + depth * self.step

    def distance(self, depth: int) -> float:
        """The greatest distance between a node at that depth and an entry that it sees."""
        return self.farthest(depth) - min((s.at for s in self.stretches), default=self.tip)


@dataclass(frozen=True)
class Bounds:
    """A rule for what stays.

    ``full``: everything, where it stands. ``window_abs``: the first ``sinks`` and the last
    ``window`` entries, where they stand. ``slot``: the same, counted from 0 without the gap
    between them. ``shift``: the window stays where it stands, and the sinks are moved up to it,
    which moves all positions of ``slot`` by the same amount and so changes no score (RoPE sees
    distances alone), while only the sinks are turned anew. ``reindex_only``: everything, pressed
    together so that a draft of ``depth`` levels still ends within ``trained`` positions (position
    interpolation, arXiv 2306.15595).
    """

    mode: Mode
    sinks: int
    window: int
    depth: int
    trained: int

    @classmethod
    def of(
        cls,
        mode: Mode,
        sinks: int,
        window: int,
        depth: int,
        trained: int,
        made_for: int | None = None,
    ) -> Bounds:
        """Where ``window`` is 0, with the one that the head was ``made_for``, None for none, or as
        large a one as the trained range has room for."""
        most = widest(sinks, depth, trained)
        return cls(mode, sinks, window or min(most, made_for or most), depth, trained)

    @property
    def bounded(self) -> bool:
        """Whether entries are ever dropped."""
        return self.mode in BOUNDED

    def kept(self, count: int) -> tuple[range, range]:
        """Sinks and window out of ``count`` entries; all of them are window until some are lost."""
        if not self.bounded or count <= self.sinks + self.window:
            return range(0), range(count)
        return range(self.sinks), range(count - self.window, count)

    def sight(self, count: int) -> Sight:
        """What is seen of ``count`` entries, at least one."""
        sinks, window = self.kept(count)
        step = 1.0
        start = float(window.start)
        first = 0.0
        if self.mode == "slot":
            start = float(len(sinks))
        elif self.mode == "shift":
            first = start - len(sinks)
        elif self.mode == "reindex_only":
            step = min(1.0, self.trained / (count + self.depth))
        found = [Stretch(0, len(sinks), first, 1.0)] if sinks else []
        found.append(Stretch(window.start, len(window), start, step))
        return Sight(tuple(found), start + (len(window) - 1) * step, step)

    @property
    def standing(self) -> bool:
        """Whether an entry of the window keeps its position from one round to the next."""
        return self.mode in STANDING

    @property
    def needed(self) -> int:
        """Positions that a full window and the deepest draft behind it take."""
        return self.sinks + self.window + self.depth + 1


def widest(sinks: int, depth: int, trained: int) -> int:
    """The largest window with which every position stays within ``trained`` ones; may be < 1."""
    return trained - sinks - depth - 1
