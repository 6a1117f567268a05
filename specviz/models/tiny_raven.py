"""The recurrent-depth model that comes with specviz; trained by specviz.training.raven."""

from __future__ import annotations

from pathlib import Path

from specviz.files import folder_digest
from specviz.models.base import Model, Unsupported
from specviz.models.raven_label import mean_recurrence

LABEL = "tiny-raven"
FOLDER = Path(__file__).parent.parent.parent / "assets" / "models" / LABEL
NEEDED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def problem() -> str | None:
    """Why the model cannot be loaded here, in one sentence, or None."""
    absent = [name for name in NEEDED if not (FOLDER / name).is_file()]
    if absent:
        return (
            f"The weights of {LABEL} are not here ({', '.join(absent)} missing in {FOLDER.name}): "
            "run specviz from a complete copy of its repository."
        )
    return None


def mean() -> int | None:
    """Mean iterations in training; None where the weights are missing."""
    return mean_recurrence(FOLDER / "config.json")


def digest() -> str:
    """Of the weights; empty where they are missing."""
    return folder_digest(FOLDER) if problem() is None else ""


def load(device: str, dtype: str) -> Model:
    """The model; raises Unsupported when its files are missing or damaged."""
    from specviz.models.hf_load import load_folder

    missing = problem()
    if missing is not None:
        raise Unsupported(missing)
    return load_folder(FOLDER, device, dtype, LABEL)
