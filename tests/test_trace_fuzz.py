"""Damaged and hostile trace files: refused in one sentence, or good for every view."""

from __future__ import annotations

import copy
import json
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specviz import metrics, player, tracefile
from specviz.audit import audit
from specviz.counterfactual import change as change_of
from specviz.decoding import decode
from specviz.drafters import create
from specviz.drafters.memory import Snapshot
from specviz.jobs import Job, ProbeJob, run
from specviz.models.base import InputError, Inputs, Message
from specviz.models.toy import ToyModel
from specviz.models.toy_signs import sign
from specviz.trace import Header, Prefill, Progress, Step, Trace, TraceError
from specviz.views import card, charts, image_effect, image_strip, rejects, report, steps, terminal


def lines_of(job: Job) -> list[str]:
    return [tracefile.dumps(e) for e in run(job) if not isinstance(e, Progress)]


JOB = Job(model="toy", prompt="This is the house that Jack built. This is the", max_new_tokens=9)
SIGN = Job(model="toy-signs", prompt="What?", max_new_tokens=9, pictures=(sign("red", side=32),))


def probed_lines() -> list[str]:
    """A run about a picture with two probes of it."""
    events = tuple(e for e in run(SIGN) if not isinstance(e, Progress))
    jobs = (ProbeJob(events), ProbeJob(events, "other", 0, sign("blue")))
    probes = [e for job in jobs for e in run(job) if not isinstance(e, Progress)]
    return [tracefile.dumps(e) for e in (*events, *probes)]


BASES = [
    lines_of(JOB),
    lines_of(Job(model="toy", prompt=JOB.prompt, max_new_tokens=7, decoder="prompt_lookup")),
    lines_of(
        Job(
            model="toy-signs", prompt="What now?", pictures=(sign("blue"),), max_new_tokens=5,
            history=(Message("user", "What?", (sign("red"),)), Message("assistant", "Stop.")),
        )
    ),
    probed_lines(),
]  # fmt: skip
# The header of a PNG of 100 000 x 100 000 pixels.
BOMB = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0\1\x86\xa0" * 2 + bytes(9)).decode()
VALUES: list[Any] = [
    None, True, "", "x", "\ud800", "é\u202e</script>${x}", -1, 0, 1, 3, 10**6, 2**31, 2**63,
    10**30, -(10**30), 0.5, -0.0, 1e300, -1e300, 1e-320, [], {}, [0], [[0, 0.0]], {"0": "a"},
    {"-1": "a"}, "decoder", "baseline", "step", "eos", "tie", "memory", "span",
    "AAAA", "AAA", "=", "iVBORw0KGgo=", BOMB,
]  # fmt: skip
TEXTS = ["NaN", "Infinity", "1e999", "[" * 3000, "{", '"', "\x00", "9" * 5000, "\ufeff"]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of everything inside ``value``."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, part in inside:
        found.append((*path, key))
        if isinstance(part, (dict, list)):
            found += places(part, (*path, key))
    return found


def mutate(draw: Callable[[Any], Any], base: int, lines: list[str]) -> None:
    """One change to ``lines``: of a line, or of their order."""
    at = draw(st.integers(0, len(lines) - 1))
    kind = draw(st.sampled_from(["value"] * 5 + ["drop", "drop", "copy", "swap", "lose", "twice",
                                                 "cut", "text"]))  # fmt: skip
    other = draw(st.integers(0, len(lines) - 1))
    if kind == "swap":
        lines[at], lines[other] = lines[other], lines[at]
    elif kind == "lose" and len(lines) > 1:
        del lines[at]
    elif kind == "twice":
        lines.insert(other, lines[at])
    elif kind == "cut":
        lines[at] = lines[at][: draw(st.integers(0, len(lines[at])))]
    elif kind == "text":
        where = draw(st.integers(0, len(lines[at])))
        lines[at] = lines[at][:where] + draw(st.sampled_from(TEXTS)) + lines[at][where + 1 :]
    else:
        try:
            data = json.loads(lines[at])
            path = draw(st.sampled_from(places(data)))
        except (ValueError, RecursionError, TypeError, AttributeError):
            return
        change(draw, data, path, kind)
        lines[at] = json.dumps(data)


