"""Accepted announcements are kept until they have ended: a restart neither loses nor repeats one."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from daemon import events
from daemon.announcement import Announcement, Priority
from daemon.clock import Clock
from daemon.events import Event
from daemon.store import Records

_log = logging.getLogger("asagoe.announcer")

_TABLE = "waiting"
_ATTEMPTS = 3
"""One that was being said so often when the service ended without a word is not tried again: it may be the reason."""
_KEPT_FIELDS = frozenset(
    field.name for field in fields(Announcement) if field.name not in ("clip", "start_at", "fade", "received_at")
)


class Waiting:
    """Keeps what was accepted. All calls are on the event loop.

    What rings is not kept here: alarms look after themselves, and sound that is ready cannot be kept.

    Args:
        clock: turns waiting times into moments that a restart survives.
        records: keep it.
    """

    def __init__(self, clock: Clock, records: Records) -> None:
        self._clock = clock
        self._records = records

    def add(self, announcement: Announcement) -> None:
        """An announcement was accepted."""
        if announcement.clip is None:
            self._put(announcement, resume_at=0, attempts=0)

    def begin(self, announcement: Announcement, resume_at: int) -> None:
        """It is being said, from one of its sentences on."""
        kept = self._records.all(_TABLE).get(announcement.id)
        if kept is not None:
            self._put(announcement, resume_at, kept["attempts"] + 1)

    def leave(self, announcement: Announcement, resume_at: int) -> bool:
        """The service stops while it waits, or is being said up to one of its sentences; whether it is kept."""
        if announcement.id not in self._records.all(_TABLE):
            return False
        self._put(announcement, resume_at, attempts=0)
        return True

    def on_event(self, event: Event) -> None:
        """What has ended is not kept any more."""
        if event.type in events.TERMINAL and event.id is not None:
            self._records.remove(_TABLE, event.id)

    def restore(self) -> list[tuple[Announcement, int]]:
        """What was accepted before this start and has not ended, with the sentence to go on with, in its order."""
        restored = []
        for name, value in list(self._records.all(_TABLE).items()):
            try:
                announcement, attempts = self._announcement(value["announcement"]), int(value["attempts"])
                resume_at = int(value["resume_at"])
            except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
                _log.warning("left out an announcement that was kept: %r", error)
                self._records.remove(_TABLE, name)
                continue
            if attempts >= _ATTEMPTS:
                _log.error("%s was being said %d times when the service ended; it is given up", name, attempts)
                self._records.remove(_TABLE, name)
                continue
            restored.append((announcement, resume_at))
        return sorted(restored, key=lambda item: item[0].received)

    def _put(self, announcement: Announcement, resume_at: int, attempts: int) -> None:
        value = {"announcement": self._json(announcement), "resume_at": resume_at, "attempts": attempts}
        self._records.put(_TABLE, announcement.id, value)

    def _json(self, announcement: Announcement) -> dict[str, Any]:
        value = {name: getattr(announcement, name) for name in _KEPT_FIELDS}
        for name in ("received", "expires"):
            value[name] = None if value[name] is None else value[name].timestamp()
        value["options"] = dict(announcement.options)
        value["priority"] = announcement.priority.name
        return value

    def _announcement(self, value: Mapping[str, Any]) -> Announcement:
        """From what was kept. Its waiting time goes on where it was: it is told by the moment it came."""
        kept = {name: item for name, item in value.items() if name in _KEPT_FIELDS}
        for name in ("received", "expires"):
            kept[name] = None if kept[name] is None else datetime.fromtimestamp(kept[name], UTC)
        for name, item in kept.items():
            if isinstance(item, list):
                kept[name] = tuple(item)
        kept["options"] = MappingProxyType(dict(kept["options"]))
        kept["priority"] = Priority.named(kept["priority"])
        waited = max(0.0, (self._clock.now() - kept["received"]).total_seconds())
        return Announcement(received_at=self._clock.monotonic() - waited, **kept)
