"""Every sentence that the code asks for is in the catalogue, and nothing asks twice."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from specviz import catalog

ROOT = Path(__file__).parent.parent


def asked() -> Iterator[tuple[str, set[str] | None]]:
    """Literal keys of calls of ``text``, with the names of their values (None: some are open)."""
    for path in sorted((ROOT / "specviz").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            first = node.args[0] if node.args else None
            if name == "text" and isinstance(first, ast.Constant) and isinstance(first.value, str):
                given = {k.arg for k in node.keywords if k.arg}
                yield first.value, None if len(given) < len(node.keywords) else given


def test_every_key_that_is_asked_for_exists_and_gets_its_values() -> None:
    known = catalog.strings("en")
    wrong = []
    for key, given in asked():
        forms = [k for k in (key, f"{key}.one", f"{key}.other") if k in known]
        if not forms:
            wrong.append(f"{key} is missing")
        for form in forms if given is not None else ():
            for name in set(catalog.PLACEHOLDER.findall(known[form])) - (given or set()):
                wrong.append(f"{form} gets no {name}")
    assert wrong == []


def test_values_are_put_in_literally(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"a": "{x} and {y}", "n.one": "one", "n.other": "{count}"}
    monkeypatch.setattr(catalog, "strings", lambda lang="en": known)
    assert catalog.text("a", x="{y}", y="$&") == "{y} and $&"
    assert [catalog.text("n", count=n) for n in (1, 0, 2)] == ["one", "0", "2"]
    with pytest.raises(KeyError):
        catalog.text("missing")


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(KeyError, match="no catalogue for 'xx'"):
        catalog.strings("xx")
