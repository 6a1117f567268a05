"""The rows of the memories for people: filtered, in a sentence, as a table, and all as CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from specviz.catalog import number, text
from specviz.evidence import Written
from specviz.trace import Trace
from specviz.views.inspector import Memories, Row, inspect
from specviz.views.numbers import percent
from specviz.views.sheet import sheet
from specviz.views.tokens import show

COLUMNS = (
    "level", "key", "answers", "probabilities", "entropy", "written_step", "written_node",
    "written_accepted", "kept", "uses", "accepted", "recycled",
)  # fmt: skip
SHOWN = (
    "level", "key", "answers", "entropy", "written", "branch", "kept", "uses", "accepted", "steps",
)  # fmt: skip
FOREMOST = 4  # answers that the page names


def select(
    rows: Sequence[Row],
    pieces: dict[int, bytes],
    find: str = "",
    level: int = 0,
    which: str = "all",
) -> list[Row]:
    """The rows of ``level`` (0: any) whose key or answers hold the text ``find``; ``which``: all,
    used (had a say in a tree), recycled (a refused branch wrote it, a guess of it was accepted),
    idle (nobody asked). Those that brought most accepted guesses come first, then the most used."""
    needle = show(find.encode("utf-8", "replace"))
    found = [
        row
        for row in rows
        if level in (0, row.level)
        and _is(row, which)
        and (not needle or any(needle in show(pieces.get(t)) for t in (*row.key, *row.ids)))
    ]
    return sorted(found, key=lambda row: (-row.accepted, -len(row.uses)))


def _is(row: Row, which: str) -> bool:
    if which == "used":
        return row.used
    if which == "recycled":
        return row.recycled > 0
    return which == "all" or not row.uses


def sentence(memories: Memories, lang: str = "en") -> str:
    """How many rows there were, how many were of use, and what refused branches gave."""
    rows = memories.rows
    if not rows and not memories.unseen:
        return text("view.memory.none", lang)
    said = text(
        "view.memory.sentence",
        lang,
        written=number(len(rows), lang=lang),
        kept=number(sum(row.kept for row in rows), lang=lang),
        used=sum(row.used for row in rows),
        accepted=sum(row.accepted for row in rows),
        recycled=sum(row.recycled for row in rows),
    )
    if memories.unseen:
        said += " " + text("view.memory.unseen", lang, count=memories.unseen)
    return said


def table(
    rows: Sequence[Row], pieces: dict[int, bytes], lang: str = "en"
) -> tuple[list[str], list[list[str | int | float]]]:
    """Column titles and cells for people."""
    titles = [text(f"view.memory.{name}", lang) for name in SHOWN]
    return titles, [_cells(row, pieces, lang) for row in rows]


def _cells(row: Row, pieces: dict[int, bytes], lang: str) -> list[str | int | float]:
    answers = (
        f"{_word(t, pieces)} {percent(p)}"
        for t, p in islice(zip(row.ids, row.probs, strict=True), FOREMOST)
    )
    branch = "accepted" if row.written.accepted else "refused"
    return [
        f"L{row.level}",
        " ".join(_word(t, pieces) for t in row.key),
        " · ".join(answers),
        row.entropy,
        writer(row.written, lang),
        "–" if row.written.step == -1 else text(f"view.memory.branch.{branch}", lang),
        text("view.yes" if row.kept else "view.no", lang),
        len(row.uses),
        row.accepted,
        _steps(row) or "–",
    ]


def _steps(row: Row) -> str:
    """In which steps a row was asked; ✓: a guess of it was accepted, ×3: at three nodes."""
    asked = Counter(use.step for use in row.uses)
    right = {use.step for use in row.uses if use.accepted is not None}
    return " ".join(
        f"{step + 1}{'✓' if step in right else ''}{f'×{n}' if n > 1 else ''}"
        for step, n in asked.items()
    )


def writer(written: Written, lang: str = "en") -> str | int:
    """Who wrote a row: the number of a step, or where else it comes from."""
    if written.step >= 0:
        return written.step + 1
    if written.step == -1:
        return text("view.memory.prompt", lang, at=written.node + 1)
    return text("view.memory.earlier", lang)


def to_csv(trace: Trace) -> str:
    """Every row with its uses as CSV; steps count from 1, ``prompt`` and ``earlier`` name the other
    writers, a use is ``step:node:weight`` with ``:accepted`` where a guess of it was."""
    pieces = trace.pieces
    return sheet(COLUMNS, (_line(row, pieces) for row in inspect(trace).rows))


def _line(row: Row, pieces: dict[int, bytes]) -> tuple[object, ...]:
    step = row.written.step
    uses = (
        f"{u.step + 1}:{u.node}:{u.weight}{':accepted' if u.accepted is not None else ''}"
        for u in row.uses
    )
    return (
        row.level,
        " ".join(_word(t, pieces) for t in row.key),
        " ".join(_word(t, pieces) for t in row.ids),
        " ".join(f"{p:.4f}" for p in row.probs),
        row.entropy,
        {-1: "prompt", -2: "earlier"}.get(step, step + 1),
        row.written.node,
        row.written.accepted,
        row.kept,
        " ".join(uses),
        row.accepted,
        row.recycled,
    )


def _word(token: int, pieces: dict[int, bytes]) -> str:
    """A token in visible characters, its number where the trace does not say what it stands for."""
    return show(pieces[token]) if token in pieces else f"#{token}"
