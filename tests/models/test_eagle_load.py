from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from specviz.models.base import InputError
from specviz.models.eagle_config import default_aux_layers
from specviz.models.eagle_load import load_head
from specviz.models.eagle_net import EagleHead, HeadConfig
from specviz.models.eagle_rope import Rope, Scaling

CONFIG = HeadConfig(
    hidden_size=12, target_hidden_size=12, intermediate_size=20, heads=4, kv_heads=2, head_dim=6,
    vocab_size=30, draft_vocab_size=4, aux_layers=(2, 4, 5), rope=Rope(500.0), max_positions=64,
)  # fmt: skip
LAYER = {
    "hidden_size": 12, "intermediate_size": 20, "num_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 6, "vocab_size": 30, "rope_theta": 500.0, "max_position_embeddings": 64,
    "num_hidden_layers": 1, "rms_norm_eps": 1e-6,
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
SAFE = {"architectures": ["LlamaForCausalLMEagle3"], "draft_vocab_size": 4, **LAYER}
SPECULATORS = {
    "architectures": ["Eagle3Speculator"], "speculators_model_type": "eagle3",
    "transformer_layer_config": LAYER, "draft_vocab_size": 4, "norm_before_residual": True,
    "fc_norm": True, "target_hidden_size": None, "eagle_aux_hidden_state_layer_ids": [1, 3, 6],
}  # fmt: skip


def head(**changes: Any) -> EagleHead:
    torch.manual_seed(5)
    made = EagleHead(replace(CONFIG, **changes))
    if made.config.draft_vocab_size == 4:
        made.choose(torch.tensor([3, 4, 10, 29]))
    return made


def put(folder: Path, facts: dict[str, Any], state: dict[str, Tensor]) -> Path:
    (folder / "config.json").write_text(json.dumps(facts), encoding="utf-8")
    save_file({k: v.contiguous() for k, v in state.items()}, folder / "model.safetensors")
    return folder


def load(folder: Path, hidden: int = 12, vocabulary: int = 30, layers: int = 8) -> EagleHead:
    return load_head(folder, hidden, vocabulary, layers, torch.float32, "the head")


def same(a: EagleHead, b: EagleHead) -> None:
    ours, theirs = a.state_dict(), b.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_the_format_of_safeailab(tmp_path: Path) -> None:
    given = head()
    found = load(put(tmp_path, SAFE, given.state_dict()))
    assert found.config == CONFIG
    same(found, given)


def test_the_format_of_speculators(tmp_path: Path) -> None:
    given = head(norm_before_residual=True, fc_norm=True)
    state = {k.replace("midlayer.", "layers.0."): v for k, v in given.state_dict().items()}
    state["embed_tokens.weight"] = torch.zeros(30, 12)
    found = load(put(tmp_path, SPECULATORS, state))
    assert found.config == replace(
        CONFIG, norm_before_residual=True, fc_norm=True, aux_layers=(1, 3, 6)
    )
    same(found, given)


@pytest.mark.parametrize("layout", ["rope_scaling", "rope_parameters"])
def test_positions_stretched_as_in_llama_3(tmp_path: Path, layout: str) -> None:
    given = head()
    found = load(put(tmp_path, {**SAFE, layout: LLAMA3}, given.state_dict()))
    assert found.config.rope == Rope(500.0, Scaling(8.0, 1.0, 4.0, 8192))


def test_without_maps_both_vocabularies_are_the_same(tmp_path: Path) -> None:
    state = head(draft_vocab_size=30).state_dict()
    del state["d2t"], state["t2d"]
    found = load(put(tmp_path, {**LAYER}, state))
    assert found.target_ids().tolist() == list(range(30))
    assert bool(found.t2d.all())


def test_the_usual_feature_layers() -> None:
    assert default_aux_layers(30) == (2, 15, 27)
    assert default_aux_layers(32) == (2, 16, 29)
    with pytest.raises(InputError, match=r"^The target has 2 layers, an EAGLE-3 head needs 6: "):
        default_aux_layers(2)


@pytest.mark.parametrize(
    ("hidden", "vocabulary", "sentence"),
    [
        (16, 30, "the head was made for hidden states of size 12, the target has 16: "),
        (12, 31, "the head was made for a vocabulary of 30, the target has 31: "),
    ],
)
def test_a_head_for_another_target(
    tmp_path: Path, hidden: int, vocabulary: int, sentence: str
) -> None:
    put(tmp_path, SAFE, head().state_dict())
    with pytest.raises(InputError) as caught:
        load(tmp_path, hidden, vocabulary)
    assert str(caught.value).startswith(sentence)


def without(state: dict[str, Tensor]) -> None:
    del state["fc.weight"]


def besides(state: dict[str, Tensor]) -> None:
    state["midlayer.extra"] = torch.zeros(1)


def resized(state: dict[str, Tensor]) -> None:
    state["norm.weight"] = torch.ones(5)


def beyond(state: dict[str, Tensor]) -> None:
    state["d2t"] = state["d2t"] + 20


def contradicting(state: dict[str, Tensor]) -> None:
    state["t2d"] = ~state["t2d"]


@pytest.mark.parametrize(
    ("break_it", "sentence"),
    [
        (without, "the head lacks the tensors fc.weight: "),
        (besides, "the head has the unknown tensors midlayer.extra: "),
        (resized, "the head has tensors of another size, norm.weight (5 instead of 12): "),
        (beyond, "The map d2t of the head names tokens twice or beyond the vocabulary: "),
        (contradicting, "The maps d2t and t2d of the head contradict one another: "),
    ],
)
def test_tensors_that_are_not_a_heads(tmp_path: Path, break_it: Any, sentence: str) -> None:
    state = head().state_dict()
    break_it(state)
    put(tmp_path, SAFE, state)
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(sentence)
    assert str(caught.value).count(". ") == 0


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"hidden_size": 0}, "The config.json of the head has hidden_size '0': it has to be "),
        ({"num_hidden_layers": 2}, "The config.json of the head has num_hidden_layers '2': it "),
        (
            {"eagle_aux_hidden_state_layer_ids": [1, 8]},
            "The config.json of the head has eagle_aux_hidden_state_layer_ids '[1, 8]': it has to "
            "be one to eight layers below 8, ",
        ),
        (
            {"rope_scaling": {"rope_type": "yarn"}},
            "The config.json of the head has rope_type 'yarn': it has to be one of 'default', ",
        ),
        (
            {"rope_scaling": {"type": "linear"}},
            "The config.json of the head has factor 'None': it has to be a number above 0",
        ),
        (
            {"rope_parameters": {**LLAMA3, "high_freq_factor": 1.0}},
            "The config.json of the head has high_freq_factor '1.0': it has to be above low_",
        ),
        ({"fc_norm": "yes"}, "The config.json of the head has fc_norm 'yes': it has to be true "),
        ({"draft_vocab_size": 31}, "The config.json of the head has draft_vocab_size '31': it "),
    ],
)
def test_a_config_that_is_not_a_heads(tmp_path: Path, facts: dict[str, Any], sentence: str) -> None:
    put(tmp_path, {**SAFE, **facts}, head().state_dict())
    with pytest.raises(InputError) as caught:
        load(tmp_path)
    assert str(caught.value).startswith(sentence)


