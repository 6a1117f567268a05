"""Prompt sets of the bench: read, sampled, halved, described."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specviz.inputs import open_document
from specviz.models.base import InputError, Picture

PROMPTS = Path(__file__).parent.parent.parent / "examples" / "prompts.jsonl"
DEFAULT_TOKENS = 96
GRAM = 4


@dataclass(frozen=True)
class Prompt:
    """One prompt of a suite; ``category`` is empty where the file names none, ``tokens`` is how
    many to emit at most (None: the file leaves it open). ``pictures`` go with it; ``answer``: what
    the right one says, empty where nobody knows."""

    text: str
    category: str = ""
    id: str = ""
    tokens: int | None = None
    pictures: tuple[Picture, ...] = ()
    answer: str = ""


def read_prompts(path: str | Path = PROMPTS) -> tuple[Prompt, ...]:
    """The prompts of a JSON Lines file, one object a line.

    Either our shape, ``{"prompt", "category", "id", "tokens"}`` with all but the first optional,
    or Spec-Bench's, ``{"question_id", "category", "turns"}``, of which the first turn is asked.
    """
    path = Path(path)
    if not path.name:  # such as "."
        raise InputError(f'"{path}" is a folder: choose a file with prompts.')
    document = open_document(path)
    prompts: list[Prompt] = []
    for number, line in enumerate(document.text.split("\n"), start=1):
        if not line.strip():
            continue
        prompt = _prompt(line, str(number))
        if prompt is None:
            raise InputError(
                f"Line {number} of {document.name} is not a JSON object with the key prompt or "
                "turns."
            )
        if any("\ud800" <= char <= "\udfff" for char in prompt.text + prompt.category + prompt.id):
            raise InputError(
                f"Line {number} of {document.name} holds half a character: write it anew."
            )
        prompts.append(prompt)
    if not prompts:
        raise InputError(f"{document.name} holds no prompts.")
    if len({p.id for p in prompts}) < len(prompts):
        prompts = [
            Prompt(p.text, p.category, f"{i}:{p.id}", p.tokens)
            for i, p in enumerate(prompts, start=1)
        ]
    return tuple(prompts)


def _prompt(line: str, number: str) -> Prompt | None:
    try:
        found = json.loads(line)
        text = found["turns"][0] if "turns" in found else found["prompt"]
        category = found.get("category", "")
        name = str(found.get("id", found.get("question_id", number)))
        tokens = found.get("tokens")
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        return None
    whole = tokens is None or (type(tokens) is int and tokens > 0)
    if not isinstance(text, str) or not isinstance(category, str) or not whole:
        return None
    return Prompt(text, category, name, tokens)


def by_category(prompts: Sequence[Prompt]) -> dict[str, list[Prompt]]:
    """The prompts of each category, both in the order of the file."""
    groups: dict[str, list[Prompt]] = {}
    for prompt in prompts:
        groups.setdefault(prompt.category, []).append(prompt)
    return groups


def first_of_each(prompts: Sequence[Prompt], count: int) -> tuple[Prompt, ...]:
    """The first ``count`` prompts of each category, in the order of the file."""
    chosen = {p.id for group in by_category(prompts).values() for p in group[:count]}
    return tuple(p for p in prompts if p.id in chosen)


def spread_over(prompts: Sequence[Prompt], count: int) -> tuple[Prompt, ...]:
    """``count`` prompts, taken in turn from each category."""
    groups = list(by_category(prompts).values())
    longest = max(map(len, groups))
    turns = [group[i] for i in range(longest) for group in groups if i < len(group)]
    return tuple(turns[:count])


def halves(prompts: Sequence[Prompt]) -> dict[str, int]:
    """For each prompt's id the half, 0 or 1, that it belongs to.

    The halves alternate inside every category; every other category begins with half 1, so that
    sets with one prompt a category are halved, too. Prompts about the same pictures stay together:
    what was learned from one would flatter the other.
    """
    found: dict[str, int] = {}
    for i, group in enumerate(by_category(prompts).values()):
        places: dict[object, int] = {}
        for prompt in group:
            place = places.setdefault(prompt.pictures or prompt.id, len(places))
            found[prompt.id] = (i + place) % 2
    return found


def shares(prompts: Sequence[Prompt]) -> dict[str, float]:
    """The share of each category."""
    return {
        name: round(len(group) / len(prompts), 4) for name, group in by_category(prompts).items()
    }


def repeated(prompt: Sequence[int], output: Sequence[int]) -> tuple[int, int]:
    """How many 4-grams of the output occurred earlier, and how many it has.

    A 4-gram of the output is four consecutive tokens of it; it occurred earlier when the same four
    begin at an earlier position of prompt + output (it may overlap with itself).
    """
    tokens = (*prompt, *output)
    seen: set[tuple[int, ...]] = set()
    hits = total = 0
    for start in range(len(tokens) - GRAM + 1):
        gram = tokens[start : start + GRAM]
        if start >= len(prompt):
            total += 1
            hits += gram in seen
        seen.add(gram)
    return hits, total


def repetition(prompts: Sequence[Prompt], counts: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """``repeated`` as a share, over all prompts and by category; ``counts`` by prompt id."""

    def share(group: Sequence[Prompt]) -> float | None:
        found = [counts[p.id] for p in group if p.id in counts]
        total = sum(t for _, t in found)
        return round(sum(h for h, _ in found) / total, 4) if total else None

    groups = by_category(prompts)
    return {"all": share(prompts), "by_category": {k: share(v) for k, v in groups.items()}}
