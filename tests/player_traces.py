"""Valid traces made up by a seed: what the player must be able to show, hostile texts included."""

from __future__ import annotations

import random

from specviz.evidence import Candidate, Hit, Lookup, MemoryEvidence, Span, Tally, Written
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

HOSTILE = [
    "${alert(1)}",
    "`",
    "\\u",
    "{{x}}",
    "<img src=x onerror=alert(1)>",
    "</script>",
    "<b>bold</b>",
    "&lt;",
    " the",
    "\n\n",
    "\t",
    " ",
    "\u202eevil",
    "שלום",
    "{name}",
]
THUMB = "👍🏽".encode()
END = 0
PIECES: list[bytes] = [
    b"<end>",
    *(t.encode() for t in HOSTILE),
    *(f" word{i}".encode() for i in range(40)),
    THUMB[:2],
    THUMB[2:5],
    THUMB[5:],
    b"<end>",
]
EMOJI = (len(PIECES) - 4, len(PIECES) - 3, len(PIECES) - 2)
LOOKALIKE = len(PIECES) - 1  # plain text with the bytes of the end token
SOURCES = ("level3", "level2", "level1", "copy")


def header(role: Role, decoder: str, text: str, tokens: int = 64) -> Header:
    return Header(
        role=role,
        run="made-up",
        decoder=decoder,
        knobs={"nodes": 24},
        model="toy",
        digest="0" * 16,
        device="cpu",
        dtype="float32",
        machine="none",
        versions={"specviz": "0"},
        messages=(Turn(role="user", text=text),),
        vocab_size=len(PIECES),
        eos_ids=(),
        tokens=(1, 16, 17, 18, 16, 17),
        max_new_tokens=tokens,
    )


def lookup(draw: random.Random, node: int, context: list[int], want: int, step: int) -> Lookup:
    hits = []
    for level in (3, 2, 1):
        if len(context) < level or draw.random() < 0.3:
            continue
        ids = tuple(draw.sample(range(1, len(PIECES)), 5))
        hits.append(
            Hit(
                level=level,
                key=tuple(context[-level:]),
                ids=ids,
                probs=(0.5, 0.2, 0.1, 0.05, 0.01),
                base=(0.1, 0.2, 0.7)[level - 1],
                entropy=round(draw.random(), 4),
                weight=round(draw.random(), 4),
                written=Written(draw.choice((-2, -1, max(0, step - 1))), 1, draw.random() < 0.5),
            )
        )
    candidates = (
        Candidate(draw.randrange(1, len(PIECES)), 0.41, 3, -1, "width"),
        Candidate(want, 0.2, 2, -1, "budget"),
        Candidate(draw.randrange(1, len(PIECES)), 0.1, 1, -1, "score"),
    )
    return Lookup(node=node, expanded=True, hits=tuple(hits), candidates=candidates)


