"""Figures that papers and their authors' repositories report, for the very models they used.

They were obtained elsewhere, on other prompts and machines: they are shown beside a measurement,
never as one.
"""

from __future__ import annotations

from specviz.verdict import Reported

RECAP = "A100, batch size 1, greedy, seven single-turn image sets and MMSpec (the RECAP paper)"
SPEC_BENCH = "A100, float16, Spec-Bench leaderboard"

BY_MODEL: dict[str, tuple[Reported, ...]] = {
    "Qwen/Qwen2.5-VL-7B-Instruct": (
        Reported(decoder="recap", speedup=1.66, conditions=RECAP),
        Reported(decoder="token_recycling", speedup=1.51, conditions=RECAP),
    ),
    **{
        f"llava-hf/llava-v1.6-{name}-7b-hf": (
            Reported(decoder="recap", speedup=1.56, conditions=f"LLaVA-1.6-7B, {RECAP}"),
            Reported(decoder="token_recycling", speedup=1.37, conditions=f"LLaVA-1.6-7B, {RECAP}"),
        )
        for name in ("vicuna", "mistral")
    },
    "lmsys/vicuna-7b-v1.3": (
        Reported(decoder="token_recycling", speedup=2.22, conditions=f"{SPEC_BENCH}, tau 2.73"),
    ),
    "lmsys/vicuna-13b-v1.3": (
        Reported(decoder="token_recycling", speedup=2.17, conditions=f"{SPEC_BENCH}, tau 2.73"),
    ),
    "lmsys/vicuna-33b-v1.3": (
        Reported(decoder="token_recycling", speedup=1.83, conditions=f"{SPEC_BENCH}, tau 2.62"),
    ),
}


def reported(model: str) -> tuple[Reported, ...]:
    """What is reported for this very model, by its hub id; empty for any other."""
    return BY_MODEL.get(model, ())
