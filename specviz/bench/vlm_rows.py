"""What the suite for pictures compares."""

from __future__ import annotations

from types import MappingProxyType

from specviz.bench.rows import LOOKUP_TOKENS, OURS, RECAP, Row
from specviz.drafters.base import KnobValue

TEMPLATE, OFF, ABLATION = "template", "off", "ablation"
WARM, FLAT = "recap_warm", "no entropy (gamma 0)"
RECYCLING = ("tr_static", "tr_best_first")
_BEST_FIRST = MappingProxyType({"tree": "best_first"})

# transformers' own rows are slow and told apart from ours by far: once is enough.
HEADLINE = (
    Row(OURS, "autoregressive"),
    Row("generate", lookup=0, once=True),
    Row("hf_prompt_lookup", lookup=LOOKUP_TOKENS, once=True),
    Row("tr_static", "token_recycling", MappingProxyType({"tree": "static"})),
    Row("tr_best_first", "token_recycling", _BEST_FIRST),
    Row(RECAP, "recap"),
    Row(WARM, "recap", warm=True),
)


def _recap(name: str, **knobs: KnobValue) -> Row:
    return Row(name, "recap", MappingProxyType(knobs), against=RECAP)


# The first one is put in between the others again and again.
ABLATIONS = (
    _recap(RECAP),
    _recap("without level 1 (one token)", levels="23"),
    _recap("without level 2 (two tokens)", levels="13"),
    _recap("without level 3 (three tokens)", levels="12"),
    _recap(FLAT, gamma=0.0),
    _recap("longest key wins", longest_wins=True),
    _recap("no copying", copy="off"),
    Row(OURS, "autoregressive"),
)
