"""Random checkpoints of a few thousand weights, and tokenizers, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from specviz.models.hf import HFModel
from specviz.trace import Prefill, Step

VOCABULARY = 300
WINDOW = 8
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>")
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SHAPE: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 512,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 2,
    "initializer_range": 0.2,
    "tie_word_embeddings": False,
}
ARCHITECTURES = ("llama", "qwen2", "qwen3", "gemma3", "mistral")


def net(architecture: str, attention: str = "eager", dtype: torch.dtype = torch.float64) -> Any:
    """A random network; the window is 8 in all layers of mistral, in two of three of gemma3."""
    torch.manual_seed(7)
    if architecture == "llama":
        made = LlamaForCausalLM(LlamaConfig(**SHAPE, num_hidden_layers=2))
    elif architecture == "qwen3":
        made = Qwen3ForCausalLM(Qwen3Config(**SHAPE, num_hidden_layers=2))
    elif architecture == "qwen2":
        made = Qwen2ForCausalLM(Qwen2Config(**SHAPE, num_hidden_layers=2))
    elif architecture == "mistral":
        sliding = MistralConfig(**SHAPE, num_hidden_layers=2, sliding_window=WINDOW)
        made = MistralForCausalLM(sliding)
    else:
        kinds = ["sliding_attention", "sliding_attention", "full_attention"]
        config = Gemma3TextConfig(
            **SHAPE,
            num_hidden_layers=3,
            layer_types=kinds,
            sliding_window=WINDOW,
            query_pre_attn_scalar=8,
            final_logit_softcapping=20.0,
        )
        made = Gemma3ForCausalLM(config)
    made.set_attn_implementation(attention)
    return made.to(dtype).eval()


def tokenizer(chat: str | None = CHAT) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer: four specials, then the 256 bytes, then two merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {t: i for i, t in enumerate([*SPECIALS, *alphabet, "th", "the"])}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=[("t", "h"), ("th", "e")]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in SPECIALS])
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=chat,
    )


def spelled_tokenizer() -> PreTrainedTokenizerFast:
    """A SentencePiece-like tokenizer: ``▁`` for the space, bytes spelled as ``<0xE2>``."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))]
    pieces += ["\u2581", "a", "b", "ж"]
    backend = Tokenizer(
        models.BPE(
            vocab={p: i for i, p in enumerate(pieces)},
            merges=[],
            unk_token="<unk>",
            byte_fallback=True,
        )
    )
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never", split=False)
    backend.decoder = decoders.Sequence(
        [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    special = [AddedToken(s, special=True, normalized=False) for s in pieces[:3]]
    backend.add_special_tokens(special)
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", bos_token="<s>", eos_token="</s>"
    )


def model(architecture: str = "llama", attention: str = "eager", **kind: Any) -> HFModel:
    """A complete tiny model, ready to open sessions on."""
    return HFModel(net(architecture, attention, **kind), tokenizer(), label="tiny", digest="0")


def emitted(events: Iterable[Any]) -> tuple[int, ...]:
    """All tokens that a run emitted, the prefill's own included."""
    tokens: list[int] = []
    for event in events:
        if isinstance(event, Prefill):
            tokens.append(event.token)
        elif isinstance(event, Step):
            tokens.extend(event.emitted)
    return tuple(tokens)
