"""Repeating a recorded run with something changed: the job, the refusals, what is compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from specviz import cli, counterfactual, jobs
from specviz.catalog import strings, text
from specviz.changes import CHANGES
from specviz.compare import compare
from specviz.counterfactual import Outcome, change, offered, reasons, run_counterfactual
from specviz.drafters import DRAFTERS, create
from specviz.jobs import Job
from specviz.memories import MemoryKeeper
from specviz.models.base import InputError
from specviz.models.toy import ToyModel, rhyme_model
from specviz.trace import Costs, Event, Header, Progress, Trace, TraceError, Turn
from specviz.tracefile import load, save
from specviz.views.difference import changes, control_lines, sentences
from tests.fake_depth import deep_rhyme

EXAMPLES = Path(__file__).parent.parent / "examples"
# The discount is pinned: these numbers are not about it.
JOB = Job(
    model="toy", prompt="This is the cow", max_new_tokens=60, baseline=False,
    knobs={"calibration": "none"},
)  # fmt: skip
PASSES, PASSES_WITHOUT = 21, 34
SENTENCE = (
    "With level 1 off: 34 passes instead of 21; "
    "0 of 9 refused positions guessed right, 15 that had been right were lost."
)
COSTS = Costs(context=64, rows=(1, 2, 8, 32, 96), seconds=(1.0, 1.1, 1.3, 2.0, 4.0))


def made(job: Job) -> Trace:
    return Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))


def told(trace: Trace, **changed: Any) -> Trace:
    """``trace`` with another header."""
    first, *rest = trace.events
    return Trace((first.model_copy(update=changed), *rest))


@pytest.fixture(scope="module")
def trace() -> Trace:
    return made(JOB)


def outcome(events: Generator[Event, None, Outcome]) -> tuple[list[Event], Outcome]:
    seen = []
    while True:
        try:
            seen.append(next(events))
        except StopIteration as done:
            return seen, done.value


def test_the_job_of_a_trace_is_the_job_that_made_it() -> None:
    job = replace(JOB, system="Be brief.", costs=COSTS, decoder="token_recycling",
                  knobs={"tree": "best_first"})  # fmt: skip
    first = made(job)
    again = change(first)
    assert (again.prompt, again.system, again.costs) == (job.prompt, "Be brief.", COSTS)
    assert again.knobs.items() >= {"tree": "best_first", "nodes": 0, "rejected": True}.items()
    second = made(again)
    strip = {"seconds"}
    assert [e.model_dump(exclude=strip) for e in second.events] == [
        e.model_dump(exclude=strip) for e in first.events
    ]


def test_a_document_stands_where_it_stood_when_its_run_is_repeated() -> None:
    job = Job(
        model="toy", document="This is the house.\n\nThis is the cat.", prompt="Who is it?",
        max_new_tokens=4, baseline=False,
    )  # fmt: skip
    trace = made(job)
    again = outcome(run_counterfactual(trace, knobs={"nodes": 2}))[1].after
    first, second = trace.events[0], again.events[0]
    assert isinstance(first, Header) and isinstance(second, Header)
    assert first.document == second.document and first.document is not None
    assert first.document[0] == 0 and first.document[1] < len(first.tokens)


def test_the_recorded_costs_keep_the_sizes_of_the_trees() -> None:
    sizes = lambda t: [len(s.nodes) for s in t.run("decoder").steps]  # noqa: E731
    priced = made(replace(JOB, costs=COSTS))
    assert sizes(made(change(priced))) == sizes(priced)
    dear = told(priced, costs=Costs(context=1, rows=(1, 2), seconds=(1.0, 50.0)))
    assert set(sizes(made(change(dear)))) == {1}


def test_a_change_is_repeated_and_told_in_numbers(trace: Trace) -> None:
    seen, found = outcome(run_counterfactual(trace, ("no-level1",)))
    assert (found.names, found.knobs, found.reasons) == (("no-level1",), {}, ())
    assert found.before is trace
    run = found.after.run("decoder")
    assert run is not None and run.header.knobs["levels"] == "23"
    assert [e for e in seen if not isinstance(e, Progress)] == list(found.after.events)
    assert run.tokens == trace.run("decoder").tokens  # type: ignore[union-attr]
    two = found.comparison
    assert two == compare(trace, found.after)
    assert (two.a.passes, two.b.passes) == (PASSES, PASSES_WITHOUT)
    assert two.b.passes - two.a.passes == len(two.lost) - len(two.gained)
    phrase = changes(found.names, found.knobs, found.after)
    assert phrase == "level 1 off"
    assert next(sentences(two, f"With {phrase}")) == SENTENCE


def test_named_changes_and_knobs_add_up(trace: Trace) -> None:
    job = change(trace, ("no-level1", "no-level3", "no-copy"), {"depth": "4"})
    knobs = {k: v for k, v in job.knobs.items() if v != create("recap", JOB.knobs).__dict__[k]}
    assert knobs == {"levels": "2", "copy": "off", "depth": 4}


def refusal(trace: Trace, *names: str, **knobs: Any) -> str:
    with pytest.raises(InputError) as refused:
        change(trace, names, knobs)
    return str(refused.value)


def test_changes_that_contradict_each_other_are_refused(trace: Trace) -> None:
    said = "{} and {} contradict each other: leave one out."
    for pair in (("only-level1", "only-level3"), ("deeper", "shallower"), ("wider", "narrower"),
                 ("learned-discount", "depth-discount"), ("smaller-tree", "larger-tree"),
                 ("no-copy", "reserved-copy")):  # fmt: skip
        first = told(trace, knobs={"width": 4, "calibration": "none"})
        assert refusal(first, *pair) == said.format(*pair)
    assert refusal(trace, "only-level3", "no-level1") == (
        "no-level1 changes nothing beside only-level3: leave one out."
    )
    assert refusal(trace, "deeper", depth="4") == (
        "Nothing is left of deeper beside depth=4: leave one out."
    )
    assert change(trace, ["no-level3", "only-level1"]).knobs["levels"] == "1"
    assert change(trace, ["deeper"], {"depth": 16}).knobs["depth"] == 16


def test_a_fixed_shape_has_no_other_size() -> None:
    first = made(replace(JOB, decoder="token_recycling", knobs={"tree": "best_first"}))
    assert refusal(first, "smaller-tree", "fixed-shape") == (
        "smaller-tree and fixed-shape contradict each other: leave one out."
    )
    assert refusal(first, "fixed-shape", "smaller-tree") == (
        "smaller-tree changes nothing beside fixed-shape: leave one out."
    )


def test_a_head_that_sees_everything_has_no_window(capsys: pytest.CaptureFixture[str]) -> None:
    example = EXAMPLES / "head-2000.jsonl.gz"
    first = load(example)
    said = "{} and {} contradict each other: leave one out."
    for pair in (("half-window", "see-all"), ("no-sinks", "see-all-pressed"),
                 ("true-positions", "see-all"), ("truncated-features", "see-all"),
                 ("see-all", "see-all-pressed")):  # fmt: skip
        assert refusal(first, *pair) == said.format(*pair)
    for name in ("half-window", "no-sinks"):
        assert refusal(first, "see-all", name) == (
            f"{name} changes nothing beside see-all: leave one out."
        )
    assert refusal(first, "half-window", mode="full") == (
        "Nothing is left of half-window beside mode=full: leave one out."
    )
    knobs = change(first, ["half-window", "no-sinks", "true-positions", "deeper"]).knobs
    assert (knobs["sinks"], knobs["mode"], knobs["depth"]) == (0, "window_abs", 8)
    assert knobs["window"] == change(first, ["half-window"]).knobs["window"]
    two = ("--change", "see-all", "--change", "half-window")
    assert cli.main(["whatif", str(example), *two]) == 2
    assert capsys.readouterr().err == (
        "half-window changes nothing beside see-all: leave one out.\n"
    )


def test_the_size_of_a_tree_is_doubled_and_halved_from_the_largest_of_the_run(
    trace: Trace,
) -> None:
    assert max(len(s.nodes) - 1 for s in trace.run("decoder").steps) == 16  # type: ignore[union-attr]
    assert change(trace, ["larger-tree"]).knobs["nodes"] == 32
    assert change(trace, ["smaller-tree"]).knobs["nodes"] == 8
    wide = made(replace(JOB, knobs={"nodes": 96, "least_score": 0.0, "calibration": "none"}))
    assert "larger-tree" not in [c.name for c in offered(wide)]


def test_what_the_run_had_already_is_not_offered_and_refused_in_a_sentence(trace: Trace) -> None:
    names = [c.name for c in offered(trace)]
    assert "wider" not in names and "no-discount" not in names
    assert names[:4] == ["no-level3", "no-level2", "no-level1", "only-level3"]
    with pytest.raises(InputError, match=r"^This run cannot be changed by no-discount, because"):
        change(trace, ["no-discount"])
    with pytest.raises(InputError, match=r"^This run had depth=10 already:"):
        change(trace, knobs={"depth": 10})
    alone = told(trace, knobs={"levels": "1"})
    assert {"no-level1", "only-level1"} & {c.name for c in offered(alone)} == set()
    assert offered(made(replace(JOB, decoder="autoregressive", knobs={}))) == ()


@pytest.mark.parametrize("decoder", [d for d in CHANGES if d != "window"])  # no toy has a head
def test_every_named_change_runs_and_has_its_words(
    decoder: str, known: Callable[[ToyModel], str]
) -> None:
    model = known(deep_rhyme())
    knobs = {"tree": "best_first"} if decoder == "token_recycling" else {}
    first = made(replace(JOB, model=model, decoder=decoder, knobs=knobs, max_new_tokens=24))
    never = {"wider", "best-first", "no-discount" if knobs else ""}
    never |= {"das": {"mature-v"}, "das_wave": {"deep-prefix"}}.get(decoder, set())
    assert {c.name for c in CHANGES[decoder]} - {c.name for c in offered(first)} <= never
    for each in CHANGES[decoder]:
        assert strings()[f"whatif.{each.name}"].endswith("?")
        assert f"whatif.{each.name}.with" in strings()
    for each in offered(first):
        _, found = outcome(run_counterfactual(first, (each.name,)))
        assert found.comparison.parted is None
        assert len(found.comparison.positions) == 24
        assert changes(found.names, {}, found.after)


def test_changes_of_a_wave_stay_within_what_the_model_and_the_block_allow(
    known: Callable[[ToyModel], str],
) -> None:
    job = replace(JOB, model=known(deep_rhyme()), decoder="das_wave", max_new_tokens=24)
    wave = made(replace(job, knobs={"block": 5, "first": 4, "inner": 6}))
    assert change(wave, ["smaller-block"]).knobs["block"] == 2
    assert change(wave, ["smaller-block"]).knobs["first"] == 2
    assert change(wave, ["more-iterations"]).knobs["inner"] == 8
    assert change(wave, ["coupled-no-carry"]).knobs["keys"] == 0
    assert change(wave, ["coupled-no-carry"]).knobs["carry"] is False
    hub = {"model": "owner/name", "trace_schema": 1}
    assert reasons(told(wave, **hub)) == ()
    fitted = {**wave.events[0].knobs, "auto": True}  # type: ignore[union-attr]
    assert reasons(told(wave, **hub, knobs=fitted)) == ("costs",)


def test_every_decoder_that_guesses_can_be_asked() -> None:
    assert set(DRAFTERS) - set(CHANGES) == {"autoregressive"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"decoder": "gone"}, "This trace is of the decoder 'gone', which does not exist here"),
        ({"messages": ()}, "This trace does not hold its prompt as questions of a user and"),
        (
            {"messages": tuple(Turn(role=r, text="x") for r in ("user", "user"))},
            "This trace does not hold its prompt as questions of a user and answers in turn",
        ),
        (
            {"messages": tuple(Turn(role=r, text="x") for r in ("system", "user", "assistant"))},
            "This trace does not hold its prompt as questions of a user and answers in turn",
        ),
        ({"model": "/no/such/folder"}, "The model '/no/such/folder' of this trace is not here"),
    ],
)
def test_what_cannot_be_repeated_is_refused(
    trace: Trace, changed: dict[str, Any], sentence: str
) -> None:
    with pytest.raises((InputError, TraceError)) as refused:
        change(told(trace, **changed))
    assert str(refused.value).startswith(sentence)
    with pytest.raises(TraceError, match=r"^This trace has no steps to repeat"):
        change(Trace(trace.events[:2]))


def test_other_weights_or_another_reading_of_the_prompt_end_the_run_at_its_header(
    trace: Trace, known: Callable[[ToyModel], str]
) -> None:
    for changed, sentence in (
        ({"digest": "0123456789"}, "The weights of toy here"),
        ({"tokens": (5, 6)}, "The prompt of the recording is not the same tokens to toy"),
    ):
        events = run_counterfactual(told(trace, **changed), ("no-level1",))
        seen = []
        with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
            for event in events:
                seen.append(event)
        assert all(isinstance(e, Progress) for e in seen)
    label = known(rhyme_model("gone"))
    assert change(told(trace, model=label)).model == label


def test_a_lasting_memory_is_not_in_the_trace_so_an_empty_one_is_compared_with() -> None:
    keeper = MemoryKeeper(JOB)
    for event in jobs.run(JOB):
        keeper.add(event)
    warm = made(replace(JOB, memory=keeper.snapshot()))
    assert warm.run("decoder").header.memory_rows > 0  # type: ignore[union-attr]
    assert reasons(warm) == ("memory",)
    _, found = outcome(run_counterfactual(warm, ("no-level1",)))
    cold = made(JOB).run("decoder")
    assert cold is not None
    assert found.comparison.a.passes == len(cold.steps) == PASSES
    assert len(warm.run("decoder").steps) < PASSES  # type: ignore[union-attr]
    _, again = outcome(run_counterfactual(warm, ("no-copy",), control=found.before))
    assert again.before is found.before


def test_a_recording_without_costs_or_with_settings_that_are_gone_is_run_again_first(
    trace: Trace,
) -> None:
    hub = {"model": "owner/name", "trace_schema": 1}
    assert reasons(told(trace, **hub)) == ("costs",)
    knobs = trace.events[0].knobs  # type: ignore[union-attr]
    assert reasons(told(trace, **hub, knobs={**knobs, "nodes": 16})) == ()
    assert reasons(told(trace, **hub, costs=COSTS)) == ()
    old = told(trace, knobs={**knobs, "levels": "9", "extra": 1})
    assert reasons(old) == ("knobs",)
    assert change(old).knobs["levels"] == "123"
    assert reasons(told(trace, versions={"specviz": "0.0.0"})) == ("version",)
    for example in ("tea", "lookup"):
        assert change(load(EXAMPLES / f"{example}.jsonl.gz")).model == "smollm2-135m"


def test_half_precision_of_another_machine_is_run_again_here_and_said(trace: Trace) -> None:
    here = trace.events[0]
    half = told(trace, dtype="bfloat16")
    made_jobs = []

    def decode(job: Job) -> Generator[Event, None, None]:
        """As if the toy had been made of halves."""
        made_jobs.append(job.knobs["levels"])
        for event in jobs.run(replace(job, dtype="auto")):
            is_header = event.type == "header"
            yield event.model_copy(update={"dtype": "bfloat16"}) if is_header else event

    def asked(recorded: Trace, control: Trace | None = None) -> Outcome:
        made_jobs.clear()
        events = run_counterfactual(recorded, ("no-level1",), control=control, decode=decode)
        return outcome(events)[1]

    assert asked(half).reasons == () and made_jobs == ["23"]
    versions = {**here.versions, "torch": "0.1"}  # type: ignore[union-attr]
    for elsewhere in ({"machine": "another"}, {"packed": True}, {"versions": versions}):
        other = told(half, **elsewhere)
        found = asked(other)
        assert (found.reasons, made_jobs) == (("machine",), ["23", "123"])
        assert found.before is not other
        assert found.before.run("decoder").header.machine == here.machine  # type: ignore[union-attr]
        assert (found.comparison.a.passes, found.comparison.b.passes) == (PASSES, PASSES_WITHOUT)
        again = asked(other, found.before)
        assert again.before is found.before and made_jobs == ["23"]
    said = list(control_lines(("machine",), half))
    assert said[0].startswith("The recording was made on another machine or with other software,")
    # Single and double precision are compared with the recording itself.
    _, found = outcome(run_counterfactual(told(trace, machine="another"), ("no-level1",)))
    assert found.reasons == ()


@pytest.mark.parametrize("away", [{"device": "cuda:7", "dtype": "float16"}, {"device": "cuda"}])
def test_a_recording_of_a_device_that_is_not_here_is_repeated_on_what_is(
    trace: Trace, away: dict[str, str]
) -> None:
    old = told(trace, **away, costs=COSTS)
    job = change(old, ("no-level1",))
    assert (job.device, job.dtype, job.packed, job.costs) == ("auto", "auto", None, None)
    _, found = outcome(run_counterfactual(old, ("no-level1",)))
    assert found.reasons == ("device",) and found.before is not old
    assert found.before.run("decoder").header.device == "cpu"  # type: ignore[union-attr]
    assert (found.comparison.a.passes, found.comparison.b.passes) == (PASSES, PASSES_WITHOUT)
    (line,) = control_lines(found.reasons, old)
    assert line.startswith(f"The recording was made on {away['device']} in ")


def test_a_device_or_dtype_of_weights_that_is_not_here_counts_as_moved(trace: Trace) -> None:
    header = told(trace, model="smollm2-135m").run("decoder").header  # type: ignore[union-attr]
    for place, there in (
        (("cpu", "float32"), False), (("cpu", "bfloat16"), False), (("cpu", "float16"), True),
        (("cuda:99", "bfloat16"), True), (("tpu", "float32"), True),
    ):  # fmt: skip
        changed = header.model_copy(update=dict(zip(("device", "dtype"), place, strict=True)))
        assert counterfactual.moved(changed) is there, place


# The command line


def run(*arguments: object) -> int:
    return cli.main([str(a) for a in arguments])


@pytest.fixture
def path(trace: Trace, tmp_path: Path) -> Path:
    save(tmp_path / "a.jsonl.gz", trace.events)
    return tmp_path / "a.jsonl.gz"


def test_whatif_saves_the_second_trace_and_compare_says_the_same(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    second = tmp_path / "b.jsonl.gz"
    assert run("whatif", path, "--change", "no-level1", "-o", second) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"recorded: recap, {PASSES} passes, tau ")
    assert lines[1].startswith(f"changed: recap, {PASSES_WITHOUT} passes, tau ")
    assert lines[2] == SENTENCE
    assert lines[-1] == f"trace written to {second}"
    assert any(line.endswith("  lost with level 1 off") for line in lines)
    assert run("compare", path, second, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["a"]["passes"], found["b"]["passes"]) == (PASSES, PASSES_WITHOUT)
    assert found["parted"] is None and found["common_tokens"] == 60
    assert run("whatif", path, "--knob", "levels=23", "--json") == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["changes"], again["knobs"], again["control"]) == ([], {"levels": "23"}, [])
    assert again["lost"] == found["lost"]


def test_whatif_lists_and_tries_everything(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("whatif", path, "--list") == 0
    listed = capsys.readouterr().out.splitlines()
    assert listed[0].split("  ")[0] == "no-level3" and listed[0].endswith("bring?")
    assert run("whatif", path, "--all") == 0
    out = capsys.readouterr().out
    rows = [line.split() for line in out.split("\n\n")[0].splitlines()]
    assert rows[0] == ["change", "passes", "tau", "gained", "lost"]
    assert rows[1][:3] == ["(nothing", "changed)", str(PASSES)]
    assert len(rows) == len(listed) + 2
    assert [int(r[1]) for r in rows[2:]] == sorted(int(r[1]) for r in rows[2:])
    assert ["no-level1", str(PASSES_WITHOUT)] in [r[:2] for r in rows]
    causes = out.split(text("compare.causes"))[1].strip().splitlines()
    assert causes[0].startswith("token ") and "larger-tree" in out.split("\n\n")[1]


def test_trying_everything_makes_one_control_run_and_says_why(
    path: Path,
    tmp_path: Path,
    trace: Trace,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = counterfactual.repeat
    ran: list[bool] = []

    def repeat(trace: Trace, job: Job, *more: Any) -> Any:
        ran.append(job == change(trace))
        return plain(trace, job, *more)

    monkeypatch.setattr(counterfactual, "repeat", repeat)
    old = tmp_path / "old.jsonl.gz"
    save(old, told(trace, versions={"specviz": "0.0.0"}).events)
    assert run("whatif", old, "--all") == 0
    assert (sum(ran), len(ran)) == (1, len(offered(trace)) + 1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == text("whatif.control.version")
    assert lines[2].split() == ["(nothing", "changed)", str(PASSES), *lines[2].split()[3:]]
    assert run("whatif", path, "--all") == 0
    found = capsys.readouterr()
    assert lines[1:] == found.out.splitlines()
    names = [c.name for c in offered(trace)]
    assert found.err.splitlines() == [
        f"change {i} of {len(names)}: {name}" for i, name in enumerate(names, 1)
    ]


def test_compare_says_which_file_is_damaged_or_too_short(
    path: Path, trace: Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty, short = tmp_path / "empty.jsonl", tmp_path / "short.jsonl"
    empty.write_text("")
    save(short, trace.events[:1])
    assert run("compare", path, empty) == 2
    assert capsys.readouterr().err.startswith(f"{empty}: ")
    assert run("compare", short, path) == 2
    assert capsys.readouterr().err.startswith(
        f"The trace {str(short)!r} was cut before its first token"
    )


def test_whatif_refuses_in_one_sentence(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for options, said in (
        ((), text("cli.whatif.nothing")),
        (("--all", "--change", "no-copy"), text("cli.whatif.all_alone")),
        (("--all", "--list"), text("cli.whatif.list_alone")),
        (("--list", "--change", "nix"), text("cli.whatif.list_alone")),
        (("--change", "no-copy", "-o", path), text("cli.whatif.same_file", path=path)),
        (("--change", "x"), "There is no change 'x' for recap; its changes are: no-level3,"),
        (("--knob", "trace=1"), "The decoder recap has no knob 'trace'; its knobs are: "),
        (("--knob", "depth=99"), "depth cannot be 99: give a whole number from 1 to 16."),
    ):
        assert run("whatif", path, *options) == 2
        found = capsys.readouterr()
        assert found.out == "" and found.err.startswith(said)
        assert found.err.count("\n") == 1
