"""The decorator that lends a GPU on ZeroGPU Spaces, and nothing anywhere else."""

from __future__ import annotations

import os
from importlib.util import find_spec

from specviz import jobs
from specviz.ui.live import Decode

# A worker that is new has to load, and to time some seventy passes of up to 96 rows.
START_SECONDS, SECONDS_PER_TOKEN, MOST_SECONDS = 25.0, 0.06, 120.0


def decode() -> Decode:
    """``jobs.run``, wrapped by ``spaces.GPU`` where that exists.

    Only the innermost synchronous generator may be wrapped: anything around it would be taken for
    a plain function.
    """
    if not os.environ.get("SPACES_ZERO_GPU") or find_spec("spaces") is None:
        return jobs.run
    import spaces

    wrapped: Decode = spaces.GPU(duration=duration)(jobs.run)
    return wrapped


def duration(job: jobs.Job | jobs.ProbeJob) -> float:
    """Seconds of GPU to ask for, from the token budget; a shorter request waits less."""
    if isinstance(job, jobs.ProbeJob):
        return START_SECONDS  # two passes over prompt and answer, beside loading
    passes = job.max_new_tokens * (2 if job.baseline else 1)
    return min(MOST_SECONDS, START_SECONDS + SECONDS_PER_TOKEN * passes)
