"""What a pass costs: measured on this machine, kept on disk for the next process.

Passes are timed behind a made-up prefix: what stands in a cache does not change how long it takes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator
from pathlib import Path
from time import perf_counter
from typing import Any

from specviz.files import write_whole
from specviz.trace import Costs, Progress

ROWS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96)
FEW_ROWS = (1, 4, 8, 16, 32, 64)
CONTEXTS = (128, 512, 2048, 7168, 16384, 32768)
ROUNDS, TRIES = 2, 3
SLOW = 0.4  # seconds of a single-row pass from which on measuring is kept short


def rough(context: int) -> int:
    """The context length, of few, that stands for ``context``; the nearest by ratio."""
    return min(CONTEXTS, key=lambda c: max(c, context) / max(1, min(c, context)))


def measure(timed: Callable[[int], object], context: int) -> Generator[Progress, None, Costs]:
    """Costs of passes; ``timed(rows)`` runs one.

    Two rounds over all widths, three passes of a width in a row as in decoding, the first of which
    finds the processor set up for another width and does not count. The least counts: a machine
    that was busy for a moment makes a pass slower, nothing makes it faster.
    """
    timed(1)
    started = perf_counter()
    timed(1)
    slow = perf_counter() - started > SLOW
    rows, rounds = (FEW_ROWS, 1) if slow else (ROWS, ROUNDS)
    seconds = dict.fromkeys(rows, float("inf"))
    done, total = 0, rounds * len(rows) * TRIES
    for _ in range(rounds):
        for n in rows:
            for again in range(TRIES):
                started = perf_counter()
                timed(n)
                if again:
                    seconds[n] = min(seconds[n], perf_counter() - started)
                done += 1
                yield Progress(stage="measure", done=done, total=total)
    return Costs(context=context, rows=rows, seconds=tuple(round(seconds[n], 6) for n in rows))


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

    def put(self, costs: Costs) -> None:
        """Keep ``costs``; where nothing can be written they are measured again."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self._path(costs.context), costs.model_dump_json().encode())
        except OSError:
            return
