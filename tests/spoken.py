"""What code below the page says in sentences of its own: read off its source, values left open.

A template is such a sentence with ``{expression}`` where the source puts a value.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent / "specviz"
ERRORS = {"InputError", "Unsupported", "TraceError"}
# No reader of a page ever meets what these say.
ELSEWHERE = {"bench", "training", "cli", "verdict.py"}
SENTENCE = re.compile(r"(?:[A-Z0-9]|\{)[^\n]*[a-z] [^\n]* [^\n]*\.")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def sources() -> Iterator[Path]:
    for path in sorted(ROOT.rglob("*.py")):
        if path.relative_to(ROOT).parts[0] not in ELSEWHERE:
            yield path


def template(node: ast.expr | None, module: ast.Module) -> str | None:
    """A string or f-string of the source, None for anything else; constants are put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return None
    bits = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            bits.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        known: list[str] = []
        if isinstance(part.value, ast.Name) and part.value.id.isupper():
            values = assigned(part.value.id, module)
            known = [str(v.value) for v in values if isinstance(v, ast.Constant)]
        bits.append(known[0] if known else "{" + ast.unparse(part.value) + "}")
    return "".join(bits)


def spoken(node: ast.expr | None, module: ast.Module) -> Iterator[str]:
    """Every template that an expression may be, as far as its own module tells; ``<source>`` for
    what it does not tell."""
    found = template(node, module)
    if found is not None:
        yield found
        return
    told: list[str] = []
    match node:
        case ast.Name(id=name):
            told = [s for value in assigned(name, module) for s in spoken(value, module)]
        case ast.Subscript(value=ast.Name(id=name)):
            for value in assigned(name, module):
                if isinstance(value, ast.Dict):
                    told += [s for each in value.values for s in spoken(each, module)]
        case ast.Call(func=ast.Name(id=name)) | ast.Call(func=ast.Attribute(attr=name)):
            told = [s for value in returned(name, module) for s in spoken(value, module)]
        case ast.IfExp(body=body, orelse=other):
            told = [*spoken(body, module), *spoken(other, module)]
    if told:
        yield from told
    elif node is not None:
        yield f"<{ast.unparse(node)}>"


def assigned(name: str, module: ast.Module) -> Iterator[ast.expr]:
    """Values of plain assignments to ``name`` anywhere in a module."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield node.value
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    for t, value in zip(target.elts, node.value.elts, strict=True):
                        if isinstance(t, ast.Name) and t.id == name:
                            yield value


def returned(name: str, module: ast.Module) -> Iterator[ast.expr]:
    """Values that the functions called ``name`` in a module return."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            for each in ast.walk(node):
                if isinstance(each, ast.Return) and each.value is not None:
                    yield each.value


def errors() -> Iterator[tuple[Path, str]]:
    """Where an error is made, and what it says."""
    for path in sources():
        module = parsed(path)
        for node in ast.walk(module):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            if getattr(node.func, "id", getattr(node.func, "attr", "")) in ERRORS:
                first = node.args[0]
                called = getattr(getattr(first, "func", None), "id", "")
                if called != "text":  # of the catalogue
                    yield from ((path, said) for said in spoken(first, module))


def sentences() -> Iterator[tuple[Path, str]]:
    """Whatever else in the sources looks like a sentence for a person, with the values it needs."""
    for path in sources():
        module = parsed(path)
        inner = {id(part) for j in ast.walk(module) if isinstance(j, ast.JoinedStr)
                 for part in ast.walk(j) if part is not j}  # fmt: skip
        silent = {id(s.value) for s in ast.walk(module) if isinstance(s, ast.Expr)}  # docstrings
        for node in ast.walk(module):
            if not isinstance(node, ast.Constant | ast.JoinedStr) or id(node) in inner | silent:
                continue
            said = template(node, module)
            if said and SENTENCE.fullmatch(said):
                yield path, said


def yielded(path: Path) -> Iterator[str]:
    """The findings of a module: what its generators yield, and what they put into a list."""
    module = parsed(path)
    for node in ast.walk(module):
        told: ast.expr | None = None
        if isinstance(node, ast.Yield):
            told = node.value
        elif isinstance(node, ast.GeneratorExp):
            told = node.elt
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append":
            told = node.args[0]
        found = template(told, module)
        if found is not None:
            yield found
