"""The network of the Huginn/Raven family: prelude, one shared core applied many times, coda.

Weight names are those of the public checkpoints (Geiping and others, arXiv 2502.05171). Nothing
here knows of caches: attention is a callable given to every block, so that training, cached
decoding and reads across depths share these few lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# (queries, keys, values), each [batch, heads, tokens, head width] -> the same shape as queries.
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class RavenConfig:
    """Sizes of one network, under the names of the public ``config.json``."""

    n_embd: int
    n_heads: int
    n_layers_in_prelude: int
    n_layers_in_recurrent_block: int
    n_layers_in_coda: int
    intermediate_size: int
    vocab_size: int
    block_size: int
    mean_recurrence: int
    rope_base: float = 50_000.0
    norm_eps: float = 1e-6

    @property
    def head_width(self) -> int:
        """Channels of one attention head."""
        return self.n_embd // self.n_heads

    @property
    def emb_scale(self) -> float:
        """What embeddings and initial states are multiplied by."""
        return math.sqrt(self.n_embd)

    @property
    def state_std(self) -> float:
        """Standard deviation of a random initial state (the paper's "like-init")."""
        return math.sqrt(2 / (5 * self.n_embd)) * self.emb_scale


class Norm(nn.Module):
    """Root-mean-square norm, computed in float32 at least."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Shape of ``x`` kept; the last axis is normalised."""
        if x.dtype in (torch.bfloat16, torch.float16):
            wide = x.float()
            return F.rms_norm(wide, wide.shape[-1:], None, self.eps).to(x.dtype) * self.weight
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)


def rotary_table(config: RavenConfig, positions: int, dtype: torch.dtype) -> Tensor:
    """Cosines and sines [2, positions, head width / 2], in float32 or wider."""
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    steps = torch.arange(0, config.head_width, 2, dtype=wide) / config.head_width
    angles = torch.outer(torch.arange(positions, dtype=wide), config.rope_base**-steps)
    return torch.stack([angles.cos(), angles.sin()])


def rotate(x: Tensor, rotary: Tensor) -> Tensor:
    """Turn neighbouring pairs of channels: ``x`` [..., tokens, heads, width], ``rotary`` [2,
    tokens, width / 2]."""
    cos, sin = rotary[0].unsqueeze(-2), rotary[1].unsqueeze(-2)
    even, odd = x.to(cos.dtype).view(*x.shape[:-1], -1, 2).unbind(-1)
    turned = torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1)
    return turned.flatten(-2).to(x.dtype)


class Attention(nn.Module):
    """Fused projections, a bias on queries and keys before the rotation."""

    def __init__(self, config: RavenConfig) -> None:
        super().__init__()
        d, self.heads = config.n_embd, config.n_heads
        self.Wqkv = nn.Linear(d, 3 * d, bias=False)
        self.qk_bias = nn.Parameter(torch.zeros(2, 1, self.heads, config.head_width))
        self.proj = nn.Linear(d, d, bias=False)

    def forward(self, x: Tensor, rotary: Tensor, attend: Attend) -> Tensor:
        """``x`` [batch, tokens, d]; ``rotary`` as in :func:`rotate`."""
        batch, tokens, _ = x.shape
        qkv = self.Wqkv(x).view(batch, tokens, 3, self.heads, -1)
        turned = rotate((qkv[:, :, :2] + self.qk_bias.squeeze(1)).flatten(2, 3), rotary)
        q, k = turned.view(batch, tokens, 2, self.heads, -1).unbind(2)
        out = attend(q.transpose(1, 2), k.transpose(1, 2), qkv[:, :, 2].transpose(1, 2))
        mixed: Tensor = self.proj(out.transpose(1, 2).flatten(2))
        return mixed


class Mlp(nn.Module):
    """Gated feed-forward layer."""

    def __init__(self, config: RavenConfig) -> None:
        super().__init__()
        self.fc = nn.Linear(config.n_embd, 2 * config.intermediate_size, bias=False)
        self.proj = nn.Linear(config.intermediate_size, config.n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shape of ``x`` kept."""
        gate, value = self.fc(x).chunk(2, dim=-1)
        out: Tensor = self.proj(F.silu(gate) * value)
        return out


class Block(nn.Module):
    """One layer with norms before and after each residual sum ("sandwich")."""

    def __init__(self, config: RavenConfig) -> None:
        super().__init__()
        self.norm_1, self.norm_2, self.norm_3, self.norm_4 = (
            Norm(config.n_embd, config.norm_eps) for _ in range(4)
        )
        self.attn, self.mlp = Attention(config), Mlp(config)

    def forward(self, x: Tensor, rotary: Tensor, attend: Attend) -> Tensor:
        """Shape of ``x`` [batch, tokens, d] kept."""
        x = self.norm_2(self.attn(self.norm_1(x), rotary, attend) + x)
        out: Tensor = self.norm_4(self.mlp(self.norm_3(x)) + x)
        return out


def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Ordinary causal attention over the tokens at hand, no cache."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


class Trunk(nn.Module):
    """Everything but the head, under the public checkpoints' names."""

    def __init__(self, config: RavenConfig) -> None:
        super().__init__()

        def blocks(count: int) -> nn.ModuleList:
            return nn.ModuleList(Block(config) for _ in range(count))

        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.prelude = blocks(config.n_layers_in_prelude)
        self.adapter = nn.Linear(2 * config.n_embd, config.n_embd, bias=False)
        self.core_block = blocks(config.n_layers_in_recurrent_block)
        self.coda = blocks(config.n_layers_in_coda)
        self.ln_f = Norm(config.n_embd, config.norm_eps)


class Raven(nn.Module):
    """The whole network. ``lm_head`` is tied to the embedding."""

    def __init__(self, config: RavenConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = Trunk(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def embed(self, tokens: Tensor) -> Tensor:
        """Token ids [batch, tokens] to scaled embeddings [batch, tokens, d]."""
        scaled: Tensor = self.transformer.wte(tokens) * self.config.emb_scale
        return scaled

    def inject(self, state: Tensor, embedded: Tensor) -> Tensor:
        """The adapter: one iteration's input out of state and prelude output, all [.., d]."""
        mixed: Tensor = self.transformer.adapter(torch.cat([state, embedded], dim=-1))
        return mixed

    def read(self, x: Tensor) -> Tensor:
        """Coda output [.., d] to logits [.., vocab] in float32 at least."""
        logits: Tensor = self.lm_head(self.transformer.ln_f(x))
        return logits if logits.dtype == torch.float64 else logits.float()
