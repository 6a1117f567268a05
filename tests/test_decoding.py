"""However a run ends, its cache is freed, and a run that fails says so before it raises."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specviz import equality, jobs
from specviz.decoding import decode
from specviz.drafters import create
from specviz.jobs import Job
from specviz.models import registry
from specviz.models.base import Capture, InputError, Inputs
from specviz.models.toy import ToyModel, ToySession, random_logits
from specviz.trace import Check, Finish, Prefill, Progress, Run, Step

PROMPT = (1, 2, 3)


class Spy(ToySession):
    """Counts closings; fails in the pass ``model.fails_at``."""

    closed = 0
    passes = 0

    def verify(self, tree):  # type: ignore
        self.passes += 1
        if self.passes == self.model.fails_at:  # type: ignore[attr-defined]
            raise self.model.error  # type: ignore[attr-defined]
        return super().verify(tree)

    def close(self) -> None:
        self.closed += 1
        super().close()


class Watched(ToyModel):
    fails_at = 0
    error: Exception = RuntimeError("out of memory")

    def open(self, capture=Capture()):  # type: ignore
        session = Spy(self, capture)
        self.sessions = [*getattr(self, "sessions", []), session]
        return session


def watched(label: str = "watched") -> Watched:
    pieces = [b"", *(bytes([b]) for b in range(256))]
    return Watched(random_logits(3, 257, 1), pieces, label=label, eos_ids=frozenset({0}))


@pytest.mark.parametrize("drafter", ["autoregressive", "recap"])
def test_a_finished_run_has_closed_its_session_once(drafter: str) -> None:
    model = watched()
    events = list(decode(model, Inputs(PROMPT), create(drafter), 12))
    assert isinstance(events[-1], Finish) and events[-1].reason == "length"
    assert [s.closed for s in model.sessions] == [1]
    assert model.sessions[0].length == 0


@pytest.mark.parametrize("kind", [Progress, Prefill, Step])
def test_a_run_that_is_left_closes_its_session(kind: type) -> None:
    model = watched()
    run = decode(model, Inputs(PROMPT), create("recap"), 12)
    for event in run:
        if isinstance(event, kind):
            break
    assert [s.closed for s in model.sessions] == [0]
    run.close()
    assert [s.closed for s in model.sessions] == [1]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("CUDA error in /secret/path"), "The run failed; see the log."),
        (InputError("The picture is too large: make it smaller."),
         "The picture is too large: make it smaller."),
    ],
)  # fmt: skip
def test_a_run_that_fails_says_so_then_raises_and_closes(error: Exception, message: str) -> None:
    model = watched()
    model.fails_at, model.error = 4, error
    events = []
    with pytest.raises(type(error)) as caught:
        for event in decode(model, Inputs(PROMPT), create("autoregressive"), 12):
            events.append(event)
    assert caught.value is error
    steps = [e for e in events if isinstance(e, Step)]
    spent = sum(s.seconds.total for s in steps)
    last = events[-1]
    assert len(steps) == 3 and isinstance(last, Finish)
    assert (last.reason, last.tokens, last.message) == ("error", 4, message)
    assert last.seconds >= spent
    assert [s.closed for s in model.sessions] == [1]


def test_a_job_closes_every_session_and_gives_the_device_back_after_an_error() -> None:
    model = watched("watched-job")
    entry = replace(registry.find("toy"), label=model.label, load=lambda device, dtype: model)
    registry.register(entry)
    try:
        job = Job(model=model.label, prompt="abcab", max_new_tokens=9)
        model.fails_at = 3
        seen = []
        with pytest.raises(RuntimeError, match="out of memory"):
            for event in jobs.run(job):
                seen.append(event)
        assert isinstance(seen[-1], Finish) and seen[-1].reason == "error"
        model.fails_at = 0
        again = []
        for event in jobs.run(job):
            assert not (isinstance(event, Progress) and event.stage == "queue"), "still locked"
            again.append(event)
        assert again[-1] == Check(equal=True)
        assert [s.closed for s in model.sessions] == [1, 1, 1]
    finally:
        registry.register(entry)
        registry._entries.pop(model.label)


def test_a_comparison_closes_its_session_also_when_it_is_stopped() -> None:
    model = watched()
    run = list(decode(model, Inputs(PROMPT), create("autoregressive"), 6))
    first = next(e for e in run if isinstance(e, Prefill))
    model.sessions = []
    decoder = told(model, first, [e for e in run if isinstance(e, Step)])
    other = replace(decoder, prefill=first.model_copy(update={"token": 5}))
    judging = equality.judge(model, Inputs(PROMPT), decoder, other)
    assert next(judging).stage == "check"
    judging.close()
    assert [s.closed for s in model.sessions] == [1]


def told(model, first, steps):  # type: ignore
    inputs = Inputs(PROMPT)
    job = Job(model="toy", prompt="x", max_new_tokens=6)
    header = jobs._header(job, model, inputs, (), create("autoregressive"), "decoder")
    return Run(header, first, tuple(steps), None)
