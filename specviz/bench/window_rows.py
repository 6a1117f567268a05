"""What the suite for drafter heads compares: modes, windows, and each mechanism off alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from specviz.bench.rows import OURS, Row
from specviz.drafters.base import KnobValue
from specviz.drafters.window import Window
from specviz.windows import MODES, Bounds, Mode, widest

SHORT, CONTEXT, WINDOWS, MECHANISMS = "short", "context", "windows", "mechanisms"
SLOT, FULL, FEW = "slot", "full", "slot_12"
NO_SINKS, NO_SINKS_ABS, TRUNCATED = "no_sinks", "no_sinks_abs", "truncated"
SIZES = (32, 64, 120, 246, 500)
WINDOW_CONTEXTS = (512, 2_000)  # behind which windows of all sizes are compared
MECHANISM_CONTEXTS = (512, 1_000, 2_000)
FEW_ROWS = 12
_PLAIN = Row(OURS, "autoregressive")
_RECAP = Row("recap", "recap")
_RECYCLING = Row("token_recycling", "token_recycling", MappingProxyType({"tree": "best_first"}))


@dataclass(frozen=True)
class Rows:
    """All rows that draft with one ``head`` (empty: the model's own), which was trained for
    ``trained`` positions."""

    head: str
    trained: int

    @property
    def window(self) -> int:
        """What the default rows keep: as many entries as the trained range has room for."""
        return widest(Window.sinks, Window.depth, self.trained)

    def bounds(self, mode: Mode) -> Bounds:
        """What a default row of that mode keeps."""
        return Bounds(mode, Window.sinks, self.window, Window.depth, self.trained)

    def short(self) -> tuple[Row, ...]:
        """Decoders beside one another on short prompts."""
        return (
            _PLAIN,
            self._row(SLOT, mode="slot"),
            self._row(FEW, mode="slot", size=FEW_ROWS - 1),
            self._row(FULL, mode="full"),
            _RECAP,
            _RECYCLING,
        )

    def context(self) -> tuple[Row, ...]:
        """All modes."""
        return (_PLAIN, *(self._row(mode, mode=mode) for mode in MODES), _RECAP)

    def sizes(self) -> tuple[tuple[int, Mode], ...]:
        """Windows with the mode in which they are looked at: slot wherever it allows them."""
        return tuple((n, "slot" if n <= self.window else "window_abs") for n in SIZES)

    def windows(self) -> tuple[Row, ...]:
        """One row a window."""
        return (
            _PLAIN,
            *(self._row(size_name(n), mode=mode, window=n) for n, mode in self.sizes()),
        )

    def mechanisms(self) -> tuple[Row, ...]:
        """What the modes do not show: no sinks, with and without new positions, and the states of
        a target that read the window alone."""
        keep: dict[str, KnobValue] = {"window": self.window}
        return (
            _PLAIN,
            self._row(NO_SINKS, mode="slot", sinks=0, **keep),
            self._row(NO_SINKS_ABS, mode="window_abs", sinks=0, **keep),
            self._row(TRUNCATED, mode="slot", features="truncated"),
        )

    def parts(self) -> dict[str, Callable[[], tuple[Row, ...]]]:
        """The rows of every part that is asked about long texts."""
        return {CONTEXT: self.context, WINDOWS: self.windows, MECHANISMS: self.mechanisms}

    def _row(self, name: str, **knobs: KnobValue) -> Row:
        own: dict[str, KnobValue] = {"head": self.head} if self.head else {}
        return Row(name, "window", MappingProxyType({**knobs, **own}))


def size_name(window: int) -> str:
    """The name of the row with that window."""
    return f"window {window}"
