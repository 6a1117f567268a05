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


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def row(drafter: type[Drafter]) -> str:
    """One line of the methods table: name, what it does, its foremost knobs with defaults."""
    summary = _cell((inspect.getdoc(drafter) or "").split("\n\n")[0])
    foremost = [f"`{k.name}` {_shown(k.default)}" for k in knobs_of(drafter) if not k.advanced]
    return f"| `{drafter.name}` | {summary} | {', '.join(foremost) or 'none'} |"


def knob_rows(drafter: type[Drafter]) -> str:
    """The lines of the knob table that belong to one drafter."""
    return "".join(
        f"| `{drafter.name}` | `{k.name}` | {_shown(k.default)} | {_cell(k.limits)} | "
        f"{_cell(k.help)} |\n"
        for k in knobs_of(drafter)
    )


def methods_table() -> str:
    """The tables of all registered drafters and, folded, of their knobs."""
    head = "| decoder | what it guesses | foremost knobs |\n|---|---|---|\n"
    methods = head + "".join(row(drafter) + "\n" for drafter in DRAFTERS.values())
    knobs = "| decoder | knob | default | allowed | what it does |\n|---|---|---|---|---|\n"
    knobs += "".join(map(knob_rows, DRAFTERS.values()))
    return f"{methods}\n<details>\n<summary>All knobs</summary>\n\n{knobs}\n</details>\n"


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
