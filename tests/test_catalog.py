"""Every sentence that the code asks for is there, in every language, whole and translated."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from specviz import catalog
from specviz.drafters import DRAFTERS, knobs_of
from specviz.ui.examples import TOY_WORDS
from specviz.ui.form import summary
from specviz.ui.samples import samples

ROOT = Path(__file__).parent.parent
PLAYER = ROOT / "assets" / "player" / "src"
SITE = ROOT / "assets" / "site"
SCRIPTED = ("player.", "site.")  # beginnings of the keys that scripts ask for
# Strings without a Cyrillic letter that are right so: names, keys, code and signs.
NAMES = {
    "A", "B", "D", "E", "H", "I", "L", "P", "R", "S", "W", "FT", "L1", "L2", "L3",
    "Home, End", "Shift + ← →", "C, D", "F",
    "DAS", "DAS-Wave", "RECAP", "Prompt lookup", "Token Recycling",
    "Window", "full", "reindex_only", "shift", "slot", "window_abs", "CPU", "CUDA", "dtype",
    "generate", "id {id}", "specviz", "tau", "tau {tau}",
    "default",  # the name that a scope has as long as nobody gives it another one
    # Prompts for models that were taught in English.
    "Write a short story about a lighthouse keeper.", "What is in the picture?",
    "What does the board say?", "Which bar is the tallest?", "What does the sign say?",
    "Which shapes are there, and in which colours?",
}  # fmt: skip


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


@cache
def keys(lang: str) -> dict[str, dict[str, str]]:
    """Key -> form -> string; a key without plural forms has the form ``""`` alone.

    Plural is what has every form of its language: "other" alone may also be the end of a name.
    """
    known, forms = catalog.strings(lang), catalog.FORMS[lang]
    bases = {key.removesuffix(f".{forms[0]}") for key in known if key.endswith(f".{forms[0]}")}
    plurals = {base for base in bases if all(f"{base}.{form}" in known for form in forms)}
    found = {base: {form: known[f"{base}.{form}"] for form in forms} for base in plurals}
    for key, said in known.items():
        base, _, form = key.rpartition(".")
        if base not in plurals or form not in forms:
            found[key] = {"": said}
    return found


@pytest.mark.parametrize("lang", catalog.FORMS)
def test_every_key_that_is_asked_for_exists_and_gets_its_values(lang: str) -> None:
    known, wrong = keys(lang), []
    for key, given in asked():
        if key not in known:
            wrong.append(f"{key} is missing")
        for form, said in known.get(key, {}).items() if given is not None else ():
            for name in set(catalog.PLACEHOLDER.findall(said)) - (given or set()):
                wrong.append(f"{key} {form} gets no {name}")
    assert wrong == []


def test_every_language_has_the_same_keys_in_the_forms_that_it_needs() -> None:
    for lang in catalog.FORMS:
        plural = {key: "" not in forms for key, forms in keys(lang).items()}
        assert (lang, plural) == (lang, {key: "" not in forms for key, forms in keys("en").items()})


@pytest.mark.parametrize("lang", [lang for lang in catalog.FORMS if lang != "en"])
def test_a_translation_has_the_placeholders_of_the_original_in_every_form(lang: str) -> None:
    """English "one" means 1 alone and may leave the number out; "one" of Russian means 21, too."""
    wrong = []
    for key, forms in keys("en").items():
        original = forms.get("other", forms.get(""))
        assert original is not None
        for form, said in keys(lang)[key].items():
            if set(catalog.PLACEHOLDER.findall(said)) != set(catalog.PLACEHOLDER.findall(original)):
                wrong.append(f"{key} {form}: {said}")
            if (original[:1].isspace(), original[-1:].isspace()) != (
                said[:1].isspace(), said[-1:].isspace()
            ):  # fmt: skip
                wrong.append(f"{key} {form} begins or ends otherwise")
    assert wrong == []


def test_every_russian_string_is_translated() -> None:
    left = {
        key: said
        for key, said in catalog.strings("ru").items()
        if said not in NAMES
        and re.search("[A-Za-z]", catalog.PLACEHOLDER.sub("", said))
        and not re.search("[а-яё]", said, re.IGNORECASE)
    }
    assert left == {}
    assert {n for n in NAMES if n not in catalog.strings("ru").values()} == set()


def scripted() -> Iterator[list[str]]:
    """Strings of the player's sources, cut where a part is computed; and names of properties."""
    for path in (*PLAYER.rglob("*.js"), *SITE.rglob("*.js")):
        source = path.read_text("utf-8")
        yield from ([word] for word in re.findall(r'"([^"\n]*)"|\b(\w+):', source) for word in word)
        for hole in (r"\$\{[^{}]*\}", r"\$\{(?:\{[^{}]*\}|[^{}])*\}"):
            cut = re.sub(hole, "\0", source)
            yield from (word.split("\0") for word in re.findall(r"[\w.-]*\0[\w.\0-]*", cut))


def spelled() -> Iterator[list[str]]:
    """Strings of the package, cut where a part of them is computed."""
    for path in (ROOT / "specviz").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield [node.value]
            elif isinstance(node, ast.JoinedStr):
                parts = [getattr(part, "value", None) for part in node.values]
                yield "".join(p if isinstance(p, str) else "\0" for p in parts).split("\0")


