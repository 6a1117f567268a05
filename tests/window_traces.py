"""Runs of a drafter head made by hand: all modes, short and long texts, numbers to be counted.

``small_window`` is written out step by step. ``window_trace`` makes a run of any length by a seed:
its head guesses well where every distance is within its range and badly beyond it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from specviz.evidence import Entries, Expansion, Offer, Unkept, WindowEvidence
from specviz.trace import (
    Check,
    Costs,
    Finish,
    Header,
    Node,
    Prefill,
    Role,
    Seconds,
    Step,
    StoredEvent,
    Trace,
    Turn,
    UsedHead,
    with_pieces,
)
from specviz.windows import MODES, Bounds, Mode

WORDS = (
    "<end>", "<user>", "<answer>", "\n\n", ".", ",", " the", " keeper", " of", " light", " house",
    " sea", " and", " a", " lamp", " was", " night", " every", " he", " wrote", " in", " his",
    " book", " ship", " storm", " came", " from", " north", " old", " stone", " stairs", " up",
    " went", " down", " oil", " glass", " wind", " no", " one", " had", " seen", " since",
    " winter", " Who", " kept", " it", "?", " The", " name", " Ines", " Marrow", " to", " said",
    " that", "'s", " bell", " rang", " twice",
)  # fmt: skip
ID = {word: i for i, word in enumerate(WORDS)}
END, USER, ANSWER, BREAK, STOP, QUESTION = 0, 1, 2, 3, 4, ID["?"]
COMMON = tuple(range(6, 43))
ASKED = (" Who", " kept", " the", " light", "?")
HEAD = UsedHead(label="tiny-head", digest="1" * 16, trained=256, vocabulary=8000, size=9_600_000)
Share = tuple[int, float]  # a token and its probability
WIDTH = 2 * 3 * 64 * 4  # bytes of one entry: keys and values, 3 heads of 64 float32 numbers


def document(tokens: int, seed: int = 1) -> list[int]:
    """A text of so many tokens: sentences, and blank lines between paragraphs."""
    draw = random.Random(seed)
    found: list[int] = []
    while len(found) < tokens:
        for _ in range(draw.randint(3, 6)):
            found += [ID[" The"], *draw.choices(COMMON, k=draw.randint(6, 16)), STOP]
        found.append(BREAK)
    return [*found[: tokens - 1], STOP]


def prompt(tokens: int) -> tuple[list[int], str]:
    """The encoded prompt of exactly so many tokens, and the text that a person gave."""
    asked = [ID[word] for word in ASKED]
    body = document(tokens - len(asked) - 4)
    encoded = [USER, *body, BREAK, *asked, END, ANSWER]
    return encoded, text(body) + "\n\n" + text(asked).strip()


def text(tokens: Sequence[int]) -> str:
    return "".join(WORDS[t] for t in tokens).strip()


def sight(bounds: Bounds, entries: int, levels: int) -> dict[str, object]:
    """What a step sees of so many entries: the fields of its evidence."""
    seen = bounds.sight(entries)
    return {
        "mode": bounds.mode,
        "trained": bounds.trained,
        "entries": tuple(
            Entries(s.first, s.length, round(s.at, 4), round(s.step, 6)) for s in seen.stretches
        ),
        "tip": round(seen.tip, 4),
        "spacing": round(seen.step, 6),
        "distance": round(seen.distance(levels - 1), 4),
        "bytes": WIDTH * seen.entries,
        "levels": levels,
    }


@dataclass
class Draft:
    """A tree under construction: nodes (token, parent, score, order) and what was offered."""

    nodes: list[tuple[int, int, float | None, int]]
    expansions: list[Expansion] = field(default_factory=list)
    considered: int = 0

    def path(self, node: int) -> list[int]:
        """The tokens of the branch that ends at ``node``, the root left out."""
        found: list[int] = []
        while node > 0:
            found.insert(0, self.nodes[node][0])
            node = self.nodes[node][1]
        return found


def head_draft(
    draw: random.Random, root: int, truth: Sequence[int], quality: float, depth: int, size: int
) -> Draft:
    """Best-first out of four offers a node, as the head would: right with about ``quality``."""
    offers: dict[tuple[int, ...], tuple[Share, ...]] = {}
    grown: list[tuple[float, tuple[int, ...]]] = []
    front: list[tuple[int, ...]] = [()]
    scores: dict[tuple[int, ...], float] = {(): 1.0}
    for level in range(depth):
        made = []
        for path in front:
            right = list(path) == list(truth[:level]) and level < len(truth)
            offers[path] = _offers(draw, truth[level] if right else None, quality)
            for token, p in offers[path]:
                scores[(*path, token)] = scores[path] * p
                made.append((*path, token))
        grown += [(scores[path], path) for path in made]
        front = sorted(made, key=lambda path: -scores[path])[:4]
        front = [path for path in front if scores[path] >= 0.05]
    order = sorted(range(len(grown)), key=lambda i: -grown[i][0])[:size]
    number: dict[tuple[int, ...], int] = {(): 0}
    draft = Draft([(root, -1, None, 0)], considered=len(grown))
    for i in order:
        score, path = grown[i]
        number[path] = len(draft.nodes)
        draft.nodes.append((path[-1], number[path[:-1]], round(score, 6), i + 1))
    draft.expansions = expansions(offers, number)
    return draft


def expansions(
    offers: Mapping[tuple[int, ...], Sequence[Share]],
    number: Mapping[tuple[int, ...], int],
    cut: Unkept = "budget",
) -> list[Expansion]:
    """What was offered behind every branch that has a node ``number``; the rest was ``cut``."""
    return [
        Expansion(
            node=number[path],
            offers=tuple(
                Offer(token, p, number.get((*path, token), -1),
                      "" if (*path, token) in number else cut)
                for token, p in found
            ),
        )
        for path, found in offers.items()
        if path in number
    ]  # fmt: skip


def _offers(draw: random.Random, right: int | None, quality: float) -> tuple[Share, ...]:
    sure = round(0.35 + 0.6 * quality * draw.random(), 4)
    shares = [sure, *(round((1 - sure) * s, 4) for s in (0.4, 0.2, 0.1))]
    tokens = draw.sample(COMMON, 5)
    if right is not None:
        tokens = [t for t in tokens if t != right]
        lot = draw.random()
        if lot < quality:
            tokens.insert(0, right)
        elif lot < quality + 0.15:
            tokens.insert(draw.randint(1, 3), right)
    return tuple(zip(tokens, shares, strict=False))


def step_of(
    index: int, draft: Draft, truth: Sequence[int], fields: dict[str, object], seconds: Seconds
) -> Step:
    """The draft verified against ``truth``, the tokens that really follow."""

    def pick(node: int) -> int:
        path = draft.path(node)
        if path == list(truth[: len(path)]) and len(path) < len(truth):
            return truth[len(path)]
        return ID[" that"]

    walk: list[int] = []
    while True:
        at = walk[-1] if walk else 0
        below = [i for i, n in enumerate(draft.nodes) if n[1] == at and n[0] == pick(at)]
        if not below:
            break
        walk.append(below[0])
    tokens = [draft.nodes[n][0] for n in walk] + [pick(walk[-1] if walk else 0)]
    return Step(
        index=index,
        nodes=tuple(
            Node(
                token=token, parent=parent, source="head" if i else "root", order=order,
                score=score, logp=None if not i else -0.2 if i in walk else -2.5, pick=pick(i),
                margin=1.5, top=((pick(i), -0.25), (ID[" and"], -2.0)), tail=0.05,
            )
            for i, (token, parent, score, order) in enumerate(draft.nodes)
        ),
        walk=tuple(walk), emitted=tuple(tokens[: len(truth)]), seconds=seconds, cache_length=0,
        evidence=WindowEvidence.model_validate(
            {"kind": "window", "truncated": False, "considered": draft.considered,
             "expansions": tuple(draft.expansions), **fields}
        ),
    )  # fmt: skip


def header(
    role: Role, encoded: Sequence[int], asked: str, limit: int, knobs: dict[str, int | str],
    head: UsedHead,
) -> Header:  # fmt: skip
    mine = role == "decoder"
    return Header(
        role=role, run="window", decoder="window" if mine else "autoregressive",
        knobs={**knobs} if mine else {}, model="smollm2-135m", digest="0" * 16, device="cpu",
        dtype="float32", machine="none", versions={"specviz": "0"}, vocab_size=len(WORDS),
        eos_ids=(), messages=(Turn(role="user", text=asked),), tokens=tuple(encoded),
        max_new_tokens=limit, head=head if mine else None,
        document=(1, len(encoded) - len(ASKED) - 3),
        costs=Costs(context=len(encoded), rows=(1, 4, 8, 16), seconds=(0.02, 0.021, 0.024, 0.03)),
    )  # fmt: skip


def whole(
    encoded: Sequence[int], asked: str, steps: Sequence[Step], *,
    knobs: dict[str, int | str], head: UsedHead = HEAD, plain: float = 0.02,
) -> Trace:  # fmt: skip
    """The steps with their baseline, ``plain`` seconds a pass, and an equal check."""
    output = [steps[0].nodes[0].token, *(t for s in steps for t in s.emitted)]
    alone = [
        Step(
            role="baseline", index=i, emitted=(token,), walk=(), cache_length=0,
            nodes=(
                Node(token=output[i], parent=-1, source="root", order=0, score=None, logp=None,
                     pick=token, margin=1.5, top=((token, -0.3),), tail=0.05),
            ),
            seconds=Seconds(draft=0.0, verify=plain, commit=0.0005, total=plain + 0.001),
        )
        for i, token in enumerate(output[1:])
    ]  # fmt: skip
    events: list[StoredEvent] = []
    for role, made in (("decoder", steps), ("baseline", alone)):
        assert role == "decoder" or role == "baseline"
        events.append(header(role, encoded, asked, len(output), knobs, head))
        events.append(
            Prefill(role=role, seconds=0.05, token=output[0], margin=2.0, top=((output[0], -0.1),))
        )
        length = len(encoded)
        for step in made:
            length += len(step.emitted)
            events.append(step.model_copy(update={"cache_length": length}))
        spent = 0.05 + sum(s.seconds.total for s in made)
        events.append(Finish(role=role, reason="length", tokens=len(output), seconds=spent))
    events.append(Check(equal=True))
    seen: set[int] = set()
    pieces = [word.encode() for word in WORDS]
    return Trace(
        tuple(
            with_pieces(e, seen, pieces.__getitem__, frozenset({END, USER, ANSWER})) for e in events
        )
    )


def window_trace(
    mode: Mode = "slot", tokens: int = 7000, steps: int = 12, *, sinks: int = 4,
    window: int = 0, depth: int = 4, truncated: bool = False, seed: int = 3,
) -> Trace:  # fmt: skip
    """A run behind a prompt of so many tokens; without ``window`` as wide as the range allows."""
    draw = random.Random(seed)
    bounds = Bounds.of(mode, sinks, window, depth, HEAD.trained)
    encoded, asked = prompt(tokens)
    answer = document(steps * (depth + 1) + depth, seed + 1)
    made: list[Step] = []
    at = 0
    for index in range(steps):
        entries = len(encoded) + at
        beyond = bounds.sight(entries).distance(depth - 1) >= HEAD.trained
        quality = (
            0.25 if beyond and mode != "reindex_only" else 0.35 if beyond or truncated else 0.7
        )
        if mode == "reindex_only" and entries > HEAD.trained:
            quality = 0.3
        draft = head_draft(draw, answer[at], answer[at + 1 :], quality, depth, 12)
        fields = {**sight(bounds, entries, depth), "truncated": truncated}
        spent = 0.0022 + 4e-7 * bounds.sight(entries).entries + draw.random() * 2e-4
        verify = 0.021 + 1e-6 * entries
        seconds = Seconds(
            draft=round(spent, 6), verify=round(verify, 6), commit=0.0004,
            total=round(spent + verify + 0.0008, 6),
        )  # fmt: skip
        made.append(step_of(index, draft, answer[at + 1 :], fields, seconds))
        at += len(made[-1].emitted)
    knobs: dict[str, int | str] = {
        "mode": mode, "sinks": sinks, "window": window, "depth": depth, "top_k": 4, "size": 12,
        "features": "truncated" if truncated else "full",
    }  # fmt: skip
    return whole(encoded, asked, made, knobs=knobs, plain=round(0.02 + 1e-6 * tokens, 6))


def every_mode(tokens: int, steps: int = 8) -> dict[str, Trace]:
    """One run per mode behind the same prompt, one without sinks, one with truncated features."""
    found = {mode: window_trace(mode, tokens, steps) for mode in MODES}
    found["pure"] = window_trace("slot", tokens, steps, sinks=0)
    found["truncated"] = window_trace("slot", tokens, steps, truncated=True)
    return found


Plan = tuple[dict[tuple[str, ...], tuple[str, ...]], tuple[tuple[str, ...], ...]]
SMALL_ANSWER = (" the", " keeper", " wrote", " every", " night", ".", " said", " no")
SMALL = Bounds("slot", sinks=2, window=6, depth=3, trained=12)
SMALL_HEAD = HEAD.model_copy(update={"trained": 12, "vocabulary": 40, "size": 1234})


def small_window(bounds: Bounds = SMALL, cut: Unkept = "budget") -> Trace:
    """Three steps behind 16 tokens, out of ``the keeper wrote every night . the end``.

    1: `` keeper`` and `` wrote`` right, then `` in`` drafted where `` every`` was wanted, which the
    head had offered third. 2: `` night`` right, and the draft ends. 3: nothing right, and `` said``
    was not offered. What was not drafted was ``cut``.
    """
    return _planned(SMALL_ANSWER, bounds, cut, (
        ({(): (" keeper|0.8", " house|0.1"), (" keeper",): (" wrote|0.5", " said|0.3"),
          (" keeper", " wrote"): (" in|0.6", " no|0.2", " every|0.1")},
         ((" keeper",), (" keeper", " wrote"), (" keeper", " said"), (" keeper", " wrote", " in"))),
        ({(): (" night|0.9", " storm|0.05")}, ((" night",),)),
        ({(): (" he|0.4", " the|0.3")}, ((" he",), (" the",))),
    ))  # fmt: skip


def unpaid_window(cut: Unkept = "cost") -> Trace:
    """Two steps without a guess: in the first all offers were ``cut``, the last has no room."""
    first = {(): (" keeper|0.3", " house|0.1")}
    trace = _planned(SMALL_ANSWER[:3], SMALL, cut, ((first, ()), (first, ())))
    last = max(i for i, e in enumerate(trace.events) if e.type == "step" and e.role == "decoder")
    bare = trace.events[last].model_copy(update={"evidence": None})
    return Trace((*trace.events[:last], bare, *trace.events[last + 1 :]))


def _planned(words: Sequence[str], bounds: Bounds, cut: Unkept, plans: Sequence[Plan]) -> Trace:
    """One step per plan behind 16 tokens: what was offered, and which branches were drafted."""
    answer = [ID[word] for word in words]
    encoded, asked = prompt(16)
    made = []
    at = 0
    for index, (offered, kept) in enumerate(plans):
        draft = _written(answer[at], offered, kept, cut)
        fields = {**sight(bounds, len(encoded) + at, max(map(len, offered)) + 1)}
        seconds = Seconds(draft=0.004 + 0.001 * index, verify=0.02, commit=0.001, total=0.03)
        made.append(step_of(index, draft, answer[at + 1 :], fields, seconds))
        at += len(made[-1].emitted)
    knobs: dict[str, int | str] = {
        "mode": bounds.mode,
        "sinks": bounds.sinks,
        "window": bounds.window,
        "depth": 3,
        "size": 4,
    }
    return whole(encoded, asked, made, knobs=knobs, head=SMALL_HEAD)


def _written(
    root: int,
    offered: dict[tuple[str, ...], tuple[str, ...]],
    kept: Sequence[tuple[str, ...]],
    cut: Unkept,
) -> Draft:
    """A draft from offers written as ``token|probability`` behind every path that looked."""
    offers = {
        tuple(ID[w] for w in path): [
            (ID[word], float(p)) for word, p in (offer.split("|") for offer in all_)
        ]
        for path, all_ in offered.items()
    }
    shares = {(*path, token): p for path, found in offers.items() for token, p in found}
    number: dict[tuple[int, ...], int] = {(): 0}
    draft = Draft([(root, -1, None, 0)], considered=len(shares))
    for path in (tuple(ID[w] for w in words) for words in kept):
        number[path] = len(draft.nodes)
        score = prod(shares[path[: n + 1]] for n in range(len(path)))
        draft.nodes.append((path[-1], number[path[:-1]], round(score, 6), len(draft.nodes)))
    draft.expansions = expansions(offers, number, cut)
    return draft
