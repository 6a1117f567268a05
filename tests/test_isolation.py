"""What one scope learned never shows in another: on the page, in the API, in saved memories.

Every test asks the second scope what a fresh process would be asked, and wants the very events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from specviz import jobs
from specviz.drafters.memory import Snapshot
from specviz.jobs import Job
from specviz.memories import MemoryKeeper, Scopes
from specviz.models.toy_signs import sign
from specviz.trace import Event, Header, Progress, Step, StoredEvent
from specviz.ui.api import generate
from specviz.ui.callers import MOST_CALLERS, Callers, clear_memory
from specviz.ui.live import follow
from specviz.ui.memory import MOST_SCOPES, Memory
from specviz.ui.visit import Live, Visit

# Only memory can help: nothing is copied, nothing read off the prompt.
KNOBS = {"copy": "off", "seed": "none", "turns": True}
SECRET = Job(
    model="toy-signs", prompt="What does my letter say?", pictures=(sign("red", "letter.png"),),
    max_new_tokens=40, knobs=KNOBS, baseline=False, scope="mine",
)  # fmt: skip
PUBLIC = replace(SECRET, prompt="What does it say?", pictures=(sign("red"),), scope="yours")


def told(events: list[Any]) -> list[dict[str, Any]]:
    """Everything but the seconds, and but the names of scopes."""
    return [e.model_dump(exclude={"seconds", "scope"}) for e in events]


def made(job: Job, scopes: Scopes) -> list[StoredEvent]:
    """As whoever keeps memories by scope runs a job."""
    job = replace(job, memory=scopes.get(job))
    keeper, events = MemoryKeeper(job), []
    for event in jobs.run(job):
        keeper.add(event)
        if not isinstance(event, Progress):
            events.append(event)
    scopes.put(job, keeper.snapshot())
    return events


def hits(events: list[Any]) -> int:
    """How many hits an earlier request wrote."""
    return sum(
        hit.written.step == -2
        for e in events
        if isinstance(e, Step)
        for lookup in e.evidence.lookups  # type: ignore[union-attr]
        for hit in lookup.hits
    )


def emitted(events: list[Any]) -> list[int]:
    return [token for e in events if isinstance(e, Step) for token in e.emitted]


def rows(events: list[Any]) -> int:
    header = events[0]
    assert isinstance(header, Header)
    return header.memory_rows


@pytest.fixture(scope="module")
def fresh() -> list[StoredEvent]:
    return made(PUBLIC, Scopes())


def test_a_run_never_shows_traces_of_another_scope(fresh: list[StoredEvent]) -> None:
    scopes = Scopes()
    made(SECRET, scopes)
    found = made(PUBLIC, scopes)
    assert told(found) == told(fresh) and hits(found) == 0 and rows(found) == 0
    whole = "".join(event.model_dump_json() for event in found)
    assert "letter" not in whole and "mine" not in whole
    # And there was something to see: the same run inside the scope is full of it.
    inside = made(replace(PUBLIC, scope="mine"), scopes)
    assert hits(inside) > 10 and rows(inside) > 20
    emitted = [
        [t for e in run if isinstance(e, Step) for t in e.emitted] for run in (found, inside)
    ]
    assert emitted[0] == emitted[1]


def test_what_was_cleared_is_gone(fresh: list[StoredEvent]) -> None:
    scopes = Scopes()
    for scope in ("mine", "yours"):
        made(replace(SECRET, scope=scope), scopes)
    scopes.clear("yours")
    assert scopes.names() == {"mine"} and scopes.size("yours") == (0, 0)
    assert told(made(PUBLIC, scopes)) == told(fresh)
    assert hits(made(replace(PUBLIC, scope="mine"), scopes)) > 10


# The page


def run_on(visit: Visit, job: Job) -> list[StoredEvent]:
    """Press Run in a tab whose scope is chosen already."""
    live = Live(replace(job, scope=visit.scope))
    for _ in follow(live, jobs.run, visit.scopes):
        pass
    return live.recording.events


def test_a_tab_crosses_to_another_scope_and_leaves_everything_behind(
    fresh: list[StoredEvent],
) -> None:
    visit, memory = Visit(), Memory("en")
    memory.cross(visit, "mine")
    run_on(visit, SECRET)
    assert memory.cross(visit, "yours") == "Scope “yours” holds 0 rows, 0 kB."
    assert told(run_on(visit, PUBLIC)) == told(fresh)
    memory.cross(visit, "mine")
    assert hits(run_on(visit, PUBLIC)) > 10


def test_another_tab_sees_nothing_though_it_names_the_scope(fresh: list[StoredEvent]) -> None:
    one, other = Visit(scope="mine"), Visit(scope="mine")
    run_on(one, SECRET)
    assert told(run_on(other, PUBLIC)) == told(fresh)


def test_clear_is_one_press(fresh: list[StoredEvent]) -> None:
    visit = Visit(scope="mine")
    run_on(visit, SECRET)
    assert visit.scopes.size("mine")[0] > 20
    assert Memory("en").clear(visit) == "Scope “mine” holds 0 rows, 0 kB."
    assert told(run_on(visit, PUBLIC)) == told(fresh)


# The API

SESSION = (
    "Nothing was kept under this session before: send the same session_hash with every call to "
    "use a scope again."
)


def kept(job: Job) -> Snapshot | None:
    scopes = Scopes()
    made(job, scopes)
    return scopes.get(job)


def test_a_scope_without_a_session_that_lasts_is_said() -> None:
    calls = Calls()
    assert calls.generate("a", "x")["notes"] == [SESSION]
    assert calls.generate("a", "x")["notes"] == []
    assert calls.generate("another", "")["notes"] == []
    assert calls.clear("another", "x") == {"cleared": {}, "kept": [], "notes": [SESSION]}
    assert calls.clear("a")["notes"] == []


class Calls:
    """Two endpoints, one server, several callers; the events of the last run."""

    def __init__(self) -> None:
        self.callers = Callers()
        self.events: list[Any] = []

    def decode(self, job: Job) -> Iterator[Event]:
        self.events = []
        for event in jobs.run(replace(job, knobs=KNOBS)):
            self.events.append(event)
            yield event

    def generate(self, session: str | None, scope: str) -> dict[str, Any]:
        request: Any = None if session is None else SimpleNamespace(session_hash=session)
        found: dict[str, Any] = generate(self.decode, self.callers)(
            "What does it say?", model="toy-signs", max_new_tokens=40, baseline=False,
            scope=scope, request=request,
        )  # fmt: skip
        return found

    def clear(self, session: str, scope: str = "") -> dict[str, Any]:
        request: Any = SimpleNamespace(session_hash=session)
        found: dict[str, Any] = clear_memory(self.callers)(scope, request)
        return found

    @property
    def hits(self) -> int:
        return hits([e for e in self.events if not isinstance(e, Progress)])


def test_callers_and_scopes_are_kept_apart_and_cleared_by_one_call() -> None:
    calls = Calls()
    texts = {calls.generate("a", "x")["text"]}
    assert calls.hits == 0
    texts.add(calls.generate("a", "x")["text"])
    assert calls.hits > 10
    for session, scope in (("b", "x"), ("a", "y"), ("a", ""), (None, "x"), (None, "x")):
        texts.add(calls.generate(session, scope)["text"])
        assert calls.hits == 0, (session, scope)
    assert len(texts) == 1 and "The sign is hidden" in texts.pop()
    found = calls.clear("a", "x")
    assert found["kept"] == ["y"] and list(found["cleared"]) == ["x"] and found["cleared"]["x"] > 20
    calls.generate("a", "x")
    assert calls.hits == 0
    calls.generate("b", "x")
    assert calls.hits > 10, "somebody else's was not touched"
    left = calls.clear("a")
    assert left["kept"] == [] and left["cleared"]["x"] == left["cleared"]["y"] > 20
    assert calls.clear("a") == {"cleared": {}, "kept": [], "notes": [SESSION]}
    calls.generate("a", "y")
    assert calls.hits == 0


def test_what_the_server_remembers_for_callers_has_an_end(monkeypatch: Any) -> None:
    callers = Callers()
    first: Any = SimpleNamespace(session_hash="0")
    mine, snapshot = callers.scopes(first, "s"), kept(SECRET)
    mine.put(SECRET, snapshot)
    # Whoever names no scope takes nobody's place, and of the others those without rows go first.
    for i in range(3 * MOST_CALLERS):
        callers.scopes(SimpleNamespace(session_hash=f"plain {i}"))  # type: ignore[arg-type]
    for i in range(2 * MOST_CALLERS):
        callers.scopes(SimpleNamespace(session_hash=f"empty {i}"), "s")  # type: ignore[arg-type]
    assert callers.scopes(first) is mine
    for i in range(1, MOST_CALLERS):
        callers.scopes(SimpleNamespace(session_hash=str(i)), "s").put(SECRET, snapshot)  # type: ignore[arg-type]
    assert callers.scopes(first) is mine
    one_more: Any = SimpleNamespace(session_hash="one more")
    callers.scopes(one_more, "s").put(SECRET, snapshot)
    assert callers.scopes(first) is mine, "whoever was silent for longest went"
    assert callers.scopes(SimpleNamespace(session_hash="1")).names() == set()  # type: ignore[arg-type]
    monkeypatch.setattr(mine, "names", lambda: {str(i) for i in range(MOST_SCOPES)})
    with pytest.raises(gr.Error, match="scopes"):
        generate(jobs.run, callers)("This is", model="toy", scope="new", request=first)


def test_callers_are_forgotten_after_an_hour_without_a_call() -> None:
    now = 0.0
    callers = Callers(lambda: now)
    silent: Any = SimpleNamespace(session_hash="silent")
    busy: Any = SimpleNamespace(session_hash="busy")
    mine, theirs = callers.scopes(silent, "s"), callers.scopes(busy, "s")
    now = 3599.0
    assert callers.scopes(busy) is theirs and callers.sessions() == ["silent", "busy"]
    now = 3600.0
    assert callers.sessions() == ["busy"]
    assert callers.scopes(silent) is not mine and callers.scopes(busy) is theirs


def test_callers_are_forgotten_though_nobody_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[tuple[float, Any]] = []

    class Waiting:
        def __init__(self, seconds: float, then: Any) -> None:
            waits.append((seconds, then))

        def start(self) -> None:
            assert self.daemon  # type: ignore[attr-defined]

    monkeypatch.setattr("specviz.ui.callers.Timer", Waiting)
    now = 0.0
    callers = Callers(lambda: now)
    for session, called in (("a", 0.0), ("b", 60.0)):
        now = called
        callers.scopes(SimpleNamespace(session_hash=session), "s")  # type: ignore[arg-type]
    assert [seconds for seconds, _ in waits] == [3600.0]
    now = 3600.0
    waits[-1][1]()
    assert list(callers._scopes) == ["b"] and waits[-1][0] == 60.0
    now = 3660.0
    waits[-1][1]()
    assert (list(callers._scopes), callers._called, len(waits)) == ([], {}, 2)


@pytest.mark.parametrize("scope", [None, 3, ["x"]])
def test_a_scope_that_is_no_text_is_refused(scope: Any) -> None:
    with pytest.raises(gr.Error, match=r"scope has to be a text\."):
        clear_memory(Callers())(scope)
