"""What a pass costs: how it is measured, kept and found again."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from specviz.models import hf_costs
from specviz.models.hf_costs import FEW_ROWS, ROWS, Shelf, measure, rough, steady
from specviz.models.session import TreeSession
from specviz.trace import Costs, Progress
from tests.models import tiny


def ended(steps: Generator[Progress, None, Any]) -> tuple[list[Progress], Any]:
    seen = []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as done:
            return seen, done.value


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(hf_costs, "perf_counter", lambda: now[0])
    return now


def test_the_least_of_the_passes_counts_and_the_first_of_a_kind_does_not(
    clock: list[float],
) -> None:
    calls: list[int] = []

    def timed(rows: int) -> None:
        calls.append(rows)
        again = calls.count(rows) - (2 if rows == 1 else 0)  # two passes look how slow it is
        # Tries 1 and 4 are the first of their round: quick here, and still not counted.
        clock[0] += rows * {1: 0.0001, 2: 0.003, 3: 0.002, 4: 0.0001, 5: 0.001, 6: 0.009}.get(
            again, 0.001
        )

    progress, (costs, calm) = ended(measure(timed, 128))
    assert calm is False  # the second round saw nothing quicker than nine times the first
    assert costs.rows == ROWS and costs.context == 128
    assert costs.seconds == pytest.approx([n * 0.001 for n in ROWS])
    assert calls == [1, 1, *(n for _ in range(2) for n in ROWS for _ in range(3))]
    assert [(p.stage, p.done, p.total) for p in progress] == [
        ("measure", i + 1, 66) for i in range(66)
    ]


def test_a_slow_model_is_measured_briefly(clock: list[float]) -> None:
    def timed(rows: int) -> None:
        clock[0] += 0.5 + rows / 100

    progress, (costs, calm) = ended(measure(timed, 512))
    assert costs.rows == FEW_ROWS and calm is True
    assert costs.seconds == pytest.approx([0.5 + n / 100 for n in FEW_ROWS])
    assert len(progress) == 18


def test_what_does_not_fit_is_not_measured(clock: list[float]) -> None:
    def timed(rows: int) -> None:
        clock[0] += rows / 1000

    costs, calm = ended(measure(timed, 20, most=11))[1]
    assert costs.rows == (1, 2, 4, 8) and calm is True
    assert costs.seconds == pytest.approx((0.001, 0.002, 0.004, 0.008))
    assert ended(measure(timed, 20, most=1)) == ([], (None, False))


@pytest.mark.parametrize(
    ("last", "calm"), [((1.0, 2.0, 9.0), True), ((1.1, 2.3, 3.0), True), ((1.2, 2.4, 3.0), False)]
)
def test_two_rounds_have_to_agree_on_most_widths(last: tuple[float, ...], calm: bool) -> None:
    first = dict(zip((1, 2, 4), (1.0, 2.0, 3.0), strict=True))
    assert steady([first, dict(zip(first, last, strict=True))]) is calm
    assert steady([first]) is True


@pytest.mark.parametrize(
    ("context", "stands"),
    [(1, 128), (200, 128), (300, 512), (1000, 512), (1100, 2048), (5600, 7168), (10**6, 32768)],
)
def test_a_context_is_rounded_by_ratio(context: int, stands: int) -> None:
    assert rough(context) == stands


def test_a_shelf_keeps_apart_what_differs(tmp_path: Path) -> None:
    costs = Costs(context=128, rows=(1, 4), seconds=(0.01, 0.02))
    shelf = Shelf(tmp_path / "costs", {"digest": "a", "threads": 2})
    assert shelf.get(128) is None
    shelf.put(128, costs)
    assert shelf.get(128) == costs
    assert shelf.get(512) is None
    assert Shelf(tmp_path / "costs", {"digest": "a", "threads": 1}).get(128) is None
    for file in (tmp_path / "costs").iterdir():
        for damaged in ('{"context": 128, "rows": []', '{"context":1,"rows":[1,2],"seconds":[1]}'):
            file.write_text(damaged)
            assert shelf.get(128) is None


def test_a_shelf_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    shelf = Shelf(tmp_path / "file" / "costs", {})
    shelf.put(1, Costs(context=1, rows=(1, 2), seconds=(0.1, 0.2)))
    assert shelf.get(1) is None


def test_a_model_measures_once_and_the_next_process_not_at_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(hf_costs, "steady", lambda rounds: True)
    model = tiny.model("llama", "sdpa")
    progress, costs = ended(model.measure(150))
    assert len(progress) == 66 and costs.context == 128 and costs.rows == ROWS
    assert ended(model.measure(100)) == ([], costs)
    assert ended(tiny.model("llama", "sdpa").measure(128)) == ([], costs)
    progress, again = ended(model.measure(128, fresh=True))
    assert len(progress) == 66
    assert ended(tiny.model("llama", "sdpa").measure(128)) == ([], again)


def test_what_a_busy_machine_gave_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    monkeypatch.setattr(hf_costs, "steady", lambda rounds: False)
    model = tiny.model("llama", "sdpa")
    costs = ended(model.measure(150))[1]
    assert ended(model.measure(150)) == ([], costs)
    assert list(tmp_path.iterdir()) == []


def test_a_short_context_leaves_room_for_few_widths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    model = tiny.model("llama", "sdpa")
    for most, behind, rows in ((64, 32, (1, 2, 4, 8, 12, 16, 24, 32)), (3, 1, (1, 2))):
        model.max_context = most
        costs = ended(model.measure(50, fresh=True))[1]
        assert (costs.context, costs.rows) == (behind, rows)
    model.max_context = 1
    assert ended(model.measure(50, fresh=True)) == ([], None)


def test_passes_are_timed_behind_as_many_rows_as_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path))
    model = tiny.model("llama", "sdpa")
    lengths: set[int] = set()
    verify = TreeSession.verify

    def noted(self: TreeSession, tree: Any) -> Any:
        if len(tree) > 1:
            lengths.add(self.length)
        return verify(self, tree)

    monkeypatch.setattr(TreeSession, "verify", noted)
    ended(model.measure(128))
    # The tiny context of 512 leaves room for the widest pass.
    _, costs = ended(model.measure(512))
    assert lengths == {128, 416} and costs.context == 416
