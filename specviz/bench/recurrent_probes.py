"""Questions to a recurrent-depth model itself, outside of any timing of decoders."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from specviz import jobs
from specviz.bench.questions import TOKENS, answer_spans, documents, final_answer, tasks, taught
from specviz.bench.recurrent_rows import depths
from specviz.bench.recurrent_units import (
    Accuracy,
    Agreement,
    Composed,
    Convergence,
    Core,
    Loop,
)
from specviz.bench.runner import Place, Runner, at_depth
from specviz.bench.sample import run_ours, value
from specviz.models import registry
from specviz.training.raven_documents import Document, Kind

TEXTS: tuple[Kind, ...] = ("words", "code", "cups", "sums")
SETTLING_TEXTS = 10


def accuracy(place: Place, runner: Runner, problems: Sequence[Document], depth: int) -> Accuracy:
    """Answer word problems by plain decoding with so many iterations."""
    label, right = at_depth(place.model, depth), list[bool]()
    for problem in problems:
        job = jobs.Job(
            model=label, decoder="autoregressive", prompt=problem.user, max_new_tokens=TOKENS,
            device=place.device, dtype=place.dtype, baseline=False,
        )  # fmt: skip
        run, _ = run_ours(job)
        said = b"".join(runner.model.token_bytes(t) for t in run.tokens).decode(errors="replace")
        right.append(final_answer(said) == final_answer(problem.reply))
    if registry.find(label).label != runner.model.label:
        registry.forget(label)
    return Accuracy(right=tuple(right))


def agreement(runner: Runner, kind: Kind, count: int) -> Agreement:
    """Teacher-forced over the replies of ``count`` texts, the end of the turn included."""
    from specviz.models.raven_depths import PREFIXES, Probe

    looked, positions = depths(_depth(runner)), 0
    same = {prefix: [0] * len(looked) for prefix in PREFIXES}
    for tokens, begin in _texts(runner, kind, count):
        probe = Probe(runner.model, tokens)
        final = probe.final[begin - 1 :]
        positions += len(final)
        for prefix, counts in same.items():
            for i, picks in enumerate(probe.picks(prefix, looked)):
                counts[i] += sum(a == b for a, b in zip(picks[begin - 1 :], final, strict=True))
    return Agreement(
        depths=looked, positions=positions, same={str(k): tuple(v) for k, v in same.items()}
    )


def convergence(runner: Runner, count: int) -> Convergence:
    """Of queries, keys and values over word problems with their solutions, mean over positions."""
    from specviz.models.raven_depths import Probe

    found, weights = [], []
    for tokens, _ in _texts(runner, "words", min(count, SETTLING_TEXTS)):
        found.append(Probe(runner.model, tokens).settling())
        weights.append(len(tokens))

    def mean(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
        sums = [sum(w * x for w, x in zip(weights, column, strict=True))
                for column in zip(*rows, strict=True)]  # fmt: skip
        return tuple(round(s / sum(weights), 6) for s in sums)

    names = list(found[0]) if found else []
    return Convergence(
        positions=sum(weights),
        cosine={name: mean([f[name].cosine for f in found]) for name in names},
        distance={name: mean([f[name].distance for f in found]) for name in names},
    )


def composed(runner: Runner, kind: Kind, count: int) -> Composed:
    """Which answers of composed tasks are right when the model iterates 1 to ``depth`` times, the
    true earlier answers given."""
    from specviz.models.raven_depths import Probe

    model, looked, skipped = runner.model, tuple(range(1, _depth(runner) + 1)), 0
    asked: Counter[int] = Counter()
    right: dict[int, list[int]] = {}
    for task in tasks(kind, count):
        tokens, begin = taught(model, task.question, task.reply)
        spans = answer_spans(task, tokens, begin, model.token_bytes)
        if spans is None or len(tokens) > model.max_context:
            skipped += 1
            continue
        picks = Probe(model, tokens).shallow(looked)
        for taken, span in zip(task.depths, spans, strict=True):
            asked[taken] += 1
            row = right.setdefault(taken, [0] * len(looked))
            for i, picked in enumerate(picks):
                row[i] += all(picked[p - 1] == tokens[p] for p in span)
    steps = tuple(sorted(asked))
    return Composed(
        depths=looked,
        steps=steps,
        asked=tuple(asked[s] for s in steps),
        right=tuple(tuple(right[s]) for s in steps),
        skipped=skipped,
    )


def core(runner: Runner, context: int) -> Core:
    """What a call of the core costs, by positions."""
    from specviz.models import raven_costs

    return Core(costs=value(raven_costs.core_costs(runner.model, context)))


def loop(runner: Runner) -> Loop:
    """What a plain token takes beside its matrix products."""
    from specviz.models import raven_probe

    seconds, products = raven_probe.loop_overhead(runner.model)
    return Loop(seconds=seconds, products=products)


def _texts(runner: Runner, kind: Kind, count: int) -> list[tuple[tuple[int, ...], int]]:
    """Questions with their true replies that fit, and where the replies begin."""
    found = [taught(runner.model, d.user, d.reply) for d in documents(kind, count)]
    return [(tokens, begin) for tokens, begin in found if len(tokens) <= runner.model.max_context]


def _depth(runner: Runner) -> int:
    depth = runner.model.depth
    assert depth is not None, "refused before"
    return depth
