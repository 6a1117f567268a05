"""A drafter head alone behind contexts that nobody reads: seconds and memory, and the shift lemma.

Everything here is synthetic: the real drafter with all its knobs, on a target that only says how
much it has read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter
from typing import overload

import psutil

from specviz.bench.runner import Runner
from specviz.bench.window_rows import Rows
from specviz.bench.window_units import Alone, Shift
from specviz.drafters.window import Window
from specviz.models.base import Scores
from specviz.windows import Mode

POSITIONS = (4_000, 16_000, 64_000, 250_000, 1_000_000, 2_000_000)
SHIFTED = (1_000, 10_000, 100_000, 1_000_000, 2_000_000)
MOST_BYTES = 8 * 2**30  # of what a head keeps: beyond, only the size is told
SPARE = 3  # times what is kept has to be free: growing and turning copy
CHUNK = 32_768  # positions that a head without a window takes in at once
TAKEN = 2  # tokens that a round commits
WARM, LEAST_ROUNDS, MOST_ROUNDS = 2, 3, 15
ENOUGH = 1.0  # seconds of rounds after which the least number of them will do
BUDGET = 64
NOTHING = Scores((), (), (), (), (), (), (), ())


@dataclass(frozen=True)
class Told(Sequence[int]):
    """A text of ``length`` tokens that repeats a few of the first ``vocabulary`` ids."""

    length: int
    vocabulary: int

    def __len__(self) -> int:
        return self.length

    @overload
    def __getitem__(self, at: int) -> int: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[int]: ...
    def __getitem__(self, at: int | slice) -> int | Sequence[int]:
        if isinstance(at, slice):
            return [self[i] for i in range(*at.indices(self.length))]
        if not -self.length <= at < self.length:
            raise IndexError(at)
        return (at % self.length) * 7 % self.vocabulary


def most_bytes() -> int:
    """What a head may keep here and now."""
    return min(MOST_BYTES, int(psutil.virtual_memory().available) // SPARE)


def alone(runner: Runner, rows: Rows, mode: Mode, positions: int) -> Alone:
    """Time drafts of full size in that mode; only what the memory allows."""
    from specviz.models.eagle_faked import faked

    model, bounds = runner.model, rows.bounds(mode)
    session = faked(model, rows.head)
    entries = bounds.sight(positions).entries
    if entries * session.entry_bytes > most_bytes():
        size = entries * session.entry_bytes // 2
        return Alone(
            positions=positions, entries=entries, bytes=size, seconds=None, rounds=0, guesses=0
        )
    # No branch is dropped: a draft of the greatest size, whatever the made-up features say.
    drafter = Window(mode=mode, head=rows.head, least=0.0)
    drafter.check(model)
    drafter.start(session, (), NOTHING)
    read, spent, guesses = 0, list[float](), 0

    def draft(more: int, budget: int) -> int:
        nonlocal read
        read += more
        session.pass_by(more)
        return len(drafter.propose(Told(read + 1, model.vocab_size), budget).tree) - 1

    while read < positions:  # a budget of two tokens: taken in, and no tree grown
        draft(min(positions - read, positions if bounds.bounded else CHUNK), 2)
    for round in range(WARM + MOST_ROUNDS):
        started = perf_counter()
        guesses = draft(TAKEN, BUDGET)
        if round >= WARM:
            spent.append(perf_counter() - started)
        if len(spent) >= LEAST_ROUNDS and sum(spent) > ENOUGH:
            break
    return Alone(
        positions=positions, entries=entries, bytes=session.bytes, guesses=guesses,
        seconds=round_to(median(spent)), rounds=len(spent),
    )  # fmt: skip


def shift(runner: Runner, rows: Rows, positions: int) -> Shift:
    """The shift lemma behind so many entries, in float64."""
    from specviz.models.eagle_faked import faked, gaps

    found = gaps(faked(runner.model, rows.head).head.config, rows.bounds("slot"), positions)
    return Shift(positions=positions, **asdict(found))


def round_to(seconds: float) -> float:
    """Microseconds, at least one."""
    return max(1e-6, round(seconds, 6))
