"""The long proof of the bounded drafter on real weights: short prompts and long documents, every
mode, the text of transformers' own greedy search."""

from __future__ import annotations

from typing import Any

import pytest

from specviz.bench.window_texts import long_texts
from specviz.decoding import decode
from specviz.drafters import create
from specviz.models import heads, registry, smollm2
from specviz.models.base import Inputs, Message, Model
from specviz.trace import Finish, Prefill, Step
from specviz.windows import MODES
from tests.test_proof import COSTS, TOKENS, generate, prompts, write

TOKENS_LONG = 64
CONTEXTS = (2_000, 7_000)
KNOBS: dict[str, dict[str, Any]] = {
    **{mode: {"mode": mode} for mode in MODES},
    "no sinks": {"sinks": 0},
    "truncated features": {"features": "truncated"},
}
pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(smollm2.problem() is not None, reason=str(smollm2.problem())),
    pytest.mark.skipif(heads.HEADS[heads.EMBEDDED].folder is None, reason="no head was shipped"),
]


def compared(name: str, asked: list[Inputs], model: Model, tokens: int) -> None:
    """Write down how often each mode gives the reference's tokens, and raise unless always."""
    folder = smollm2.cache_root() / f"{smollm2.LABEL}-{smollm2.SHA256[:16]}"
    counts = {knobs: {"identical": 0, "passes": 0} for knobs in KNOBS}
    differences: list[str] = []
    total = 0
    reference = generate(asked[0], folder)
    for number, inputs in enumerate(asked):
        expected = (reference.send(inputs) if number else next(reference))[:tokens]
        total += len(expected)
        for named, knobs in KNOBS.items():
            drafter = create("window", knobs)
            drafter.check(model)
            events = list(decode(model, inputs, drafter, tokens, COSTS))
            found = [e.token for e in events if isinstance(e, Prefill)]
            found += [t for e in events if isinstance(e, Step) for t in e.emitted]
            assert isinstance(events[-1], Finish)
            counts[named]["passes"] += sum(isinstance(e, Step) for e in events)
            if tuple(found) == expected:
                counts[named]["identical"] += 1
            else:
                differences.append(f"{named}: prompt {number}, {len(inputs.tokens)} tokens")
    write(
        name,
        {
            "prompts": len(asked),
            "lengths": sorted(len(inputs.tokens) for inputs in asked),
            "tokens": total,
            "max_new_tokens": tokens,
            "drafters": {
                named: {**c, "tau": round((total - len(asked)) / c["passes"], 3)}
                for named, c in counts.items()
            },
        },
    )
    assert differences == []


def test_every_mode_gives_transformers_own_greedy_text_on_short_prompts() -> None:
    model = registry.load(smollm2.LABEL, dtype="float32")
    asked = [model.encode([Message("user", prompt)]) for prompt in prompts()]
    compared("window, float32", asked, model, TOKENS)


def test_every_mode_gives_transformers_own_greedy_text_on_documents() -> None:
    model = registry.load(smollm2.LABEL, dtype="float32")

    def encoded(text: str) -> Inputs:
        return model.encode([Message("user", text)])

    texts, missing = long_texts(
        lambda prompt: len(encoded(prompt.text).tokens), model.max_context, CONTEXTS
    )
    assert not missing and len(texts) == 6
    asked = [encoded(text.prompt.text) for text in texts]
    compared("window, documents, float32", asked, model, TOKENS_LONG)
