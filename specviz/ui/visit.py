"""What the server keeps for one open page, and for all of them: runs, traces, memory scopes."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from functools import reduce

from specviz.jobs import Job
from specviz.memories import Scopes
from specviz.models.base import Picture
from specviz.player import Pair
from specviz.probing import with_probe
from specviz.trace import Probe, Recording, StoredEvent, Trace
from specviz.ui.given import Given, Talk
from specviz.ui.reading import Reading

KEPT_RUNS = 4  # of one tab, the one that is shown included


def new_run_id() -> str:
    """A name for a run that nobody can guess."""
    return secrets.token_urlsafe(16)


@dataclass
class Live:
    """One press of Run. The page sets ``stopped``; the loop that decodes reads it.

    ``reading``: that of the document which ``job`` still lacks.
    """

    job: Job
    reading: Reading | None = None
    run_id: str = field(default_factory=new_run_id)
    recording: Recording = field(default_factory=Recording)
    started: bool = False
    stopped: bool = False
    ended: bool = False

    def halted(self) -> bool:
        """Whether Stop was pressed, possibly by another thread a moment ago."""
        return self.stopped


@dataclass
class Visit:
    """One browser tab: nothing in here is ever shown to another one.

    ``shown``: the run on the page. ``reusable``: the run whose baseline the next one may repeat.
    ``own``: run ids of this visit, oldest first. ``pane``: the tab below the player that shows the
    run and was opened last. ``reading``: that of the file in the document field. ``pictures``: of
    the next prompt; ``opening``: files that are still becoming such pictures; ``refused``: what is
    wrong with files that were too large to be sent; ``replacing``: the number of the one whose
    place the next takes; ``talk``: the turns before. ``other``: the picture
    that may stand in the place of one of the run that is shown; ``probed``: that run if its
    answer has just been read back. ``copied``: own runs that began as an example of which more is
    known by now, and the run ids of those. ``pair``: the two runs that were compared last, the
    first of them with what stands beside it.
    """

    scopes: Scopes = field(default_factory=Scopes)
    scope: str = ""
    mode: str = "prompt"
    live: Live | None = None
    shown: str = ""
    reusable: str = ""
    own: list[str] = field(default_factory=list)
    pane: str = ""
    reading: Reading | None = None
    pictures: tuple[Given, ...] = ()
    opening: list[str] = field(default_factory=list)
    refused: str = ""
    replacing: int | None = None
    talk: Talk | None = None
    other: Picture | None = None
    probed: str = ""
    copied: dict[str, str] = field(default_factory=dict)
    pair: tuple[Trace, Pair] | None = None

    @property
    def busy(self) -> bool:
        """Whether a run is waiting or going on."""
        return self.live is not None and not self.live.ended

    def stop(self) -> bool:
        """End the run that is waiting or going on, if any; twice is harmless.

        True when it has begun, so that its step has to end first.
        """
        if self.live is None or self.live.ended:
            return False
        self.live.stopped = True
        # A run that waits in the queue has nobody who would end it.
        self.live.ended = not self.live.started
        return self.live.started


class Desk:
    """The events of runs by run id, and the visits by browser session.

    A run id is the key to its events, so it cannot be guessed; examples are public.
    """

    def __init__(self) -> None:
        self._runs: dict[str, Recording | Trace] = {}
        self._visits: dict[str, Visit] = {}

    def enter(self, session: str | None, visit: Visit) -> None:
        """Remember which visit belongs to a browser session."""
        if session:
            self._visits[session] = visit

    def leave(self, session: str | None) -> None:
        """The tab is gone: stop its run and forget its traces."""
        visit = self._visits.pop(session or "", None)
        if visit is not None:
            self.forget(visit)

    def forget(self, visit: Visit) -> None:
        """Stop and drop everything of a visit but its memory, which Gradio keeps with its state."""
        visit.stop()
        for run_id in visit.own:
            self._runs.pop(run_id, None)
        visit.own.clear()

    def publish(self, run_id: str, trace: Trace) -> None:
        """Keep an example for everybody."""
        self._runs[run_id] = trace

    def keep(self, visit: Visit, run_id: str, events: Recording | Trace) -> None:
        """Keep a run of ``visit``, or what is known of it now, and forget its older ones."""
        self._runs[run_id] = events
        if run_id in visit.own:
            visit.own.remove(run_id)
        visit.own.append(run_id)
        while len(visit.own) > KEPT_RUNS:
            self._runs.pop(visit.own.pop(0), None)

    def again(self, visit: Visit, trace: Trace) -> tuple[str, Trace]:
        """The name of the run of ``trace`` in ``visit``, and all that is known of it: one that was
        read from a file or whose answer was read back is the run that it was before."""
        for run_id in visit.own:
            before = self.trace(run_id)
            if before is not None and _recorded(before) == _recorded(trace):
                return run_id, reduce(with_probe, trace.probes, before)
        return new_run_id(), trace

    def trace(self, run_id: str) -> Trace | None:
        """What has been recorded of a run; None when nobody knows it (any more)."""
        found = self._runs.get(run_id)
        return found.trace if isinstance(found, Recording) else found

    def events(self, run_id: str, start: int) -> list[StoredEvent]:
        """The events of a run from number ``start`` on."""
        trace = self.trace(run_id)
        return list(trace.events[max(0, start) :]) if trace else []


def _recorded(trace: Trace) -> list[StoredEvent]:
    """What happened in a run, without what was found out afterwards."""
    return [event for event in trace.events if not isinstance(event, Probe)]
