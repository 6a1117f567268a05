"""The folder of trained weights: what is written can be read again, by training and by specviz."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from specviz.models.base import Message
from specviz.models.raven_load import load as load_model
from specviz.training.raven_documents import make
from specviz.training.raven_text import build_tokenizer
from specviz.training.raven_weights import CONFIG, initialise, load, save, tokenizer_in
from specviz.training.steps import History

SMALL = replace(CONFIG, n_embd=32, n_heads=4, intermediate_size=48, vocab_size=400)


def test_a_network_comes_back_in_half_precision_with_its_history(tmp_path: Path) -> None:
    fresh, seen = load(tmp_path / "none", SMALL)
    assert seen == History(0, 0.0)
    save(fresh, tmp_path, History(1200, 2.5))
    again, seen = load(tmp_path, SMALL)
    assert seen == History(1200, 2.5)
    assert again.lm_head.weight is again.transformer.wte.weight
    for name, weight in fresh.state_dict().items():
        assert torch.equal(again.state_dict()[name], weight.bfloat16().float()), name
    assert {t.dtype for t in load_file(tmp_path / "model.safetensors").values()} == {torch.bfloat16}


def test_weights_without_a_history_are_enough_to_go_on_from(tmp_path: Path) -> None:
    fresh, _ = load(tmp_path / "none", SMALL)
    save(fresh, tmp_path, History(1200, 2.5))
    (tmp_path / "history.json").unlink()
    again, seen = load(tmp_path, SMALL)
    assert seen == History(0, 0.0)
    weight = again.transformer.adapter.weight
    assert torch.equal(weight, fresh.transformer.adapter.weight.bfloat16().float())


def test_the_embedded_model_stays_below_nine_megabytes(tmp_path: Path) -> None:
    save(load(tmp_path / "none")[0], tmp_path, History())
    assert (tmp_path / "model.safetensors").stat().st_size < 9_000_000


def test_fresh_weights_have_the_deviation_of_the_paper() -> None:
    torch.manual_seed(1)
    net, _ = load(Path("nowhere"), SMALL)
    initialise(net)
    assert net.transformer.wte.weight.std().item() == pytest.approx((2 / 160) ** 0.5, rel=0.03)
    projection = net.transformer.core_block[0].mlp.proj.weight
    assert projection.std().item() == pytest.approx(0.2 * (2 / 160) ** 0.5, rel=0.06)


def test_weights_of_another_network_are_refused_with_their_names(tmp_path: Path) -> None:
    save(load(tmp_path / "none", SMALL)[0], tmp_path, History())
    other = replace(SMALL, n_layers_in_coda=2, vocab_size=401)
    with pytest.raises(SystemExit) as refusal:
        load(tmp_path, other)
    assert str(refusal.value) == (
        f"The weights in {tmp_path} are of another network (transformer.coda.1.attn.Wqkv.weight, "
        "transformer.coda.1.attn.proj.weight, transformer.coda.1.attn.qk_bias differ): "
        "name an empty folder with --out."
    )


def test_specviz_loads_what_training_saved(tmp_path: Path) -> None:
    rng = random.Random(2)
    tokenizer = build_tokenizer([make("words", rng) for _ in range(200)], SMALL.vocab_size)
    net, _ = load(tmp_path / "none", SMALL)
    save(net, tmp_path, History())
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    model = load_model(tmp_path, "cpu", "float32", "tiny", "digest")
    assert model.eos_ids == {4}
    asked = model.encode([Message("user", "Tom has 5 eggs.")]).tokens
    assert [tokenizer.id_to_token(i) for i in asked[:2]] == ["<|begin_text|>", "<|user|>"]
    assert tokenizer.id_to_token(asked[-1]) == "<|assistant|>"


def test_the_tokenizer_is_trained_once_and_never_on_held_out_problems(tmp_path: Path) -> None:
    school = tmp_path / "school.jsonl"
    # Question 21 is held out: its rare word stays in pieces, that of its neighbour becomes whole.
    rows = [
        {"question": f"Question {i}?", "answer": " ".join(["qzvx" if i == 21 else "wkjq"] * 400)}
        for i in (20, 21)
    ]
    school.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    made = tokenizer_in(tmp_path / "out", school, ("school",), 300)
    assert [made.id_to_token(i) for i in made.encode(" wkjq").ids] == ["Ġwkjq"]
    assert len(made.encode(" qzvx").ids) > 1
    school.unlink()
    again = tokenizer_in(tmp_path / "out", school, ("school",), 300)
    assert again.to_str() == made.to_str()
