"""The one documented endpoint: a prompt in, figures and text out."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import gradio as gr

from specviz import metrics
from specviz.catalog import text
from specviz.jobs import Job
from specviz.models.base import InputError
from specviz.trace import Recording
from specviz.ui.form import whole
from specviz.ui.live import Decode
from specviz.ui.trust import check_model
from specviz.views.terminal import written

DEFAULT = Job()
LOG = logging.getLogger(__name__)


def generate(decode: Decode) -> Callable[..., Any]:
    """The endpoint's function around ``decode``."""

    def generate(
        prompt: str,
        decoder: str = DEFAULT.decoder,
        model: str = DEFAULT.model,
        max_new_tokens: int = DEFAULT.max_new_tokens,
        dtype: str = DEFAULT.dtype,
        baseline: bool = DEFAULT.baseline,
    ) -> dict[str, Any]:
        recording = Recording()
        try:
            for event in decode(_job(prompt, decoder, model, max_new_tokens, dtype, baseline)):
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
