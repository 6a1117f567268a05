"""Contexts that nobody could read: a session that says it has read as much as one likes.

How long a drafter takes, and how much it keeps, does not depend on what the features are, only on
how many entries stay. Nothing found here says anything about how well a head guesses.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from specviz.models.base import Capture, Model, Unsupported
from specviz.models.eagle_cache import DraftCache
from specviz.models.eagle_net import HeadConfig
from specviz.models.eagle_rope import rotate
from specviz.models.engines import HeadEngine
from specviz.models.hf import HFModel
from specviz.models.hf_features import FeatureSession
from specviz.windows import Bounds, Mode

SEED = 7


class FakedSession(FeatureSession):
    """A session whose positions all have the same features, which take the memory of one."""

    _engine: HeadEngine | None = None
    _passed = 0

    def pass_by(self, positions: int) -> None:
        """Say that so many more positions were committed."""
        self._passed += positions

    def take_features(self) -> Tensor:
        """The one row of features, as often as positions passed by."""
        generator = torch.Generator().manual_seed(SEED)
        row = torch.randn(1, self.head.config.feature_width, generator=generator)
        count, self._passed = self._passed, 0
        return row.to(self.head.device, self.head.dtype).expand(count, -1)

    def head_engine(self) -> HeadEngine:
        """An engine on this session; see ``bytes``."""
        self._engine = super().head_engine()
        return self._engine

    @property
    def bytes(self) -> int:
        """Of the keys and values that the head saw in the last round."""
        assert self._engine is not None, "no drafter has started"
        return self._engine.bytes

    @property
    def entry_bytes(self) -> int:
        """What one entry takes: keys and values, each as it was made and as it is looked at."""
        config = self.head.config
        return 4 * config.kv_heads * config.head_dim * self.head.dtype.itemsize


def faked(model: Model, head: str) -> FakedSession:
    """A session of ``model`` for its head of that name; raises InputError as ``HeadModel.head``."""
    if not isinstance(model, HFModel):
        raise Unsupported(f"{model.label} has no drafter head: choose a transformers model.")
    opened = model.open(Capture(head=head))
    assert isinstance(opened, FeatureSession)
    return FakedSession(model, opened.capture, opened.head)


@dataclass(frozen=True)
class Gaps:
    """Largest differences of attention scores, one query at the tip with every key of a window.

    ``largest``: the greatest score. ``moved``: new positions against old ones without sinks, where
    the shift lemma says that they are equal; ``single``: the same with keys and query in float32.
    ``sinks``: new against old ones with sinks, where it says nothing. ``ways``: the two ways to
    count anew (slot, shift) against one another, with sinks.
    """

    largest: float
    moved: float
    single: float
    sinks: float
    ways: float


def gaps(config: HeadConfig, bounds: Bounds, positions: int) -> Gaps:
    """Random keys and queries of the widths of a head, behind so many entries; ``bounds`` give
    sinks and window."""
    generator = torch.Generator().manual_seed(SEED)
    shape = (config.kv_heads, bounds.sinks + bounds.window, config.head_dim)
    keys = torch.randn(shape, generator=generator, dtype=torch.float64)
    query = torch.randn(config.kv_heads, 1, config.head_dim, generator=generator).double()

    def scores(mode: Mode, sinks: int, dtype: torch.dtype = torch.float64) -> Tensor:
        kept = Bounds(mode, sinks, bounds.window, bounds.depth, bounds.trained)
        rows = keys[:, bounds.sinks - sinks :].to(dtype)
        cache = DraftCache(kept, config.kv_heads, config.head_dim, config.rope, rows)
        stay = rows[:, -len(cache.wanted(positions)) :]
        cache.append(stay, stay, positions)
        tip = torch.tensor([cache.arrange().tip], dtype=torch.float64)
        turned = rotate(query.to(dtype), tip, config.rope)
        found: Tensor = turned @ cache.keys[0 : cache.entries].transpose(1, 2)
        return found.double() / sqrt(config.head_dim)

    def gap(a: Tensor, b: Tensor) -> float:
        return float((a - b).abs().max())

    still, sinks = scores("window_abs", 0), bounds.sinks
    return Gaps(
        largest=float(still.abs().max()),
        moved=gap(still, scores("slot", 0)),
        single=gap(scores("window_abs", 0, torch.float32), scores("slot", 0, torch.float32)),
        sinks=gap(scores("window_abs", sinks), scores("slot", sinks)),
        ways=gap(scores("slot", sinks), scores("shift", sinks)),
    )
