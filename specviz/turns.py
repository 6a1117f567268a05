"""Whose turn it is: one job at a time computes on a device."""

from __future__ import annotations

import threading
from collections.abc import Generator

from specviz.aside import Works
from specviz.models import registry
from specviz.trace import Progress

# Loading changes settings of the whole process for a while, so a stopped one has to end first.
LOADING = threading.Lock()
ENCODE_SECONDS = 60.0  # for a text, also one that a run which has ended left behind
QUEUE = Progress(stage="queue", done=0, total=1)

_turns: dict[str, tuple[threading.Lock, Works]] = {}
_guard = threading.Lock()


def place(entry: registry.Entry, wanted: str) -> str:
    """The device of a model of ``entry`` where ``wanted`` was asked for."""
    # A toy has a device of its own; asking for it must not import torch.
    return next(iter(entry.dtypes)) if entry.kind == "toy" else registry.resolve_device(wanted)


def turn(device: str) -> tuple[threading.Lock, Works]:
    """Who holds it decodes there; and what runs that have ended left going on."""
    with _guard:
        return _turns.setdefault(device, (threading.Lock(), set()))


def taken(lock: threading.Lock) -> Generator[Progress, None, None]:
    """Wait for ``lock``, which is held afterwards; yields signs of life."""
    while not lock.acquire(timeout=0.2):
        yield QUEUE
