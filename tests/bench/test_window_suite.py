"""The suite for drafter heads, on a tiny random model with a random head."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from specviz import cli
from specviz.bench import window, window_probes, window_texts
from specviz.bench.plan import Part, Plan
from specviz.bench.pool import Pool, figures
from specviz.bench.probed import fits, is_probe
from specviz.bench.prompts import Prompt
from specviz.bench.rows import Row
from specviz.bench.runner import Place, Runner
from specviz.bench.sample import Sample, timing, value
from specviz.bench.window import WindowSuite
from specviz.bench.window_cells import cell, paying
from specviz.bench.window_probes import Told, alone, shift
from specviz.bench.window_rows import SIZES, Rows
from specviz.bench.window_texts import KINDS, long_texts, records
from specviz.bench.window_units import UNITS
from specviz.drafters.window import Window
from specviz.models.base import InputError
from specviz.trace import Trace
from specviz.windows import MODES
from tests.models import tiny
from tests.test_metrics import header, node, prefill, step
from tests.tiny_head import head_folder

TRAINED = 64
CONTEXTS = (500, 900)
TINY = {"CONTEXTS": CONTEXTS, "WINDOW_CONTEXTS": (900,), "MECHANISM_CONTEXTS": (500,)}
SHORT = ["ours", "slot", "slot_12", "full", "recap", "token_recycling"]
CONTEXT = ["ours", *MODES, "recap"]
WINDOWS = ["ours", *(f"window {n}" for n in SIZES)]
MECHANISMS = ["ours", "no_sinks", "no_sinks_abs", "truncated"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A model of 1 000 positions, and a head for it."""
    place = tmp_path_factory.mktemp("model")
    net = tiny.net("llama")
    net.config.max_position_embeddings = 1_000
    net.save_pretrained(place / "tiny")
    tiny.tokenizer().save_pretrained(place / "tiny")
    return str(place / "tiny"), str(head_folder(place / "head", TRAINED))


@pytest.fixture(scope="module")
def runner(folders: tuple[str, str]) -> Runner:
    return Runner(Place(folders[0], "cpu", "float64"))


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink(monkeypatch)


def shrink(patch: pytest.MonkeyPatch) -> None:
    for name, number in TINY.items():
        patch.setattr(window, name, number)
    patch.setattr(window_texts, "TOKENS", 6)
    patch.setattr(window_probes, "POSITIONS", (300, 20_000))
    patch.setattr(window_probes, "SHIFTED", (1_000,))
    patch.setattr(window_probes, "MOST_ROUNDS", 3)
    # 300 entries of 2 heads, 8 channels and 8 bytes, four times, and not 20 000.
    patch.setattr(window_probes, "MOST_BYTES", 2**20)


def plan(folders: tuple[str, str], **more: Any) -> Plan:
    asked = (Prompt("one two three", "words", "a", 8), Prompt("f(x) = f(y)", "code", "b", 7))
    return Plan(folders[0], "cpu", ("float64",), asked, "made here", "0", suite="window",
                head=folders[1], **more)  # fmt: skip


@pytest.fixture(scope="module")
def found(folders: tuple[str, str]) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        measured: dict[str, Any] = value(WindowSuite(plan(folders)).measure())  # type: ignore
    return json.loads(json.dumps(measured))  # type: ignore[no-any-return]


def rows_of(found: dict[str, Any], part: str) -> dict[str, dict[str, Any]]:
    return {r["name"]: r for r in found["rows"] if r["part"] == part}


def test_every_row_gives_the_tokens_of_plain_decoding(found: dict[str, Any]) -> None:
    assert (found["suite"], found["left_out"], found["quick"]) == ("window", {}, False)
    for part, names, prompts in (
        ("short", SHORT, 2), ("context", CONTEXT, 6), ("windows", WINDOWS, 3),
        ("mechanisms", MECHANISMS, 3),
    ):  # fmt: skip
        rows = rows_of(found, part)
        assert list(rows) == names
        for name, row in rows.items():
            assert row["prompts"] == prompts
            compared = 0 if name == "ours" else prompts
            assert (row["identical"], row["ties"], row["mismatches"]) == (compared, 0, 0)
            assert row["speedup_decode"] > 0 and row["speedup_total"] > 0
    assert found["head"]["trained"] == TRAINED and found["head"]["label"] == "head"
    assert found["defaults"] == {"sinks": 4, "window": 64 - 4 - 4 - 1, "depth": 4}
    modes = ["slot", "window_abs", "window_abs", "window_abs", "window_abs"]
    assert found["sizes"] == [
        {"window": n, "mode": mode} for n, mode in zip((32, 64, 120, 246, 500), modes, strict=True)
    ]


