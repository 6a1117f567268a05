"""Answers to questions outside of any timing of decoders, each one unit of a ledger."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Count = Annotated[int, Field(ge=0, le=10**9)]
Counts = tuple[Count, ...]
Level = Annotated[float, Field(ge=-1e6, le=1e6)]
Seconds = Annotated[float, Field(gt=0, le=1e5)]


class Unit(BaseModel):
    """One answer, as plain numbers."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)

    def plain(self) -> dict[str, Any]:
        """As JSON keeps it."""
        return self.model_dump(mode="json")


Kinds = Mapping[str, type[Unit]]


def is_probe(kinds: Kinds, key: str) -> bool:
    """Whether ``key``, such as ``accuracy/8``, names a unit of one of ``kinds``."""
    return key.partition("/")[0] in kinds


def fits(kinds: Kinds, key: str, unit: Any) -> bool:
    """Whether ``unit`` is what ``key`` says."""
    try:
        kinds[key.partition("/")[0]].model_validate_json(json.dumps(unit))
    except (ValidationError, ValueError):
        return False
    return True
