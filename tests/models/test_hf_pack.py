"""Packed linear weights: the same numbers, all or nothing, and a switch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from specviz.models import hf_pack, registry
from specviz.models.hf_pack import PackedLinear, pack
from specviz.models.registry import Entry
from specviz.models.session import chain
from tests.models import tiny


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed layers count as faster, whatever this machine does at the moment."""
    monkeypatch.setattr(
        hf_pack, "_seconds", lambda layer, x: 1.0 if isinstance(layer, PackedLinear) else 2.0
    )


def linears(net: nn.Module) -> list[nn.Module]:
    return [m for m in net.modules() if isinstance(m, nn.Linear)]


def packed_layers(net: nn.Module) -> list[nn.Module]:
    return [m for m in net.modules() if isinstance(m, PackedLinear)]


@pytest.mark.parametrize(("dtype", "close"), [(torch.float32, 1e-4), (torch.bfloat16, 0.05)])
@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gemma3", "mistral"])
def test_a_packed_model_gives_the_same_logits(
    quick: None, architecture: str, dtype: torch.dtype, close: float
) -> None:
    torch.manual_seed(5)
    model = tiny.model(architecture, "sdpa", dtype=dtype)
    count = len(linears(model.net))
    tokens = chain([5 + (7 * i) % 200 for i in range(17)])
    before = {n: model.open().logits(chain(tokens.tokens[:n])) for n in (1, 2, 5, 17)}
    model.pack()
    assert model.packed
    assert linears(model.net) == [] and len(packed_layers(model.net)) == count
    for n, plain in before.items():
        after = model.open().logits(chain(tokens.tokens[:n]))
        assert after.dtype == dtype and after.shape == plain.shape
        assert (after - plain).abs().max() <= close * plain.abs().max(), n


def test_a_bias_is_kept(quick: None) -> None:
    layer = nn.Linear(24, 8)
    with torch.inference_mode():
        x = torch.linspace(-1, 1, 72).reshape(1, 3, 24)
        assert torch.allclose(PackedLinear(layer)(x), layer(x), atol=1e-6)
        assert not torch.allclose(PackedLinear(layer)(x), layer(x) - layer.bias, atol=1e-3)


def broken(monkeypatch: pytest.MonkeyPatch, name: str, call: object) -> None:
    class Operators:
        def __getattr__(self, other: str) -> object:
            return call if other == name else getattr(ORIGINAL, other)

    monkeypatch.setattr(torch.ops, "mkldnn", Operators())


ORIGINAL = torch.ops.mkldnn


def missing(*given: object) -> None:
    raise AttributeError("'_OpNamespace' 'mkldnn' object has no attribute")


def refusing(*given: object) -> None:
    raise RuntimeError("not built with oneDNN")


@pytest.mark.parametrize("call", [missing, refusing])
@pytest.mark.parametrize("name", ["_reorder_linear_weight", "_linear_pointwise"])
def test_where_an_operator_is_missing_nothing_changes(
    quick: None, monkeypatch: pytest.MonkeyPatch, name: str, call: object
) -> None:
    net = tiny.net("llama", "sdpa", dtype=torch.float32)
    before = linears(net)
    broken(monkeypatch, name, call)
    assert pack(net) is False
    assert linears(net) == before and packed_layers(net) == []


def test_one_layer_that_computes_something_else_undoes_all(
    quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = tiny.net("llama", "sdpa", dtype=torch.float32)
    before, calls = linears(net), []

    def off(x: torch.Tensor, weight: torch.Tensor, *rest: object) -> torch.Tensor:
        calls.append(0)
        out = ORIGINAL._linear_pointwise(x, weight, *rest)
        return out * 1.001 if len(calls) == 9 else out

    broken(monkeypatch, "_linear_pointwise", off)
    assert pack(net) is False
    assert len(calls) == 9 and linears(net) == before and packed_layers(net) == []


def test_weights_are_not_packed_where_that_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    net = tiny.net("llama", "sdpa", dtype=torch.float32)
    monkeypatch.setattr(
        hf_pack, "_seconds", lambda layer, x: 2.0 if isinstance(layer, PackedLinear) else 1.0
    )
    assert pack(net) is False and packed_layers(net) == []


def test_other_types_and_other_kinds_of_layers_stay(quick: None) -> None:
    class Adapted(nn.Linear):
        pass

    assert pack(tiny.net("llama", "sdpa", dtype=torch.float64)) is False
    net = tiny.net("llama", "sdpa", dtype=torch.float32)
    mine = Adapted(8, 8)
    net.model.layers[0].self_attn.extra = mine
    assert pack(net) is True
    assert linears(net) == [mine]


@pytest.mark.parametrize(
    ("asked", "variable", "packed"),
    [(None, None, True), (None, "0", False), (None, "off", False), (None, "1", True),
     (False, "1", False), (True, "0", True)],
)  # fmt: skip
def test_the_switch(
    quick: None,
    monkeypatch: pytest.MonkeyPatch,
    asked: bool | None,
    variable: str | None,
    packed: bool,
) -> None:
    monkeypatch.setattr(registry, "_loaded", {})
    monkeypatch.setattr(registry, "_entries", dict(registry._entries))
    monkeypatch.delenv("SPECVIZ_PACKED", raising=False)
    if variable is not None:
        monkeypatch.setenv("SPECVIZ_PACKED", variable)
    made = lambda device, dtype: tiny.model("llama", "sdpa", dtype=torch.float32)  # noqa: E731
    registry.register(Entry("tiny", "tiny", made))
    model = registry.load("tiny", "cpu", "float32", asked)
    assert model.packed is packed
    assert bool(packed_layers(model.net)) is packed  # type: ignore[attr-defined]
    assert registry.load("tiny", "cpu", "float32", packed) is model
    assert registry.load("tiny", "cpu", "float32", not packed).packed is not packed
    assert registry.loaded() == (("tiny", "cpu", "float32"),)
