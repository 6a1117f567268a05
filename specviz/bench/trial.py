"""One model on one device in one dtype: the answers to the questions of the acceptance kit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal

from specviz import jobs
from specviz.audit import audit
from specviz.bench.prompts import Prompt, read_prompts, spread_over
from specviz.bench.sample import Answer, value
from specviz.bench.vlm_off import odd_pictures
from specviz.compare import first_difference
from specviz.drafters import DRAFTERS, create
from specviz.equality import judge
from specviz.metrics import seconds
from specviz.models import registry
from specviz.models.base import InputError, Inputs, Message, Model, Unsupported
from specviz.pixels import picture_of
from specviz.trace import Check, Finish, Progress, Run, Trace
from specviz.tracefile import load as load_trace
from specviz.tracefile import save
from specviz.verdict import Equality, Example, Loading, Passes, TreePass

if TYPE_CHECKING:
    from specviz.models.peers import Generated, Peer

TOKENS = 48
PROMPTS, QUICK_PROMPTS = 6, 3
EXACT = ("float32", "float64")


@dataclass(frozen=True)
class Variant:
    """A decoder with knobs, under a name of its own."""

    title: str
    decoder: str
    knobs: dict[str, Any] = field(default_factory=dict)


BEST_FIRST = Variant("token_recycling best_first", "token_recycling", {"tree": "best_first"})


def variants(names: Sequence[str], supports: frozenset[str]) -> tuple[Variant, ...]:
    """What is to be verified for these decoders, for none all that a model with these abilities can
    run; raises InputError."""
    for name in names:
        create(name)
    every = [Variant(name, name) for name in DRAFTERS]
    every.insert([v.decoder for v in every].index(BEST_FIRST.decoder) + 1, BEST_FIRST)
    fitting = {name for name, drafter in DRAFTERS.items() if drafter.needs <= supports}
    return tuple(v for v in every if v.decoder in (names or fitting))


def drawn() -> tuple[Prompt, ...]:
    """Questions about pictures that are drawn here and now; each a category of its own."""
    return tuple(
        Prompt(
            odd.question,
            odd.name,
            odd.name,
            pictures=(picture_of(odd.image, f"{odd.name}.png"),),
        )
        for odd in odd_pictures()
    )


class Trial:
    """Loads its model, and the peer, when first asked for something that needs them."""

    def __init__(self, name: str, device: str, dtype: str, quick: bool, out: Path) -> None:
        self.name, self.device, self.dtype, self.quick, self.out = name, device, dtype, quick, out
        self.toy = registry.find(name).kind == "toy"
        self.tokens = TOKENS
        self._model: Model | None = None
        self._peer: Peer | None = None
        self._trouble: InputError | None = None
        self._seconds = 0.0
        self._prompts: tuple[tuple[Prompt, Inputs], ...] = ()
        self._answers: dict[Prompt, tuple[int, ...]] = {}

    @property
    def reference_name(self) -> Literal["generate", "own loop"]:
        """Whom decoders have to agree with."""
        return "own loop" if self.toy else "generate"

    def load(self) -> Model:
        """The model; a load that failed is not tried again. Raises InputError."""
        if self._trouble is not None:
            raise self._trouble
        if self._model is None:
            started = perf_counter()
            try:
                self._model = registry.load(self.name, self.device, self.dtype)
            except InputError as error:
                self._trouble = error
                raise
            self._seconds = perf_counter() - started
        return self._model

    def free(self) -> None:
        """Let go of all weights, so that the next dtype has room."""
        self._model = self._peer = None
        registry.forget(self.name)

    def loading(self, row: Loading) -> Loading:
        """How long loading took, and the memory held."""
        model = self.load()
        peak = None
        if not self.toy:
            from specviz.models import probe

            peak = probe.peak_bytes(model.device)
        found = {"seconds": round(self._seconds, 3), "peak_bytes": peak, "packed": model.packed}
        return row.model_copy(update={"state": "held", **found})

    def tree(self, row: TreePass) -> TreePass:
        """One pass over a tree against plain passes."""
        self._needs_weights("its cache checks every commit instead")
        from specviz.models import probe

        gap = probe.tree_gap(self.load())
        if gap is None:
            raise Unsupported("This model shows no logits to compare.")
        error, limit = gap
        change: dict[str, Any] = {"error": round(error, 9), "limit": limit, "state": "held"}
        if not error <= limit:
            why = "The tokens of a tree could not be trusted here."
            change |= {"state": "failed", "why": why}
        return row.model_copy(update=change)

    def passes(self, row: Passes) -> Passes:
        """The cost curve behind ``row.context`` tokens, measured now."""
        self._needs_weights("passes over a table cost nothing worth knowing")
        from specviz.models import probe

        model = self.load()
        if row.context + probe.WIDEST > model.max_context:
            raise Unsupported(
                f"The context of {model.label} ends at {model.max_context}: too short for "
                f"{row.context} tokens and a pass."
            )
        if row.packed and not registry.packing_wanted():
            raise Unsupported(f"{registry.PACKED} is off: unset it to try packed weights, too.")
        if row.packed and not model.packed:
            raise Unsupported(f"Packing weights does not help here in {self.dtype}.")
        if not row.packed and model.packed:
            model = registry.load(self.name, self.device, self.dtype, packed=False)
        costs = value(model.measure(row.context, fresh=True))
        return row.model_copy(update={"state": "held", "costs": costs})

    def equality(self, row: Equality, variant: Variant) -> Equality:
        """The tokens of ``variant`` against the reference's, prompt by prompt."""
        if self.toy and variant.decoder == "autoregressive":
            raise Unsupported("This is the reference itself: transformers has no such model.")
        counts = {"identical": 0, "tied": 0, "tied_tokens": 0, "tokens": 0}
        margins: list[float] = []
        wrong: list[str] = []
        prompts = self.prompts()
        for number, (prompt, inputs) in enumerate(prompts, start=1):
            run = self._run(variant, prompt)
            counts["tokens"] += len(run.tokens)
            reference = self._reference(prompt, inputs)
            at = first_difference(run.tokens, reference)
            if at is None:
                counts["identical"] += 1
                continue
            check = self._judge(inputs, run, reference, at)
            counts["tied_tokens"] += check.ties
            if check.margin is not None:
                margins.append(check.margin)
            if check.equal == "tie":
                counts["tied"] += 1
            # Single and double precision have to give the very tokens.
            if check.equal is False or self.dtype in EXACT:
                kind = "a numeric tie" if check.equal == "tie" else "more than rounding"
                wrong.append(f"prompt {number} from token {at + 1} on by {kind}")
        change: dict[str, Any] = {"state": "held", "prompts": len(prompts), **counts}
        change["pictures"] = sum(bool(prompt.pictures) for prompt, _ in prompts)
        change["largest_margin"] = max(margins, default=None)
        if wrong:
            why = f"Differs from {row.reference}: {', '.join(wrong)}."
            change |= {"state": "failed", "why": why[:500]}
        return row.model_copy(update=change)

    def example(self, row: Example, variant: Variant) -> Example:
        """Record one run with its baseline, and read it back."""
        name = f"{variant.title.replace(' ', '-')}.jsonl.gz"
        trace = self._trace(variant, self.prompts()[0][0], baseline=True)
        save(self.out / name, trace.events)
        kept = load_trace(self.out / name)
        findings = audit(kept)
        change: dict[str, Any] = {"state": "held", "file": name}
        if findings:
            change |= {"state": "failed", "why": findings[0][:500]}
        elif kept.check is None or not kept.check.equal:
            change |= {"state": "failed", "why": "The recorded run differs from its baseline."}
        return row.model_copy(update=change)

    def prompts(self) -> tuple[tuple[Prompt, Inputs], ...]:
        """The first prompts of different categories that fit, for a model that sees every other one
        about a picture; raises Unsupported if none does."""
        if not self._prompts:
            model = self.load()
            wanted = QUICK_PROMPTS if self.quick else PROMPTS
            asked = [read_prompts(), *([drawn()] if "image" in model.supports else [])]
            fitting = [self._fitting(model, prompts) for prompts in reversed(asked)]
            chosen = [spread_over(list(part), wanted) for part in fitting if part]
            if not chosen:
                raise Unsupported(
                    f"The context of {model.label} ends at {model.max_context}: too short for any "
                    "of the prompts."
                )
            turns = [p for turn in zip_longest(*chosen) for p in turn if p is not None]
            known = {prompt: inputs for part in fitting for prompt, inputs in part.items()}
            self._prompts = tuple((p, known[p]) for p in turns[:wanted])
        return self._prompts

    def _fitting(self, model: Model, prompts: Sequence[Prompt]) -> dict[Prompt, Inputs]:
        encoded = {p: model.encode([Message("user", p.text, p.pictures)]) for p in prompts}
        most = model.max_context - self.tokens
        return {p: inputs for p, inputs in encoded.items() if len(inputs.tokens) <= most}

    def _needs_weights(self, instead: str) -> None:
        if self.toy:
            raise Unsupported(f"A toy has no weights: {instead}.")

    def _trace(self, variant: Variant, prompt: Prompt, baseline: bool) -> Trace:
        job = jobs.Job(
            model=self.name, decoder=variant.decoder, knobs=variant.knobs, prompt=prompt.text,
            pictures=prompt.pictures, max_new_tokens=self.tokens, device=self.device,
            dtype=self.dtype, baseline=baseline,
        )  # fmt: skip
        self.load()  # a load that failed is not tried again
        return Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))

    def _run(self, variant: Variant, prompt: Prompt) -> Run:
        run = self._trace(variant, prompt, baseline=False).run("decoder")
        assert run is not None
        return run

    def _reference(self, prompt: Prompt, inputs: Inputs) -> tuple[int, ...]:
        if prompt not in self._answers:
            if self.toy:
                plain = self._run(Variant("autoregressive", "autoregressive"), prompt)
                self._answers[prompt] = plain.tokens
            else:
                made = self._generated(inputs)
                self._answers[prompt] = made.tokens
        return self._answers[prompt]

    def _generated(self, inputs: Inputs) -> Generated:
        return self._generator().generate(inputs.tokens, self.tokens, pixels=inputs.pixels)

    def _generator(self) -> Peer:
        if self._peer is None:
            from specviz.models import peers

            model = self.load()
            if model.packed:  # the stock copy has been timed
                registry.forget(self.name, packed=False)
            try:
                self._peer = peers.load(self.name, self.device, self.dtype)
            except Unsupported:
                if self.toy or model.packed:
                    raise
                self._peer = peers.beside(model)  # the weights did not fit a second time
        return self._peer

    def _judge(self, inputs: Inputs, run: Run, reference: tuple[int, ...], at: int) -> Check:
        """Whether rounding explains both texts: ours read back to its end, the reference's to the
        first difference."""
        ended = Finish(reason="length", tokens=len(reference), seconds=0)
        mine = value(judge(self.load(), inputs, run, Answer(reference, ended)))
        if mine.equal == "tie":
            other = Answer(reference[: at + 1], ended)
            theirs = value(judge(self.load(), inputs, other, run))
            return mine.model_copy(update={"equal": theirs.equal})
        return mine

    def timed(
        self, variant: Variant | None, prompt: Prompt, inputs: Inputs
    ) -> tuple[int, float, int]:
        """(tokens after the prompt was read, seconds for them, passes); None is ``generate``."""
        if variant is None:
            made = self._generated(inputs)
            tokens = len(made.tokens) - made.first
            return tokens, made.decode_seconds, tokens
        run = self._run(variant, prompt)
        emitted = sum(len(step.emitted) for step in run.steps)
        return emitted, seconds(run)["decode"], len(run.steps)
