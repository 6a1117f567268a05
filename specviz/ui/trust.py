"""Which models and heads a page may load: what a visitor, or a stranger's file, cannot decide."""

from __future__ import annotations

import os
from typing import Any

from specviz.catalog import text
from specviz.models import registry
from specviz.models.base import InputError
from specviz.models.heads import HEADS
from specviz.trace import Trace
from specviz.views.terminal import literal

HEAD = "head"  # the knob whose value may be a folder or hub id


def only_labels() -> bool:
    """Whether this is a public page, whose visitors choose among the labels."""
    return bool(os.environ.get("SPACE_ID")) and os.environ.get("SPECVIZ_MODELS") != "any"


def check_model(name: str, lang: str = "en") -> None:
    """Raises InputError for a model that leads nowhere, that a public page does not offer, or whose
    weights cannot be fetched."""
    labels = [entry.label for entry in registry.entries()]
    # Before anything looks at the disk: a visitor must not learn which folders there are.
    if only_labels() and name.strip() not in labels:
        raise InputError(text("ui.error.model", lang, labels=", ".join(labels)))
    registry.check_had(registry.find(name))


def check_head(name: Any, lang: str = "en") -> None:
    """Raises InputError for a drafter head that a public page does not offer."""
    if only_labels() and str(name).strip() not in ("", *HEADS):
        raise InputError(text("ui.error.head", lang, labels=", ".join(HEADS)))


def check_trusted(trace: Trace, chosen: Any, head: Any, lang: str = "en") -> None:
    """Raises InputError for a trace whose model or head nobody here has chosen: what a stranger's
    file names must not decide what is downloaded or loaded. ``chosen``, ``head``: in the form."""
    run = trace.run("decoder")
    if run is None:
        return
    model = run.header.model
    labels = [entry.label for entry in registry.entries()]
    trusted = [*labels, str(chosen or "").strip()]
    if model not in trusted and not registry.is_loaded(model):
        raise InputError(text("ui.whatif.stranger", lang, model=literal(model[:80])))
    check_model(model, lang)
    named = str(run.header.knobs.get(HEAD, "")).strip()
    if named not in ("", *HEADS, str(head or "").strip()):
        raise InputError(text("ui.whatif.stranger.head", lang, head=literal(named[:80])))
    check_head(named, lang)
