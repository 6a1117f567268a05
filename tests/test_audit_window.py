"""Runs of real drafter heads, in every mode, obey what an audit asks of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from specviz import sights
from specviz.audit import audit
from specviz.jobs import Job, run
from specviz.models import registry
from specviz.models.registry import Entry
from specviz.player import text_map
from specviz.trace import Progress, Step, Trace, TraceError
from specviz.tracefile import load, save
from tests.test_losslessness_hf import model
from tests.test_losslessness_window import KNOBS
from tests.tiny_head import head_folder
from tests.window_traces import small_window


@pytest.mark.parametrize("knobs", [*KNOBS, {"mode": "full", "least": 0.0}])
def test_real_runs_of_every_mode_pass(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, knobs: dict[str, Any]
) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    target = model("llama")
    registry.register(Entry(label="real", title="real", load=lambda device, kind: target))
    job = Job(
        model="real", decoder="window", prompt="a" * 60, dtype="float64", max_new_tokens=24,
        knobs={"head": str(head_folder(tmp_path / "head")), **knobs},
    )  # fmt: skip
    trace = Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))
    assert audit(trace) == ()
    made = trace.run()
    assert made is not None
    seen = list(sights.looks(made))
    assert seen[0].entries == len(made.header.tokens) and len(seen) >= len(made.steps) - 1
    assert text_map(trace) is not None


@pytest.mark.parametrize("entries", [(), ((2**31 - 1, 2**31 - 1, 0.0, 1.0),), ((90, 20, 0, 1),)])
def test_entries_outside_of_the_text_are_no_trace(tmp_path: Path, entries: Any) -> None:
    """A player would draw a ruler for every one of them."""
    trace = small_window()
    events = []
    for event in trace.events:
        if isinstance(event, Step) and event.evidence is not None:
            told = event.evidence.model_copy(update={"entries": entries})
            event = event.model_copy(update={"evidence": told})
        events.append(event)
    save(tmp_path / "x.jsonl", events)
    with pytest.raises(TraceError, match=r"^A head sees outside of the text in step 0 of this tra"):
        load(tmp_path / "x.jsonl")
