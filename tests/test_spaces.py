"""What a public page allows, what it asks of a lent GPU, and what it says about its machine."""

from __future__ import annotations

import base64
import inspect
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import gradio as gr
import pytest
from gradio import state_holder

from specviz import cli, jobs, limits
from specviz.catalog import text
from specviz.jobs import Job, ProbeJob
from specviz.limits import Limits
from specviz.models import registry, stored
from specviz.models.base import InputError, Message
from specviz.trace import Event, Finish, Prefill, Progress, Step, Trace
from specviz.ui import device, host, launch_options, quota
from specviz.ui.actions import Actions
from specviz.ui.api import generate
from specviz.ui.device import door
from specviz.ui.form import build_form, model_choices
from specviz.ui.page import build
from specviz.ui.quota import Meter, Pace
from specviz.ui.visit import Desk, Visit
from specviz.ui.whatif import WhatIf

RHYME = Job(model="toy", prompt="This is the cow", max_new_tokens=12)
ONE = replace(RHYME, prompt="This is the house that", max_new_tokens=24)
FORK = multiprocessing.get_context("fork")


# A package like the hub's: it forks for every call, pickles what goes in and out, and of an
# exception in there hands over nothing but the name of its class.


class FakeSpaces(ModuleType):
    def __init__(self) -> None:
        super().__init__("spaces")
        self.tasks: list[Callable[..., Any]] = []
        self.asked: list[float] = []
        self.refuse = ""

    def GPU(self, *, duration: Callable[..., float]) -> Callable[..., Any]:
        def decorator(task: Callable[..., Any]) -> Callable[..., Any]:
            assert inspect.isgeneratorfunction(task), "anything else would be run as a function"
            self.tasks.append(task)

            def lent(*args: Any) -> Iterator[Any]:
                self.asked.append(duration(*args))
                if self.refuse:
                    raise gr.Error(self.refuse)
                yield from self._forked(task, args)

            return lent

        return decorator

    @staticmethod
    def _forked(task: Callable[..., Any], args: tuple[Any, ...]) -> Iterator[Any]:
        here, there = FORK.Pipe(duplex=False)

        def work() -> None:
            try:
                for item in task(*args):
                    there.send(("item", item))
                there.send(("end", None))
            except Exception as error:
                there.send(("failed", type(error).__name__))

        process = FORK.Process(target=work)
        process.start()
        there.close()
        try:
            while True:
                what, value = here.recv()
                if what == "end":
                    return
                if what == "failed":
                    raise gr.Error(value)
                yield value
        finally:
            process.kill()
            process.join()


@pytest.fixture
def spaces(monkeypatch: pytest.MonkeyPatch) -> FakeSpaces:
    """A ZeroGPU Space, as far as the page can tell."""
    fake = FakeSpaces()
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    monkeypatch.setitem(sys.modules, "spaces", fake)
    monkeypatch.setattr(device, "find_spec", lambda name: name)
    return fake


def toy_trace() -> Trace:
    return Trace(tuple(stored_events(jobs.run(ONE))))


def stored_events(events: Iterator[Event]) -> list[Any]:
    return [e for e in events if not isinstance(e, Progress)]


def tokens(events: list[Any]) -> list[int]:
    return [t for e in events if isinstance(e, Step) and e.role == "decoder" for t in e.emitted]


# The lent GPU


def test_elsewhere_nothing_is_wrapped_and_nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "false", "0"):
        monkeypatch.setenv("SPACES_ZERO_GPU", value)
        monkeypatch.setattr(device, "find_spec", lambda name: name)
        assert door(Limits()).meter is None
    with gr.Blocks():
        form, _ = build_form("en", door(Limits()))
    assert form.asks(Visit(), *[c.value for c in form.inputs]) == ""


def test_a_run_through_a_fork_gives_the_events_of_a_run_here(spaces: FakeSpaces) -> None:
    way = door(Limits())
    assert spaces.tasks == [device.lent]
    there, here = stored_events(way.decode(RHYME)), stored_events(jobs.run(RHYME))
    assert tokens(there) == tokens(here) and len(tokens(here)) == 11
    assert [type(e) for e in there] == [type(e) for e in here]
    assert there[-1].equal is True
    assert len(spaces.asked) == 1 and 5 <= spaces.asked[0] <= 30


