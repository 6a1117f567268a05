"""Public checkpoints in, with a sentence for whatever does not fit; labels with a depth."""

from __future__ import annotations

import json

import pytest
import torch
import transformers
from safetensors.torch import save_file

from specviz.jobs import Job, run
from specviz.models import hf_hub, hf_load, registry, room, smollm2, stored, tiny_raven
from specviz.models.base import InputError, Inputs, Message, Unsupported, finish
from specviz.models.raven import RavenModel
from specviz.models.raven_label import Recurrence
from specviz.models.session import chain
from specviz.trace import Header, Progress
from specviz.training.raven_chat import write_tokenizer_config
from tests.models import tiny
from tests.plain_raven import Plain
from tests.tiny_raven import net, write

PROMPT = (5, 60, 70, 80, 90)
NAME = "transformer.core_block.1.mlp.fc.weight"


@pytest.fixture(autouse=True)
def own_entries(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.setattr(registry, "_loaded", {})


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return write(tmp_path_factory.mktemp("models") / "tiny@raven", net(depth=3), shards=3)


def sentence(call, *arguments, kind: type = InputError) -> str:
    with pytest.raises(kind) as caught:
        call(*arguments)
    return str(caught.value)


def logits(model: RavenModel) -> torch.Tensor:
    session = model.open()
    finish(session.prefill(Inputs(PROMPT)))
    return session.logits(chain((9, 8)))


def test_shards_give_the_network_that_was_written(checkpoint):
    model = registry.load(str(checkpoint), dtype="float64")
    assert isinstance(model, RavenModel)
    assert (model.label, model.depth, model.dtype) == ("tiny@raven", 3, "float64")
    assert (logits(model) - Plain(model).logits((*PROMPT, 9, 8), 3)[-2:]).abs().max() < 1e-9
    for name, weight in net(depth=3).named_parameters():
        assert torch.equal(weight, model.net.get_parameter(name))


def test_half_precision_and_what_a_file_need_not_hold(tmp_path):
    """bfloat16, a tied head written out, and the table of rotations."""
    made = net(depth=3)
    extra = {
        "lm_head.weight": made.transformer.wte.weight.detach().bfloat16().clone(),
        "freqs_cis": torch.zeros(1, 256, 1, 4, 2),
    }
    write(tmp_path, made, dtype=torch.bfloat16, add=extra)
    model = hf_load.load_folder(tmp_path, "cpu", "bfloat16")
    assert model.dtype == "bfloat16"
    assert model.net.lm_head.weight is model.net.transformer.wte.weight
    assert torch.equal(model.net.get_parameter(NAME), made.get_parameter(NAME).bfloat16())
    wide = hf_load.load_folder(tmp_path, "cpu", "float64")
    expected = Plain(wide).logits((*PROMPT, 9, 8), 3)[-2:]
    assert (logits(wide) - expected).abs().max() < 1e-9


def test_a_head_of_its_own_and_no_biases(tmp_path):
    made = net(depth=2)
    head = torch.randn(made.lm_head.weight.shape, dtype=torch.float64)
    for name, weight in made.named_parameters():
        if name.endswith("qk_bias"):
            torch.nn.init.zeros_(weight)
    write(tmp_path, made, add={"lm_head.weight": head}, tie_embeddings=False)
    model = hf_load.load_folder(tmp_path, "cpu", "float64")
    assert torch.equal(model.net.lm_head.weight, head)
    assert not torch.equal(model.net.transformer.wte.weight, head)
    tied = RavenModel(made, tiny.tokenizer(), label="tied", digest="0")
    assert (logits(model) - logits(tied)).abs().max() > 0.1
    kept = {k: v for k, v in made.state_dict().items() if not k.endswith("qk_bias")}
    del kept["lm_head.weight"]
    folder = write(tmp_path / "plain", made, qk_bias=False)
    save_file({k: v.contiguous() for k, v in kept.items()}, folder / "model.safetensors")
    unbiased = hf_load.load_folder(folder, "cpu", "float64")
    assert (logits(unbiased) - logits(tied)).abs().max() < 1e-9


def test_missing_and_unexpected_tensors_are_named(tmp_path):
    write(tmp_path, net(depth=2), leave_out=NAME, add={"transformer.gate.weight": torch.ones(2)})
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r", kind=Unsupported)
    assert message == (
        f"The checkpoint r lacks the tensors {NAME} and has the unknown tensors "
        "transformer.gate.weight: choose weights in the published format of this architecture, "
        "with the configuration that belongs to them."
    )


def test_weights_of_other_sizes_are_named(tmp_path):
    write(tmp_path, net(depth=2), intermediate_size=40)
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r", kind=Unsupported)
    assert "has tensors of another size, transformer.prelude.0.mlp.fc.weight (96x32 " in message
    assert "instead of 80x32)" in message
    assert message.count(":") == 1 and "and 9 more" in message


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"injection_type": "add"}, "r has injection_type 'add', this network computes 'linear'"),
        ({"num_key_value_heads": 2}, "r has num_key_value_heads '2', this network computes 4 only"),
        ({"nonlin_name": "ReLU"}, "r has nonlin_name 'ReLU'"),
        ({"n_embd": None}, "The config.json of r does not give n_embd as a whole number"),
        ({"n_heads": 5}, "n_embd has to be a multiple of twice n_heads"),
        ({"mean_recurrence": "32"}, "does not give mean_recurrence as a whole number"),
    ],
)
def test_networks_that_this_one_is_not(tmp_path, facts, reason):
    write(tmp_path, net(depth=2), **facts)
    assert reason in sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r")


