"""What can be changed about a recorded run by name: the questions people ask, as knob settings.

Adding one: an entry here, and in the catalogue the question ``whatif.<name>`` and the noun phrase
``whatif.<name>.with`` that a sentence beginning with "With" needs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

from specviz.drafters import DRAFTERS, knobs_of
from specviz.drafters.base import KnobValue
from specviz.evidence import WindowEvidence
from specviz.trace import Run
from specviz.windows import BOUNDED, Bounds, widest

Knobs = dict[str, KnobValue]
Setting = Callable[[Knobs, Run], Knobs]
Fits = Callable[[Knobs], bool]


@dataclass(frozen=True)
class Change:
    """``make(knobs, run)`` gives the knobs to set for a run that had ``knobs``; they would have no
    effect beside knobs that it does not ``fit``."""

    name: str
    make: Setting
    fits: Fits = lambda knobs: True

    def settings(self, knobs: Knobs, run: Run) -> Knobs:
        """The knobs that this change would set to another value; none where it changes nothing."""
        if not self.fits(knobs):
            return {}
        return {k: v for k, v in self.make(knobs, run).items() if knobs.get(k) != v}

    def undone(self, set_since: Knobs, knobs: Knobs, run: Run) -> bool:
        """Whether knobs that were ``set_since``, which made them ``knobs``, leave nothing of this
        change: it would set one of them to another value, or has no effect any more."""
        return not self.fits(knobs) or bool(self.settings(knobs, run).keys() & set_since.keys())


def largest(run: Run) -> int:
    """The most guesses that one step of ``run`` verified."""
    return max((len(step.nodes) - 1 for step in run.steps), default=0)


def _set(**settings: KnobValue) -> Setting:
    return lambda knobs, run: settings


def _without(level: int) -> Setting:
    def make(knobs: Knobs, run: Run) -> Knobs:
        rest = str(knobs["levels"]).replace(str(level), "")
        return {"levels": rest} if rest else {}

    return make


def _scaled(decoder: str, knob: str, factor: float) -> Setting:
    """``knob`` times ``factor``, within its limits."""

    def make(knobs: Knobs, run: Run) -> Knobs:
        return {knob: _within(decoder, knob, factor * float(knobs[knob]))}

    return make


def _iterations(decoder: str, knob: str, factor: float) -> Setting:
    """``knob``, a number of iterations, times ``factor``, as far as the model goes."""

    def make(knobs: Knobs, run: Run) -> Knobs:
        deepest = run.header.depth or 1
        return {knob: min(_within(decoder, knob, factor * float(knobs[knob])), deepest)}

    return make


def _block(factor: float) -> Setting:
    """The wave's largest block times ``factor``, its first one no larger than that."""

    def make(knobs: Knobs, run: Run) -> Knobs:
        block = _within("das_wave", "block", factor * float(knobs["block"]))
        return {"block": block, "first": min(block, int(knobs["first"])), "auto": False}

    return make


def _rounds(factor: float) -> Setting:
    """So many times the rounds, the same in every step."""

    def make(knobs: Knobs, run: Run) -> Knobs:
        rounds = _within("das_wave", "rounds", factor * float(knobs["rounds"]))
        return {"rounds": rounds, "auto": False}

    return make


def _tree(decoder: str, factor: float) -> Setting:
    """A fixed number of guesses, ``factor`` times the largest tree of the run."""

    def make(knobs: Knobs, run: Run) -> Knobs:
        size, most = _within(decoder, "nodes", factor * largest(run)), largest(run)
        if size <= most if factor > 1 else size >= most:
            return {}
        return {"nodes": max(1, size)}

    return make


def _grows(knobs: Knobs) -> bool:
    """A tree of a fixed shape has a fixed size."""
    return knobs.get("tree") != "static"


def _windowed(knobs: Knobs) -> bool:
    """A head that sees everything has neither sinks nor a window."""
    return knobs["mode"] in BOUNDED


