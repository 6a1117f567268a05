"""Whether the weights of a model fit here, before gigabytes of them are fetched or read.

Importing this loads no torch.
"""

from __future__ import annotations

import gc
import sys
from contextlib import suppress
from pathlib import Path

from specviz.models.base import Unsupported
from specviz.models.entries import Entry

BYTES = {"float64": 8, "float32": 4, "bfloat16": 2, "float16": 2}
BESIDE = 1.0  # GB for activations, the cache and what loading needs for a while


def needed(entry: Entry, dtype: str) -> float:
    """GB that a model takes in memory while it runs; 0 where that is not known."""
    return entry.parameters * BYTES[dtype] + BESIDE if entry.parameters else 0.0


def taken(entry: Entry, dtype: str, model: object) -> float:
    """GB that the weights of a ``model`` in memory take; 0 where neither label nor network tell."""
    if entry.parameters:
        return entry.parameters * BYTES[dtype]
    net = getattr(model, "net", None)
    return sum(p.nbytes for p in net.parameters()) / 1e9 if net is not None else 0.0


def check(entry: Entry, device: str, wanted: str, dtype: str, freed: float = 0.0) -> None:
    """Raise Unsupported where a model does not fit, or would keep people waiting unasked.

    ``device``: what ``wanted`` came to. ``freed``: GB that others would leave to it.
    """
    need = needed(entry, dtype)
    if device == "cpu" and entry.slow and wanted.strip().lower() == "auto":
        raise Unsupported(
            f"{entry.label} needs a GPU to answer within minutes and this machine has none: choose "
            f"smolvlm-256m, or device cpu to wait ({need:.0f} GB of memory)."
        )
    free = available(device)
    if free is not None:
        free = max(free, 0.0) + freed
    if need and free is not None and free < need:
        raise Unsupported(
            f"{entry.label} in {dtype} needs about {need:.1f} GB of memory and {free:.1f} GB are "
            "free here: choose a smaller model."
        )


def available(device: str) -> float | None:
    """GB that are free: of this machine, and of the GPU too where there is one, since a model may
    be spread over both; None where the system does not say."""
    free = _machine()
    if free is not None and device.startswith("cuda"):
        import torch

        # A ZeroGPU process that only prepares weights has no GPU to ask yet.
        with suppress(RuntimeError):
            free += torch.cuda.mem_get_info(torch.device(device))[0] / 1e9
    return free


def _machine() -> float | None:
    found: list[float] = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(x for x in lines if x.startswith("MemAvailable:"))
        found.append(int(line.split()[1]) * 1024 / 1e9)
    with suppress(OSError, ValueError):  # a container's limit; "max" is none
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
        used = int(Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
        found.append((limit - used) / 1e9)
    return min(found, default=None)


def release() -> None:
    """Give back the memory of models that were let go of."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
