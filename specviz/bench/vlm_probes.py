"""Answers of RECAP read back with other pictures, outside of any timing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from specviz import jobs, probes
from specviz.bench.prompts import Prompt
from specviz.bench.rows import RECAP
from specviz.bench.runner import Runner
from specviz.bench.vlm_rows import HEADLINE
from specviz.bench.vlm_units import Answered, kept, readings
from specviz.models.base import Model, Picture
from specviz.probing import ProbeJob
from specviz.trace import Event, Progress, Run, StoredEvent, Trace

ROW = next(row for row in HEADLINE if row.name == RECAP)


def others(asked: Sequence[Prompt]) -> dict[str, Picture]:
    """For each prompt's id the picture that stands in for its own: the next one of the same kind,
    which differs in what it says rather than in what it looks like."""
    pictures: dict[str, list[Picture]] = {}
    for prompt in asked:
        group = pictures.setdefault(prompt.category, [])
        group += [seen for seen in prompt.pictures[:1] if seen not in group]
    every = [seen for group in pictures.values() for seen in group]
    found = {}
    for prompt in asked:
        group = pictures[prompt.category] if len(pictures[prompt.category]) > 1 else every
        found[prompt.id] = group[(group.index(prompt.pictures[0]) + 1) % len(group)]
    return found


def answered(runner: Runner, prompt: Prompt, other: Picture) -> Answered:
    """Let RECAP answer, then read the answer with another picture, a blank and a shuffled one."""
    events: list[StoredEvent] = []
    _keep(jobs.run(runner.job(ROW, prompt)), events)
    run = Trace(tuple(events)).run()
    assert run is not None
    asked = tuple(events)
    for kind in probes.KINDS:
        job = ProbeJob(asked, kind, other=other if kind == "other" else None)
        _keep(jobs.run(job), events)
    right = text(runner.model, run) == prompt.answer if prompt.answer else None
    return Answered(readings=kept(probes.readings(Trace(tuple(events)))), right=right)


def _keep(happening: Any, events: list[StoredEvent]) -> None:
    event: Event
    for event in happening:
        if not isinstance(event, Progress):
            events.append(event)


def text(model: Model, run: Run) -> str:
    """What a run said, without its end."""
    tokens = [t for t in run.tokens if t not in model.eos_ids]
    return b"".join(map(model.token_bytes, tokens)).decode(errors="replace").strip()


def associations(units: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The 2x2 tables of many answers pooled, one a kind of picture, as plain data: counts, rates
    and odds as :mod:`specviz.probes` defines them."""
    found = []
    for about in probes.associations(r for unit in units for r in readings(unit)):
        cross = about.cross
        rates = {
            "all_tokens": about.all_tokens, "base": cross.base,
            "rejected_rate": cross.rejected_rate, "held_rate": cross.held_rate,
            "difference": cross.difference, "odds_ratio": cross.odds_ratio,
            "within": about.within, "rejected_shift": about.rejected_shift,
            "held_shift": about.held_shift,
        }  # fmt: skip
        found.append({
            **asdict(about),
            **{name: None if value is None else round(value, 4) for name, value in rates.items()},
            "interval": about.interval and [round(edge, 4) for edge in about.interval],
        })  # fmt: skip
    return found
