"""Writes what the pages show of the program: the README's methods table, the tour's draft tree.

``python docs/tables.py`` prints the table, ``--write`` puts both into their pages.
"""

from __future__ import annotations

import inspect
import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from specviz import cli  # noqa: E402
from specviz.drafters import DRAFTERS  # noqa: E402
from specviz.drafters.base import Drafter, knobs_of  # noqa: E402

BEGIN = "<!-- methods: written by `make readme` -->\n"
END = "<!-- end of methods -->"


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "–"


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


def commands(page: str) -> Iterator[list[str]]:
    """The arguments of every ``python -m specviz`` that begins a line of ``page``."""
    for line in re.findall(r"^`?python -m specviz ([^`\n]+)", page, re.M):
        yield shlex.split(line, comments=True)


def printed(arguments: list[str]) -> str:
    """What a command prints in the current folder; raises RuntimeError when it fails."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(io.StringIO()) as said:
        code = cli.main(arguments)
    if code:
        raise RuntimeError(f"{shlex.join(arguments)} ends with {code}: {said.getvalue()}")
    return out.getvalue()


def with_tree(tour: str) -> str:
    """``tour`` with its draft tree as the commands of its first part print it."""
    first = tour.split("\n## ")[0]  # what comes later takes files and weights
    with TemporaryDirectory() as folder, chdir(folder):
        outputs = {shlex.join(c): printed(c) for c in commands(first)}
    drawn = next(text for command, text in outputs.items() if "--step" in command)
    before, opening, rest = tour.partition("draws one tree:\n\n```\n")
    _, closing, after = rest.partition("```\n")
    return f"{before}{opening}{drawn}{closing}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        for name, renewed in (("README.md", with_table), ("docs/tour.md", with_tree)):
            path = ROOT / name
            path.write_text(renewed(path.read_text("utf-8")), "utf-8")
    else:
        sys.stdout.write(methods_table())
