"""The suite ``page``: its traces, its figures, and the aims of the page that can be counted."""

from __future__ import annotations

import gzip
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from specviz import player
from specviz.audit import audit
from specviz.bench import page_browser, page_seeks
from specviz.bench.page_traces import EXAMPLES, REPEATED, page_traces, prolonged
from specviz.models.base import Unsupported
from specviz.trace import Trace
from specviz.tracefile import dumps, load, plain

ROOT = Path(__file__).parent.parent.parent
SEEK = {"median": 3.0, "p95": 9.0, "most": 12.0}


@pytest.fixture(scope="module")
def tea() -> Trace:
    return load(EXAMPLES / f"{REPEATED}.jsonl.gz")


def test_a_prolonged_run_tells_its_steps_again_under_new_numbers(tea: Trace) -> None:
    once, long = tea.run("decoder"), prolonged(tea, 150).run("decoder")
    assert once is not None and long is not None and long.finish is not None
    size = len(once.steps)
    assert [s.index for s in long.steps] == list(range(150))
    assert long.steps[size + 3].emitted == once.steps[3].emitted
    assert long.steps[size + 3].nodes == once.steps[3].nodes
    context = len(once.header.tokens)
    for step in long.steps:
        context += len(step.emitted)
        assert step.cache_length == context
    assert long.finish.tokens == len(long.tokens) == long.header.max_new_tokens
    told = [token for event in prolonged(tea, 150).events for token in event.pieces]
    assert len(told) == len(set(told)), "a token's bytes are told once"


def test_a_prolonged_run_is_the_same_every_time_and_sound_up_to_its_seams(tea: Trace) -> None:
    long = prolonged(tea, 130)
    assert list(map(dumps, long.events)) == list(map(dumps, prolonged(tea, 130).events))
    assert audit(prolonged(tea, 50)) == ()
    seams = [f"step {n}" for n in (63, 126)]  # where the first step follows the last
    assert [seam in found for seam, found in zip(seams, audit(long)[:2], strict=True)] == [True] * 2


def test_the_traces_of_the_suite_have_the_stated_lengths() -> None:
    told = [(t.name, t.steps, t.context) for t in page_traces()]
    assert [(name, steps) for name, steps, _ in told[:3]] == [
        ("50 steps", 50), ("500 steps", 500), ("2000 steps", 2000),
    ]  # fmt: skip
    assert told[3] == ("document", 65, 6904)


def test_events_reach_the_player_as_the_file_has_them(tea: Trace) -> None:
    assert [plain(e) for e in tea.events] == [json.loads(dumps(e)) for e in tea.events]


def test_jumps_are_far_and_meet_every_step_once() -> None:
    assert page_seeks.hops(10, 10) == [7, 4, 1, 8, 5, 2, 9, 6, 3, 0]
    assert sorted(page_seeks.hops(500, 500)) == list(range(500))
    assert page_seeks.sweep(500, 6) == [0, 250, 499, 499, 250, 0]


@pytest.mark.parametrize(
    ("count", "share", "found"), [(100, 0.95, 95), (20, 0.95, 19), (3, 0.5, 2), (1, 0.95, 1)]
)
def test_a_percentile_is_a_measured_value(count: int, share: float, found: float) -> None:
    values = [float(v) for v in range(count, 0, -1)]
    assert page_seeks.percentile(values, share) == found


def test_the_player_stays_below_150_kilobytes() -> None:
    assert len(gzip.compress(player.bundle_js().encode(), 6, mtime=0)) < 150_000


def test_the_first_example_with_the_player_stays_far_below_the_first_payload() -> None:
    """The page's own description comes on top; the suite measures all of it."""
    first = json.loads((EXAMPLES / "index.json").read_text("utf-8"))[0]
    message = json.dumps(player.payload(load(EXAMPLES / first["file"]))).encode()
    assert len(gzip.compress(message, 6, mtime=0)) < 300_000


