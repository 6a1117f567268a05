"""specviz shows what speculative decoding really does, token by token.

``specviz.load(path)`` reads a recorded trace; ``summary`` of ``specviz.metrics`` counts it up.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specviz.trace import Trace

__all__ = ["__version__", "load"]
__version__ = "0.1.0"


def load(path: Path | str) -> Trace:
    """Read a trace file; raises TraceError."""
    # Not at the top: ``python -m specviz`` has to say in words that a package is missing.
    from specviz.tracefile import load as read

    return read(path)
