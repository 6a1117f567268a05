"""One door: plain data in, events out, in this process or in a forked one."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
import time
from dataclasses import replace

import pytest

from specviz import equality, jobs, turns
from specviz.decoding import check_fit
from specviz.drafters import create
from specviz.jobs import Job, run
from specviz.memories import MemoryKeeper, Scopes
from specviz.models import registry
from specviz.models.base import InputError, Unsupported
from specviz.models.toy import ToyModel, rhyme_model
from specviz.trace import Check, Finish, Progress, Recording, Step, Trace

JOB = Job(model="toy", prompt="This is the cow", max_new_tokens=40)


def outcome(steps):
    """What a generator returns at its end."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            return done.value


def stored(job: Job) -> list:
    return [e for e in run(job) if not isinstance(e, Progress)]


def test_a_job_decodes_then_runs_the_baseline_then_compares() -> None:
    events = stored(JOB)
    kinds = [(e.role, e.type) for e in events if e.type != "step"]
    assert kinds == [
        ("decoder", "header"), ("decoder", "prefill"), ("decoder", "finish"),
        ("baseline", "header"), ("baseline", "prefill"), ("baseline", "finish"),
        ("decoder", "check"),
    ]  # fmt: skip
    trace = Trace(tuple(events))
    assert trace.run("decoder").tokens == trace.run("baseline").tokens
    assert len(trace.run("decoder").tokens) == 40
    assert len(trace.run("baseline").steps) == 39 > len(trace.run("decoder").steps)
    assert trace.check == Check(equal=True)
    assert trace.run("decoder").header.knobs["levels"] == "123"


def test_a_job_and_its_events_are_plain_picklable_data() -> None:
    memory = MemoryKeeper(JOB)
    events = []
    for event in run(pickle.loads(pickle.dumps(JOB))):
        memory.add(event)
        events.append(pickle.loads(pickle.dumps(event)))
    assert events[-1] == Check(equal=True)
    warm = replace(JOB, memory=pickle.loads(pickle.dumps(memory.snapshot())))
    assert stored(warm)[0].memory_rows == len(memory.snapshot()) > 20


def test_a_warm_memory_changes_the_draft_and_never_the_text() -> None:
    """The second request copies nothing and reads nothing off the prompt: only memory helps."""
    job = replace(JOB, knobs={"copy": "off", "seed": "none", "levels": "1"})
    keeper = MemoryKeeper(job)
    cold = []
    for event in run(job):
        keeper.add(event)
        if not isinstance(event, Progress):
            cold.append(event)
    warm = stored(replace(job, memory=keeper.snapshot()))
    one, two = Trace(tuple(cold)).run(), Trace(tuple(warm)).run()
    assert one.tokens == two.tokens
    assert len(two.steps) < len(one.steps)
    hits = [h for s in two.steps for lk in s.evidence.lookups for h in lk.hits]
    assert any(h.written.step == -2 for h in hits)


def _worker(job: Job, pipe) -> None:
    for event in run(job):
        pipe.send(event)
    pipe.close()


def _forked(job: Job):
    fork = multiprocessing.get_context("fork")
    here, there = fork.Pipe(duplex=False)
    process = fork.Process(target=_worker, args=(job, there))
    process.start()
    there.close()
    return process, here


def _received(pipe):
    while True:
        try:
            yield pipe.recv()
        except EOFError:
            return


def test_a_forked_worker_runs_whole_jobs_and_memory_is_carried_outside() -> None:
    job = replace(JOB, knobs={"copy": "off", "seed": "none"})
    rows, passes = [], []
    for _ in range(3):
        process, pipe = _forked(job)
        keeper, events = MemoryKeeper(job), []
        for event in _received(pipe):
            keeper.add(event)
            events.append(event)
        process.join(10)
        assert process.exitcode == 0 and events[-1] == Check(equal=True)
        job = replace(job, memory=keeper.snapshot())
        rows.append(len(job.memory))
        passes.append(sum(e.role == "decoder" for e in events if isinstance(e, Step)))
    assert passes[1] < passes[0]
    assert rows[0] <= rows[1] <= rows[2]
    direct = MemoryKeeper(replace(job, memory=None))
    for event in run(replace(job, memory=None)):
        direct.add(event)
    assert len(direct.snapshot()) == rows[0]


