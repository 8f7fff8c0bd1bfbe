"""The file of what is kept, for whoever only looks at it while the service may be writing."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from daemon.errors import UnavailableError
from daemon.store.database import SCHEMA, Database
from daemon.store.records import Records


class _Snapshot(Database):
    """One moment of a file: nothing is made, changed or locked."""

    def __init__(self, path: Path) -> None:
        super().__init__(None)
        # In WAL mode even a reader would make the two files beside it. Where they are not there, nobody has it open
        # and everything is in the file itself: it is read as one that does not change.
        mode = "mode=ro" if path.with_name(path.name + "-wal").exists() else "mode=ro&immutable=1"
        self._file = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=1.0, isolation_level=None)
        self._file.execute("BEGIN")

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._file.execute(query, values).fetchall()

    def close(self) -> None:
        self._file.close()


@contextlib.contextmanager
def _snapshot(path: Path) -> Iterator[_Snapshot]:
    snapshot = _Snapshot(path)
    try:
        yield snapshot
    finally:
        snapshot.close()


def read_records(path: Path) -> Records:
    """What is kept in a file, at this moment; nothing where there is no file.

    What is put into the result is kept nowhere.

    Raises:
        UnavailableError: the file cannot be read; the message says why.
    """
    try:
        if not path.exists():
            return Records(Database(None))
        with _snapshot(path) as snapshot:
            (version,) = snapshot.rows("PRAGMA user_version")[0]
            if version != len(SCHEMA):
                message = f"{path} cannot be read: its schema is {version}, this version of Asagoe knows {len(SCHEMA)}"
                raise UnavailableError(message)
            return Records.loaded_from(snapshot)
    except (OSError, sqlite3.Error) as error:
        message = f"{path} cannot be read: {error}"
        raise UnavailableError(message) from error
