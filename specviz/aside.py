"""Work that cannot be interrupted, done beside a generator that can."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from threading import Thread
from typing import TypeVar

Sign = TypeVar("Sign")
Result = TypeVar("Result")
BEAT = 0.2  # seconds between two signs of life


def aside(sign: Callable[[], Sign], work: Callable[[], Result]) -> Generator[Sign, None, Result]:
    """Do ``work`` in a thread and return its result; yields ``sign()`` before and meanwhile.

    Raises what it raises. Closing the generator leaves the thread to itself: it ends when its work
    does, and nobody gets the result.
    """
    future: Future[Result] = Future()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    yield sign()
    Thread(target=do, daemon=True).start()
    while not wait([future], BEAT).done:
        yield sign()
    return future.result()