def step(
    draw: random.Random,
    index: int,
    root: int,
    nodes: int,
    accept: int,
    emitted: tuple[int, ...] | None = None,
    evidence: bool = True,
) -> Step:
    """A tree of ``nodes`` guesses whose first ``accept`` form the accepted path.

    ``emitted``: these tokens, in place of what the walk gave: what was discarded lies after them.
    """
    tokens, parents = [root], [-1]
    for n in range(1, nodes + 1):
        parents.append(n - 1 if n <= accept else draw.randrange(max(0, n - 8), n))
        tokens.append(draw.randrange(1, len(PIECES) - 4))
    if emitted is not None:
        for n, token in enumerate(emitted[:accept], start=1):
            tokens[n] = token
    picks = [draw.randrange(1, len(PIECES) - 4) for _ in tokens]
    for n in range(1, accept + 1):
        picks[n - 1] = tokens[n]
    # Where the walk stops, the pick is none of the guesses.
    below = {tokens[n] for n in range(1, nodes + 1) if parents[n] == accept}
    picks[accept] = next(t for t in range(16, len(PIECES)) if t not in below)
    if emitted is not None and len(emitted) == accept + 1:
        picks[accept] = emitted[-1]
    for n in range(accept + 1, nodes + 1):
        if tokens[n] == picks[parents[n]]:
            tokens[n] = next(t for t in range(1, 16) if t != picks[parents[n]])
    order = [0, *draw.sample(range(1, nodes + 1), nodes)]
    walk = tuple(range(1, accept + 1))
    seconds = round(0.01 + 0.02 * draw.random(), 6)
    memory = None
    if evidence and nodes:
        memory = MemoryEvidence(
            kind="memory",
            lookups=tuple(
                lookup(draw, n, [1, 16, tokens[n]], picks[n], index) for n in range(nodes + 1)
            ),
            tallies={level: Tally(accept + 1, accept, accept // 2) for level in (1, 2, 3)},
            sizes={1: 10 * index, 2: index, 3: index},
            copied=Span(kind="span", length=2, start=3, tokens=(18, 16), nodes=(1,)),
        )
    return Step(
        index=index,
        nodes=tuple(
            Node(
                token=tokens[n],
                parent=parents[n],
                source=SOURCES[n % 4] if n else "root",
                order=order[n],
                score=round(1 / (n + 1), 4) if n else None,
                logp=-0.5 if n else None,
                pick=picks[n],
                margin=1.25,
                top=((picks[n], -0.25), (1 + n % 10, -2.0)),
                tail=0.05,
            )
            for n in range(nodes + 1)
        ),
        walk=walk,
        emitted=(*tokens[1 : accept + 1], picks[accept]) if emitted is None else emitted,
        seconds=Seconds(draft=0.001, verify=seconds, commit=0.001, total=round(seconds + 0.002, 6)),
        cache_length=6 + index,
        evidence=memory,
    )


def bundle(steps: list[Step], decoder: str = "recap", prompt: str = "What now?") -> Trace:
    """The steps as a whole trace with a measured baseline and an equal check."""
    top = ((16, -0.1), (17, -2.5))
    events: list[StoredEvent] = [
        header("decoder", decoder, prompt),
        Prefill(seconds=0.2, token=16, margin=2.0, top=top),
        *steps,
    ]
    output = [16, *(t for s in steps for t in s.emitted)]
    reason = "eos" if output[-1] == END else "length"
    events.append(Finish(reason=reason, tokens=len(output), seconds=1.0))
    events += [
        header("baseline", "autoregressive", prompt),
        Prefill(role="baseline", seconds=0.2, token=16, margin=2.0, top=top),
    ]
    draw = random.Random(5)
    for i, token in enumerate(output[1:]):
        plain = step(draw, i, output[i], 0, 0, (token,), evidence=False)
        events.append(plain.model_copy(update={"role": "baseline"}))
    events.append(Finish(role="baseline", reason=reason, tokens=len(output), seconds=2.0))
    events.append(Check(equal=True))
    seen: set[int] = set()
    return Trace(
        tuple(with_pieces(e, seen, PIECES.__getitem__, frozenset({END})) for e in events)
    )


def random_trace(seed: int, steps: int, nodes: int) -> Trace:
    """``steps`` steps with ``nodes`` guesses each and none to five of them accepted."""
    draw = random.Random(seed)
    root, made = 16, []
    for index in range(steps):
        made.append(step(draw, index, root, nodes, min(nodes, draw.choice((0, 0, 1, 2, 3, 5)))))
        root = made[-1].emitted[-1]
    return bundle(made)


def hostile_trace() -> Trace:
    """Every hostile text is guessed, accepted or refused, and written; one emoji in three parts."""
    draw = random.Random(3)
    made = []
    root = 16
    for index, first in enumerate(range(1, 1 + len(HOSTILE), 3)):
        texts = (first, first + 1, first + 2, LOOKALIKE)
        made.append(step(draw, index, root, 8, 3, texts))
        root = LOOKALIKE
    made.append(step(draw, len(made), root, 4, 1, EMOJI[:2]))
    made.append(step(draw, len(made), EMOJI[1], 4, 0, EMOJI[2:]))
    made.append(step(draw, len(made), EMOJI[2], 6, 3, (17, END)))
    return bundle(made, prompt="".join(HOSTILE))
