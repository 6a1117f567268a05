"""The documented endpoint: a prompt and pictures in, figures and text out."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import gradio as gr

from specviz import metrics
from specviz.catalog import text
from specviz.job import Job
from specviz.limits import NONE, Limits
from specviz.models.base import MOST_PICTURES, InputError, Picture
from specviz.pictures import open_picture
from specviz.trace import Recording, UsedPicture
from specviz.ui.callers import Callers, remembered, said, scope_name
from specviz.ui.form import whole
from specviz.ui.live import Decode
from specviz.ui.trust import check_model

DEFAULT = Job()
LOG = logging.getLogger(__name__)


def generate(
    decode: Decode, callers: Callers | None = None, limits: Limits = NONE
) -> Callable[..., Any]:
    """The endpoint's function around ``decode``; what a run with a ``scope`` learned is kept among
    ``callers``. ``limits``: how large a file may be."""
    callers = callers or Callers()

    def generate(
        prompt: str,
        decoder: str = DEFAULT.decoder,
        model: str = DEFAULT.model,
        max_new_tokens: int = DEFAULT.max_new_tokens,
        dtype: str = DEFAULT.dtype,
        baseline: bool = DEFAULT.baseline,
        pictures: list[str] | None = None,
        scope: str = "",
        request: gr.Request | None = None,
    ) -> dict[str, Any]:
        recording = Recording()
        try:
            job = _job(prompt, decoder, model, max_new_tokens, dtype, baseline)
            job = replace(job, pictures=_pictures(pictures, limits.file_mb))
            name = scope_name(scope)
            kept = callers.scopes(request, name)
            notes = said(kept, name) if name else []
            for event in remembered(decode, job, kept, name):
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
            "text": metrics.written(trace, run),
            "origins": metrics.origins(run),
            "pictures": [_seen(each) for each in run.header.pictures],
            "notes": notes,
            **metrics.summary(trace),
        }

    return generate


def _pictures(files: Any, most: int) -> tuple[Picture, ...]:
    """The pictures of a call: files of up to ``most`` MB in base64, or data URLs; raises
    InputError."""
    if files is None:
        return ()
    if not isinstance(files, list) or not all(isinstance(each, str) for each in files):
        raise InputError(text("ui.error.pictures"))
    if len(files) > MOST_PICTURES:
        raise InputError(text("ui.pictures.most", most=MOST_PICTURES))
    found = []
    for number, file in enumerate(files, start=1):
        # A data URL says first what it holds; the bytes tell that better.
        coded = file.rpartition(",")[2]
        # Before it is decoded: three bytes are four letters, the last ones may be padding.
        if 3 * len(coded) // 4 - coded[-2:].count("=") > most << 20:
            raise InputError(text("ui.error.picture_size", number=number, most=most))
        try:
            raw = base64.b64decode(coded, validate=True)
        except ValueError as error:
            raise InputError(text("ui.error.pictures")) from error
        found.append(open_picture(raw, f"picture {number}"))
    return tuple(found)


def _seen(used: UsedPicture) -> dict[str, Any]:
    """What became of a picture; ``tokens`` of the prompt stand for it."""
    return {
        "name": used.name,
        "width": used.size[0],
        "height": used.size[1],
        "tokens": used.span[1] - used.span[0],
        "notes": list(used.said),
    }


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
