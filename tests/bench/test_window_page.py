"""The page about the suite ``window``, out of figures made by hand."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.window_figures import FOUND

ROOT = Path(__file__).parent.parent.parent


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def results() -> ModuleType:
    return load("results_window")


@pytest.fixture
def told() -> dict[str, Any]:
    return copy.deepcopy(FOUND)


def lines(page: str, start: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith(start)]


def test_the_page_tells_the_figures(results: ModuleType) -> None:
    page = results.page([FOUND])
    assert "None" not in page and "nan" not in page
    assert "the head `tiny-head` (digest abcd, 9,000 weights, trained for 256 positions" in page
    assert lines(page, "| slot | 20.0 ")[0] == (
        "| slot | 20.0 | 1.40x | 1.20–1.40–1.60 | 1.30x | 2.10 | 1.10 | 60 % | 71 % | 9.5 | 4.50 "
        "| 25.0 | 24 of 24 |"
    )
    # Of a context: the mean over kinds that the suite computed, not one that the page did.
    assert lines(page, "| slot | 1.30x")[0] == "| slot | 1.30x | 1.30x | 0.90x |"
    assert "| 8000 | 1.80 | 8.0 | 6.0 | 60.0 | 50.0 | 45.0 | 0.90x |" in page
    assert "| 2000 | 500 | window_abs | 1.50 | 0.50 | 40 % | 5.0 | 30.0 | 33.3 | 0.80x |" in page
    assert "| 512 | everything | full | 2.00 | 1.00 | 50 % |" in page
    assert lines(page, "| 512 | no sinks |")[0].startswith(
        "| 512 | no sinks | `no_sinks` | 1.60 | 0.60 | 45 % | 5.0 | 30.0 | 31.0 | 0.95x | 0.97x |"
    )
    assert lines(page, "| book | ")[0] == "| book | 190 | 440 | 7 900 |".replace("7 900", "7900")


def test_a_window_that_loses_is_shown_losing(results: ModuleType, told: dict[str, Any]) -> None:
    for row in told["rows"]:
        if (row["part"], row["name"]) == ("short", "slot"):
            row["speedup_decode"] = 0.8
    page = results.page([told])
    assert lines(page, "| short prompts: decode speed-up of full") == [
        "| short prompts: decode speed-up of full less that of slot | <= 0.16 | 0.70 | **missed** |"
    ]
    assert lines(page, "| short prompts: decode speed-up of slot over") == [
        "| short prompts: decode speed-up of slot over our plain loop | >= 1.3x | 0.80x "
        "| **missed** |"
    ]
    assert "always" not in page


def test_what_was_aimed_at(results: ModuleType, told: dict[str, Any]) -> None:
    # Standard error of tau: 2.1, 2.1, 1.9, 1.9, 2, 2 against 1.9, 1.7, 1.8.
    assert results.aims(told).splitlines()[2:] == [
        "| short prompts: decode speed-up of full less that of slot | <= 0.16 | 0.10 | reached |",
        "| short prompts: decode speed-up of slot over our plain loop | >= 1.3x | 1.40x "
        "| reached |",
        "| slot: tau on texts from 2000 tokens against those up to 512 | within noise "
        "| 1.80 against 2.00: -0.20 ± 0.14 | **missed** |",
        "| slot: draft ms per step on texts from 2000 tokens against those up to 512 "
        "| within noise | 6.00 against 5.00: +1.00 ± 0.00 | **missed** |",
        "| short prompts, at most 12 rows: first guess right | >= 55 % | 54 % | **missed** |",
        "| short prompts, 4 levels, at most 12 rows: tau | >= 2.0 | 2.05 with 9.0 rows | reached |",
        "| answers with the tokens of plain decoding | all | 60 of 60 | reached |",
    ]
    for row in told["rows"]:
        row["mismatches"] = 1 if row["name"] == "full" else 0
    assert "| all | 60 of 61, **1 differ** | **missed** |" in results.aims(told)
    for row in told["rows"]:
        row["mismatches"], row["ties"] = 0, 2 if row["name"] == "full" else 0
    assert "| all | 60 of 62, 2 tied | **missed** |" in results.aims(told), "a tie is another token"
    # Nothing is said of what was not measured.
    told["cells"] = [c for c in told["cells"] if c["context"] < 2_000]
    assert "within noise" not in results.aims(told) and results.noise(told) == ""


def test_the_synthetic_part_is_marked_and_says_where_full_stops(
    results: ModuleType, told: dict[str, Any]
) -> None:
    page = results.page([told])
    assert "## Synthetic: the head alone behind faked contexts" in page
    assert "(16 guesses, no branch dropped)" in page
    assert "| full | 30.0 | not run |" in page
    assert "| full | 6.0 | 2929.7 |" in page
    assert "Not run: what the memory had no room for" in page
    assert "that is 21.0 ms, and `full` alone takes as long at about 3000 positions" in page
    assert "| 1 000 | 2.50 | 1.0e-13 | 2.0e-05 | 1.20 | 0.0e+00 |" in page
    told["paying"].update(positions=None)
    assert "does not take as long up to 4000 positions, the most timed" in results.page([told])
    told["paying"].update(budget_ms=-3.0)
    assert "-3.0 ms: nothing is left there" in results.page([told])
    told.update(alone=[], shift=[], paying=None)
    assert "Synthetic" not in results.page([told])


def test_a_headline_has_no_more_than_it_measured(results: ModuleType, told: dict[str, Any]) -> None:
    told["cells"] = [c for c in told["cells"] if c["part"] == "context"]
    told.update(quick=True, alone=[], shift=[], paying=None, left_out={"contexts": "No text."})
    page = results.page([told])
    assert "A quick look" in page and "Left out (contexts): No text." in page
    assert "## Windows" not in page and "## Each mechanism" not in page


def test_the_page_is_what_the_generator_makes_of_the_committed_figures(
    results: ModuleType,
) -> None:
    assert results.PAGE.read_text("utf-8") == results.page(results.committed()), (
        "run docs/results.py docs/results-window.json --write"
    )


def test_results_py_writes_this_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], results: ModuleType
) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps(FOUND))
    sys.path.insert(0, str(ROOT / "docs"))
    assert load("results").main([str(path)]) == 0
    assert capsys.readouterr().out == results.page([FOUND])
