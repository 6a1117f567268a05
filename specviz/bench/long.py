"""A prompt of about 7 000 tokens that does not repeat itself artificially."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specviz.bench.prompts import Prompt
from specviz.inputs import document_prompt, open_document
from specviz.models.base import InputError

ROOT = Path(__file__).parent.parent.parent
SOURCES = ("examples/documents/moby-dick-133.txt", "docs/tour.md", "docs/rejects.md",
           "CONTRIBUTING.md")  # fmt: skip
LEAST, MOST = 6_800, 7_400
NEW_TOKENS = 16  # what is asked here is what the context costs: a few tokens tell it
QUESTION = "What does Ahab do when he sees the whale?"


def long_prompt(count: Callable[[Prompt], int], max_context: int) -> Prompt:
    """The chapter and this project's own pages, with a question about the chapter.

    ``count`` gives the tokens of a prompt. As many lines as fit into 7 400 tokens are kept.
    Raises InputError when this model makes more or fewer tokens of it, or cannot hold it.
    """
    if max_context < MOST + NEW_TOKENS:
        raise InputError(
            f"The context ends at {max_context} tokens, the long prompt needs {MOST + NEW_TOKENS}."
        )
    lines = [line for name in SOURCES for line in open_document(ROOT / name).text.splitlines()]
    fits, over = 0, len(lines) + 1
    while over - fits > 1:
        middle = (fits + over) // 2
        if count(_asked(lines[:middle])) <= MOST:
            fits = middle
        else:
            over = middle
    tokens = count(_asked(lines[:fits])) if fits else 0
    if tokens < LEAST:
        raise InputError(f"The long prompt has {tokens} tokens here, not {LEAST} to {MOST}.")
    return _asked(lines[:fits])


def _asked(lines: list[str]) -> Prompt:
    return Prompt(document_prompt("\n".join(lines), QUESTION), "long", "long", NEW_TOKENS)
