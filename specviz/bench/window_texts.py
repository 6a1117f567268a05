"""Long prompts of three kinds of text, cut to chosen lengths in tokens.

All of it lies where the program lies: chapters of a novel in the public domain, this program's own
source, and records that are made up here. At every length the text ends alike, so that what a
window shows of it hardly differs; the records have what is asked for in their middle.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

from specviz.bench.prompts import Prompt
from specviz.inputs import document_prompt, open_document

ROOT = Path(__file__).parent.parent.parent
BOOK = ("examples/documents/moby-dick-133.txt", "examples/documents/moby-dick-134.txt")
CODE = tuple(f"specviz/{name}.py" for name in
             ("audit", "metrics", "compare", "windows", "budget", "tree"))  # fmt: skip
KINDS = ("book", "code", "records")
CONTEXTS = (256, 512, 1_000, 2_000, 4_000, 8_000)  # tokens of prompt and answer together
TOKENS = 64  # of an answer
FILLED = 0.7  # a prompt is at least so long a part of what there is room for
SEED = "records"
MOST_RECORDS = 400

FIRST = ("Mirelle", "Odo", "Tamsin", "Bertil", "Ysolde", "Conrad", "Petra", "Lucan", "Henrike",
         "Amadou", "Sunniva", "Rafe", "Ottoline", "Joris", "Nadezh", "Piers", "Quilla", "Emeric",
         "Thora", "Vasco")  # fmt: skip
LAST = ("Tarn", "Finch", "Ashdown", "Okoro", "Lindqvist", "Brandt", "Marrow", "Szabo", "Hale",
        "Winterbourne", "Ferreira", "Gantry", "Holloway", "Ilves", "Jansson", "Kestrel", "Loom",
        "Novak", "Pellinor", "Quist")  # fmt: skip
THINGS = ("brass sextant", "folding ladder", "copper kettle", "set of chisels", "barometer",
          "linen sail", "pair of oars", "music stand", "oil lamp", "field glass", "wooden loom",
          "map case", "hand bell", "spirit level", "grindstone", "bicycle pump")  # fmt: skip
ROOMS = ("north", "south", "upper", "lower", "corner", "harbour")
MONTHS = ("January", "March", "April", "June", "August", "October", "November")


@dataclass(frozen=True)
class LongText:
    """A prompt of ``length`` tokens, meant for ``context`` tokens with its answer."""

    prompt: Prompt
    kind: str
    context: int
    length: int

    @property
    def sha256(self) -> str:
        """Of the prompt's text."""
        return sha256(self.prompt.text.encode()).hexdigest()

    def answered(self, most: int) -> LongText:
        """The same with an answer of at most ``most`` tokens."""
        prompt = replace(self.prompt, tokens=min(most, self.prompt.tokens or most))
        return replace(self, prompt=prompt)


def long_texts(
    count: Callable[[Prompt], int], most: int, contexts: Sequence[int]
) -> tuple[tuple[LongText, ...], tuple[str, ...]]:
    """The texts of every kind for every context, the shortest first, and what cannot be had.

    ``count`` gives the tokens of a prompt, ``most`` is where the model's context ends.
    """
    found, missing = [], []
    for context in contexts:
        if context > most:
            missing.append(f"The context ends at {most} tokens, before {context}.")
            continue
        for kind in KINDS:
            text = _fitted(kind, context, count)
            if text is None:
                missing.append(f"No text of the kind {kind} fills {context} tokens here.")
            else:
                found.append(text)
    return tuple(found), tuple(missing)


def _fitted(kind: str, context: int, count: Callable[[Prompt], int]) -> LongText | None:
    """As many pieces of this kind as fit, None where they would not nearly fill the context."""
    room = context - TOKENS
    make, pieces = MAKERS[kind]()
    fits, over = 0, pieces + 1
    length = 0
    while over - fits > 1:
        middle = (fits + over) // 2
        tokens = count(Prompt(make(middle)))
        if tokens <= room:
            fits, length = middle, tokens
        else:
            over = middle
    if length < FILLED * room:
        return None
    asked = Prompt(make(fits), kind, f"{kind}-{context}", TOKENS)
    return LongText(asked, kind, context, length)


Maker = tuple[Callable[[int], str], int]  # a prompt of so many pieces, and how many there are


@cache
def _lines(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(line for n in names for line in open_document(ROOT / n).text.splitlines())


def _last(lines: Sequence[str], question: str, pieces: int) -> str:
    text = "\n".join(lines[-pieces:])
    return document_prompt(text if text.strip() else question, question)


def _book() -> Maker:
    lines = _lines(BOOK)
    return partial(_last, lines, "Tell in detail what happens here, from beginning to end."), len(
        lines
    )


def _code() -> Maker:
    lines = _lines(CODE)
    question = "Explain the functions of this program one after another: what does each return?"
    return partial(_last, lines, question), len(lines)


def records(count: int) -> tuple[tuple[str, ...], int, str]:
    """``count`` made-up entries of a lending book, the number of the middle one, and the name that
    it alone is about; fewer entries are the last ones of more, but for the middle one."""
    rng = random.Random(SEED)
    names = [f"{first} {last}" for first in FIRST for last in LAST]
    rng.shuffle(names)
    asked, others = names[0], names[1:]
    needle = _record(asked, rng)
    found = [_record(name, rng) for name in others[: MOST_RECORDS - 1]]
    kept = found[len(found) - (count - 1) :]
    middle = len(kept) // 2
    return (*kept[:middle], needle, *kept[middle:]), middle, asked


def _record(name: str, rng: random.Random) -> str:
    return (
        f"{name} borrowed the {rng.choice(THINGS)} on {rng.randint(1, 28)} {rng.choice(MONTHS)}, "
        f"left {rng.randint(11, 98)} crowns with {rng.choice(FIRST)} and has to bring it back to "
        f"shelf {rng.randint(2, 60)} of the {rng.choice(ROOMS)} room; the receipt has the number "
        f"{rng.randint(1000, 9999)}."
    )


def _asked(pieces: int) -> str:
    entries, _, name = records(pieces)
    question = f"What did {name} borrow? Repeat the whole entry about {name}, word for word."
    return document_prompt("\n".join(entries), question)


def _records() -> Maker:
    return _asked, MOST_RECORDS


MAKERS: dict[str, Callable[[], Maker]] = {"book": _book, "code": _code, "records": _records}
