"""What the status line says about a run: how far it is, and how it ended."""

from __future__ import annotations

from specviz.catalog import sentence, text
from specviz.trace import Run
from specviz.ui.blocks import status
from specviz.ui.live import Stage
from specviz.ui.visit import Live

WHOLE = ("eos", "length")


def stage_line(stage: Stage, model: str, lang: str) -> str:
    """The status while a run goes on."""
    line = text(f"ui.stage.{stage.name}", lang, done=stage.done, total=stage.total, model=model)
    return status(line, "busy", stage.done, stage.total)


def ended_line(live: Live, lang: str) -> str:
    """The status after a run: what was decoded, and what a Stop left undone."""
    trace = live.recording.trace
    run = trace.run("decoder")
    if run is None:
        return status(text("ui.stage.stopped", lang))
    tokens = text("view.tokens", lang, count=len(run.tokens))
    passes = text("view.passes", lang, count=len(run.steps))
    if not live.stopped or trace.check is not None:
        line = text("ui.stage.done", lang, tokens=tokens, passes=passes)
    elif not _whole(run):
        line = text("ui.stage.stopped.at", lang, tokens=tokens)
    elif _whole(trace.run("baseline")):
        line = text("ui.stage.stopped.check", lang, tokens=tokens, passes=passes)
    else:
        line = text("ui.stage.stopped.baseline", lang, tokens=tokens, passes=passes)
    # What was said of the document stands beside it; this is news: a cut, say.
    news = [sentence(note, lang) for note in run.header.notes if note not in live.job.notes]
    return status(" ".join([f"{line.rstrip('.')}.", *news]) if news else line, "done")


def _whole(run: Run | None) -> bool:
    return run is not None and run.finish is not None and run.finish.reason in WHOLE
