"""Probes of a recurrent-depth model, against a slow oracle without a cache and in plain torch."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from specviz.models.raven import RavenModel
from specviz.models.raven_costs import core_costs
from specviz.models.raven_depths import PREFIXES, Prefix, Probe
from specviz.models.toy import rhyme_model
from tests.tiny_raven import tiny_raven

DEPTH = 6
TOKENS = [1, *(7 + (i * i * 11 + 3 * i) % 250 for i in range(12))]


def oracle(model: RavenModel, tokens: list[int], prefix: Prefix | None) -> list[list[int]]:
    """Picks [DEPTH][n] position by position: a token is iterated alone, against what all earlier
    ones left in full passes of their own. ``prefix`` None: all of them iterated only so often."""
    found: list[list[int]] = [[] for _ in range(DEPTH)]
    for age in range(1, DEPTH + 1):
        full, rows = Plain(model), []
        shallow = Plain(model, age)
        for i, token in enumerate(tokens):
            if prefix is None:
                rows.append(shallow.step(token, i, age))
                continue
            probed = full.copy()
            probed.deep = PREFIXES[prefix]
            rows.append(probed.step(token, i, age))
            full.step(token, i, DEPTH)
        found[age - 1] = rows
    return found


class Plain:
    """One token after the other; ``seen[layer, slot]``: keys, values, queries of earlier tokens."""

    def __init__(self, model: RavenModel, depth: int = DEPTH) -> None:
        self.weights = {k: v.double() for k, v in model.net.state_dict().items()}
        self.config, self.depth = model.net.config, depth
        self.deep = (False, False)
        self.seen: dict[tuple[str, int], list[tuple[Tensor, Tensor, Tensor]]] = {}

    def copy(self) -> Plain:
        made = Plain.__new__(Plain)
        made.__dict__ = {**self.__dict__, "seen": {k: [*v] for k, v in self.seen.items()}}
        return made

    def step(self, token: int, position: int, iterations: int) -> int:
        c, w = self.config, self.weights
        e = w["transformer.wte.weight"][token] * math.sqrt(c.n_embd)
        for i in range(c.n_layers_in_prelude):
            e = self.block(f"transformer.prelude.{i}.", e, position, 0, 0, 0)
        x = torch.zeros(c.n_embd, dtype=torch.float64)
        last = self.depth - 1
        for r in range(iterations):
            x = w["transformer.adapter.weight"] @ torch.cat([x, e])
            keys, values = (last if deep else r for deep in self.deep)
            for i in range(c.n_layers_in_recurrent_block):
                x = self.block(f"transformer.core_block.{i}.", x, position, r, keys, values)
        x = self.norm(x, "transformer.ln_f.weight")
        for i in range(c.n_layers_in_coda):
            x = self.block(f"transformer.coda.{i}.", x, position, 0, 0, 0)
        return int((w["transformer.wte.weight"] @ self.norm(x, "transformer.ln_f.weight")).argmax())

    def norm(self, x: Tensor, name: str) -> Tensor:
        return x / (x.square().mean() + self.config.norm_eps).sqrt() * self.weights[name]

    def block(
        self, name: str, x: Tensor, position: int, slot: int, keys: int, values: int
    ) -> Tensor:
        c, w = self.config, self.weights
        heads, width = c.n_heads, c.head_width
        q, k, v = (w[name + "attn.Wqkv.weight"] @ self.norm(x, name + "norm_1.weight")).chunk(3)
        bias = w[name + "attn.qk_bias"].view(2, -1)
        q, k = ((y + b).view(heads, width) for y, b in ((q, bias[0]), (k, bias[1])))
        v = v.view(heads, width)
        q, k = self.turn(q, position), self.turn(k, position)
        ks = [s[0] for s in self.seen.get((name, keys), [])] + [k]
        vs = [s[1] for s in self.seen.get((name, values), [])] + [v]
        gathered = []
        for h in range(heads):
            scores = torch.stack([q[h] @ key[h] for key in ks]) / math.sqrt(width)
            shares = scores.softmax(0)
            gathered.append(sum(p * value[h] for p, value in zip(shares, vs, strict=True)))
        self.seen.setdefault((name, slot), []).append((k, v, q))
        x = self.norm(
            w[name + "attn.proj.weight"] @ torch.cat(gathered) + x, name + "norm_2.weight"
        )
        gate, up = (w[name + "mlp.fc.weight"] @ self.norm(x, name + "norm_3.weight")).chunk(2)
        inner = gate * torch.sigmoid(gate) * up
        return self.norm(w[name + "mlp.proj.weight"] @ inner + x, name + "norm_4.weight")

    def turn(self, x: Tensor, position: int) -> Tensor:
        out = torch.empty_like(x)
        for i in range(0, x.shape[1], 2):
            angle = position * self.config.rope_base ** (-i / x.shape[1])
            a, b = x[:, i], x[:, i + 1]
            out[:, i] = a * math.cos(angle) - b * math.sin(angle)
            out[:, i + 1] = b * math.cos(angle) + a * math.sin(angle)
        return out


@pytest.fixture(scope="module")
def model() -> RavenModel:
    return tiny_raven(depth=DEPTH, seed=4)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_every_prefix_gives_what_single_tokens_give(model: RavenModel, prefix: Prefix) -> None:
    probe = Probe(model, TOKENS)
    wanted = oracle(model, TOKENS, prefix)
    assert probe.picks(prefix, range(1, DEPTH + 1)) == wanted
    assert probe.picks(prefix, (2, 5)) == [wanted[1], wanted[4]]


def test_the_prefixes_differ_at_small_depth_and_coupled_ends_at_the_final_pick(
    model: RavenModel,
) -> None:
    probe = Probe(model, TOKENS)
    early = {prefix: tuple(probe.picks(prefix, (2,))[0]) for prefix in PREFIXES}
    assert len({*early.values()}) == 4
    assert probe.picks("coupled", (DEPTH,)) == [list(probe.final)]
    session = model.open()
    scores = session.score(TOKENS)
    with pytest.raises(StopIteration) as done:
        while True:
            next(scores)
    assert done.value.value.picks == probe.final


def test_shallow_is_the_same_weights_with_fewer_iterations(model: RavenModel) -> None:
    probe = Probe(model, TOKENS)
    assert probe.shallow(range(1, DEPTH + 1)) == oracle(model, TOKENS, None)
    assert probe.shallow((3,)) == [list(Probe(tiny_raven(3, 4, mean=DEPTH), TOKENS).final)]
    # The coda of a draft sees what the full pass left, that of a shallow model what it made itself.
    assert probe.shallow((3,)) != probe.picks("coupled", (3,))


def test_settling_ends_at_the_last_iteration_and_is_that_of_the_vectors(model: RavenModel) -> None:
    plain = Plain(model)
    for i, token in enumerate(TOKENS):
        plain.step(token, i, DEPTH)
    found = Probe(model, TOKENS).settling()
    for which, name in enumerate(("keys", "values", "queries")):
        cosines, distances = [], []
        for slot in range(DEPTH):
            pairs = [
                (early[which].flatten(), late[which].flatten())
                for layer in range(2)
                for early, late in zip(
                    plain.seen[f"transformer.core_block.{layer}.", slot],
                    plain.seen[f"transformer.core_block.{layer}.", DEPTH - 1],
                    strict=True,
                )
            ]
            cosines.append(sum(float(a @ b / a.norm() / b.norm()) for a, b in pairs) / len(pairs))
            distances.append(sum(float((a - b).norm() / b.norm()) for a, b in pairs) / len(pairs))
        assert found[name].cosine == pytest.approx(cosines)
        assert found[name].distance == pytest.approx(distances)
    assert set(found) == {"queries", "keys", "values"}
    for settling in found.values():
        assert settling.cosine[-1] == pytest.approx(1) and settling.distance[-1] == 0
        assert settling.cosine[0] < 0.999 and settling.distance[0] > 0.01


def test_what_a_core_call_costs_has_every_width_that_fits() -> None:
    model = tiny_raven(depth=2, block_size=40)
    steps = core_costs(model, 100)
    with pytest.raises(StopIteration) as done:
        while True:
            next(steps)
    costs = done.value.value
    assert (costs.context, costs.rows) == (20, (1, 2, 4, 8, 12, 16))
    assert all(s > 0 for s in costs.seconds)


def test_a_model_without_depths_is_no_model_to_probe() -> None:
    with pytest.raises(AssertionError, match="without depths"):
        Probe(rhyme_model("toy"), [1, 2])
