"""The door of the page to a device: the operator's limits, and the GPU that a ZeroGPU Space lends.

Elsewhere than on ZeroGPU nothing is wrapped.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from importlib.util import find_spec

import gradio as gr

from specviz import jobs
from specviz.limits import Limits
from specviz.models.base import InputError
from specviz.trace import Event, TraceError
from specviz.ui.live import Decode
from specviz.ui.quota import Meter

LOG = logging.getLogger(__name__)
TAG = re.compile(r"<[^>]*>")


def zero_gpu() -> bool:
    """Whether this is a ZeroGPU Space, and the package that lends its GPU is there."""
    wanted = os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")
    return wanted and find_spec("spaces") is not None


@dataclass(frozen=True)
class Bug:
    """A fault of specviz in a worker; ``name`` of its class, as what was raised may not travel."""

    name: str


def lent(job: jobs.Job | jobs.ProbeJob) -> Generator[Event | Exception | Bug, None, None]:
    """``jobs.run`` as a worker that was forked for it runs it: what is wrong with a job comes out
    as the last item, because of what is raised there only the name of its class arrives."""
    try:
        yield from jobs.run(job)
    except (InputError, TraceError) as error:
        yield error
    except Exception as error:  # its traceback is only here
        LOG.error("a worker failed", exc_info=error)
        yield Bug(type(error).__name__)


@dataclass(frozen=True)
class Door:
    """How the page decodes. ``meter``: what a job asks of a lent GPU, None where none is lent."""

    decode: Decode
    limits: Limits
    meter: Meter | None = None


def door(limits: Limits) -> Door:
    """The door for ``limits``. The decorator gets the innermost synchronous generator: anything
    around it would be taken for a plain function."""
    if not zero_gpu():
        return Door(_limited(jobs.run, limits), limits)
    import spaces

    meter = Meter(limits)
    worker = spaces.GPU(duration=meter.duration)(lent)

    def decode(job: jobs.Job | jobs.ProbeJob) -> Iterator[Event]:
        # Before seconds are asked for that would end with an error.
        if isinstance(job, jobs.ProbeJob):
            job.check()
        else:
            job.messages()
        meter.check(job)
        try:
            with closing(worker(job)) as found:
                yield from meter.watch(job, _raised(found))
        except gr.Error as error:
            raise InputError(_refusal(error)) from error

    return Door(_limited(decode, limits), limits, meter)


def _limited(decode: Decode, limits: Limits) -> Decode:
    """``decode`` for jobs of visitors, whatever made them: form, API, a recording."""

    def limited(job: jobs.Job | jobs.ProbeJob) -> Iterator[Event]:
        with closing(decode(replace(job, limits=limits))) as events:  # type: ignore[type-var]
            yield from events

    return limited


def _raised(found: Iterator[Event | Exception | Bug]) -> Iterator[Event]:
    for item in found:
        if isinstance(item, Bug):
            raise RuntimeError(f"a worker failed with {item.name}; its traceback is in the log")
        if isinstance(item, Exception):
            raise item
        yield item


def _refusal(error: gr.Error) -> str:
    """Why no GPU was lent, or why it was taken away, as one line of text."""
    LOG.warning("ZeroGPU: %s", error)
    why = " ".join(TAG.sub(" ", str(error.message)).split())
    return f"ZeroGPU ended this: {why[:300]}"
