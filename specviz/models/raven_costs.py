"""What one call of the shared core costs, by how many positions it iterates at once."""

from __future__ import annotations

from collections.abc import Callable, Generator

import torch
from torch import Tensor

from specviz.models.base import Model
from specviz.models.hf_costs import measure, rough
from specviz.models.raven import RavenModel
from specviz.trace import Costs, Progress

CALLS = 8  # in a row, as in a round: a single one is too short to be timed well


def core_costs(model: Model, context: int) -> Generator[Progress, None, Costs | None]:
    """Seconds of a core call over a block behind about ``context`` committed tokens.

    Yields progress; None where the context has no room for two positions.
    """
    assert isinstance(model, RavenModel), "a model without a core"
    raven = model
    behind = max(1, min(rough(context), model.max_context // 2))
    most = model.max_context - behind
    calls: dict[int, Callable[[], None]] = {}

    def timed(rows: int) -> None:
        if rows not in calls:
            calls[rows] = _prepared(raven, behind, rows)
        with raven.lock, torch.inference_mode():
            for _ in range(CALLS):
                calls[rows]()

    for n in (1, 2):  # what is made ready does not count
        if n <= most:
            timed(n)
    found, _ = yield from measure(timed, behind, most)
    if found is None:
        return None
    return found.model_copy(update={"seconds": tuple(s / CALLS for s in found.seconds)})


def _prepared(model: RavenModel, behind: int, rows: int) -> Callable[[], None]:
    """One call over ``rows`` positions, with everything that a round makes once at hand."""
    lean = model.lean
    with model.lock, torch.inference_mode():
        cache = model.cache(behind + rows)
        cache.pad(behind)
        head = len(lean.prelude)
        views = cache.views(rows)[head : head + len(lean.core)]
        mask: Tensor | None = None
        if rows > 1:
            mask = torch.zeros(rows, behind + rows, dtype=model.torch_dtype)
            mask[:, behind:] = torch.full((rows, rows), float("-inf")).triu_(1)
        positions = list(range(behind, behind + rows))
        place = lean.place(positions, mask)
        inputs, state = lean.inputs(lean.embed([0] * rows)), model.start(positions)

    def call() -> None:
        lean.through(lean.core, lean.inject(state, inputs), place, views)
        if lean.device.type == "cuda":
            torch.cuda.synchronize(lean.device)

    return call