def _half_window(knobs: Knobs, run: Run) -> Knobs:
    """Half as many last entries as the head saw at most."""
    seen = [e.entries[-1].length for e in (s.evidence for s in run.steps) if _bounded(e)]
    return {"window": max(1, max(seen) // 2)} if seen else {}


def _same_window(setting: Setting) -> Setting:
    """``setting`` with the window of the run, as far as the head's range still has room for it;
    nothing where it has room for none."""

    def make(knobs: Knobs, run: Run) -> Knobs:
        changed, head = setting(knobs, run), run.header.head
        if head is None or all(knobs[name] == value for name, value in changed.items()):
            return {}

        def window(knobs: Knobs) -> int:
            sinks, last, depth = (int(knobs[name]) for name in ("sinks", "window", "depth"))
            return Bounds.of("slot", sinks, last, depth, head.trained, head.window).window

        after = {**knobs, **changed}
        most = widest(int(after["sinks"]), int(after["depth"]), head.trained)
        wanted = min(window(knobs), most)
        if wanted < 1:
            return {}
        return changed if window(after) == wanted else {**changed, "window": wanted}

    return make


def _bounded(evidence: object) -> TypeGuard[WindowEvidence]:
    return isinstance(evidence, WindowEvidence) and evidence.mode in BOUNDED


def _within(decoder: str, knob: str, value: float) -> int:
    found: Any = next(k for k in knobs_of(DRAFTERS[decoder]) if k.name == knob)
    return int(min(max(value, found.low), found.high))


# Whether the prefix's keys and values are read as deep as the draft is, or where they are final.
PREFIX = (
    Change("coupled", _set(keys=0, values=0)),
    Change("mature-v", _set(keys=0, values=-1)),
    Change("deep-keys", _set(keys=-1, values=0)),
    Change("deep-prefix", _set(keys=-1, values=-1)),
)

CHANGES: dict[str, tuple[Change, ...]] = {
    "recap": (
        *(Change(f"no-level{n}", _without(n)) for n in (3, 2, 1)),
        *(Change(f"only-level{n}", _set(levels=str(n))) for n in (3, 2, 1)),
        Change("no-entropy", _set(gamma=0.0)),
        Change("full-entropy", _set(entropy="full")),
        Change("longest-wins", _set(longest_wins=True)),
        Change("rank-weights", _set(base="rank")),
        Change("no-copy", _set(copy="off")),
        Change("reserved-copy", _set(copy="reserve")),
        Change("no-prompt", _set(seed="none")),
        Change("prompt-everywhere", _set(seed="all")),
        Change("accepted-only", _set(rejected=False)),
        Change("larger-tree", _tree("recap", 2)),
        Change("smaller-tree", _tree("recap", 0.5)),
        Change("deeper", _set(depth=16)),
        Change("shallower", _scaled("recap", "depth", 0.5)),
        Change("wider", _set(width=8)),
        Change("narrower", _set(width=2)),
        Change("no-score-limit", _set(least_score=0.0)),
        Change("no-discount", _set(calibration="none")),
        Change("learned-discount", _set(calibration="learned")),
        Change("depth-discount", _set(calibration="depth")),
        Change("no-lesson", _set(lesson=0.0)),
        Change("free-repeats", _set(repeats=0)),
    ),
    "token_recycling": (
        Change("best-first", _set(tree="best_first")),
        Change("fixed-shape", _set(tree="static")),
        Change("larger-tree", _tree("token_recycling", 2), _grows),
        Change("smaller-tree", _tree("token_recycling", 0.5), _grows),
        Change("no-lesson", _set(lesson=0.0)),
        Change("accepted-only", _set(rejected=False)),
    ),
    "prompt_lookup": (
        Change("longer-copies", _scaled("prompt_lookup", "tokens", 2)),
        Change("shorter-copies", _scaled("prompt_lookup", "tokens", 0.5)),
        Change("longer-matches", _scaled("prompt_lookup", "ngram", 2)),
        Change("sure-matches", _set(shortest=2)),
        Change("latest-match", _set(occurrence="latest")),
    ),
    "das_wave": (
        *PREFIX,
        Change("no-carry", _set(carry=False)),
        Change("coupled-no-carry", _set(keys=0, values=0, carry=False)),
        Change("no-freeze", _set(freeze=0)),
        Change("larger-block", _block(2)),
        Change("smaller-block", _block(0.5)),
        Change("more-rounds", _rounds(2)),
        Change("fewer-rounds", _rounds(0.5)),
        Change("more-iterations", _iterations("das_wave", "inner", 2)),
        Change("auto-wave", _set(auto=True)),
    ),
    "das": (
        *PREFIX,
        Change("deeper-draft", _iterations("das", "draft", 2)),
        Change("shallower-draft", _iterations("das", "draft", 0.5)),
        Change("more-guesses", _scaled("das", "tokens", 2)),
        Change("fewer-guesses", _scaled("das", "tokens", 0.5)),
        Change("sure-guesses", _set(confidence=0.5)),
    ),
    "window": (
        Change("see-all", _set(mode="full", features="full")),
        Change("see-all-pressed", _set(mode="reindex_only", features="full")),
        Change("true-positions", _same_window(_set(mode="window_abs"))),
        Change("told-positions", _same_window(_set(mode="slot"))),
        Change("no-sinks", _same_window(_set(sinks=0)), _windowed),
        Change("half-window", _half_window, _windowed),
        Change("truncated-features", _set(features="truncated"), _windowed),
        Change("deeper", _same_window(_scaled("window", "depth", 2))),
        Change("shallower", _same_window(_scaled("window", "depth", 0.5))),
    ),
}
