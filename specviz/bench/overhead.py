"""What the loop adds to the network's own passes, and what recording adds to the loop.

This calls ``decode`` itself, around ``jobs.run`` and its lock of the device: ``jobs.run`` completes
every event, and it is to be told what that takes. A suite runs alone in its process.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any, TextIO

from specviz.bench.plan import tokens_of
from specviz.bench.prompts import Prompt
from specviz.bench.rows import HEADLINE, OURS, RECAP, Row
from specviz.bench.runner import Runner
from specviz.budget import Curve
from specviz.decoding import decode
from specviz.drafters import create
from specviz.trace import Prefill, Progress, Recording, Step, with_pieces
from specviz.tracefile import dumps

ROWS = tuple(r for r in HEADLINE if r.name in (OURS, RECAP))


@dataclass(frozen=True)
class Spent:
    """Seconds after prefill: in the network's forward calls, in steps, in everything."""

    forward: float
    steps: float
    wall: float


def overhead(runner: Runner, prompts: Sequence[Prompt], pairs: int) -> dict[str, Any]:
    """For the plain loop and for RECAP, medians over ``pairs`` runs of each prompt.

    ``step`` = (step - forward) / step: everything that a step does beside the network's forward
    call (mask, top-k and log-sum-exp, drafting, commit, the event itself). ``recorded`` = the same
    of the whole loop while every event is completed, kept and written to a null sink.
    ``recording`` = seconds of such a run over one whose events are dropped, less 1; the two run in
    turn, each first in every other pair.
    """
    found: dict[str, Any] = {}
    for row in ROWS:
        steps, recorded, recording = [], [], []
        for prompt in prompts:
            for i in range(pairs):
                both = {on: spend(runner, row, prompt, on) for on in _order(i)}
                dropped, kept = both[False], both[True]
                steps.append(_outside(dropped.forward, dropped.steps))
                recorded.append(_outside(kept.forward, kept.wall))
                recording.append(kept.wall / dropped.wall - 1 if dropped.wall else 0.0)
        found[row.name] = {
            "step": _middle(steps),
            "recorded": _middle(recorded),
            "recording": round(median(recording), 4),
            "pairs": len(recording),
        }
    return found


def _order(pair: int) -> tuple[bool, bool]:
    return (True, False) if pair % 2 else (False, True)


def _outside(forward: float, all_of_it: float) -> float | None:
    return (all_of_it - forward) / all_of_it if forward and all_of_it else None


def _middle(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return round(median(known), 4) if known else None


def spend(runner: Runner, row: Row, prompt: Prompt, record: bool) -> Spent:
    """Decode once, dropping the events or recording them."""
    with open(os.devnull, "w", encoding="utf-8") as sink:
        return _spend(runner, row, prompt, sink if record else None)


def _spend(runner: Runner, row: Row, prompt: Prompt, sink: TextIO | None) -> Spent:
    from specviz.models.probe import forward_clock

    model, costs = runner.model, runner.costs(prompt)
    curve = Curve(costs.rows, costs.seconds) if costs is not None else None
    drafter = create(row.decoder, row.knobs)
    inputs = runner.inputs(prompt)
    recording, seen = Recording(), set[int]()
    steps = read = started = 0.0
    gc.collect()
    with forward_clock(model) as clock:
        for event in decode(model, inputs, drafter, tokens_of(prompt), curve):
            if isinstance(event, Prefill):
                read = clock.seconds if clock else 0.0
                started = perf_counter()
            if isinstance(event, Step):
                steps += event.seconds.total
            if sink is not None and not isinstance(event, Progress):
                event = with_pieces(event, seen, model.token_bytes, model.special_ids)
                recording.add(event)
                sink.write(dumps(event) + "\n")
        wall = perf_counter() - started
    return Spent((clock.seconds if clock else 0.0) - read, steps, wall)
