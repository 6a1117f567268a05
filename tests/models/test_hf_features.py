from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from specviz.decoding import decode
from specviz.drafters import create
from specviz.drafters.window import Window
from specviz.models.base import Capture, Inputs, finish
from specviz.models.hf import HFModel
from specviz.models.hf_features import FeatureSession
from specviz.models.session import CHUNK, chain
from specviz.trace import Seconds, Step
from specviz.tree import DraftTree
from specviz.windows import MODES, Bounds
from tests.models.tiny import model
from tests.tiny_head import head_folder

LAYERS = (0, 1)
PROMPT = tuple((7 * i) % 250 + 5 for i in range(2 * CHUNK + 20))


@pytest.fixture(scope="module")
def head(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(head_folder(tmp_path_factory.mktemp("head")))


def tapped(target: HFModel, head: str, kept: Bounds | None = None) -> FeatureSession:
    session = target.open(Capture(head=head, kept=kept))
    assert isinstance(session, FeatureSession) and session.layers == LAYERS
    return session


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
def test_features_of_prompt_and_accepted_rows_without_a_second_pass(
    architecture: str, head: str
) -> None:
    target = model(architecture)
    session = tapped(target, head)
    finish(session.prefill(Inputs(PROMPT)))
    first = session.take_features()
    session.verify(DraftTree((9, 10, 11, 12, 13), (-1, 0, 0, 2, 2)))
    session.commit([0, 2, 4])
    session.verify(chain([21, 22]))
    session.commit([0])
    second = session.take_features()
    expected = plain(target, [*PROMPT, 9, 11, 13, 21])
    assert first.shape == (len(PROMPT), 96)
    assert second.shape == (4, 96)
    # Eager attention takes its softmax in float32; another row's features are off by about 1.
    assert float((torch.cat([first, second]) - expected).abs().max()) < 1e-5


def test_the_scores_are_those_of_a_plain_session(head: str) -> None:
    target = model()
    session, other = tapped(target, head), target.open()
    tree = DraftTree((9, 10, 11), (-1, 0, 0))
    for each in (session, other):
        finish(each.prefill(Inputs((5, 6, 7))))
    assert session.verify(tree) == other.verify(tree)


def test_scoring_and_verifying_alone_keep_nothing(head: str) -> None:
    session = tapped(model(), head)
    finish(session.prefill(Inputs((5, 6, 7))))
    session.take_features()
    finish(session.score((5, 6, 7, 8)))
    session.verify(chain([9, 10]))
    with pytest.raises(AssertionError, match="no position was committed"):
        session.take_features()


def test_a_plain_session_asks_for_no_hidden_states(head: str) -> None:
    target = model()
    asked: list[object] = []
    target.net.register_forward_pre_hook(
        lambda _, __, given: asked.append(given["output_hidden_states"]), with_kwargs=True
    )
    finish(target.open().prefill(Inputs((5, 6, 7))))
    finish(tapped(target, head).prefill(Inputs((5, 6, 7))))
    assert asked == [False, [0, 1]]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_narrow_target_reads_in_chunks_and_as_if_in_one_pass(
    attention: str, head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = model(attention=attention)
    session = tapped(target, head)
    finish(session.prefill(Inputs(PROMPT)))
    window = PROMPT[9:]
    shapes: list[tuple[int, ...]] = []
    masks = target._masks

    def spied(base: int, tree: DraftTree, positions: Any) -> Any:
        shapes.append((base, len(tree)))
        return masks(base, tree, positions)

    monkeypatch.setattr(target, "_masks", spied)
    found = session.narrow_features(window)
    assert shapes == [(0, CHUNK), (CHUNK, CHUNK), (2 * CHUNK, 11)]
    close = 1e-9 if attention == "sdpa" else 1e-5
    assert float((found - plain(target, list(window))).abs().max()) < close
    assert session.length == len(PROMPT), "the session's own cache is another"
    # What lies before the window counts, or this would show nothing.
    assert float((found - session.take_features()[9:]).abs().max()) > 0.01


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("sinks", "window"), [(3, 7), (0, CHUNK + 9), (4, 1), (4, 600)])
def test_of_a_prompt_only_what_stays_is_held(mode: str, sinks: int, window: int, head: str) -> None:
    target = model()
    bounds = Bounds(mode, sinks, window, 3, 64)  # type: ignore[arg-type]
    session, whole = tapped(target, head, bounds), tapped(target, head)
    most = 0
    for _ in session.prefill(Inputs(PROMPT)):
        most = max(most, sum(map(len, session._kept)))
    finish(whole.prefill(Inputs(PROMPT)))
    every = whole.take_features()
    stay = torch.cat([every[list(rows)] for rows in bounds.kept(len(PROMPT))])
    assert torch.equal(session.take_features(), stay)
    assert most == (min(sinks + window, len(PROMPT)) if bounds.bounded else len(PROMPT))
    # Rows of accepted branches come whole: few, and all of them new.
    for each in (session, whole):
        each.verify(chain([21, 22]))
        each.commit([0, 1])
    assert torch.equal(session.take_features(), whole.take_features())


NO_TIME = Seconds(draft=0, verify=0, commit=0, total=0)
KNOBS: list[dict[str, Any]] = [
    {"mode": mode, "sinks": 2, "window": 9, "least": 0.0} for mode in MODES
]
KNOBS += [{"features": "truncated", "sinks": 2, "window": CHUNK + 20, "mode": "window_abs"}]


@pytest.mark.parametrize("knobs", KNOBS, ids=lambda k: k["mode"] + k.get("features", ""))
def test_drafts_and_evidence_are_those_of_a_session_that_holds_everything(
    knobs: dict[str, Any], head: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = model()

    def steps() -> list[Step]:
        drafter = create("window", {"head": head, **knobs})
        events = decode(target, Inputs(PROMPT[: CHUNK + 100]), drafter, 8)
        found = [e for e in events if isinstance(e, Step)]
        return [s.model_copy(update={"seconds": NO_TIME}) for s in found]

    trimmed, capture, asked = steps(), Window.capture, []

    def whole(self: Window) -> Capture:
        asked.append(capture(self))
        return replace(asked[-1], kept=None)

    monkeypatch.setattr(Window, "capture", whole)
    assert trimmed == steps()
    assert asked[0].kept is not None and len(trimmed) > 2
