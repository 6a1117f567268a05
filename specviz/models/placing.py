"""Where a model computes, and in which numbers: what device and dtype may be asked for here.

Importing this loads no torch: only looking for a GPU does.
"""

from __future__ import annotations

import re

from specviz.models.base import InputError, Unsupported
from specviz.models.entries import DEFAULT_DTYPES, Entry

DTYPES = ("float32", "bfloat16", "float16", "float64")


def toy_place(entry: Entry, device: str, dtype: str) -> tuple[str, str]:
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
