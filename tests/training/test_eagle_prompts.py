"""Prompts are many, different, of a bearable length, and the same in every run."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import islice

import pytest

from specviz.training import eagle_prompts
from specviz.training.eagle_prompts import MAKERS, SHARES, fill, stream
from specviz.training.eagle_prompts_forms import ENDINGS, FORMS
from specviz.training.eagle_prompts_lists import LISTS
from specviz.training.raven_documents import held_out

COUNT = 6000


@pytest.fixture(scope="module")
def made() -> list[eagle_prompts.Prompt]:
    return list(islice(stream(1), COUNT))


def test_thousands_of_prompts_differ_and_come_again_for_a_seed(made) -> None:
    assert len({p.text for p in made}) == COUNT
    assert list(islice(stream(1), 300)) == made[:300]
    assert not {p.text for p in islice(stream(2), 300)} >= {p.text for p in made[:50]}


def test_all_forms_occur_and_one_in_twenty_is_held_out(made) -> None:
    counts = Counter(p.kind for p in made)
    assert set(counts) == set(MAKERS) == set(SHARES)
    assert min(counts.values()) >= 100
    assert 0.035 < sum(held_out(p.text) for p in made) / COUNT < 0.065


def test_no_prompt_is_long_unfilled_or_untidy(made) -> None:
    for prompt in made:
        text = prompt.text
        assert 10 < len(text) < 500, text
        assert text == text.strip()
        if prompt.kind not in ("code", "text"):
            assert not re.search(r"[{}]|  |\n", text), text
        assert not re.search(r"\b[Aa] (apple|old|owl|elephant|otter|octopus|umbrella)\b", text)


def test_every_template_can_be_filled() -> None:
    rng = random.Random(0)
    for kind, templates in [*FORMS.items(), *ENDINGS.items(), *LISTS.items()]:
        for template in templates:
            filled = fill(rng, template)
            assert filled and "{" not in filled, (kind, template)


def test_an_entry_is_not_used_twice_in_one_text() -> None:
    for seed in range(200):
        one, two = fill(random.Random(seed), "{continent}|{continent}").split("|")
        assert one != two
