"""The seam between the decoding loop and a model: plain numbers in, plain numbers out.

Convention everywhere: the cache of a session holds n-1 tokens when n are committed. The root of
every tree is the last emitted token, whose keys and values are not computed yet.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from specviz.trace import Costs, Progress
from specviz.tree import DraftTree
from specviz.windows import Bounds


class InputError(ValueError):
    """What a person gave cannot be used; the message is one sentence that says what to change."""


class Unsupported(InputError):
    """The model, or this machine, cannot do what was asked; the message names both sides."""


# Reading more would keep a person waiting for a refusal: no context here holds that much.
TEXT_LIMIT = 2 * 2**20
MOST_PICTURES = 8  # in all turns of a talk: each is kept in every trace of it
MOST_RATIO = 200  # of a picture's sides; beyond it nothing of the short one would be left


def text_size(text: str) -> int:
    """Bytes of ``text``, counted in UTF-8 wherever it came from; half a character has three."""
    return len(text.encode("utf-8", "surrogatepass"))


def check_size(name: str, size: int) -> None:
    """Raise InputError when ``size`` bytes of ``name`` are more text than is read."""
    if size > TEXT_LIMIT:
        raise InputError(
            f"{name} is larger than the limit of {TEXT_LIMIT >> 20} MB: "
            "cut out the part that matters."
        )


@dataclass(frozen=True)
class Picture:
    """One picture as it is handed to a model: upright, RGB, over white, as the bytes of a PNG.

    ``width`` and ``height`` in pixels; ``notes`` say in words what was done to the file.
    """

    name: str
    png: bytes = field(repr=False)
    width: int
    height: int
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """Of what is seen, not of the file that it came from."""
        return hashlib.sha256(self.png).hexdigest()[:16]


@dataclass(frozen=True)
class Message:
    """One turn of a chat. ``text`` is always literal: it can never become a control token, nor
    stand for a picture; ``pictures`` come before it, in order."""

    role: Literal["system", "user", "assistant"]
    text: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What a model's own image processor left of one ``picture``: a PNG of ``width`` x ``height``
    pixels, read back from what the tower gets, and the tokens ``span`` (first, one behind the
    last) of the prompt that stand for it. ``notes``: what was done to it, in words."""

    picture: Picture
    png: bytes = field(repr=False)
    width: int
    height: int
    span: tuple[int, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Inputs:
    """An encoded request. ``tokens`` has shape [n]; ``notes`` say in words what was done to it;
    ``document``: from and to which token (exclusive) the document stands that it is about;
    ``pictures``: those of all turns, in order; ``pixels``: the same for the model alone, opaque."""

    tokens: tuple[int, ...]
    notes: tuple[str, ...] = ()
    document: tuple[int, int] | None = None
    pictures: tuple[Seen, ...] = ()
    pixels: Any = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Capture:
    """What a drafter wants to see, fixed before prefill.

    ``top_k``: how many of the target's most probable tokens to return for every row.
    ``full_entropy``: also return the entropy of the whole distribution (an extra [rows, V] pass).
    ``prompt_rows``: which prompt positions to score in prefill: only the last one, the first
    occurrence of every distinct token, or all of them (the last one always, as the last row).
    ``head``: the drafter head that is to draft from the target's states, named as ``HeadModel``
    has it; the session is then a :class:`HeadSession`. ``kept``: which entries of the prompt that
    head will look at; the states of all others are dropped while the prompt is read. None: all may
    be asked for.
    """

    top_k: int = 8
    full_entropy: bool = False
    prompt_rows: Literal["last", "distinct", "all"] = "last"
    head: str | None = None
    kept: Bounds | None = None


@dataclass(frozen=True)
class Scores:
    """What the target says after each of ``r`` rows; floats are rounded to 4 decimals once, here.

    ``picks`` [r]: the greedy choice (lowest id among equal logits). ``margins`` [r]: logit of the
    pick minus the runner-up's. ``peaks`` [r]: the pick's raw logit. ``top_ids``/``top_logps``
    [r][k]: the k most probable tokens and natural-log probabilities over the whole vocabulary, the
    pick first. ``tails`` [r]: the probability left outside them. ``own_logps`` [r]: log-prob of the
    row's own token given its parent row, None where the parent was not scored (the root).
    ``entropies`` [r]: full entropy in nats, when captured. ``positions`` [r]: prompt positions of
    the rows after prefill, node indices after verify.
    """

    picks: tuple[int, ...]
    margins: tuple[float, ...]
    peaks: tuple[float, ...]
    top_ids: tuple[tuple[int, ...], ...]
    top_logps: tuple[tuple[float, ...], ...]
    tails: tuple[float, ...]
    own_logps: tuple[float | None, ...]
    positions: tuple[int, ...]
    entropies: tuple[float, ...] | None = None
    features: Any = field(default=None, compare=False, repr=False)


LEAST_LOGP = -9999.0  # stands for a probability of zero, which JSON has no logarithm of


def cpu_name() -> str:
    """The processor's name and how many cores this process may use."""
    name = platform.processor() or platform.machine()
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((x.split(":", 1)[1].strip() for x in lines if x.startswith("model name")), name)
    return f"{name}, {os.cpu_count()} cores"


def finish(steps: Generator[Progress, None, Scores]) -> Scores:
    """Run a prefill or a scoring to its end and return what it found."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            scores: Scores = done.value
            return scores


def prompt_rows(tokens: Sequence[int], capture: Capture) -> list[int]:
    """The prompt positions that ``capture`` wants scored, ascending, the last one included."""
    last = len(tokens) - 1
    if capture.prompt_rows == "all":
        return list(range(len(tokens)))
    if capture.prompt_rows == "last":
        return [last]
    first = {t: p for p, t in reversed(list(enumerate(tokens)))}
    return sorted({*first.values(), last})


@runtime_checkable
class Session(Protocol):
    """One key/value cache: one run."""

    @property
    def model(self) -> Model:
        """The model that this session belongs to."""
        ...

    @property
    def length(self) -> int:
        """Tokens whose keys and values are in the cache."""
        ...

    def prefill(self, inputs: Inputs) -> Generator[Progress, None, Scores]:
        """Read the prompt in chunks; yields progress, returns the scores that were captured."""
        ...

    def verify(self, tree: DraftTree) -> Scores:
        """Score every node in one packed pass; the committed length does not change."""
        ...

    def commit(self, path: Sequence[int]) -> None:
        """Keep exactly the cache rows of ``path`` (node indices of the last tree, root first)."""
        ...

    def score(self, tokens: Sequence[int], pixels: Any = None) -> Generator[Progress, None, Scores]:
        """Teacher-forced scores of a whole token sequence from an empty cache; ours is untouched.

        ``pixels``: those of the request that ``tokens`` begin with. Yields progress, like prefill.
        Row i says what follows ``tokens[:i + 1]``; ``own_logps[i]`` belongs to ``tokens[i]``.
        """
        ...

    def close(self) -> None:
        """Free the cache; using the session afterwards is a bug."""
        ...


@runtime_checkable
class Model(Protocol):
    """Weights and tokenizer: heavy, shared by sessions.

    ``digest`` changes whenever tokens could (weights, revision). ``hardware`` names what it runs
    on: processor and threads, or GPU. ``packed``: its weights are laid out for that. ``supports``
    names abilities that drafters may need: ``"tree"`` (verification of branching drafts),
    ``"rollback"``, ``"image"`` (its messages may hold pictures), ``"head"`` (its states can be
    shared with a drafter head: it is a :class:`HeadModel`), ``"depth"`` (a shared block applied
    ``depth`` times: its sessions are :class:`DepthSession`; ``depth`` is None for all other
    models).
    """

    label: str
    digest: str
    device: str
    hardware: str
    dtype: str
    packed: bool
    supports: frozenset[str]
    eos_ids: frozenset[int]
    blocked_ids: frozenset[int]
    special_ids: frozenset[int]
    max_context: int
    vocab_size: int
    depth: int | None

    def encode(self, messages: Sequence[Message]) -> Inputs:
        """Apply the chat template with every text inert; raises InputError when it cannot."""
        ...

    def ends(self, text: str) -> tuple[int, ...]:
        """How many characters of a literal text have been read at the end of each of its tokens
        [n], ascending; raises Unsupported where the tokenizer does not say."""
        ...

    def token_bytes(self, token: int) -> bytes:
        """The raw bytes that ``token`` stands for; a control token gives its name."""
        ...

    def open(self, capture: Capture = Capture()) -> Session:
        """A fresh session with an empty cache."""
        ...

    def measure(
        self, context: int, fresh: bool = False
    ) -> Generator[Progress, None, Costs | None]:
        """What passes cost behind roughly ``context`` tokens; measured once, then remembered.

        ``fresh`` measures again. Yields progress; returns None where passes have no cost worth
        knowing.
        """
        ...


@runtime_checkable
class Packable(Protocol):
    """A model whose weights can be laid out for the processor that they are on."""

    def pack(self) -> None:
        """Do so where it helps; ``packed`` then says whether."""
        ...
