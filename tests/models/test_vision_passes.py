"""Tiny image-text networks of real classes: passes, commits, positions, requests side by side."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch

from specviz.models.base import Capture, Inputs, Message, finish
from specviz.models.session import CHUNK, chain
from specviz.models.vision import VisionModel
from specviz.trace import Progress
from tests.models import tiny_vision as tiny
from tests.models.sessions import difference, random_tree

ALL = pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)


@cache
def model(architecture: str) -> VisionModel:
    torch.set_num_threads(1)
    return tiny.model(architecture)


def asked(architecture: str, seed: int, *sizes: tuple[int, int]) -> Inputs:
    pictures = tuple(tiny.picture(seed + i, *size) for i, size in enumerate(sizes))
    return model(architecture).encode([Message("user", tiny.words(seed), pictures)])


def opened(architecture: str, inputs: Inputs, capture: Capture = Capture()) -> Any:
    session = model(architecture).open(capture)
    finish(session.prefill(inputs))
    return session


def plain(architecture: str, inputs: Inputs, more: tuple[int, ...] = ()) -> torch.Tensor:
    """Logits [n, V] of transformers' own forward over the prompt and ``more``, without a cache."""
    given = model(architecture).given(inputs)
    extra = torch.tensor([list(more)], dtype=torch.long)
    given["input_ids"] = torch.cat([given["input_ids"], extra], dim=1)
    given["attention_mask"] = torch.ones_like(given["input_ids"])
    if "mm_token_type_ids" in given:
        kinds = given["mm_token_type_ids"]
        given["mm_token_type_ids"] = torch.cat([kinds, torch.zeros_like(extra)], dim=1)
    with torch.inference_mode():
        logits: torch.Tensor = model(architecture).net(**given, use_cache=False).logits[0]
    return logits


@ALL
def test_a_tree_behind_pictures_equals_plain_passes_over_its_branches(architecture: str):
    inputs = asked(architecture, 1, (48, 40), (90, 30))
    session = opened(architecture, inputs)
    committed: tuple[int, ...] = ()
    for step in range(3):
        tree = random_tree(step, 9)
        logits = session.logits(tree)
        for node in range(len(tree)):
            branch = tuple(tree.tokens[n] for n in tree.path(node))
            alone = plain(architecture, inputs, committed + branch)[-1]
            assert difference(logits[node], alone) < 1e-9
        path = tree.path(random.Random(step).randrange(9))
        session.commit(path)
        committed += tuple(tree.tokens[n] for n in path)


@ALL
def test_the_picture_matters_and_every_position_of_the_prompt_is_right(architecture: str):
    inputs = asked(architecture, 2, (48, 40))
    session = model(architecture).open(Capture(prompt_rows="all"))
    scores = finish(session.prefill(inputs))
    logits = plain(architecture, inputs)
    assert scores.picks == tuple(logits.argmax(-1).tolist())
    other = asked(architecture, 3, (48, 40))
    blind = finish(model(architecture).open().score(inputs.tokens, other.pixels))
    assert blind.picks[-1] != scores.picks[-1] or blind.peaks[-1] != scores.peaks[-1]


@ALL
def test_scoring_reads_the_pictures_of_its_request(architecture: str):
    inputs = asked(architecture, 4, (60, 60))
    more = tuple(tiny.VOCABULARY - 1 - n for n in range(8))
    scores = finish(model(architecture).open().score((*inputs.tokens, *more), inputs.pixels))
    logits = plain(architecture, inputs, more)
    assert scores.picks == tuple(logits.argmax(-1).tolist())
    logps = logits.log_softmax(-1)
    at = len(inputs.tokens)
    for i, token in enumerate(more):
        assert scores.own_logps[at + i] == pytest.approx(float(logps[at + i - 1, token]), abs=1e-4)


