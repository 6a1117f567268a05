"""What reads texts and pictures for an image-text model: its tokenizer and image processor.

The full processors of some families need torchvision for videos; none is asked for here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import AutoImageProcessor, AutoTokenizer, ProcessorMixin


def readers(source: str, known: Mapping[str, Any]) -> tuple[Any, Any]:
    """Tokenizer and image processor of a folder or hub id.

    A chat template that was saved with the whole processor is the one that knows pictures; raises
    whatever transformers raises on files that are missing or damaged.
    """
    tokenizer = AutoTokenizer.from_pretrained(source, **known)
    processor = AutoImageProcessor.from_pretrained(source, backend="pil", **known)
    places = {name: known[name] for name in ("revision", "local_files_only") if name in known}
    template = ProcessorMixin.get_processor_dict(source, **places)[0].get("chat_template")
    if template is not None:
        tokenizer.chat_template = template
    return tokenizer, processor
