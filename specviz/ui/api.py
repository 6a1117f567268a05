"""The one documented endpoint: a prompt in, figures and text out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradio as gr

from specviz import metrics
from specviz.jobs import Job
from specviz.models.base import InputError
from specviz.trace import Recording
from specviz.ui.live import Decode
from specviz.views.terminal import written

DEFAULT = Job()


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
        job = Job(
            model=model,
            decoder=decoder,
            prompt=prompt,
            max_new_tokens=max_new_tokens,
            dtype=dtype,
            baseline=baseline,
        )
        recording = Recording()
        try:
            for event in decode(job):
                recording.add(event)
        except InputError as error:
            raise gr.Error(str(error), print_exception=False) from error
        trace = recording.trace
        run = trace.run("decoder")
        assert run is not None
        return {
            "text": written(trace, run),
            "origins": metrics.origins(run),
            **metrics.summary(trace),
        }

    return generate