def test_every_context_and_kind_has_its_cell(found: dict[str, Any]) -> None:
    cells = found["cells"]
    assert [(t["kind"], t["context"]) for t in found["texts"]] == [
        (kind, context) for context in CONTEXTS for kind in KINDS
    ]
    for text in found["texts"]:
        assert text["tokens"] <= text["context"] - 6 and text["answer"] == 6
    for row in CONTEXT:
        for context in CONTEXTS:
            parts = [cell(cells, "context", row, context, kind) for kind in KINDS]
            whole = cell(cells, "context", row, context)
            assert whole is not None and all(p is not None for p in parts)
            assert [p["prompts"] for p in parts if p] == [1, 1, 1]
            assert (whole["prompts"], whole["tokens"]) == (3, sum(p["tokens"] for p in parts if p))
            assert whole["tokens"] == 18
            assert whole["identical"] == (0 if row == "ours" else 3)
    both = rows_of(found, "context")["slot"]
    tokens = [cell(cells, "context", "slot", c) for c in CONTEXTS]
    steps = [15 / c["tau"] for c in tokens if c]  # of six tokens the first came with the prompt
    assert both["tau"] == pytest.approx(30 / sum(steps), abs=1e-3)
    assert both["draft_ms"] > 0 and both["verify_ms"] > 0
    assert cell(cells, "context", "slot", 77) is None
    assert {c["context"] for c in cells if c["part"] == "windows"} == {900}
    assert {c["context"] for c in cells if c["part"] == "mechanisms"} == {500}


def test_the_head_alone_behind_faked_positions(found: dict[str, Any]) -> None:
    told = {(a["mode"], a["positions"]): a for a in found["alone"]}
    assert list(told) == [(mode, n) for n in (300, 20_000) for mode in MODES]
    row = 2 * 2 * 8 * 8  # keys and values of 2 heads, 8 channels, 8 bytes
    for (mode, positions), unit in told.items():
        bounded = mode not in ("full", "reindex_only")
        if bounded:  # 4 sinks and a window of 55
            assert (unit["entries"], unit["bytes"]) == (59, 59 * row)
        elif positions == 300:  # and five rounds of two tokens
            assert (unit["entries"], unit["bytes"]) == (300, 310 * row)
        else:
            assert (unit["entries"], unit["bytes"]) == (20_000, 20_000 * row)
        measured = bounded or positions == 300
        assert (unit["seconds"] is not None) == measured
        assert (unit["rounds"], unit["guesses"]) == ((3, 16) if measured else (0, 0))


def test_the_shift_lemma_in_numbers(runner: Runner, folders: tuple[str, str]) -> None:
    for positions in (1_000, 2_000_000):
        gaps = shift(runner, Rows(folders[1], TRAINED), positions)
        assert gaps.positions == positions
        assert gaps.moved < 1e-8 < 1e-3 < gaps.sinks
        assert 0 < gaps.ways < 1e-8 and gaps.largest > 0.1
        assert gaps.moved < gaps.single < 1e-3


