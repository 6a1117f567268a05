"""Numbers for people: none that is more than nothing may read as 0."""

from __future__ import annotations


def small(value: float, digits: int = 3) -> float | str:
    """A probability or score with so many decimals; "<0.001" where they would all be 0."""
    return round(value, digits) or f"<{10**-digits:.{digits}f}"


def percent(value: float) -> str:
    """A probability in whole percent."""
    return f"{100 * value:.0f} %" if value > 0.005 else "<1 %"
