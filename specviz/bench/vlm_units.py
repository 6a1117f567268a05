"""Units of reading recorded answers with other pictures: what each holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Annotated, Any

from pydantic import Field

from specviz import probes
from specviz.bench.probed import Count, Kinds, Unit
from specviz.probes import Reading

Shift = Annotated[float, Field(ge=0, le=probes.MOST_SHIFT)]


class Stand(Unit):
    """One :class:`specviz.probes.Place`."""

    step: Count
    position: Count
    rejected: bool
    depends: bool
    shift: Shift


class Read(Unit):
    """One :class:`specviz.probes.Reading`."""

    kind: probes.Kind
    tokens: Count
    changed: Count
    shift: Shift
    places: tuple[Stand, ...]
    undrafted: Count
    undrafted_dependent: Count


class Answered(Unit):
    """One answer of RECAP: read with other pictures, and whether it is ``right`` to the letter
    (None where nobody knows the right one)."""

    readings: tuple[Read, ...]
    right: bool | None


UNITS: Kinds = {"pictures": Answered}


def kept(readings: Iterable[Reading]) -> tuple[Read, ...]:
    """Readings as a ledger keeps them; shifts rounded to four decimals."""
    found = []
    for reading in readings:
        data = asdict(reading)
        data["shift"] = round(data["shift"], 4)
        data["places"] = tuple(
            Stand(**{**place, "shift": round(place["shift"], 4)}) for place in data["places"]
        )
        found.append(Read(**data))
    return tuple(found)


def readings(unit: Mapping[str, Any]) -> tuple[Reading, ...]:
    """The readings of a kept unit."""
    found = []
    for read in Answered.model_validate(unit, strict=False).readings:
        places = tuple(probes.Place(**place.model_dump()) for place in read.places)
        found.append(Reading(**{**read.model_dump(), "places": places}))
    return tuple(found)
