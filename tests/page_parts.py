"""What tests of the page's logic share: a job, a clock, what a line says."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from specviz import jobs
from specviz.gallery import Example
from specviz.jobs import Job
from specviz.trace import Progress, Trace
from specviz.ui.actions import Actions
from specviz.ui.visit import Desk

JOB = Job(model="toy", prompt="This is the house that Jack built.\nThis is", max_new_tokens=60)


class Clock:
    """A clock that moves by a fixed amount whenever it is read."""

    def __init__(self, tick: float) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def an_actions(*recorded: Example) -> Actions:
    return Actions(Desk(), recorded, jobs.run, None, "en")  # type: ignore[arg-type]


def toy_trace() -> Trace:
    return Trace(tuple(e for e in jobs.run(JOB) if not isinstance(e, Progress)))


def told(line: str) -> tuple[str, str]:
    found = json.loads(line)
    return found["kind"], found["text"]


def loaded(message: str) -> dict[str, Any]:
    packed = base64.b64decode(json.loads(message)["load"])
    found: dict[str, Any] = json.loads(gzip.decompress(packed))
    return found