def change(draw: Callable[[Any], Any], data: Any, path: tuple[Any, ...], kind: str) -> None:
    parent = data
    for key in path[:-1]:
        parent = parent[key]
    if kind == "drop":
        del parent[path[-1]]
    elif kind == "copy" and isinstance(parent, list):
        parent.append(copy.deepcopy(parent[path[-1]]))
    else:
        # Mostly something of the same kind, which a reader is more likely to take.
        like = [v for v in VALUES if type(v) is type(parent[path[-1]])]
        parent[path[-1]] = draw(st.sampled_from(3 * like + VALUES))


def quick_look(trace: Trace) -> None:
    """Everything that walks through a step's tree."""
    audit(trace)
    player.interesting_step(trace)
    rejects.to_csv(trace)
    run_ = trace.run()
    assert run_ is not None
    list(terminal.steps(run_, trace.pieces))
    for step in run_.steps:
        list(terminal.tree_lines(step, trace.pieces))
    metrics.summary(trace)


def look(trace: Trace) -> None:
    """Everything that a person can be shown of a trace."""
    json.dumps(metrics.summary(trace), allow_nan=False)
    player.script_json(player.payload(trace))
    player.update(trace, "r", 1)
    rejects.table(rejects.rejects(trace))
    steps.to_csv(trace)
    card.card(trace)
    terminal.run_object(trace)
    list(terminal.figures(trace))
    quick_look(trace)
    with suppress(TraceError, InputError):  # what is recorded is not to be trusted to be repeatable
        change_of(trace)
    image_effect.to_csv(trace)
    for probe in trace.probes:
        list(image_effect.lines(trace, probe))
        image_strip.strip(trace, probe).to_json()
    json.dumps([report.plain(group) for group in report.report([("t", trace)])], allow_nan=False)
    for draw in (charts.accepted_per_step, charts.speed, charts.origins, charts.cost,
                 charts.levels):  # fmt: skip
        draw(trace).to_json()


@pytest.mark.parametrize("base", range(len(BASES)))
def test_the_unchanged_files_are_good_for_every_view(base: int) -> None:
    trace = tracefile.parse("\n".join(BASES[base]).encode() + b"\n")
    assert audit(trace) == ()
    look(trace)


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_damaged_file_is_refused_in_a_sentence_or_good_for_every_view(data: Any) -> None:
    base = data.draw(st.integers(0, len(BASES) - 1))
    lines = list(BASES[base])
    for _ in range(data.draw(st.sampled_from([1, 1, 1, 2, 3]))):
        mutate(data.draw, base, lines)
    end = data.draw(st.sampled_from(["\n", ""]))
    raw = ("\n".join(lines) + end).encode("utf-8", "surrogatepass")
    try:
        trace = tracefile.parse(raw)
    except TraceError as error:
        assert str(error).endswith(".") and "\n" not in str(error) and len(str(error)) < 300
        return
    look(trace)


NAMES_A_NODE = {"parent", "walk", "node", "nodes", "candidates"}
STEP = next(i for i, line in enumerate(BASES[0]) if '"walk":[' in line and '"step"' in line)


def test_no_number_of_a_step_can_lead_outside_its_tree() -> None:
    """Every number that names a node, changed to every kind of wrong one."""
    refused = 0
    for path in places(json.loads(BASES[0][STEP])):
        if not NAMES_A_NODE & set(path) or path[-1] == "token":
            continue
        for value in (-2, -1, 0, 1, 10**6):
            data = json.loads(BASES[0][STEP])
            parent = data
            for key in path[:-1]:
                parent = parent[key]
            if type(parent[path[-1]]) is not int or {"top", "pick", "order"} & set(path):
                break
            if "candidates" in path and path[-1] != 3:
                break
            parent[path[-1]] = value
            lines = [*BASES[0][:STEP], json.dumps(data), *BASES[0][STEP + 1 :]]
            try:
                trace = tracefile.parse("\n".join(lines).encode() + b"\n")
            except TraceError:
                refused += 1
            else:
                assert value < 10**6, f"there is no such node, at {path}"
                quick_look(trace)
    assert refused > 100


