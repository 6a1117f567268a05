"""Lasting memories outside a run: rebuilt from its events, kept apart by isolation scope."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from specviz.drafters import create
from specviz.drafters.memory import Snapshot
from specviz.job import Job, talk
from specviz.trace import Event, Header, Prefill, Step


class MemoryKeeper:
    """Rebuilds a drafter's lasting memory outside the run, event by event.

    A worker that is killed loses at most the step that it had not streamed yet.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._drafter = create(job.decoder, job.knobs)
        self._begun = False
        self._turns: list[tuple[str, str, list[str]]] = []
        self._emitted: list[int] = []
        self._pieces: dict[int, str] = {}
        self._silent: set[int] = set()

    def add(self, event: Event) -> None:
        """Fold an event of the decoder's run; others change nothing."""
        self._pieces |= event.pieces
        self._silent |= set(event.specials)
        if event.role != "decoder" or not isinstance(event, (Header, Prefill, Step)):
            return
        if isinstance(event, Header):
            self._begun = True
            self._turns, self._emitted = _asked(event), []
            memory = self._job.carried()
            if memory is not None and self._drafter.persistent:
                self._drafter.restore(memory, event)
        else:
            self._emitted += event.emitted if isinstance(event, Step) else [event.token]
        self._drafter.fold(event)

    def snapshot(self) -> Snapshot | None:
        """The memory as it is now, marked with the job's scope."""
        if not self._begun:
            return self._job.memory
        found: Snapshot | None = self._drafter.snapshot()
        if found is None:
            return None
        return replace(found, scope=self._job.scope, talk=self._talk() if found.deeper else "")

    def _talk(self) -> str:
        """The name of the talk up to here, with the answer as its next turn has it."""
        if not any(role == "user" for role, _, _ in self._turns):
            return ""
        said = "".join(self._pieces.get(t, "") for t in self._emitted if t not in self._silent)
        answer = said.encode("latin-1").decode("utf-8", "replace")
        return talk([*self._turns, ("assistant", answer, ())])


def _asked(header: Header) -> list[tuple[str, str, list[str]]]:
    """Role, text and digests of the pictures of each turn that a run was given."""
    digests = iter(used.digest for used in header.pictures)
    return [(m.role, m.text, list(islice(digests, m.pictures))) for m in header.messages]


class Scopes:
    """Lasting memories by isolation scope: what one scope learned is never seen in another.

    Owned by whoever owns the isolation boundary (one browser session, one CLI call).
    """

    def __init__(self) -> None:
        self._memories: dict[tuple[str, str, str, str], Snapshot] = {}
        self._cleared: dict[str, int] = {}

    @staticmethod
    def _key(job: Job) -> tuple[str, str, str, str]:
        return (job.scope, job.decoder, job.model, job.dtype)

    def get(self, job: Job) -> Snapshot | None:
        """The memory that a job of this scope, decoder, model and dtype may see."""
        return self._memories.get(self._key(job))

    def generation(self, scope: str) -> int:
        """How often a scope was cleared; a job that begins takes it down for ``put``."""
        return self._cleared.get(scope, 0)

    def put(self, job: Job, snapshot: Snapshot | None, begun: int | None = None) -> None:
        """Keep what a job left behind, unless its scope was cleared since it began.

        ``begun``: the scope's generation then. What the job learned holds what it was given, so
        keeping it would bring back what somebody cleared meanwhile.
        """
        if snapshot is not None and begun in (None, self.generation(job.scope)):
            self._memories[self._key(job)] = snapshot

    def clear(self, scope: str | None = None) -> None:
        """Forget one scope, or all of them."""
        for name in [scope] if scope is not None else {*self.names(), *self._cleared}:
            self._cleared[name] = self.generation(name) + 1
        for key in [k for k in self._memories if scope in (None, k[0])]:
            del self._memories[key]

    def names(self) -> set[str]:
        """The scopes that hold something."""
        return {key[0] for key in self._memories}

    def size(self, scope: str) -> tuple[int, int]:
        """Rows and bytes that a scope holds."""
        mine = [s for k, s in self._memories.items() if k[0] == scope]
        return sum(map(len, mine)), sum(s.nbytes for s in mine)
