"""A head beside its target against a plain one that keeps everything and looks again each time."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from specviz.models.base import InputError
from specviz.models.eagle_cache import SLACK, DraftCache
from specviz.models.eagle_engine import LAST_POSITION, EagleEngine
from specviz.models.eagle_net import EagleHead
from specviz.models.eagle_rope import USUAL, rotate
from specviz.models.engines import HeadEngine, Offers
from specviz.windows import MODES, Bounds, Mode
from tests.plain_eagle import Plain
from tests.tiny_head import CONFIG, VARIANTS, made

Ranked = list[tuple[int, float]]
TOP = CONFIG.draft_vocab_size
torch.manual_seed(11)
EMBEDDING = torch.randn(CONFIG.vocab_size, CONFIG.hidden_size, dtype=torch.float64)


class Tape:
    """A target whose features of a token depend on the token before, too, if it can see it."""

    def __init__(self, context: Sequence[int]) -> None:
        self.context, self.taken = context, 0
        self.length = 0

    @staticmethod
    def features(tokens: Sequence[int]) -> Tensor:
        generator = torch.Generator().manual_seed(2)
        table = torch.randn(
            2, CONFIG.vocab_size, CONFIG.feature_width, generator=generator, dtype=torch.float64
        )
        rows = [
            table[0, t] + (table[1, tokens[i - 1]] if i else 0.0) for i, t in enumerate(tokens)
        ]
        return torch.stack(rows)

    def take_features(self) -> Tensor:
        found = self.features(self.context[: self.length])[self.taken :]
        self.taken = self.length
        return found

    def narrow_features(self, tokens: Sequence[int]) -> Tensor:
        return self.features(tokens)


class Oracle:
    """Everything that the engine is asked, from the whole text, entry by entry."""

    def __init__(self, plain: Plain, ids: list[int], bounds: Bounds, truncated: bool) -> None:
        self.plain, self.ids, self.bounds, self.truncated = plain, ids, bounds, truncated

    def follow(self, context: Sequence[int]) -> Ranked:
        count = len(context) - 1
        sight = self.bounds.sight(count)
        seen = [(s.first + i, s.at + i * s.step) for s in sight.stretches for i in range(s.length)]
        features = Tape.features(context[:count])
        if self.truncated:
            window = sight.stretches[-1].first
            features = torch.cat([features[:window], Tape.features(context[window:count])])
        self.states = [self.plain.condense(f) for f in features]
        self.entries = [
            (*self.plain.entry(self.states[i], EMBEDDING[context[i + 1]]), place)
            for i, place in seen
        ]
        self.tip, self.step = sight.tip, sight.step
        self.nodes: list[tuple[Tensor, list[tuple[Tensor, Tensor, float]], int]] = []
        self.root, logits = self.plain.out(
            self.states[count - 1], EMBEDDING[context[-1]], self.tip, self.entries
        )
        return self._offers(logits)

    def expand(self, parents: Sequence[int], tokens: Sequence[int]) -> list[Ranked]:
        found = []
        for parent, token in zip(parents, tokens, strict=True):
            state, above, depth = (self.root, [], 0) if parent < 0 else self.nodes[parent]
            at = self.tip + (depth + 1) * self.step
            own = [*above, (*self.plain.entry(state, EMBEDDING[token]), at)]
            out, logits = self.plain.out(state, EMBEDDING[token], at, [*self.entries, *own])
            self.nodes.append((out, own, depth + 1))
            found.append(self._offers(logits))
        return found

    def _offers(self, logits: Tensor) -> Ranked:
        logps = logits.log_softmax(-1).tolist()
        return sorted(zip(self.ids, logps, strict=True), key=lambda pair: -pair[1])


def close(found: Offers, expected: Ranked) -> bool:
    return found.tokens == tuple(t for t, _ in expected) and found.logps == pytest.approx(
        [p for _, p in expected], abs=1e-9
    )


def engine_of(head: EagleHead, tape: Tape, bounds: Bounds, truncated: bool = False) -> EagleEngine:
    engine = EagleEngine(head, EMBEDDING, tape)
    engine.begin(bounds, truncated)
    return engine


CASES = [
    *((mode, False, "each") for mode in MODES),
    *((mode, True, "plain") for mode in MODES),
    *(("slot", False, variant) for variant in VARIANTS if variant != "each"),
]


@pytest.mark.parametrize(("mode", "truncated", "variant"), CASES)
def test_rounds_of_drafting_equal_the_plain_head(mode: str, truncated: bool, variant: str) -> None:
    head, plain = made(**VARIANTS[variant])
    head.choose(torch.tensor([1, 2, 5, 8, 11, 17, 20, 28, 29]))
    rng = random.Random(4)
    context = [rng.randrange(CONFIG.vocab_size) for _ in range(40)]
    for sinks, window, prompt in ((2, 5, 14), (4, 2, 3)):
        bounds = Bounds(mode, sinks, window, 3, 16)  # type: ignore[arg-type]
        tape = Tape(context)
        engine = engine_of(head, tape, bounds, truncated)
        oracle = Oracle(plain, head.target_ids().tolist(), bounds, truncated)
        end = prompt
        for more in (3, 6, 1):
            tape.length = end
            told = context[: end + 1]
            assert close(engine.follow(told, TOP), oracle.follow(told))
            for parents, tokens in (([-1, -1], [5, 8]), ([0, 0, 1], [1, 2, 1]), ([3], [29])):
                found = engine.expand(parents, tokens, TOP)
                for offers, expected in zip(found, oracle.expand(parents, tokens), strict=True):
                    assert close(offers, expected)
            end += more


def test_of_a_long_prompt_only_what_stays_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    head, _ = made()
    rows: list[int] = []
    condense = head.condense
    monkeypatch.setattr(head, "condense", lambda f: rows.append(f.shape[-2]) or condense(f))
    context = [i % 30 for i in range(500)]
    tape = Tape(context)
    engine = engine_of(head, tape, Bounds("slot", 2, 7, 3, 16))
    tape.length = 400
    engine.follow(context[:401], 1)
    tape.length = 403
    engine.follow(context[:404], 1)
    assert rows == [9, 3]
    assert engine.sight.entries == 9
    assert engine.bytes == 2 * 9 * CONFIG.kv_heads * CONFIG.head_dim * 8


def test_fewer_offers_are_the_most_probable_ones() -> None:
    head, _ = made()
    tape = Tape([3, 1, 4, 1, 5])
    tape.length = 4
    every = engine_of(head, tape, Bounds("full", 0, 9, 2, 16)).follow(tape.context, 99)
    tape.taken = 0
    few = engine_of(head, tape, Bounds("full", 0, 9, 2, 16)).follow(tape.context, 2)
    assert len(every.tokens) == TOP
    assert few == Offers(every.tokens[:2], every.logps[:2])
    assert isinstance(engine_of(head, tape, Bounds("full", 0, 9, 2, 16)), HeadEngine)


def filled(bounds: Bounds, count: int, rows: Tensor) -> DraftCache:
    """A cache that ``count`` entries came to, of which those that stay are ``rows``' last ones."""
    cache = DraftCache(bounds, 2, 6, USUAL, rows)
    wanted = cache.wanted(count)
    cache.append(rows[:, -len(wanted) :], rows[:, -len(wanted) :], count)
    cache.arrange()
    return cache


