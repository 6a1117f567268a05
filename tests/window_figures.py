"""Figures as the suite ``window`` writes them, small and made by hand."""

from __future__ import annotations

from typing import Any

SAME = {"ties": 0, "mismatches": 0}
KINDS = ("book", "code", "records")
CONTEXTS = (256, 512, 8_000)
MODES = ("full", "window_abs", "slot", "shift", "reindex_only")


def row(part: str, name: str, speed: float, **more: Any) -> dict[str, Any]:
    """A row over 24 prompts."""
    told = {
        "part": part, "dtype": "float32", "name": name, "prompts": 24, "ms_per_token": 28 / speed,
        "speedup_decode": speed, "speedup_total": round(speed - 0.1, 2), "tau": 1.5,
        "accepted": 0.5, "top_right": 0.5, "any_right": 0.6, "rows_per_pass": 9.0, "draft_ms": 5.0,
        "verify_ms": 30.0, "spread": [speed - 0.2, speed, speed + 0.2], "identical": 12,
    }  # fmt: skip
    return {**told, **SAME, **more}


def cell(
    part: str, name: str, context: int, kind: str, tau: float, speed: float, **more: Any
) -> dict[str, Any]:
    """One cell."""
    told = {
        "part": part, "row": name, "context": context, "kind": kind, "prompts": 1, "tokens": 64,
        "tau": tau, "acceptance": 0.5, "accepted": round(tau - 1, 2), "drafted": 0.9,
        "top_right": 0.5, "any_right": 0.6, "rows_per_pass": 8.0, "draft_ms": 5.0,
        "verify_ms": 30.0, "ms_per_token": 35.0, "prefill_seconds": 1.0, "speedup_decode": speed,
        "speedup_total": round(speed + 0.05, 4), "identical": 3,
    }  # fmt: skip
    return {**told, **SAME, **more}


def _cells() -> list[dict[str, Any]]:
    found = []
    speeds = {"slot": 1.3, "shift": 1.3, "full": 1.4, "window_abs": 1.1, "reindex_only": 1.2}
    for context in CONTEXTS:
        far = context == 8_000
        for kind in (*KINDS, "all"):
            found.append(cell("context", "ours", context, kind, 1.0, 1.0, accepted=0.0,
                              top_right=None, any_right=None, drafted=0.0, draft_ms=0.01,
                              verify_ms=30.0, ms_per_token=45.0 if far else 30.0,
                              identical=0))  # fmt: skip
            for mode in MODES:
                tau = 2.0 if not far else 1.8 if mode in ("slot", "shift") else 1.05
                if mode == "slot" and kind in ("book", "code"):
                    tau += {"book": 0.1, "code": -0.1}[kind]
                found.append(cell(
                    "context", mode, context, kind, round(tau, 2),
                    round(speeds[mode] - (0.4 if far else 0.0), 2),
                    draft_ms=6.0 if far else 5.0, verify_ms=60.0 if far else 30.0,
                    ms_per_token=50.0 if far else 25.0,
                ))  # fmt: skip
    for name, tau, speed in (("no_sinks", 1.6, 0.95), ("no_sinks_abs", 1.6, 0.95),
                             ("truncated", 1.3, 0.2)):  # fmt: skip
        found.append(cell("mechanisms", name, 512, "all", tau, speed, ms_per_token=31.0,
                          top_right=0.45, speedup_total=0.97))  # fmt: skip
    found.append(cell("mechanisms", "ours", 512, "all", 1.0, 1.0, identical=0))
    found.append(cell("windows", "ours", 512, "all", 1.0, 1.0, identical=0))
    found.append(cell("windows", "ours", 2_000, "all", 1.0, 1.0, identical=0))
    for window, tau, speed in ((32, 1.7, 1.0), (246, 1.9, 1.1), (500, 1.5, 0.8)):
        found.append(cell("windows", f"window {window}", 512, "all", tau, speed + 0.3,
                          top_right=0.4, ms_per_token=33.3))  # fmt: skip
        found.append(cell("windows", f"window {window}", 2_000, "all", tau, speed, top_right=0.4,
                          ms_per_token=round(26.67 / speed, 2)))  # fmt: skip
    return found


def _alone() -> list[dict[str, Any]]:
    found = []
    for positions in (4_000, 2_000_000):
        for mode in MODES:
            every = mode in ("full", "reindex_only")
            entries = positions if every else 256
            run = not every or positions == 4_000
            found.append({
                "mode": mode, "positions": positions, "entries": entries, "bytes": entries * 1536,
                "seconds": (0.03 if every else 0.005) if run else None, "rounds": 3 * run,
                "guesses": 16 * run,
            })  # fmt: skip
    found[0]["bytes"] = 6 * 2**20
    return found


FOUND: dict[str, Any] = {
    "suite": "window", "quick": False,
    "conditions": {"model": "tiny", "digest": "1234", "device": "cpu", "machine": "a machine",
                   "versions": {"python": "3.11"}, "packed": {"float32": True}},
    "head": {"label": "tiny-head", "digest": "abcd", "trained": 256, "vocabulary": 100,
             "size": 9_000},
    "defaults": {"sinks": 4, "window": 247, "depth": 4},
    "prompts": {"file": "p.jsonl", "count": 24, "tokens": [64, 64]},
    "left_out": {}, "repetitions": {"short": 1},
    "sizes": [{"window": 32, "mode": "slot"}, {"window": 246, "mode": "slot"},
              {"window": 500, "mode": "window_abs"}],
    "texts": [{"id": f"{kind}-{c}", "kind": kind, "context": c, "tokens": n, "answer": 64,
               "sha256": "0"} for kind in KINDS
              for c, n in zip(CONTEXTS, (190, 440, 7_900), strict=True)],
    "costs": {"float32": [{"context": 128, "rows": [1, 4, 8], "seconds": [0.02, 0.022, 0.03]}]},
    "rows": [
        row("short", "ours", 1.0, tau=1.0, top_right=None, any_right=None, identical=0),
        row("short", "slot", 1.4, tau=2.1, accepted=1.1, top_right=0.6, any_right=0.71,
            rows_per_pass=9.5, draft_ms=4.5, verify_ms=25.0, identical=24),
        row("short", "slot_12", 1.38, tau=2.05, top_right=0.54),
        row("short", "full", 1.5),
        row("context", "slot", 1.2),
    ],
    "cells": _cells(),
    "alone": _alone(),
    "shift": [{"positions": 1_000, "largest": 2.5, "moved": 1e-13, "single": 2e-5, "sinks": 1.2,
               "ways": 0.0}],
    "paying": {"context": 8_000, "budget_ms": 21.0, "positions": 3_000, "reached": 4_000},
}  # fmt: skip
