"""The suite ``recurrent``: what depth gives a model with a shared block, and what drafting with it.

Everything that is timed runs as in the suite ``recap``, whose units, rows and ledger it shares.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from specviz.bench import kept
from specviz.bench import recurrent_probes as probes
from specviz.bench.kept import Fits
from specviz.bench.plan import Part, Stage
from specviz.bench.probed import fits, is_probe
from specviz.bench.prompts import by_category, spread_over
from specviz.bench.questions import COUNT, documents
from specviz.bench.recap import REPETITIONS, Suite
from specviz.bench.recurrent_rows import (
    ABLATION,
    MAP,
    SHALLOW,
    depths,
    headline,
    least_depth,
    wave_map,
)
from specviz.bench.recurrent_units import UNITS, Accuracy
from specviz.bench.reported import DAS
from specviz.bench.rows import Row
from specviz.bench.runner import Place, Runner
from specviz.models import registry
from specviz.models.base import Unsupported
from specviz.training.raven_documents import COMPOSED

PROBLEMS = 100  # answered at every depth: one of them is one point
ABLATED_PROMPTS, MAPPED_PROMPTS = 20, 10


class Recurrent(Suite):
    """One measurement of a recurrent-depth model; raises Unsupported for any other."""

    def measure(self) -> Generator[Stage, None, dict[str, Any]]:
        """See :class:`Suite`; adds what was probed, and the map of waves."""
        entry = registry.find(self.plan.model)
        if entry.mean is None:
            raise _no_depths(entry.label)  # without waiting for the weights
        found = yield from super().measure()
        units = self.ledger.units
        (runner,) = self._runners.values()
        found["depth"] = _depth(runner)
        found["shallow"] = self._shallow(runner)
        found["probes"] = probed(units, depths(found["depth"]))
        found["map"] = wave_map(found["rows"])
        found["reported"] = [figure.model_dump() for figure in DAS]
        return found

    def _parts(self, runner: Runner) -> tuple[list[Part], dict[str, str]]:
        depth, dtype = _depth(runner), runner.model.dtype
        times = 1 if self.plan.quick else REPETITIONS
        parts = [Part("headline", dtype, headline(depth), self._prompts, times)]
        if not (self.plan.quick or self.plan.headline):
            some = spread_over(self._prompts, ABLATED_PROMPTS)
            parts.append(Part("ablation", dtype, ABLATION, some, 1))
            some = spread_over(self._prompts, MAPPED_PROMPTS)
            parts.append(Part("map", dtype, MAP, some, 1))
        return parts, {}

    def _fits(self, parts: Sequence[Part]) -> Fits:
        timed = kept.fitting(parts)

        def fit(key: str, unit: Any) -> bool:
            return fits(UNITS, key, unit) if is_probe(UNITS, key) else timed(key, unit)

        return fit

    def _rows(self, part: Part, runner: Runner) -> tuple[Row, ...]:
        rows = super()._rows(part, runner)
        if not any(row.name == SHALLOW for row in rows):
            return rows
        shallow = self._shallow(runner)
        return tuple(replace(r, depth=shallow) if r.name == SHALLOW else r for r in rows)

    def _shallow(self, runner: Runner) -> int:
        """The smallest depth that answers as well as the full one, by what was measured."""
        return least_depth({d: share(right) for d, right in self._answered(runner).items()})

    def _answered(self, runner: Runner) -> dict[int, tuple[bool, ...]]:
        units = self.ledger.units
        return {
            d: Accuracy.model_validate(units[f"accuracy/{d}"], strict=False).right
            for d in depths(_depth(runner))
        }

    def _before(self, runner: Runner) -> Generator[Stage, None, None]:
        """Accuracy by depth comes first: it says which smaller depth is timed."""
        plan = self.plan
        place = Place(plan.model, plan.device, plan.dtypes[0])
        problems = documents("words", PROBLEMS if self._few is None else self._few)
        asked = [
            (f"accuracy/{d}", partial(probes.accuracy, place, runner, problems, d))
            for d in depths(_depth(runner))
        ]
        yield from self._probe("accuracy", asked)

    def _after(self, runner: Runner) -> Generator[Stage, None, None]:
        if self.plan.headline:
            return
        count = COUNT if self._few is None else self._few
        length = runner.length(self._prompts[0])
        yield from self._probe("probes", [
            *((f"agreement/{k}", partial(probes.agreement, runner, k, count))
              for k in probes.TEXTS),
            *((f"composed/{k}", partial(probes.composed, runner, k, count)) for k in COMPOSED),
            ("convergence", partial(probes.convergence, runner, count)),
            ("core", partial(probes.core, runner, length)),
            ("loop", partial(probes.loop, runner)),
        ])  # fmt: skip

    @property
    def _few(self) -> int | None:
        """How many questions of each kind are enough, None for all that there are."""
        words = len(by_category(self.plan.prompts).get("words", ()))
        return None if words >= COUNT else max(1, words)


def _no_depths(label: str) -> Unsupported:
    return Unsupported(
        f"The suite recurrent looks at depths, and {label} has none, because no shared block is "
        "applied many times in it: choose a recurrent-depth model, or the suite recap."
    )


def _depth(runner: Runner) -> int:
    if runner.model.depth is None:
        raise _no_depths(runner.model.label)
    return runner.model.depth


def share(right: Sequence[bool]) -> float:
    """How many of the answers are right."""
    return sum(right) / len(right)


def probed(units: Mapping[str, Mapping[str, Any]], looked: Sequence[int]) -> dict[str, Any]:
    """The answers to all probes, by what was asked and of which kind of text."""
    found: dict[str, Any] = {"accuracy": {
        "depths": list(looked),
        "problems": len(units[f"accuracy/{looked[0]}"]["right"]),
        "right": [sum(units[f"accuracy/{d}"]["right"]) for d in looked],
    }}  # fmt: skip
    for key, unit in units.items():
        what, _, kind = key.partition("/")
        if not is_probe(UNITS, key) or what == "accuracy":
            continue
        if kind:
            found.setdefault(what, {})[kind] = unit
        else:
            found[what] = unit
    if "agreement" in found:
        found["agreement"]["overall"] = pooled(list(found["agreement"].values()))
    return found


def pooled(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Agreement over all kinds of text together."""
    return {
        "depths": parts[0]["depths"],
        "positions": sum(p["positions"] for p in parts),
        "same": {
            prefix: [
                sum(column) for column in zip(*(p["same"][prefix] for p in parts), strict=True)
            ]
            for prefix in parts[0]["same"]
        },
    }
