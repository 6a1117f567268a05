"""Visits to the running page: how soon a trace is drawn, what travels, what stays in memory."""

from __future__ import annotations

import gzip
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from specviz import player
from specviz.bench.page_browser import Tab
from specviz.bench.page_seeks import FACE, SWEEP, sweep

if TYPE_CHECKING:
    from playwright.sync_api import Browser

BUFFER = 2**27  # bytes of answers that the browser keeps for us
SIZES = ("bytes", "gzipped", "sent")
# Paths of files that every Gradio page asks for, whatever it shows.
GRADIO = ("/assets/", "/static/", "/svelte/", "/_app/", "/gradio_api/startup-events")
# When something of a run stands on the stage, in milliseconds since the address was entered.
DRAWN = f"""() => {{
  const player = {FACE};
  return player && player.state().events > 0 && player.state().drawn >= 0 && performance.now();
}}"""
SHOWN = f"(events) => {{ const p = {FACE}; return p && p.state().events === events; }}"
REPLAY_FRAMES = 60


def arrive(tab: Tab, address: str) -> float:
    """Seconds from the address to the first drawn trace."""
    tab.page.goto(address, wait_until="commit")
    found = tab.page.wait_for_function(DRAWN).json_value()
    return float(found) / 1000


def first_trace(browser: Browser, address: str, times: int) -> dict[str, Any]:
    """Seconds to the first trace, each in a browser that knows nothing of the page yet, and the
    same once more in the same browser."""
    from specviz.bench.page_browser import tab

    cold, warm = [], []
    for _ in range(times):
        with tab(browser) as fresh:
            cold.append(arrive(fresh, address))
            warm.append(arrive(fresh, address))
    return {"cold": seconds(cold), "warm": seconds(warm)}


def seconds(values: list[float]) -> dict[str, float]:
    """Median and most."""
    return {"median": round(median(values), 3), "most": round(max(values), 3)}


def payload(browser: Browser, address: str) -> dict[str, Any]:
    """Bytes until the first trace is drawn: Gradio's own files, and everything beyond them.

    Beyond are the document with the page's whole description, its style sheet, and the answers that
    bring the trace. A bare Gradio page has a document, too, which is not taken off.
    """
    from specviz.bench.page_browser import tab

    with tab(browser) as fresh:
        answers = _Answers(fresh)
        arrive(fresh, address)
        sleep(0.5)  # for the answers that came last
        bodies = list(answers.bodies(address))
    parts = {"gradio": dict.fromkeys(SIZES, 0), "beyond": dict.fromkeys(SIZES, 0)}
    largest: dict[str, int] = {}
    for path, body, sent in bodies:
        part = "gradio" if path.startswith(GRADIO) else "beyond"
        told = {**sizes(body), "sent": sent}
        for name, size in told.items():
            parts[part][name] += size
        if part == "beyond":
            largest[path] = largest.get(path, 0) + told["gzipped"]
    first = sorted(largest.items(), key=lambda each: -each[1])[:6]
    return {**parts, "largest": dict(first), "bundle": sizes(player.bundle_js().encode())}


class _Answers:
    """The answers that a tab has got whole; a line that stays open is none."""

    def __init__(self, tab: Tab) -> None:
        self._devtools = tab.devtools
        self._urls: dict[str, str] = {}
        self._sent: dict[str, int] = {}
        self._devtools.on("Network.responseReceived", self._received)
        self._devtools.on("Network.loadingFinished", self._finished)
        self._devtools.send("Network.enable", {"maxTotalBufferSize": BUFFER})

    def _received(self, event: dict[str, Any]) -> None:
        self._urls[event["requestId"]] = event["response"]["url"]

    def _finished(self, event: dict[str, Any]) -> None:
        self._sent[event["requestId"]] = round(event["encodedDataLength"])

    def bodies(self, address: str) -> Iterator[tuple[str, bytes, int]]:
        """(path, body, bytes that travelled) of every answer from ``address``."""
        for name, sent in list(self._sent.items()):
            url = self._urls.get(name, "")
            if url.startswith(address):
                told = self._devtools.send("Network.getResponseBody", {"requestId": name})
                body = told["body"].encode()
                yield urlsplit(url).path, b64decode(body) if told["base64Encoded"] else body, sent


def sizes(data: bytes) -> dict[str, int]:
    """Bytes, plain and gzipped."""
    return {"bytes": len(data), "gzipped": len(gzip.compress(data, 6, mtime=0))}


def upload(tab: Tab, path: Path, events: int) -> float:
    """Hand in a trace file; seconds until all its events are in the player."""
    began = tab.ask("() => performance.now()")
    with tab.page.expect_file_chooser() as chooser:
        tab.ask("() => document.querySelector('#upload').click()")  # also in a folded column
    chooser.value.set_files(path)
    tab.page.wait_for_function(SHOWN, arg=events)
    return float(tab.ask("(then) => performance.now() - then", began)) / 1000


def heap(tab: Tab, names: list[str], few: int, many: int) -> dict[str, Any]:
    """Bytes and elements of the page after ``few`` replays and after ``many``: a replay shows one
    of the examples ``names`` in turn and goes through all of it."""
    told = {}
    for number in range(1, many + 1):
        name = names[number % len(names)]
        tab.page.locator(f"#gallery button[data-name={name}]").click()
        tab.page.wait_for_function(f"(run) => {FACE}.state().run === run", arg=f"example-{name}")
        tab.ask(SWEEP, [sweep(40, REPLAY_FRAMES), FACE])
        if number in (few, many):
            tab.quiet()
            told[number] = tab.settled()
    return {
        "replays": [few, many],
        "bytes": [round(told[n]["JSHeapUsedSize"]) for n in (few, many)],
        "nodes": [round(told[n]["Nodes"]) for n in (few, many)],
        "listeners": [round(told[n]["JSEventListeners"]) for n in (few, many)],
    }
