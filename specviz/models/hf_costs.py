"""What a pass costs: measured on this machine, kept on disk for the next process.

Passes are timed behind a made-up prefix: what stands in a cache does not change how long it takes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from specviz.files import write_whole
from specviz.trace import Costs, Progress

ROWS: tuple[int, ...] = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96)
FEW_ROWS: tuple[int, ...] = (1, 4, 8, 16, 32, 64)
CONTEXTS = (128, 512, 2048, 7168, 16384, 32768)
ROUNDS, TRIES = 2, 3
STEADY = 1.15
SLOW = 0.4  # seconds of a single-row pass from which on measuring is kept short


def rough(context: int) -> int:
    """The context length, of few, that stands for ``context``; the nearest by ratio."""
    return min(CONTEXTS, key=lambda c: max(c, context) / max(1, min(c, context)))


def measure(
    timed: Callable[[int], object], context: int, most: int = ROWS[-1]
) -> Generator[Progress, None, tuple[Costs | None, bool]]:
    """Costs of passes, and whether they were steady; ``timed(rows)`` runs one of at most ``most``.

    Two rounds over all widths, three passes of a width in a row as in decoding, the first of which
    finds the processor set up for another width and does not count. The least counts: a machine
    that was busy for a moment makes a pass slower, nothing makes it faster. None where fewer than
    two widths fit.
    """
    if most < 2:
        return None, False
    timed(1)
    started = perf_counter()
    timed(1)
    slow = perf_counter() - started > SLOW
    widths, rounds = (FEW_ROWS, 1) if slow else (ROWS, ROUNDS)
    rows = tuple(n for n in widths if n <= most)
    least = [dict.fromkeys(rows, float("inf")) for _ in range(rounds)]
    done, total = 0, rounds * len(rows) * TRIES
    for seconds in least:
        for n in rows:
            for again in range(TRIES):
                started = perf_counter()
                timed(n)
                if again:
                    seconds[n] = min(seconds[n], perf_counter() - started)
                done += 1
                yield Progress(stage="measure", done=done, total=total)
    best = tuple(max(1e-6, round(min(seconds[n] for seconds in least), 6)) for n in rows)
    return Costs(context=context, rows=rows, seconds=best), steady(least)


def steady(rounds: Sequence[Mapping[int, float]]) -> bool:
    """Whether two rounds agree within 15 % on most widths; one round has nothing to disagree with.

    What was measured beside something else serves this process, but is not kept for the next.
    """
    first, last = rounds[0], rounds[-1]
    ratios = [max(first[n], last[n]) / max(min(first[n], last[n]), 1e-9) for n in first]
    return median(ratios) <= STEADY


class Shelf:
    """Measured costs in files, one for each set of ``facts`` that they depend on."""

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.folder = folder
        self.facts = facts

    def _path(self, context: int) -> Path:
        key = json.dumps([self.facts, context], sort_keys=True)
        return self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.json"

    def get(self, context: int) -> Costs | None:
        """What an earlier process measured here."""
        try:
            return Costs.model_validate_json(self._path(context).read_bytes())
        except (OSError, ValueError):
            return None

    def put(self, context: int, costs: Costs) -> None:
        """Keep ``costs`` for ``context``; where nothing can be written they are measured again."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._path(context), costs.model_dump_json().encode())
        except OSError:
            return