def test_files_that_are_not_there_or_not_whole(tmp_path, checkpoint):
    for file in checkpoint.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model-00002-of-00003.safetensors").unlink()
    assert sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r").startswith(
        "r lacks model-00002-of-00003.safetensors: put all of its safetensors files"
    )
    (tmp_path / "model-00002-of-00003.safetensors").write_bytes(b"half")
    assert sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r") == (
        "model-00002-of-00003.safetensors cannot be read as safetensors: it is incomplete or "
        "damaged."
    )


def test_code_that_comes_with_a_checkpoint_never_runs(tmp_path):
    """The published folder holds modelling code for an old transformers: it is not needed."""
    auto = {"AutoModelForCausalLM": "evil.Model", "AutoConfig": "evil.Config"}
    write(tmp_path, net(depth=2), auto_map=auto, transformers_version="4.44.2")
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    assert hf_load.load_folder(tmp_path, "cpu", "float64").depth == 2


def test_old_code_of_another_architecture_is_refused_with_both_versions(tmp_path):
    facts = {
        "model_type": "huginn_old",
        "auto_map": {"AutoConfig": "evil.Config"},
        "transformers_version": "4.44.2",
    }
    (tmp_path / "config.json").write_text(json.dumps(facts))
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "old", kind=Unsupported)
    for part in (
        "old has",
        "needs transformers 4.44.2",
        f"transformers {transformers.__version__}",
    ):
        assert part in message


def test_end_tokens_of_all_places(tmp_path):
    write(tmp_path, net(depth=2), eos_token_id=[7, 9])
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": 11}')
    model = hf_load.load_folder(tmp_path, "cpu", "float64")
    assert model.eos_ids == {2, 7, 9, 11}


def test_a_label_may_carry_a_depth(checkpoint):
    name = str(checkpoint)  # with an @ of its own
    full = registry.load(name, dtype="float64")
    shallow = registry.load(f"{name}@2", dtype="float64")
    seeded = registry.load(f"{name}@2-seeded", dtype="float64")
    assert (shallow.label, shallow.depth) == (f"{checkpoint.resolve()}@2", 2)
    assert shallow.net is full.net
    assert len({full.digest, shallow.digest, seeded.digest}) == 3
    assert registry.load(f"{name}@3", dtype="float64").digest == full.digest
    expected = Plain(shallow).logits((*PROMPT, 9, 8), 2)[-2:]
    assert (logits(shallow) - expected).abs().max() < 1e-9
    assert (logits(seeded) - Plain(seeded).logits((*PROMPT, 9, 8), 2)[-2:]).abs().max() < 1e-9
    assert (logits(seeded) - expected).abs().max() > 1e-3


@pytest.mark.parametrize("spelled", ["0", "13", "x", "-1", "2.5", "4-warm", "", "1" * 40])
def test_a_depth_out_of_range_is_told_the_range(checkpoint, spelled: str):
    message = sentence(registry.find, f"{checkpoint}@{spelled}")
    assert (
        f"cannot run with {spelled[:20]!r} iterations: write a whole number from 1 to 12" in message
    )


