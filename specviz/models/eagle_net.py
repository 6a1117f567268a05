"""The network of EAGLE-3 heads: target features in, guesses over a small vocabulary out.

Weight names are those of the public checkpoints (Li and others, arXiv 2503.01840). Keys leave the
layer before any rotation and are turned when they are read, at whatever positions the reader gives
them. Training and drafting gather in their own ways and share everything else.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specviz.models.eagle_rope import USUAL, Rope, rotate
from specviz.models.raven_net import Norm


@dataclass(frozen=True)
class HeadConfig:
    """Sizes of one head, and the places where published heads differ.

    ``aux_layers``: the target's layers whose inputs are the features. ``norm_before_residual``: the
    residual is the normed state. ``norm_before_fc``: one norm over all features together.
    ``fc_norm``: one norm for each feature. ``norm_output``: the state that is carried on is normed.
    ``max_positions``: positions that the head was trained for, as its file says. ``window``:
    entries that it looked back at then, None for all. ``own_embeddings``: it does not use the
    target's.
    """

    hidden_size: int
    target_hidden_size: int
    intermediate_size: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    draft_vocab_size: int
    aux_layers: tuple[int, ...]
    rope: Rope = USUAL
    norm_eps: float = 1e-6
    max_positions: int = 2048
    attention_bias: bool = False
    norm_before_residual: bool = False
    norm_before_fc: bool = False
    fc_norm: bool = False
    norm_output: bool = False
    window: int | None = None
    own_embeddings: bool = False

    @property
    def feature_width(self) -> int:
        """Channels of the features of one position, all layers together."""
        return self.target_hidden_size * len(self.aux_layers)


class Attention(nn.Module):
    """Projections of embedding and state side by side."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.width = config.head_dim
        both, bias = 2 * config.hidden_size, config.attention_bias
        inner = config.heads * config.head_dim
        self.q_proj = nn.Linear(both, inner, bias=bias)
        self.k_proj = nn.Linear(both, config.kv_heads * config.head_dim, bias=bias)
        self.v_proj = nn.Linear(both, config.kv_heads * config.head_dim, bias=bias)
        self.o_proj = nn.Linear(inner, config.hidden_size, bias=False)

    def queries(self, x: Tensor) -> Tensor:
        """[batch, heads, n, width] before any rotation, of ``x`` [batch, n, 2 hidden]."""
        return self._heads(self.q_proj(x))

    def entries(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Keys before any rotation, and values, each [batch, kv heads, n, width]."""
        return self._heads(self.k_proj(x)), self._heads(self.v_proj(x))

    def mixed(self, gathered: Tensor) -> Tensor:
        """What attention gathered [batch, heads, n, width] to [batch, n, hidden]."""
        out: Tensor = self.o_proj(gathered.transpose(1, 2).flatten(2))
        return out

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], -1, self.width).transpose(1, 2)


class Mlp(nn.Module):
    """Gated feed-forward layer."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Shape of ``x`` kept."""
        out: Tensor = self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
        return out


class Layer(nn.Module):
    """The only decoder layer."""

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.normed_residual = config.norm_before_residual
        self.self_attn = Attention(config)
        self.mlp = Mlp(config)
        self.input_layernorm = Norm(config.hidden_size, config.norm_eps)
        self.hidden_norm = Norm(config.hidden_size, config.norm_eps)
        self.post_attention_layernorm = Norm(config.hidden_size, config.norm_eps)

    def joined(self, state: Tensor, embedded: Tensor) -> Tensor:
        """What attention reads [batch, n, 2 hidden] of a state and an embedding."""
        return torch.cat([self.input_layernorm(embedded), self.hidden_norm(state)], dim=-1)

    def rest(self, state: Tensor, gathered: Tensor) -> Tensor:
        """The next state [batch, n, hidden]; ``gathered``: of attention, see ``mixed``."""
        x = self.self_attn.mixed(gathered) + (
            self.hidden_norm(state) if self.normed_residual else state
        )
        out: Tensor = x + self.mlp(self.post_attention_layernorm(x))
        return out


class EagleHead(nn.Module):
    """The whole head. Embeddings are the target's: callers give them, and nothing here stores any
    but those that a head was trained with (``own_embeddings``).

    ``d2t`` [draft vocabulary]: what to add to a draft id to get the target's. ``t2d`` [vocabulary]:
    which of the target's tokens can be guessed.
    """

    d2t: Tensor
    t2d: Tensor

    def __init__(self, config: HeadConfig) -> None:
        super().__init__()
        self.config = config
        if config.own_embeddings:
            self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.fc = nn.Linear(config.feature_width, config.hidden_size, bias=False)
        if config.norm_before_fc:
            self.input_norm = Norm(config.feature_width, config.norm_eps)
        if config.fc_norm:
            self.fc_norm = nn.ModuleList(
                Norm(config.target_hidden_size, config.norm_eps) for _ in config.aux_layers
            )
        self.midlayer = Layer(config)
        self.norm = Norm(config.hidden_size, config.norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.draft_vocab_size, bias=False)
        first = torch.arange(config.vocab_size) < config.draft_vocab_size
        self.register_buffer("d2t", torch.zeros(config.draft_vocab_size, dtype=torch.long))
        self.register_buffer("t2d", first)

    def condense(self, features: Tensor) -> Tensor:
        """Features of the target [.., layers x target hidden] to states [.., hidden]."""
        if self.config.norm_before_fc:
            features = self.input_norm(features)
        if self.config.fc_norm:
            parts = features.chunk(len(self.config.aux_layers), dim=-1)
            pairs = zip(self.fc_norm, parts, strict=True)
            features = torch.cat([norm(part) for norm, part in pairs], dim=-1)
        state: Tensor = self.fc(features)
        return state

    def read(self, out: Tensor) -> tuple[Tensor, Tensor]:
        """The state that is carried on [.., hidden] and logits [.., draft vocabulary], of the
        layer's output."""
        normed = self.norm(out)
        return (normed if self.config.norm_output else out), self.lm_head(normed)

    def choose(self, tokens: Tensor) -> None:
        """Guess among exactly these tokens of the target, ascending [draft vocabulary]."""
        self.d2t.copy_(tokens - torch.arange(len(tokens)))
        self.t2d.zero_()
        self.t2d[tokens] = True

    def embeddings(self, target: Tensor) -> Tensor:
        """What this head reads tokens with [vocabulary, hidden]; ``target``: the target's."""
        return self.embed_tokens.weight if self.config.own_embeddings else target

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.norm.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """What the weights are kept in."""
        return self.norm.weight.dtype

    def target_ids(self) -> Tensor:
        """The target's token for every draft id [draft vocabulary]."""
        return torch.arange(len(self.d2t), device=self.d2t.device) + self.d2t


def rollout(head: EagleHead, features: Tensor, embedded: Tensor, steps: int) -> list[Tensor]:
    """Training-time test: logits [b, t, draft vocabulary] of each of ``steps`` steps.

    ``features`` [b, t, layers x target hidden] of t positions; ``embedded`` [b, t + steps - 1,
    hidden] of the tokens that follow them: column p of step i reads its own state of step i - 1
    and embedding p + i, looks at the entries that step 0 made up to p and at its own of the steps
    1 to i, and stands at position p + i. That is what drafting a chain behind every p computes.
    Source: arXiv 2503.01840, section 3.
    """
    columns = features.shape[1]
    place = torch.arange(columns, device=features.device)
    rope, layer = head.config.rope, head.midlayer
    made: list[tuple[Tensor, Tensor]] = []
    state, found = head.condense(features), []
    for step in range(steps):
        x = layer.joined(state, embedded[:, step : step + columns])
        here = place + step
        q = rotate(layer.self_attn.queries(x), here, rope)
        k, v = layer.self_attn.entries(x)
        groups = q.shape[1] // k.shape[1]
        made.append((_shared(rotate(k, here, rope), groups), _shared(v, groups)))
        state, logits = head.read(layer.rest(state, _ahead(q, made)))
        found.append(logits)
    return found


def _shared(x: Tensor, groups: int) -> Tensor:
    return x.repeat_interleave(groups, dim=1)


def _ahead(q: Tensor, made: list[tuple[Tensor, Tensor]]) -> Tensor:
    """Attention to the first step's entries causally, to those of later ones in the own column."""
    (keys, values), later = made[0], made[1:]
    if not later:
        return F.scaled_dot_product_attention(q, keys, values, is_causal=True)
    scale = q.shape[-1] ** -0.5
    columns = q.shape[2]
    hidden = torch.ones(columns, columns, dtype=torch.bool, device=q.device).triu(1)
    before = (q @ keys.transpose(-1, -2)).masked_fill(hidden, -torch.inf)
    own = [(q * k).sum(-1, keepdim=True) for k, _ in later]
    weights = (torch.cat([before, *own], dim=-1) * scale).softmax(-1).to(values.dtype)
    out: Tensor = weights[..., :columns] @ values
    for i, (_, v) in enumerate(later):
        out = out + weights[..., columns + i, None] * v
    return out
