"""Questions about pictures: held-out ones of the generator, and some that it does not draw."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256

from specviz.bench.prompts import Prompt
from specviz.bench.vlm_off import odd_pictures
from specviz.models.base import Picture
from specviz.pixels import picture_of
from specviz.training.vlm_draw import draw
from specviz.training.vlm_scenes import Scene, scene

SEED = 2026
NAME = f"held-out pictures of the generator, seed {SEED}, and pictures off its templates"
# Pictures of each kind, about as often as training draws them; 24 in all.
KINDS = {"departures": 6, "scores": 3, "letters": 4, "codes": 1, "chart": 5, "shapes": 5}
QUESTIONS = 2
TOKENS = 96
OFF = "off the template"  # the category of what the generator does not draw


def held_out() -> Iterator[tuple[str, Picture, Scene]]:
    """Different pictures that were kept from training, by name, kind after kind.

    What they say and are asked is the same everywhere; typefaces are those that the machine has.
    """
    known: set[str] = set()
    for kind, count in KINDS.items():
        made = 0
        for seed in itertools.count():
            if made == count:
                break
            found = scene(random.Random(f"{SEED} {kind} {seed}"), "held-out", kind)
            image = draw(found, random.Random(f"{SEED} {kind} {seed} drawn"))
            name = f"{kind}-{made + 1}"
            drawn = picture_of(image, f"{name}.png")
            if drawn.digest not in known:
                known.add(drawn.digest)
                made += 1
                yield name, drawn, found


@cache
def prompts() -> tuple[Prompt, ...]:
    """Two questions about each held-out picture, then one about each other picture."""
    found: list[Prompt] = []
    for name, seen, about in held_out():
        # Any two, in their order: nobody chose those that go well.
        rng = random.Random(f"{SEED} {name} asked")
        for i in sorted(rng.sample(range(len(about.questions)), QUESTIONS)):
            asked = about.questions[i]
            found.append(
                Prompt(asked.question, about.kind, f"{name}-{i + 1}", TOKENS, (seen,), asked.answer)
            )
    for odd in odd_pictures():
        seen = picture_of(odd.image, f"{odd.name}.png")
        found.append(Prompt(odd.question, OFF, f"off-{odd.name}", TOKENS, (seen,)))
    return tuple(found)


def sets(asked: Sequence[Prompt]) -> dict[str, tuple[Prompt, ...]]:
    """The prompts of both sets, by the name of the part in which they are measured."""
    return {
        "template": tuple(p for p in asked if p.category != OFF),
        "off": tuple(p for p in asked if p.category == OFF),
    }


def first_questions(asked: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """The first prompt about each picture."""
    found: dict[tuple[Picture, ...], Prompt] = {}
    for prompt in asked:
        found.setdefault(prompt.pictures, prompt)
    return tuple(found.values())


def digest(asked: Sequence[Prompt]) -> str:
    """SHA-256 of questions and pictures."""
    parts = ("\0".join((p.text, *(seen.digest for seen in p.pictures))) for p in asked)
    return sha256("\0".join(parts).encode()).hexdigest()
