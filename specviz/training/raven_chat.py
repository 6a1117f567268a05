"""The chat of ``tiny-raven`` as transformers reads it: special tokens and template."""

from __future__ import annotations

import json
from pathlib import Path

# One exchange is <|begin_text|><|user|>question<|assistant|>reply<|end_turn|>, as in training. What
# the system says goes in front of the question that follows, for the model knows no such turn.
TEMPLATE = (
    "{%- set lead = namespace(text='') -%}<|begin_text|>"
    "{%- for m in messages -%}"
    "{%- if m['role'] == 'system' -%}{%- set lead.text = lead.text + m['content'] + '\\n\\n' -%}"
    "{%- elif m['role'] == 'user' -%}{{- '<|user|>' + lead.text + m['content'] -}}"
    "{%- set lead.text = '' -%}"
    "{%- else -%}{{- '<|assistant|>' + m['content'] + '<|end_turn|>' -}}{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)


def write_tokenizer_config(folder: Path) -> None:
    """Put ``tokenizer_config.json`` beside the ``tokenizer.json`` in ``folder``."""
    facts = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<|begin_text|>",
        "eos_token": "<|end_turn|>",
        "pad_token": "<|pad|>",
        "clean_up_tokenization_spaces": False,
        "chat_template": TEMPLATE,
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
