"""What is kept, by kind: in memory for those who ask, in the database for the next start."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from daemon.store.database import Database

KEPT = timedelta(days=40)
"""How long it is known that an occurrence happened."""


class Records:
    """Settings, alarms made at run time, changes to entries, occurrences that happened, and alarms that ring.

    All calls are on the event loop; only ``load`` waits for the disk.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._settings: dict[str, Any] = {}
        self._tables: dict[str, dict[str, Any]] = {name: {} for name in ("alarms", "changes", "rings", "waiting")}
        self._happened: dict[str, dict[int, None]] = {}

    @classmethod
    def loaded_from(cls, database: Database) -> Records:
        """What a database holds now; what is put into it is kept nowhere."""
        records = cls(database)
        records.load()
        records._database = Database(None)
        return records

    def load(self) -> None:
        """Read everything; rows that cannot be understood are left out."""
        self._settings = dict(_pairs(self._database.rows("SELECT name, value FROM settings")))
        for name in self._tables:
            column = "definition" if name == "alarms" else "value"
            self._tables[name] = dict(_pairs(self._database.rows(f"SELECT id, {column} FROM {name} ORDER BY rowid")))  # noqa: S608 - constants
        for entry_id, due in self._database.rows("SELECT id, due FROM happened ORDER BY due"):
            self._happened.setdefault(entry_id, {})[due] = None

    # Settings: one value each.

    def setting(self, name: str, default: Any = None) -> Any:
        """A value that was set before, fit for JSON."""
        return self._settings.get(name, default)

    def set(self, name: str, value: Any) -> None:
        """Keep a value; None forgets it."""
        if value is None:
            self._settings.pop(name, None)
            self._database.write(("DELETE FROM settings WHERE name = ?", (name,)))
        elif self._settings.get(name) != value:
            self._settings[name] = value
            self._database.write(("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, _dumped(value))))

    # Things with an id: ``alarms`` made at run time, ``changes`` to alarms and entries, ``rings``, ``waiting``.

    def all(self, table: str) -> Mapping[str, Any]:
        """Everything of a kind, by id."""
        return self._tables[table]

    def put(self, table: str, entry_id: str, value: Any) -> None:
        """Keep something under an id."""
        if self._tables[table].get(entry_id) != value:
            self._tables[table][entry_id] = value
            column = "definition" if table == "alarms" else "value"
            statement = f"INSERT INTO {table} VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET {column} = excluded.{column}"  # noqa: S608 - constants
            self._database.write((statement, (entry_id, _dumped(value))))

    def remove(self, table: str, entry_id: str) -> None:
        """Forget what is under an id, if anything is."""
        if self._tables[table].pop(entry_id, None) is not None:
            self._database.write((f"DELETE FROM {table} WHERE id = ?", (entry_id,)))  # noqa: S608

    # Occurrences.

    def happened(self, entry_id: str, due: datetime) -> bool:
        """Whether an occurrence happened, or was reported as missed."""
        return _seconds(due) in self._happened.get(entry_id, ())

    def add_happened(self, entry_id: str, due: datetime) -> None:
        """Note that an occurrence happened; what is long past is forgotten."""
        moments = self._happened.setdefault(entry_id, {})
        moments[_seconds(due)] = None
        oldest = _seconds(due - KEPT)
        for moment in [moment for moment in moments if moment < oldest]:
            del moments[moment]
        self._database.write(
            ("INSERT OR REPLACE INTO happened VALUES (?, ?)", (entry_id, _seconds(due))),
            ("DELETE FROM happened WHERE due < ?", (oldest,)),
        )

    # The last moment at which the service was known to be alive.

    @property
    def alive(self) -> datetime | None:
        """When the service last said that it was alive, before this start."""
        value = self._settings.get("alive")
        return datetime.fromtimestamp(value, UTC) if isinstance(value, int) else None

    def still_alive(self, now: datetime) -> None:
        """Note that the service is alive."""
        self.set("alive", _seconds(now))


def _pairs(rows: list[tuple[Any, ...]]) -> Iterator[tuple[str, Any]]:
    for key, text in rows:
        try:
            yield key, json.loads(text)
        except ValueError:
            continue


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _seconds(moment: datetime) -> int:
    return round(moment.timestamp())
