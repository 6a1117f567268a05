"""A first measurement: a few prompts, each with its baseline, and medians over prompts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from specviz.inputs import open_document
from specviz.metrics import summary
from specviz.models.base import InputError
from specviz.trace import Trace

PROMPTS = (
    "Write a short story about a lighthouse keeper and his cat.",
    "Write a Python function that counts the words in a text, with a docstring and an example.",
    "List ten ways to save water at home, one sentence each.",
    "Explain to a child why the sky is blue.",
)
FIGURES = ("speedup_decode", "speedup_total")
RUN_FIGURES = ("tau", "acceptance", "ms_per_token")


def read_prompts(path: str | Path) -> tuple[str, ...]:
    """The prompts of a JSON Lines file, one object with the key ``prompt`` a line."""
    document = open_document(path)
    prompts = []
    for number, line in enumerate(document.text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            prompt = json.loads(line)["prompt"]
        except (ValueError, KeyError, TypeError):
            prompt = None
        if not isinstance(prompt, str):
            raise InputError(
                f"Line {number} of {document.name} is not a JSON object with the key prompt."
            )
        prompts.append(prompt)
    if not prompts:
        raise InputError(f"{document.name} holds no prompts.")
    return tuple(prompts)


def result(prompt: str, trace: Trace) -> dict[str, Any]:
    """What one prompt gave, as plain data."""
    return {"prompt": prompt, **summary(trace)}


def overall(traces: Sequence[Trace]) -> dict[str, Any]:
    """Medians over prompts of every figure that exists, and total tokens per total second."""
    facts = [summary(trace) for trace in traces]
    mine = [f["decoder"] for f in facts if f["decoder"]]
    values = {name: [f[name] for f in facts] for name in FIGURES}
    values |= {name: [run[name] for run in mine] for name in RUN_FIGURES}
    found: dict[str, Any] = {"prompts": len(traces)}
    for name, column in values.items():
        known = [value for value in column if value is not None]
        found[name] = round(median(known), 4) if known else None
    seconds = sum(run["seconds"]["total"] for run in mine)
    tokens = sum(run["tokens"] for run in mine)
    found["tokens_per_second"] = round(tokens / seconds, 4) if seconds else None
    found["equal"] = [f["equal"] for f in facts]
    return found
