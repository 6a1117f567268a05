"""Figures that papers and their authors' repositories report, for the very models they used.

They were obtained elsewhere, on other prompts and machines: they are shown beside a measurement,
never as one.
"""

from __future__ import annotations

from typing import Any

from specviz.verdict import Reported

RECAP = "A100, batch size 1, greedy, seven single-turn image sets and MMSpec (the RECAP paper)"
SPEC_BENCH = "A100, float16, Spec-Bench leaderboard"

DAS = (
    Reported(
        decoder="das_wave", speedup=4.0,
        conditions="the least of 16 pairs: four Huginn/Raven checkpoints at 32 iterations on "
        "GSM8K, MATH-500, HumanEval, MBPP; one L20X, batch size 1, with prompts (the DAS paper)",
    ),
    Reported(
        decoder="das_wave", speedup=6.96, conditions="the most of these 16 pairs (the DAS paper)",
    ),
    Reported(
        decoder="das_wave", speedup=4.11,
        conditions="Huginn on GSM8K, states carried on and deep prefix; either alone gives little "
        "(the DAS paper)",
    ),
)  # fmt: skip
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
    "huginn-0125": DAS[2:],
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


PICTURES = ("Qwen/Qwen2.5-VL-7B-Instruct", "llava-hf/llava-v1.6-vicuna-7b-hf")


def about_pictures() -> list[dict[str, Any]]:
    """What the RECAP paper reports, with the model that each figure is of, as plain data."""
    return [
        {"model": model, **figure.model_dump()} for model in PICTURES for figure in BY_MODEL[model]
    ]


def reported(model: str) -> tuple[Reported, ...]:
    """What is reported for this very model, by its hub id; empty for any other."""
    return BY_MODEL.get(model, ())
