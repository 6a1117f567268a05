"""Depth engines without a network: a rule says what every position predicts, a log what was done.

They hold their user to the protocol: nothing is read before it was iterated, nothing is used
before ``begin`` or after ``drop``, and a prefix that has changed needs a new ``begin``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from specviz.models.base import Capture
from specviz.models.engines import Guesses
from specviz.models.toy import ToyModel, ToySession, rhyme_model

# (tokens of the block up to a position, its age, keys, values) -> what it predicts, how surely
Rule = Callable[[tuple[int, ...], int, int, int], tuple[int, float]]


class RuleEngine:
    """A block of positions that predict what ``rule`` says.

    ``calls``, ``applications``, ``readouts`` count what was asked for, over all blocks; ``log``
    names the calls of the protocol.
    """

    def __init__(self, rule: Rule, depth: int, stamp: Callable[[], int] = lambda: 0) -> None:
        self.rule, self.depth, self._stamp = rule, depth, stamp
        self.calls = self.applications = self.readouts = 0
        self.log: list[tuple[object, ...]] = []
        self._tokens: list[int] = []
        self._ages: list[int] = []

    @property
    def ages(self) -> tuple[int, ...]:
        self._begun()
        return tuple(self._ages)

    def begin(self, root: int, keys: int, values: int, stepwise: bool = False) -> None:
        assert 0 <= keys <= self.depth and 0 <= values <= self.depth
        self.log.append(("begin", root, keys, values, stepwise))
        self._prefix, self._tokens, self._ages = (keys, values), [root], [0]
        self._at = self._stamp()

    def grow(self, tokens: Sequence[int]) -> None:
        self._begun()
        self.log.append(("grow", *tokens))
        self._tokens += tokens
        self._ages += [0] * len(tokens)

    def replace(self, tokens: Sequence[int]) -> None:
        self._begun()
        self.log.append(("replace", *tokens))
        assert len(tokens) < len(self._tokens)
        self._tokens[1 : len(tokens) + 1] = tokens

    def restart(self) -> None:
        self._begun()
        self.log.append(("restart",))
        self._ages = [0] * len(self._ages)

    def refine(self, iterations: int, first: int = 0) -> None:
        self._begun()
        assert iterations > 0 and 0 <= first < len(self._tokens)
        assert all(self._ages[:first]), "a position that was never iterated has no keys"
        self.log.append(("refine", iterations, first))
        self.calls += iterations
        self.applications += iterations * (len(self._tokens) - first)
        for position in range(first, len(self._tokens)):
            self._ages[position] += iterations

    def read(self, first: int = 0) -> Guesses:
        self._begun()
        assert all(self._ages), "a position that was never iterated has nothing to read"
        self.log.append(("read", first))
        self.readouts += len(self._tokens) - first
        found = [
            self.rule(tuple(self._tokens[: j + 1]), self._ages[j], *self._prefix)
            for j in range(first, len(self._tokens))
        ]
        return Guesses(tuple(t for t, _ in found), tuple(p for _, p in found))

    def drop(self) -> None:
        self._tokens, self._ages = [], []

    def _begun(self) -> None:
        assert self._tokens, "there is no block: begin one"
        assert self._at == self._stamp(), "the prefix has changed: begin anew"


class DepthToy(ToyModel):
    """A toy whose shallow guesses are its own picks where a context happens to be easy.

    A context needs 1 to ``depth`` iterations, one less for each of keys and values that are read
    deep; a guess that was made too early is some other token.
    """

    depth = 8

    def __init__(self, *given: object, **more: object) -> None:
        super().__init__(*given, **more)  # type: ignore[arg-type]
        self.supports |= {"depth"}
        self.engines: list[RuleEngine] = []

    def open(self, capture: Capture = Capture()) -> DepthToySession:
        return DepthToySession(self, capture)


class DepthToySession(ToySession):
    """A toy's session with an engine beside it."""

    model: DepthToy

    def depth_engine(self) -> RuleEngine:
        engine = RuleEngine(self._guess, self.model.depth or 0, lambda: self.length)
        self.model.engines.append(engine)
        return engine

    def _guess(self, block: tuple[int, ...], age: int, keys: int, values: int) -> tuple[int, float]:
        context = (*(t for t, _ in self._columns[: self.length]), *block)
        pick = int(np.argmax(self.model.logits(context)))
        draw = hashlib.sha256(repr(context[-6:]).encode()).digest()
        need = draw[0] % (self.model.depth or 1) + 1 - (keys > age) - (values > age)
        if age >= need:
            return pick, 0.9
        return (pick + 1 + draw[age % 8] % 3) % self.model.vocab_size, 0.4


def deep_rhyme(label: str = "deep") -> DepthToy:
    """The nursery rhyme's model with depths."""
    rhyme = rhyme_model(label)
    return DepthToy(rhyme.logits, rhyme.pieces, label=label)
