"""Can a drafter head have seen and offered what a trace says? Facts against facts, no model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from specviz.evidence import WindowEvidence
from specviz.trace import Header, Run, Step
from specviz.windows import MODES, Bounds, Sight

MOST = 2**31  # of a knob


def step(header: Header, made: Step, seen: WindowEvidence, there: int) -> Iterator[str]:
    """What cannot be of a step before which there were so many entries, one finding each."""
    yield from _sight(header, seen, there)
    yield from _offered(made, seen)


def cache(run: Run) -> Iterator[str]:
    """Whether an entry takes the same bytes in all steps of a run."""
    width = None
    for made in run.steps:
        if not isinstance(made.evidence, WindowEvidence):
            continue
        entries = sum(part.length for part in made.evidence.entries)
        size = made.evidence.bytes / max(1, entries)
        if size < 1 or size != (width or size) or size != int(size):
            yield f"step {made.index} tells another size of its cache than its entries take."
            return
        width = size


def _bounds(header: Header) -> Bounds | None:
    """The bounds that a run says it had, None where it says none that can be."""
    knobs = header.knobs
    mode, *numbers = (knobs.get(name) for name in ("mode", "sinks", "window", "depth"))
    if header.head is None or mode not in MODES:
        return None
    if any(type(n) is not int or not 0 <= n < MOST for n in numbers):
        return None
    sinks, window, depth = cast(list[int], numbers)
    head = header.head
    found = Bounds.of(mode, sinks, window, depth, head.trained, head.window)
    if knobs.get("trained", 0) not in (0, head.trained) or depth < 1:
        return None
    return found if found.window > 0 or not found.bounded else None


def _sight(header: Header, seen: WindowEvidence, there: int) -> Iterator[str]:
    """Whether a run's own bounds show a head these of its entries, at these positions."""
    bounds = _bounds(header)
    if bounds is None:
        yield "sees with a head whose bounds its run does not tell."
        return
    for what, told, own in (
        ("the mode", seen.mode, bounds.mode),
        ("a trained range of", seen.trained, bounds.trained),
    ):
        if told != own:
            yield f"sees in {what} {told}, its run has {own}."
            return
    if seen.truncated != (header.knobs.get("features") == "truncated"):
        yield "drafts from the states of another target than its run says."
    expected = bounds.sight(there)
    if not _alike(seen, expected):
        yield f"sees other entries than {bounds.mode} keeps of {there}, or at other positions."
        return
    if seen.levels > bounds.depth:
        yield f"looks {seen.levels} levels deep, its run allows {bounds.depth}."
    distance = expected.distance(max(0, seen.levels - 1))
    if abs(distance - seen.distance) > 0.01:
        yield f"tells a distance of {seen.distance:g}, its positions make {distance:g}."


def _alike(seen: WindowEvidence, expected: Sight) -> bool:
    """Whether both show the same; positions are written with four decimals, steps with six."""
    if [p[:2] for p in seen.entries] != [s[:2] for s in expected.stretches]:
        return False
    far = 1e-6 * max(part.length for part in seen.entries) + 0.001
    places = [(seen.tip, expected.tip)]
    places += [(p.at, s.at) for p, s in zip(seen.entries, expected.stretches, strict=True)]
    steps = [(seen.spacing, expected.step)]
    steps += [(p.step, s.step) for p, s in zip(seen.entries, expected.stretches, strict=True)]
    return all(abs(a - b) <= far for a, b in places) and all(abs(a - b) <= 1e-6 for a, b in steps)


def _offered(made: Step, seen: WindowEvidence) -> Iterator[str]:
    """Whether a head offered what it drafted, and scored branches by their probabilities."""
    became: dict[int, tuple[int, int, float]] = {}
    for part in seen.expansions:
        for offer in part.offers:
            if not 0 <= offer.probability <= 1.001:
                yield "gives a token a probability that is none."
                return
            kept = offer.node > 0
            if kept != (offer.cut == "") or offer.node == 0 or offer.node in became:
                yield "does not tell what became of an offer."
                return
            if offer.node > 0:
                became[offer.node] = part.node, offer.token, offer.probability
    for number, node in enumerate(made.nodes[1:], start=1):
        parent, token, share = became.pop(number, (-1, -1, 0.0))
        if (parent, token) != (node.parent, node.token):
            yield f"drafts node {number}, which its head did not offer."
            return
        above = made.nodes[node.parent].score if node.parent else 1.0
        # Four factors at most a few decimals off each.
        if node.score is None or above is None or abs(node.score - above * share) > 0.001:
            yield f"scores node {number} otherwise than its branch is probable."
            return
    if became:
        yield "names a guess that it does not have among its offers."
