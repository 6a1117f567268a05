"""What a drafter is: something that guesses a tree and learns from what the target said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

from specviz.budget import Curve
from specviz.evidence import Evidence
from specviz.models.base import Capture, InputError, Model, Scores, Session
from specviz.models.engines import HeadFacts
from specviz.trace import Header, Prefill, Step
from specviz.tree import DraftTree

KnobValue = int | float | bool | str


@dataclass(frozen=True)
class Draft:
    """A guess. Per node: where it came from, its branch score (None at the root), growth order."""

    tree: DraftTree
    sources: tuple[str, ...]
    scores: tuple[float | None, ...]
    order: tuple[int, ...]

    @classmethod
    def nothing(cls, root: int) -> Draft:
        """The draft of one root: an ordinary single-token step."""
        return cls(DraftTree.root_only(root), ("root",), (None,), (0,))


@dataclass(frozen=True)
class Knob:
    """One adjustable setting, as the page, the CLI and the README show it."""

    name: str
    default: KnobValue
    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    advanced: bool = True

    def check(self, value: object) -> KnobValue:
        """``value`` in the knob's own type; raises InputError with the limit."""
        try:
            typed = self._typed(value)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{self.name} cannot be {value!r}: give {self.limits}.") from None
        if self.choices is not None and typed not in self.choices:
            raise InputError(f"{self.name} cannot be {typed!r}: give {self.limits}.")
        if (
            self.low is not None
            and self.high is not None
            and not self.low <= float(typed) <= self.high
        ):
            raise InputError(f"{self.name} cannot be {typed}: give {self.limits}.")
        return typed

    def _typed(self, value: object) -> KnobValue:
        if isinstance(self.default, bool):
            return _as_bool(value)
        if isinstance(self.default, str):
            return str(value)
        number = float(str(value))
        if isinstance(self.default, float):
            return number
        if number != int(number):
            raise ValueError(value)
        return int(number)

    @property
    def limits(self) -> str:
        """The allowed values in words."""
        if self.choices is not None:
            return "one of " + ", ".join(self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "a name or a path"
        if isinstance(self.default, int):
            return f"a whole number from {self.low} to {self.high}"
        return f"a number from {self.low:g} to {self.high:g}"


def _as_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
    try:
        return words[str(value).strip().lower()]
    except KeyError:
        raise ValueError from None


def knob(
    default: KnobValue,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] | None = None,
    advanced: bool = True,
) -> Any:
    """A dataclass field that is a knob of its drafter."""
    return field(
        default=default,
        metadata={"knob": (help, low, high, choices, advanced)},
    )


def knobs_of(cls: type[Drafter]) -> tuple[Knob, ...]:
    """The knobs of a drafter class, in order of definition."""
    return tuple(
        Knob(f.name, getattr(cls, f.name), *f.metadata["knob"])
        for f in fields(cls)  # type: ignore[arg-type]
        if "knob" in f.metadata
    )


@runtime_checkable
class Drafter(Protocol):
    """A drafter lives for one run; ``snapshot``/``restore`` carry what may outlive it.

    The constructor takes the knobs as keyword arguments. ``needs`` names model abilities.
    ``persistent`` says whether ``snapshot`` gives anything.
    """

    name: ClassVar[str]
    needs: ClassVar[frozenset[str]]
    persistent: ClassVar[bool]

    def check(self, model: Model) -> None:
        """Raise InputError when these knobs do not go with ``model``, whose abilities suffice."""
        ...

    def remarks(self, tokens: int) -> tuple[str, ...]:
        """What a person should know of a run with these knobs that comes to ``tokens`` in all, one
        sentence each; asked after ``check``."""
        ...

    def used_head(self) -> HeadFacts | None:
        """The drafter head that these knobs use, None without one; asked after ``check``."""
        ...

    def capture(self) -> Capture:
        """What the session must report; called once, before prefill."""
        ...

    def start(
        self, session: Session, prompt: Sequence[int], scores: Scores, costs: Curve | None = None
    ) -> None:
        """A request begins: its prompt tokens [n], the scores captured in prefill, pass costs."""
        ...

    def propose(self, context: Sequence[int], budget: int) -> Draft:
        """A tree whose root is ``context[-1]`` (prompt + all emitted tokens).

        ``budget``: tokens that may still be emitted; a draft deeper than budget - 1 is waste.
        """
        ...

    def observe(self, draft: Draft, scores: Scores, walk: Sequence[int]) -> Evidence | None:
        """Learn from a verified draft; evidence describes the state before learning."""
        ...

    def snapshot(self) -> Any:
        """What may outlive this run, as plain picklable data; None when nothing does."""
        ...

    def restore(self, data: Any, model: Model | Header) -> None:
        """Take over a snapshot before ``start``; raises InputError when ``model`` is another."""
        ...

    def fold(self, event: Header | Prefill | Step) -> None:
        """Update the lasting memory from a recorded event, exactly as the run itself did."""
        ...
