"""The acceptance kit: does a model decode here as it should, and what does it bring?

Questions are answered one by one; one that fails does not stop the others.
"""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from specviz import jobs
from specviz.bench.race import race
from specviz.bench.reported import reported
from specviz.bench.trial import Trial, Variant, variants
from specviz.models import registry
from specviz.models.base import InputError
from specviz.models.registry import Entry
from specviz.verdict import (
    Equality,
    Example,
    Loading,
    Passes,
    Row,
    Speed,
    TreePass,
    Verdict,
    code_digest,
)

log = logging.getLogger(__name__)

CONTEXTS = (100, 2000, 7000)
PACKAGES = ("torch", "transformers", "tokenizers", "numpy")


@dataclass(frozen=True)
class Plan:
    """What to verify. ``decoders`` and ``dtypes`` empty: all that make sense here; ``out``: the
    folder that gets the recorded examples."""

    model: str
    out: Path
    decoders: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    device: str = "auto"
    quick: bool = False


@dataclass(frozen=True)
class Stage:
    """Rows that are answered together by ``act``, which gets them unanswered."""

    rows: tuple[Row, ...]
    act: Callable[[tuple[Row, ...]], tuple[Row, ...]]


def verify(plan: Plan) -> Generator[Verdict, None, None]:
    """Yields the verdict as it grows, first with every row unanswered.

    Raises InputError (before anything is yielded) when the model cannot be loaded at all.
    """
    stages = _planned(plan)
    trials = list(dict.fromkeys(trial for trial, _ in stages))
    trials[0].load()
    answers = [list(stage.rows) for _, stage in stages]
    verdict = _beginning(plan, trials[0])
    yield verdict.model_copy(update={"rows": _flat(answers)})
    for i, (trial, stage) in enumerate(stages):
        if i and trial is not stages[i - 1][0]:
            stages[i - 1][0].free()
        answers[i] = list(_attempt(stage))
        yield verdict.model_copy(update={"rows": _flat(answers)})


def unanswered(plan: Plan) -> Verdict:
    """What there is to say before the model is loaded: who it is, and every question."""
    entry = registry.find(plan.model)
    stages = _planned(plan)
    return Verdict(
        # Of a folder only the name, as when it is loaded: a result holds no path.
        model=Path(entry.label).name if Path(entry.label).is_absolute() else entry.label,
        digest=entry.digest(),
        device=stages[0][0].device,
        machine=platform.machine(),
        versions=jobs.versions(PACKAGES),
        code=code_digest(),
        quick=plan.quick,
        max_new_tokens=stages[0][0].tokens,
        rows=_flat([stage.rows for _, stage in stages]),
    )


def _planned(plan: Plan) -> list[tuple[Trial, Stage]]:
    entry = registry.find(plan.model)
    chosen = variants(plan.decoders, entry.ready)
    device, dtypes = place(plan, entry)
    trials = [Trial(plan.model, device, dtype, plan.quick, plan.out) for dtype in dtypes]
    return [
        (trial, stage)
        for trial in trials
        for stage in _stages(trial, chosen, examples=trial is trials[0])
    ]


def place(plan: Plan, entry: Entry) -> tuple[str, tuple[str, ...]]:
    """Device and dtypes by name; without a wish the usual one, and in a whole run a second one."""
    if entry.kind == "toy":
        for dtype in plan.dtypes or ("auto",):
            registry.load(plan.model, plan.device, dtype)  # refuses what a toy cannot
        own_device, own_dtype = next(iter(entry.dtypes.items()))
        return own_device, (own_dtype,)
    device = registry.resolve_device(plan.device)
    if plan.dtypes:
        wished = (registry.resolve_dtype(d, device, entry) for d in plan.dtypes)
        return device, tuple(dict.fromkeys(wished))
    usual = registry.resolve_dtype("auto", device, entry)
    return device, (usual,) if plan.quick else tuple(dict.fromkeys((usual, "float32", "bfloat16")))


def _flat(answers: Sequence[Sequence[Row]]) -> tuple[Row, ...]:
    return tuple(row for rows in answers for row in rows)


def _stages(trial: Trial, chosen: Sequence[Variant], examples: bool) -> Iterator[Stage]:
    dtype = trial.dtype
    yield Stage((Loading(dtype=dtype),), _each(trial.loading))
    yield Stage((TreePass(dtype=dtype),), _each(trial.tree))
    stock = trial.device == "cpu" and not trial.toy
    for packed in (True, False) if stock else (False,):
        for context in CONTEXTS[: 1 if trial.quick and not packed else len(CONTEXTS)]:
            passes = Passes(dtype=dtype, context=context, packed=packed)
            yield Stage((passes,), _each(trial.passes))
    for variant in chosen:
        row = Equality(dtype=dtype, decoder=variant.title, reference=trial.reference_name)
        yield Stage((row,), _each(trial.equality, variant))
    names = ("autoregressive", "generate", *(v.title for v in chosen))
    speeds = tuple(Speed(dtype=dtype, decoder=name) for name in dict.fromkeys(names))
    yield Stage(speeds, lambda rows: race(trial, rows, chosen))
    for variant in chosen if examples else ():
        row_example = Example(dtype=dtype, decoder=variant.title)
        yield Stage((row_example,), _each(trial.example, variant))


def _each(
    answer: Callable[..., Row], *more: object
) -> Callable[[tuple[Row, ...]], tuple[Row, ...]]:
    return lambda rows: tuple(answer(row, *more) for row in rows)


def _attempt(stage: Stage) -> tuple[Row, ...]:
    """The rows of ``stage`` answered; what went wrong stands in them."""
    try:
        return stage.act(stage.rows)
    except InputError as error:
        change = {"state": "skipped", "why": str(error)[:500]}
    except Exception as error:  # a foreign model or device: the other questions still count
        log.warning("a part of the verification failed", exc_info=True)
        why = f"It did not run to its end ({type(error).__name__}); the log says where."
        change = {"state": "failed", "why": why}
    return tuple(row.model_copy(update=change) for row in stage.rows)


def _beginning(plan: Plan, trial: Trial) -> Verdict:
    model = trial.load()
    facts: dict[str, int | str | bool | None] = {
        "vocabulary": model.vocab_size,
        "max_context": model.max_context,
    }
    driver: dict[str, str] = {}
    if not trial.toy:
        from specviz.models import probe

        facts, driver = probe.architecture(model), probe.driver(model.device)
    return Verdict(
        model=model.label,
        digest=model.digest,
        device=model.device,
        machine=model.hardware,
        driver=driver,
        versions=jobs.versions(PACKAGES),
        code=code_digest(),
        quick=plan.quick,
        max_new_tokens=trial.tokens,
        facts=facts,
        reported=reported(model.label),
    )
