"""The page docs/results-page.md, out of what the suite ``page`` measured.

Written by ``python docs/results.py docs/results-page.json --write``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from results import NAMES, ROOT, number, percent, table

PAGE = ROOT / "docs" / "results-page.md"
COMMITTED = ROOT / "docs" / "results-page.json"
COMMAND = "python -m specviz bench --suite page"
FRAME = 16.7  # milliseconds at 60 frames a second
MEGABYTE = 1e6


def aims(found: Mapping[str, Any]) -> str:
    """What was aimed at and what was reached."""
    head = ("", "aim", "measured", "")
    lines = []
    for what, most, unit, got in _aims(found):
        digits = 1 if unit in ("%", "ms") else 2 if unit == "s" else 0
        verdict = "reached" if got < most else "**missed**"
        lines.append([what, f"below {most:g} {unit}", number(got, digits, f" {unit}"), verdict])
    return table(head, lines)


def _aims(found: Mapping[str, Any]) -> list[tuple[str, float, str, float]]:
    heap, kept, sent = found["heap"], found["server"], found["payload"]
    aims = [
        ("first trace drawn, once the server runs", 2.0, "s", found["first"]["cold"]["median"]),
        ("first payload beyond Gradio's own, gzipped", 1500.0, "kB",
         sent["beyond"]["gzipped"] / 1000),
        ("the player, gzipped", 150.0, "kB", sent["bundle"]["gzipped"] / 1000),
    ]  # fmt: skip
    for trace in found["traces"]:
        work = trace["seek"]["work"]["p95"]
        aims.append((f"script and layout of a seek, {_named(trace)}, 95 %", FRAME, "ms", work))
    for trace in found["traces"]:
        late = 100 * trace["scrub"]["late"]
        aims.append((f"late frames while scrubbing, {_named(trace)}", 5.0, "%", late))
    few, many = heap["replays"]
    aims += [
        (f"heap of the page after {many} replays over that after {few}", 10.0, "%",
         _growth(*heap["bytes"])),
        (f"memory of the server after {kept['runs']} more runs", 5.0, "%",
         _growth(kept["before"], kept["after"])),
    ]  # fmt: skip
    for name, told in found["recording"].items():
        what = f"recording, over decoding with {NAMES.get(name, name)}"
        aims.append((what, 3.0, "%", 100 * told["recording"]))
    return aims


def _growth(before: float, after: float) -> float:
    return 100 * (after / before - 1)


def _named(trace: Mapping[str, Any]) -> str:
    """``500 steps``, or what a run behind a document is."""
    if trace["name"] != "document":
        return str(trace["name"])
    return f"a document of {trace['context']} tokens"


def traces(found: Mapping[str, Any]) -> str:
    """What runs of every length cost."""
    head = ("", "payload, gzipped", "until it stands", "a seek: script", "layout", "style",
            "all, 95 %", "most", "layouts", "scrubbing: work a frame", "late frames")  # fmt: skip
    return table(head, ([
        _named(t),
        f"{t['payload']['gzipped'] / 1000:.0f} kB",
        number(t["loaded"], 2, " s"),
        *(number(t["seek"][part]["median"], 1, " ms") for part in ("script", "layout", "style")),
        number(t["seek"]["work"]["p95"], 1, " ms"),
        number(t["seek"]["work"]["most"], 1, " ms"),
        number(t["seek"]["LayoutCount"]["median"], 1),
        number(t["scrub"]["work"], 1, " ms"),
        percent(t["scrub"]["late"], 1),
    ] for t in found["traces"]))  # fmt: skip


def bare(found: Mapping[str, Any]) -> list[str]:
    """What frames cost whatever is drawn in them; nothing where it was not measured yet."""
    told = found.get("bare")
    if told is None:
        return []
    return [
        "A bare page that changes its one colour with every frame, in the same browser: "
        f"{percent(told['late'], 1)} late frames, {told['gap']['median']:.1f} ms between two of "
        f"them (median), {told['gap']['p95']:.1f} ms (95 %).\n"
    ]


def payload(found: Mapping[str, Any]) -> str:
    """What travels until the first trace is drawn."""
    sent = found["payload"]
    rows = [("Gradio's own files", sent["gradio"]), ("everything beyond them", sent["beyond"]),
            ("of it, the player", sent["bundle"])]  # fmt: skip
    return table(("", "bytes", "gzipped"), (
        [name, f"{told['bytes'] / 1000:.0f} kB", f"{told['gzipped'] / 1000:.0f} kB"]
        for name, told in rows
    ))  # fmt: skip


def kept(found: Mapping[str, Any]) -> str:
    """What stays in memory."""
    heap, server = found["heap"], found["server"]
    few, many = heap["replays"]
    rows = [
        ["heap of the page", *(f"{b / MEGABYTE:.1f} MB" for b in heap["bytes"])],
        ["elements", *map(str, heap["nodes"])],
        ["listeners", *map(str, heap["listeners"])],
        ["server, resident", *(f"{server[n] / MEGABYTE:.0f} MB" for n in ("before", "after"))],
    ]
    return table(("", f"after {few} replays", f"after {many}"), rows[:3]) + "\n" + table(
        ("", "after five runs", f"after {server['runs']} more"), rows[3:]
    )


def body(found: Mapping[str, Any]) -> list[str]:
    """The sections of one measurement."""
    what = found["conditions"]
    extent = "A quick look, not the full measurement: " if found["quick"] else ""
    versions = ", ".join(f"{k} {v}" for k, v in what["versions"].items())
    first = found["first"]
    return [
        f"{extent}{what['machine']}, {what['cores']} cores, {what['browser']}; {versions}.\n",
        "## Aims\n", aims(found),
        "## The first trace\n",
        f"{found['visits']} visits, each by a browser that has seen nothing of the page: median "
        f"{first['cold']['median']:.2f} s, at most {first['cold']['most']:.2f} s; the same browser "
        f"once more: median {first['warm']['median']:.2f} s.\n",
        payload(found),
        "## Moving in a run\n",
        "Runs of 50, 500 and 2 000 steps repeat the steps of a recorded one. A seek jumps far "
        "away. Milliseconds are those that the page's main thread had a core for. A frame is late "
        "when more than 25 ms lie between it and the one before.\n",
        traces(found),
        *bare(found),
        "## What stays in memory\n", kept(found),
    ]  # fmt: skip


def page(measured: Sequence[Mapping[str, Any]]) -> str:
    """docs/results-page.md."""
    parts = ["# Results: what the page costs\n"]
    if not measured:
        parts.append("Nothing was measured yet: run `make bench-page` on an idle machine.\n")
        return "\n".join(parts)
    parts.append(f"Written by `docs/results.py` from what `{COMMAND}` measured.\n")
    for found in measured:
        parts += body(found)
    return "\n".join(parts)
