"""Every drafter on tiny random recurrent-depth models in float64, against one without a cache."""

from __future__ import annotations

import json
import os
import platform
import random
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specviz.budget import Curve
from specviz.decoding import decode
from specviz.drafters import create
from specviz.models.base import Inputs
from specviz.models.raven import RavenModel
from specviz.models.raven_engine import RavenEngine
from specviz.trace import Step
from specviz.verdict import code_digest
from tests.adversaries import HOSTILE, KNOBS, drafters, every_drafter
from tests.plain_raven import oracle
from tests.test_losslessness import decoded
from tests.tiny_raven import tiny_raven

RESULTS = Path(__file__).parents[1] / "docs" / "proof.json"
VOCABULARY = 24  # few tokens, so that guesses are right now and then
BUDGET = 24
CURVES = (None, Curve((1, 64), (1.0, 1.0)), Curve((1, 2, 4, 64), (0.04, 0.065, 0.06, 0.3)))
FIRST_DEEP = len(KNOBS) + len(HOSTILE)
ALL = len(every_drafter(depth=True))


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> None:
    torch.set_num_threads(1)


@cache
def model(seed: int, depth: int, initial: str) -> RavenModel:
    made = tiny_raven(depth, seed, VOCABULARY, initial=initial)  # type: ignore[arg-type]
    made.eos_ids, made.blocked_ids = frozenset(), frozenset()
    return made


@cache
def greedy(seed: int, depth: int, initial: str, prompt: tuple[int, ...]) -> tuple[int, ...]:
    """The whole text goes through plain torch for every token: no cache, no class of ours."""
    target = model(seed, depth, initial)
    context = list(prompt)
    with torch.inference_mode():
        while len(context) < len(prompt) + BUDGET:
            state = target.start(list(range(len(context))))
            logits = oracle(target, context, depth, state)[-1]
            context.append(int(logits.argmax()))
    return tuple(context[len(prompt) :])


def one_case(
    which: int, seed: int, depth: int, initial: str, words: int, budget: int, ends: bool
) -> int:
    """Returns how many tokens were compared."""
    rng = random.Random(seed)
    weights = seed % 3
    # Few prompts, so that the slow text is made only once for each.
    prompt = tuple(random.Random(seed % 5).choices(range(VOCABULARY), k=words))
    text = greedy(weights, depth, initial, prompt)
    target = model(weights, depth, initial)
    # An end token that comes somewhere in the text: often inside an accepted branch.
    end = text[rng.randrange(len(text))]
    target.eos_ids = frozenset({end}) if ends else frozenset()
    answer = text[:budget]
    if ends and end in answer:
        answer = answer[: answer.index(end) + 1]
    drafter = drafters(which, target, prompt, answer, seed)
    assert decoded(target, prompt, drafter, budget, rng.choice(CURVES)) == answer
    return len(answer)


CASES = {
    # Every other case is one of the drafters that need depth.
    "which": st.one_of(st.integers(FIRST_DEEP, ALL - 1), st.integers(0, ALL - 1)),
    "seed": st.integers(0, 10_000),
    "depth": st.sampled_from([1, 2, 5, 8]),
    "initial": st.sampled_from(["zero", "seeded"]),
    "words": st.sampled_from([1, 5, 20]),
    "budget": st.one_of(st.integers(1, 4), st.integers(1, BUDGET)),
    "ends": st.booleans(),
}
KIND = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=300, **KIND)
@given(**CASES)
def test_every_drafter_gives_the_tokens_of_plain_torch(**case) -> None:
    one_case(**case)


@pytest.mark.parametrize("which", range(ALL))
def test_each_drafter_on_a_longer_prompt(which: int) -> None:
    one_case(which, seed=4, depth=8, initial="seeded", words=20, budget=BUDGET, ends=False)