@cache
def named(player: bool) -> tuple[set[str], re.Pattern[str], set[str]]:
    """What the sources spell out: whole, with a part computed, and up to a computed rest."""
    whole, patterns, heads = set(), set(), set()
    # Names of decoders, stages and reasons reach the player as data.
    for parts in (*spelled(), *(scripted() if player else ())):
        if len(parts) == 1:
            whole.add(parts[0])
        elif parts[1:] == [""] and parts[0].endswith("."):
            heads.add(parts[0])
        elif re.search("[a-z]{2}", "".join(parts)):
            heads.add(parts[0])
            # A hole in the middle may hold several words, one at the end holds one.
            *first, last = (re.escape(part) for part in parts)
            hole = r"[\w.-]*" if last else r"[\w-]*"
            patterns.add(hole.join((r"[\w.-]*".join(first), last)))
    return whole, re.compile("|".join(sorted(patterns))), heads


def uses(key: str, player: bool) -> bool:
    """Whether the sources name a key: whole, or its end where they put a beginning before it."""
    whole, patterns, heads = named(player)
    if key in whole or patterns.fullmatch(key):
        return True
    dots = [i + 1 for i, letter in enumerate(key) if letter == "."]
    return any(key[:i] in heads and uses(key[i:], player) for i in dots)


def test_no_key_is_left_over() -> None:
    # References have names with blanks, which are put into keys as underscores.
    known = [key for key in keys("en") if not key.startswith("verify.reference.")]
    assert [key for key in known if not uses(key, key.startswith(SCRIPTED))] == []
    for key in ("player.caption.nobody_asks", "player.nobody", "site.nobody", "ui.nobody",
                "view.cut.nobody"):  # fmt: skip
        assert not uses(key, key.startswith(SCRIPTED))


def test_what_the_code_says_of_itself_is_translated_and_nothing_else() -> None:
    said = {knob.help for drafter in DRAFTERS.values() for knob in knobs_of(drafter)}
    said |= {summary(decoder) for decoder in DRAFTERS}
    recorded = json.loads((ROOT / "examples" / "index.json").read_text("utf-8"))
    said |= {entry[part] for entry in recorded for part in ("title", "description")} | {*TOY_WORDS}
    said |= {picture.title for picture in samples()}
    for lang in [lang for lang in catalog.FORMS if lang != "en"]:
        assert said ^ set(catalog.sentences(lang)) == set()
        assert all(re.search("[а-яё]", each) for each in catalog.sentences(lang).values())
    assert catalog.sentence("Not known yet.", "ru") == "Not known yet."


def test_a_catalogue_is_sorted() -> None:
    for path in (ROOT / "specviz" / "catalog").glob("*.json"):
        raw = path.read_text("utf-8")
        known = dict(sorted(json.loads(raw).items()))
        assert raw == json.dumps(known, indent=1, ensure_ascii=False) + "\n"


def test_values_are_put_in_literally(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"a": "{x} and {y}", "n.one": "one", "n.other": "{count}"}
    monkeypatch.setattr(catalog, "strings", lambda lang="en": known)
    assert catalog.text("a", x="{y}", y="$&") == "{y} and $&"
    assert [catalog.text("n", count=n) for n in (1, 0, 2)] == ["one", "0", "2"]
    with pytest.raises(KeyError):
        catalog.text("missing")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "0 токенов"), (1, "1 токен"), (2, "2 токена"), (4, "4 токена"), (5, "5 токенов"),
        (11, "11 токенов"), (12, "12 токенов"), (14, "14 токенов"), (20, "20 токенов"),
        (21, "21 токен"), (22, "22 токена"), (25, "25 токенов"), (101, "101 токен"),
        (111, "111 токенов"), (112, "112 токенов"), (1004, "1004 токена"),
    ],
)  # fmt: skip
def test_russian_counts(count: int, said: str) -> None:
    assert catalog.text("view.tokens", "ru", count=count) == said


def test_every_language_has_a_name() -> None:
    assert list(catalog.LANGUAGES) == list(catalog.FORMS)


def test_english_counts() -> None:
    said = [catalog.text("view.tokens", count=n) for n in (0, 1, 2, 21)]
    assert said == ["0 tokens", "1 token", "2 tokens", "21 tokens"]


def test_what_is_no_whole_number_gets_the_last_form() -> None:
    assert [catalog.plural(1.5, lang) for lang in catalog.FORMS] == ["other", "many"]


def test_an_unknown_language_is_an_error() -> None:
    for lang in ("xx", "../en"):
        with pytest.raises(KeyError, match="no catalogue for"):
            catalog.strings(lang)


@pytest.mark.parametrize(
    ("value", "digits", "english", "russian"),
    [
        (1.83, 2, "1.83", "1,83"),
        (0.125, 2, "0.13", "0,13"),  # half away from zero
        (1.005, 2, "1.01", "1,01"),  # as it is written, not as it is stored
        (-0.5, 0, "-1", "-1"),
        (1234.5, 1, "1,234.5", "1\u00a0234,5"),
        (12_345_678, 0, "12,345,678", "12\u00a0345\u00a0678"),
        (None, 2, "–", "–"),
        (float("nan"), 2, "–", "–"),
    ],
)
def test_numbers_have_the_signs_of_their_language(
    value: float | None, digits: int, english: str, russian: str
) -> None:
    assert [catalog.number(value, digits, lang) for lang in ("en", "ru")] == [english, russian]


def test_a_factor_of_speed_has_as_many_decimals_as_in_the_player() -> None:
    shown = [catalog.speedup(v, "ru") for v in (0.5, 1.828, 9.994, 12.34)]
    assert shown == ["0,50", "1,83", "9,99", "12,3"]
