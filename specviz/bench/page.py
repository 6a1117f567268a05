"""The suite ``page``: what the page and its player cost a visitor, the server and a recorded run.

A real server, a headless Chromium that is as the page's tests use it, and traces of fixed lengths.
Recording is measured as in the suite ``recap``. The machine has to be idle otherwise.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from specviz.bench import page_seeks, page_visit
from specviz.bench.ledger import Ledger
from specviz.bench.overhead import overhead
from specviz.bench.page_browser import chromium, tab
from specviz.bench.page_server import memory, server
from specviz.bench.page_traces import LongTrace, page_traces
from specviz.bench.plan import Plan, Stage
from specviz.bench.prompts import spread_over
from specviz.bench.report import SCHEMA, conditions
from specviz.bench.runner import Place, Runner
from specviz.player import payload, script_json
from specviz.tracefile import save

if TYPE_CHECKING:
    from playwright.sync_api import Browser

OVERHEAD_TOKENS = 48
REPLAYED = ["tea", "code"]  # examples that are shown in turn
FEW = 2  # replays after which memory should not grow any more
PARTS = 4  # beside one for every trace


class PageSuite:
    """One measurement of the page; nothing is kept on the way, it takes minutes."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ledger = Ledger(None, {}, False)
        quick = plan.quick
        self.visits, self.seeks, self.frames = (1, 10, 60) if quick else (5, 120, 600)
        self.replays, self.runs, self.pairs = (4, 5, 1) if quick else (20, 40, 4)

    def measure(self) -> Generator[Stage, None, dict[str, Any]]:
        """The figures as plain data; raises Unsupported without a browser, before anything else."""
        traces = page_traces()
        total = PARTS + len(traces)
        with chromium() as browser:
            version = browser.version
            yield Stage("page_recording", "", 0, total)
            header, recording = self._recording()
            with server() as (address, process):
                yield Stage("page_first", "", 1, total)
                first = page_visit.first_trace(browser, address, self.visits)
                sent = page_visit.payload(browser, address)
                told = []
                for i, trace in enumerate(traces):
                    yield Stage("page_seeks", "", 2 + i, total)
                    told.append(self._trace(browser, address, trace))
                with tab(browser) as bare:
                    frames = page_seeks.scrub(bare, self.frames, self.frames, page_seeks.BARE)
                yield Stage("page_heap", "", total - 2, total)
                with tab(browser) as fresh:
                    page_visit.arrive(fresh, address)
                    heap = page_visit.heap(fresh, REPLAYED, FEW, self.replays)
                yield Stage("page_server", "", total - 1, total)
                kept = memory(address, process, self.runs)
        return {
            "schema": SCHEMA,
            "suite": "page",
            "quick": self.plan.quick,
            "conditions": {**header, "browser": f"Chromium {version}", "cores": os.cpu_count()},
            "visits": self.visits,
            "first": first,
            "payload": sent,
            "traces": told,
            "bare": frames,
            "heap": heap,
            "server": kept,
            "recording": recording,
        }

    def _recording(self) -> tuple[dict[str, Any], dict[str, Any]]:
        plan = self.plan
        runner = Runner(Place(plan.model, plan.device, plan.dtypes[0]))
        count = 1 if plan.quick else 3
        prompts = [replace(p, tokens=OVERHEAD_TOKENS) for p in spread_over(plan.prompts, count)]
        return conditions(runner.header(prompts[0])), overhead(runner, prompts, self.pairs)

    def _trace(self, browser: Browser, address: str, long: LongTrace) -> dict[str, Any]:
        """How soon a trace that was handed in stands there, and what moving in it costs."""
        with TemporaryDirectory() as folder, tab(browser) as fresh:
            file = Path(folder) / "run.jsonl.gz"
            save(file, long.trace.events)
            page_visit.arrive(fresh, address)
            loaded = page_visit.upload(fresh, file, len(long.trace.events))
            fresh.quiet()
            return {
                "name": long.name,
                "steps": long.steps,
                "context": long.context,
                "events": len(long.trace.events),
                "payload": page_visit.sizes(script_json(payload(long.trace)).encode()),
                "loaded": round(loaded, 3),
                "seek": page_seeks.seeks(fresh, long.steps, self.seeks),
                "scrub": page_seeks.scrub(fresh, long.steps, self.frames),
            }
