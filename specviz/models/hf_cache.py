"""A key/value cache for tree verification: preallocated, rewindable, compacted in place."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers.cache_utils import Cache, CacheLayerMixin

FIRST = 256
GROWTH = 1.5


class BufferLayer(CacheLayerMixin):  # type: ignore[misc]
    """One layer's keys and values in a buffer of [1, heads, capacity, width] with a length.

    The stock dynamic layer concatenates the whole cache on every pass; here a pass only writes its
    own rows. Every layer is a full one, also where the model attends to a sliding window: the mask
    says what is visible, so a rejected branch can always be taken back.
    """

    is_sliding = False
    is_compileable = False
    is_croppable = True
    supports_early_init = False

    def __init__(self, reserve: int = 0) -> None:
        super().__init__()
        self.length = 0
        self._reserve = reserve
        self._key_rows = torch.empty(0)
        self._value_rows = torch.empty(0)

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """Take dtype, device and shape from the first rows."""
        capacity = max(self._reserve, key_states.shape[-2], FIRST)
        self._key_rows = _buffer(key_states, capacity)
        self._value_rows = _buffer(value_states, capacity)
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append rows; returns views of everything up to and including them."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[-2]
        if end > self._key_rows.shape[-2]:
            self._grow(max(end, int(GROWTH * self._key_rows.shape[-2])))
        self._key_rows[:, :, self.length : end] = key_states
        self._value_rows[:, :, self.length : end] = value_states
        self.length = end
        self.keys = self._key_rows[:, :, :end]
        self.values = self._value_rows[:, :, :end]
        return self.keys, self.values

    def _grow(self, capacity: int) -> None:
        for name in ("_key_rows", "_value_rows"):
            old = getattr(self, name)
            new = _buffer(old, capacity)
            new[:, :, : self.length] = old[:, :, : self.length]
            setattr(self, name, new)

    def keep(self, base: int, rows: torch.Tensor) -> None:
        """Move ``rows`` (offsets behind ``base``, ascending) to ``base`` and end there."""
        if self.is_initialized:
            index = rows.to(self._key_rows.device) + base
            end = base + len(rows)
            self._key_rows[:, :, base:end] = self._key_rows.index_select(2, index)
            self._value_rows[:, :, base:end] = self._value_rows.index_select(2, index)
        self.rewind(base + len(rows))

    def pad(self, rows: int) -> None:
        """Append ``rows`` rows of zeros to a layer that has rows already."""
        if self.length + rows > self._key_rows.shape[-2]:
            self._grow(self.length + rows)
        for buffer in (self._key_rows, self._value_rows):
            buffer[:, :, self.length : self.length + rows] = 0
        self.length += rows

    def rewind(self, length: int) -> None:
        """Forget every row from ``length`` on; the buffer stays."""
        self.length = length

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Length and offset that a mask for ``query_length`` more rows would have."""
        return self.length + query_length, 0

    def get_seq_length(self) -> int:
        """Rows in use."""
        return self.length

    def get_max_length(self) -> int:
        """No limit of its own."""
        return -1


class BufferCache(Cache):  # type: ignore[misc]
    """The layers of one session; ``length`` is the number of rows that count."""

    def __init__(self, reserve: int = 0) -> None:
        super().__init__(layer_class_to_replicate=lambda: BufferLayer(reserve))
        self.length = 0

    def advance(self, rows: int) -> None:
        """Count ``rows`` rows that a pass has just appended."""
        self.length += rows

    def pad(self, rows: int) -> None:
        """Make the cache ``rows`` rows longer without computing them: only to time passes."""
        for layer in self.layers:
            layer.pad(rows)
        self.length += rows

    def rewind(self) -> None:
        """Take back what a pass appended, also one that broke off between two layers."""
        for layer in self.layers:
            layer.rewind(self.length)

    def keep(self, path: Sequence[int]) -> None:
        """Keep exactly the rows ``path`` (ascending offsets) of those behind ``length``.

        A path that is already in place (0, 1, 2, …) moves nothing.
        """
        end = self.length + len(path)
        if list(path) == list(range(len(path))):
            for layer in self.layers:
                layer.rewind(end)
        else:
            rows = torch.tensor(path)
            for layer in self.layers:
                layer.keep(self.length, rows)
        self.length = end


def _buffer(like: torch.Tensor, capacity: int) -> torch.Tensor:
    return like.new_empty((*like.shape[:-2], capacity, like.shape[-1]))
