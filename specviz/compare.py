"""Two runs of one prompt, aligned on their emitted tokens."""

from __future__ import annotations

from collections.abc import Sequence


def first_difference(left: Sequence[int], right: Sequence[int]) -> int | None:
    """Index of the first position where the sequences differ, None when they are equal.

    Where one ends first, that end is the difference.
    """
    for i, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return i
    return None if len(left) == len(right) else min(len(left), len(right))
