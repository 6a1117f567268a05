"""Attention over shared key/value heads without copying them.

With a mask and more than one row, the stock path first repeats every key/value head for each query
head of its group: at 7 000 cached tokens hundreds of megabytes per pass of a small model. Here the
query heads of a group become further rows of one head, so keys and values are read where they lie.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

GROUPED = "specviz_grouped"


def grouped_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Scaled dot-product attention; [1, heads, rows, width] in, [1, rows, heads, width] out.

    ``attention_mask`` [1, 1, rows or groups * rows, columns]. Whatever this does not cover goes
    the stock way.
    """
    groups = getattr(module, "num_key_value_groups", 1)
    extra = others.get("position_bias") is not None or others.get("softcap") is not None
    if attention_mask is None or groups == 1 or extra:
        stock: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, **others
        )
        return stock
    batch, heads, rows, width = query.shape
    if attention_mask.shape[-2] != groups * rows:
        attention_mask = fold_mask(attention_mask, groups)
    out = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(batch, heads // groups, groups * rows, width),
        key,
        value,
        attn_mask=attention_mask,
        dropout_p=dropout,
        scale=scaling,
    )
    out = out.reshape(batch, heads, rows, value.shape[-1])
    return out.transpose(1, 2).contiguous(), None


def fold_mask(mask: torch.Tensor, groups: int) -> torch.Tensor:
    """``mask`` for rows that stand ``groups`` times below one another."""
    return mask.repeat(1, 1, groups, 1)


AttentionInterface.register(GROUPED, grouped_attention)
AttentionMaskInterface.register(GROUPED, sdpa_mask)