def test_a_sentence_from_the_worker_arrives_as_it_was_raised(spaces: FakeSpaces) -> None:
    decode = door(Limits()).decode
    job = replace(RHYME, model="tiny-raven", pictures=(), decoder="recap", dtype="float7")
    with pytest.raises(InputError, match=r"^dtype cannot be 'float7': give auto or one of"):
        list(decode(job))
    with pytest.raises(InputError, match=r"^The prompt is empty"):
        list(decode(replace(RHYME, prompt=" ")))
    assert len(spaces.asked) == 1, "what is wrong with the text asks for no GPU"


def test_stop_ends_the_worker(spaces: FakeSpaces) -> None:
    events = door(Limits()).decode(replace(RHYME, max_new_tokens=200))
    assert next(e for e in events if isinstance(e, Step)).index == 0
    events.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []
    after = stored_events(door(Limits()).decode(RHYME))
    assert tokens(after) == tokens(stored_events(jobs.run(RHYME)))
    finishes = [e for e in after if isinstance(e, Finish)]
    assert [(e.role, e.reason) for e in finishes] == [("decoder", "length"), ("baseline", "length")]


def test_a_bug_in_the_worker_is_not_blamed_on_the_lender(
    spaces: FakeSpaces, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(job: Job) -> Iterator[Event]:
        raise KeyError("rows")
        yield

    decode = door(Limits()).decode
    monkeypatch.setattr(jobs, "run", broken)
    with pytest.raises(RuntimeError, match=r"^a worker failed with KeyError; its traceback is in"):
        list(decode(RHYME))
    with pytest.raises(gr.Error) as shown:
        generate(decode)("This is", model="toy", max_new_tokens=4)
    assert shown.value.message == text("ui.error.bug")
    # What a worker writes into its log stays in there: here its generator runs in this process.
    assert list(device.lent(RHYME)) == [device.Bug("KeyError")]
    assert "KeyError: 'rows'" in caplog.text and "in broken" in caplog.text


def test_a_quota_that_is_used_up_is_one_line_without_markup(spaces: FakeSpaces) -> None:
    decode = door(Limits()).decode
    spaces.refuse = 'You have exceeded your free quota. <a href="https://x">Try\nagain</a>'
    with pytest.raises(InputError) as caught:
        list(decode(RHYME))
    assert str(caught.value) == "ZeroGPU ended this: You have exceeded your free quota. Try again"
    with pytest.raises(gr.Error) as shown:
        generate(decode)("This is", model="toy", max_new_tokens=4)
    assert shown.value.message == str(caught.value)


# How many seconds


@pytest.fixture
def meter(monkeypatch: pytest.MonkeyPatch) -> Meter:
    """No weights are in memory, whatever other tests have loaded."""
    monkeypatch.setattr(registry, "is_loaded", lambda label: False)
    return Meter(Limits())


def test_the_seconds_follow_budget_prompt_model_and_baseline(
    meter: Meter, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = Job(model="smollm2-135m", prompt="x" * 300, max_new_tokens=100, baseline=False)
    start = quota.START + quota.LOAD + 70 * 0.03
    assert meter.need(job).seconds == -(-(start + 100 * 0.0002 + 100 * 1.25 * 0.03) // 1) == 26
    assert meter.duration(replace(job, max_new_tokens=500)) == 41
    assert meter.duration(replace(job, baseline=True)) == 30
    assert meter.duration(replace(job, prompt="x" * 60_000)) == 30
    assert meter.duration(replace(job, model="qwen2.5-vl-7b")) == 86
    assert meter.duration(replace(job, decoder="autoregressive")) == 24
    monkeypatch.setattr(registry, "is_loaded", lambda label: True)  # preloaded, then forked
    assert meter.duration(job) == 11


def paced(events: tuple[Any, ...], step: Pace, plain: Pace) -> tuple[Any, ...]:
    """``events`` as if recorded at the given pace, whatever this machine took."""

    def timed(event: Any) -> Any:
        pace = plain if event.role == "baseline" else step
        if isinstance(event, Step):
            parts = {name: pace.step / 3 for name in ("draft", "verify", "commit")}
            return event.model_copy(
                update={"seconds": event.seconds.model_copy(update={**parts, "total": pace.step})}
            )
        if isinstance(event, Prefill):
            return event.model_copy(update={"seconds": pace.token * prompt})
        return event

    prompt = len(events[0].tokens)
    return tuple(map(timed, events))


def test_what_was_seen_here_counts_instead_of_the_guess(meter: Meter) -> None:
    job = Job(model="toy", prompt="This is the cow", max_new_tokens=100, baseline=False)
    before = meter.duration(job)
    events = paced(toy_trace().events, Pace(step=0.004, token=0.001), Pace(0.002, 0.0005))
    assert list(meter.watch(job, iter(events))) == list(events)
    for decoder, step in ((job.decoder, 0.004), ("autoregressive", 0.002)):
        pace = meter._seen[("toy", decoder, "auto")]
        assert (pace.step, pace.token) == (pytest.approx(step), pytest.approx(0.001))
    assert before == 26 > meter.duration(job) == 21
    meter._seen[quota.way(job)] = Pace(step=0.4, token=0.0)
    assert meter.duration(job) == 20 + 50
    meter._seen[quota.way(job, "autoregressive")] = Pace(step=0.04, token=0.0)
    assert meter.duration(replace(job, baseline=True)) == 20 + 55


def test_a_plain_run_says_nothing_of_the_seconds_of_another_decoder(meter: Meter) -> None:
    job = Job(model="toy", prompt="This is the cow", max_new_tokens=100, baseline=False)
    before = meter.need(job)
    for change in ({"decoder": "autoregressive"}, {"dtype": "bfloat16"}):
        meter._seen[quota.way(replace(job, **change))] = Pace(step=0.001, token=0.0)
        assert meter.need(job) == before


def test_a_probe_asks_for_two_readings(meter: Meter) -> None:
    events = toy_trace().events
    run = Trace(events).run("decoder")
    assert run is not None
    meter._seen[("toy", "recap", "auto")] = Pace(step=9.0, token=0.5)
    meter._seen[("toy", "autoregressive", "float32")] = Pace(step=1.0, token=0.25)
    meter._seen[("smollm2-135m", "recap", "auto")] = Pace(step=1.0, token=2.0)
    read = 2 * 1.25 * 0.5 * (len(run.header.tokens) + len(run.tokens))
    assert meter.need(ProbeJob(events)).fixed == pytest.approx(20 + read)
    assert meter.duration(ProbeJob(events)) <= 120
    assert meter.need(ProbeJob(())).seconds == 5


def test_more_than_one_call_may_take_is_refused_with_what_to_lower(meter: Meter) -> None:
    job = Job(model="smollm2-135m", prompt="short", max_new_tokens=5000)
    assert meter.duration(job) == 120
    with pytest.raises(InputError) as caught:
        meter.check(job)
    assert str(caught.value) == (
        "This would need about 398 s of GPU and one call may ask for 120 s: lower max new tokens "
        "to 1305, leave out plain decoding, or choose a smaller model."
    )
    meter.check(replace(job, max_new_tokens=1305))
    with pytest.raises(InputError, match="to 1305"):
        meter.check(replace(job, max_new_tokens=1306))
    meter._seen[quota.way(job)] = Pace(step=0.01, token=5.0)
    long = replace(job, prompt="x" * 600, baseline=False)
    with pytest.raises(InputError, match=r"shorten the prompt, or choose a smaller model\.$"):
        meter.check(long)


def test_what_a_day_allows_stands_beside_run(
    spaces: FakeSpaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "is_loaded", lambda label: False)
    with gr.Blocks():
        form, _ = build_form("en", door(Limits()))
        russian, _ = build_form("ru", door(Limits()))
    values = [c.value for c in form.inputs]
    values[form.inputs.index(form.model)] = "toy"
    for decoder in (Job().decoder, "autoregressive"):
        form.door.meter._seen[("toy", decoder, "auto")] = Pace(step=0.01, token=0.0)
        russian.door.meter._seen[("toy", decoder, "auto")] = Pace(step=0.01, token=0.0)
    first = form.asks(Visit(), *values)
    assert first == (
        "A run asks for 24 s of GPU, which ZeroGPU may count as 36 s. What a day then allows: 3 "
        "such runs without an account, 8 with one, 66 with PRO (2, 5 and 40 minutes). Recorded "
        "runs need none."
    )
    assert russian.asks(Visit(), *values).startswith(
        "Прогон запросит 24 с GPU, ZeroGPU может засчитать их как 36 с."
    )
    values[form.inputs.index(form.tokens)] = 9000
    assert form.asks(Visit(), *values).startswith("This would need about 245 s of GPU")
    with pytest.raises(InputError, match="lower max new tokens to"):
        form.job(Visit(), values)


# The operator's limits


def test_limits_come_from_the_environment() -> None:
    assert limits.from_environment({}) == Limits()
    found = limits.from_environment({"SPACE_ID": "a/b", "SPECVIZ_MAX_PICTURES": " 2 "})
    assert found == Limits(new_tokens=512, prompt_tokens=8192, pictures=2)
    assert limits.from_environment({"SPACE_ID": "a/b", "SPECVIZ_MAX_NEW_TOKENS": "64"}) == Limits(
        new_tokens=64, prompt_tokens=8192
    )


@pytest.mark.parametrize(
    ("name", "value", "range_"),
    [("NEW_TOKENS", "many", "1 on"), ("FILE_MB", "64", "1 to 32"), ("PICTURES", "-1", "0 on"),
     ("GPU_SECONDS", "1.5", "20 to 3600")],
)  # fmt: skip
def test_a_setting_that_cannot_be_is_one_sentence(name: str, value: str, range_: str) -> None:
    with pytest.raises(InputError) as caught:
        limits.from_environment({f"SPECVIZ_MAX_{name}": value})
    assert str(caught.value) == (
        f"SPECVIZ_MAX_{name} cannot be {value!r}: give a whole number from {range_}, or unset it."
    )


def test_the_door_of_the_page_refuses_what_is_too_much() -> None:
    decode = door(Limits(new_tokens=8, prompt_tokens=20)).decode
    assert len(tokens(list(decode(replace(RHYME, max_new_tokens=8))))) == 7
    with pytest.raises(InputError) as caught:
        list(decode(RHYME))
    assert str(caught.value) == (
        "This page allows up to 8 new tokens and 12 were asked for: lower them, or run specviz "
        "yourself."
    )
    long = replace(RHYME, max_new_tokens=8, prompt="This is the cow " * 9)
    with pytest.raises(InputError, match=r"^This page allows prompts of up to 20 tokens and this"):
        list(decode(long))
    assert tokens(stored_events(jobs.run(replace(long, baseline=False)))), "elsewhere it runs"


def test_a_document_is_cut_to_what_the_page_allows() -> None:
    job = Job(model="toy", prompt="Who?", document="This is the cow. " * 60, max_new_tokens=4)
    header = stored_events(door(Limits(prompt_tokens=200)).decode(job))[0]
    assert len(header.tokens) <= 200 and "room for 204 together." in header.notes[-1]
    assert Limits(prompt_tokens=200).room(100, 4, 8192) == 100
    assert Limits(prompt_tokens=200).room(None, 4, 100) is None
    assert Limits().room(None, 4, 8192) is None


def test_page_and_api_say_the_same_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECVIZ_MAX_NEW_TOKENS", "16")
    way = door(limits.from_environment())
    with gr.Blocks():
        form, _ = build_form("en", way)
    assert form.tokens.value == 16
    values = [c.value for c in form.inputs]
    values[form.inputs.index(form.model)] = "toy"
    values[form.inputs.index(form.tokens)] = 17
    with pytest.raises(InputError) as page:
        form.job(Visit(), values)
    with pytest.raises(gr.Error) as call:
        generate(way.decode)("This is", model="toy", max_new_tokens=17)
    assert call.value.message == str(page.value)
    assert str(page.value).startswith("This page allows up to 16 new tokens and 17 were asked for")


def test_a_strangers_recording_cannot_ask_for_more() -> None:
    own = Actions(Desk(), (), door(Limits(new_tokens=4)).decode, None, "en")  # type: ignore[arg-type]
    visit = Visit(shown="a")
    own.desk.publish("a", toy_trace())
    request: Any = type("Request", (), {"session_hash": "s"})()
    handlers = WhatIf(own)
    handlers.begin(visit, "no-level1", "toy", "", request)
    *_, last = handlers.run(visit)
    assert "This page allows up to 4 new tokens" in last[0]


def test_pictures_and_files_have_their_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^This page allows up to 0 pictures in a talk"):
        Limits(pictures=0).check(1, 1)
    assert launch_options()["max_file_size"] == "32mb"
    monkeypatch.setenv("SPECVIZ_MAX_FILE_MB", "1")
    assert launch_options()["max_file_size"] == "1mb"
    small = Limits(file_mb=1)
    with gr.Blocks() as page:
        form, _ = build_form("en", door(small))
    [catcher] = components(page, "pictures-catcher")
    assert "file.size > 1048576)" in catcher.js_on_load
    assert form.pictures.most == 1
    monkeypatch.delenv("SPECVIZ_MAX_FILE_MB")
    call = generate(jobs.run, limits=small)
    fits, over = (base64.b64encode(bytes(n)).decode() for n in (1 << 20, (1 << 20) + 1))
    with pytest.raises(gr.Error, match=r"^'picture 1 "):
        call("?", model="toy-signs", pictures=[fits])
    monkeypatch.setattr(base64, "b64decode", None)  # what is too large is not decoded
    with pytest.raises(gr.Error, match=r"^'Picture 1 is larger than 1 MB: save it smaller first"):
        call("?", model="toy-signs", pictures=[over])


def test_the_command_line_has_no_limits(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPECVIZ_MAX_NEW_TOKENS", "2")
    run = ["run", "--model", "toy", "--prompt", "This is", "--max-new-tokens", "5", "--json"]
    assert cli.main(run) == 0
    assert '"tokens": 5' in capsys.readouterr().out


# What is said


def test_the_list_of_models_says_what_each_can_do_and_whether_it_is_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored, "offline", lambda: False)
    monkeypatch.setattr(stored, "on_disk", lambda repo: repo.endswith("SmolVLM-500M-Instruct"))
    named = {label: name for name, label in model_choices()}
    assert named["smollm2-135m"] == "smollm2-135m · ready"
    assert named["smollm2-135m-hub"] == "smollm2-135m-hub · fetches 269 MB"
    assert named["tiny-raven"] == "tiny-raven · recurrent depth · ready"
    assert named["smolvlm-256m"] == "smolvlm-256m · reads pictures · fetches 0.5 GB"
    assert named["smolvlm-500m"] == "smolvlm-500m · reads pictures · ready"
    assert named["huginn-0125"] == "huginn-0125 · recurrent depth · fetches 15.6 GB"
    monkeypatch.setattr(stored, "offline", lambda: True)
    russian = {label: name for name, label in model_choices("ru")}
    assert russian["smolvlm-256m"] == (
        "smolvlm-256m · читает изображения · нет на диске, скачивание выключено"
    )


def test_without_downloads_a_model_of_the_hub_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(stored, "offline", lambda: True)
    monkeypatch.setattr(stored, "on_disk", lambda repo: False)
    sentence = (
        r"^The weights of smolvlm-256m are not on this disk and downloads are off "
        r"\(HF_HUB_OFFLINE\): choose smollm2-135m, tiny-raven, smol-boards, toy, toy-signs\.$"
    )
    with pytest.raises(InputError, match=sentence):
        list(jobs.run(Job(model="smolvlm-256m", prompt="?")))
    with gr.Blocks():
        form, _ = build_form("en")
    values = [c.value for c in form.inputs]
    values[form.inputs.index(form.model)] = "smolvlm-256m"
    with pytest.raises(InputError, match=sentence):
        form.job(Visit(), values)


def test_weights_are_here_once_all_their_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.json"
    monkeypatch.setattr(stored, "try_to_load_from_cache", lambda repo, name: str(config))
    assert not stored.on_disk("a/b")
    (tmp_path / "model.safetensors").touch()
    assert stored.on_disk("a/b")
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"x": "model.safetensors", "y": "two.safetensors"}}')
    assert not stored.on_disk("a/b")
    (tmp_path / "two.safetensors").touch()
    assert stored.on_disk("a/b")
    index.write_text("{")
    assert not stored.on_disk("a/b")


def test_the_page_says_what_it_runs_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spaces: FakeSpaces
) -> None:
    assert host.hardware_line() == "Runs on a GPU that ZeroGPU lends for each run."
    monkeypatch.delenv("SPACES_ZERO_GPU")
    monkeypatch.setattr(host, "GPUS", tmp_path)
    monkeypatch.setattr(host, "cpu_name", lambda: "Fast One, 2 cores")
    assert host.hardware_line() == (
        "Processor: Fast One, 2 cores; no NVIDIA GPU is available. Small models suit it: "
        "smollm2-135m, tiny-raven, smol-boards."
    )
    without = host.hardware_line()
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / "information").write_text("Model: \t NVIDIA T4\nIRQ: 3\n")
    assert host.hardware_line() == "This machine has a GPU: NVIDIA T4."
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert host.hardware_line() == without


