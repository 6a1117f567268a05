"""Units of measuring a drafter head alone: what each holds."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from specviz.bench.probed import Count, Kinds, Seconds, Unit

Gap = Annotated[float, Field(ge=0, le=1e6)]


class Alone(Unit):
    """One draft behind ``positions`` faked positions, ``entries`` of which the head sees.

    ``seconds``: the median of ``rounds`` drafts, None where the entries would have taken too much
    memory. ``bytes``: of their keys and values as the head sees them. ``guesses`` of a draft.
    """

    positions: Count
    entries: Count
    bytes: Annotated[int, Field(ge=0, le=2**50)]
    seconds: Seconds | None
    rounds: Count
    guesses: Count


class Shift(Unit):
    """Largest differences of attention scores behind ``positions`` entries; see
    ``models.eagle_faked.Gaps``."""

    positions: Count
    largest: Gap
    moved: Gap
    single: Gap
    sinks: Gap
    ways: Gap


UNITS: Kinds = {"alone": Alone, "shift": Shift}
