"""Work that cannot be interrupted, done beside a generator that can."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from threading import Thread
from typing import Literal, TypeVar

from specviz.trace import Progress

T = TypeVar("T")
BEAT = 0.2  # seconds between two signs of life


def aside(stage: Literal["encode"], work: Callable[[], T]) -> Generator[Progress, None, T]:
    """Do ``work`` in a thread and return its result; yields signs of life meanwhile.

    Raises what it raises. Closing the generator leaves the thread to itself: it ends when its work
    does, and nobody gets the result.
    """
    future: Future[T] = Future()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    yield Progress(stage=stage, done=0, total=0)
    Thread(target=do, name=stage, daemon=True).start()
    while not wait([future], BEAT).done:
        yield Progress(stage=stage, done=0, total=0)
    return future.result()
