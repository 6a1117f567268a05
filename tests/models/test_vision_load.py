"""Image-text checkpoints on disk, spread over devices, and which models stay in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelerate import cpu_offload, dispatch_model
from transformers import AutoConfig

from specviz.decoding import decode
from specviz.drafters import create
from specviz.jobs import Job, run
from specviz.models import registry, room, stored
from specviz.models.base import InputError, Message, Unsupported, finish
from specviz.models.entries import Entry
from specviz.models.vision import VisionModel
from specviz.trace import Prefill, Progress, Step, Trace
from tests.models import tiny_vision as tiny
from tests.models.sessions import difference, random_tree


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.setattr(registry, "_loaded", {})
    monkeypatch.setattr(registry, "_large", set())


def saved(folder: Path, architecture: str) -> Path:
    tiny.net(architecture, torch.float32).save_pretrained(folder)
    tiny.tokenizer("{{ messages[0]['content'] }}").save_pretrained(folder)
    tiny.processor(architecture).save_pretrained(folder)
    # As processors are saved: their template knows pictures, an old tokenizer's may not.
    (folder / "chat_template.jinja").write_text(tiny.template(architecture))
    return folder


@pytest.mark.parametrize("architecture", ["llava", "llava_next", "idefics3", "smolvlm",
                                          "qwen2_5_vl", "qwen3_vl"])  # fmt: skip
def test_a_folder_answers_like_the_network_it_was_saved_from(tmp_path: Path, architecture: str):
    folder = saved(tmp_path / "m", architecture)
    entry = registry.find(str(folder))
    assert (entry.kind, entry.supports) == ("image", {"tree", "rollback", "image"})
    loaded = registry.load(str(folder), "cpu", "float32", packed=False)
    assert isinstance(loaded, VisionModel)
    messages = [Message("user", "ab <image> c?", (tiny.picture(1),))]
    inputs = loaded.encode(messages)
    made = tiny.model(architecture, torch.float32)
    assert inputs.tokens == made.encode(messages).tokens

    def answer(model: VisionModel) -> list[int]:
        events = decode(model, inputs, create("recap", {}), 12)
        found = [e for e in events if isinstance(e, (Prefill, Step))]
        return [t for e in found for t in ([e.token] if isinstance(e, Prefill) else e.emitted)]

    assert answer(loaded) == answer(made)


def test_a_job_carries_pictures_to_a_folder(tmp_path: Path):
    folder = saved(tmp_path / "m", "llava")
    job = Job(model=str(folder), prompt="ab?", pictures=(tiny.picture(2),), max_new_tokens=16)
    trace = Trace(tuple(e for e in run(job) if not isinstance(e, Progress)))
    assert trace.check is not None and trace.check.equal is True
    (used,) = trace.run().header.pictures
    assert (used.seen.width, used.seen.height) == (32, 32)
    assert used.seen_notes == ("Shown to the model at 32 x 32 pixels, stretched to fit.",)


def test_other_ways_to_read_pictures_are_refused_in_a_sentence(tmp_path: Path):
    AutoConfig.for_model("paligemma").save_pretrained(tmp_path)
    with pytest.raises(Unsupported) as caught:
        registry.load(str(tmp_path), "cpu", "float32")
    assert str(caught.value) == (
        f"{tmp_path.name} (paligemma) reads pictures in a way of its own: choose a text model, or "
        "an image-text model of one of the kinds llava, llava_next, idefics3, smolvlm, qwen2_5_vl, "
        "qwen3_vl."
    )


def test_a_checkpoint_without_image_processor_is_refused_in_a_sentence(tmp_path: Path):
    folder = saved(tmp_path / "m", "llava")
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(Unsupported, match="m could not be loaded: its files are incomplete"):
        registry.load(str(folder), "cpu", "float32")


@pytest.mark.parametrize("away", ["cpu", "disk"])
@pytest.mark.parametrize("architecture", ["llava-clip", "qwen2_5_vl", "qwen3_vl"])
def test_a_network_spread_by_accelerate_verifies_trees(
    tmp_path: Path, architecture: str, away: str
):
    """Weights come when a layer runs; keys and values stay, so commits compact them as ever.

    Not with a SigLIP tower: it ends in a block that accelerate must not split.
    """
    net = tiny.net(architecture)
    if away == "cpu":
        cpu_offload(net, execution_device=torch.device("cpu"))
    else:
        kept = ("embed_tokens", "norm", "rotary_emb", "layers.0")
        names = [name for name, _ in net.model.named_children() if name != "language_model"]
        places = {f"model.{name}": "disk" for name in names}
        places |= {f"model.language_model.{name}": "cpu" for name in kept} | {"lm_head": "cpu"}
        layers = range(1, net.config.get_text_config().num_hidden_layers)
        places |= {f"model.language_model.layers.{n}": "disk" for n in layers}
        dispatch_model(net, places, "cpu", offload_dir=str(tmp_path), force_hooks=True)
    assert net.model.language_model.layers[1].mlp.up_proj.weight.device.type == "meta"
    model = VisionModel(
        net, tiny.tokenizer(tiny.template(architecture)), tiny.processor(architecture),
        label="spread", digest="0",
    )  # fmt: skip
    assert model.device == "cpu"
    whole = tiny.model(architecture)
    inputs = whole.encode([Message("user", "ab?", (tiny.picture(1), tiny.picture(2, 80, 30)))])
    sessions = [m.open() for m in (model, whole)]
    for session in sessions:
        finish(session.prefill(inputs))
    for step in range(3):
        tree = random_tree(step, 10)
        mine, theirs = (session.logits(tree) for session in sessions)
        assert difference(mine, theirs) < 1e-9
        path = tree.path(9 - step)
        for session in sessions:
            session.commit(path)


# Which models stay


def fake(label: str, large: bool) -> Entry:
    def load(device: str, dtype: str):
        return SimpleNamespace(label=label)

    return Entry(label, label, load, "image", large=large)


def test_one_large_model_stays_in_memory():
    for label, large in (("big-a", True), ("small", False), ("big-b", True)):
        registry.register(fake(label, large))
        registry.load(label, "cpu", packed=False)
    assert [label for label, _, _ in registry.loaded()] == ["small", "big-b"]
    registry.load("big-b", "cpu", "bfloat16", packed=False)
    assert registry.loaded() == (("small", "cpu", "float32"), ("big-b", "cpu", "bfloat16"))
    registry.load("big-a", "cpu", packed=False)
    assert [label for label, _, _ in registry.loaded()] == ["small", "big-a"]


def test_a_model_that_does_not_fit_drives_nobody_out(monkeypatch):
    """What would be freed counts; a refusal leaves everything as it was."""
    free = [5.0]
    monkeypatch.setattr(room, "_machine", lambda: free[0])
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for label, billions in (("big-a", 2.0), ("big-b", 3.0), ("big-c", 8.0)):
        registry.register(replace(fake(label, True), parameters=billions))
    held = registry.load("big-a", "cpu", "bfloat16", packed=False)
    free[0] = 1.0  # 4 GB of it are held now
    with pytest.raises(Unsupported, match=r"needs about 17.0 GB of memory and 5.0 GB are free"):
        registry.load("big-c", "cpu", "bfloat16", packed=False)
    assert registry.load("big-a", "cpu", "bfloat16", packed=False) is held
    free[0] = 4.0
    monkeypatch.setattr(room, "release", lambda: free.__setitem__(0, 8.0))
    registry.load("big-b", "cpu", "bfloat16", packed=False)
    assert registry.loaded() == (("big-b", "cpu", "bfloat16"),)


def test_weights_without_a_label_are_weighed_too():
    class Net:
        @staticmethod
        def parameters():
            return [torch.zeros(500, 1000), torch.zeros(1000, dtype=torch.bfloat16)]

    assert room.taken(fake("own", True), "float32", SimpleNamespace(net=Net())) == 0.002002
    assert room.taken(replace(fake("own", True), parameters=2.0), "bfloat16", None) == 4.0


def test_a_7b_is_not_run_on_a_cpu_unasked(monkeypatch):
    monkeypatch.setattr(room, "_machine", lambda: 9.0)
    monkeypatch.setattr(stored, "offline", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(Unsupported) as caught:
        registry.load("qwen2.5-vl-7b")
    assert str(caught.value) == (
        "qwen2.5-vl-7b needs a GPU to answer within minutes and this machine has none: choose "
        "smolvlm-256m, or device cpu to wait (18 GB of memory)."
    )
    with pytest.raises(Unsupported) as caught:
        registry.load("qwen2.5-vl-7b", "cpu")
    assert str(caught.value) == (
        "qwen2.5-vl-7b in bfloat16 needs about 17.6 GB of memory and 9.0 GB are free here: choose "
        "a smaller model."
    )


def test_nothing_is_fetched_before_a_model_is_loaded(monkeypatch):
    """And without a hub the answer is one sentence."""
    monkeypatch.setattr(room, "_machine", lambda: None)
    monkeypatch.setattr(stored, "offline", lambda: False)
    for label in ("smolvlm-256m", "smolvlm-500m", "smolvlm-2.2b", "qwen2.5-vl-3b"):
        entry = registry.find(label)
        assert (entry.kind, entry.supports) == ("image", {"tree", "rollback", "image"})
        repo = entry.source.removeprefix("https://huggingface.co/")
        with pytest.raises(InputError) as caught:
            registry.load(label, "cpu")
        assert str(caught.value) == (
            f"The hub cannot be reached to get {repo}: check the network, or give a local folder."
        )