@pytest.mark.parametrize("where", ["prefill", "decode", "baseline"])
def test_stop_frees_everything_and_keeps_the_partial_trace(where: str) -> None:
    role = "baseline" if where == "baseline" else "decoder"
    recording = Recording()
    stream = run(JOB)
    for event in stream:
        recording.add(event)
        if where == "prefill" and isinstance(event, Progress) and event.stage == "prefill":
            break
        if isinstance(event, Step) and where != "prefill" and event.role == role:
            break
    stream.close()
    recording.stop()
    last = recording.events[-1]
    assert isinstance(last, Finish) and last.reason == "stopped"
    assert last.role == role
    again = stored(JOB)
    assert again[-1] == Check(equal=True)


def test_one_job_decodes_at_a_time_on_a_device() -> None:
    first = run(JOB)
    for event in first:
        if isinstance(event, Step):
            break
    stages: list[str] = []
    steps: list[Step] = []

    def second() -> None:
        for event in run(replace(JOB, baseline=False)):
            if isinstance(event, Progress):
                stages.append(event.stage)
                if event.stage == "queue":
                    waiting.set()
            elif isinstance(event, Step):
                steps.append(event)

    waiting = threading.Event()
    thread = threading.Thread(target=second)
    thread.start()
    assert waiting.wait(5) and not steps
    first.close()
    thread.join(10)
    assert steps and "queue" in stages


def test_a_baseline_is_reused_only_when_it_would_be_the_same() -> None:
    before = tuple(stored(JOB))
    again = stored(replace(JOB, decoder="prompt_lookup", reuse=before))
    base = [e for e in again if e.role == "baseline"]
    assert base[0].reused and base[1:] != []
    assert Trace(tuple(again)).run("baseline").steps[5].seconds == (
        Trace(before).run("baseline").steps[5].seconds
    )
    assert Trace(tuple(again)).check == Check(equal=True)
    other = stored(replace(JOB, prompt="This is the dog", reuse=before))
    assert not next(e for e in other if e.role == "baseline").reused


def test_scopes_never_see_each_other() -> None:
    scopes = Scopes()
    mine, yours = replace(JOB, scope="a"), replace(JOB, scope="b")
    keeper = MemoryKeeper(mine)
    for event in run(mine):
        keeper.add(event)
    scopes.put(mine, keeper.snapshot())
    assert scopes.get(yours) is None
    assert scopes.get(replace(mine, dtype="bfloat16")) is None
    assert len(scopes.get(mine)) == scopes.size("a")[0] > 20 and scopes.size("b") == (0, 0)
    scopes.clear("b")
    assert scopes.get(mine) is not None
    scopes.clear("a")
    assert scopes.get(mine) is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"prompt": "  \n"}, "prompt"),
        ({"decoder": "magic"}, "There is no decoder 'magic': choose one of recap"),
        ({"model": "no-such-model"}, "no-such-model"),
        ({"knobs": {"nodes": 500}}, "nodes cannot be 500: give a whole number from 0 to 96"),
        ({"knobs": {"nodes": "many"}}, "nodes cannot be 'many'"),
        ({"knobs": {"speed": 1}}, "has no knob 'speed'"),
        ({"knobs": {"levels": "321"}}, "give one of 1, 2, 3, 12, 13, 23, 123"),
        ({"max_new_tokens": 0}, "at least 1"),
        ({"max_new_tokens": 10_000}, "ask for at most"),
        ({"prompt": "a" * 9000}, "shorten the prompt"),
    ],
)
def test_bad_input_is_one_sentence_before_any_header(change: dict, sentence: str) -> None:
    seen = []
    with pytest.raises(InputError, match=sentence) as caught:
        for event in run(replace(JOB, **change)):
            seen.append(event)
    assert all(isinstance(e, Progress) for e in seen)
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")


def test_a_model_that_cannot_roll_back_is_refused_with_both_names() -> None:
    model = registry.load("toy")
    poor = type(model)(model.logits, model.pieces, label="recurrent-toy", supports=frozenset())
    with pytest.raises(Unsupported, match=r"recap needs tree.*recurrent-toy"):
        check_fit(poor, create("recap"), poor.encode([]), 4)
    with pytest.raises(Unsupported, match="prompt_lookup needs rollback"):
        check_fit(poor, create("prompt_lookup"), poor.encode([]), 4)


