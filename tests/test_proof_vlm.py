"""The long proof on pictures: every drafter that fits, held-out pictures and others, the text of
transformers' own greedy search on stock weights."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import pytest

from specviz import metrics
from specviz.bench.prompts import Prompt
from specviz.bench.vlm_prompts import digest, first_questions, prompts, sets
from specviz.budget import Curve
from specviz.drafters import DRAFTERS, create
from specviz.drafters.base import Drafter
from specviz.jobs import Job, run
from specviz.models import peers, registry, smol_boards
from specviz.models.base import Model
from specviz.trace import Progress, Trace
from tests.adversaries import Chain, RandomTree
from tests.test_losslessness_vlm import TOKENS, answer, asked, hostile
from tests.test_proof import COSTS, write

KNOBS: dict[str, tuple[str, dict[str, Any], Curve | None]] = {
    "autoregressive": ("autoregressive", {}, None),
    "prompt_lookup": ("prompt_lookup", {}, None),
    "token_recycling static": ("token_recycling", {}, None),
    "token_recycling best_first, 16 guesses": ("token_recycling", {"tree": "best_first"}, None),
    "recap, 16 guesses": ("recap", {}, None),
    "recap, fitted to costs": ("recap", {}, COSTS),
    "recap, all levels seeded, longest key wins": (
        "recap", {"seed": "all", "longest_wins": True}, None,
    ),
}  # fmt: skip
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(smol_boards.problem() is not None, reason=str(smol_boards.problem())),
]


def chosen(name: str) -> tuple[Prompt, ...]:
    """One question about each picture of a set; fewer for a look, which is not written down."""
    found = first_questions(sets(prompts())[name])
    return found[: int(os.environ.get("SPECVIZ_PROOF_PROMPTS", len(found)))]


def noted(name: str, questions: Sequence[Prompt], figures: dict[str, Any]) -> None:
    """Write figures down as those of this model, with what was asked."""
    about = {"model": smol_boards.LABEL, "weights": smol_boards.digest(),
             "pictures": len(questions), "questions": digest(questions)[:16]}  # fmt: skip
    write(name, {**about, **figures})


def tried(
    model: Model, prompt: Prompt, expected: Sequence[int], seed: int
) -> list[tuple[str, Drafter, Curve | None]]:
    """Every drafter that fits the model, then those that mean harm."""
    start = len(asked(model, prompt).tokens)
    found = [(name, create(drafter, knobs), costs)
             for name, (drafter, knobs, costs) in KNOBS.items()]  # fmt: skip
    found += [(name, drafter, None) for name, drafter in hostile(model, seed)]
    found.append(("random trees", RandomTree(seed, model.vocab_size, 16), None))
    found.append(("always wrong", Chain(expected, start, 4, 1, model.vocab_size), None))
    return found


@pytest.mark.parametrize("name", ["template", "off"])
def test_every_drafter_gives_transformers_own_answers_in_float32(name: str) -> None:
    model = registry.load(smol_boards.LABEL, dtype="float32")
    peer = peers.load(smol_boards.LABEL, "cpu", "float32")
    counts: dict[str, dict[str, int]] = {}
    differences: list[str] = []
    total, questions = 0, chosen(name)
    for number, prompt in enumerate(questions):
        inputs = asked(model, prompt)
        expected = peer.generate(inputs.tokens, TOKENS, pixels=inputs.pixels).tokens
        total += len(expected)
        for title, drafter, costs in tried(model, prompt, expected, number):
            found, steps = answer(model, inputs, drafter, TOKENS, costs)
            row = counts.setdefault(title, {"identical": 0, "passes": 0})
            row["passes"] += steps
            row["identical"] += found == expected
            if found != expected:
                differences.append(f"{title}: {prompt.id}")
    noted(
        f"pictures, {name}, float32",
        questions,
        {
            "tokens": total,
            "packed": model.packed,
            "max_new_tokens": TOKENS,
            "drafters": {
                title: {**c, "tau": round((total - len(questions)) / c["passes"], 3)}
                for title, c in counts.items()
                if c["passes"]
            },
        },
    )
    assert differences == []


def test_every_drafter_that_fits_takes_part() -> None:
    model = registry.load(smol_boards.LABEL, dtype="float32")
    fitting = {name for name, drafter in DRAFTERS.items() if drafter.needs <= model.supports}
    assert fitting == {drafter for drafter, _, _ in KNOBS.values()}


def test_bfloat16_differs_by_numeric_ties_only() -> None:
    outcomes = {"true": 0, "tie": 0, "false": 0}
    ties = tokens = 0
    largest, questions = 0.0, chosen("template")
    for prompt in questions:
        job = Job(model=smol_boards.LABEL, prompt=prompt.text, dtype="bfloat16",
                  max_new_tokens=TOKENS, pictures=prompt.pictures)  # fmt: skip
        trace = Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))
        check = trace.check
        assert check is not None and check.complete
        outcomes[str(check.equal).lower()] += 1
        ties += check.ties
        largest = max(largest, check.margin or 0.0)
        tokens += metrics.summary(trace)["decoder"]["tokens"]
    noted(
        "pictures, bfloat16",
        questions,
        {
            "tokens": tokens,
            "max_new_tokens": TOKENS,
            "decoder": "recap",
            "identical": outcomes["true"],
            "ties only": outcomes["tie"],
            "mismatch": outcomes["false"],
            "tied tokens": ties,
            "largest margin at a first difference": largest,
        },
    )
    assert outcomes["false"] == 0
    assert ties <= 0.05 * tokens, "ties should be rare"
