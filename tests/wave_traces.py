"""Waves made by hand: guesses that appear, change, freeze and are lost again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from specviz.evidence import Cell, Round, WaveEvidence
from specviz.trace import (
    Check,
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
    with_pieces,
)

DEPTH = 16
WORDS = (
    "<end>", " Tom", " has", " 3", " +", " 4", " =", " 7", " apples", ".", " He", " gives", " 2",
    " away", " -", " 5", " pears", " 9", " and", " the", "####", "\n", " then", " buys", " are",
)  # fmt: skip
ID = {word: i for i, word in enumerate(WORDS)}
ANSWER = (
    " Tom", " has", " 3", " +", " 4", " =", " 7", " apples", ".", " He", " gives", " 2", " away",
    ".", " 7", " -", " 2", " =", " 5", ".", " Tom", " has", " 5", " apples",
)  # fmt: skip


def ids(text: str) -> list[int]:
    """The tokens of words written with a bar between them."""
    return [ID[word] for word in text.split("|")]


def probability(round_: int, position: int, token: int) -> float:
    """Some confidence: it grows with the rounds and falls with the distance."""
    return round(min(0.99, max(0.04, 0.35 + 0.13 * round_ - 0.06 * position + token % 5 / 40)), 4)


def evidence(
    rounds: Sequence[Sequence[int]],
    parked: Sequence[int],
    end: Literal["settled", "rounds", "budget"],
    *,
    inner: int = 2,
    keys: int = DEPTH,
    values: int = DEPTH,
) -> WaveEvidence:
    """The wave of these guesses per round; ages, states and the ledger follow from them."""
    ages: list[int] = []
    before: Sequence[int] = ()
    made = []
    for k, (tokens, still) in enumerate(zip(rounds, parked, strict=True)):
        ages += [0] * (len(tokens) - len(ages))
        cells = []
        for i, token in enumerate(tokens):
            state: Literal["new", "changed", "same", "frozen"] = "frozen"
            if i >= still:
                ages[i] += inner
                state = "same" if i < len(before) and before[i] == token else "changed"
                state = "new" if i >= len(before) else state
            cells.append(Cell(token, probability(k, i, token), ages[i], state))
        made.append(Round(iterations=inner, parked=still, cells=tuple(cells)))
        before = tokens
    computed = [len(r.cells) - r.parked for r in made]
    return WaveEvidence(
        kind="wave", depth=DEPTH, keys=keys, values=values, carry=True, rounds=tuple(made),
        end=end, calls=inner * len(made), applications=inner * sum(computed),
        readouts=sum(computed),
    )  # fmt: skip


def wave_step(
    index: int, root: int, truth: Sequence[int], wave: WaveEvidence, source: str = "wave"
) -> Step:
    """The last round as a chain, verified against ``truth``, the tokens that really follow."""
    draft = [c.token for c in wave.rounds[-1].cells]
    accepted = 0
    while accepted < min(len(draft), len(truth)) and draft[accepted] == truth[accepted]:
        accepted += 1
    tokens = [root, *draft]
    picks = [truth[n] if n < len(truth) else ID["<end>"] for n in range(len(tokens))]
    emitted = (*draft[:accepted], picks[accepted])[: len(truth)]
    return Step(
        index=index,
        nodes=tuple(
            Node(
                token=token, parent=n - 1, source=source if n else "root", order=n,
                score=round(0.9**n, 4) if n else None, logp=-0.2 * n if n else None,
                pick=picks[n], margin=1.5, top=((picks[n], -0.3), (ID[" and"], -2.0)), tail=0.05,
            )
            for n, token in enumerate(tokens)
        ),
        walk=tuple(range(1, accepted + 1)), emitted=emitted,
        seconds=Seconds(draft=0.012, verify=0.02, commit=0.001, total=0.034), cache_length=0,
        evidence=wave,
    )  # fmt: skip


def header(role: Role, decoder: str, limit: int) -> Header:
    return Header(
        role=role, run="wave", decoder=decoder,
        knobs={"block": 8, "rounds": 6, "inner": 2} if role == "decoder" else {},
        model="tiny-raven", digest="0" * 16, device="cpu", dtype="float32", machine="none",
        versions={"specviz": "0"}, vocab_size=len(WORDS), eos_ids=(), depth=DEPTH,
        messages=(Turn(role="user", text="Tom has 3 apples and buys 4. He gives 2 away."),),
        tokens=(ID[" Tom"], ID[" has"], ID[" 3"]), max_new_tokens=limit,
    )  # fmt: skip


def whole(steps: Sequence[Step], decoder: str = "das_wave", words: Sequence[str] = WORDS) -> Trace:
    """The steps with their baseline and an equal check."""
    output = [ID[" Tom"], *(t for s in steps for t in s.emitted)]
    events: list[StoredEvent] = []
    for role, name in (("decoder", decoder), ("baseline", "autoregressive")):
        assert role == "decoder" or role == "baseline"
        events.append(header(role, name, len(output)))
        events.append(Prefill(role=role, seconds=0.05, token=output[0], margin=2.0, top=()))
        length = 3
        for step in steps if role == "decoder" else plain(output):
            length += len(step.emitted)
            events.append(step.model_copy(update={"cache_length": length}))
        events.append(Finish(role=role, reason="length", tokens=len(output), seconds=0.9))
    events.append(Check(equal=True))
    seen: set[int] = set()
    pieces = [word.encode() for word in words]
    return Trace(
        tuple(with_pieces(e, seen, pieces.__getitem__, frozenset({ID["<end>"]})) for e in events)
    )


def plain(output: Sequence[int]) -> list[Step]:
    """The baseline's steps for these tokens."""
    return [
        Step(
            role="baseline", index=i, emitted=(token,), walk=(), cache_length=0,
            nodes=(
                Node(token=output[i], parent=-1, source="root", order=0, score=None, logp=None,
                     pick=token, margin=1.5, top=((token, -0.3),), tail=0.05),
            ),
            seconds=Seconds(draft=0.0, verify=0.02, commit=0.001, total=0.021),
        )
        for i, token in enumerate(output[1:])
    ]  # fmt: skip


