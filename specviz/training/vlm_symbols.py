"""What one cell of a picture can say: the symbols that the tower of ``smol-boards`` emits.

Every symbol is one token of SmolLM2, so a picture reaches the language model as a grid of its own
words. The list is an interface: the weights of the projector are in its order.
"""

from __future__ import annotations

FILLER = " "  # what a cell says that has nothing to say

DIGITS = tuple("0123456789")
MARKS = (":", ".", "-", "/", "!", "?", "&", "+")
LETTERS = tuple(f" {c}" for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZ")


def _words(text: str) -> tuple[str, ...]:
    return tuple(f" {word}" for word in text.split())


PLACES = _words(
    "London Paris Berlin Rome Madrid Vienna Oslo Lisbon Dublin Athens Prague Warsaw Moscow Milan "
    "Venice Naples Zurich Geneva Munich Hamburg Lyon Nice Brussels Cologne Bonn Dresden Leipzig "
    "Florence Cork Belfast Leeds York Bath Oxford Bristol Dover Exeter Durham Derby Lincoln "
    "Chester Stirling Perth Glasgow Cardiff Kiev Sofia Tokyo Kyoto Seoul Beijing Delhi Mumbai "
    "Cairo Tunis Nairobi Boston Dallas Denver Austin Miami Chicago Houston Seattle Detroit "
    "Atlanta Toronto Quebec Lima Havana Sydney Darwin Auckland Windsor Kent Essex Surrey Sussex "
    "Norfolk Suffolk Plymouth Reading Preston Albany Salem Tampa Memphis Phoenix Portland Oakland "
    "Dubai Tehran Baghdad Damascus Split Basel Bern Nancy Tours"
)
TEAMS = _words("Bears Rams Kings Stars Saints United City Home Away Heat Magic Red Blue")
WORDS = _words(
    "open closed sale coffee tea milk bread cake soup fish rice pizza salad juice water wine beer "
    "welcome exit entry stop slow danger private parking hotel museum library school station "
    "market garden bridge river park beach music dance party today tomorrow morning evening night "
    "summer winter spring autumn free fresh hot cold new old big small happy birthday love peace "
    "hello thanks please quiet push pull left right up down no yes wet paint fire first last lost "
    "found keep clean safe dream dog cat bird horse lion tiger bear wolf star moon sun rain snow "
    "wind gold silver apple lemon orange cherry honey sugar salt pepper cheese butter eggs ham "
    "steak pasta toast"
)
STATES = _words("delayed cancelled boarding late")
DAYS = _words("Mon Wed Fri Sat Sun")  # the other two are no single tokens
MONTHS = _words("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec")
COLOURS = _words("red orange yellow green blue purple pink brown black white grey")
FIGURES = _words("circle square triangle star cross diamond heart ring rectangle")
SIZES = _words("large small")
# What the last row of cells sums up.
FACTS = _words("board score words chart shapes lines bars tallest smallest winner draw")

SYMBOLS: tuple[str, ...] = tuple(
    dict.fromkeys(
        [
            *DIGITS, *MARKS, *LETTERS, *PLACES, *TEAMS, *WORDS, *STATES, *DAYS, *MONTHS,
            *COLOURS, *FIGURES, *SIZES, *FACTS,
        ]
    )
)  # fmt: skip
NUMBER = {symbol: i for i, symbol in enumerate(SYMBOLS)}


def spelled(symbol: str) -> str:
    """The glyphs that ``symbol`` is drawn with, one for a cell."""
    return symbol.strip().upper()