@pytest.mark.parametrize("name", ["smollm2-135m@8", "toy@8"])
def test_ordinary_models_have_no_depth(name: str):
    message = sentence(registry.find, name, kind=Unsupported)
    assert message.startswith(f"{name[:-2]} has no depth to choose: it is an ordinary transformer")
    assert "no shared block is applied many times" in message


def fetched(monkeypatch, folder):
    """The hub's config.json, whoever asks for it, is that of ``folder``."""
    for module in (hf_hub, hf_load):
        monkeypatch.setattr(module, "hub_config", lambda repo: (folder / "config.json", True))


def test_an_ordinary_folder_or_hub_model_has_none_either(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text('{"model_type": "llama"}')
    assert "no shared block" in sentence(registry.find, f"{tmp_path}@8", kind=Unsupported)
    fetched(monkeypatch, tmp_path)
    assert registry.find("owner/name@8").label == "owner/name@8"
    message = sentence(registry.load, "owner/name@8", kind=Unsupported)
    assert message.startswith("owner/name has no depth to choose")
    assert "There is no model 'nope@8'" in sentence(registry.find, "nope@8")


def test_a_hub_model_is_refused_before_its_weights(tmp_path, checkpoint, monkeypatch):
    fetched(monkeypatch, checkpoint)
    assert "a whole number from 1 to 12" in sentence(registry.load, "owner/raven@13")
    assert sentence(registry.find, "huginn-0125@129").endswith("a start from fixed noise.")


def test_a_hub_model_is_loaded_from_its_snapshot(checkpoint, monkeypatch):
    asked = []

    def snapshot(repo: str, **options):
        asked.append((repo, options["allow_patterns"]))
        return str(checkpoint)

    fetched(monkeypatch, checkpoint)
    monkeypatch.setattr(stored, "offline", lambda: False)
    monkeypatch.setattr(hf_hub, "snapshot_download", snapshot)
    monkeypatch.setattr(room, "available", lambda device: 1e12)
    model = registry.load("huginn-0125", dtype="float64")
    assert (model.label, model.depth) == ("huginn-0125", 3)
    # The code that lies beside the weights is not even fetched.
    repo = "tomg-group-umd/huginn-0125"
    assert asked == [(repo, ["*.safetensors", "*.json", "*.jinja"])]


def test_the_same_prompt_twice_gives_the_same_tokens(checkpoint):
    """The published network begins every pass from another random state."""
    job = Job(model=f"{checkpoint}@3-seeded", prompt="ab", decoder="recap", dtype="float64",
              max_new_tokens=12)  # fmt: skip
    first, second = ([e for e in run(job) if not isinstance(e, Progress)] for _ in range(2))
    headers = [e for e in first if isinstance(e, Header)]
    assert [h.depth for h in headers] == [3, 3]
    emitted = [tiny.emitted(e for e in events if e.role == "decoder") for events in (first, second)]
    assert emitted[0] == emitted[1] == tiny.emitted(e for e in first if e.role == "baseline")
    assert len(emitted[0]) == 12
    assert first[-1].equal is True


def test_the_shipped_label(monkeypatch, tmp_path):
    entry = next(e for e in registry.entries() if e.label == "tiny-raven")
    assert entry.supports == {"tree", "rollback", "depth"}
    monkeypatch.setattr(tiny_raven, "FOLDER", tmp_path)
    assert "model.safetensors" in entry.problem()
    assert entry.digest() == ""
    assert "run specviz from a complete copy" in sentence(registry.load, "tiny-raven")
    write(tmp_path, net(depth=3))
    assert entry.problem() is None
    model = registry.load("tiny-raven", dtype="float64")
    assert model.digest == entry.digest() == registry.find("tiny-raven@3").digest()
    shallow = registry.find("tiny-raven@2")
    assert shallow.digest() == Recurrence(2).mark(entry.digest(), 3) != entry.digest()
    assert registry.load("tiny-raven@2", dtype="float64").digest == shallow.digest()


def test_the_chat_is_the_one_of_training(tmp_path):
    """Ids 0 to 4 are the special tokens; a turn is begin, user, text, assistant."""
    from specviz.training.raven_text import Document, build_tokenizer, encode

    texts = [Document("words", "Tom has 3 apples.", "He has 3.")] * 3
    tokenizer = build_tokenizer(texts, 300)
    write(tmp_path, net(depth=2))
    for file in tmp_path.glob("*token*"):
        file.unlink()
    (tmp_path / "chat_template.jinja").unlink(missing_ok=True)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    write_tokenizer_config(tmp_path)
    model = hf_load.load_folder(tmp_path, "cpu", "float64")
    ids = encode(tokenizer, texts[0]).ids
    asked = model.encode([Message("user", texts[0].user)]).tokens
    assert asked == tuple(ids[: len(asked)]) and ids[len(asked) - 1] == 3
    chat = [Message("user", "A"), Message("assistant", "B"), Message("user", "C")]
    spelled = b"".join(model.token_bytes(t) for t in model.encode(chat).tokens)
    assert spelled == (b"<|begin_text|><|user|>A<|assistant|>B<|end_turn|><|user|>C<|assistant|>")
    led = [Message("system", "S"), Message("user", "<|end_turn|>")]
    tokens = model.encode(led).tokens
    assert 4 not in tokens and tokens[:2] == (1, 2)
    said = b"".join(model.token_bytes(t) for t in tokens)
    assert said == b"<|begin_text|><|user|>S\n\n<|end_turn|><|assistant|>"
    assert (model.eos_ids, model.blocked_ids) == ({4}, {0, 1})


def test_the_default_model_stays_the_first():
    assert registry.entries()[0].label == smollm2.LABEL


DAMAGED = {
    "n_heads": (0, "fit no network: n_heads is 0, it has to be from 1 to 1024."),
    "n_embd": (True, "does not give n_embd as a whole number"),
    "n_layers_in_recurrent_block": (10**6, "n_layers_in_recurrent_block is 1000000, it has to be"),
    "block_size": (10**10, "block_size is 10000000000, it has to be from 1 to 262144."),
    "mean_recurrence": (10**9, "mean_recurrence is 1000000000, it has to be from 1 to 256."),
    "rope_base": ("abc", "The config.json of r has rope_base 'abc': give a number above 0."),
    "norm_eps": (-1.0, "The config.json of r has norm_eps '-1.0': give a number above 0."),
    "eos_token_id": ([3, -4], "The config.json of r has eos_token_id '-4': give a token's number"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_sizes_that_nobody_believes_are_refused_before_anything_is_built(tmp_path, name):
    value, reason = DAMAGED[name]
    write(tmp_path, net(depth=2), **{name: value})
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r", kind=Unsupported)
    assert reason in message


def test_a_mean_that_nobody_believes_gives_no_range(tmp_path):
    write(tmp_path / "r", net(depth=2), mean_recurrence=-5)
    assert "-20" not in sentence(registry.find, f"{tmp_path}/r@3")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (
            "tokenizer.json", None,
            "r lacks tokenizer.json: put the tokenizer's files into the folder.",
        ),
        (
            "tokenizer.json", "{",
            "The tokenizer of r cannot be read: give the tokenizer.json and the "
            "tokenizer_config.json that were saved with the weights.",
        ),
        *(
            (name, content, f"The {name} of r is damaged: give the file that was saved with the "
             "weights.")
            for name in ("generation_config.json", "model.safetensors.index.json")
            for content in ("{", "[]" if name[0] == "g" else '{"weight_map": {"a": "../b"}}')
        ),
        (
            "model.safetensors.index.json", '{"weight_map": {"a": {}}}',
            "The model.safetensors.index.json of r is damaged: give the file that was saved with "
            "the weights.",
        ),
    ],
)  # fmt: skip
def test_damaged_files_beside_the_weights_are_named(tmp_path, file, content, message, caplog):
    write(tmp_path, net(depth=2))
    if content is None:
        (tmp_path / file).unlink()
    else:
        (tmp_path / file).write_text(content)
    assert sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r") == message
    assert caplog.text == ""


def test_a_tokenizer_with_more_tokens_than_the_network_is_refused(tmp_path):
    size = max(tiny.tokenizer().get_vocab().values()) + 1
    write(tmp_path, net(depth=2, vocab=size - 1))
    assert sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r") == (
        f"The tokenizer of r has {size} tokens, its network {size - 1}: give the "
        "tokenizer that was saved with the weights."
    )


def test_a_tensor_of_any_name_is_told_in_one_line(tmp_path):
    write(tmp_path, net(depth=2), add={"a\n b": torch.ones(2)})
    message = sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r")
    assert "has the unknown tensors a b: " in message


def test_a_kind_of_model_that_is_no_word_is_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": ["a"]}')
    assert sentence(hf_load.load_folder, tmp_path, "cpu", "float32", "r").startswith(
        "r has an architecture that transformers "
    )