@pytest.mark.parametrize("long", ["x\\n" * 5000, "{" * 5000])
def test_a_refusal_quotes_little_of_the_file(long: str) -> None:
    for line in (
        f'{{"type":"{long}"}}',
        f'{{"type":"header","trace_schema":"{long}"}}',
        BASES[0][0][:-1] + f',"{long}":1}}',
    ):
        with pytest.raises(TraceError) as caught:
            tracefile.parse(line.encode() + b"\n")
        # One line of a person's terminal or page, whatever the file holds.
        assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


@pytest.mark.parametrize("half", ["\\ud83d", "\\uDE00", "\ud83d"])
def test_half_a_character_is_refused_and_a_whole_one_is_kept(half: str) -> None:
    def header(machine: str) -> bytes:
        line = BASES[0][0].replace('"machine":"', '"machine":"' + machine, 1)
        return line.encode("utf-8", "surrogatepass") + b"\n"

    with pytest.raises(TraceError, match="not JSON"):
        tracefile.parse(header(half))
    for whole in ("\\ud83d\\ude00", "\U0001f600"):
        run_ = tracefile.parse(header(whole)).run()
        assert run_ is not None and run_.header.machine[0] == "\U0001f600"


# Logits without a bottom


def half_forbidden() -> ToyModel:
    """Of twelve tokens five have a probability, the rest none at all."""

    def logits(context: tuple[int, ...]) -> np.ndarray:
        row = np.full(12, -np.inf)
        draw = np.random.default_rng([7, *context[-2:]])
        row[draw.choice(12, 5, replace=False)] = draw.normal(size=5)
        return row

    return ToyModel(logits, [bytes([97 + i]) for i in range(12)], eos_ids=frozenset())


def no_constant(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")


@pytest.mark.parametrize("entropy", ["top", "full"])
def test_tokens_without_a_probability_leave_valid_json_and_a_memory(
    entropy: str, tmp_path: Any
) -> None:
    model = half_forbidden()
    drafter = create("recap", {"entropy": entropy, "seed": "all"})
    events = list(decode(model, Inputs((1, 2, 3, 1, 2)), drafter, 40))
    kept = [e for e in events if isinstance(e, (Prefill, Step))]
    rows = [json.loads(tracefile.dumps(e), parse_constant=no_constant) for e in kept]
    tops = [[logp for _, logp in n["top"]] for row in rows for n in row.get("nodes", ())]
    assert {sum(logp > -100 for logp in top) for top in tops} == {5}
    assert {len(top) for top in tops} == {8} and min(map(min, tops)) > -10_010
    assert [tracefile.loads(tracefile.dumps(e)) for e in kept] == kept
    drafter.snapshot().save(tmp_path / "m.npz")
    again = Snapshot.load(tmp_path / "m.npz")
    warm = create("recap", {"entropy": entropy, "seed": "none", "copy": "off"})
    warm.restore(again, model)
    assert len(again) == len(drafter.snapshot()) == 12
    second = list(decode(model, Inputs((1, 2, 3, 1, 2)), warm, 40))
    assert tokens(second) == tokens(events)
    hits = [h for e in second if isinstance(e, Step) for lk in e.evidence.lookups for h in lk.hits]  # type: ignore
    assert any(h.written.step == -2 for h in hits)
    assert all(0 <= h.entropy <= 1 and 0 <= h.weight <= 1 for h in hits)


def tokens(events: list[Any]) -> list[int]:
    found: list[int] = []
    for event in events:
        if isinstance(event, Prefill):
            found.append(event.token)
        elif isinstance(event, Step):
            found += event.emitted
    return found


def test_a_header_is_the_first_line() -> None:
    assert all(isinstance(tracefile.loads(base[0]), Header) for base in BASES)
