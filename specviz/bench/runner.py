"""Runs rows on prompts in one process: models, peers, warm memories and pass costs at hand."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specviz import equality, jobs, memories
from specviz.bench.plan import tokens_of
from specviz.bench.prompts import Prompt, halves
from specviz.bench.rows import HEADLINE, OURS, Row
from specviz.bench.sample import (
    Answer,
    Equal,
    Sample,
    Timing,
    compared,
    run_ours,
    run_peer,
    value,
)
from specviz.drafters.memory import Snapshot
from specviz.models import registry
from specviz.models.base import Inputs, Message, Model, Unsupported
from specviz.models.raven_label import SPELLING
from specviz.trace import Costs, Header, Run

if TYPE_CHECKING:
    from specviz.models.peers import Peer

WARM_UP_TOKENS = 12


@dataclass(frozen=True)
class Place:
    """Which model computes, where and in which number format."""

    model: str
    device: str
    dtype: str


class Runner:
    """Everything that decoding in one ``place`` needs."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.model: Model = registry.load(place.model, place.device, place.dtype)
        self.no_peer = ""
        self._peer: Peer | None = None
        self._prompts: tuple[Prompt, ...] = ()
        self._half: dict[str, int] = {}
        self._memories: dict[tuple[str, int], Snapshot | None] = {}
        self._seen: dict[Message, Inputs] = {}
        self._weights = registry.find(place.model).kind != "toy"
        self._costs: dict[tuple[bool, int], Costs] = {}  # by whether stock, and rough context

    def job(self, row: Row, prompt: Prompt) -> jobs.Job:
        """The job of one of our own rows."""
        return jobs.Job(
            model=self.place.model if row.depth is None else at_depth(self.place.model, row.depth),
            decoder=row.decoder,
            prompt=prompt.text,
            knobs=row.knobs,
            max_new_tokens=tokens_of(prompt),
            device=self.place.device,
            dtype=self.place.dtype,
            packed=row.packed,
            costs=self.costs(prompt, stock=row.packed is False),
            baseline=False,
            memory=self.memory(row, prompt) if row.warm else None,
            scope="bench",
            pictures=prompt.pictures,
        )

    def inputs(self, prompt: Prompt) -> Inputs:
        """The encoded prompt; raises InputError."""
        asked = Message("user", prompt.text, prompt.pictures)
        if not prompt.pictures:
            return self.model.encode((asked,))
        # A picture takes longer than a text, and its prompt is asked for many times.
        if asked not in self._seen:
            self._seen[asked] = self.model.encode((asked,))
        return self._seen[asked]

    def load_peer(self) -> None:
        """Get the stock copy ready, or learn why there is none."""
        from specviz.models import peers

        if self._peer is not None or self.no_peer:
            return
        try:
            self._peer = peers.load(self.place.model, self.place.device, self.place.dtype)
        except Unsupported as error:
            self.no_peer = str(error)

    def cache_bytes(self) -> int | None:
        """Bytes of keys and values per token of context, None for a model without weights."""
        if not self._weights:
            return None
        from specviz.models import probe

        return probe.cache_bytes(self.model)

    def runnable(self, rows: Sequence[Row]) -> tuple[Row, ...]:
        """Those of ``rows`` that this model can do."""
        return tuple(r for r in rows if self._peer is not None or not r.peer)

    def run(self, row: Row, prompt: Prompt) -> tuple[Run | Answer, Timing]:
        """One run of ``row``, which has to be ``runnable``."""
        if row.lookup is not None:
            assert self._peer is not None
            return run_peer(
                self._peer, self.inputs(prompt), tokens_of(prompt), row.lookup, self.model.eos_ids
            )
        return run_ours(self.job(row, prompt))

    def unit(
        self, part: str, rows: Sequence[Row], prompt: Prompt, check: bool
    ) -> tuple[list[Sample], Run]:
        """All ``rows`` on one prompt, in this order, and our plain run, with which they are
        compared. ``check``: find out about differences by reading the text back, too."""
        runs = [(row, *self.run(row, prompt)) for row in rows]
        plain = next(run for row, run, _ in runs if row.name == OURS)
        assert isinstance(plain, Run)
        samples = [
            Sample(part, self.model.dtype, row.name, prompt.id, spent,
                   self._equal(row, prompt, run, plain, check))
            for row, run, spent in runs
        ]  # fmt: skip
        return samples, plain

    def _equal(
        self, row: Row, prompt: Prompt, mine: Run | Answer, plain: Run, check: bool
    ) -> Equal:
        if not row.compared or not check:
            return None
        return compared(self.model, self.inputs(prompt), mine, plain, equality.judge)

    # What has to be ready before anything is timed

    def header(self, prompt: Prompt) -> Header:
        """What a run of our plain loop says about itself."""
        run, _ = self.run(HEADLINE[0], replace(prompt, tokens=2))
        assert isinstance(run, Run)
        return run.header

    def warm_up(self, rows: Sequence[Row], prompt: Prompt) -> Generator[int, None, None]:
        """Run every row once, short; yields how many are done."""
        for i, row in enumerate(rows, start=1):
            self.run(replace(row, warm=False), replace(prompt, tokens=WARM_UP_TOKENS))
            yield i

    def memory(self, row: Row, prompt: Prompt) -> Snapshot | None:
        """What ``row``'s decoder remembers of the half that ``prompt`` is not in."""
        return self._memories[_memory_key(row), 1 - self._half[prompt.id]]

    def fill_memories(self, row: Row, prompts: Sequence[Prompt]) -> Generator[int, None, None]:
        """Let ``row``'s decoder answer both halves of ``prompts``, each half into a memory of its
        own; yields how many prompts are done."""
        if self._prompts != tuple(prompts):
            self._prompts, self._half, self._memories = tuple(prompts), halves(prompts), {}
        if (_memory_key(row), 0) in self._memories:
            return
        for half in (0, 1):
            kept: Snapshot | None = None
            for prompt in (p for p in self._prompts if self._half[p.id] == half):
                job = replace(self.job(replace(row, warm=False), prompt), memory=kept)
                keeper = memories.MemoryKeeper(job)
                run_ours(job, keeper.add)
                kept = keeper.snapshot()
                yield half
            self._memories[_memory_key(row), half] = kept

    def costs(self, prompt: Prompt, stock: bool = False) -> Costs | None:
        """What passes cost behind this prompt, once they were measured; ``stock``: with weights
        as they came, not packed."""
        return self._costs.get((stock, self._rough(self.length(prompt))))

    def known_costs(self, stock: bool = False) -> dict[int, Costs]:
        """Everything that was measured, by rough context length, the shortest first."""
        return {c: self._costs[kind, c] for kind, c in sorted(self._costs) if kind is stock}

    def measure_costs(
        self, lengths: Sequence[int], known: Mapping[int, Costs], stock: bool = False
    ) -> Generator[tuple[int, int], None, None]:
        """Measure afresh, for each rough context length among ``lengths`` that is not ``known``:
        what lies on the disk may come from a moment in which this machine was busy. Yields how
        many of how many are done."""
        if not self._weights:
            return
        self._costs.update({(stock, context): found for context, found in known.items()})
        wanted = sorted({self._rough(length) for length in lengths})
        place = self.place
        for done, context in enumerate(wanted):
            yield done, len(wanted)
            if (stock, context) in self._costs:
                continue
            model = self.model
            if stock:
                model = registry.load(place.model, place.device, place.dtype, packed=False)
            found = value(model.measure(context, fresh=True))
            if found is not None:
                self._costs[stock, context] = found
        yield len(wanted), len(wanted)

    def _rough(self, length: int) -> int:
        if not self._weights:
            return 0
        from specviz.models import probe

        return probe.rough_context(min(length, self.model.max_context))

    def length(self, prompt: Prompt) -> int:
        """Tokens of the prompt and of the longest answer."""
        return len(self.inputs(prompt).tokens) + tokens_of(prompt)


def at_depth(model: str, depth: int) -> str:
    """The label of a recurrent-depth ``model`` that makes ``depth`` iterations."""
    base, at, spelled = model.rpartition("@")
    match = SPELLING.fullmatch(spelled) if at else None
    return f"{model}@{depth}" if match is None else f"{base}@{depth}{match[2] or ''}"


def _memory_key(row: Row) -> str:
    return f"{row.decoder} {dict(row.knobs)}"


def warm_rows(rows: Sequence[Row] = HEADLINE) -> list[Row]:
    """The rows among ``rows`` that need a filled memory, one per decoder and knobs."""
    return list({_memory_key(r): r for r in rows if r.warm}.values())
