"""Work that cannot be interrupted, done beside a generator that can."""

from __future__ import annotations

from collections.abc import Callable, Generator
from concurrent.futures import Future, wait
from math import inf
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

Sign = TypeVar("Sign")
Result = TypeVar("Result")
Works = set[Future[Any]]
BEAT = 0.2  # seconds between two signs of life


class Late(Exception):
    """The work was not done in the time that it had. It goes on all the same."""


def aside(
    sign: Callable[[], Sign],
    work: Callable[[], Result],
    seconds: float = inf,
    works: Works | None = None,
) -> Generator[Sign, None, Result]:
    """Do ``work`` in a thread and return its result; yields ``sign()`` before and meanwhile.

    Raises what it raises, and Late after ``seconds``. Then, or when the generator is closed, the
    thread is left to itself: it ends when its work does, and nobody gets the result. Until it ends
    it is among ``works``.
    """
    yield sign()
    return (yield from waited(begun(work, works), sign, seconds))


def begun(work: Callable[[], Result], works: Works | None = None) -> Future[Result]:
    """``work`` in a thread of its own; it is among ``works`` as long as it goes on."""
    future: Future[Result] = Future()
    if works is not None:
        works.add(future)
        future.add_done_callback(works.discard)

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=do, daemon=True).start()
    return future


def waited(
    future: Future[Result], sign: Callable[[], Sign], seconds: float = inf
) -> Generator[Sign, None, Result]:
    """The result of ``future``; yields ``sign()`` while there is none, raises Late after
    ``seconds``."""
    if not (yield from ended({future}, sign, seconds)):
        raise Late
    return future.result()


def ended(
    works: Works, sign: Callable[[], Sign], seconds: float = inf
) -> Generator[Sign, None, bool]:
    """Whether all ``works`` come to an end within ``seconds``; yields ``sign()`` meanwhile."""
    until = monotonic() + seconds
    while wait(set(works), min(BEAT, max(0.0, until - monotonic()))).not_done:
        if monotonic() >= until:
            return False
        yield sign()
    return True
