"""Whether what an interrupted measurement left behind is what this one would have measured.

A kept unit comes from a file that anything may have happened to: one that does not fit is measured
again, so that nothing wrong and no hole gets into the figures.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from pydantic import ValidationError

from specviz.bench.overhead import ROWS
from specviz.bench.plan import Part, tokens_of
from specviz.bench.prompts import Prompt
from specviz.bench.sample import Sample, Timing
from specviz.trace import Costs

MOST = 1e9  # seconds, passes or rows of one run: far beyond any
TIMING = {field.name: field.type for field in fields(Timing)}
SAMPLE = {field.name for field in fields(Sample)}
OVERHEAD = {"step", "recorded", "recording", "pairs"}
Fits = Callable[[str, Any], bool]


def fitting(parts: Sequence[Part]) -> Fits:
    """A test of kept units, by key and content, for a measurement of ``parts``."""
    units = {
        key: (part, repetition, prompt)
        for part in parts
        for key, repetition, _, prompt in part.units()
    }
    costs = {f"costs/{part.dtype}{kind}" for part in parts for kind in ("", ", stock weights")}

    def fits(key: str, unit: Any) -> bool:
        if key in units:
            return _is_unit(unit, *units[key])
        return _is_overhead(unit) if key == "overhead" else key in costs and _is_costs(unit)

    return fits


def _is_unit(unit: Any, part: Part, repetition: int, prompt: Prompt) -> bool:
    """All rows of ``part``, or all but those of transformers, which cannot run every model."""
    if not isinstance(unit, dict) or set(unit) != {"samples", "repeated"}:
        return False
    samples, repeated = unit["samples"], unit["repeated"]
    if not isinstance(samples, list) or not all(
        _is_sample(sample, part, repetition, prompt) for sample in samples
    ):
        return False
    own = tuple(row for row in part.rows if not row.peer)
    wanted = [
        Counter(row.name for row in part.at(part.sequence(rows), repetition))
        for rows in (part.rows, own)
    ]
    return (
        Counter(sample["row"] for sample in samples) in wanted
        and isinstance(repeated, list)
        and len(repeated) == 2
        and all(type(n) is int for n in repeated)
        and 0 <= repeated[0] <= repeated[1] <= tokens_of(prompt)
    )


def _is_sample(sample: Any, part: Part, repetition: int, prompt: Prompt) -> bool:
    if not isinstance(sample, dict) or set(sample) != SAMPLE:
        return False
    place = (sample["part"], sample["dtype"], sample["prompt"])
    row, equal = sample["row"], sample["equal"]
    asked = repetition == 0 and any(r.name == row and r.compared for r in part.rows)
    told = isinstance(equal, bool) or equal == "tie" if asked else equal is None
    return (
        place == (part.name, part.dtype, prompt.id)
        and isinstance(row, str)
        and told
        and _is_timing(sample["timing"], tokens_of(prompt))
    )


def _is_timing(timing: Any, most: int) -> bool:
    if not isinstance(timing, dict) or set(timing) != set(TIMING):
        return False
    for name, kind in TIMING.items():
        value = timing[name]
        if not _is_number(value) or value < 0 or (kind == "int" and type(value) is not int):
            return False
    tokens, first = timing["tokens"], timing["first"]
    # Without a token after those that came with the prompt there is nothing to decode.
    return bool(1 <= first <= tokens <= most and (timing["decode"] > 0 or first == tokens))


def _is_number(value: Any) -> bool:
    """Also not infinite and no NaN."""
    return type(value) in (int, float) and -MOST <= value <= MOST


def _is_costs(unit: Any) -> bool:
    if not isinstance(unit, dict) or set(unit) != {"rough", "costs"}:
        return False
    rough, costs = unit["rough"], unit["costs"]
    if not isinstance(rough, list) or not isinstance(costs, list) or len(rough) != len(costs):
        return False
    whole = all(type(n) is int and 0 <= n < 2**31 for n in rough)
    return whole and len(set(rough)) == len(rough) and all(map(_is_curve, costs))


def _is_curve(costs: Any) -> bool:
    try:
        found = Costs.model_validate_json(json.dumps(costs))
    except ValidationError:
        return False
    return bool(found.model_dump(mode="json") == costs)


def _is_overhead(unit: Any) -> bool:
    if not isinstance(unit, dict) or set(unit) != {"overhead"}:
        return False
    rows = unit["overhead"]
    if not isinstance(rows, dict) or set(rows) != {row.name for row in ROWS}:
        return False
    return all(
        isinstance(row, dict)
        and set(row) == OVERHEAD
        and type(row["pairs"]) is int
        and row["pairs"] > 0
        and _is_number(row["recording"])
        and all(row[name] is None or _is_number(row[name]) for name in ("step", "recorded"))
        for row in rows.values()
    )
