"""How much of held-out pictures ``smol-boards`` says right, and how much without seeing them.

``python -m specviz.training.vlm look``: one question for each picture, answered greedily. What has
to be in the answer is counted fact by fact: lines of boards, colour and kind of figures, the
tallest and the smallest bar. The same questions are asked with a blank picture, with its own tiles
shuffled, and with another one of the same kind: what is right then was guessed.

Words in free lettering, which nothing here was trained on, can be asked for as well.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

import specviz
from specviz.decoding import decode
from specviz.drafters import create
from specviz.models.base import Message, Model, Picture
from specviz.pixels import picture_of
from specviz.substitutes import blank, shuffled
from specviz.trace import Prefill, Step
from specviz.training.vlm_draw import draw
from specviz.training.vlm_freeform import QUESTION, Sign, sign
from specviz.training.vlm_scenes import Scene, scene

MOST = 128  # tokens of an answer
# What is asked about a picture of each kind: whose facts say how well it was seen.
ASKED = {
    "departures": "lines", "scores": "score", "letters": "lines", "codes": "lines",
    "chart": "tallest", "shapes": "shapes", "blank": "blank",
}  # fmt: skip
BARS = ("tallest", "smallest")
AIMS = {
    "board lines": ("departures", "scores", "letters", "codes"),
    "lines of departures": ("departures",), "lines of scores": ("scores",),
    "lines of words": ("letters",), "lines of codes": ("codes",),
    "shapes and colours": ("shapes",),
    "tallest and smallest": BARS, "tallest": BARS[:1], "smallest": BARS[1:],
}  # fmt: skip
SURE = 1.96  # of a normal distribution: 95 % lie within so many standard deviations


@dataclass(frozen=True)
class Share:
    """So many of so many, with the bounds between which the true share lies at 95 % (Wilson 1927),
    if each one counted were independent of the others; facts about one picture are not quite."""

    right: int
    asked: int

    @property
    def share(self) -> float:
        """0 where nothing was asked."""
        return self.right / self.asked if self.asked else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """From 0 to 1 where nothing was asked."""
        if not self.asked:
            return 0.0, 1.0
        more = SURE**2 / self.asked
        middle = self.share + more / 2
        give = math.sqrt(more * (self.share * (1 - self.share) + more / 4))
        return max(0.0, (middle - give) / (1 + more)), min(1.0, (middle + give) / (1 + more))

    def facts(self) -> dict[str, object]:
        """As it stands in a report."""
        low, high = self.interval
        return {
            "right": self.right, "asked": self.asked, "share": round(self.share, 4),
            "interval_95": [round(low, 4), round(high, 4)],
        }  # fmt: skip

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.right} of {self.asked} ({self.share:.1%}, {low:.1%} to {high:.1%})"


@dataclass(frozen=True)
class Tally:
    """Facts right and facts asked for, by kind of picture (of charts: tallest and smallest apart);
    answers right word for word and pictures, by kind of picture."""

    right: Counter[str]
    asked: Counter[str]
    exact: Counter[str]
    pictures: Counter[str]

    def share(self, kinds: Sequence[str]) -> Share:
        """Facts right among those asked for, of these kinds."""
        return Share(sum(self.right[k] for k in kinds), sum(self.asked[k] for k in kinds))


@dataclass(frozen=True)
class Look:
    """Tallies of the pictures as they are, blank, shuffled and mistaken; words read off free
    lettering, and said without seeing it."""

    tallies: dict[str, Tally]
    signs: dict[str, Share]


def look(
    model: Model,
    count: int,
    seed: int,
    say: Callable[[str], None],
    others: int | None = None,
    signs: int = 0,
) -> Look:
    """Ask about ``count`` held-out pictures as they are, and about the first ``others`` (None: all)
    blank, with their tiles shuffled, and mistaken for one another; then about ``signs``
    pictures of free lettering."""
    rng = random.Random(seed)
    made = [scene(rng, "held-out") for _ in range(count)]
    drawn = [given(draw(each, rng)) for each in made]
    # An empty picture is the same when it is blank, and says nothing of what was seen.
    first = [i for i in range(count if others is None else min(others, count))
             if made[i].kind != "blank"]  # fmt: skip
    swapped = _others(made)
    other = [i for i in first if swapped[i] != i]
    conditions: dict[str, tuple[Sequence[int], Callable[[int], Picture]]] = {
        "seen": (range(count), lambda i: drawn[i]),
        "blank": (first, lambda i: blank(drawn[i])),
        "shuffled": (first, lambda i: shuffled(drawn[i])),
        "mistaken": (other, lambda i: drawn[swapped[i]]),
    }
    found = {}
    for name, (chosen, shown) in conditions.items():
        found[name] = ask_all(model, [made[i] for i in chosen], [shown(i) for i in chosen])
        _say(name, found[name], say)
    return Look(found, read_signs(model, [sign(rng) for _ in range(signs)], say))


def read_signs(
    model: Model, made: Sequence[Sign], say: Callable[[str], None]
) -> dict[str, Share]:
    """How many words of signs in free lettering the answers have, and how many when the pictures
    are blank; nothing where there are no signs."""
    if not made:
        return {}
    drawn = [given(each.picture) for each in made]
    found = {}
    for name, pictures in (("seen", drawn), ("blank", [blank(each) for each in drawn])):
        right = sum(
            words_in(answer(model, QUESTION, picture), each.words)
            for each, picture in zip(made, pictures, strict=True)
        )
        found[name] = Share(right, sum(len(each.words) for each in made))
        say(f"{name}, {len(made)} signs in free lettering: words {found[name]}")
    return found


def words_in(said: str, words: Sequence[str]) -> int:
    """How many of ``words`` stand in an answer as whole words, in capitals or not."""
    there = set(re.findall(r"\w+", said.lower()))
    return sum(word.lower() in there for word in words)


def report(model: Model, found: Look, seed: int) -> str:
    """What was found as JSON, with what it was found of."""
    facts = {
        "specviz": specviz.__version__, "model": model.label, "digest": model.digest,
        "dtype": model.dtype, "machine": model.hardware, "seed": seed,
        "facts": {
            name: {aim: tally.share(kinds).facts() for aim, kinds in AIMS.items()}
            for name, tally in found.tallies.items()
        },
        "counts": {
            name: {part: dict(count) for part, count in vars(tally).items()}
            for name, tally in found.tallies.items()
        },
        "free_lettering": {name: share.facts() for name, share in found.signs.items()},
    }  # fmt: skip
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def write(path: Path, model: Model, found: Look, seed: int) -> None:
    """Keep the report of a look."""
    path.write_text(report(model, found, seed), encoding="utf-8")


def ask_all(model: Model, made: Sequence[Scene], pictures: Sequence[Picture]) -> Tally:
    """The tally of one question about each scene, with the picture given beside it."""
    tally = Tally(Counter(), Counter(), Counter(), Counter())
    for about, picture in zip(made, pictures, strict=True):
        asked = next(e for e in about.questions if e.kind == ASKED[about.kind])
        said = answer(model, asked.question, picture)
        # The two facts about a chart are the two aims, in this order.
        kinds = BARS if about.kind == "chart" else (about.kind,) * len(asked.facts)
        tally.asked.update(kinds)
        if about.kind == "chart":
            tally.right.update(
                bar for bar, fact in zip(BARS, asked.facts, strict=True) if facts_in(said, [fact])
            )
        else:
            tally.right[about.kind] += facts_in(said, asked.facts)
        tally.exact[about.kind] += said.strip() == asked.answer
        tally.pictures[about.kind] += 1
    return tally


def facts_in(said: str, facts: Sequence[str]) -> int:
    """How many of the facts stand in an answer as whole words; a fact that is due twice has to be
    there twice."""
    due = Counter(facts)
    return sum(
        min(times, len(re.findall(rf"(?<!\w){re.escape(fact)}(?!\w)", said)))
        for fact, times in due.items()
    )


def answer(model: Model, question: str, picture: Picture) -> str:
    """The greedy answer to a question about a picture."""
    inputs = model.encode([Message("user", question, (picture,))])
    tokens: list[int] = []
    with closing(decode(model, inputs, create("autoregressive"), MOST)) as events:
        for event in events:
            match event:
                case Prefill():
                    tokens.append(event.token)
                case Step():
                    tokens += event.emitted
    kept = [t for t in tokens if t not in model.eos_ids]
    return b"".join(map(model.token_bytes, kept)).decode("utf-8", "replace")


def given(picture: Image.Image) -> Picture:
    """A drawn picture as a person would hand it in."""
    return picture_of(picture, "picture.png")


def _others(made: Sequence[Scene]) -> list[int]:
    """For every scene the number of the next one of its kind; its own, where it is alone."""
    by_kind: dict[str, list[int]] = {}
    for i, each in enumerate(made):
        by_kind.setdefault(each.kind, []).append(i)
    following: dict[int, int] = {}
    for mine in by_kind.values():
        following.update(zip(mine, [*mine[1:], mine[0]], strict=True))
    return [following[i] for i in range(len(made))]


def _say(name: str, tally: Tally, say: Callable[[str], None]) -> None:
    say(f"{name}, {sum(tally.pictures.values())} pictures:")
    for aim, kinds in AIMS.items():
        say(f"  {aim}: {tally.share(kinds)}")
    for kind in sorted(tally.pictures):
        say(f"  {kind}: {tally.exact[kind]} of {tally.pictures[kind]} answers word for word")