def test_weights_that_are_absent_or_damaged(tmp_path: Path) -> None:
    put(tmp_path, SAFE, head().state_dict())
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputError, match=r"^model.safetensors of the head cannot be read: "):
        load(tmp_path)
    file.unlink()
    with pytest.raises(InputError, match=r"^the head has no weights file "):
        load(tmp_path)


@pytest.mark.parametrize(
    ("layer", "window"),
    [
        ({"sliding_window": 48, "layer_types": ["sliding_attention"]}, 48),
        ({"sliding_window": 48, "layer_types": ["full_attention"]}, None),
        ({"sliding_window": 48}, 48),
        ({"sliding_window": 48, "use_sliding_window": False}, None),
        ({"sliding_window": None, "layer_types": ["full_attention"]}, None),
    ],
)
def test_a_head_that_was_made_for_a_window_says_so(
    tmp_path: Path, layer: dict[str, Any], window: int | None
) -> None:
    facts = {**SPECULATORS, "transformer_layer_config": {**LAYER, **layer}}
    state = head(norm_before_residual=True, fc_norm=True).state_dict()
    assert load(put(tmp_path, facts, state)).config.window == window


def test_embeddings_of_its_own_are_used_where_a_head_was_trained_with_them(tmp_path: Path) -> None:
    target = torch.zeros(30, 12)
    plain = head()
    state = plain.state_dict() | {"embed_tokens.weight": torch.ones(30, 12)}
    found = load(put(tmp_path, SAFE, state))
    assert found.embeddings(target) is target
    own = load(put(tmp_path, {**SAFE, "embed_requires_grad": True}, state))
    assert torch.equal(own.embeddings(target), torch.ones(30, 12))
    put(tmp_path, {**SAFE, "embed_requires_grad": True}, plain.state_dict())
    with pytest.raises(InputError, match=r"^the head lacks the tensors embed_tokens.weight: "):
        load(tmp_path)


@pytest.mark.parametrize("kinds", [5, "sliding_attention", {}, [1]])
def test_kinds_of_layers_are_a_list_of_names(tmp_path: Path, kinds: object) -> None:
    put(tmp_path, {**SAFE, "sliding_window": 9, "layer_types": kinds}, head().state_dict())
    with pytest.raises(InputError, match=r"has layer_types .*: it has to be a list of names\.$"):
        load(tmp_path)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    state = head().state_dict()
    state["lm_head.weight"][1, 2] = torch.nan
    with pytest.raises(InputError, match=r"^lm_head.weight of the head holds numbers that are not"):
        load(put(tmp_path, SAFE, state))
    state["lm_head.weight"] = torch.ones(4, 12, dtype=torch.int8)
    with pytest.raises(InputError, match=r"^lm_head.weight of the head holds no floating-point"):
        load(put(tmp_path, SAFE, state))


def test_a_file_of_tensors_without_names_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(SAFE), encoding="utf-8")
    torch.save({1: torch.ones(2)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"^pytorch_model.bin of the head cannot be read: "):
        load(tmp_path)


def test_a_folder_without_a_config_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^the head has no config.json: give a folder "):
        load(tmp_path)
