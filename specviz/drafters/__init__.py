"""Drafters decide what to guess. Adding one: a module, and a line in ``DRAFTERS``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specviz.drafters.autoregressive import Autoregressive
from specviz.drafters.base import Drafter, Knob, KnobValue, knobs_of
from specviz.drafters.das import Das
from specviz.drafters.das_wave import DasWave
from specviz.drafters.prompt_lookup import PromptLookup
from specviz.drafters.recap import Recap
from specviz.drafters.token_recycling import TokenRecycling
from specviz.drafters.window import Window
from specviz.models.base import InputError

__all__ = ["DRAFTERS", "Drafter", "Knob", "create", "knob_values", "knobs_of"]

DRAFTERS: dict[str, type[Drafter]] = {
    d.name: d for d in (Recap, TokenRecycling, PromptLookup, Window, DasWave, Das, Autoregressive)
}


def create(name: str, knobs: Mapping[str, Any] | None = None) -> Drafter:
    """A fresh drafter with checked knobs; raises InputError that names what is allowed."""
    if name not in DRAFTERS:
        raise InputError(f"There is no decoder {name!r}: choose one of {', '.join(DRAFTERS)}.")
    known = {k.name: k for k in knobs_of(DRAFTERS[name])}
    values: dict[str, KnobValue] = {}
    for key, value in (knobs or {}).items():
        if key not in known:
            names = ", ".join(known) or "none"
            raise InputError(f"The decoder {name} has no knob {key!r}; its knobs are: {names}.")
        values[key] = known[key].check(value)
    return DRAFTERS[name](**values)


def knob_values(drafter: Drafter) -> dict[str, KnobValue]:
    """The value of every knob of ``drafter``."""
    return {k.name: getattr(drafter, k.name) for k in knobs_of(type(drafter))}
