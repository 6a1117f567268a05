"""What the suite for recurrent-depth models compares, and which smaller depth is its equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from specviz.bench.rows import OURS, Row
from specviz.drafters.base import KnobValue

SHALLOW, WAVE = "shallow", "wave"
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
POINT = 0.01  # how much less of the answers may be right at the smaller depth
FIRST = 4  # positions of a wave's first round
BLOCKS, ROUNDS = (4, 8, 12, 20, 24, 32), (4, 8, 12, 16, 24)


def _row(name: str, decoder: str, **knobs: KnobValue) -> Row:
    return Row(name, decoder, MappingProxyType(knobs))


def _ablated(name: str, carry: bool, deep: bool) -> Row:
    """A wave that iterates twice per round: once is too little for states that begin anew."""
    prefix = -1 if deep else 0
    return _row(name, "das_wave", inner=2, carry=carry, keys=prefix, values=prefix)


def headline(shallow: int) -> tuple[Row, ...]:
    """Plain decoding, also at the depth ``shallow``, and everything that drafts."""
    return (
        Row(OURS, "autoregressive"),
        Row(SHALLOW, "autoregressive", depth=shallow),
        _row("coupled", "das", keys=0, values=0),
        _row("mature_v", "das", keys=0, values=-1),
        _row("deep", "das", keys=-1, values=-1),
        _row(WAVE, "das_wave"),
        _row("wave_auto", "das_wave", auto=True),
        _row("recap", "recap"),
        _row("token_recycling", "token_recycling"),
        _row("prompt_lookup", "prompt_lookup"),
    )


ABLATION = (
    Row(OURS, "autoregressive"),
    _ablated("neither", carry=False, deep=False),
    _ablated("carry", carry=True, deep=False),
    _ablated("deep prefix", carry=False, deep=True),
    _ablated("both", carry=True, deep=True),
)


def map_name(block: int, rounds: int) -> str:
    """The name of one cell of the map."""
    return f"block {block}, rounds {rounds}"


def map_row(block: int, rounds: int) -> Row:
    """A wave of this size, which is as wide as it gets after half of its rounds."""
    missing, steps = block - FIRST, max(1, rounds // 2)
    widen = max(1, -(-missing // steps))
    return _row(
        map_name(block, rounds), "das_wave", block=block, rounds=rounds, first=FIRST, widen=widen
    )


MAP = (
    Row(OURS, "autoregressive"),
    *(map_row(block, rounds) for block in BLOCKS for rounds in ROUNDS),
)


def wave_map(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The map out of the figures of its rows: ``accepted`` guesses per step, ``tau`` and tokens per
    second, [blocks][rounds]; None where it was not measured."""
    known = {row["name"]: row for row in rows if row["part"] == "map"}
    if not known:
        return None
    return {
        "blocks": list(BLOCKS),
        "rounds": list(ROUNDS),
        **{
            key: [[known[map_name(b, r)][key] for r in ROUNDS] for b in BLOCKS]
            for key in ("accepted", "tau", "tokens_per_s")
        },
    }


def depths(most: int) -> tuple[int, ...]:
    """The depths that are looked at in a model of ``most`` iterations, the last one included."""
    return (*(d for d in DEPTHS if d < most), most)


def least_depth(shares: Mapping[int, float]) -> int:
    """The smallest depth whose share of right answers is within one point of the deepest one's."""
    wanted = shares[max(shares)] - POINT - 1e-9
    return min(depth for depth, share in shares.items() if share >= wanted)
