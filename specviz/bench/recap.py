"""The suite ``recap``: everything that decodes here, beside transformers' own, in one process.

Units of work, each all rows of a part on one prompt, run one after another and are kept as they
come. The machine has to be idle otherwise.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

from specviz.bench.kept import Fits, fitting
from specviz.bench.ledger import Ledger
from specviz.bench.long import long_prompt
from specviz.bench.overhead import overhead
from specviz.bench.plan import Part, Plan, Stage, identity, tokens_of
from specviz.bench.probed import Unit
from specviz.bench.prompts import Prompt, repeated, spread_over
from specviz.bench.report import result
from specviz.bench.rows import ABLATIONS, HEADLINE, LONG, Row, rotated
from specviz.bench.runner import Place, Runner, warm_rows
from specviz.models.base import InputError
from specviz.trace import Costs

REPETITIONS, LONG_REPETITIONS = 3, 1
ABLATED_PROMPTS = 6
OVERHEAD_TOKENS = 48
OVERHEAD_PROMPTS, OVERHEAD_PAIRS = 3, 4
LENGTHS = (100, 2_000, 7_000)  # contexts at which pass costs are told


class Suite:
    """One measurement of a ``plan``; ``ledger`` holds what is done."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ledger = Ledger(None, {}, False)
        self._runners: dict[str, Runner] = {}
        self._prompts: tuple[Prompt, ...] = ()
        self._still = 0.0
        self._done = 0.0
        self._spent = 0.0

    def measure(self) -> Generator[Stage, None, dict[str, Any]]:
        """Do what is not done yet; returns the figures as plain data.

        Raises InputError before anything is measured when the plan cannot be followed.
        """
        plan = self.plan
        for i, dtype in enumerate(plan.dtypes):
            yield Stage("load", dtype, i, len(plan.dtypes))
            runner = Runner(Place(plan.model, plan.device, dtype))
            self._runners[runner.model.dtype] = runner
        runner = next(iter(self._runners.values()))
        self._prompts = prompts = self._fitting(runner)
        header = runner.header(prompts[0])
        parts, without = self._parts(runner)
        told = identity(plan, prompts, header) | self._told(parts)
        self.ledger = Ledger(plan.output, told, plan.resume, self._fits(parts))
        try:
            yield from self._all(parts, runner)
        finally:
            gc.unfreeze()
        found = result(header, prompts, parts, self.ledger.units, plan.suite)
        found["quick"] = plan.quick
        found["prompts"].update(
            file=plan.file, sha256=plan.sha256, skipped=len(plan.prompts) - len(prompts)
        )
        found["conditions"]["packed"] = {d: r.model.packed for d, r in self._runners.items()}
        found["cache_bytes"] = {d: r.cache_bytes() for d, r in self._runners.items()}
        found["left_out"] = without | self._no_peers()
        return found

    def _all(self, parts: Sequence[Part], runner: Runner) -> Generator[Stage, None, None]:
        units = self.ledger.units
        self._still = sum(
            part.weight(prompt)
            for part in parts
            for key, _, _, prompt in part.units()
            if key not in units
        )
        yield from self._before(runner)
        for part in parts:
            yield from self._measure(part)
        yield from self._after(runner)

    # What another suite does otherwise

    def _fits(self, parts: Sequence[Part]) -> Fits:
        return fitting(parts)

    def _cold(self, part: Part) -> bool:
        """Whether rows have to be warmed up: behind a long prompt other parts have done it."""
        return part.name != "long"

    def _told(self, parts: Sequence[Part]) -> dict[str, Any]:
        """What else has to be the same for a measurement to be gone on with."""
        return {}

    def _before(self, runner: Runner) -> Generator[Stage, None, None]:
        yield from ()

    def _after(self, runner: Runner) -> Generator[Stage, None, None]:
        if "overhead" not in self.ledger.units:
            yield from self._overhead(runner)

    def _rows(self, part: Part, runner: Runner) -> tuple[Row, ...]:
        return runner.runnable(part.rows)

    def _fitting(self, runner: Runner) -> tuple[Prompt, ...]:
        most = runner.model.max_context
        fitting = tuple(p for p in self.plan.prompts if runner.length(p) <= most)
        if not fitting:
            raise InputError(
                f"No prompt of {self.plan.file} fits into the {most} tokens of {self.plan.model}: "
                "shorten them or choose another file."
            )
        return fitting

    def _no_peers(self) -> dict[str, str]:
        reasons = [runner.no_peer for runner in self._runners.values() if runner.no_peer]
        return {"peers": reasons[0]} if reasons else {}

    def _parts(self, runner: Runner) -> tuple[list[Part], dict[str, str]]:
        """What there is to do, and why something is left out; ``runner``: the first dtype's."""
        first = runner.model.dtype
        times = 1 if self.plan.quick else REPETITIONS
        parts = [Part("headline", d, HEADLINE, self._prompts, times) for d in self._runners]
        if self.plan.quick or self.plan.headline:
            return parts, {}
        some = spread_over(self._prompts, ABLATED_PROMPTS)
        parts.append(Part("ablation", first, ABLATIONS, some, 1, ABLATIONS[0]))
        try:
            long = long_prompt(lambda p: len(runner.inputs(p).tokens), runner.model.max_context)
        except InputError as error:
            return parts, {"long": str(error)}
        parts.append(Part("long", first, LONG, (long,), LONG_REPETITIONS))
        return parts, {}

    def _measure(self, part: Part) -> Generator[Stage, None, None]:
        pending = [k for k in part.units() if k[0] not in self.ledger.units]
        total = len(part.units())
        runner = self._runners[part.dtype]
        yield from self._prepare(runner, part, bool(pending))
        rows = part.sequence(self._rows(part, runner))
        for i, (key, repetition, number, prompt) in enumerate(pending):
            yield self._stage(part, total - len(pending) + i, total)
            started = monotonic()
            turn = rotated(part.at(rows, repetition), number, repetition)
            samples, plain = runner.unit(part.name, turn, prompt, check=repetition == 0)
            self.ledger.add(key, {
                "samples": [s.plain() for s in samples],
                "repeated": repeated(runner.inputs(prompt).tokens, plain.tokens),
            })  # fmt: skip
            self._spent += monotonic() - started
            self._done += part.weight(prompt)
            self._still -= part.weight(prompt)
        yield self._stage(part, total, total)

    def _stage(self, part: Part, done: int, total: int) -> Stage:
        left = self._spent / self._done * max(0.0, self._still) if self._done else None
        return Stage(part.name, part.dtype, done, total, left)

    def _probe(
        self, what: str, asked: Sequence[tuple[str, Callable[[], Unit]]]
    ) -> Generator[Stage, None, None]:
        """Ask what was not answered yet; each answer is kept as it comes."""
        dtype = next(iter(self._runners))
        for done, (key, ask) in enumerate(asked):
            yield Stage(what, dtype, done, len(asked))
            if key not in self.ledger.units:
                self.ledger.add(key, ask().plain())
        yield Stage(what, dtype, len(asked), len(asked))

    def _prepare(
        self, runner: Runner, part: Part, pending: bool
    ) -> Generator[Stage, None, None]:
        """Costs, warm kernels, warm memories: nothing of it is timed. Of a part with nothing
        ``pending`` only the costs, which the file may have lost."""
        if any(row.peer for row in part.rows):
            runner.load_peer()
        gc.freeze()  # what is loaded stays: collecting before every run need not look at it
        lengths = [runner.length(p) for p in part.prompts]
        if part.name == "long":
            lengths += LENGTHS
        for stock in sorted({row.packed is False for row in part.rows}):
            yield from self._costs(runner, lengths, stock)
        if not (pending and self._cold(part)):
            return
        rows = self._rows(part, runner)
        for done in runner.warm_up(rows, part.prompts[0]):
            yield Stage("warm", part.dtype, done, len(rows))
        for row in warm_rows(part.rows):
            for done, _ in enumerate(runner.fill_memories(row, self._prompts), start=1):
                yield Stage("memory", part.dtype, done, len(self._prompts))

    def _costs(
        self, runner: Runner, lengths: Sequence[int], stock: bool = False
    ) -> Generator[Stage, None, None]:
        """Measure what passes cost; what is known from before an interruption is believed, so that
        trees get the same sizes again."""
        dtype = runner.model.dtype
        key = f"costs/{dtype}" + (", stock weights" if stock else "")
        kept = self.ledger.units.get(key, {"rough": [], "costs": []})
        known = {
            context: Costs(**costs)
            for context, costs in zip(kept["rough"], kept["costs"], strict=True)
        }
        for done, total in runner.measure_costs(lengths, known, stock):
            yield Stage("measure", dtype, done, total)
        found = runner.known_costs(stock)
        if len(found) > len(known):
            costs = [c.model_dump(mode="json") for c in found.values()]
            self.ledger.add(key, {"rough": list(found), "costs": costs})

    def _overhead(self, runner: Runner) -> Generator[Stage, None, None]:
        yield Stage("overhead", runner.model.dtype, 0, 1)
        count, pairs = (1, 2) if self.plan.quick else (OVERHEAD_PROMPTS, OVERHEAD_PAIRS)
        chosen = [
            replace(p, tokens=min(tokens_of(p), OVERHEAD_TOKENS))
            for p in spread_over(self._prompts, count)
        ]
        yield from self._costs(runner, [runner.length(p) for p in chosen])
        self.ledger.add("overhead", {"overhead": overhead(runner, chosen, pairs)})
        yield Stage("overhead", runner.model.dtype, 1, 1)
