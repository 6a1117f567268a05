"""The page's own server in a process of its own, as ``python app.py`` starts it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.error import URLError
from urllib.request import Request, urlopen

import psutil

from specviz.models.base import InputError

APP = Path(__file__).parents[2] / "app.py"
START = 180  # seconds that the server may take to answer
ANSWER = 120  # seconds that one run may take
WARM_RUNS = 5  # after these the allocator has what it needs
RUN = ("the cat sat on the mat and the dog sat on the", "recap", "toy", 64, "auto", True, None, "")


@contextmanager
def server() -> Iterator[tuple[str, psutil.Process]]:
    """Address and process of a running page; raises InputError when it does not start."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    names = {"GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": str(port)}
    process = subprocess.Popen(
        [sys.executable, str(APP)], cwd=APP.parent, env={**os.environ, **names},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _await(address, process)
        yield address, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait()


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    end = monotonic() + START
    while process.poll() is None and monotonic() < end:
        try:
            with urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            sleep(0.2)
    raise InputError("The page's server did not start: run python app.py to see what it says.")


def run(address: str) -> dict[str, Any]:
    """One run of the toy model through the documented endpoint; raises InputError."""
    call = f"{address}/gradio_api/call/generate"
    body = json.dumps({"data": list(RUN)}).encode()
    asked = Request(call, body, {"Content-Type": "application/json"})
    with urlopen(asked, timeout=ANSWER) as answer:
        name = json.load(answer)["event_id"]
    with urlopen(f"{call}/{name}", timeout=ANSWER) as stream:
        told = stream.read().decode()
    if "event: complete" not in told:
        raise InputError(f"The page's server refused a run: {told[:200]!r}.")
    found: dict[str, Any] = json.loads(told.rpartition("data: ")[2])[0]
    return found


def memory(address: str, process: psutil.Process, runs: int) -> dict[str, Any]:
    """Resident bytes of the server after a few runs, and after ``runs`` more of them."""
    for _ in range(WARM_RUNS):
        first = run(address)
    before = process.memory_info().rss
    for _ in range(runs):
        last = run(address)
    return {
        "runs": runs, "before": before, "after": process.memory_info().rss,
        "same": first["text"] == last["text"],
    }  # fmt: skip