def test_a_faked_draft_is_as_large_as_drafts_get(
    runner: Runner, folders: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    contexts: list[int] = []
    propose = Window.propose

    def watched(self: Window, context: Any, budget: int) -> Any:
        contexts.append(len(context))
        draft = propose(self, context, budget)
        seen = self.observe(draft, window_probes.NOTHING, ())
        assert seen is not None
        # Four offers, and four more behind the best four of each of three levels.
        assert (seen.levels, seen.considered) == ((1, 4) if budget == 2 else (4, 4 + 3 * 16))
        return draft

    monkeypatch.setattr(Window, "propose", watched)
    monkeypatch.setattr(window_probes, "CHUNK", 128)
    unit = alone(runner, Rows(folders[1], TRAINED), "full", 300)
    assert contexts == [129, 257, 301, 303, 305, 307, 309, 311]
    assert unit.guesses == 16
    contexts.clear()
    alone(runner, Rows(folders[1], TRAINED), "slot", 300)
    assert contexts[0] == 301


def test_a_text_that_is_only_told() -> None:
    text = Told(10, 30)
    assert (len(text), text[0], text[3], text[-1], text[9]) == (10, 0, 21, 3, 3)
    assert text[7:99] == [19, 26, 3]
    with pytest.raises(IndexError):
        text[10]


def test_how_far_a_head_that_sees_everything_pays() -> None:
    place = {"part": "context", "kind": "all"}
    cells = [
        {**place, "context": 500, "row": "slot", "tau": 9.0, "verify_ms": 1.0},
        {**place, "context": 900, "row": "slot", "tau": 2.0, "verify_ms": 50.0},
        {**place, "context": 900, "row": "ours", "ms_per_token": 40.0},
    ]
    timed = [
        {"mode": mode, "positions": n, "seconds": s}
        for n, s in ((1_000, 0.01), (4_000, 0.04), (9_000, None))
        for mode in ("slot", "full")
    ]
    assert paying(cells, timed) == {
        "context": 900, "budget_ms": 30.0, "positions": 3_000, "reached": 4_000,
    }  # fmt: skip
    cells[1]["tau"] = 3.0
    assert paying(cells, timed) == {
        "context": 900, "budget_ms": 70.0, "positions": None, "reached": 4_000,
    }  # fmt: skip
    cells[1]["tau"] = 1.0
    assert paying(cells, timed) == {
        "context": 900, "budget_ms": -10.0, "positions": None, "reached": 4_000,
    }  # fmt: skip
    cells[1]["tau"] = 1.4
    assert paying(cells, timed)["positions"] == 1_000  # type: ignore[index]
    assert paying(cells[:1], timed) is None and paying(cells, []) is None


def characters(prompt: Prompt) -> int:
    return len(prompt.text)


def test_texts_end_alike_and_fill_their_context() -> None:
    texts, missing = long_texts(characters, 9_000, (600, 2_000, 8_000, 10_000))
    assert missing == ("The context ends at 9000 tokens, before 10000.",)
    by = {(t.kind, t.context): t for t in texts}
    assert list(by) == [(k, c) for c in (600, 2_000, 8_000) for k in KINDS]
    for (kind, context), text in by.items():
        assert text.length == len(text.prompt.text) <= context - 6
        assert text.length >= context - 6 - 250  # one more record would be too many
        body = text.prompt.text
        longer = by[kind, 8_000].prompt.text
        if kind == "records":
            assert "about Mirelle" in body or "Repeat the whole entry" in body
        else:
            assert longer.endswith(body[-300:])
    assert "\nCHAPTER 134" not in by["book", 2_000].prompt.text
    assert by["book", 600].sha256 != by["book", 2_000].sha256
    assert long_texts(characters, 10**6, (900_000,))[1] == tuple(
        f"No text of the kind {kind} fills 900000 tokens here." for kind in KINDS
    )


def test_the_record_that_is_asked_for_is_in_the_middle_and_alone() -> None:
    for count in (1, 2, 9, 40):
        entries, middle, name = records(count)
        assert len(entries) == count and middle == (count - 1) // 2
        assert [i for i, e in enumerate(entries) if e.startswith(name)] == [middle]
    assert records(40)[0][-3:] == records(9)[0][-3:]
    assert records(40)[2] == records(9)[2]


def test_rows_that_the_head_cannot_do_are_refused_before_anything_is_measured(
    folders: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runner, "unit", None)
    head = str(head_folder(tmp_path / "short", 8))
    suite = WindowSuite(plan((folders[0], head)))
    with pytest.raises(InputError, match="leave no room for a window in the 8 positions that"):
        value(suite.measure())  # type: ignore[arg-type]


def test_an_interrupted_measurement_goes_on_where_it_stopped(
    folders: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    whole = Runner.unit

    def unit(self: Runner, part: str, rows: Any, prompt: Prompt, check: bool) -> Any:
        if len(asked) == 3:
            raise KeyboardInterrupt
        asked.append(f"{part}/{prompt.id}")
        return whole(self, part, rows, prompt, check)

    output = tmp_path / "w.json"
    monkeypatch.setattr(Runner, "unit", unit)
    with pytest.raises(KeyboardInterrupt):
        value(WindowSuite(plan(folders, headline=True, output=output)).measure())  # type: ignore
    assert asked == ["short/a", "short/b", "short/a"]
    asked.clear()
    monkeypatch.setattr(Runner, "unit", whole)
    again = WindowSuite(plan(folders, headline=True, resume=True, output=output))
    found: dict[str, Any] = value(again.measure())  # type: ignore[arg-type]
    assert again.ledger.again == 0
    assert {r["part"] for r in found["rows"]} == {"short"}
    assert found["repetitions"] == {"short": 3} and found["cells"] == []
    assert found["alone"] == found["shift"] == [] and found["paying"] is None
    # Another head is another measurement.
    other = str(head_folder(tmp_path / "other", TRAINED, seed=6))
    suite = WindowSuite(plan((folders[0], other), headline=True, resume=True, output=output))
    with pytest.raises(InputError, match="measured with another head"):
        value(suite.measure())  # type: ignore[arg-type]


UNIT: dict[str, dict[str, Any]] = {
    "alone/slot/4000": {"positions": 4000, "entries": 60, "bytes": 2**33, "seconds": 0.1,
                         "rounds": 3, "guesses": 16},
    "shift/9": {"positions": 9, "largest": 1.0, "moved": 0.0, "single": 1e-6, "sinks": 2.0,
                "ways": 0.0},
}  # fmt: skip
DAMAGE: list[tuple[str, Callable[[Any], object]]] = [
    ("alone/slot/4000", lambda u: u.update(seconds=-1)),
    ("alone/slot/4000", lambda u: u.update(entries=1.5)),
    ("alone/slot/4000", lambda u: u.pop("guesses")),
    ("shift/9", lambda u: u.update(moved=float("inf"))),
    ("shift/9", lambda u: u.update(more=1)),
]


def test_a_kept_answer_that_cannot_have_been_measured_does_not_fit() -> None:
    assert {key.partition("/")[0] for key in UNIT} == set(UNITS)
    for key, unit in UNIT.items():
        assert is_probe(UNITS, key) and fits(UNITS, key, unit), key
    for key, damage in DAMAGE:
        broken = copy.deepcopy(UNIT[key])
        damage(broken)
        assert not fits(UNITS, key, broken), (key, broken)


def test_the_time_that_is_left_counts_the_reading() -> None:
    rows = Rows("", 256).short()
    short = Part("short", "float32", rows, (), 1)
    assert short.weight(Prompt("x" * 400, tokens=64)) == len(rows) * (64 + 10)


def test_first_guesses_are_counted() -> None:
    branches = [node(0, -1, 1), node(1, 0, 9), node(2, 0, 9), node(3, 1, 9)]
    events = (
        header("decoder", "window"),
        prefill("decoder"),
        step(0, branches, (1, 3), (1, 3, 9), 1),  # the foremost guess, and another behind it
        step(1, branches, (2,), (2, 9), 1),  # the second best
        step(2, branches, (), (7,), 2),  # none
        step(3, [node(0, -1, 1)], (), (1,), 4),  # nothing was guessed
    )
    run = Trace(events).run()
    assert run is not None
    spent = timing(run, None)
    assert (spent.drafted, spent.top_right, spent.any_right) == (3, 1, 2)
    row = Row("slot", "window")
    pool = Pool([Sample("short", "float32", "slot", "a", spent)])
    found = figures(pool, row, (Prompt("?", "words", "a", 9),))
    assert (found["drafted"], found["top_right"], found["any_right"]) == (0.75, 0.3333, 0.6667)
    assert (found["draft_ms"], found["verify_ms"]) == (500, 1000)  # a quarter and half of 8 s


def test_quick_from_the_command_line(
    folders: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = tmp_path / "p.jsonl"
    prompts.write_text(json.dumps({"prompt": "one two three", "category": "words"}) + "\n")
    arguments = ["--model", folders[0], "--knob", f"head={folders[1]}", "--dtype", "float64",
                 "--prompts", str(prompts), "--quick", "--max-new-tokens", "5"]  # fmt: skip
    assert cli.main(["bench", "--suite", "window", *arguments]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert [(r["part"], r["name"], r["tokens"]) for r in found["rows"]] == [
        *(("short", name, 5) for name in SHORT),
        *(("context", name, 30) for name in CONTEXT),
    ]
    assert {a["positions"] for a in found["alone"]} == {300}
    assert "contexts of all lengths (float64): 0 of 6" in told.err
    assert "the head alone on faked contexts (float64): 0 of 5" in told.err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--model", "toy"],
         "The suite window looks at drafter heads, which read a target's states, and toy does not "
         "show them: choose a transformers model, such as smollm2-135m."),
        (["--model", "toy", "--dtype", "float32", "--dtype", "bfloat16"],
         "The suite window measures one number format: give --dtype once."),
        (["--model", "toy", "--knob", "sinks=2"],
         "A suite has its own decoders and knobs: leave out --decoder and --knob (but for --knob "
         "head=… with the suite window), or leave out --suite."),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_said(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", "--suite", "window", *arguments]) == 2
    assert capsys.readouterr().err == sentence + "\n"
