"""The language side of ``smol-boards``: what is learned from a picture, and how well."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specviz.training.vlm_grids import Alphabet, Mistakes
from specviz.training.vlm_lora import Adapted
from specviz.training.vlm_packing import Branch, Packed, Template, additive, branch, pack
from specviz.training.vlm_scenes import Exchange, Scene

MARK = 16  # <empty_output>, a reserved token of SmolLM2 that stands for one cell of a picture
OPENINGS = ("", "\n")  # what may stand between a picture and the text about it
TWO_TURNS = 0.5  # share of chats that go on with a second question
LOOK_SEED = 10_000


Draw = Callable[[random.Random], Scene]


@dataclass(frozen=True)
class Reader:
    """A transformers ``…ForCausalLM`` with an update, its tokenizer, template and symbols."""

    net: Any
    tokenizer: Any
    template: Template
    alphabet: Alphabet

    def packed(self, grid: Sequence[int], branches: Sequence[Branch]) -> Packed:
        """One sequence; see ``pack``."""
        return pack(self.template, grid, branches)

    def asked(self, exchanges: Sequence[Exchange], opening: str = "") -> Branch:
        """One chat about a picture; see ``branch``."""
        return branch(self.tokenizer, self.template, exchanges, opening)

    def embedded(self, packed: Packed, mistakes: Mistakes | None = None) -> Tensor:
        """Input embeddings [n, H] in the type of the update, the grid blurred."""
        table: Tensor = self.net.get_input_embeddings().weight.detach()
        found = table[packed.tokens].to(torch.promote_types(table.dtype, torch.float32))
        if mistakes is not None:
            at = slice(packed.grid, int((packed.owners < 0).sum()))
            others = table[self.alphabet.tokens].to(found)
            found[at] = mistakes.blur(found[at], table[self.alphabet.filler].to(found), others)
        return found

    def logits(self, packed: Packed, embedded: Tensor) -> Tensor:
        """What is said at the ``rows`` of ``packed`` [m, vocabulary]."""
        states = self.net.get_decoder()(
            inputs_embeds=embedded[None],
            attention_mask=additive(packed.mask, embedded.dtype),
            position_ids=packed.positions[None],
            use_cache=False,
        ).last_hidden_state[0]
        head = self.net.get_output_embeddings()
        out: Tensor = head(states[packed.rows].to(head.weight.dtype))
        return out

    def loss(self, packed: Packed, mistakes: Mistakes | None = None) -> Tensor:
        """Mean nats per learned token."""
        said = self.logits(packed, self.embedded(packed, mistakes))
        return F.cross_entropy(said.float(), packed.targets)


def halve(net: Any) -> None:
    """Put the frozen weights of ``net`` into bfloat16: its processor multiplies those faster."""
    for layer in net.modules():
        if isinstance(layer, Adapted):
            layer.layer.to(torch.bfloat16)
    output: nn.Module = net.get_output_embeddings()
    output.to(torch.bfloat16)


def chats(case: Scene, rng: random.Random) -> list[list[Exchange]]:
    """Every exchange of ``case`` once, some of them as the second turn of a chat."""
    left = rng.sample(list(case.questions), len(case.questions))
    found: list[list[Exchange]] = []
    while left:
        turns = 2 if len(left) > 1 and rng.random() < TWO_TURNS else 1
        found.append([left.pop() for _ in range(turns)])
    return found


def sequences(
    reader: Reader, draw: Draw, rng: random.Random, mistakes: Mistakes
) -> Iterator[Packed]:
    """Endless pictures with all their questions, read with ``mistakes``."""
    while True:
        case = draw(rng)
        grid = mistakes.spoil(reader.alphabet.grid(case.symbols), reader.alphabet, rng)
        branches = [reader.asked(turns, rng.choice(OPENINGS)) for turns in chats(case, rng)]
        yield reader.packed(grid, branches)


@dataclass(frozen=True)
class Wrong:
    """An answer that differs: the question, the answer wanted, and the last words in common with
    what is said instead."""

    kind: str
    question: str
    wanted: str
    instead: str


@dataclass(frozen=True)
class Look:
    """By kind: (answers said exactly, answers); tokens right; some that were wrong."""

    exact: dict[str, tuple[int, int]]
    right: float
    wrong: tuple[Wrong, ...]


@torch.no_grad()
def look(reader: Reader, cases: Sequence[Scene]) -> Look:
    """How many answers greedy decoding would give word for word.

    One pass tells: it does exactly when every token of the answer is the pick after those before.
    """
    tally: dict[str, list[bool]] = defaultdict(list)
    wrong: list[Wrong] = []
    right = total = 0
    reader.net.eval()
    for case in cases:
        branches = [reader.asked([exchange]) for exchange in case.questions]
        packed = reader.packed(reader.alphabet.grid(case.symbols), branches)
        with torch.autocast("cpu", torch.bfloat16):
            picks = reader.logits(packed, reader.embedded(packed)).argmax(-1)
        for number, exchange in enumerate(case.questions):
            mine = packed.of == number
            same = picks[mine] == packed.targets[mine]
            right, total = right + int(same.sum()), total + len(same)
            tally[case.kind].append(bool(same.all()))
            if not same.all():
                wrong.append(_wrong(reader, case.kind, exchange, picks[mine], same))
    exact = {kind: (sum(found), len(found)) for kind, found in sorted(tally.items())}
    return Look(exact, right / total, tuple(wrong))


def _wrong(reader: Reader, kind: str, exchange: Exchange, picks: Tensor, same: Tensor) -> Wrong:
    end = int((~same).nonzero()[0]) + 1
    said = reader.tokenizer.decode(picks[max(0, end - 8) : end].tolist())
    return Wrong(kind, exchange.question, exchange.answer, said)


def lines(found: Look, shown: int = 8) -> Iterator[str]:
    """``found`` for people."""
    for kind, (exact, asked) in found.exact.items():
        yield f"  {kind:14} {exact} of {asked} answers exact ({exact / asked:.0%})"
    exact, asked = (sum(x) for x in zip(*found.exact.values(), strict=True))
    yield f"held out: {exact} of {asked} answers exact, {found.right:.2%} of tokens right"
    for miss in found.wrong[:shown]:
        yield f"  {miss.kind}: {miss.question!r}\n    wanted  {miss.wanted!r}"
        yield f"    instead …{miss.instead!r}"
