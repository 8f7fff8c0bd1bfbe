"""One SQLite file: opened carefully, brought to the current schema, written by a thread of its own.

Writing waits for the disk (a slow card may take half a second), so it never happens on the event loop. Whoever keeps
something keeps it in memory too; the file is for the next start. Writes are carried out in order, each in a
transaction, with ``synchronous=FULL``: what was written before a power cut is there after it.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_log = logging.getLogger("asagoe.store")

SCHEMA = (
    """
    CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE alarms (id TEXT PRIMARY KEY, definition TEXT NOT NULL) STRICT;
    CREATE TABLE changes (id TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE happened (id TEXT, due INTEGER, PRIMARY KEY (id, due)) STRICT, WITHOUT ROWID;
    CREATE TABLE rings (id TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE waiting (id TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    """,
)
"""One script for each version of the schema; ``PRAGMA user_version`` counts those that a file has."""


class Database:
    """The file of what is kept.

    Args:
        path: of the file; its folder is made. None keeps nothing.
        on_problem: told, in the writing thread, when the file cannot be used or written, and with None when it can
            again. The service goes on without it.
    """

    def __init__(self, path: Path | None, on_problem: Callable[[str | None], None] = lambda _: None) -> None:
        self._path = path
        self._on_problem = on_problem
        self._problem: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._writer = None if path is None else ThreadPoolExecutor(1, thread_name_prefix="store")
        self._lock = threading.Lock()
        self._inode = 0
        self.contents: Callable[[], list[tuple[str, Sequence[Any]]]] = list
        """Statements that write everything that is kept into an empty file; called in the writing thread."""

    @property
    def problem(self) -> str | None:
        """Why nothing is kept at the moment."""
        return self._problem

    def open(self) -> None:
        """Open or make the file. One that is damaged is set aside under another name, and a new one is begun."""
        if self._path is None:
            return
        try:
            self._connection = self._opened(self._path)
        except (sqlite3.DatabaseError, OSError) as error:
            if isinstance(error, sqlite3.OperationalError | OSError) or not self._set_aside(self._path, error):
                self._report(f"{self._path} cannot be opened: {error}; what changes is forgotten at the next start")

    def close(self) -> None:
        """Write what is waiting, and close."""
        if self._writer is not None:
            self._writer.shutdown(wait=True)
        with self._lock:
            if self._connection is not None:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.close()
                self._connection = None

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Read; nothing where nothing is kept. For the start: it waits for the disk."""
        with self._lock:
            if self._connection is None:
                return []
            try:
                return self._connection.execute(query, values).fetchall()
            except sqlite3.Error as error:
                _log.error("%s cannot be read: %s", self._path, error)
                return []

    def write(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """Carry out statements as one transaction, soon and in order; what fails is reported, not raised."""
        if self._writer is not None:
            self._writer.submit(self._write, statements)

    def _write(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        with self._lock:
            if self._connection is None:
                return
            if self._gone():
                self._begin_anew("it was removed while it was in use")
                return
            try:
                self._carry_out(statements)
            except sqlite3.Error as error:
                if type(error) is sqlite3.DatabaseError:  # damaged; what derives from it (a full disk) may pass
                    self._begin_anew(str(error))
                else:
                    self._report(
                        f"{self._path} cannot be written: {error}; what changes is forgotten at the next start"
                    )
            else:
                self._report(None)

    def _carry_out(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> None:
        assert self._connection is not None  # noqa: S101
        with self._connection:
            for statement, values in statements:
                self._connection.execute(statement, values)

    def _gone(self) -> bool:
        """Whether the file that is written to is no longer the one under its name."""
        try:
            return self._path is not None and self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def _begin_anew(self, reason: str) -> None:
        """The file is lost while the service runs: everything is in memory still, and goes into a new one."""
        assert self._path is not None  # noqa: S101
        assert self._connection is not None  # noqa: S101
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        self._connection = None
        try:
            if self._path.exists():
                self._path.replace(self._path.with_name(self._path.name + ".aside"))
            self._clear_beside(self._path)
            self._connection = self._opened(self._path)
            self._carry_out(self.contents())
        except (sqlite3.Error, OSError) as error:
            self._report(f"{self._path}: {reason}; a new one cannot be begun: {error}; what changes is forgotten")
        else:
            message = f"{self._path} could not be used any more: {reason}; what is known was written into a new one"
            _log.error("%s", message)
            self._on_problem(message)
            self._problem = None

    def _opened(self, path: Path) -> sqlite3.Connection:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            version = _version(connection)
            for number, script in enumerate(SCHEMA[version:], start=version + 1):
                connection.executescript(f"BEGIN; {script}; PRAGMA user_version={number}; COMMIT;")
        except BaseException:
            connection.close()
            raise
        self._inode = path.stat().st_ino
        return connection

    def _set_aside(self, path: Path, error: Exception) -> bool:
        """Make room for a new file; the old one stays beside it."""
        aside = path.with_name(path.name + ".aside")
        try:
            path.replace(aside)
            self._clear_beside(path)
            self._connection = self._opened(path)
        except (sqlite3.Error, OSError):
            return False
        _log.error("%s cannot be used: %s; it is set aside as %s and a new one is begun", path, error, aside.name)
        return True

    @staticmethod
    def _clear_beside(path: Path) -> None:
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)

    def _report(self, problem: str | None) -> None:
        if problem == self._problem:
            return
        self._problem = problem
        if problem is not None:
            _log.error("%s", problem)
        self._on_problem(problem)


def _version(connection: sqlite3.Connection) -> int:
    """The schema of a file that can be used.

    Raises:
        sqlite3.DatabaseError: it cannot.
    """
    if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
        message = "it is damaged"
        raise sqlite3.DatabaseError(message)
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > len(SCHEMA):
        message = f"it was written by a newer version (schema {version}, this one knows {len(SCHEMA)})"
        raise sqlite3.DatabaseError(message)
    return version