@ALL
def test_a_session_after_commits_equals_a_fresh_one(architecture: str):
    """Also where a long prompt ends a chunk in the middle of a picture."""
    inputs = asked(architecture, 5, *((96, 96),) * 16)
    assert any(seen.span[0] < CHUNK < seen.span[1] for seen in inputs.pictures)
    session = opened(architecture, inputs)
    committed = list(inputs.tokens)
    for step in range(4):
        tree = random_tree(step, 12)
        session.logits(tree)
        path = tree.path(random.Random(step).randrange(12))
        session.commit(path)
        committed += [tree.tokens[n] for n in path]
        assert session.length == len(committed)
        probe = random_tree(100 + step, 7)
        fresh = opened(architecture, replace(inputs, tokens=tuple(committed)))
        assert difference(session.logits(probe), fresh.logits(probe)) < 1e-9


@ALL
def test_a_request_with_a_large_picture_leaves_nothing_for_the_next_one(architecture: str):
    """A and B share a model; B has no picture, and comes again in between passes of A."""
    b = asked(architecture, 8)
    probe = random_tree(7, 10)
    expected = opened(architecture, b).logits(probe)
    used = tiny.model(architecture)
    first, second = used.open(), used.open()
    finish(first.prefill(asked(architecture, 6, (300, 200))))
    before = first.logits(probe)
    finish(second.prefill(b))
    assert torch.equal(second.logits(probe), expected)
    assert torch.equal(first.logits(probe), before)
    assert getattr(used.net.model, "rope_deltas", None) is None


@ALL
def test_what_a_generate_of_transformers_left_behind_does_not_matter(architecture: str):
    inputs, b = asked(architecture, 9, (64, 32)), asked(architecture, 9)
    expected = opened(architecture, b).logits(chain([40, 41]))
    model(architecture).net.generate(
        **model(architecture).given(inputs), max_new_tokens=3, do_sample=False
    )
    assert torch.equal(opened(architecture, b).logits(chain([40, 41])), expected)
    if architecture.startswith("qwen"):
        model(architecture).net.model.rope_deltas = None


def test_positions_of_qwen_go_on_from_the_larger_side_of_the_picture():
    """12 x 4 patches are 6 x 2 placeholders: twelve tokens that count as six positions."""
    inputs = asked("qwen2_5_vl", 1, (96, 32))
    (placed,) = inputs.pixels
    assert len(placed.rows) == 12
    session = opened("qwen2_5_vl", inputs)
    sight = session._cache.sight
    assert sight.delta == 6 - 12
    first = placed.rows[0]
    assert sight.positions[:, first + 7].tolist() == [first, first + 1, first + 1]
    assert sight.positions[:, placed.rows[-1] + 1].tolist() == [first + 6] * 3
    assert opened("qwen2_5_vl", asked("qwen2_5_vl", 1))._cache.sight is None


@ALL
def test_reading_can_be_stopped_between_pictures_and_chunks(architecture: str):
    inputs = asked(architecture, 3, (40, 40), (50, 50))
    session = model(architecture).open()
    reading = session.prefill(inputs)
    n = len(inputs.tokens)
    assert next(reading) == Progress(stage="prefill", done=0, total=n)
    assert next(reading) == Progress(stage="prefill", done=0, total=n)
    assert next(reading) == Progress(stage="prefill", done=min(n, CHUNK), total=n)
    reading.close()


@ALL
def test_abilities_and_blocked_ids(architecture: str):
    m = model(architecture)
    assert m.supports == {"tree", "rollback", "image"}
    name = "<|image_pad|>" if architecture.startswith("qwen") else "<image>"
    expected = {
        "q": {"<|vision_start|>", "<|vision_end|>", "<|video_pad|>"},
        "i": set(tiny.SPECIALS[8:]),
        "s": set(tiny.SPECIALS[8:]),
    }.get(architecture[0], set())
    blocked = {tiny.SPECIALS[i] for i in m.blocked_ids}
    assert blocked == expected | {name, "<|im_start|>", "<|endoftext|>"}
    assert m.eos_ids == {tiny.ID["<|im_end|>"]}
