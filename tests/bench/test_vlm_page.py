"""The page about pictures says what was measured, and no more."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent
CROSS = {"rejected_dependent": 6, "rejected_free": 14, "held_dependent": 10, "held_free": 70}
TABLE: dict[str, Any] = {
    "kind": "other", "runs": 24, "tokens": 700, "changed": 120, "undrafted": 3, "cross": CROSS,
    "interval": [0.02, 0.31], "within": 2.5, "rejected_shift": 1.5, "held_shift": 0.25,
    "all_tokens": 0.1714, "base": 0.16, "rejected_rate": 0.3, "held_rate": 0.125,
    "difference": 0.175, "odds_ratio": 3.0,
}  # fmt: skip


def row(part: str, name: str, rate: float, ratio: float | None, **more: Any) -> dict[str, Any]:
    return {
        "suite": "vlm", "part": part, "dtype": "float32", "name": name, "against": "ours",
        "prompts": 12, "tokens": 400, "tokens_per_s": rate, "speedup_decode": ratio,
        "speedup_total": ratio, "spread": [0.5, 1.0, 1.5], "tau": 2.0, "acceptance": 0.5,
        "share": None, "identical": 12, "ties": 0, "mismatches": 0,
        "by_category": {"chart": {"prompts": 12, "speedup_decode": ratio}}, **more,
    }  # fmt: skip


def rows(part: str, cold: float) -> list[dict[str, Any]]:
    return [
        row(part, "ours", 20.0, 1.0, identical=0),
        row(part, "tr_static", 22.0, 1.1),
        row(part, "tr_best_first", 30.0, 1.5),
        row(part, "recap_cold", 20 * cold, cold),
        row(part, "recap_warm", 48.0, 2.4),
    ]


def told(name: str, prompts: int, share: float) -> dict[str, Any]:
    return {
        "prompts": prompts,
        "pictures": 24,
        "shares": {name: 1.0},
        "most": 96,
        "lengths": [12, 32.5, 96],
        "repetition": {"all": share, "by_category": {name: share}},
    }


FOUND: dict[str, Any] = {
    "suite": "vlm", "quick": False, "left_out": {},
    "conditions": {"model": "smol-boards", "digest": "abc", "machine": "M", "device": "cpu",
                   "versions": {"python": "3.11"}, "packed": {"float32": True}},
    "prompts": {"count": 60, "skipped": 0, "tokens": [96, 96], "file": "held-out pictures",
                "sha256": "0123456789abcdef0123"},
    "repetitions": {"template": 3, "off": 3, "ablation": 1},
    "costs": {},
    "rows": [*rows("template", 2.0), *rows("off", 1.4)],
    "sets": {"template": told("chart", 48, 0.3), "off": told("off", 12, 0.025)},
    "paired": [{"name": "no entropy (gamma 0)", "prompts": 18, "passes": [100, 110],
                "tau": [2.2, 2.0], "fewer": 2, "same": 7, "more": 9, "speed": 0.912}],
    "pictures": {"template": [TABLE], "all": [{**TABLE, "interval": None, "difference": None,
                                               "odds_ratio": None}]},
    "right": {"answers": 24, "exact": 19},
    "reported": [{"model": "Qwen/Qwen2.5-VL-7B-Instruct", "decoder": "recap", "speedup": 1.66,
                  "conditions": "A100"}],
}  # fmt: skip


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return load("results_vlm")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def found() -> dict[str, Any]:
    return copy.deepcopy(FOUND)


def test_the_page_tells_the_figures(results: ModuleType, found: dict[str, Any]) -> None:
    page = results.page([found])
    assert "None" not in page and "nan" not in page
    assert "| held-out pictures of the generator | 24 | 48 | 12, 32.5, 96 | 30.0 % |" in page
    assert "| pictures off the template | 24 | 12 | 12, 32.5, 96 | 2.5 % |" in page
    assert "3 repetitions, of which medians are told; transformers' own rows once." in page
    assert "| RECAP, memory of other prompts | 48.0 | 2.40x |" in page
    assert "- Qwen/Qwen2.5-VL-7B-Instruct, `recap`: 1.66x (A100)" in page
    assert "Of 24 answers about held-out pictures 19 are the generator's own to the letter" in page
    assert "96 of 96 answers have the very tokens of our plain loop.\n" in page
    found["rows"][1].update(identical=10, ties=1, mismatches=1)
    assert results.same_tokens(found) == (
        "94 of 96 answers have the very tokens of our plain loop, 1 part from them at a numeric "
        "tie, **1 differ by more than rounding**.\n"
    )


def test_aims_are_told_for_both_sets_and_both_memories(
    results: ModuleType, found: dict[str, Any]
) -> None:
    template, off = "held-out pictures of the generator", "pictures off the template"
    assert results.aims(found).splitlines()[2:] == [
        f"| {template}: RECAP, empty memory, over plain decoding | 2.0x | 2.00x | reached |",
        f"| {template}: RECAP, empty memory, over the better Token Recycling | 1.2x | 1.33x "
        "| reached |",
        f"| {template}: RECAP, memory of others, over plain decoding | 2.0x | 2.40x | reached |",
        f"| {template}: RECAP, memory of others, over the better Token Recycling | 1.2x | 1.60x "
        "| reached |",
        f"| {off}: RECAP, empty memory, over plain decoding | 1.5x | 1.40x | **missed** |",
        f"| {off}: RECAP, empty memory, over the better Token Recycling | 1.2x | 0.93x "
        "| **missed** |",
        f"| {off}: RECAP, memory of others, over plain decoding | 1.5x | 2.40x | reached |",
        f"| {off}: RECAP, memory of others, over the better Token Recycling | 1.2x | 1.60x "
        "| reached |",
    ]


def test_a_generate_that_is_faster_than_our_plain_loop_is_what_has_to_be_beaten(
    results: ModuleType, found: dict[str, Any]
) -> None:
    assert results.over_generate(found) == "", "it was not measured"
    found["rows"] += [row("template", "generate", 25.0, 1.25), row("off", "generate", 19.0, 0.95)]
    told = results.over_generate(found)
    assert told.endswith(
        ": held-out pictures of the generator 1.25x, "
        "over it RECAP with the memory of others 1.92x.\n"
    )
    assert told in results.page([found])


@pytest.mark.parametrize(
    ("passes", "verdict"),
    [
        ([100, 110], "it saves 9.1 % of the passes (100 with it, 110 without, on 18 prompts)"),
        ([100, 100], "it adds nothing (100 with it, 100 without, on 18 prompts)"),
        ([105, 100], "it costs 5.0 % more passes (105 with it, 100 without, on 18 prompts)"),
    ],
)
def test_what_the_entropy_weight_adds(
    passes: list[int], verdict: str, results: ModuleType, found: dict[str, Any]
) -> None:
    found["paired"][0]["passes"] = passes
    assert results.entropy(found) == (
        f"What the entropy weight adds here: {verdict}. Without it 9 prompts need more passes, "
        "7 as many, 2 fewer.\n"
    )


def test_drafts_against_pictures(results: ModuleType, found: dict[str, Any]) -> None:
    assert results.cross(found).splitlines()[2:] == [
        "| held-out pictures of the generator | another picture | 24 | 6, 14 | 10, 70 | 16.0 % "
        "| 30.0 % | 12.5 % | +17.5 (+2.0 to +31.0) | 3.00 | 2.50 |",
        "| both | another picture | 24 | 6, 14 | 10, 70 | 16.0 % | 30.0 % | 12.5 % | – | – "
        "| 2.50 |",
    ]
    assert results.shift(found).splitlines()[2] == (
        "| held-out pictures of the generator | another picture | 17.1 % | 1.50 | 0.25 |"
    )
    assert "This is a correlation" in results.page([found])


def test_a_quick_look_has_no_more_than_it_measured(
    results: ModuleType, found: dict[str, Any]
) -> None:
    found.update(quick=True, paired=[], pictures={}, right={"answers": 0, "exact": 0},
                 repetitions={"template": 1, "off": 1})  # fmt: skip
    page = results.page([found])
    assert "A quick look" in page and "everything once." in page
    for absent in ("One thing changed", "entropy", "Do drafts fail", "to the letter"):
        assert absent not in page


def test_the_page_is_what_the_generator_makes_of_the_committed_figures(
    results: ModuleType,
) -> None:
    assert results.PAGE.read_text("utf-8") == results.page(results.committed()), (
        "run docs/results.py docs/results-vlm.json --write"
    )


def test_results_py_writes_this_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], results: ModuleType
) -> None:
    path = tmp_path / "v.json"
    path.write_text(json.dumps(FOUND))
    sys.path.insert(0, str(ROOT / "docs"))
    assert load("results").main([str(path)]) == 0
    assert capsys.readouterr().out == results.page([FOUND])
