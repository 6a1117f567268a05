"""What the page says and does about the memory that lasts between the runs of one tab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gradio as gr

from specviz.catalog import number, text
from specviz.drafters import DRAFTERS
from specviz.jobs import Job
from specviz.models.base import InputError
from specviz.ui.visit import Visit

MOST_SCOPES = 32
LONGEST_NAME = 80


@dataclass(frozen=True)
class Memory:
    """The handlers of the scope's controls."""

    lang: str

    def cross(self, visit: Visit, scope: str | None) -> str:
        """The scope line after another name was given; runs of the old scope stay behind."""
        visit.scope = (scope or "").strip()[:LONGEST_NAME]
        visit.reusable = ""
        return self.line(visit)

    def clear(self, visit: Visit) -> str:
        """The scope line after Clear."""
        visit.scopes.clear(scope_of(visit))
        return self.line(visit)

    def line(self, visit: Visit) -> str:
        """Name and size of the memory that the next run may see."""
        scope = scope_of(visit)
        rows, size = visit.scopes.size(scope)
        kb = number(size / 1000, lang=self.lang)
        return text("ui.scope.size", self.lang, scope=scope, count=rows, kb=kb)

    def next(self, visit: Visit, decoder: str, model: str, dtype: str) -> tuple[str, Any]:
        """What the next run of this decoder, model and dtype may see, and whether to offer Clear.

        Narrower than ``line``: a scope keeps a memory for each of them.
        """
        if not DRAFTERS[decoder].persistent:
            return text("ui.scope.next.none", self.lang), gr.update(visible=False)
        scope = scope_of(visit)
        job = Job(decoder=decoder, model=(model or "").strip(), dtype=dtype or "auto", scope=scope)
        memory = visit.scopes.get(job)
        rows = 0 if memory is None else len(memory)
        line = text("ui.scope.next", self.lang, scope=scope, count=rows)
        return line, gr.update(visible=True, interactive=visit.scopes.size(scope)[0] > 0)


def scope_of(visit: Visit) -> str:
    """The name of the scope that is chosen."""
    return visit.scope or text("ui.scope.default")


def room(visit: Visit, lang: str = "en") -> str:
    """The scope of the next run; raises InputError when the tab keeps too many others."""
    scope, kept = scope_of(visit), visit.scopes.names()
    if scope not in kept and len(kept) >= MOST_SCOPES:
        raise InputError(text("ui.error.scopes", lang, most=MOST_SCOPES))
    return scope
