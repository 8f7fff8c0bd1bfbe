"""What happens to announcements, told to whoever wants to know."""

from __future__ import annotations

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

TERMINAL = frozenset({FINISHED, FAILED, DROPPED, EXPIRED, MISSED})
"""Every accepted announcement ends with exactly one of these."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        type: one of the names of this module.
        id: of the announcement, or None when none could be read.
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

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Call ``listener`` with every event from now on."""
        self._listeners.append(listener)

    def emit(self, event: Event) -> None:
        """Tell all listeners."""
        for listener in self._listeners:
            listener(event)
