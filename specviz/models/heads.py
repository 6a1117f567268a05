"""Every drafter head that can be named, and where its files are. Loads no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specviz.files import named_folder
from specviz.models.base import InputError

LONGEST = 300  # characters of a label, folder or hub id
ASSETS = Path(__file__).parent.parent.parent / "assets" / "models"


@dataclass(frozen=True)
class Head:
    """One label. ``place``: a folder, or a hub id. ``targets``: labels and hub ids of the models
    that it was trained for, the first of which takes it by itself."""

    label: str
    place: str
    targets: tuple[str, ...]
    licence: str

    @property
    def folder(self) -> Path | None:
        """The folder, where it is one."""
        folder = named_folder(self.place)
        return folder.resolve() if folder else None


EMBEDDED = "smollm2-eagle"
HEADS: dict[str, Head] = {
    head.label: head
    for head in (
        Head(
            EMBEDDED,
            str(ASSETS / EMBEDDED),
            ("smollm2-135m", "smollm2-135m-hub", "HuggingFaceTB/SmolLM2-135M-Instruct"),
            "Apache-2.0",
        ),
        Head(
            "eagle3-llama-3.1-8b",
            "yuhuili/EAGLE3-LLaMA3.1-Instruct-8B",
            ("meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Meta-Llama-3.1-8B-Instruct"),
            "",
        ),
        Head(
            "eagle3-deepseek-r1-distill-llama-8b",
            "yuhuili/EAGLE3-DeepSeek-R1-Distill-LLaMA-8B",
            ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B",),
            "",
        ),
        Head(
            "eagle3-qwen3-8b",
            "RedHatAI/Qwen3-8B-speculator.eagle3",
            ("Qwen/Qwen3-8B",),
            "",
        ),
    )
}


def own(model: str) -> Head | None:
    """The head that the model of that label or hub id takes by itself."""
    return next((head for head in HEADS.values() if model in head.targets), None)


def named(name: str) -> Head:
    """The head of a label, folder or hub id; whether it is there, only loading tells."""
    if len(name) > LONGEST:
        raise InputError(f"A drafter head's name has at most {LONGEST} characters: give a shorter.")
    return HEADS.get(name) or Head(Path(name).name, name, (), "")
