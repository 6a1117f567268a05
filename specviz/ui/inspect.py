"""What the tabs that say why guesses failed show: from the values of their filters to tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import gradio as gr

from specviz.catalog import sentence, text
from specviz.gallery import Example
from specviz.trace import Trace, TraceError
from specviz.tracefile import load
from specviz.ui.address import shortened
from specviz.ui.visit import Desk, Visit
from specviz.views import candidates, inspector, memory_table, rejects, report, report_words
from specviz.views.report import Group
from specviz.views.style import localized

KEEP = gr.skip()
MOST_ROWS = 500  # that a table on the page shows; the CSV files hold all
MOST_FILES = 50


@dataclass(frozen=True)
class Inspect:
    """What the tabs show of the run on the page. ``recorded``: what the examples count up to."""

    desk: Desk
    examples: tuple[Example, ...]
    lang: str
    recorded: dict[str, list[Group]] = field(default_factory=dict)

    def trace(self, visit: Visit) -> Trace:
        """The run that the page shows; an empty trace when there is none."""
        return self.desk.trace(visit.shown) or Trace(())

    def rejects(
        self, visit: Visit, which: str, source: str, lead: float | None, find: str, more: bool
    ) -> tuple[Any, ...]:
        """Sentence and table of the refused guesses."""
        every = rejects.rejects(self.trace(visit))
        rows = rejects.select(every, which, find or "", source, max(0.0, lead or 0) or None)
        said = text("ui.rejects.count", self.lang, count=len(every), shown=len(rows))
        titles, cells = rejects.table(rows[:MOST_ROWS], self.lang, more)
        return self._limited(said, rows), self._table(titles, cells)

    def candidates(self, visit: Visit, which: str, find: str) -> tuple[Any, ...]:
        """Sentence and table of what memory offered."""
        every = candidates.candidates(self.trace(visit))
        rows = candidates.select(every, which, find or "")
        right = len(candidates.select(every, "right"))
        cut = len(candidates.select(every, "cut"))
        said = text("ui.candidates.count", self.lang, offered=len(every), cut=cut, count=right)
        titles, cells = candidates.table(rows[:MOST_ROWS], self.lang)
        return self._limited(said, rows), self._table(titles, cells)

    def memory(self, visit: Visit, level: int, which: str, find: str) -> tuple[Any, ...]:
        """Sentence and table of the rows that the memories held."""
        trace = self.trace(visit)
        memories = inspector.inspect(trace)
        rows = memory_table.select(memories.rows, trace.pieces, find or "", level, which)
        said = memory_table.sentence(memories, self.lang)
        titles, cells = memory_table.table(rows[:MOST_ROWS], trace.pieces, self.lang)
        return self._limited(said, rows), self._table(titles, cells)

    def report(self, visit: Visit, by: str, added: dict[str, list[Group]]) -> tuple[Any, ...]:
        """Sentences, picture and table about all runs of the shown decoder."""
        more = [group for groups in added.values() for group in groups]
        run = self.trace(visit).run("decoder")
        decoder = run.header.decoder if run else ""
        groups = report.pool([*self._recorded(decoder, visit), *self._own(visit), *more])
        mine = next((g for g in groups if g.decoder == decoder), None)
        said: list[str] = []
        for group in sorted(groups, key=lambda g: g is not mine):
            said += [report_words.heading(group, self.lang)]
            if group is mine:
                said += report_words.figures(group, self.lang)
                said += [report_words.ending(group, self.lang)]
                said += [report_words.unknown(group, self.lang)]
                said += report_words.pictures(group, self.lang)
        picture = localized(report_words.picture(mine, by, self.lang), self.lang)
        titles, cells = ([""], []) if mine is None else report_words.table(mine, by, self.lang)
        return "\n".join(filter(None, said)), picture, self._table(titles, cells)

    def _recorded(self, decoder: str, visit: Visit) -> list[Group]:
        """The examples of a decoder, but not the one of which more is known by now."""
        found: list[Group] = []
        for example in self.examples:
            probed = visit.copied.get(visit.shown) == f"example-{example.name}"
            if example.decoder != decoder or probed:
                continue
            if example.name not in self.recorded:
                try:
                    self.recorded[example.name] = report.report([(example.title, example.trace)])
                except TraceError:  # its card says so
                    self.recorded[example.name] = []
            found += self.recorded[example.name]
        return found

    def _own(self, visit: Visit) -> list[Group]:
        """The run on the page, unless it is one of the examples."""
        if visit.shown.startswith("example-"):
            return []
        return report.report([(text("ui.report.own", self.lang), self.trace(visit))])

    def add(
        self, paths: Sequence[str] | None, added: dict[str, list[Group]]
    ) -> tuple[dict[str, list[Group]], str, Any]:
        """The groups of more trace files by the files' digests, what is wrong with some, whether
        to offer Clear."""
        found, wrong = dict(added), []
        for path in (paths or ())[:MOST_FILES]:
            name = shortened(Path(path).name)
            try:
                groups = report.report([(name, load(path))])
                digest = sha256(Path(path).read_bytes()).hexdigest()
                if digest in found:
                    wrong.append(text("ui.report.twice", self.lang, name=name))
                found[digest] = groups
            except TraceError as error:
                wrong.append(f"{name}: {sentence(str(error), self.lang)}")
        if len(paths or ()) > MOST_FILES:
            wrong.append(text("ui.report.files", self.lang, most=MOST_FILES))
        return found, "\n".join(wrong), gr.update(visible=bool(found))

    def _limited(self, said: str, rows: Sequence[Any]) -> str:
        if len(rows) <= MOST_ROWS:
            return said
        return said + " " + text("ui.table.limit", self.lang, most=MOST_ROWS, count=len(rows))

    @staticmethod
    def _table(titles: list[str], cells: list[list[str | int | float]]) -> dict[str, Any]:
        return {"headers": titles, "data": cells}
