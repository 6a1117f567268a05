"""How much of held-out pictures ``smol-boards`` says right, and how much without seeing them.

``python -m specviz.training.vlm look``: one question for each picture, answered greedily. What has
to be in the answer is counted fact by fact: lines of boards, colour and kind of figures, the
tallest and the smallest bar. The same questions are asked with a blank picture, and with another
one of the same kind: what is right then was guessed.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image

from specviz.models.base import Message, Model, Picture, finish
from specviz.models.session import chain
from specviz.training.vlm_draw import SIDE, draw
from specviz.training.vlm_scenes import Exchange, Scene, scene

MOST = 128  # tokens of an answer
GREY = (128, 128, 128)
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
    """Ask about ``count`` held-out pictures: as they are, blank, and mistaken for one another."""
    rng = random.Random(seed)
    made = [scene(rng, "held-out") for _ in range(count)]
    drawn = [draw(each, rng) for each in made]
    found = {}
    for name, pictures in (
        ("seen", drawn),
        ("blank", [Image.new("RGB", (SIDE, SIDE), GREY)] * count),
        ("mistaken", _others(made, drawn)),
    ):
        some = count if name == "seen" else max(1, count // 4)
        found[name] = ask_all(model, made[:some], pictures[:some])
        _say(name, found[name], say)
    return found


def ask_all(model: Model, made: Sequence[Scene], pictures: Sequence[Image.Image]) -> Tally:
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
    """How many of the facts stand in an answer; a fact that is due twice has to be there twice."""
    due = Counter(asked.facts)
    return sum(min(times, said.count(fact)) for fact, times in due.items())


def answer(model: Model, question: str, picture: Image.Image) -> str:
    """The greedy answer to a question about a picture."""
    file = io.BytesIO()
    picture.save(file, "PNG")
    given = Picture("picture.png", file.getvalue(), *picture.size)
    inputs = model.encode([Message("user", question, (given,))])
    session = model.open()
    try:
        token = finish(session.prefill(inputs)).picks[-1]
        tokens: list[int] = []
        while token not in model.eos_ids and len(tokens) < MOST:
            tokens.append(token)
            token = session.verify(chain([token])).picks[0]
            session.commit([0])
    finally:
        session.close()
    return b"".join(map(model.token_bytes, tokens)).decode("utf-8", "replace")


def _others(made: Sequence[Scene], drawn: Sequence[Image.Image]) -> list[Image.Image]:
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
