"""Two texts compared: equal, a tie that rounding explains, or a difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from specviz import equality, jobs
from specviz.jobs import Job
from specviz.models.base import Capture, Inputs, finish
from specviz.models.toy import ToyModel, ToySession
from specviz.trace import (
    Check,
    Finish,
    Header,
    Node,
    Prefill,
    Progress,
    Reason,
    Run,
    Seconds,
    Step,
    Trace,
)

PROMPT = (1, 2)
BEST = (3, 4, 5, 3, 4, 5)
PEAK = 5.0
PIECES = [bytes([97 + i]) for i in range(9)]


def close_call(gap: float, dtype: str) -> ToyModel:
    """After the prompt: BEST, with token 6 ``gap`` below it at index 2, and 7 far below always."""

    def logits(context: tuple[int, ...]) -> np.ndarray:
        row = np.zeros(9)
        at = len(context) - len(PROMPT)
        row[BEST[at % 6]] = PEAK
        row[7] = PEAK - 2
        if at == 2:
            row[6] = PEAK - gap
        return row

    model = ToyModel(logits, PIECES)
    model.dtype = dtype
    return model


def told(*tokens: int, reason: Reason | None = "length") -> Run:
    """A run that emitted ``tokens``, one a step."""
    header = Header(
        run="r", decoder="recap", knobs={}, model="toy", digest="", device="cpu", dtype="float32",
        machine="", versions={}, messages=(), tokens=PROMPT, eos_ids=(0,),
        max_new_tokens=len(tokens), vocab_size=9,
    )  # fmt: skip
    steps = tuple(
        Step(
            index=i,
            nodes=(
                Node(
                    token=root, parent=-1, source="root", order=0, score=None, logp=None,
                    pick=token, margin=0.0, top=((token, -0.1),), tail=0.1,
                ),
            ),
            walk=(),
            emitted=(token,),
            seconds=Seconds(draft=0.0, verify=0.1, commit=0.0, total=0.1),
            cache_length=3 + i,
        )
        for i, (root, token) in enumerate(pairwise(tokens))
    )  # fmt: skip
    last = None if reason is None else Finish(reason=reason, tokens=len(tokens), seconds=1.0)
    return Run(header, Prefill(seconds=0.1, token=tokens[0], margin=0.0, top=()), steps, last)


def verdict(model: ToyModel, decoder: Run, baseline: Run) -> Check:
    return finish(equality.judge(model, Inputs(PROMPT), decoder, baseline))  # type: ignore


def with_(changes: dict[int, int]) -> tuple[int, ...]:
    return tuple(changes.get(i, token) for i, token in enumerate(BEST))


@pytest.mark.parametrize(
    ("dtype", "gap", "cap", "equal"),
    [
        ("float32", 5e-5, 1e-3, "tie"),
        ("float32", 8e-4, 1e-3, "tie"),
        ("float32", 1.3e-3, 1e-3, False),
        ("float64", 5e-4, 1e-4, False),
        ("bfloat16", 0.06, 0.0625, "tie"),
        ("bfloat16", 0.065, 0.0625, False),
        ("float16", 0.0077, 2 * 2.0**-8, "tie"),
        ("float16", 0.0082, 2 * 2.0**-8, False),
    ],
)
def test_a_gap_within_the_cap_of_the_dtype_is_a_tie(
    dtype: str, gap: float, cap: float, equal: object
) -> None:
    found = verdict(close_call(gap, dtype), told(*with_({2: 6})), told(*BEST))
    assert found.equal == equal and type(found.equal) is type(equal)
    assert found.first_difference == 2
    assert found.margin == pytest.approx(gap, abs=1.1e-4)
    assert found.cap == round(cap, 4)
    assert found.ties == 1 and found.complete is True


def test_equal_texts_are_equal_even_where_the_model_was_in_two_minds() -> None:
    found = verdict(close_call(5e-5, "float32"), told(*BEST), told(*BEST))
    assert found == Check(equal=True) and found.equal is True


def test_a_real_difference_behind_a_tie_is_a_difference() -> None:
    found = verdict(close_call(5e-4, "float32"), told(*with_({2: 6, 4: 7})), told(*BEST))
    assert found.equal is False
    assert (found.first_difference, found.ties) == (2, 2)
    assert found.margin == pytest.approx(5e-4, abs=1.1e-4), "the first one lies within the cap"


def test_a_real_difference_before_a_tie_is_a_difference() -> None:
    found = verdict(close_call(5e-4, "float32"), told(*with_({0: 7, 2: 6})), told(*BEST))
    assert found.equal is False
    assert (found.first_difference, found.margin, found.ties) == (0, 2.0, 2)


def test_a_text_that_ends_early_is_no_tie() -> None:
    model = close_call(5e-4, "float32")
    found = verdict(model, told(*BEST[:4]), told(*BEST))
    assert found.equal is False and (found.first_difference, found.ties) == (4, 0)
    longer = verdict(model, told(*BEST), told(*BEST[:4]))
    assert longer.equal == "tie" and (longer.first_difference, longer.ties) == (4, 0)


@pytest.mark.parametrize("changes", [{}, {2: 6}, {2: 7}])
@pytest.mark.parametrize(
    ("decoder", "baseline", "complete"),
    [
        ("length", "length", True),
        ("eos", "length", True),
        ("eos", "eos", True),
        ("stopped", "length", False),
        ("length", "stopped", False),
        ("error", "eos", False),
        ("eos", None, False),
        (None, "eos", False),
    ],
)
def test_only_two_finished_runs_are_compared_completely(
    changes: dict[int, int], decoder: Reason | None, baseline: Reason | None, complete: bool
) -> None:
    found = verdict(
        close_call(5e-4, "float32"),
        told(*with_(changes), reason=decoder),
        told(*BEST, reason=baseline),
    )
    assert found.complete is complete
    assert found.equal == {None: True, 6: "tie", 7: False}[changes.get(2)]


class RoundingSession(ToySession):
    """Batched passes round otherwise than single rows."""

    def verify(self, tree):  # type: ignore
        self.model.wide = len(tree) > 1  # type: ignore[attr-defined]
        try:
            return super().verify(tree)
        finally:
            self.model.wide = False  # type: ignore[attr-defined]


class RoundingModel(ToyModel):
    wide = False

    def open(self, capture=Capture()):  # type: ignore
        return RoundingSession(self, capture)


def rounding(lift: float) -> RoundingModel:
    """Two best tokens ``lift``/2 apart; a batched pass lifts the other by ``lift``."""

    def logits(context: tuple[int, ...]) -> np.ndarray:
        row = np.random.default_rng([3, context[-1]]).normal(size=257)
        first = 97 + (5 * context[-1]) % 26
        row[first], row[97 + (7 * context[-1] + 3) % 26] = 9.0, 9.0 - lift / 2
        if model.wide:
            row[97 + (7 * context[-1] + 3) % 26] += lift
        return row

    model = RoundingModel(logits, [bytes([b]) for b in range(256)] + [b""], label="rounding",
                          eos_ids=frozenset({256}))  # fmt: skip
    model.dtype = "float32"
    return model


@pytest.mark.parametrize(("lift", "equal"), [(0.0, True), (1e-3, "tie"), (0.2, False)])
def test_a_whole_job_says_what_batching_did_to_the_text(
    known: Callable[[ToyModel], str], lift: float, equal: object
) -> None:
    job = Job(model=known(rounding(lift)), prompt="a" * 40, max_new_tokens=60)
    events = tuple(e for e in jobs.run(job) if not isinstance(e, Progress))
    check = events[-1]
    assert isinstance(check, Check) and check.equal == equal and check.complete
    if equal is not True:
        trace = Trace(events)
        one, two = trace.run("decoder"), trace.run("baseline")
        assert one is not None and two is not None
        at = check.first_difference
        assert at is not None and one.tokens[:at] == two.tokens[:at]
        assert one.tokens[at] != two.tokens[at]
        assert check.margin == pytest.approx(lift / 2, abs=1.1e-4)
