"""What a drafter head saw, in words: lines for a terminal, rows for the run card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specviz import sights
from specviz.catalog import number, text
from specviz.evidence import Entries, WindowEvidence
from specviz.sights import Seen
from specviz.trace import Run, Step
from specviz.views.tokens import show


def step_lines(run: Run, step: Step, pieces: Mapping[int, bytes]) -> Iterator[str]:
    """What the head saw in one step and what it offered, one fact a line."""
    seen = next((s for s in sights.looks(run) if s.step is step), None)
    if seen is None:
        return
    yield sentence(seen)
    yield reach(seen.evidence)
    for part in seen.evidence.expansions:
        offers = " ".join(
            f"{'+' if o.node > 0 else '·'}{show(pieces.get(o.token))} {o.probability:.2f}"
            for o in part.offers
        )
        after = show(pieces.get(step.nodes[part.node].token))
        yield text("view.sight.offers", after=after, offers=offers)


def sentence(seen: Seen, lang: str = "en") -> str:
    """How many entries were seen, which, told at which positions, and what they take."""
    evidence = seen.evidence
    return text(
        "view.sight.seen",
        lang,
        mode=evidence.mode,
        seen=sights.kept(evidence),
        all=seen.entries,
        where=", ".join(_stretch(part, lang) for part in evidence.entries),
        kb=number(evidence.bytes / 1000, lang=lang),
    )


def _stretch(part: Entries, lang: str) -> str:
    last = part.at + (part.length - 1) * part.step
    return text(
        "view.sight.stretch", lang, first=part.first, last=part.first + part.length - 1,
        at=f"{part.at:g}", to=f"{last:g}",
    )  # fmt: skip


def reach(evidence: WindowEvidence, lang: str = "en") -> str:
    """How far the guesses looked, and whether the head had learned that."""
    key = "view.sight.beyond" if sights.beyond(evidence) else "view.sight.within"
    said = text(key, lang, distance=f"{evidence.distance:g}", trained=evidence.trained)
    return f"{said} {text('view.sight.truncated', lang)}" if evidence.truncated else said


def wanted(step: Step, place: int) -> dict[str, Any]:
    """What the head knew behind node ``place`` of the token that the model picked there: the fields
    ``known``, ``rank``, ``wanted_share`` and ``cut`` of a refusal; empty where it did not look."""
    if sights.offers(step, place) is None:
        return {}
    found = sights.rank(step, place, step.nodes[place].pick)
    if found is None:
        return {"known": False}
    return {"known": True, "rank": found.rank, "wanted_share": found.probability,
            "cut": found.cut}  # fmt: skip


def given(step: Step, place: int, guess: int) -> dict[str, Any]:
    """What the head said for the token ``guess`` there, and how far its guesses looked: the fields
    ``share``, ``distance`` and ``trained`` of a refusal."""
    if not isinstance(step.evidence, WindowEvidence):
        return {}
    found = sights.rank(step, place, guess)
    return {
        "share": None if found is None else found.probability,
        "distance": step.evidence.distance,
        "trained": step.evidence.trained,
    }


def facts(run: Run, lang: str = "en") -> list[tuple[str, str]]:
    """Rows for the run card: the head, what it saw at the end, how far its guesses looked."""
    head, seen = run.header.head, list(sights.looks(run))
    rows = []
    if head is not None:
        rows.append(
            (
                "head",
                text(
                    "view.card.head.value", lang, label=head.label,
                    size=number(head.size, lang=lang), trained=head.trained,
                    vocabulary=number(head.vocabulary, lang=lang), digest=head.digest,
                ),
            )
        )  # fmt: skip
    if seen:
        rows.append(("sight", sentence(seen[-1], lang)))
        farthest = max((s.evidence for s in seen), key=lambda e: e.distance)
        rows.append(("reach", reach(farthest, lang)))
    return rows