def components(page: gr.Blocks, elem_id: str) -> list[Any]:
    return [b for b in page.blocks.values() if getattr(b, "elem_id", None) == elem_id]


def test_only_a_space_can_be_duplicated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPACE_ID", raising=False)
    assert host.duplicate_link() is None
    monkeypatch.setenv("SPACE_ID", '"><script>/x')
    assert host.duplicate_link() is None
    monkeypatch.setenv("SPACE_ID", "someone/specviz")
    english, russian = components(build(), "duplicate")
    assert 'href="https://huggingface.co/spaces/someone/specviz?duplicate=true"' in (
        english.html_template
    )
    assert "Дублировать этот Space</a>" in russian.html_template


def test_what_is_said_of_privacy_is_what_is_done() -> None:
    page = build()
    assert page.delete_cache == (3600, 86400)
    english, russian = components(page, "privacy")
    assert "the id of a model that you type goes to the Hugging Face Hub" in english.value
    assert "id модели передаётся в Hugging Face Hub" in russian.value
    assert "for up to 25 hours" in english.value and "до 25 ч" in russian.value
    # Gradio keeps the state of a tab that was closed for as long as the page says.
    assert state_holder.SessionState(page).STATE_TTL_WHEN_CLOSED == 3600


def test_a_space_serves_the_page_without_history_statistics_or_a_second_server() -> None:
    options = launch_options()
    assert (options["ssr_mode"], options["run_history"], options["enable_monitoring"]) == (
        False, False, False,
    )  # fmt: skip
    assert options["footer_links"] == ["api", "settings"]
    page = build()
    assert page.analytics_enabled is False
    assert page._queue.max_size == 20
    app = (Path(__file__).parent.parent / "app.py").read_text("utf-8")
    assert app.index("import spaces") < app.index("from specviz import ui")
    assert "page.launch(**options)" in app


def test_a_message_of_a_talk_counts_as_prompt(meter: Meter) -> None:
    job = Job(model="toy", prompt="x" * 30, history=(Message("user", "y" * 60),) * 2)
    assert quota._prompt(job) == 50
    assert quota._prompt(replace(job, limits=Limits(prompt_tokens=7))) == 7
