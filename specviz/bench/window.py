"""The suite ``window``: a drafter head at every length of context, in every mode, beside the rest.

Everything that is timed on texts runs as in the suite ``recap``, whose units, rows and ledger it
shares. What a head costs behind contexts that no target here reads is measured alone, and marked.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from specviz.bench import kept
from specviz.bench import window_probes as probes
from specviz.bench.kept import Fits
from specviz.bench.plan import Part, Stage, tokens_of
from specviz.bench.probed import fits, is_probe
from specviz.bench.recap import REPETITIONS, Suite
from specviz.bench.runner import Runner
from specviz.bench.window_cells import cells, paying
from specviz.bench.window_rows import (
    CONTEXT,
    MECHANISM_CONTEXTS,
    MECHANISMS,
    SHORT,
    WINDOW_CONTEXTS,
    WINDOWS,
    Rows,
)
from specviz.bench.window_texts import CONTEXTS, LongText, long_texts
from specviz.bench.window_units import UNITS
from specviz.drafters import create
from specviz.models import registry
from specviz.models.base import Unsupported
from specviz.models.engines import HeadFacts, HeadModel
from specviz.windows import MODES

QUICK_CONTEXTS = 2  # the first ones


class WindowSuite(Suite):
    """One measurement of a drafter head; raises InputError where model and head do not fit."""

    _texts: tuple[LongText, ...] = ()
    _facts: HeadFacts | None = None
    _planned: Sequence[Part] = ()

    def measure(self) -> Generator[Stage, None, dict[str, Any]]:
        """See :class:`Suite`; adds figures by context, and what the head does alone."""
        entry = registry.find(self.plan.model)
        if "head" not in entry.supports:
            raise _no_head(entry.label)  # without waiting for the weights
        found = yield from super().measure()
        units, rows = self.ledger.units, self._drafting()
        (runner,) = self._runners.values()
        found["head"] = asdict(self._head(runner))
        found["defaults"] = {
            "sinks": rows.bounds("slot").sinks, "window": rows.window,
            "depth": rows.bounds("slot").depth,
        }  # fmt: skip
        found["sizes"] = [{"window": n, "mode": mode} for n, mode in rows.sizes()]
        found["texts"] = [
            {"id": t.prompt.id, "kind": t.kind, "context": t.context, "tokens": t.length,
             "answer": tokens_of(t.prompt), "sha256": t.sha256}
            for t in self._texts
        ]  # fmt: skip
        found["cells"] = cells(self._planned, self._texts, units)
        found["alone"] = _answers(units, "alone")
        found["shift"] = _answers(units, "shift")
        found["paying"] = paying(found["cells"], found["alone"])
        return found

    def _parts(self, runner: Runner) -> tuple[list[Part], dict[str, str]]:
        plan, dtype = self.plan, runner.model.dtype
        self._head(runner)
        rows = self._drafting()
        for row in (*rows.short(), *(r for make in rows.parts().values() for r in make())):
            if row.decoder == "window":  # before anything is measured in vain
                create(row.decoder, row.knobs).check(runner.model)
        if plan.headline:
            return [Part(SHORT, dtype, rows.short(), self._prompts, REPETITIONS)], {}
        self._texts, missing = self._long(runner)
        wanted: dict[str, Sequence[int]] = {CONTEXT: self._contexts()}
        if not plan.quick:
            wanted |= {WINDOWS: WINDOW_CONTEXTS, MECHANISMS: MECHANISM_CONTEXTS}
        parts = [Part(SHORT, dtype, rows.short(), self._prompts, 1)]
        for name, contexts in wanted.items():
            prompts = tuple(t.prompt for t in self._texts if t.context in contexts)
            if prompts:
                parts.append(Part(name, dtype, rows.parts()[name](), prompts, 1))
        self._planned = parts
        return parts, {"contexts": " ".join(missing)} if missing else {}

    def _contexts(self) -> tuple[int, ...]:
        found = tuple(dict.fromkeys(text.context for text in self._texts))
        return found[:QUICK_CONTEXTS] if self.plan.quick else found

    def _long(self, runner: Runner) -> tuple[tuple[LongText, ...], tuple[str, ...]]:
        """The long texts, with answers no longer than those to short prompts may be."""
        most = max(map(tokens_of, self._prompts))
        found, missing = long_texts(
            lambda prompt: len(runner.inputs(prompt).tokens), runner.model.max_context, CONTEXTS
        )
        return tuple(text.answered(most) for text in found), missing

    def _head(self, runner: Runner) -> HeadFacts:
        if self._facts is None:
            model = runner.model
            if not isinstance(model, HeadModel) or "head" not in model.supports:
                raise _no_head(model.label)
            self._facts = model.head(self.plan.head)
        return self._facts

    def _drafting(self) -> Rows:
        assert self._facts is not None, "the head is loaded first"
        return Rows(self.plan.head, self._facts.trained)

    def _told(self, parts: Sequence[Part]) -> dict[str, Any]:
        assert self._facts is not None, "the head is loaded first"
        return {"head": self._facts.digest, "texts": [text.sha256 for text in self._texts]}

    def _cold(self, part: Part) -> bool:
        return part.name != WINDOWS

    def _fits(self, parts: Sequence[Part]) -> Fits:
        timed = kept.fitting(parts)

        def fit(key: str, unit: Any) -> bool:
            return fits(UNITS, key, unit) if is_probe(UNITS, key) else timed(key, unit)

        return fit

    def _after(self, runner: Runner) -> Generator[Stage, None, None]:
        if self.plan.headline:
            return
        rows = self._drafting()
        positions = probes.POSITIONS[:1] if self.plan.quick else probes.POSITIONS
        yield from self._probe("alone", [
            (f"alone/{mode}/{n}", partial(probes.alone, runner, rows, mode, n))
            for n in positions for mode in MODES
        ])  # fmt: skip
        yield from self._probe(
            "shift",
            [(f"shift/{n}", partial(probes.shift, runner, rows, n)) for n in probes.SHIFTED],
        )


def _answers(units: Mapping[str, Mapping[str, Any]], what: str) -> list[dict[str, Any]]:
    """The answers to one kind of probe, in the order in which they were asked for."""
    found = []
    for key, unit in units.items():
        kind, _, rest = key.partition("/")
        if kind == what:
            mode, slash, _ = rest.partition("/")
            found.append(({"mode": mode} if slash else {}) | dict(unit))
    return sorted(found, key=lambda unit: int(unit["positions"]))


def _no_head(label: str) -> Unsupported:
    return Unsupported(
        f"The suite window looks at drafter heads, which read a target's states, and {label} does "
        "not show them: choose a transformers model, such as smollm2-135m."
    )
