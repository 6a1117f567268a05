"""The heads of one model in memory, found by label, folder or hub id."""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import torch

from specviz.files import folder_digest
from specviz.models import heads
from specviz.models.base import InputError
from specviz.models.eagle_load import FILES, load_head
from specviz.models.eagle_net import EagleHead
from specviz.models.engines import HeadFacts
from specviz.models.hf_hub import hub_config, snapshot
from specviz.models.hf_pack import pack

if TYPE_CHECKING:
    from specviz.models.hf import HFModel


class Heads:
    """Heads for ``model``, each loaded once, in the model's dtype and beside its embeddings."""

    def __init__(self, model: HFModel) -> None:
        self._model = model
        self._lock = Lock()
        self._loaded: dict[tuple[str, bool], tuple[EagleHead, HeadFacts]] = {}

    def load(self, name: str) -> tuple[EagleHead, HeadFacts]:
        """The head and what it is; raises InputError, see ``HeadModel.head``."""
        head = self._named(name.strip())
        key = head.place, self._model.packed
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = self._read(head)
            return self._loaded[key]

    def _named(self, name: str) -> heads.Head:
        if name:
            return heads.named(name)
        own = heads.own(self._model.label)
        if own is None:
            known = ", ".join(head.targets[0] for head in heads.HEADS.values())
            raise InputError(
                f"No drafter head is known for {self._model.label}: give a folder or hub id of an "
                f"EAGLE-3 head for it with head=…, or choose {known}."
            )
        return own

    def _read(self, head: heads.Head) -> tuple[EagleHead, HeadFacts]:
        folder = head.folder
        digest = None
        if folder is None:
            if Path(head.place).is_absolute() or head.place.startswith((".", "~")):
                raise InputError(f"There is no folder {head.place}: give one with an EAGLE-3 head.")
            config_file, offline = hub_config(head.place)
            revision = config_file.parent.name
            folder, digest = snapshot(head.place, FILES, revision, offline), revision[:16]
        net = self._model.net
        config = net.config.get_text_config()
        loaded = load_head(
            folder,
            config.hidden_size,
            config.vocab_size,
            config.num_hidden_layers,
            net.dtype,
            head.label,
        ).to(net.get_input_embeddings().weight.device)
        size = sum(p.numel() for p in loaded.parameters())
        if self._model.packed:
            with torch.inference_mode():
                pack(loaded)
        facts = HeadFacts(
            label=head.label,
            digest=digest or folder_digest(folder),
            trained=loaded.config.max_positions,
            vocabulary=loaded.config.draft_vocab_size,
            size=size,
            window=loaded.config.window,
        )
        return loaded, facts
