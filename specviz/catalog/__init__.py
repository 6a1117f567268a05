"""The catalogue: the words of the page, the player and the command line, by key and language.

``{name}`` marks a placeholder. A key with plural forms is stored once per form of the language, as
``key.one``, ``key.few`` and so on; the value ``count`` chooses between them.
"""

from __future__ import annotations

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from math import isfinite
from numbers import Integral
from pathlib import Path

from specviz.catalog.templates import Templates

PLACEHOLDER = re.compile(r"\{(\w+)\}")
# Every language, with CLDR's plural categories for whole numbers; nothing else is counted here.
FORMS = {"en": ("one", "other"), "ru": ("one", "few", "many")}


# What each language is called by those who speak it.
LANGUAGES = {"en": "English", "ru": "Русский"}


@cache
def strings(lang: str = "en") -> dict[str, str]:
    """All strings of a language; raises KeyError for a language that there is not."""
    if lang not in FORMS:
        raise KeyError(f"there is no catalogue for {lang!r}")
    return _file(f"{lang}.json")


def sentence(english: str, lang: str = "en") -> str:
    """What the code or an example says of itself (help of a knob, what a decoder is, the title of a
    recording), or of what a person asked for (errors, notes, findings), in ``lang``; as it is where
    nobody translated it."""
    if lang == "en":
        return english
    known = sentences(lang).get(english)
    return known or templates(lang).sentence(english) or english


@cache
def templates(lang: str) -> Templates:
    """The sentences with values in them, of a language other than English."""
    order = FORMS[lang]
    return Templates(_file(f"{lang}.messages.json"), lambda n: order.index(plural(n, lang)))


@cache
def sentences(lang: str) -> dict[str, str]:
    """The translated sentences of a language other than English, by the English ones."""
    return _file(f"{lang}.sentences.json")


def _file(name: str) -> dict[str, str]:
    found: dict[str, str] = json.loads((Path(__file__).parent / name).read_text("utf-8"))
    return found


# CLDR's signs: before decimals, and between thousands.
SIGNS = {"en": (".", ","), "ru": (",", "\u00a0")}


def number(value: float | None, digits: int = 0, lang: str = "en") -> str:
    """``value`` with so many decimals as the browser's Intl writes it, half away from zero; a dash
    for None and for what is no number."""
    if value is None or not isfinite(value):
        return "–"
    exact = Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    point, thousands = SIGNS[lang]
    return f"{exact:,f}".translate({ord("."): point, ord(","): thousands})


def speedup(value: float, lang: str = "en") -> str:
    """A factor of speed: two decimals below ten, one above, as the player has it."""
    return number(value, 2 if value < 10 else 1, lang)


def plural(count: object, lang: str = "en") -> str:
    """The plural category of ``count``; the last one of the language for what is no whole number.

    Source: the rules of CLDR for cardinals, https://cldr.unicode.org/index/cldr-spec/plural-rules
    """
    if not isinstance(count, Integral):
        return FORMS[lang][-1]
    number = abs(int(count))
    if lang != "ru":
        return "one" if number == 1 else "other"
    unit, teen = number % 10, number % 100 // 10 == 1
    if teen or not 1 <= unit <= 4:
        return "many"
    return "one" if unit == 1 else "few"


def text(key: str, lang: str = "en", **values: object) -> str:
    """The string of ``key`` with its placeholders filled in literally; KeyError names a gap."""
    known = strings(lang)
    if key not in known and "count" in values:
        key = f"{key}.{plural(values['count'], lang)}"
    # One pass: a value that looks like a placeholder stays what it is.
    return PLACEHOLDER.sub(lambda match: str(values[match[1]]), known[key])
