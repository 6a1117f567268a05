"""The suite ``vlm``: decoders beside one another on questions about pictures, and what of the
answers the pictures decide.

Everything that is timed runs as in the suite ``recap``, whose units and ledger it shares.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from functools import partial
from typing import Any

from specviz.bench import kept, vlm_probes
from specviz.bench.kept import Fits
from specviz.bench.plan import Part, Stage, tokens_of
from specviz.bench.pool import Pool, over, rounded
from specviz.bench.probed import fits, is_probe
from specviz.bench.prompts import repetition, shares, spread_over
from specviz.bench.recap import Suite
from specviz.bench.reported import about_pictures
from specviz.bench.runner import Runner
from specviz.bench.sample import Sample
from specviz.bench.vlm_prompts import first_questions, sets
from specviz.bench.vlm_rows import ABLATION, ABLATIONS, HEADLINE, OFF, TEMPLATE
from specviz.bench.vlm_units import UNITS
from specviz.models import registry
from specviz.models.base import Unsupported

REPETITIONS = 1  # of 60 prompts: the whole is to end within 45 minutes on two slow cores
ABLATED = {TEMPLATE: 12, OFF: 6}  # prompts, each about a picture of its own
PROBE = "pictures"


class Pictures(Suite):
    """One measurement of an image-text model; raises Unsupported for any other."""

    def measure(self) -> Generator[Stage, None, dict[str, Any]]:
        """See :class:`Suite`; adds both sets of prompts, each change of RECAP prompt by prompt,
        and what other pictures change."""
        entry = registry.find(self.plan.model)
        if "image" not in entry.supports:
            raise _blind(entry.label)  # without waiting for the weights
        found = yield from super().measure()
        units = self.ledger.units
        found["sets"] = self._sets()
        found["paired"] = paired(units)
        found["pictures"] = {
            name: vlm_probes.associations(answers)
            for name, answers in (*self._answers().items(), ("all", self._every()))
            if answers
        }
        right = [unit["right"] for unit in self._every() if unit["right"] is not None]
        found["right"] = {"answers": len(right), "exact": sum(right)}
        found["reported"] = about_pictures()
        return found

    def _parts(self, runner: Runner) -> tuple[list[Part], dict[str, str]]:
        dtype, model = runner.model.dtype, runner.model
        if "image" not in model.supports:
            raise _blind(model.label)
        both = sets(self._prompts)
        times = 1 if self.plan.quick else REPETITIONS
        parts = [Part(name, dtype, HEADLINE, asked, times) for name, asked in both.items() if asked]
        if not (self.plan.quick or self.plan.headline):
            some = [
                prompt
                for name, count in ABLATED.items()
                for prompt in spread_over(first_questions(both[name]), count)
            ]
            parts.append(Part(ABLATION, dtype, ABLATIONS, tuple(some), 1, ABLATIONS[0]))
        return parts, {}

    def _fits(self, parts: Sequence[Part]) -> Fits:
        timed = kept.fitting(parts)

        def fit(key: str, unit: Any) -> bool:
            return fits(UNITS, key, unit) if is_probe(UNITS, key) else timed(key, unit)

        return fit

    def _after(self, runner: Runner) -> Generator[Stage, None, None]:
        if self.plan.quick or self.plan.headline:
            return
        asked, other = first_questions(self._prompts), vlm_probes.others(self._prompts)
        yield from self._probe(PROBE, [
            (f"{PROBE}/{p.id}", partial(vlm_probes.answered, runner, p, other[p.id]))
            for p in asked
        ])  # fmt: skip

    def _answers(self) -> dict[str, list[Mapping[str, Any]]]:
        """What was read with other pictures, by set."""
        units = self.ledger.units
        return {
            name: [units[key] for p in asked if (key := f"{PROBE}/{p.id}") in units]
            for name, asked in sets(self._prompts).items()
        }

    def _every(self) -> list[Mapping[str, Any]]:
        return [unit for answers in self._answers().values() for unit in answers]

    def _sets(self) -> dict[str, Any]:
        """Of both sets: how many prompts and pictures, of which kinds, how long the answers of
        plain decoding are (least, mean, most), and the share of their 4-grams that came before."""
        found: dict[str, Any] = {}
        for name, asked in sets(self._prompts).items():
            units = {p.id: self._first(name, p.id) for p in asked}
            if not asked or not all(units.values()):
                continue
            lengths = [
                next(s["timing"]["tokens"] for s in unit["samples"] if s["row"] == "ours")
                for unit in units.values()
                if unit
            ]
            counts = {key: tuple(unit["repeated"]) for key, unit in units.items() if unit}
            found[name] = {
                "prompts": len(asked),
                "pictures": len(first_questions(asked)),
                "shares": shares(asked),
                "most": max(map(tokens_of, asked)),
                "lengths": [min(lengths), round(sum(lengths) / len(lengths), 1), max(lengths)],
                "repetition": repetition(asked, counts),
            }
        return found

    def _first(self, part: str, prompt: str) -> Mapping[str, Any] | None:
        """The unit of the first repetition."""
        (dtype,) = self._runners
        return self.ledger.units.get(f"{part}/{dtype}/0/{prompt}")


def paired(units: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each change of RECAP beside RECAP as it is, on the same prompts.

    ``passes`` [as it is, changed]: of all prompts together; on ``fewer``, ``same`` and ``more``
    prompts the change made so many passes of it. ``tau`` likewise; ``speed``: decode tokens per
    second, changed over as it is.
    """
    pool = Pool([
        Sample.of(sample)
        for key, unit in units.items()
        if key.startswith(f"{ABLATION}/")
        for sample in unit["samples"]
    ])  # fmt: skip
    base = ABLATIONS[0].name
    found = []
    for row in (row for row in ABLATIONS[1:] if row.against == base and row.name in pool):
        ids = pool.prompts(row.name)
        mine, other = pool.of(row.name, ids), pool.of(base, ids)
        pairs = [(a.passes, b.passes) for a, b in zip(mine, other, strict=True)]
        passes = [sum(theirs for _, theirs in pairs), sum(own for own, _ in pairs)]
        tokens = sum(t.tokens - t.first for t in mine)
        found.append({
            "name": row.name,
            "prompts": len(ids),
            "passes": passes,
            "tau": [rounded(over(tokens, n)) for n in passes],
            "fewer": sum(a < b for a, b in pairs),
            "same": sum(a == b for a, b in pairs),
            "more": sum(a > b for a, b in pairs),
            "speed": rounded(over(pool.decode_rate(row.name, ids), pool.decode_rate(base, ids))),
        })  # fmt: skip
    return found


def _blind(label: str) -> Unsupported:
    return Unsupported(
        f"The suite vlm asks about pictures, and {label} sees none: choose an image-text model, "
        "such as smol-boards."
    )
