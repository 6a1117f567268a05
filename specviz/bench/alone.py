"""One measurement at a time for a file of figures."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from specviz.models.base import InputError

if sys.platform != "win32":
    import fcntl


@contextmanager
def alone(result: Path | None) -> Iterator[None]:
    """Hold ``<result>.lock`` meanwhile; raises InputError when another process holds it.

    The system lets go of the lock with the process, whatever ends it: a file that was left behind
    stops nobody. Where the system or the disk knows no such locks nothing is held.
    """
    if result is None or sys.platform == "win32":
        yield
        return
    path = result.with_name(result.name + ".lock")
    lock = _taken(path, result.name)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def _taken(path: Path, name: str) -> int:
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise InputError(f"{path.name} cannot be written: {error.strerror}.") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                os.close(lock)
                raise InputError(
                    f"Another process is measuring for {name}: wait for its end or choose another "
                    "file."
                ) from None
            return lock
        # The one who held it may have removed the file between opening and locking.
        if path.exists() and os.path.samestat(os.fstat(lock), path.stat()):
            return lock
        os.close(lock)
