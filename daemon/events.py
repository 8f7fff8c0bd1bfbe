"""What happens to announcements, told to whoever wants to know."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

ACCEPTED = "accepted"
QUEUED = "queued"
STARTED = "started"
INTERRUPTED = "interrupted"
FINISHED = "finished"
FAILED = "failed"
DROPPED = "dropped"
EXPIRED = "expired"
MISSED = "missed"
DEFERRED = "deferred"
DONE = "done"
"""A command was carried out; one that was not is ``failed``."""

ALARM_PRE = "alarm_pre"
ALARM_RINGING = "alarm_ringing"
ALARM_SNOOZED = "alarm_snoozed"
ALARM_DISMISSED = "alarm_dismissed"
ALARM_MISSED = "alarm_missed"
ALARM_FAILED = "alarm_failed"
"""What happens to alarms. The last: it went on with something else than was wanted, or nobody could hear it."""

TERMINAL = frozenset({FINISHED, FAILED, DROPPED, EXPIRED, MISSED})
"""Every accepted announcement ends with exactly one of these."""


TROUBLE = frozenset({FAILED, MISSED, ALARM_MISSED, ALARM_FAILED})
"""What whoever watches over the service wants to know."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        type: one of the names of this module.
        id: of the announcement or alarm, or None when none could be read.
        reason: a sentence, where there is one to give.
        details: further facts, fit for JSON.
    """

    type: str
    id: str | None = None
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def as_json(self) -> dict[str, Any]:
        """The event as a JSON object."""
        body: dict[str, Any] = {"event_type": self.type, "id": self.id}
        if self.reason is not None:
            body["reason"] = self.reason
        return body | dict(self.details)


class Events:
    """Tells listeners about events, in order, on the caller's thread (the service's loop)."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Event], None]] = []
        self._ends: dict[str, asyncio.Future[Event]] = {}
        self._starts: dict[str, asyncio.Future[Event]] = {}

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call ``listener`` with every event from now on."""
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Tell all listeners, and whoever waits for this end."""
        for listener in self._listeners:
            listener(event)
        if event.id is not None and (event.type in TERMINAL or event.type == STARTED):
            awaited = (self._starts if event.type == STARTED else self._ends).get(event.id)
            if awaited is not None and not awaited.done():
                awaited.set_result(event)

    def end_of(self, announcement_id: str) -> asyncio.Future[Event]:
        """The event with which an announcement will end; to be asked for before it is submitted."""
        return _awaited(self._ends, announcement_id)

    def start_of(self, announcement_id: str) -> asyncio.Future[Event]:
        """The event of an announcement's first sample; asked for as ``end_of``, and cancelled when it is of no use."""
        return _awaited(self._starts, announcement_id)


def _awaited(futures: dict[str, asyncio.Future[Event]], announcement_id: str) -> asyncio.Future[Event]:
    future: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
    futures[announcement_id] = future
    future.add_done_callback(lambda _: futures.pop(announcement_id, None))
    return future
