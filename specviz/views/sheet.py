"""Tables as CSV files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence


def sheet(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """``rows`` under a header line: texts are literal, numbers have a dot, None is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, str):
        # A spreadsheet would run a cell that begins like a formula.
        return "'" + value if value[:1] in ("=", "+", "-", "@") else value
    return "" if value is None else value
