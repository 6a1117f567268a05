"""The arithmetic of the bench, on samples made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from specviz.bench.ledger import Ledger
from specviz.bench.plan import Plan, budgeted, identity
from specviz.bench.pool import Pool, figures, typical
from specviz.bench.prompts import (
    Prompt,
    first_of_each,
    halves,
    read_prompts,
    repeated,
    repetition,
    shares,
    spread_over,
)
from specviz.bench.rows import ABLATIONS, HEADLINE, Row, interleaved, rotated
from specviz.bench.sample import Sample, Timing, timing
from specviz.models.base import InputError
from specviz.trace import Costs, Finish, Header, Node, Prefill, Run, Seconds, Step

PROMPTS = tuple(
    Prompt(f"text {name}", name[0], name) for name in ("a1", "a2", "a3", "a4", "b1", "b2", "c1")
)


def spent(prefill: float, decode: float, tokens: int = 11, **more: float) -> Timing:
    return Timing(tokens=tokens, first=1, prefill=prefill, decode=decode, **more)  # type: ignore


def sample(row: str, prompt: str, timing: Timing, equal: object = None) -> Sample:
    return Sample("headline", "float32", row, prompt, timing, equal)  # type: ignore[arg-type]


def test_seconds_are_medians_over_repetitions_and_counts_are_those_of_the_first() -> None:
    found = typical([spent(1, 9, passes=4), spent(3, 5, passes=5), spent(2, 6, passes=5)])
    assert (found.prefill, found.decode, found.tokens, found.passes) == (2, 6, 11, 4)


def test_rates_are_all_tokens_over_all_seconds_and_ratios_stay_inside_the_run() -> None:
    plain = Row("ours", "autoregressive")
    fast = Row("fast", "recap")
    pool = Pool([
        sample("ours", "a1", spent(1, 10)),
        sample("ours", "a1", spent(1, 12)),
        sample("ours", "a1", spent(1, 90)),  # a busy moment
        sample("ours", "b1", spent(2, 20, 41)),
        sample("fast", "a1", spent(1, 4, passes=5, rows=20, cost=6, accepted=5, tested=8), True),
        sample("fast", "b1", spent(3, 16, 41, passes=15, rows=80, cost=24, draft=2, verify=12,
                                   commit=1, accepted=25, tested=32), "tie"),
    ])  # fmt: skip
    base, found = (figures(pool, row, PROMPTS) for row in (plain, fast))
    assert base["tokens_per_s"] == pytest.approx(50 / 32, abs=1e-4)
    assert found["tokens_per_s"] == pytest.approx(50 / 20, abs=1e-4)
    assert found["ms_per_token"] == pytest.approx(400)
    assert found["tokens_per_s_total"] == pytest.approx(52 / 24, abs=1e-4)
    assert found["speedup_decode"] == pytest.approx(32 / 20)
    assert found["speedup_total"] == pytest.approx((52 / 24) / (52 / 35), abs=1e-4)
    assert found["spread"] == [1.25, 2.125, 3.0]
    assert found["prefill_seconds"] == 2.0
    assert (found["tau"], found["acceptance"]) == (2.5, 0.75)
    assert (found["rows_per_pass"], found["cost_per_pass"]) == (5.0, 1.5)
    assert found["ceiling"] == pytest.approx(2.5 / 1.5, abs=1e-4)
    assert found["share"] == {"draft": 0.1, "verify": 0.6, "commit": 0.05, "rest": 0.25}
    assert (found["identical"], found["ties"], found["mismatches"]) == (1, 1, 0)
    assert found["by_category"]["b"] == {
        "prompts": 1, "tokens_per_s": 2.5, "speedup_decode": 1.25, "tau": 2.6667,
    }  # fmt: skip
    assert {k: v["tau"] for k, v in found["by_length"].items()} == {"up to 32": 2.0,
                                                                   "33 to 64": 2.6667}  # fmt: skip


def test_what_a_peer_emits_while_it_reads_the_prompt_is_not_decoding() -> None:
    peer = Row("hf_prompt_lookup", lookup=10)
    early = Timing(tokens=11, first=5, prefill=1, decode=3)
    found = figures(Pool([sample("hf_prompt_lookup", "a1", early)]), peer, PROMPTS)
    assert (found["tokens_per_s"], found["tokens_per_s_total"]) == (2.0, 2.75)
    assert found["tau"] is found["share"] is found["speedup_decode"] is None


def test_a_recorded_run_is_timed_by_its_steps() -> None:
    def node(token: int, parent: int) -> Node:
        return Node(token=token, parent=parent, source="x", order=0, score=None, logp=None,
                    pick=7, margin=1, top=((7, 0.0),), tail=0)  # fmt: skip

    header = Header(run="r", decoder="d", knobs={}, model="m", digest="0", device="cpu",
                    dtype="float32", machine="x", versions={}, messages=(), tokens=(1,),
                    eos_ids=(), max_new_tokens=9, vocab_size=9)  # fmt: skip
    steps = tuple(
        Step(index=i, nodes=tuple(node(7, p) for p in range(-1, n - 1)), walk=walk,
             emitted=(7,) * (len(walk) + 1), cache_length=i,
             seconds=Seconds(draft=0.1, verify=0.5, commit=0.2, total=1.0))
        for i, (n, walk) in enumerate([(3, (1,)), (5, (1, 2)), (1, ())])
    )  # fmt: skip
    run = Run(header, Prefill(seconds=4, token=7, margin=0, top=()), steps,
              Finish(reason="length", tokens=7, seconds=7))  # fmt: skip
    costs = Costs(context=128, rows=(1, 3, 5), seconds=(0.5, 1.0, 2.0))
    assert timing(run, costs) == Timing(
        tokens=7, first=1, prefill=4, decode=3, draft=pytest.approx(0.3),
        verify=1.5, commit=pytest.approx(0.6), passes=3, rows=9, cost=7.0, accepted=3, tested=5,
        drafted=2, top_right=2, any_right=2,
    )  # fmt: skip
    assert timing(run, None).cost == 0


def test_no_row_has_a_place_of_its_own() -> None:
    names = ("a", "b", "c")
    assert rotated(names, 0, 0) == ("a", "b", "c")
    assert rotated(names, 1, 0) == ("b", "c", "a")
    assert rotated(names, 0, 1) == ("a", "c", "b")
    for repetition_ in range(2):
        places = [[rotated(HEADLINE, p, repetition_).index(r) for p in range(8)] for r in HEADLINE]
        assert all(sorted(place) == list(range(8)) for place in places)


def test_the_rule_runs_between_its_exceptions() -> None:
    order = [row.name for row in interleaved(ABLATIONS, ABLATIONS[0], every=6)]
    assert len(ABLATIONS) == 23
    assert [i for i, name in enumerate(order) if name == "recap_cold"] == [0, 7, 14, 21, 26]
    assert sorted({*order}) == sorted(row.name for row in ABLATIONS)


def test_halves_alternate_inside_every_category() -> None:
    found = halves(PROMPTS)
    assert found == {"a1": 0, "a2": 1, "a3": 0, "a4": 1, "b1": 1, "b2": 0, "c1": 0}


def test_samples_of_prompts() -> None:
    assert [p.id for p in first_of_each(PROMPTS, 2)] == ["a1", "a2", "b1", "b2", "c1"]
    assert [p.id for p in spread_over(PROMPTS, 5)] == ["a1", "b1", "c1", "a2", "b2"]
    assert shares(PROMPTS) == {"a": 0.5714, "b": 0.2857, "c": 0.1429}
    asked = budgeted((replace(PROMPTS[0], tokens=160), PROMPTS[1]), None, quick=False)
    assert [p.tokens for p in asked] == [160, 96]
    assert [p.tokens for p in budgeted(asked, None, quick=True)] == [48, 48]
    assert [p.tokens for p in budgeted(asked, 20, quick=True)] == [20, 20]


def test_repetition_counts_four_grams_that_occurred_before() -> None:
    # Windows of the answer: 1234 (in the prompt), 2349, 3499, 4999, 9999, 9999 (overlapping).
    assert repeated((1, 2, 3, 4), (1, 2, 3, 4, 9, 9, 9, 9, 9)) == (2, 6)
    assert repeated((1, 2, 3), (4, 5, 6)) == (0, 0)
    # A window that begins in the prompt is not the answer's, but counts as seen.
    assert repeated((5, 1), (2, 3, 4, 1, 2, 3, 4)) == (1, 4)
    counts = {"a1": (2, 6), "a2": (1, 4), "b1": (0, 0)}
    assert repetition(PROMPTS, counts) == {"all": 0.3, "by_category": {"a": 0.3, "b": None,
                                                                      "c": None}}  # fmt: skip


def test_both_shapes_of_prompt_files(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(
        '{"prompt": "x", "tokens": 64, "id": "one", "category": "k"}\n\n'
        '{"question_id": 81, "category": "qa", "turns": ["first", "second"]}\n'
    )
    assert read_prompts(path) == (Prompt("x", "k", "one", 64), Prompt("first", "qa", "81"))
    path.write_text('{"prompt": "x", "id": 1}\n{"prompt": "y", "id": 1}\n')
    assert [p.id for p in read_prompts(path)] == ["1:1", "2:1"]


@pytest.mark.parametrize(
    "line",
    ["[]", "1", "{", '{"turns": []}', '{"turns": 3}', '{"prompt": 1}', '{"turns": [2]}',
     '{"prompt": "x", "tokens": 0}', '{"prompt": "x", "tokens": true}',
     '{"prompt": "x", "category": 3}'],
)  # fmt: skip
def test_other_shapes_are_refused_with_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"prompt": "x"}}\n{line}\n')
    with pytest.raises(InputError, match=r"^Line 2 of p.jsonl is not a JSON object with the key "):
        read_prompts(path)


@pytest.mark.parametrize(
    "line",
    [r'{"prompt": "a\ud800"}', r'{"turns": ["\udc00"]}', r'{"prompt": "x", "category": "\udfff"}',
     r'{"prompt": "x", "id": "\ud83d"}'],
)  # fmt: skip
def test_half_a_character_is_refused_with_the_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(r'{"prompt": "\ud83d\ude00"}' + f"\n{line}\n")
    with pytest.raises(InputError) as error:
        read_prompts(path)
    assert str(error.value) == "Line 2 of p.jsonl holds half a character: write it anew."


def test_a_folder_without_a_name_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (".", "/"):
        with pytest.raises(InputError) as error:
            read_prompts(path)
        assert str(error.value) == f'"{path}" is a folder: choose a file with prompts.'


def test_the_shipped_prompts_are_six_kinds_of_four() -> None:
    prompts = read_prompts()
    assert shares(prompts) == dict.fromkeys(
        ("chat", "reasoning", "code", "summarising", "retrieval", "list"), 0.1667
    )
    assert len(prompts) == len({p.text for p in prompts}) == 24
    assert sorted(p.tokens or 0 for p in prompts) == [64] * 21 + [96, 96, 160]


def test_an_interrupted_measurement_is_gone_on_with(tmp_path: Path) -> None:
    result = tmp_path / "r.json"
    first = Ledger(result, {"machine": "x", "model": "m"}, resume=False)
    assert first.path == tmp_path / "r.json.partial.jsonl"
    first.add("a", {"n": 1})
    first.add("b", {"n": 2})
    with first.path.open("a") as stream:
        stream.write('{"key": "c", "un')  # the plug was pulled here
    again = Ledger(result, {"machine": "x", "model": "m"}, resume=True)
    assert again.units == {"a": {"n": 1}, "b": {"n": 2}}
    again.add("c", {"n": 3})
    lines = [json.loads(line) for line in first.path.read_text().splitlines()]
    assert [line.get("key") for line in lines] == [None, "a", "b", "c"]
    with pytest.raises(InputError) as error:
        Ledger(result, {"machine": "y", "model": "n"}, resume=True)
    assert str(error.value) == (
        "r.json.partial.jsonl was measured with another machine and another model: "
        "delete it to begin anew."
    )
    assert len(first.path.read_text().splitlines()) == 4, "a refusal leaves the file alone"
    first.path.write_text("nothing\n")
    with pytest.raises(
        InputError, match=r"^r\.json\.partial\.jsonl holds no interrupted measurement"
    ):
        Ledger(result, {}, resume=True)
    with pytest.raises(InputError) as error:
        Ledger(result, {}, resume=False)
    assert str(error.value) == (
        "r.json.partial.jsonl holds an interrupted measurement: add --resume to go on with it, or "
        "delete it."
    )
    assert first.path.read_text() == "nothing\n"
    again.remove()
    assert Ledger(result, {"machine": "y"}, resume=True).units == {}
    again.remove()
    assert list(tmp_path.iterdir()) == []


def test_what_has_to_agree_before_going_on(monkeypatch: pytest.MonkeyPatch) -> None:
    header = Header(run="r", decoder="d", knobs={}, model="m", digest="0", device="cpu",
                    dtype="float32", machine="x", versions={"torch": "2"}, messages=(),
                    tokens=(1,), eos_ids=(), max_new_tokens=9, vocab_size=9)  # fmt: skip
    plan = Plan("m", "cpu", ("float32",), PROMPTS, "p.jsonl", "abc")
    base = identity(plan, PROMPTS, header)
    for other in (
        identity(replace(plan, quick=True), PROMPTS, header),
        identity(replace(plan, headline=True), PROMPTS, header),
        identity(replace(plan, dtypes=("bfloat16",)), PROMPTS, header),
        identity(replace(plan, sha256="d"), PROMPTS, header),
        identity(plan, budgeted(PROMPTS, 5, False), header),
        identity(plan, PROMPTS[1:], header),
        *(
            identity(plan, PROMPTS, header.model_copy(update=change))
            for change in (
                {"digest": "1"}, {"machine": "y"}, {"versions": {"torch": "3"}}, {"packed": True},
                {"device": "cuda"}, {"model": "n"},
            )
        ),
    ):  # fmt: skip
        assert other != base
    assert identity(replace(plan, resume=True, output=Path("x")), PROMPTS, header) == base
    monkeypatch.setattr("specviz.bench.plan.code_digest", lambda: "other")
    assert identity(plan, PROMPTS, header) == {**base, "code": "other"} != base