def scores(cache: DraftCache, query: Tensor) -> Tensor:
    """Of a query at the tip with every key that is seen."""
    place = torch.tensor([cache.sight.tip], dtype=torch.float64)
    return rotate(query, place, cache.rope) @ cache.keys[0 : cache.entries].transpose(1, 2)


@pytest.mark.parametrize("count", [1_000, 100_000, 2_000_000])
def test_moving_all_positions_alike_changes_no_score(count: int) -> None:
    """The shift lemma: without sinks, new positions are mathematically the old ones."""
    torch.manual_seed(1)
    rows, query = torch.randn(2, 7, 6).double(), torch.randn(2, 1, 6).double()
    still, moved = (filled(Bounds(m, 0, 7, 3, 16), count, rows) for m in ("window_abs", "slot"))
    assert float((scores(still, query) - scores(moved, query)).abs().max()) < 1e-9
    # With sinks they are not: the gap between them and the window is closed.
    still, moved = (filled(Bounds(m, 2, 5, 3, 16), count, rows) for m in ("window_abs", "slot"))
    assert float((scores(still, query) - scores(moved, query)).abs().max()) > 1e-3
    # Moving the sinks up to the window is the same as moving the window back to the sinks.
    other = filled(Bounds("shift", 2, 5, 3, 16), count, rows)
    assert other.sight.tip == count - 1 and moved.sight.tip == 6
    assert float((scores(other, query) - scores(moved, query)).abs().max()) < 1e-9


