"""An EAGLE-3 head computed the slow, obvious way: one entry at a time, loops over heads, no cache.

Only for tests: it shares no code with the network it checks, only the weights' names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

Weights = Mapping[str, Tensor]


def norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return x / math.sqrt(float((x * x).mean()) + eps) * weight


def turned(x: Tensor, position: float, theta: float) -> Tensor:
    """One head's vector [width] at ``position``, pair by pair."""
    half = len(x) // 2
    out = torch.empty_like(x)
    for i in range(half):
        angle = position * theta ** (-2 * i / len(x))
        out[i] = x[i] * math.cos(angle) - x[i + half] * math.sin(angle)
        out[i + half] = x[i + half] * math.cos(angle) + x[i] * math.sin(angle)
    return out


class Plain:
    """One head with ``width`` channels a head; ``entries`` are (key, value, position)."""

    def __init__(self, weights: Weights, width: int, eps: float, theta: float) -> None:
        self.w, self.width, self.eps, self.theta = weights, width, eps, theta
        self.normed_residual = self.normed_output = False

    def condense(self, features: Tensor) -> Tensor:
        """One position's features [f] to its state [hidden]."""
        if "input_norm.weight" in self.w:
            features = norm(features, self.w["input_norm.weight"], self.eps)
        if "fc_norm.0.weight" in self.w:
            size = len(self.w["fc_norm.0.weight"])
            parts = features.split(size)
            features = torch.cat(
                [norm(p, self.w[f"fc_norm.{i}.weight"], self.eps) for i, p in enumerate(parts)]
            )
        return self.w["fc.weight"] @ features

    def entry(self, state: Tensor, embedded: Tensor) -> tuple[Tensor, Tensor]:
        """Key and value of one pair, before any rotation."""
        x = self._input(state, embedded)
        return (
            self.w["midlayer.self_attn.k_proj.weight"] @ x,
            self.w["midlayer.self_attn.v_proj.weight"] @ x,
        )

    def _input(self, state: Tensor, embedded: Tensor) -> Tensor:
        a = norm(embedded, self.w["midlayer.input_layernorm.weight"], self.eps)
        return torch.cat([a, norm(state, self.w["midlayer.hidden_norm.weight"], self.eps)])

    def out(
        self,
        state: Tensor,
        embedded: Tensor,
        position: float,
        entries: Sequence[tuple[Tensor, Tensor, float]],
    ) -> tuple[Tensor, Tensor]:
        """The carried state and the logits of one pair that looks at ``entries``, its own among
        them."""
        q = self.w["midlayer.self_attn.q_proj.weight"] @ self._input(state, embedded)
        heads = len(q) // self.width
        groups = heads // (len(entries[0][0]) // self.width)
        parts = []
        for h in range(heads):
            mine = slice(h * self.width, (h + 1) * self.width)
            theirs = slice(h // groups * self.width, (h // groups + 1) * self.width)
            query = turned(q[mine], position, self.theta)
            scores = torch.stack(
                [query @ turned(k[theirs], p, self.theta) for k, _, p in entries]
            ) / math.sqrt(self.width)
            weights = torch.exp(scores - scores.max())
            weights = weights / weights.sum()
            parts.append(sum(w * v[theirs] for w, (_, v, _) in zip(weights, entries, strict=True)))
        normed = norm(state, self.w["midlayer.hidden_norm.weight"], self.eps)
        x = self.w["midlayer.self_attn.o_proj.weight"] @ torch.cat(parts)
        x = x + (normed if self.normed_residual else state)
        y = norm(x, self.w["midlayer.post_attention_layernorm.weight"], self.eps)
        gate = self.w["midlayer.mlp.gate_proj.weight"] @ y
        up = self.w["midlayer.mlp.up_proj.weight"] @ y
        x = x + self.w["midlayer.mlp.down_proj.weight"] @ (gate / (1 + torch.exp(-gate)) * up)
        last = norm(x, self.w["norm.weight"], self.eps)
        return (last if self.normed_output else x), self.w["lm_head.weight"] @ last
