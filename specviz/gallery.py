"""The recorded examples: which there are, their runs, and what a card says of them.

The page, the lessons and the static site offer the same runs, and each is read once.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from specviz import metrics
from specviz.audit import audit
from specviz.catalog import sentence, speedup, text
from specviz.trace import Trace, TraceError
from specviz.tracefile import load

FOLDER = Path(__file__).resolve().parent.parent / "examples"
VERDICTS: dict[bool | str, str] = {
    True: "ui.card.equal", "tie": "ui.card.tie", False: "ui.card.differs"
}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One recorded run, as the index of its folder describes it."""

    name: str
    title: str
    description: str
    decoder: str
    file: Path

    @cached_property
    def trace(self) -> Trace:
        """The recorded events, read when first asked for; raises TraceError or OSError."""
        return load(self.file)

    @cached_property
    def sound(self) -> bool:
        """Whether the recording bears out what it says; raises as ``trace`` does."""
        return not audit(self.trace)

    @cached_property
    def _measured(self) -> tuple[float | None, bool | str | None]:
        """The speed-up, and equality where the recording bears it out; nothing of a damaged one."""
        try:
            facts = metrics.summary(self.trace)
            return facts["speedup_decode"], facts["equal"] if self.sound else None
        except (TraceError, OSError):
            return None, None

    def figures(self, lang: str = "en") -> str:
        """Speed-up and equality as recorded; empty where nothing was measured."""
        times, equal = self._measured
        parts = []
        if times is not None:
            parts.append(text("ui.card.times", lang, value=speedup(times, lang)))
        if equal is not None:
            parts.append(text(VERDICTS[equal], lang))
        return " · ".join(parts)

    def card(self, lang: str = "en") -> dict[str, str]:
        """What a gallery says of it."""
        return {
            "name": self.name,
            "decoder": self.decoder,
            "title": sentence(self.title, lang),
            "description": sentence(self.description, lang),
            "figures": self.figures(lang),
        }


@cache
def listed(folder: Path = FOLDER) -> tuple[Example, ...]:
    """The examples of a folder in the order of its index; raises OSError where it has none."""
    return tuple(
        Example(
            entry.get("name") or entry["file"].split(".")[0],
            entry["title"], entry["description"], entry["decoder"], folder / entry["file"],
        )
        for entry in json.loads((folder / "index.json").read_text("utf-8"))
    )  # fmt: skip


def example(name: str, folder: Path = FOLDER) -> Example:
    """The one of that name; raises LookupError, and as ``listed`` does."""
    found = next((each for each in listed(folder) if each.name == name), None)
    if found is None:
        raise LookupError(f"no recorded example is called {name}")
    return found
