"""What the server remembers for those who call the API: lasting memories, each caller's its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Lock, Timer
from time import monotonic
from typing import Any

import gradio as gr

from specviz.catalog import text
from specviz.jobs import Job
from specviz.memories import MemoryKeeper, Scopes
from specviz.models.base import InputError
from specviz.trace import Event
from specviz.ui.live import Decode
from specviz.ui.memory import LONGEST_NAME, MOST_SCOPES

MOST_CALLERS = 64  # whoever was silent for longest is forgotten: a caller does not say goodbye
FORGOTTEN_AFTER = 3600.0  # seconds without a call, as long as the state of a closed tab is kept


class Callers:
    """Lasting memories by session, which only the caller knows; ``clock`` in seconds."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._scopes: OrderedDict[str, Scopes] = OrderedDict()  # silent for longest first
        self._called: dict[str, float] = {}
        self._clock = clock
        self._timer: Timer | None = None
        self._guard = Lock()

    def scopes(self, request: gr.Request | None, scope: str = "") -> Scopes:
        """The memories of whoever sent ``request``; new and kept nowhere unless a ``scope`` is
        named, or some are kept already. Plain HTTP calls get a session of their own each time."""
        session = request.session_hash if request is not None else None
        with self._guard:
            self._forget()
            found = self._scopes.get(session or "")
            if found is None:
                found = Scopes()
                if session and scope:
                    self._make_room()
                    self._scopes[session] = found
            else:
                self._scopes.move_to_end(session or "")
            if session and session in self._scopes:
                self._called[session] = self._clock()
                self._wait()
        return found

    def sessions(self) -> list[str]:
        """Those that something is kept of, silent for longest first."""
        with self._guard:
            self._forget()
            return list(self._scopes)

    def _forget(self) -> None:
        """Whoever was silent for too long."""
        before = self._clock() - FORGOTTEN_AFTER
        for session in [s for s, called in self._called.items() if called <= before]:
            self._drop(session)

    def _drop(self, session: str) -> None:
        del self._scopes[session], self._called[session]

    def _wait(self) -> None:
        """Until the next one has to be forgotten, should nobody call before."""
        if self._timer is not None or not self._called:
            return
        left = min(self._called.values()) + FORGOTTEN_AFTER - self._clock()
        self._timer = Timer(max(left, 1.0), self._due)
        self._timer.daemon = True
        self._timer.start()

    def _due(self) -> None:
        with self._guard:
            self._timer = None
            self._forget()
            self._wait()

    def _make_room(self) -> None:
        """For one more: whoever keeps nothing goes first, then whoever was silent for longest."""
        while len(self._scopes) >= MOST_CALLERS:
            empty = (session for session, kept in self._scopes.items() if not kept.names())
            self._drop(next(empty, next(iter(self._scopes))))


def scope_name(scope: Any) -> str:
    """``scope`` of a call, empty for none; raises InputError, because a call may hold any JSON."""
    if not isinstance(scope, str):
        raise InputError(text("ui.error.text", name="scope"))
    return scope.strip()[:LONGEST_NAME]


def check_room(scopes: Scopes, scope: str) -> None:
    """Raise InputError when a caller keeps too many other scopes."""
    kept = scopes.names()
    if scope not in kept and len(kept) >= MOST_SCOPES:
        raise InputError(text("ui.error.scopes", most=MOST_SCOPES))


def said(scopes: Scopes, scope: str) -> list[str]:
    """What a caller should know who names ``scope``, or all of them, and has kept nothing yet."""
    kept = scopes.names()
    return [] if kept and scope in ("", *kept) else [text("ui.api.session")]


def remembered(decode: Decode, job: Job, scopes: Scopes, scope: str) -> Iterator[Event]:
    """The events of ``job``, which sees what ``scope`` learned and adds to it; without a name, as
    if nothing lasted."""
    if not scope:
        yield from decode(job)
        return
    check_room(scopes, scope)
    job = replace(job, scope=scope)
    begun = scopes.generation(scope)
    job = replace(job, memory=scopes.get(job))
    keeper = MemoryKeeper(job)
    for event in decode(job):
        keeper.add(event)
        yield event
    scopes.put(job, keeper.snapshot(), begun)


def clear_memory(callers: Callers) -> Callable[..., Any]:
    """The endpoint's function over ``callers``."""

    def clear_memory(scope: str = "", request: gr.Request | None = None) -> dict[str, Any]:
        scopes = callers.scopes(request)
        try:
            name = scope_name(scope)
        except InputError as error:
            raise gr.Error(str(error), print_exception=False) from error
        forgotten = {kept: scopes.size(kept)[0] for kept in scopes.names() if name in ("", kept)}
        notes = said(scopes, name)
        scopes.clear(name or None)
        return {"cleared": forgotten, "kept": sorted(scopes.names()), "notes": notes}

    return clear_memory
