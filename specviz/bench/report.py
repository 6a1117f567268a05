"""The figures of a finished measurement as plain data, without a clock in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from specviz.bench.plan import Part
from specviz.bench.pool import Pool, figures
from specviz.bench.prompts import Prompt, repetition, shares
from specviz.bench.sample import Sample
from specviz.trace import Header

SCHEMA = 1


def result(
    header: Header,
    prompts: Sequence[Prompt],
    parts: Sequence[Part],
    units: Mapping[str, Mapping[str, Any]],
    suite: str = "recap",
) -> dict[str, Any]:
    """Rows of every part, with the conditions under which they were measured."""
    samples = [Sample.of(s) for unit in units.values() for s in unit.get("samples", ())]
    rows = []
    for part in parts:
        mine = [s for s in samples if (s.part, s.dtype) == (part.name, part.dtype)]
        pool = Pool(mine)
        for row in part.rows:
            if row.name in pool:
                about = {"suite": suite, "part": part.name, "dtype": part.dtype}
                rows.append({**about, **figures(pool, row, [*prompts, *part.prompts])})
    counts = {
        prompt.id: tuple(units[key]["repeated"])
        for part in parts[:1]
        for key, i, _, prompt in part.units()
        if i == 0 and key in units
    }
    return {
        "schema": SCHEMA,
        "suite": suite,
        "conditions": conditions(header),
        "repetitions": {part.name: part.repetitions for part in parts},
        "prompts": {
            "count": len(prompts),
            "tokens": [min(map(_tokens, prompts)), max(map(_tokens, prompts))],
            "shares": shares(prompts),
            "repetition": repetition(prompts, counts),
        },
        "costs": {
            key.partition("/")[2]: unit["costs"]
            for key, unit in units.items()
            if key.startswith("costs/")
        },
        "rows": rows,
        "long": [
            {"sha256": sha256(p.text.encode()).hexdigest()}
            for part in parts
            if part.name == "long"
            for p in part.prompts
        ],
        **units.get("overhead", {}),
    }


def _tokens(prompt: Prompt) -> int:
    return prompt.tokens or 0


def conditions(header: Header) -> dict[str, Any]:
    """What ran where."""
    data = header.model_dump(mode="json")
    names = ("model", "digest", "device", "machine", "versions")
    return {name: data[name] for name in names}
