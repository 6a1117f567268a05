"""The player's payload, live updates, and the exported file."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest
from player_traces import HOSTILE, bundle, hostile_trace, random_trace, step

from specviz import catalog, player
from specviz.evidence import Cut
from specviz.trace import Progress, Trace, TraceError
from specviz.tracefile import dumps, load, loads

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


def test_payload_holds_the_stored_events_and_their_summary() -> None:
    trace = random_trace(1, 3, 6)
    found = player.payload(trace, run_id="r1")
    assert [loads(json.dumps(e)) for e in found["events"]] == list(trace.events)
    assert (found["run_id"], found["total"], found["live"]) == ("r1", len(trace.events), False)
    emitted = sum(len(s.emitted) for s in trace.run("decoder").steps)  # type: ignore[union-attr]
    assert found["summary"]["decoder"]["tau"] == emitted / 3
    assert player.payload(trace)["run_id"] == "made-up"


def test_a_second_run_comes_along_without_its_baseline() -> None:
    a, b = random_trace(1, 3, 6), random_trace(1, 3, 6)
    found = player.payload(a, pair=player.Pair(b, ("one", "two"), ("Said.",)))
    other = found["other"]
    assert (other["mine"], other["name"], other["said"]) == ("one", "two", ["Said."])
    assert other["differs"] == []  # the same run twice
    assert {e.get("role", "decoder") for e in other["events"]} == {"decoder"}
    assert [e["emitted"] for e in other["events"] if e["type"] == "step"] == [
        list(s.emitted) for s in b.run("decoder").steps  # type: ignore[union-attr]
    ]
    with pytest.raises(TraceError, match="runs of different prompts"):
        player.payload(a, pair=player.Pair(other_prompt(b), ("one", "two")))


def other_prompt(trace: Trace) -> Trace:
    """The same run of another prompt."""
    change = {"tokens": (1, 16)}
    return Trace(
        tuple(e.model_copy(update=change) if e.type == "header" else e for e in trace.events)
    )


def test_update_sends_only_what_is_new_and_says_where_it_begins() -> None:
    trace = random_trace(1, 3, 6)
    found = player.update(trace, "r1", 2, stage={"name": "prefill", "done": 1, "total": 4})
    assert [loads(json.dumps(e)) for e in found["events"]] == list(trace.events[2:])
    assert (found["first"], found["total"], found["live"]) == (2, len(trace.events), True)
    assert found["stage"] == {"name": "prefill", "done": 1, "total": 4}
    assert player.update(trace.events[:1], "r1", 1)["events"] == []


def test_pauses_where_some_guesses_were_right_and_one_was_refused() -> None:
    draw = random.Random(2)
    steps = [
        step(draw, 0, 16, 0, 0),
        step(draw, 1, 17, 6, 0),
        step(draw, 2, 18, 6, 3),
        step(draw, 3, 19, 3, 3),
    ]
    assert any(node.parent == 3 for node in steps[2].nodes)
    assert player.interesting_step(bundle(steps)) == 2
    assert player.payload(bundle(steps))["start_step"] == 2
    assert player.payload(bundle(steps), start_step=1)["start_step"] == 1
    assert player.interesting_step(Trace(())) is None


def test_pauses_in_the_middle_rather_than_at_the_end() -> None:
    draw = random.Random(2)
    same = step(draw, 0, 16, 6, 2, evidence=False)
    twenty = [same.model_copy(update={"index": i}) for i in range(20)]
    assert player.interesting_step(bundle(twenty)) in (9, 10)
    best = step(draw, 19, 16, 6, 3)
    assert player.interesting_step(bundle([*twenty[:19], best])) in (9, 10)
    assert player.interesting_step(bundle([same])) == 0


def test_a_run_whose_picture_was_asked_about_is_met_with_its_whole_answer() -> None:
    trace = load(EXAMPLES / "sign.jsonl.gz")
    run = trace.run("decoder")
    assert run is not None and trace.probes
    assert player.interesting_step(trace) == run.steps[-1].index
    unasked = Trace(tuple(e for e in trace.events if e.type != "probe"))
    assert player.interesting_step(unasked) != run.steps[-1].index


def test_every_reason_for_a_cut_has_its_words_everywhere() -> None:
    known = catalog.strings("en")
    reasons = [cut for cut in get_args(Cut) if cut]
    assert "cost" in reasons
    shapes = ("player.cut.{}", "player.why_cut.{}", "player.caption.why.cut.{}", "view.cut.{}")
    keys = [s.format(r) for r in reasons for s in shapes]
    assert [k for k in keys if k not in known and f"{k}.other" not in known] == []


def test_every_stage_of_a_run_has_its_words() -> None:
    known = catalog.strings("en")
    stages = get_args(Progress.model_fields["stage"].annotation)
    assert "measure" in stages
    for stage in (*stages, "baseline_prefill"):
        assert f"player.stage.{stage}" in known and f"ui.stage.{stage}" in known


def test_export_is_one_file_that_asks_for_nothing() -> None:
    page = player.export_html(hostile_trace())
    assert page == player.export_html(hostile_trace())
    links = r"""(?:src|href)\s*=\s*["']?(?:https?:)?//[^"'\s>]+|@import|url\(http"""
    outside = re.findall(links, page)
    assert outside == []
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1]


def test_no_text_of_a_trace_can_end_the_script_that_carries_it() -> None:
    page = player.export_html(hostile_trace())
    data = re.search(r'<script type="application/json" id="run">(.*?)</script>', page, re.S)
    assert data is not None
    assert not set("<>&\u2028\u2029") & set(data[1])
    texts = json.loads(data[1])["payload"]["events"][0]["messages"][0]["text"]
    assert texts == "".join(HOSTILE)
    assert json.loads(player.script_json({"a": "\u2028</script>"})) == {"a": "\u2028</script>"}


def test_the_events_in_the_file_are_the_lines_of_a_trace() -> None:
    trace = hostile_trace()
    lines = [
        json.dumps(event, ensure_ascii=False, separators=(",", ":"))
        for event in player.payload(trace)["events"]
    ]
    assert lines == [dumps(e) for e in trace.events]


def test_bundle_is_small() -> None:
    assert len(gzip.compress(player.bundle_js().encode())) < 150_000
    assert "SpecvizPlayer" in player.bundle_js()


def test_every_key_that_the_sources_name_is_in_the_catalogue() -> None:
    known = catalog.strings("en")
    missing = []
    for path in sorted((ROOT / "assets/player/src").rglob("*.js")):
        for key in re.findall(r"[\"'`](player\.[a-z_.]+)[\"'`]", path.read_text("utf-8")):
            if key not in known and f"{key}.other" not in known:
                missing.append(f"{path.name}: {key}")
    assert missing == []


def test_committed_bundle_is_made_from_the_sources(tmp_path: Path) -> None:
    folder = ROOT / "assets/player"
    modules = os.environ.get("NODE_PATH") or str(folder / "node_modules")
    if shutil.which("node") is None or not Path(modules, ".bin/esbuild").exists():
        pytest.skip("node with esbuild and d3-hierarchy is not installed")
    fresh = tmp_path / "bundle.js"
    subprocess.run(
        ["sh", str(folder / "build.sh"), str(fresh)],
        check=True,
        env={**os.environ, "NODE_PATH": modules},
    )
    assert fresh.read_text("utf-8") == player.bundle_js(), "run make player"