def test_a_decoder_of_another_kind_of_model_is_refused_before_weights_are_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registry, "load", lambda *_, **__: pytest.fail("loaded in vain"))
    with pytest.raises(Unsupported, match=r"smollm2-135m has none.*choose a recurrent-depth"):
        next(run(replace(JOB, model="smollm2-135m", decoder="das")))


def test_a_wrong_text_is_called_wrong_and_a_tie_a_tie() -> None:
    model = registry.load("toy")
    events = stored(replace(JOB, max_new_tokens=10))
    decoder, baseline = Trace(tuple(events)).run("decoder"), Trace(tuple(events)).run("baseline")
    inputs = model.encode(JOB.messages())
    step = decoder.steps[-1]
    wrong = step.model_copy(update={"emitted": (*step.emitted[:-1], 5)})
    liar = replace(decoder, steps=(*decoder.steps[:-1], wrong))
    verdict = outcome(equality.judge(model, inputs, liar, baseline))
    assert verdict.equal is False and verdict.first_difference == 9
    assert verdict.margin > 1 and verdict.ties == 1


class Waiting(ToyModel):
    """A toy whose tokenizer does not come back before it is let go."""

    def __init__(self, error: Exception | None = None) -> None:
        toy = rhyme_model("waiting")
        super().__init__(toy.logits, toy.pieces, label="waiting")
        self.begun, self.let_go, self.error = threading.Event(), threading.Event(), error

    def encode(self, messages):
        self.begun.set()
        assert self.let_go.wait(60)
        if self.error is not None:
            raise self.error
        return super().encode(messages)


def test_a_tokenizer_that_takes_long_gives_signs_of_life_and_can_be_left(known) -> None:
    model = Waiting()
    job = replace(JOB, model=known(model))
    events = run(job)
    assert next(events).stage == "load"
    signs = [next(events) for _ in range(3)]
    assert model.begun.wait(60)
    assert signs == [Progress(stage="encode", done=0, total=0)] * 3
    events.close()
    # The device is free, but the tokenizer has not come back and would disturb the next seconds.
    events = run(JOB)
    assert [next(events) for _ in range(3)] == [Progress(stage="queue", done=0, total=1)] * 3
    model.let_go.set()
    later = [e for e in events if not (isinstance(e, Progress) and e.stage == "queue")]
    assert later[0] == Progress(stage="load", done=0, total=1)
    trace = Trace(tuple(e for e in later if not isinstance(e, Progress)))
    assert trace.check == Check(equal=True)
    assert trace.run("decoder").header.notes == ()
    assert Trace(tuple(stored(job))).check == Check(equal=True)


def test_a_tokenizer_has_its_time_and_what_it_disturbs_afterwards_is_said(
    known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "ENCODE_SECONDS", 0.3)
    model = Waiting()
    with pytest.raises(InputError) as refused:
        stored(replace(JOB, model=known(model)))
    assert str(refused.value) == (
        "The tokenizer of waiting needs more than 0.3 s for this text: give a shorter one, the "
        "part that matters."
    )
    monkeypatch.setattr(jobs, "ENCODE_SECONDS", 3)  # enough for a toy on a busy machine
    disturbed = Trace(tuple(stored(JOB)))
    assert not model.let_go.is_set()
    assert disturbed.run("decoder").header.notes == (
        "The text of an earlier run was still being turned into tokens meanwhile, so this run may "
        "have taken longer than it needs.",
    )
    assert disturbed.check == Check(equal=True)
    model.let_go.set()
    until = time.monotonic() + 60
    while any(left for _, left in turns._turns.values()):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert Trace(tuple(stored(JOB))).run("decoder").header.notes == ()


def test_what_the_tokenizer_refuses_is_raised_to_the_reader(known) -> None:
    model = Waiting(InputError("No."))
    model.let_go.set()
    with pytest.raises(InputError, match=r"^No\.$"):
        stored(replace(JOB, model=known(model)))