@pytest.mark.parametrize("ends", [False, True])
def test_a_draft_that_goes_all_the_way_is_always_right(ends: bool) -> None:
    """As many iterations as the target's own, and its own view of the prefix: the same sums."""
    prompt = (3, 1, 4)
    text = greedy(2, 5, "seeded", prompt)
    target = model(2, 5, "seeded")
    end = next(t for i, t in enumerate(text) if i >= 9 and t not in text[:i])
    at = text.index(end)
    target.eos_ids = frozenset({end}) if ends else frozenset()
    drafter = create("das", {"tokens": 6, "draft": 5, "keys": 0, "values": 0})
    events = list(decode(target, Inputs(prompt), drafter, BUDGET))
    steps = [e for e in events if isinstance(e, Step)]
    drafted = [n.token for s in steps for n in s.nodes[1:]]
    emitted = [t for s in steps for t in s.emitted]
    assert sum(len(s.accepted) for s in steps) == len(drafted) > 6
    assert emitted == list(text[1 : at + 1] if ends else text[1:])
    if ends:  # the end token was a guess, and nothing was drafted behind it
        assert steps[-1].nodes[-1].token == end and steps[-1].clipped


@pytest.mark.parametrize("garbage", ["noise", "huge", "nan"])
@pytest.mark.parametrize("which", range(FIRST_DEEP, ALL))
def test_garbage_in_the_draft_changes_no_token(
    monkeypatch: pytest.MonkeyPatch, which: int, garbage: str
) -> None:
    """The states of every round are replaced before they are read, and stay so."""
    honest = RavenEngine.read
    poisoned = []

    def read(engine: RavenEngine, first: int = 0):
        states = engine._states
        if garbage == "noise":
            states.normal_(generator=torch.Generator().manual_seed(len(poisoned)))
        else:
            states.fill_(1e30 if garbage == "huge" else float("nan"))
        engine._spoken = 0
        poisoned.append(first)
        return honest(engine, first)

    monkeypatch.setattr(RavenEngine, "read", torch.inference_mode()(read))
    one_case(which, seed=6, depth=5, initial="zero", words=5, budget=BUDGET, ends=False)
    assert poisoned


@pytest.mark.parametrize("decoder", [ALL - 5, FIRST_DEEP], ids=["das_wave", "das"])
def test_a_random_initial_state_gives_other_tokens(
    monkeypatch: pytest.MonkeyPatch, decoder: int
) -> None:
    """Negative control: states drawn anew in every pass make the comparison fail."""
    cases = [{"seed": s, "depth": 2, "initial": "zero", "words": 5, "budget": BUDGET, "ends": False}
             for s in range(15)]  # fmt: skip
    for case in cases:
        one_case(decoder, **case)
    monkeypatch.setattr(
        "specviz.models.raven_start.Start.__call__",
        lambda start, positions: torch.randn(
            len(positions), start.config.n_embd, dtype=torch.float64
        ) * start.config.state_std,
    )  # fmt: skip
    torch.manual_seed(0)
    failed = 0
    for case in cases:
        try:
            one_case(decoder, **case)
        except AssertionError:
            failed += 1
    assert failed >= 12


@pytest.mark.proof
def test_every_drafter_gives_the_tokens_of_plain_torch_in_5000_cases() -> None:
    """Writes what was compared to docs/proof.json."""
    number = int(os.environ.get("SPECVIZ_PROOF_CASES", "5000"))
    counts: Counter[str] = Counter()
    names = every_drafter(depth=True)

    @settings(max_examples=number, **KIND)
    @given(**CASES)
    def case(**drawn) -> None:
        counts["tokens"] += one_case(**drawn)
        counts["cases"] += 1
        counts[names[drawn["which"]].split()[0]] += 1

    case()
    assert counts["cases"] >= number
    if number < 5000:
        return  # a look at a part is not written down
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["recurrent depth"] = {
        "model": "random networks of 3 seeds, depths 1, 2, 5 and 8, float64",
        "reference": "plain torch over the whole text for every token",
        "code": code_digest(),
        "torch": torch.__version__,
        "machine": f"{platform.machine()}, {torch.get_num_threads()} threads",
        "cases": counts["cases"],
        "tokens": counts["tokens"],
        "das": counts["das"],
        "das_wave": counts["das_wave"],
        "differences": 0,
    }
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
