"""What a suite has to do, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specviz.bench.prompts import DEFAULT_TOKENS, Prompt
from specviz.bench.rows import Row, interleaved
from specviz.trace import Header
from specviz.verdict import code_digest

QUICK_TOKENS = 48
LONG_WEIGHT = 6_000  # a long unit takes about as long as so many tokens of one row
READ = 40  # characters of a prompt that take about as long as one new token


@dataclass(frozen=True)
class Plan:
    """What to measure. Every prompt says how many tokens; ``file`` and ``sha256`` name the set;
    ``quick``: once, nothing else; ``headline``: all repetitions, no ablations, no long prompt;
    ``output`` is where the figures will go (None: nothing is kept on the way); ``head``: which
    drafter head the suite window looks at, empty for the model's own."""

    model: str
    device: str
    dtypes: tuple[str, ...]
    prompts: tuple[Prompt, ...]
    file: str
    sha256: str
    quick: bool = False
    headline: bool = False
    resume: bool = False
    output: Path | None = None
    suite: str = "recap"
    head: str = ""


@dataclass(frozen=True)
class Stage:
    """``what`` is being done: ``done`` of ``total``; ``left``: seconds that all the rest takes, as
    far as one can tell."""

    what: str
    dtype: str
    done: int
    total: int
    left: float | None = None


@dataclass(frozen=True)
class Part:
    """Some rows, each on all ``prompts``, so many times. ``base``: the row put in between the
    others again and again because they are ratios to it."""

    name: str
    dtype: str
    rows: tuple[Row, ...]
    prompts: tuple[Prompt, ...]
    repetitions: int
    base: Row | None = None

    def units(self) -> list[tuple[str, int, int, Prompt]]:
        """(key, repetition, number of the prompt, prompt) of every unit."""
        return [
            (f"{self.name}/{self.dtype}/{i}/{prompt.id}", i, j, prompt)
            for i in range(self.repetitions)
            for j, prompt in enumerate(self.prompts)
        ]

    def sequence(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """``rows`` of this part as they run, ``base`` in between."""
        return tuple(rows) if self.base is None else interleaved(rows, self.base)

    def at(self, rows: Sequence[Row], repetition: int) -> tuple[Row, ...]:
        """Those of ``rows`` that take part in this repetition."""
        return tuple(row for row in rows if repetition == 0 or not row.once)

    def weight(self, prompt: Prompt) -> float:
        """About how long a unit takes, in tokens of one row."""
        if self.name == "long":
            return LONG_WEIGHT
        return len(self.rows) * (tokens_of(prompt) + len(prompt.text) / READ)


def budgeted(
    prompts: Sequence[Prompt], max_new_tokens: int | None, quick: bool
) -> tuple[Prompt, ...]:
    """``prompts`` with the tokens that each may emit: as asked for, else as the file says."""
    if quick:
        return tuple(replace(p, tokens=max_new_tokens or QUICK_TOKENS) for p in prompts)
    return tuple(replace(p, tokens=max_new_tokens or p.tokens or DEFAULT_TOKENS) for p in prompts)


def tokens_of(prompt: Prompt) -> int:
    """How many tokens are asked for; a plan says it for every prompt."""
    assert prompt.tokens is not None
    return prompt.tokens


def identity(plan: Plan, prompts: Sequence[Prompt], header: Header) -> dict[str, Any]:
    """What has to be the same for a measurement to be gone on with."""
    return {
        "suite": plan.suite,
        "extent": "quick" if plan.quick else "headline" if plan.headline else "full",
        "model": header.model,
        "digest": header.digest,
        "device": header.device,
        "machine": header.machine,
        "packing": header.packed,
        "versions": header.versions,
        "code": code_digest(),
        "dtypes": list(plan.dtypes),
        "prompts": [plan.sha256, *([p.id, p.tokens] for p in prompts)],
    }
