"""The catalogue: the words of the page, the player and the command line, by key and language.

``{name}`` marks a placeholder. A key with plural forms is stored as ``key.one`` and ``key.other``
(and what else a language needs); the value ``count`` chooses between them.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

PLACEHOLDER = re.compile(r"\{(\w+)\}")


@cache
def strings(lang: str = "en") -> dict[str, str]:
    """All strings of a language; raises KeyError for a language that there is not."""
    path = Path(__file__).parent / f"{lang}.json"
    if not path.is_file():
        raise KeyError(f"there is no catalogue for {lang!r}")
    found: dict[str, str] = json.loads(path.read_text("utf-8"))
    return found


def text(key: str, lang: str = "en", **values: object) -> str:
    """The string of ``key`` with its placeholders filled in literally; KeyError names a gap."""
    known = strings(lang)
    if key not in known and "count" in values:
        key = f"{key}.{'one' if values['count'] == 1 else 'other'}"
    # One pass: a value that looks like a placeholder stays what it is.
    return PLACEHOLDER.sub(lambda match: str(values[match[1]]), known[key])
