from __future__ import annotations

import pytest
import torch
from torch import Tensor

from specviz.models.base import Inputs, finish
from specviz.models.hf import HFModel
from specviz.models.session import CHUNK, chain
from specviz.tree import DraftTree
from tests.models.tiny import model

LAYERS = (0, 1)


def plain(target: HFModel, tokens: list[int]) -> Tensor:
    """Features [n, 2 hidden] of one pass without any cache, read off by hooks."""
    seen: list[Tensor] = []
    hooks = [
        target.net.model.layers[i].register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        for i in LAYERS
    ]
    with torch.inference_mode():
        target.net(input_ids=torch.tensor([tokens]), use_cache=False)
    for hook in hooks:
        hook.remove()
    return torch.cat([x[0] for x in seen], dim=-1)


@pytest.mark.parametrize("architecture", ["llama", "gemma3"])
def test_features_of_prompt_and_accepted_rows_without_a_second_pass(architecture: str) -> None:
    target = model(architecture)
    session = target.open_tapped(LAYERS)
    prompt = [(7 * i) % 250 + 5 for i in range(CHUNK + 20)]
    finish(session.prefill(Inputs(tuple(prompt))))
    first = session.take_features()
    session.verify(DraftTree((9, 10, 11, 12, 13), (-1, 0, 0, 2, 2)))
    session.commit([0, 2, 4])
    session.verify(chain([21, 22]))
    session.commit([0])
    second = session.take_features()
    expected = plain(target, [*prompt, 9, 11, 13, 21])
    assert first.shape == (len(prompt), 96)
    assert second.shape == (4, 96)
    # Eager attention takes its softmax in float32; another row's features are off by about 1.
    assert float((torch.cat([first, second]) - expected).abs().max()) < 1e-5


def test_the_scores_are_those_of_a_plain_session() -> None:
    target = model()
    tapped, other = target.open_tapped(LAYERS), target.open()
    tree = DraftTree((9, 10, 11), (-1, 0, 0))
    for session in (tapped, other):
        finish(session.prefill(Inputs((5, 6, 7))))
    assert tapped.verify(tree) == other.verify(tree)


def test_scoring_and_verifying_alone_keep_nothing() -> None:
    session = model().open_tapped(LAYERS)
    finish(session.prefill(Inputs((5, 6, 7))))
    session.take_features()
    finish(session.score((5, 6, 7, 8)))
    session.verify(chain([9, 10]))
    with pytest.raises(AssertionError, match="no position was committed"):
        session.take_features()


def test_a_plain_session_asks_for_no_hidden_states() -> None:
    target = model()
    asked: list[object] = []
    target.net.register_forward_pre_hook(
        lambda _, __, given: asked.append(given["output_hidden_states"]), with_kwargs=True
    )
    finish(target.open().prefill(Inputs((5, 6, 7))))
    finish(target.open_tapped(LAYERS).prefill(Inputs((5, 6, 7))))
    assert asked == [False, [0, 1]]
