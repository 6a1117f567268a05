"""The bounded drafter on tiny random transformers models, against a forward without cache."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specviz.catalog import strings
from specviz.changes import CHANGES
from specviz.counterfactual import change, offered, run_counterfactual
from specviz.decoding import decode
from specviz.drafters import create
from specviz.evidence import WindowEvidence
from specviz.jobs import Job, run
from specviz.models import registry
from specviz.models.base import Inputs
from specviz.models.eagle_engine import EagleEngine
from specviz.models.engines import Offers
from specviz.models.hf_features import FeatureSession
from specviz.models.registry import Entry
from specviz.trace import Progress, Step, Trace
from tests.models import tiny
from tests.test_counterfactual import outcome
from tests.test_losslessness import decoded
from tests.test_losslessness_hf import BUDGET, CURVES, expected, model
from tests.tiny_head import head_folder

KNOBS: list[dict[str, Any]] = [
    {},
    {"mode": "full", "depth": 6, "size": 60, "top_k": 8, "least": 0.0},
    {"mode": "window_abs", "sinks": 2, "window": 5, "least": 0.0},
    {"mode": "slot", "sinks": 0, "window": 1, "depth": 3, "least": 0.0},
    {"mode": "shift", "sinks": 3, "window": 9, "top_k": 2, "least": 0.0},
    {"mode": "reindex_only", "depth": 2},
    {"features": "truncated", "sinks": 1, "window": 6, "least": 0.0},
    {"depth": 1, "top_k": 16, "size": 3},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return head_folder(tmp_path_factory.mktemp("head"))


class Knowing(EagleEngine):
    """The head as it is, but most of what it offers along the true text is true."""

    text: tuple[int, ...] = ()
    rng = random.Random(0)

    def follow(self, context: Sequence[int], top: int) -> Offers:
        self.at, self.paths = len(context), list[tuple[int, ...]]()
        return self._bent(super().follow(context, top), ())

    def expand(self, parents: Sequence[int], tokens: Sequence[int], top: int) -> tuple[Offers, ...]:
        found = super().expand(parents, tokens, top)
        here = [
            (*(self.paths[p] if p >= 0 else ()), t) for p, t in zip(parents, tokens, strict=True)
        ]
        self.paths += here
        return tuple(self._bent(o, path) for o, path in zip(found, here, strict=True))

    def _bent(self, offers: Offers, path: tuple[int, ...]) -> Offers:
        end = self.at + len(path)
        known = self.text[self.at : end + 1]
        if known[:-1] != path or len(known) <= len(path) or self.rng.random() < 0.2:
            return offers
        tokens = list(offers.tokens)
        tokens[self.rng.randrange(min(2, len(tokens)))] = known[-1]
        return Offers(tuple(tokens), tuple(-0.3 - i for i in range(len(tokens))))


@pytest.fixture(autouse=True)
def knowing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specviz.models.hf_features.EagleEngine", Knowing)


def one_case(
    folder: Path, architecture: str, which: int, seed: int, words: int, budget: int
) -> int:
    """Returns how many guesses were accepted."""
    rng = random.Random(seed % 12)
    prompt = tuple(rng.choice((40, 41, 42, 43, 44)) for _ in range(words))
    answer = expected(architecture, prompt, budget)
    Knowing.text, Knowing.rng = (*prompt, *answer), random.Random(seed)
    target = model(architecture)
    drafter = create("window", {**KNOBS[which], "head": str(folder)})
    drafter.check(target)
    costs = rng.choice((None, *CURVES))
    assert decoded(target, prompt, drafter, budget, costs) == answer
    steps = [e for e in decode(target, Inputs(prompt), drafter, budget) if isinstance(e, Step)]
    return sum(len(s.accepted) for s in steps)


CASES = {
    "which": st.integers(0, len(KNOBS) - 1),
    "seed": st.integers(0, 10_000),
    "words": st.sampled_from([1, 5, 12, 30]),
    "budget": st.integers(1, BUDGET),
}
KIND = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3"])
@settings(max_examples=40, **KIND)
@given(**CASES)
def test_the_bounded_drafter_gives_the_oracles_tokens(
    folder: Path, architecture: str, **case: int
) -> None:
    one_case(folder, architecture, **case)


@pytest.mark.parametrize("which", range(len(KNOBS)))
def test_every_mode_is_accepted_and_checked_on_a_long_prompt(folder: Path, which: int) -> None:
    assert one_case(folder, "llama", which, seed=3, words=30, budget=BUDGET) > 3


@pytest.mark.proof
@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3", "mistral"])
@settings(max_examples=500, **KIND)
@given(**CASES)
def test_the_bounded_drafter_gives_the_oracles_tokens_in_2000_cases(
    folder: Path, architecture: str, **case: int
) -> None:
    one_case(folder, architecture, **case)


def test_evidence_is_what_the_head_saw_and_said(folder: Path) -> None:
    prompt = tuple(range(40, 70))
    knobs = {"sinks": 2, "window": 6, "depth": 3, "top_k": 2, "size": 5, "head": str(folder)}
    drafter = create("window", {**knobs, "least": 0.0})
    drafter.check(model("llama"))
    Knowing.text = ()
    steps = [e for e in decode(model("llama"), Inputs(prompt), drafter, 6) if isinstance(e, Step)]
    first = steps[0].evidence
    assert isinstance(first, WindowEvidence)
    assert (first.mode, first.trained, first.truncated) == ("slot", 64, False)
    assert first.entries == ((0, 2, 0.0, 1.0), (24, 6, 2.0, 1.0))
    assert (first.tip, first.spacing, first.distance, first.levels) == (7.0, 1.0, 9.0, 3)
    assert first.bytes == 2 * 8 * 2 * 8 * 8
    assert first.considered == 2 + 4 + 4
    assert len(steps[0].nodes) == 6
    # What was offered behind the root, and behind every node that was asked, with its probability.
    offers = {e.node: {o.token: o.probability for o in e.offers} for e in first.expansions}
    for i, node in enumerate(steps[0].nodes[1:], start=1):
        above = 1.0 if node.parent == 0 else steps[0].nodes[node.parent].score
        assert node.source == "head" and node.score is not None and above is not None
        assert node.token in offers[node.parent], i
        assert node.score == pytest.approx(above * offers[node.parent][node.token], abs=1e-3)


def job(label: str, folder: Path, **more: Any) -> Trace:
    known = {"decoder": "window", "prompt": "a" * 40, "knobs": {"head": str(folder), "window": 20}}
    events = run(Job(model=label, max_new_tokens=30, **{**known, **more}))
    return Trace(tuple(e for e in events if not isinstance(e, Progress)))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_lower_precision_differs_by_numeric_ties_only(
    monkeypatch: pytest.MonkeyPatch, folder: Path, dtype: torch.dtype
) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    low = tiny.model("llama", "sdpa", dtype=dtype)
    registry.register(Entry(label="low", title="low", load=lambda device, kind: low))
    trace = job("low", folder, dtype=low.dtype)
    assert trace.check is not None and trace.check.complete
    assert trace.check.equal is not False
    if dtype == torch.float32:
        assert trace.check.equal is True
    header = trace.run().header
    assert header.head is not None and header.head.trained == 64
    assert (header.head.vocabulary, header.head.label) == (280, folder.name)


def test_positions_beyond_the_trained_range_are_said(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """A head trained for 64 positions on a longer text, without and with a bound."""
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    target = model("llama")
    registry.register(Entry(label="far", title="far", load=lambda device, kind: target))
    given = {"prompt": "a" * 100, "dtype": "float64", "baseline": False}
    beyond = job("far", folder, knobs={"head": str(folder), "mode": "full"}, **given).run()
    said = "Draft positions can go beyond the 64 "
    (note,) = [n for n in beyond.header.notes if n.startswith(said)]
    reach = len(beyond.header.tokens) + 30 - 2 + 4
    assert note.endswith(f"up to a distance of {reach}.")
    within = job("far", folder, **given).run()
    assert not [n for n in within.header.notes if n.startswith("Draft positions")]
    far = [s.evidence.distance for s in beyond.steps if isinstance(s.evidence, WindowEvidence)]
    near = [s.evidence.distance for s in within.steps if isinstance(s.evidence, WindowEvidence)]
    assert max(far) > 64 > max(near)


def test_every_named_change_of_a_run_with_a_head_gives_the_same_text(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    target = model("llama")
    registry.register(Entry(label="tiny", title="tiny", load=lambda device, kind: target))
    given = {"prompt": "a" * 60, "dtype": "float64", "baseline": False}
    first = job("tiny", folder, **given)
    names = {c.name for c in offered(first)}
    assert names == {c.name for c in CHANGES["window"]} - {"told-positions"}
    assert change(first, ["half-window"]).knobs["window"] == 10
    assert change(first, ["no-sinks"]).knobs["window"] == 20  # one mechanism at a time
    for name in names:
        assert strings()[f"whatif.{name}"].endswith("?")
        _, found = outcome(run_counterfactual(first, (name,)))
        assert found.comparison.parted is None, name


def test_a_change_of_mode_brings_a_window_that_is_too_wide_into_range(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    target = model("llama")
    registry.register(Entry(label="tiny", title="tiny", load=lambda device, kind: target))
    knobs = {"head": str(folder), "mode": "window_abs", "window": 300}
    wide = job("tiny", folder, prompt="a" * 60, dtype="float64", baseline=False, knobs=knobs)
    assert change(wide, ["told-positions"]).knobs["window"] == 55  # 64 - 4 sinks - 4 levels - 1
    _, found = outcome(run_counterfactual(wide, ("told-positions",)))
    assert found.comparison.parted is None


def test_a_session_without_a_head_keeps_no_features() -> None:
    assert not isinstance(model("llama").open(), FeatureSession)
