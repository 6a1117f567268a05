"""Recorded runs that the page opens without a model, and a toy run where there are none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from specviz import jobs
from specviz.gallery import FOLDER, Example, listed
from specviz.trace import Progress, Trace

TOY_WORDS = (
    "A nursery rhyme",
    "The toy model, so that there is something to see before any example is recorded.",
)
TOY_PROMPT = "This is the house that Jack built.\nThis is the cow that tossed the dog.\nThis is"


@dataclass(frozen=True)
class Toy(Example):
    """A run of the toy model that is made when it is first asked for, and lies in no file."""

    file: Path = Path()

    @cached_property
    def trace(self) -> Trace:
        """Its events."""
        job = jobs.Job(model="toy", prompt=TOY_PROMPT, max_new_tokens=96)
        return Trace(tuple(e for e in jobs.run(job) if not isinstance(e, Progress)))


def examples(folder: Path = FOLDER) -> tuple[Example, ...]:
    """The examples of ``folder`` whose files are there; a toy run when there are none."""
    index = folder / "index.json"
    found = listed(folder) if index.is_file() else ()
    return tuple(e for e in found if e.file.is_file()) or (Toy("rhyme", *TOY_WORDS, "recap"),)
