"""Sentences that code below the page makes with values in them, found again and said otherwise.

``{name}`` in a key stands for any text. In the translation ``{name}`` is that text as it is,
``{name|form|form|…}`` the word that its number needs (one form per plural category), ``{name!}`` a
part that has a translation of its own. A key that begins with ``…`` is such a part only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

HOLE = re.compile(r"\{(\w+)\}")
FILLED = re.compile(r"\{(\w+)(!?)((?:\|[^|{}]*)*)\}")
PART = "…"
LONGEST = 4000  # characters: whatever is longer was not made from a template
DEEPEST = 4  # parts in parts


@dataclass(frozen=True)
class Template:
    """A key cut at its holes: one literal more than ``names``, with nobody's text in them."""

    key: str
    literals: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, key: str) -> Template:
        bits = HOLE.split(key.removeprefix(PART))
        return cls(key, tuple(bits[::2]), tuple(bits[1::2]))

    @property
    def weight(self) -> int:
        """Characters of literal text."""
        return sum(map(len, self.literals))

    def values(self, said: str) -> dict[str, str] | None:
        """What stands in the holes of ``said``, each as short as can be and never empty; None
        where it is another sentence.

        As every literal is taken where it comes first, this takes time linear in ``said``.
        """
        first, *inner, last = self.literals if self.names else (*self.literals, "")
        if not self.names:
            return {} if said == first else None
        end = len(said) - len(last)
        if not said.startswith(first) or not said.endswith(last):
            return None
        found, at = [], len(first)
        for literal in inner:
            stop = said.find(literal, at + 1, end)
            if stop < 0:
                return None
            found.append(said[at:stop])
            at = stop + len(literal)
        if at >= end:
            return None
        return dict(zip(self.names, (*found, said[at:end]), strict=True))


class Templates:
    """Translations by templates; ``plural(number)`` is the place of a number's form."""

    def __init__(self, known: Mapping[str, str], plural: Callable[[int], int]) -> None:
        self.known = known
        self._plural = plural
        order = sorted(map(Template.of, known), key=lambda t: (-t.weight, t.key))
        self._whole = [t for t in order if not t.key.startswith(PART)]
        self._parts = order
        self.sentence = lru_cache(maxsize=1024)(self._sentence)

    def used(self, english: str) -> Iterator[str]:
        """The keys that ``english`` is translated by, those of its parts after its own."""
        yield from self._used(english, self._whole)

    def _used(self, english: str, among: list[Template]) -> Iterator[str]:
        template, values = self._find(english, among)
        if template is None:
            return
        yield template.key
        for name, part, _ in FILLED.findall(self.known[template.key]):
            if part:
                yield from self._used(values[name], self._parts)

    def _sentence(self, english: str) -> str | None:
        """The translation of a whole sentence, None where no template fits."""
        return self._said(english, self._whole, DEEPEST)

    def _find(self, said: str, among: list[Template]) -> tuple[Template | None, dict[str, str]]:
        if len(said) <= LONGEST:
            for template in among:
                values = template.values(said)
                if values is not None:
                    return template, values
        return None, {}

    def _said(self, english: str, among: list[Template], deep: int) -> str | None:
        template, values = self._find(english, among)
        if template is None:
            return None

        def fill(match: re.Match[str]) -> str:
            value, forms = values[match[1]], match[3].split("|")[1:]
            if forms:
                return forms[self._form(value)]
            if match[2] and deep:
                return self._said(value, self._parts, deep - 1) or value
            return value

        # One pass: a value that looks like a hole stays what it is.
        return FILLED.sub(fill, self.known[template.key])

    def _form(self, value: str) -> int:
        return self._plural(int(value)) if re.fullmatch(r"-?[0-9]{1,18}", value) else -1
