"""From samples to figures: medians over repetitions, sums over prompts, ratios between rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from statistics import median
from typing import Any

from specviz.bench.prompts import Prompt
from specviz.bench.rows import Row
from specviz.bench.sample import Sample, Timing

LENGTHS = ((32, "up to 32"), (64, "33 to 64"), (128, "65 to 128"), (10**9, "over 128"))
SECONDS = ("prefill", "decode", "draft", "verify", "commit")


def typical(timings: Sequence[Timing]) -> Timing:
    """The medians of the seconds over repetitions; what was counted is that of the first one."""
    medians = {name: median(getattr(t, name) for t in timings) for name in SECONDS}
    counts = {f.name: getattr(timings[0], f.name) for f in fields(Timing)}
    return Timing(**{**counts, **medians})


def total_seconds(timings: Sequence[Timing]) -> float:
    """The median of prefill + decode, taken of the sum."""
    return median(t.prefill + t.decode for t in timings)


def bucket(tokens: int) -> str:
    """The class of answer lengths that ``tokens`` falls into."""
    return next(name for most, name in LENGTHS if tokens <= most)


class Pool:
    """All samples of one part and dtype, by row and prompt."""

    def __init__(self, samples: Sequence[Sample]) -> None:
        self._timings: dict[str, dict[str, list[Timing]]] = {}
        self._equal: dict[str, dict[str, Any]] = {}
        for sample in samples:
            row = self._timings.setdefault(sample.row, {})
            row.setdefault(sample.prompt, []).append(sample.timing)
            if sample.equal is not None:
                self._equal.setdefault(sample.row, {}).setdefault(sample.prompt, sample.equal)

    def __contains__(self, row: str) -> bool:
        return row in self._timings

    def prompts(self, row: str) -> list[str]:
        """Ids of the prompts that ``row`` was run on."""
        return list(self._timings[row])

    def of(self, row: str, prompts: Sequence[str]) -> list[Timing]:
        """The typical timing of ``row`` on each of ``prompts``."""
        return [typical(self._timings[row][p]) for p in prompts]

    def decode_rate(self, row: str, prompts: Sequence[str]) -> float | None:
        """Tokens per second after the prompt was read, over ``prompts``."""
        found = self.of(row, prompts)
        return over(sum(t.tokens - t.first for t in found), sum(t.decode for t in found))

    def total_rate(self, row: str, prompts: Sequence[str]) -> float | None:
        """Tokens per second with the reading of the prompts."""
        timings = [self._timings[row][p] for p in prompts]
        return over(sum(t[0].tokens for t in timings), sum(map(total_seconds, timings)))

    def equal(self, row: str) -> list[Any]:
        """What comparing with our plain loop said, by prompt."""
        return list(self._equal.get(row, {}).values())

    def groups(self, row: str, name: Callable[[str], str]) -> dict[str, list[str]]:
        """Prompts of ``row`` by ``name``."""
        found: dict[str, list[str]] = {}
        for prompt in self._timings[row]:
            found.setdefault(name(prompt), []).append(prompt)
        return found

    def tokens(self, row: str, prompt: str) -> int:
        """How many tokens ``row`` emitted for ``prompt``."""
        return self._timings[row][prompt][0].tokens


def figures(pool: Pool, row: Row, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """Everything that is told about ``row``; ratios are to ``row.against`` in the same pool.

    Rates are tokens per second; ``speedup_decode`` leaves prefill out, ``speedup_total`` does not;
    ``spread`` is [least, median, most] of it over prompts. ``share`` splits decode seconds,
    ``prefill_seconds`` is the mean over prompts. ``rows_per_pass``: verified rows;
    ``cost_per_pass``: what they cost by the measured curve in single-row passes; ``ceiling`` =
    tau / cost_per_pass; ``accepted``: guesses a pass; ``top_right``, ``any_right``: of the passes
    that guessed (``drafted``: their share), those whose foremost guess for the next token was
    right, and those where any was; ``draft_ms``, ``verify_ms``: milliseconds a pass. Of a
    recurrent-depth model also calls of the core one after another, and positions summed over them,
    per token that was decoded.
    """
    ids = pool.prompts(row.name)
    timings = pool.of(row.name, ids)
    rate = pool.decode_rate(row.name, ids)
    other = row.against if row.against in pool else None
    equal = pool.equal(row.name)
    category = {p.id: p.category for p in prompts}
    lengths = pool.groups(row.name, lambda p: bucket(pool.tokens(row.name, p)))
    return {
        "name": row.name,
        "against": other,
        "prompts": len(ids),
        "tokens": sum(t.tokens for t in timings),
        "tokens_per_s": rounded(rate),
        "tokens_per_s_total": rounded(pool.total_rate(row.name, ids)),
        "prefill_seconds": rounded(sum(t.prefill for t in timings) / len(timings)),
        "ms_per_token": rounded(1000 / rate if rate else None),
        **_passes(timings),
        **_core(timings),
        **_speedups(pool, row.name, other, ids),
        "spread": spread([_speedups(pool, row.name, other, [p])["speedup_decode"] for p in ids]),
        "share": _share(timings) if not row.peer else None,
        "identical": sum(e is True for e in equal),
        "ties": sum(e == "tie" for e in equal),
        "mismatches": sum(e is False for e in equal),
        "by_category": _parts(pool, row.name, other, pool.groups(row.name, category.__getitem__)),
        "by_length": _parts(
            pool, row.name, other, {n: lengths[n] for _, n in LENGTHS if n in lengths}
        ),
    }


def _parts(
    pool: Pool, row: str, other: str | None, groups: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    return {
        name: {
            "prompts": len(ids),
            "tokens_per_s": rounded(pool.decode_rate(row, ids)),
            "speedup_decode": _speedups(pool, row, other, ids)["speedup_decode"],
            "tau": _passes(pool.of(row, ids))["tau"],
        }
        for name, ids in groups.items()
    }


def _speedups(
    pool: Pool, row: str, other: str | None, ids: Sequence[str]
) -> dict[str, float | None]:
    if other is None:
        return {"speedup_decode": None, "speedup_total": None}
    return {
        "speedup_decode": rounded(over(pool.decode_rate(row, ids), pool.decode_rate(other, ids))),
        "speedup_total": rounded(over(pool.total_rate(row, ids), pool.total_rate(other, ids))),
    }


def _passes(timings: Sequence[Timing]) -> dict[str, float | None]:
    passes = sum(t.passes for t in timings)
    tau = over(sum(t.tokens - t.first for t in timings), passes)
    cost = over(sum(t.cost for t in timings), passes) or None
    drafted = sum(t.drafted for t in timings)
    accepted = over(sum(t.accepted for t in timings), sum(t.tested for t in timings))
    return {
        "tau": rounded(tau),
        "acceptance": rounded(accepted),
        "accepted": rounded(over(sum(t.accepted for t in timings), passes)),
        "drafted": rounded(over(drafted, passes)),
        **{
            name: rounded(over(sum(getattr(t, name) for t in timings), drafted))
            for name in ("top_right", "any_right")
        },
        **{
            f"{name}_ms": rounded(over(1000 * sum(getattr(t, name) for t in timings), passes))
            for name in ("draft", "verify")
        },
        "rows_per_pass": rounded(over(sum(t.rows for t in timings), passes)),
        "cost_per_pass": rounded(cost),
        "ceiling": rounded(over(tau, cost)),
    }


def _core(timings: Sequence[Timing]) -> dict[str, float | None]:
    tokens = sum(t.tokens - t.first for t in timings)
    return {
        f"{name}_per_token": rounded(over(sum(getattr(t, name) for t in timings) or None, tokens))
        for name in ("calls", "applications")
    }


def _share(timings: Sequence[Timing]) -> dict[str, float] | None:
    decode = sum(t.decode for t in timings)
    if not decode:
        return None
    parts = {n: sum(getattr(t, n) for t in timings) / decode for n in ("draft", "verify", "commit")}
    parts["rest"] = max(0.0, 1.0 - sum(parts.values()))
    return {name: round(part, 4) for name, part in parts.items()}


def over(above: float | None, below: float | None) -> float | None:
    """A ratio; None where either side is missing or nothing."""
    return above / below if above is not None and below else None


def rounded(number: float | None) -> float | None:
    """``number`` as results keep it."""
    return None if number is None else round(number, 4)


def spread(values: Sequence[float | None]) -> list[float] | None:
    """[least, median, most] of what is known; None for nothing."""
    known = [v for v in values if v is not None]
    return [round(f(known), 4) for f in (min, median, max)] if known else None
