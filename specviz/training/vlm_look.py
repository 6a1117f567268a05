"""How much of held-out pictures ``smol-boards`` says right, and how much without seeing them.

``python -m specviz.training.vlm look``: one question for each picture, answered greedily. What has
to be in the answer is counted fact by fact: lines of boards, colour and kind of figures, the
tallest and the smallest bar. The same questions are asked with a blank picture, with its own tiles
shuffled, and with another one of the same kind: what is right then was guessed.
"""

from __future__ import annotations

import json
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
from specviz.training.vlm_scenes import Exchange, Scene, scene

MOST = 128  # tokens of an answer
# What is asked about a picture of each kind: whose facts say how well it was seen.
ASKED = {
    "departures": "lines", "scores": "score", "letters": "lines", "codes": "lines",
    "chart": "tallest", "shapes": "shapes", "blank": "blank",
}  # fmt: skip
AIMS = {
    "board lines": ("departures", "scores", "letters", "codes"),
    "shapes and colours": ("shapes",),
    "tallest and smallest": ("chart",),
}


@dataclass(frozen=True)
class Tally:
    """Facts right and facts asked for, by kind of picture; answers right word for word."""

    right: Counter[str]
    asked: Counter[str]
    exact: Counter[str]
    pictures: Counter[str]

    def share(self, kinds: Sequence[str]) -> float:
        """Facts right among those asked for about pictures of these kinds."""
        asked = sum(self.asked[k] for k in kinds)
        return sum(self.right[k] for k in kinds) / asked if asked else 0.0


def look(model: Model, count: int, seed: int, say: Callable[[str], None]) -> dict[str, Tally]:
    """Ask about ``count`` held-out pictures: as they are, blank, with their tiles shuffled, and
    mistaken for one another."""
    rng = random.Random(seed)
    made = [scene(rng, "held-out") for _ in range(count)]
    drawn = [given(draw(each, rng)) for each in made]
    found = {}
    for name, pictures in (
        ("seen", drawn),
        ("blank", [blank(each) for each in drawn]),
        ("shuffled", [shuffled(each) for each in drawn]),
        ("mistaken", _others(made, drawn)),
    ):
        found[name] = ask_all(model, made, pictures)
        _say(name, found[name], say)
    return found


def report(model: Model, found: dict[str, Tally], seed: int) -> str:
    """What was found as JSON, with what it was found of."""
    facts = {
        "specviz": specviz.__version__, "model": model.label, "digest": model.digest,
        "dtype": model.dtype, "machine": model.hardware, "seed": seed,
        "shares": {
            name: {aim: round(tally.share(kinds), 4) for aim, kinds in AIMS.items()}
            for name, tally in found.items()
        },
        "counts": {
            name: {part: dict(count) for part, count in vars(tally).items()}
            for name, tally in found.items()
        },
    }  # fmt: skip
    return json.dumps(facts, indent=1, sort_keys=True) + "\n"


def write(path: Path, model: Model, found: dict[str, Tally], seed: int) -> None:
    """Keep the report of a look."""
    path.write_text(report(model, found, seed), encoding="utf-8")


def ask_all(model: Model, made: Sequence[Scene], pictures: Sequence[Picture]) -> Tally:
    """The tally of one question about each scene, with the picture given beside it."""
    tally = Tally(Counter(), Counter(), Counter(), Counter())
    for about, picture in zip(made, pictures, strict=True):
        asked = next(e for e in about.questions if e.kind == ASKED[about.kind])
        said = answer(model, asked.question, picture)
        tally.right[about.kind] += facts_in(said, asked)
        tally.asked[about.kind] += len(asked.facts)
        tally.exact[about.kind] += said.strip() == asked.answer
        tally.pictures[about.kind] += 1
    return tally


def facts_in(said: str, asked: Exchange) -> int:
    """How many of the facts stand in an answer as whole words; a fact that is due twice has to be
    there twice."""
    due = Counter(asked.facts)
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


def _others(made: Sequence[Scene], drawn: Sequence[Picture]) -> list[Picture]:
    """For every scene the picture of the next one of its kind."""
    by_kind: dict[str, list[int]] = {}
    for i, each in enumerate(made):
        by_kind.setdefault(each.kind, []).append(i)
    following: dict[int, int] = {}
    for mine in by_kind.values():
        following.update(zip(mine, [*mine[1:], mine[0]], strict=True))
    return [drawn[following[i]] for i in range(len(made))]


def _say(name: str, tally: Tally, say: Callable[[str], None]) -> None:
    total = sum(tally.pictures.values())
    aims = ", ".join(f"{aim} {tally.share(kinds):.1%}" for aim, kinds in AIMS.items())
    say(f"{name}, {total} pictures: {aims}")
    for kind in sorted(tally.pictures):
        say(
            f"  {kind}: {tally.right[kind]} of {tally.asked[kind]} facts, "
            f"{tally.exact[kind]} of {tally.pictures[kind]} answers word for word"
        )