def test_without_a_browser_the_suite_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Unsupported, match="needs Chromium and found none"), page_browser.chromium():
        pass
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with pytest.raises(Unsupported, match=r"requirements-dev\.txt"), page_browser.chromium():
        pass


def test_accounts_become_milliseconds() -> None:
    names = (*page_browser.WORK, *page_browser.COUNTS, "TaskDuration")
    before = dict.fromkeys(names, 1.0)
    after = before | {"ScriptDuration": 1.002, "LayoutDuration": 1.003, "LayoutCount": 3.0}
    told = page_browser.spent(before, after)
    assert told["work"] == pytest.approx(5.0)
    assert (told["script"], told["LayoutCount"]) == (pytest.approx(2.0), 2.0)


@pytest.fixture(scope="module")
def results() -> ModuleType:
    sys.path.insert(0, str(ROOT / "docs"))
    path = ROOT / "docs" / "results_page.py"
    spec = importlib.util.spec_from_file_location("results_page", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def figures() -> dict[str, Any]:
    """A made-up measurement that misses two aims."""
    parts = ("script", "layout", "style", "work", "task", "LayoutCount", "RecalcStyleCount")
    trace = {
        "steps": 500, "context": 45, "events": 900, "loaded": 1.25,
        "payload": {"bytes": 4_000_000, "gzipped": 866_000},
        "seek": {part: SEEK for part in parts},
        "scrub": {"frames": 600, "late": 0.01, "gap": SEEK, "work": 5.5, "layouts": 1.2},
    }  # fmt: skip
    slow = {**trace["seek"], "work": {**SEEK, "p95": 21.5}}  # type: ignore[dict-item]
    return {
        "schema": 1, "suite": "page", "quick": False, "visits": 5,
        "conditions": {"machine": "a desk", "cores": 2, "browser": "Chromium 1", "versions": {}},
        "first": {name: {"median": 1.5, "most": 1.75} for name in ("cold", "warm")},
        "payload": {
            name: {"bytes": 900_000, "gzipped": size}
            for name, size in (("gradio", 700_000), ("beyond", 400_000), ("bundle", 61_000))
        },
        "traces": [
            {"name": "500 steps", **trace}, {"name": "document", **trace, "context": 6904,
                                             "seek": slow},
        ],
        "bare": {"frames": 600, "late": 0.125, "gap": {"median": 16.7, "p95": 33.3, "most": 50.0}},
        "heap": {"replays": [2, 20], "bytes": [40_000_000, 42_000_000], "nodes": [9, 9],
                 "listeners": [4, 4]},
        "server": {"runs": 40, "before": 500_000_000, "after": 550_000_000, "same": True},
        "recording": {"ours": {"step": 0.1, "recorded": 0.1, "recording": 0.012, "pairs": 12}},
    }  # fmt: skip


def test_the_page_says_which_aims_were_reached(results: ModuleType) -> None:
    lines = results.aims(figures()).splitlines()
    assert "| first trace drawn, once the server runs | below 2 s | 1.50 s | reached |" in lines
    assert "| the player, gzipped | below 150 kB | 61 kB | reached |" in lines
    assert [line for line in lines if "missed" in line] == [
        "| script and layout of a seek, a document of 6904 tokens, 95 % | below 16.7 ms | 21.5 ms "
        "| **missed** |",
        "| memory of the server after 40 more runs | below 5 % | 10.0 % | **missed** |",
    ]
    page = results.page([figures()])
    assert "12.5 % late frames, 16.7 ms between two of them (median), 33.3 ms (95 %)" in page
    assert "| heap of the page | 40.0 MB | 42.0 MB |" in page


def test_the_committed_page_is_what_the_committed_figures_say(results: ModuleType) -> None:
    measured = []
    if results.COMMITTED.exists():
        measured = [json.loads(results.COMMITTED.read_text("utf-8"))]
    assert results.PAGE.read_text("utf-8") == results.page(measured)