def small_wave(words: Sequence[str] = WORDS) -> Trace:
    """Four steps: a guess that was right and is lost again; all right and frozen; the first one
    wrong after all rounds; an end by the budget."""
    answer = [ID[word] for word in ANSWER]
    rounds = (
        (" has| 3| +| and", " has| 3| +| 4| and| the", " has| 3| +| 4| =| 7| pears| and",
         " has| 3| +| 4| =| 9| pears|.", " has| 3| +| 4| =| 9| apples|.",
         " has| 3| +| 4| =| 9| apples|."),
        (" apples|.| He| has", " apples|.| He| gives| 2| and", " apples|.| He| gives| 2| away|.",
         " apples|.| He| gives| 2| away|.", " apples|.| He| gives| 2| away|."),
        (" then| buys| 2| and", " then| -| 2| =| and| the", " then| -| 2| =| 5|.| He| has",
         " then| -| 2| =| 5|.| Tom| has"),
        (" 2| =| and", " 2| =| 5|.| He", " 2| =| 5|.| Tom| has| 5", " 2| =| 5|.| Tom| has| 5"),
    )  # fmt: skip
    parked = ((0, 0, 1, 3, 4, 5), (0, 0, 2, 4, 7), (0, 0, 0, 1), (0, 0, 2, 5))
    ends: tuple[Literal["settled", "rounds", "budget"], ...] = (
        "settled", "settled", "rounds", "budget",
    )  # fmt: skip
    at, made = 0, []
    for index in range(4):
        found = evidence([ids(text) for text in rounds[index]], parked[index], ends[index])
        made.append(wave_step(index, answer[at], answer[at + 1 :], found))
        at += len(made[-1].emitted)
    return whole(made, words=words)


def wide_wave(positions: int = 16, rounds: int = 8, steps: int = 3) -> Trace:
    """Blocks as wide and rounds as many as a real run's, in any number of steps."""
    made = []
    root = ID[" Tom"]
    for index in range(steps):
        grid = []
        for k in range(rounds):
            width = min(positions, 4 + 2 * k)
            right = min(width, 2 * k + 1)
            truth = [1 + (7 * index + 3 * i) % 20 for i in range(width)]
            grid.append([t if i < right else 1 + (t + k + i) % 24 for i, t in enumerate(truth)])
        truth = [1 + (7 * index + 3 * i) % 20 for i in range(positions + 1)]
        truth[positions - 3 - index % 5] = ID[" are"]
        found = evidence(grid, [max(0, 2 * k - 5) for k in range(rounds)], "rounds")
        made.append(wave_step(index, root, truth, found))
        root = made[-1].emitted[-1]
    return whole(made)


def sequential() -> Trace:
    """One step of ``das``: a round per guess, each four iterations deep, coupled keys."""
    answer = [ID[word] for word in ANSWER]
    draft = ids(" has| 3| +| 4| =| 9")
    grid = [draft[: k + 1] for k in range(len(draft))]
    found = evidence(grid, list(range(len(draft))), "rounds", inner=4, keys=0)
    return whole([wave_step(0, answer[0], answer[1:], found, source="das")], "das")
