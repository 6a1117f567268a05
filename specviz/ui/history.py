"""Earlier runs of a tab, to be opened again while it stays open; nothing of them outlives it."""

from __future__ import annotations

from typing import Any

from specviz.catalog import text
from specviz.ui.address import shortened
from specviz.ui.visit import KEPT_RUNS, Desk, Visit

PREFIX = "own-"  # of a card's name, before the id of a run


def earlier(desk: Desk, visit: Visit, lang: str) -> list[dict[str, Any]]:
    """Cards of the runs of ``visit`` that can be opened again, newest first; not of the one that
    is shown."""
    found = []
    for run_id in reversed(visit.own):
        trace = desk.trace(run_id)
        run = trace.run("decoder") if trace is not None else None
        if run is None or run_id == visit.shown:
            continue
        asked = next((m.text for m in reversed(run.header.messages) if m.role == "user"), "")
        tokens = text("view.tokens", lang, count=len(run.tokens))
        passes = text("view.passes", lang, count=len(run.steps))
        found.append(
            {"name": f"{PREFIX}{run_id}", "title": shortened(" ".join(asked.split())),
             "description": f"{run.header.decoder} · {run.header.model}",
             "decoder": text("ui.earlier", lang),
             "about": text("ui.earlier.about", lang, most=KEPT_RUNS),
             "figures": f"{tokens} · {passes}"}
        )  # fmt: skip
    return found