class Text(Sequence[int]):
    """A context of so many tokens that nobody holds."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: Any) -> Any:
        return (index * index + 3 * index) % CONFIG.vocab_size


class Alike(Tape):
    """A target with the same features at every position."""

    def take_features(self) -> Tensor:
        row = torch.linspace(-1, 1, CONFIG.feature_width, dtype=torch.float64)
        taken, self.taken = self.taken, self.length
        return row.expand(self.length - taken, -1)


@pytest.mark.parametrize("count", [1_000, 100_000, 2_000_000])
@pytest.mark.parametrize(
    ("modes", "sinks", "same"),
    [
        (("slot", "shift"), 2, True),
        (("window_abs", "slot"), 0, True),
        (("window_abs", "shift"), 0, True),
        (("window_abs", "slot"), 2, False),
    ],
)
def test_moving_all_positions_alike_changes_no_draft(
    modes: tuple[Mode, Mode], sinks: int, same: bool, count: int
) -> None:
    """The shift lemma through a whole head: three rounds, two levels of branches each."""
    head, _ = made(fc_norm=True)
    found: list[list[float]] = []
    for mode in modes:
        tape = Alike([])
        engine = engine_of(head, tape, Bounds(mode, sinks, 7, 3, 16))
        told: list[float] = []
        for length in (count, count + 1, count + 4):
            tape.length = length
            offers = engine.follow(Text(length + 1), TOP)
            levels = [offers, *engine.expand([-1, -1], offers.tokens[:2], TOP)]
            levels += engine.expand([0, 1, 1], levels[1].tokens[:3], TOP)
            for level in levels:
                told += [p for _, p in sorted(zip(level.tokens, level.logps, strict=True))]
        found.append(told)
    gap = max(abs(a - b) for a, b in zip(*found, strict=True))
    assert len(found[0]) == 3 * 6 * TOP
    assert gap < 1e-9 if same else gap > 1e-4


def test_what_is_dropped_is_moved_out_before_it_piles_up() -> None:
    rows = torch.arange(3 * SLACK, dtype=torch.float64)[None, :, None].expand(1, -1, 2)
    cache = DraftCache(Bounds("slot", 2, 5, 3, 16), 1, 2, USUAL, rows)
    for start in range(0, 3 * SLACK, 3):
        part = rows[:, start : start + 3]
        assert cache.wanted(3) == [0, 1, 2]
        cache.append(part, part, 3)
        cache.arrange()
        last = start + 3
        kept = [*range(2), *range(max(2, last - 5), last)] if last > 7 else list(range(last))
        assert cache.values[0 : cache.entries][0, :, 0].tolist() == kept
        assert cache._raw.count <= SLACK + 10


@pytest.mark.parametrize("mode", MODES)
def test_a_position_that_floats_cannot_tell_apart_is_refused(mode: Mode) -> None:
    head, _ = made()
    tape = Tape([3, 1, 4])
    tape.length = 2
    engine = engine_of(head, tape, Bounds(mode, 2, 9, 4, 16))
    if mode in ("slot", "reindex_only"):  # positions come from 0 again
        with pytest.raises(AssertionError, match=r"^features of other tokens"):
            engine.follow(Text(LAST_POSITION), 1)
        return
    expected = (
        f"The drafter would stand at position {LAST_POSITION + 2}, positions end at "
        f"{LAST_POSITION}: choose the mode slot."
    )
    with pytest.raises(InputError) as caught:
        engine.follow(Text(LAST_POSITION), 1)
    assert str(caught.value) == expected
