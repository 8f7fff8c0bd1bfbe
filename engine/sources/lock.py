"""One process at a time: a lock that ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL = 0.1


@contextmanager
def exclusive(path: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a file; threads of one process exclude each other too.

    The file is never removed: who waits for a removed file would hold a lock that nobody else sees.

    Args:
        path: of the file; made with its folder.
        waiting: called several times a second while another holds it; what it raises ends the waiting.

    Raises:
        OSError: the file cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        while not _taken(descriptor):
            waiting()
            time.sleep(_POLL)
        yield
    finally:
        os.close(descriptor)  # gives the lock back


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
