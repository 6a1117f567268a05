"""What a memory leaves behind for the next request, as plain arrays and as a file."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from specviz.files import write_whole
from specviz.models.base import InputError

ARRAYS = ("tokens", "ids", "logps", "entropies", "accepted")
VERSION = 2
READABLE = (1, 2)  # what version 1 lacks is empty: the levels of two and three tokens
ORDERS = (2, 3)


@dataclass(frozen=True)
class Deep:
    """The rows of a level of two or three tokens, which know the context they were written in.

    ``tokens`` int32 [n, order] are the keys; the others as in :class:`Snapshot`.
    """

    tokens: np.ndarray
    ids: np.ndarray
    logps: np.ndarray
    entropies: np.ndarray
    accepted: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def order(self) -> int:
        """Tokens of a key."""
        return int(self.tokens.shape[1])


@dataclass(frozen=True)
class Snapshot:
    """The lasting memory as plain arrays, for one model and one scope.

    Of the single-token level: ``tokens`` int32 [n]; ``ids`` int32 [n, k]; ``logps`` int32 [n, k] in
    1e-4 nats; ``entropies`` int32 [n] in 1e-4; ``accepted`` int32 [n], 1 where the writer's branch
    was. ``deeper``: the levels of two and three tokens, where they are kept over the turns of a
    talk, and ``talk`` that talk (see ``job.talk``): they are for its next turn alone. ``model``:
    the key of the weights that spoke (see ``model_key``); ``scope``: the isolation boundary it
    belongs to.
    """

    model: str
    tokens: np.ndarray
    ids: np.ndarray
    logps: np.ndarray
    entropies: np.ndarray
    accepted: np.ndarray
    scope: str = ""
    deeper: tuple[Deep, ...] = ()
    talk: str = ""

    def __len__(self) -> int:
        return sum(len(part) for part in self.deeper) + len(self.tokens)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        parts = (self, *self.deeper)
        return sum(getattr(part, name).nbytes for part in parts for name in ARRAYS)

    def save(self, path: str | Path) -> None:
        """Write the snapshot; the file appears whole or not at all."""
        packed = io.BytesIO()
        arrays = {name: getattr(self, name) for name in ARRAYS}
        for part in self.deeper:
            arrays |= {f"{name}_{part.order}": getattr(part, name) for name in ARRAYS}
        np.savez_compressed(
            packed,
            version=np.array(VERSION),
            model=np.array(self.model),
            scope=np.array(self.scope),
            talk=np.array(self.talk),
            **arrays,
        )
        write_whole(path, packed.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> Snapshot:
        """Read a snapshot of this or an older version; raises InputError when the file is none."""
        name = Path(path).name
        try:
            with np.load(path, allow_pickle=False) as data:
                snapshot = _read(data, name)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile, EOFError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(
                f"{name} is not a saved memory: choose a file that specviz wrote, or none to start "
                "empty."
            ) from error
        parts: tuple[Snapshot | Deep, ...] = (snapshot, *snapshot.deeper)
        if snapshot.tokens.ndim != 1 or not all(map(_even, parts)):
            raise InputError(f"{name} is damaged: its arrays have unequal lengths.")
        return snapshot


def _even(part: Snapshot | Deep) -> bool:
    """Whether every row of ``part`` has all its values."""
    shape = part.ids.shape
    return (
        shape == part.logps.shape
        and len(shape) == 2
        and all(len(getattr(part, column)) == len(part.tokens) for column in ARRAYS)
    )


def _read(data: Mapping[str, Any], name: str) -> Snapshot:
    """The parts of an open file; raises InputError, KeyError or ValueError."""
    version = int(data["version"])
    if version not in READABLE:
        known = " and ".join(map(str, READABLE))
        raise InputError(
            f"{name} holds a memory of version {version}, this specviz reads versions {known}: "
            "start with an empty memory."
        )
    deeper = []
    for order in ORDERS:
        if f"tokens_{order}" in data:
            part = Deep(**{a: data[f"{a}_{order}"].astype(np.int32) for a in ARRAYS})
            if part.tokens.ndim != 2 or part.order != order:
                raise InputError(f"{name} is damaged: its arrays have unequal lengths.")
            deeper.append(part)
    arrays = {a: data[a].astype(np.int32) for a in ARRAYS}
    return Snapshot(
        model=str(data["model"]),
        scope=str(data["scope"]),
        deeper=tuple(deeper),
        talk=str(data["talk"]) if "talk" in data else "",
        **arrays,
    )
