"""Are two finished runs the same text, and if not, does rounding explain it?"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Literal, Protocol

from specviz.compare import first_difference
from specviz.models.base import Inputs, Model
from specviz.trace import Check, Finish, Progress


class Answer(Protocol):
    """What is judged: a recorded run, or what another program emitted for the same prompt."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """All emitted tokens."""
        ...

    @property
    def finish(self) -> Finish | None:
        """How it ended, None when it did not."""
        ...


def judge(
    model: Model, inputs: Inputs, decoder: Answer, baseline: Answer
) -> Generator[Progress, None, Check]:
    """Compare two finished runs, yielding progress.

    A difference is a tie only if every token of the decoder's text lies within an absolute cap of
    the target's best when the text is read back teacher-forced.
    """
    complete = all(r.finish is not None and r.finish.reason in ("eos", "length")
                   for r in (decoder, baseline))  # fmt: skip
    at = first_difference(decoder.tokens, baseline.tokens)
    if at is None:
        return Check(equal=True, complete=complete)
    session = model.open()
    try:
        scores = yield from session.score((*inputs.tokens, *decoder.tokens), inputs.pixels)
    finally:
        session.close()
    start = len(inputs.tokens)
    gaps, caps, ties = [], [], 0
    for i, token in enumerate(decoder.tokens, start=start):
        own = scores.own_logps[i]
        assert own is not None
        best = scores.picks[i - 1] == token
        ties += not best  # also where the record's precision hides the gap
        gaps.append(0.0 if best else scores.top_logps[i - 1][0] - own)
        caps.append(tie_cap(model.dtype, scores.peaks[i - 1]))
    # A text that ends before the other one lacks tokens: no rounding explains that.
    within = at < len(gaps) and all(g <= c for g, c in zip(gaps, caps, strict=True))
    where = min(at, len(gaps) - 1)
    equal: Literal["tie", False] = "tie" if within else False
    return Check(
        equal=equal,
        first_difference=at,
        margin=round(gaps[where], 4),
        cap=round(caps[where], 4),
        ties=ties,
        complete=complete,
    )


def tie_cap(dtype: str, logit: float) -> float:
    """The largest logit gap that rounding explains: 1e-3 in float32, two units in the last place
    of the logit in half precision, the precision of the record (1e-4) in float64."""
    if dtype == "float64":
        return 1e-4
    if dtype == "float32":
        return 1e-3
    bits = {"bfloat16": 7, "float16": 10}[dtype]
    return 2.0 * 2.0 ** (math.floor(math.log2(max(abs(logit), 1e-6))) - bits)
