"""What the server remembers for those who call the API: lasting memories, each caller's its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Lock
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


class Callers:
    """Lasting memories by session, which only the caller knows."""

    def __init__(self) -> None:
        self._scopes: OrderedDict[str, Scopes] = OrderedDict()
        self._guard = Lock()

    def scopes(self, request: gr.Request | None) -> Scopes:
        """The memories of whoever sent ``request``; new and kept nowhere without a session."""
        session = request.session_hash if request is not None else None
        if not session:
            return Scopes()
        with self._guard:
            found = self._scopes.setdefault(session, Scopes())
            self._scopes.move_to_end(session)
            while len(self._scopes) > MOST_CALLERS:
                self._scopes.popitem(last=False)
        return found


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
        scopes.clear(name or None)
        return {"cleared": forgotten, "kept": sorted(scopes.names())}

    return clear_memory
