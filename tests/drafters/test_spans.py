"""Copied continuations: the longest match, the right occurrence, never across a placeholder."""

from __future__ import annotations

import random

import pytest

from specviz.decoding import decode
from specviz.drafters import create
from specviz.drafters.spans import Match, SpanIndex
from specviz.evidence import MemoryEvidence, Span
from specviz.models.base import Inputs
from specviz.models.toy import rhyme_model
from specviz.trace import Step

NONE: frozenset[int] = frozenset()


def slow(text, shortest: int, longest: int, width: int, latest: bool, blocked) -> Match | None:
    """Try every earlier end and every length."""
    best = None
    for end in range(1, len(text)):
        for length in range(shortest, longest + 1):
            window = text[max(0, end - length) : end]
            if length <= end and window == text[-length:] and not set(window) & blocked:
                better = best is None or length > best[0]
                if better or (latest and length == best[0]):
                    best = (length, end)
    if best is None:
        return None
    copied = []
    for token in text[best[1] : best[1] + width]:
        if token in blocked:
            break
        copied.append(token)
    return Match(*best, tuple(copied)) if copied else None


@pytest.mark.parametrize("latest", [True, False])
@pytest.mark.parametrize("blocked", [NONE, frozenset({3})])
def test_the_index_finds_what_a_slow_search_finds(latest: bool, blocked) -> None:
    rng = random.Random(1)
    for _ in range(150):
        shortest = rng.randint(1, 3)
        longest = rng.randint(shortest, 6)
        index = SpanIndex(shortest, longest, blocked)
        text: list[int] = []
        for _ in range(rng.randint(1, 6)):
            text += [rng.randrange(4) for _ in range(rng.randint(1, 9))]
            index.extend(text)
            expected = slow(text, shortest, longest, 5, latest, blocked)
            assert index.find(text, 5, latest) == expected


def test_prompt_lookup_records_what_it_copied_from_where() -> None:
    model = rhyme_model()
    prompt = model.tokenize("This is the cat that killed the rat.\nThis is the cat")
    drafter = create("prompt_lookup", {"tokens": 3, "ngram": 3})
    step = next(e for e in decode(model, Inputs(prompt), drafter, 20) if isinstance(e, Step))
    assert isinstance(step.evidence, Span)
    span = step.evidence
    text = (*prompt, step.nodes[0].token)
    assert text[span.start - span.length : span.start] == text[-span.length :]
    assert span.tokens == text[span.start : span.start + 3]
    assert span.nodes == tuple(range(1, len(step.nodes)))
    assert tuple(n.token for n in step.nodes[1:]) == span.tokens


def test_recap_lets_a_copied_continuation_compete_in_the_tree() -> None:
    """Nothing but copying can propose here: the memory levels are empty at the first step."""
    model = rhyme_model()
    model.eos_ids = NONE
    prompt = model.tokenize("xyz the cat that killed the rat qq xyz the cat that")
    drafter = create("recap", {"seed": "none", "nodes": 6})
    step = next(e for e in decode(model, Inputs(prompt), drafter, 20) if isinstance(e, Step))
    assert isinstance(step.evidence, MemoryEvidence) and step.evidence.copied is not None
    copied = step.evidence.copied
    assert {n.source for n in step.nodes[1:]} == {"copy"}
    assert [step.nodes[n].token for n in copied.nodes] == list(copied.tokens[: len(copied.nodes)])
    assert len(copied.nodes) >= 2
    off = create("recap", {"seed": "none", "copy": "off"})
    bare = next(e for e in decode(model, Inputs(prompt), off, 20) if isinstance(e, Step))
    assert len(bare.nodes) == 1 and bare.evidence.copied is None


def test_a_reserve_comes_on_top_of_the_budget() -> None:
    model = rhyme_model()
    model.eos_ids = NONE
    prompt = model.tokenize("xyz the cat that killed the rat qq xyz the cat that")
    drafter = create("recap", {"seed": "none", "copy": "reserve", "nodes": 1})
    step = next(e for e in decode(model, Inputs(prompt), drafter, 20) if isinstance(e, Step))
    assert [n.source for n in step.nodes] == ["root", *["copy"] * 4]
