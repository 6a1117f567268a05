"""Batched answers are those of decoding one by one, and a run goes on where another stopped."""

from __future__ import annotations

import random
from itertools import islice
from pathlib import Path

import pytest
import torch

from specviz.models.base import InputError
from specviz.models.hf import HFModel
from specviz.training.eagle_answers import answer, greedy
from specviz.training.eagle_exchanges import Exchange, Source, append, read, resume
from specviz.training.eagle_prompts import Prompt
from specviz.training.raven_documents import held_out
from tests.models import tiny

SOURCE = Source("tiny", "d1", "float64", 12)
RNG = random.Random(4)
PROMPTS = [tuple(RNG.choices(range(4, 260), k=RNG.randint(1, 14))) for _ in range(9)]


def plain(model: HFModel, prompt: tuple[int, ...], longest: int) -> tuple[int, ...]:
    """Greedy decoding of one prompt without any cache."""
    tokens = list(prompt)
    while len(tokens) < len(prompt) + longest:
        with torch.inference_mode():
            logits = model.net(input_ids=torch.tensor([tokens]), use_cache=False).logits
        tokens.append(int(logits[0, -1].argmax()))
        if tokens[-1] in model.eos_ids:
            break
    return tuple(tokens[len(prompt) :])


@pytest.mark.parametrize("architecture", ["llama", "mistral", "gemma3"])
def test_a_batch_answers_as_one_by_one(architecture: str) -> None:
    model = tiny.model(architecture, "sdpa")
    expected = [plain(model, p, 20) for p in PROMPTS]
    # Ends of different lengths: the batch shrinks under way, once it is half done.
    model.eos_ids = model.eos_ids | {a[3 * i % 11] for i, a in enumerate(expected[:7])}
    expected = [plain(model, p, 20) for p in PROMPTS]
    assert len({len(a) for a in expected}) > 2
    assert greedy(model, PROMPTS, 20) == expected


def test_exchanges_are_encoded_marked_and_not_made_twice() -> None:
    model = tiny.model("llama", "sdpa")
    prompts = [Prompt("list", f"Name {i} rivers.") for i in range(60)]
    batches = list(answer(model, prompts, [], 2, 3))
    made = [e for batch in batches for e in batch]
    assert {len(batch) for batch in batches} == {2}
    assert sum(e.held for e in made) == sum(held_out(p.text) for p in prompts) > 0
    assert len({e.prompt for e in made}) == 60
    assert all(e.answer == plain(model, e.prompt, 3) for e in made[:6])
    rest = [e for batch in answer(model, prompts, made[:50], 2, 3) for e in batch]
    assert {e.prompt for e in rest} == {e.prompt for e in made[50:]}


def exchange(first: int) -> Exchange:
    return Exchange("list", (first, 5), (6, 7), first == 1)


def test_a_file_survives_a_batch_that_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "answers.jsonl.gz"
    assert resume(path, SOURCE) == []
    append(path, [exchange(1), exchange(2)])
    whole = len(path.read_bytes())
    append(path, [exchange(3)])
    path.write_bytes(path.read_bytes()[:-5])
    assert read(path) == (SOURCE, [exchange(1), exchange(2)])
    assert resume(path, SOURCE) == [exchange(1), exchange(2)]
    assert len(path.read_bytes()) == whole
    append(path, [exchange(4)])
    assert read(path)[1] == [exchange(1), exchange(2), exchange(4)]
    assert [p.name for p in islice(path.parent.iterdir(), 5)] == [path.name]


def test_answers_of_other_settings_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl.gz"
    resume(path, SOURCE)
    with pytest.raises(InputError, match="differs from this run: give another folder"):
        resume(path, Source("tiny", "d2", "float64", 12))
    path.write_bytes(b"something else")
    with pytest.raises(InputError, match="is not a file of answers"):
        read(path)
    with pytest.raises(InputError, match="generate the answers first"):
        read(tmp_path / "nothing")
