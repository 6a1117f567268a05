"""Recorded runs that the page opens without a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from specviz import jobs, metrics
from specviz.audit import audit
from specviz.catalog import speedup, text
from specviz.trace import Progress, Trace, TraceError
from specviz.tracefile import load

FOLDER = Path(__file__).parents[2] / "examples"
VERDICTS: dict[bool | str, str] = {
    True: "ui.card.equal", "tie": "ui.card.tie", False: "ui.card.differs"
}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One recorded run. ``file`` None stands for the toy run that is made on the spot."""

    name: str
    title: str
    description: str
    decoder: str
    file: Path | None = None

    def figures(self, lang: str = "en") -> str:
        """Speed-up and equality as recorded, for the card; empty where the file is damaged or has
        no baseline."""
        speed, equal = self._recorded
        parts = []
        if speed is not None:
            parts.append(text("ui.card.times", lang, value=speedup(speed, lang)))
        if equal is not None:
            parts.append(text(VERDICTS[equal], lang))
        return " · ".join(parts)

    @cached_property
    def _recorded(self) -> tuple[float | None, bool | str | None]:
        """The speed-up, and equality where the recording bears it out."""
        try:
            trace = self.trace
        except (TraceError, OSError):
            return None, None
        facts = metrics.summary(trace)
        return facts["speedup_decode"], None if audit(trace) else facts["equal"]

    @cached_property
    def trace(self) -> Trace:
        """The recorded events, read when first asked for; raises TraceError."""
        if self.file is not None:
            return load(self.file)
        job = jobs.Job(model="toy", prompt=TOY_PROMPT, max_new_tokens=96)
        return Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))


TOY_WORDS = (
    "A nursery rhyme",
    "The toy model, so that there is something to see before any example is recorded.",
)
TOY_PROMPT = "This is the house that Jack built.\nThis is the cow that tossed the dog.\nThis is"


def examples(folder: Path = FOLDER) -> tuple[Example, ...]:
    """The examples of ``folder/index.json`` in its order; a toy run when there are none."""
    index = folder / "index.json"
    found = []
    if index.is_file():
        for entry in json.loads(index.read_text("utf-8")):
            file = folder / entry["file"]
            if file.is_file():
                name = entry.get("name") or file.name.split(".")[0]
                found.append(
                    Example(name, entry["title"], entry["description"], entry["decoder"], file)
                )
    return tuple(found) or (
        Example("rhyme", *TOY_WORDS, "recap"),
    )
