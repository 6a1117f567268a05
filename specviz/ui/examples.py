"""Recorded runs that the page opens without a model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from specviz import jobs, metrics
from specviz.audit import audit
from specviz.catalog import text
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

    @cached_property
    def figures(self) -> str:
        """Speed-up and equality as recorded, for the card; empty where the file is damaged or has
        no baseline."""
        try:
            trace = self.trace
        except (TraceError, OSError):
            return ""
        facts, parts = metrics.summary(trace), []
        if facts["speedup_decode"] is not None:
            parts.append(text("ui.card.times", value=f"{facts['speedup_decode']:.2f}"))
        if facts["equal"] is not None and not audit(trace):
            parts.append(text(VERDICTS[facts["equal"]]))
        return " · ".join(parts)

    @cached_property
    def trace(self) -> Trace:
        """The recorded events, read when first asked for; raises TraceError."""
        if self.file is not None:
            return load(self.file)
        job = jobs.Job(model="toy", prompt=TOY_PROMPT, max_new_tokens=96)
        return Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))


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
        Example("rhyme", text("ui.example.toy"), text("ui.example.toy.about"), "recap"),
    )
