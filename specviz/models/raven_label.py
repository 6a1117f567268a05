"""How often a recurrent-depth model iterates, and from where: what a label may say after ``@``."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from specviz.models.base import InputError, Model, Unsupported
from specviz.models.config_file import facts, model_type

MODEL_TYPE = "huginn_raven"
FURTHEST = 4  # times the mean of training: beyond it nobody knows what the iterations do
FURTHEST_MEAN = 256  # no network of this kind is trained deeper
Initial = Literal["zero", "seeded"]
SPELLING = re.compile(r"([0-9]{1,6})(-seeded)?")


@dataclass(frozen=True)
class Recurrence:
    """``depth``: iterations of the core, None for the mean of training. ``initial``: the state that
    they start from, zeros or noise that is fixed for every position."""

    depth: int | None = None
    initial: Initial = "zero"

    @property
    def spelled(self) -> str:
        """What stands for it after the ``@``."""
        return f"{self.depth}{'-seeded' if self.initial == 'seeded' else ''}"

    def within(self, mean: int, label: str) -> Recurrence:
        """With a definite depth; raises InputError outside of 1 to 4 times ``mean``."""
        if self.depth is None:
            return Recurrence(mean, self.initial)
        if not 1 <= self.depth <= FURTHEST * mean:
            raise _out_of_range(label, str(self.depth), mean)
        return self

    def mark(self, digest: str, mean: int) -> str:
        """The digest of a model whose weights have ``digest`` and run like this.

        That of the weights where they run as they were made to, ``mean`` times from zeros.
        """
        if (self.depth, self.initial) == (mean, "zero"):
            return digest
        return hashlib.sha256(f"{digest} {self.depth} {self.initial}".encode()).hexdigest()[:16]


@runtime_checkable
class Recurrent(Protocol):
    """A model whose weights can be run to another depth."""

    def at(self, recurrence: Recurrence, label: str) -> Model:
        """The same weights under another label; raises InputError for a depth out of range."""
        ...


def parse(spelled: str, mean: int | None, label: str) -> Recurrence:
    """What stands after ``@``: ``8`` or ``8-seeded``. ``mean`` None: the range is not known yet.

    Raises InputError for anything else.
    """
    match = SPELLING.fullmatch(spelled)
    if match is None:
        raise _out_of_range(label, spelled, mean)
    found = Recurrence(int(match[1]), "seeded" if match[2] else "zero")
    return found if mean is None else found.within(mean, label)


def no_depth(label: str) -> Unsupported:
    """What is said to whoever wants a depth of an ordinary model."""
    return Unsupported(
        f"{label} has no depth to choose: it is an ordinary transformer, in which no shared block "
        "is applied many times; leave out the @ or choose a recurrent-depth model."
    )


def is_recurrent(config_file: Path) -> bool:
    """Whether a ``config.json`` is one of this family."""
    return model_type(config_file) == MODEL_TYPE


def mean_recurrence(config_file: Path) -> int | None:
    """Mean iterations in training, from a ``config.json``; None for any other kind of model."""
    mean = facts(config_file).get("mean_recurrence")
    believed = type(mean) is int and 1 <= mean <= FURTHEST_MEAN
    return mean if is_recurrent(config_file) and believed else None


def _out_of_range(label: str, spelled: str, mean: int | None) -> InputError:
    limits = "a whole number" if mean is None else f"a whole number from 1 to {FURTHEST * mean}"
    return InputError(
        f"{label} cannot run with {spelled[:20]!r} iterations: write {limits} after the @, "
        "with -seeded behind it for a start from fixed noise."
    )
