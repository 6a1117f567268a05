"""What the address of the page asks for: anything may stand there."""

from __future__ import annotations

from specviz.catalog import text
from specviz.trace import Trace

LONGEST_NAME = 80


def step_of(asked: str, trace: Trace, lang: str) -> tuple[int | None, str]:
    """The index of the step that is asked for, and a sentence where it cannot be that one.

    None leaves the choice to the player.
    """
    if not asked:
        return None, ""
    run = trace.run("decoder")
    steps = len(run.steps) if run else 0
    # Nine digits are more than any run has; int() refuses thousands of them.
    short = asked.isascii() and asked.isdecimal() and len(asked) <= 9
    if steps == 0 or not short or int(asked) < 1:
        return None, text("ui.error.step", lang, steps=steps)
    if int(asked) > steps:
        return steps - 1, text("ui.error.step.last", lang, step=int(asked), steps=steps)
    return int(asked) - 1, ""


def preset_of(run_id: str) -> str | None:
    """The name of the recorded example that a run id belongs to; None for anybody's own run."""
    return run_id.removeprefix("example-") if run_id.startswith("example-") else None


def shortened(name: str) -> str:
    """``name`` as it can be said in a sentence."""
    return name if len(name) <= LONGEST_NAME else name[: LONGEST_NAME - 1] + "…"
