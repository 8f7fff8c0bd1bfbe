"""One service a node: a file that is locked for as long as the service lives, with its process id in it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from daemon.errors import UnavailableError
from daemon.folders import state_folder


def lock_path(node: str) -> Path:
    """The lock file of a node."""
    return state_folder() / f"{node}.pid"


def take(node: str) -> IO[str]:
    """Lock a node for this process; the lock ends with the process, however it ends, or when the file is closed.

    Raises:
        UnavailableError: another process holds it; the message names it.
        OSError: the state folder cannot be written.
    """
    path = lock_path(node)
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.seek(0)
        message = f"asagoe already runs as node {node!r} (process {file.read().strip()}); give this one another node"
        file.close()
        raise UnavailableError(message) from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file


def holder(node: str) -> int | None:
    """The process that holds the lock of a node, or None. A file that a dead process left is not locked."""
    try:
        with lock_path(node).open(encoding="ascii") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read())
    except (OSError, ValueError):
        return None
    return None
