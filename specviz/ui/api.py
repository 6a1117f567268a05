"""The documented endpoint: a prompt in, figures and text out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import gradio as gr

from specviz import metrics
from specviz.catalog import text
from specviz.jobs import Job
from specviz.memories import MemoryKeeper, Scopes
from specviz.models.base import InputError
from specviz.trace import Event, Recording
from specviz.ui.callers import Callers, check_room, scope_name
from specviz.ui.form import whole
from specviz.ui.live import Decode
from specviz.ui.trust import check_model
from specviz.views.terminal import written

DEFAULT = Job()
LOG = logging.getLogger(__name__)


def generate(decode: Decode, callers: Callers | None = None) -> Callable[..., Any]:
    """The endpoint's function around ``decode``; what a run with a ``scope`` learned is kept among
    ``callers``."""
    callers = callers or Callers()

    def generate(
        prompt: str,
        decoder: str = DEFAULT.decoder,
        model: str = DEFAULT.model,
        max_new_tokens: int = DEFAULT.max_new_tokens,
        dtype: str = DEFAULT.dtype,
        baseline: bool = DEFAULT.baseline,
        scope: str = "",
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        recording = Recording()
        try:
            job = _job(prompt, decoder, model, max_new_tokens, dtype, baseline)
            kept = callers.scopes(request)
            for event in remembered(decode, job, kept, scope_name(scope)):
                recording.add(event)
        except InputError as error:
            raise gr.Error(str(error), print_exception=False) from error
        except Exception as error:
            LOG.error("the endpoint failed", exc_info=error)
            raise gr.Error(text("ui.error.bug"), print_exception=False) from error
        trace = recording.trace
        run = trace.run("decoder")
        assert run is not None
        return {
            "text": written(trace, run),
            "origins": metrics.origins(run),
            **metrics.summary(trace),
        }

    return generate


def remembered(decode: Decode, job: Job, scopes: Scopes, scope: str) -> Iterator[Event]:
    """The events of ``job``, which sees what ``scope`` learned and adds to it; without a name, as
    if nothing lasted."""
    if not scope:
        yield from decode(job)
        return
    check_room(scopes, scope)
    job = replace(job, scope=scope)
    begun = scopes.generation(scope)
    job = replace(job, memory=scopes.get(job))
    keeper = MemoryKeeper(job)
    for event in decode(job):
        keeper.add(event)
        yield event
    scopes.put(job, keeper.snapshot(), begun)


def _job(
    prompt: Any, decoder: Any, model: Any, max_new_tokens: Any, dtype: Any, baseline: Any
) -> Job:
    """The job of a call; raises InputError, because a call may hold any JSON."""
    words = {"prompt": prompt, "decoder": decoder, "model": model, "dtype": dtype}
    for name, value in words.items():
        if not isinstance(value, str):
            raise InputError(text("ui.error.text", name=name))
    if not isinstance(baseline, bool):
        raise InputError(text("ui.error.switch", name="baseline"))
    tokens = whole(max_new_tokens, "max_new_tokens")
    check_model(model)
    return Job(max_new_tokens=tokens, baseline=baseline, **words)
