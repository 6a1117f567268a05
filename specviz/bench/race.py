"""Decoders of one trial timed in turn."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from specviz.bench.trial import Trial, Variant
from specviz.models.base import InputError
from specviz.verdict import Row, Speed

PLAIN = Variant("autoregressive", "autoregressive")
PROMPTS = 3
REPETITIONS, QUICK_REPETITIONS = 2, 1


def race(trial: Trial, rows: tuple[Row, ...], chosen: Sequence[Variant]) -> tuple[Row, ...]:
    """``rows`` with the speed of each contender: medians over repetitions of all tokens per all
    seconds. They take turns on every prompt, another one first each time, so that a busy moment of
    the machine does not fall on one of them."""
    known = {v.title: v for v in (PLAIN, *chosen)}  # what is not known is ``generate``
    asked = [row for row in rows if isinstance(row, Speed)]
    prompts = trial.prompts()[:PROMPTS]
    trouble: dict[str, str] = {}
    for row in asked:  # what is used for the first time is slow once
        try:
            trial.timed(known.get(row.decoder), *prompts[0])
        except InputError as error:
            trouble[row.decoder] = str(error)
    racing = [row.decoder for row in asked if row.decoder not in trouble]
    paces: dict[str, list[float]] = {name: [] for name in racing}
    sums = {name: [0, 0] for name in racing}
    repetitions = QUICK_REPETITIONS if trial.quick else REPETITIONS
    for repetition in range(repetitions if racing else 0):
        spent = {name: (0, 0.0) for name in racing}
        for i, prompt in enumerate(prompts):
            turn = (i + repetition * len(prompts)) % len(racing)
            for name in (*racing[turn:], *racing[:turn]):
                tokens, took, passes = trial.timed(known.get(name), *prompt)
                spent[name] = (spent[name][0] + tokens, spent[name][1] + took)
                sums[name] = [sums[name][0] + tokens, sums[name][1] + passes]
        for name, (count, total) in spent.items():
            if count and total > 0:
                paces[name].append(count / total)
    pace = {name: median(found) for name, found in paces.items() if found}
    return tuple(_answered(row, trouble, pace, sums) for row in asked)


def _answered(
    row: Speed, trouble: dict[str, str], pace: dict[str, float], sums: dict[str, list[int]]
) -> Speed:
    name = row.decoder
    if name not in pace:
        why = trouble.get(name, "The answers ended with the first token: nothing to time.")
        return row.model_copy(update={"state": "skipped", "why": why[:500]})
    ours = pace.get(PLAIN.title)
    tokens, passes = sums[name]
    change = {
        "state": "held",
        "tokens_per_s": round(pace[name], 3),
        "speedup": round(pace[name] / ours, 4) if ours else None,
        "tau": round(tokens / passes, 4),
    }
    return row.model_copy(update=change)
