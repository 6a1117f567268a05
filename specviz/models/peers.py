"""Peers to measure against: transformers' own ``generate`` on weights as a user gets them.

A peer owns a second copy of the network, with stock linear layers, stock attention and the stock
cache: what our loop does to its own copy must not help or hurt it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import torch
from transformers import GenerationConfig

from specviz.models import registry
from specviz.models.base import Inputs, Model, Unsupported
from specviz.models.hf import HFModel
from specviz.models.hf_attention import GROUPED
from specviz.models.vision import VisionModel


@dataclass(frozen=True)
class Generated:
    """What a peer emitted. ``first`` tokens came with the reading of the prompt, which took
    ``prefill_seconds``; the others took ``decode_seconds``."""

    tokens: tuple[int, ...]
    first: int
    prefill_seconds: float
    decode_seconds: float


class Peer:
    """``generate`` of one network. Takes over ``model``, which nobody else may use afterwards."""

    def __init__(self, model: HFModel) -> None:
        self.model = model
        self._net = model.net
        if model.attention == GROUPED:
            model.language.set_attn_implementation("sdpa")
        # Whatever the checkpoint's own configuration brings (sampling, penalties) is left out.
        ends = sorted(model.eos_ids)
        self._net.generation_config = GenerationConfig(
            do_sample=False,
            num_beams=1,
            repetition_penalty=1.0,
            use_cache=True,
            eos_token_id=ends or None,
            pad_token_id=ends[0] if ends else 0,
        )

    def generate(
        self,
        tokens: Sequence[int],
        max_new_tokens: int,
        prompt_lookup: int = 0,
        pixels: Any = None,
    ) -> Generated:
        """Continue the prompt ``tokens`` greedily; stops after an end token like our loop.

        ``prompt_lookup``: guess so many tokens per pass by transformers' prompt lookup, 0: none.
        ``pixels``: those of the request, of an image-text model. Prompt lookup copies placeholders
        of pictures from the prompt like any other token, and the network then misses their
        features: there no placeholder may be said.
        """
        given = self._given(tokens, pixels)
        clock = _Clock(self._synchronize)
        options: dict[str, Any] = {"prompt_lookup_num_tokens": prompt_lookup or None}
        if prompt_lookup and pixels and isinstance(self.model, VisionModel):
            options["suppress_tokens"] = [self.model.family.placeholder]
        self._synchronize()
        started = perf_counter()
        with torch.inference_mode():
            out = self._net.generate(
                **given,
                max_new_tokens=max_new_tokens,
                streamer=clock,
                **options,
            )
        self._synchronize()
        ended = perf_counter()
        return Generated(
            tokens=tuple(out[0, len(tokens) :].tolist()),
            first=clock.count,
            prefill_seconds=clock.time - started,
            decode_seconds=ended - clock.time,
        )

    def _given(self, tokens: Sequence[int], pixels: Any) -> dict[str, torch.Tensor]:
        if isinstance(self.model, VisionModel):
            return self.model.given(Inputs(tuple(tokens), pixels=pixels))
        ids = torch.tensor([list(tokens)], device=self._net.device)
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}

    def _synchronize(self) -> None:
        if self._net.device.type == "cuda":
            torch.cuda.synchronize(self._net.device)


class _Clock:
    """A streamer that notes when the first new tokens came, and how many at once."""

    def __init__(self, synchronize: Callable[[], None]) -> None:
        self._synchronize = synchronize
        self._calls = 0
        self.time = 0.0
        self.count = 0

    def put(self, value: torch.Tensor) -> None:
        self._calls += 1
        if self._calls == 2:  # the first call brings the prompt
            self._synchronize()
            self.time, self.count = perf_counter(), value.numel()

    def end(self) -> None:
        pass


def beside(model: Model) -> Peer:
    """A peer on the very weights of ``model``, for devices that cannot hold them twice.

    Its modules and settings are its own, so ``model`` stays as it is. Raises Unsupported for
    weights that are not stock.
    """
    if not isinstance(model, HFModel) or model.packed:
        raise Unsupported(f"The weights of {model.label} cannot serve transformers beside ours.")
    shared = {id(t): t for t in (*model.net.parameters(), *model.net.buffers())}
    net = deepcopy(model.net, shared)
    about = {"label": model.label, "digest": model.digest}
    if isinstance(model, VisionModel):
        processor = model.family.processor
        return Peer(VisionModel(net, model.codec.tokenizer, processor, **about))
    return Peer(HFModel(net, model.codec.tokenizer, **about))


def load(label: str, device: str = "auto", dtype: str = "auto") -> Peer:
    """The peer of a model; raises Unsupported where transformers has no such model."""
    entry = registry.find(label)
    if entry.kind == "toy":
        raise Unsupported(f"transformers has no model {entry.label}: choose a model with weights.")
    device = registry.resolve_device(device)
    problem = entry.problem()
    if problem is not None:
        raise Unsupported(problem)
    model = entry.load(device, registry.resolve_dtype(dtype, device, entry))
    if not isinstance(model, HFModel):
        raise Unsupported(f"transformers cannot generate with {entry.label}: leave its peers out.")
    return Peer(model)
