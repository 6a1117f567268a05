"""Writes the README's methods table from the drafter registry.

``python docs/tables.py`` prints it, ``--write`` puts it between the markers of README.md.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from specviz.drafters import DRAFTERS  # noqa: E402
from specviz.drafters.base import Drafter, knobs_of  # noqa: E402

BEGIN = "<!-- methods: written by `make readme` -->\n"
END = "<!-- end of methods -->"


def row(drafter: type[Drafter]) -> str:
    """One line of the table: name, what it does, its knobs with defaults."""
    summary = (inspect.getdoc(drafter) or "").split("\n\n")[0].replace("\n", " ")
    knobs = ", ".join(f"`{k.name}` {_shown(k.default)}" for k in knobs_of(drafter)) or "none"
    return f"| `{drafter.name}` | {summary} | {knobs} |"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def methods_table() -> str:
    """The table of all registered drafters."""
    head = "| decoder | what it guesses | knobs and defaults |\n|---|---|---|\n"
    return head + "".join(row(drafter) + "\n" for drafter in DRAFTERS.values())


def with_table(readme: str) -> str:
    """``readme`` with the table between its markers brought up to date."""
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{methods_table()}\n{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        path = ROOT / "README.md"
        path.write_text(with_table(path.read_text("utf-8")), "utf-8")
    else:
        sys.stdout.write(methods_table())
