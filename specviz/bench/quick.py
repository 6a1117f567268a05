"""A first measurement: a few prompts, each with its baseline, with the spread over prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specviz.bench.pool import over, rounded, spread
from specviz.bench.prompts import Prompt
from specviz.metrics import seconds, speedup_decode, speedup_total, summary
from specviz.trace import Role, Run, Trace

CONDITIONS = (
    "decoder", "knobs", "model", "digest", "device", "dtype", "machine", "versions",
    "max_new_tokens",
)  # fmt: skip


def sample(prompts: Sequence[Prompt], count: int = 4) -> tuple[Prompt, ...]:
    """The first prompt of each of the first ``count`` categories."""
    first: dict[str, Prompt] = {}
    for prompt in prompts:
        first.setdefault(prompt.category, prompt)
    return tuple(first.values())[:count]


def result(prompt: Prompt, trace: Trace) -> dict[str, Any]:
    """What one prompt gave, as plain data."""
    return {"prompt": prompt.text, "category": prompt.category, **summary(trace)}


def overall(traces: Sequence[Trace]) -> dict[str, Any]:
    """The conditions, figures over all tokens, and the spread of each figure over prompts.

    ``speedup_decode`` and ``speedup_total``: total seconds per total token of the baselines over
    the decoder's, without and with the prompts. ``spread``: [least, median, most].
    """
    runs, plain = _runs(traces, "decoder"), _runs(traces, "baseline")
    facts = [summary(trace) for trace in traces]
    spreads = {
        "speedup_decode": spread([speedup_decode(t) for t in traces]),
        "speedup_total": spread([speedup_total(t) for t in traces]),
        **{
            name: spread([f["decoder"][name] for f in facts if f["decoder"]])
            for name in ("tau", "acceptance", "ms_per_token")
        },
    }
    return {
        "conditions": _conditions(runs),
        "prompts": len(traces),
        "tokens": sum(len(run.tokens) for run in runs),
        "speedup_decode": rounded(over(_decode_pace(plain), _decode_pace(runs))),
        "speedup_total": rounded(over(_total_pace(plain), _total_pace(runs))),
        "spread": spreads,
        "equal": [f["equal"] for f in facts],
    }


def _runs(traces: Sequence[Trace], role: Role) -> list[Run]:
    return [run for trace in traces if (run := trace.run(role)) is not None]


def _conditions(runs: Sequence[Run]) -> dict[str, Any]:
    header = runs[0].header.model_dump(mode="json")
    return {name: header[name] for name in CONDITIONS}


def _decode_pace(runs: Sequence[Run]) -> float | None:
    tokens = sum(len(step.emitted) for run in runs for step in run.steps)
    return over(sum(seconds(run)["decode"] for run in runs), tokens)


def _total_pace(runs: Sequence[Run]) -> float | None:
    tokens = sum(len(run.tokens) for run in runs)
    return over(sum(seconds(run)["total"] for run in runs), tokens)
