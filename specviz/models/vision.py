"""Image-text transformers models: pictures are read once, then the language model runs as ever.

The passes go to the language model alone, with embeddings, masks and positions of our own: nothing
of a request stays behind in the modules of the network.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from specviz.models.base import Capture, Inputs, Unsupported
from specviz.models.hf import HFModel
from specviz.models.hf_cache import BufferCache
from specviz.models.session import TreeSession
from specviz.models.vision_families import FAMILIES, Placed
from specviz.models.vision_text import PictureCodec
from specviz.trace import Progress, Stage


@dataclass(frozen=True)
class Sight:
    """What one request sees.

    ``features`` [m, hidden] go to the prompt positions ``rows`` [m], ascending; ``deep``: the same
    for what is added behind the first layers. ``positions`` [axes, n] of the prompt, None where
    they count up; tokens behind it are ``delta`` off from counting.
    """

    rows: np.ndarray
    features: Tensor
    deep: tuple[Tensor, ...]
    positions: Tensor | None
    delta: int


class VisionCache(BufferCache):
    """Keys and values of one request, and what it sees."""

    sight: Sight | None = None


class VisionModel(HFModel):
    """A model whose messages may have pictures.

    ``net``: a transformers ``…ForConditionalGeneration`` of a family in ``FAMILIES``, in eval mode;
    ``processor``: its image processor. Raises Unsupported for other families.
    """

    def __init__(
        self, net: Any, tokenizer: Any, processor: Any, *, label: str, digest: str
    ) -> None:
        kind = FAMILIES.get(net.config.model_type)
        if kind is None:
            raise Unsupported(
                f"{label} ({net.config.model_type}) reads pictures in a way of its own: choose a "
                f"model of one of the kinds {', '.join(FAMILIES)}."
            )
        self.family = kind(net, tokenizer, processor, label)
        super().__init__(net, tokenizer, label=label, digest=digest)
        self.supports = frozenset({"tree", "rollback", "image"})
        self.codec = PictureCodec(tokenizer, self.family, label)
        seen = self.family.marks | {self.family.placeholder}
        self.blocked_ids = (self.blocked_ids | seen) - self.eos_ids
        self.special_ids = self.special_ids | seen

    def open(self, capture: Capture = Capture()) -> VisionSession:
        """A session with an empty cache."""
        assert capture.head is None, "no head reads the states of an image-text model"
        return VisionSession(self, capture)

    def cache(self, reserve: int = 0) -> VisionCache:
        """An empty cache with room for ``reserve`` rows, which has seen nothing."""
        return VisionCache(reserve)

    def look(
        self, tokens: tuple[int, ...], pixels: Sequence[Placed], stage: Stage
    ) -> Generator[Progress, None, Sight | None]:
        """Send the pictures of a request through the tower, one after the other."""
        if not pixels:
            return None
        features, deep = [], []
        for placed in pixels:
            with self._lock, torch.inference_mode():
                found, layers = self.family.features(self._moved(placed))
            if len(found) != len(placed.rows):
                raise Unsupported(
                    f"{self.label} turns a picture into {len(found)} features where its prompt has "
                    f"{len(placed.rows)} places for them: choose another model, or a checkpoint "
                    "whose image processor belongs to it."
                )
            features.append(found)
            deep.append(layers)
            yield Progress(stage=stage, done=0, total=len(tokens))
        positions, delta = self.family.positions(tokens, pixels)
        return Sight(
            np.array([row for placed in pixels for row in placed.rows]),
            torch.cat(features).to(self.place, self.net.dtype),
            tuple(torch.cat(layer).to(self.place) for layer in zip(*deep, strict=True)),
            positions,
            delta,
        )

    def given(self, inputs: Inputs) -> dict[str, Tensor]:
        """``inputs`` as the arguments of ``net.generate``, to compare with."""
        ids = torch.tensor([list(inputs.tokens)], device=self.place)
        placed: Sequence[Placed] = inputs.pixels or ()
        values = self.family.together(placed)
        kinds = torch.zeros_like(ids)
        kinds[0, [row for p in placed for row in p.rows]] = 1
        found = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if placed and self.family.typed:
            found["mm_token_type_ids"] = kinds
        return found | {name: self.family.fitting(v).to(self.place) for name, v in values.items()}

    def _moved(self, placed: Placed) -> dict[str, Tensor]:
        return {name: value.to(self.place) for name, value in placed.values.items()}

    def _language(self, net: Any) -> Any:
        return self.family.language

    def _forward(
        self,
        cache: BufferCache,
        ids: Tensor,
        masks: Tensor | dict[str, Tensor],
        positions: np.ndarray,
        wanted: int | Tensor,
        layers: Sequence[int],
    ) -> tuple[Tensor, Any]:
        assert not layers, "no head reads the states of an image-text model"
        sight = cache.sight if isinstance(cache, VisionCache) else None
        embedded = self.net.get_input_embeddings()(ids)
        further: dict[str, Any] = {}
        if sight is not None:
            embedded, further = _merged(sight, embedded, positions)
        out = self.language(
            inputs_embeds=embedded,
            attention_mask=masks,
            position_ids=_places(sight, positions).to(self.place),
            cache=cache,
            use_cache=True,
            **further,
        )
        states = out.last_hidden_state
        return self.net.lm_head(states if isinstance(wanted, int) else states[:, wanted])[0], None


class VisionSession(TreeSession[BufferCache]):
    """A session whose prompt may hold pictures; they are looked at before its first pass."""

    model: VisionModel

    def _begun(
        self, slack: int, tokens: tuple[int, ...], pixels: Any, stage: Stage
    ) -> Generator[Progress, None, BufferCache]:
        cache = self.model.cache(len(tokens) + slack)
        cache.sight = yield from self.model.look(tokens, pixels or (), stage)
        return cache


def _merged(sight: Sight, embedded: Tensor, positions: np.ndarray) -> tuple[Tensor, dict[str, Any]]:
    """``embedded`` [1, rows, hidden] with the features of those ``positions`` that have some, and
    what a deep stack needs beside it. Only rows of a prompt have any: a tree stands behind it."""
    first, last = np.searchsorted(sight.rows, (positions[0], positions[-1] + 1))
    if first == last:
        return embedded, {}
    at = torch.from_numpy(sight.rows[first:last] - positions[0])
    embedded = embedded.clone()
    embedded[0, at] = sight.features[first:last]
    if not sight.deep:
        return embedded, {}
    where = torch.zeros(1, embedded.shape[1], dtype=torch.bool, device=embedded.device)
    where[0, at] = True
    deep = [layer[first:last] for layer in sight.deep]
    return embedded, {"visual_pos_masks": where, "deepstack_visual_embeds": deep}


def _places(sight: Sight | None, positions: np.ndarray) -> Tensor:
    """Position ids [1, rows] or [axes, 1, rows] of the rows at ``positions`` of the request."""
    counted = torch.from_numpy(positions)
    if sight is None or sight.positions is None:
        return counted[None]
    axes, known = sight.positions.shape
    inside = counted < known
    found = (counted + sight.delta).expand(axes, -1).clone()
    found[:, inside] = sight.positions[:, counted[inside]]
    return found[:, None]
